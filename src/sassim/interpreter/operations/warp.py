"""What the threads of a warp tell each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.lanes import BITS, LANE, LANES, ballot, first_of
from sassim.interpreter.operand_access import (
    modifier_at,
    operand_at,
    read_guard,
    read_predicate,
    read_u32,
    read_u64,
    write_predicate,
    write_u32,
)
from sassim.interpreter.operations import operation
from sassim.sass.operands import Predicate, Register

if TYPE_CHECKING:
    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction

_LANE: Final = LANE.view(np.int32)


def everyone(c: ExecutionContext) -> Array:
    """A mask of all lanes."""
    return np.ones((c.warps, LANES), np.bool_)


@operation("SHFL", modifiers="IDX UP DOWN BFLY")
def _shuffle(i: Instruction) -> Step:
    """PTX ISA, "shfl.sync": which lane's value a thread gets, and whether there is one."""
    mode = modifier_at(i, 0)
    inside, result = write_predicate(i, 0), write_u32(i, 1)
    a, b, clamp = (read_u32(i, n) for n in range(2, 5))
    guard = read_guard(i)

    def execute(c: ExecutionContext) -> None:
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
            got = np.take_along_axis(c.broadcast(values), c.broadcast(lane), axis=1)
        result(c, got, active)
        inside(c, fits, active)

    return execute


@operation("VOTE", "VOTEU")
def _vote(i: Instruction) -> Step:
    source = read_predicate(i, -1)
    targets = i.operands[:-1]
    masks = [write_u32(i, each) for each in targets if isinstance(each, Register)]
    flags = [write_predicate(i, each) for each in targets if isinstance(each, Predicate)]
    guard = read_guard(i)
    mode = i.modifiers[0] if i.modifiers else "ALL"
    if mode not in ("ANY", "ALL", "EQ"):
        raise NotKnownError(i)

    def execute(c: ExecutionContext) -> None:
        active = guard(c)
        active_mask = c.active_mask(active)
        yes = c.broadcast(source(c))
        votes = yes if active_mask is None else yes & active_mask
        for mask in masks:
            mask(c, ballot(votes), None if i.opcode == "VOTEU" else active)
        if not flags:
            return
        all_agree = votes.all(axis=1, keepdims=True)
        if active_mask is not None:
            all_agree = (votes == active_mask).all(axis=1, keepdims=True)
        anyone = votes.any(axis=1, keepdims=True)
        results = {"ANY": anyone, "ALL": all_agree, "EQ": all_agree | ~anyone}
        result = np.asarray(results[mode])
        for flag in flags:
            flag(c, result, None if i.opcode == "VOTEU" else active)

    return execute


@operation("MATCH")
def _match(i: Instruction) -> Step:
    """The lanes that hold the same value; with ALL none of them, unless all do."""
    source = operand_at(i, -1)
    registers = [write_u32(i, each) for each in i.operands[:-1] if isinstance(each, Register)]
    flags = [write_predicate(i, each) for each in i.operands[:-1] if isinstance(each, Predicate)]
    a, guard = read_u64(i, source) if i.has("U64") else read_u32(i, source), read_guard(i)
    wants_all = i.has("ALL")
    if wants_all == i.has("ANY"):
        raise NotKnownError(i)

    def execute(c: ExecutionContext) -> None:
        values, active = c.broadcast(a(c)), guard(c)
        active_mask = c.active_mask(active)
        if wants_all:
            here = everyone(c) if active_mask is None else active_mask
            same = ((values == first_of(values, active_mask)) | ~here).all(axis=1, keepdims=True)
            masks = np.where(same, ballot(here), np.uint32(0))
            for flag in flags:
                flag(c, same, active)
        else:
            alike = values[:, :, None] == values[:, None, :]
            if active_mask is not None:
                alike = alike & active_mask[:, None, :]
            masks = (alike * BITS[:, None, :]).sum(axis=2, dtype=np.uint32)
        for result in registers:
            result(c, masks, active)

    return execute


@operation("B2R")
def _vote_of_block(i: Instruction) -> Step:
    """What the threads of a block said at a barrier: how many yes, or a predicate.

    Which it is the barrier says (``BAR.RED.POPC``, ``AND``, ``OR``).
    """
    if not i.has("RESULT"):
        raise NotKnownError(i)
    registers = [write_u32(i, each) for each in i.operands if isinstance(each, Register)]
    flags = [write_predicate(i, each) for each in i.operands if isinstance(each, Predicate)]
    guard = read_guard(i)

    def execute(c: ExecutionContext) -> None:
        barriers, active = c.blocks.block_barriers, guard(c)
        for result in registers:
            result(c, c.select_warps(barriers.vote_counts).copy(), active)
        for flag in flags:
            flag(c, c.select_warps(barriers.vote_results).copy(), active)

    return execute


@operation("REDUX", "CREDUX")
def _reduce(i: Instruction) -> Step:
    """One value out of those of all threads that take part, to a register of the warp."""
    kind = np.dtype(np.int32 if i.has("S32") else np.uint32)
    result, a, guard = write_u32(i, 0), read_u32(i, 1), read_guard(i)
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

    def execute(c: ExecutionContext) -> None:
        values, active = c.broadcast(a(c)).copy().view(kind), guard(c)
        active_mask = c.active_mask(active)
        if active_mask is not None:
            values = np.where(active_mask, values, kind.type(neutral))
        reduced = function.reduce(values, axis=1, keepdims=True, dtype=kind)
        some: Array | None = None
        if active is not None and active_mask is not None:
            some = np.asarray(active_mask.any(axis=1, keepdims=True))
        result(c, reduced, some)

    return execute


@operation("ELECT")
def _elect(i: Instruction) -> Step:
    flag = write_predicate(i, 0)
    guard = read_guard(i)

    def execute(c: ExecutionContext) -> None:
        active = guard(c)
        active_mask = c.active_mask(active)
        active_mask = everyone(c) if active_mask is None else active_mask
        first = active_mask.argmax(axis=1)[:, None] == _LANE
        flag(c, first & active_mask, active)

    return execute
