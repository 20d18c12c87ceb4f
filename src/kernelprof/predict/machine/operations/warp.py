"""What the threads of a warp tell each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.arrays import LANES
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.values import guard_of, predicate, put, put_predicate, whole
from kernelprof.predict.sass.operands import Predicate, Register

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction

_LANE: Final = np.arange(LANES, dtype=np.int32)[None, :]
_BITS: Final = (np.uint32(1) << np.arange(LANES, dtype=np.uint32))[None, :]


def everyone(c: Context) -> Array:
    """A mask of all lanes."""
    return np.ones((c.warps, LANES), np.bool_)


def ballot(members: Array) -> Array:
    """Lanes as a mask of 32 bits, one for each warp."""
    packed = np.packbits(members, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint32)


@operation("SHFL")
def _shuffle(i: Instruction) -> Step:
    """PTX ISA, "shfl.sync": which lane's value a thread gets, and whether there is one."""
    mode = i.modifiers[0]
    inside, result = put_predicate(i.operands[0]), put(i.operands[1])
    a, b, clamp = (whole(each) for each in i.operands[2:5])
    guard = guard_of(i)

    def work(c: Context) -> None:
        by, how = b(c).view(np.int32) & 31, clamp(c).view(np.int32)
        segment, limit = how >> 8 & 31, how & 31
        least = _LANE & segment
        most = least | (limit & ~segment)
        if mode == "UP":
            lane = _LANE - by
            fits = lane >= most
        elif mode == "DOWN":
            lane = _LANE + by
            fits = lane <= most
        elif mode == "BFLY":
            lane = _LANE ^ by
            fits = lane <= most
        else:
            lane = least | (by & ~segment)
            fits = lane <= most
        lane = np.where(fits, lane, _LANE) & 31
        values, active = a(c), guard(c)
        if values.shape[1] == 1:
            got = values.copy()
        elif lane.shape[0] == 1:
            got = values[:, lane[0]]
        else:
            got = np.take_along_axis(c.every(values), c.every(lane), axis=1)
        result(c, got, active)
        inside(c, fits, active)

    return work


@operation("VOTE", "VOTEU")
def _vote(i: Instruction) -> Step:
    source = predicate(i.operands[-1])
    targets = i.operands[:-1]
    masks = [put(each) for each in targets if isinstance(each, Register)]
    flags = [put_predicate(each) for each in targets if isinstance(each, Predicate)]
    guard = guard_of(i)
    mode = i.modifiers[0] if i.modifiers else "ALL"
    if mode not in ("ANY", "ALL", "EQ"):
        raise NotKnownError(i)

    def work(c: Context) -> None:
        active = guard(c)
        taking = c.active(active)
        yes = c.every(source(c))
        votes = yes if taking is None else yes & taking
        for mask in masks:
            mask(c, ballot(votes), None if i.opcode == "VOTEU" else active)
        if not flags:
            return
        everyone_said = votes.all(axis=1, keepdims=True)
        if taking is not None:
            everyone_said = (votes == taking).all(axis=1, keepdims=True)
        anyone = votes.any(axis=1, keepdims=True)
        found = {"ANY": anyone, "ALL": everyone_said, "EQ": everyone_said | ~anyone}[mode]
        for flag in flags:
            flag(c, found, None if i.opcode == "VOTEU" else active)

    return work


@operation("MATCH")
def _match(i: Instruction) -> Step:
    """The lanes that hold the same value."""
    if not i.has("ANY") or i.has("U64"):
        raise NotKnownError(i)
    targets = [each for each in i.operands[:-1] if isinstance(each, Register)]
    result, a, guard = put(targets[0]), whole(i.operands[-1]), guard_of(i)

    def work(c: Context) -> None:
        values, active = c.every(a(c)), guard(c)
        alike = values[:, :, None] == values[:, None, :]
        taking = c.active(active)
        if taking is not None:
            alike = alike & taking[:, None, :]
        masks = (alike * _BITS[:, None, :]).sum(axis=2, dtype=np.uint32)
        result(c, masks, active)

    return work


@operation("REDUX", "CREDUX")
def _reduce(i: Instruction) -> Step:
    kind = np.dtype(np.int32 if i.has("S32") else np.uint32)
    result, a, guard = put(i.operands[0]), whole(i.operands[1]), guard_of(i)
    how = {
        "SUM": (np.add, 0),
        "OR": (np.bitwise_or, 0),
        "XOR": (np.bitwise_xor, 0),
        "AND": (np.bitwise_and, -1 if kind == np.int32 else 0xFFFFFFFF),
        "MIN": (np.minimum, np.iinfo(kind).max),
        "MAX": (np.maximum, np.iinfo(kind).min),
    }.get(i.modifiers[0] if i.modifiers else "OR")
    if how is None:
        raise NotKnownError(i)
    function, neutral = how

    def work(c: Context) -> None:
        values = (
            c.every(a(c)).view(kind) if a(c).flags.c_contiguous else c.every(a(c)).copy().view(kind)
        )
        taking = c.active(guard(c))
        if taking is not None:
            values = np.where(taking, values, kind.type(neutral))
        result(c, function.reduce(values, axis=1, keepdims=True, dtype=kind), None)

    return work


@operation("ELECT")
def _elect(i: Instruction) -> Step:
    """The first thread that takes part."""
    flags = [put_predicate(each) for each in i.operands[:1]]
    guard = guard_of(i)

    def work(c: Context) -> None:
        active = guard(c)
        taking = c.active(active)
        taking = everyone(c) if taking is None else taking
        first = taking.argmax(axis=1)[:, None] == _LANE
        for flag in flags:
            flag(c, first & taking, active)

    return work
