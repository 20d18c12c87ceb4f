"""What the threads of a warp tell each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.arrays import BITS, LANE, LANES, ballot, first_of
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.values import (
    guard_of,
    predicate,
    put,
    put_predicate,
    whole,
    wide_whole,
)
from kernelprof.sass.operands import Predicate, Register

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction

_LANE: Final = LANE.view(np.int32)


def everyone(c: Context) -> Array:
    """A mask of all lanes."""
    return np.ones((c.warps, LANES), np.bool_)


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
        said = {"ANY": anyone, "ALL": everyone_said, "EQ": everyone_said | ~anyone}
        found = np.asarray(said[mode])
        for flag in flags:
            flag(c, found, None if i.opcode == "VOTEU" else active)

    return work


@operation("MATCH")
def _match(i: Instruction) -> Step:
    """The lanes that hold the same value; with ALL none of them, unless all do."""
    source = i.operands[-1]
    registers = [put(each) for each in i.operands[:-1] if isinstance(each, Register)]
    flags = [put_predicate(each) for each in i.operands[:-1] if isinstance(each, Predicate)]
    a, guard = wide_whole(source) if i.has("U64") else whole(source), guard_of(i)
    wants_all = i.has("ALL")
    if wants_all == i.has("ANY"):
        raise NotKnownError(i)

    def work(c: Context) -> None:
        values, active = c.every(a(c)), guard(c)
        taking = c.active(active)
        if wants_all:
            here = everyone(c) if taking is None else taking
            same = ((values == first_of(values, taking)) | ~here).all(axis=1, keepdims=True)
            masks = np.where(same, ballot(here), np.uint32(0))
            for flag in flags:
                flag(c, same, active)
        else:
            alike = values[:, :, None] == values[:, None, :]
            if taking is not None:
                alike = alike & taking[:, None, :]
            masks = (alike * BITS[:, None, :]).sum(axis=2, dtype=np.uint32)
        for result in registers:
            result(c, masks, active)

    return work


@operation("B2R")
def _vote_of_block(i: Instruction) -> Step:
    """What the threads of a block said at a barrier: how many yes, or a predicate.

    Which it is the barrier says (``BAR.RED.POPC``, ``AND``, ``OR``).
    """
    if not i.has("RESULT"):
        raise NotKnownError(i)
    registers = [put(each) for each in i.operands if isinstance(each, Register)]
    flags = [put_predicate(each) for each in i.operands if isinstance(each, Predicate)]
    guard = guard_of(i)

    def work(c: Context) -> None:
        barriers, active = c.blocks.block_barriers, guard(c)
        for result in registers:
            result(c, c.of_warps(barriers.said).copy(), active)
        for flag in flags:
            flag(c, c.of_warps(barriers.agreed).copy(), active)

    return work


@operation("REDUX", "CREDUX")
def _reduce(i: Instruction) -> Step:
    """One value out of those of all threads that take part, to a register of the warp."""
    kind = np.dtype(np.int32 if i.has("S32") else np.uint32)
    result, a, guard = put(i.operands[0]), whole(i.operands[1]), guard_of(i)
    everything = np.iinfo(kind)
    how = {
        "SUM": (np.add, 0),
        "OR": (np.bitwise_or, 0),
        "XOR": (np.bitwise_xor, 0),
        "AND": (np.bitwise_and, -1 if kind == np.int32 else everything.max),
        "MIN": (np.minimum, everything.max),
        "MAX": (np.maximum, everything.min),
    }
    names = [each for each in i.modifiers if each not in ("S32", "U32")]
    if len(names) > 1 or (names and names[0] not in how):
        raise NotKnownError(i)
    function, neutral = how[names[0] if names else "AND"]

    def work(c: Context) -> None:
        values, active = c.every(a(c)).copy().view(kind), guard(c)
        taking = c.active(active)
        if taking is not None:
            values = np.where(taking, values, kind.type(neutral))
        found = function.reduce(values, axis=1, keepdims=True, dtype=kind)
        some: Array | None = None
        if active is not None and taking is not None:
            some = np.asarray(taking.any(axis=1, keepdims=True))
        result(c, found, some)

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
