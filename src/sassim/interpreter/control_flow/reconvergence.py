"""Convergence barriers, and the synchronization of warps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.barriers import COLLECTIVE, SYNC
from sassim.interpreter.context import NotKnownError
from sassim.interpreter.control_flow import ending
from sassim.interpreter.control_flow.branches import read_condition, resume_each
from sassim.interpreter.lanes import ballot
from sassim.interpreter.operand_access import (
    expect_count,
    only_operand,
    read_guard,
    read_u32,
)
from sassim.sass.operands import Barrier, Immediate, Label, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.control_flow import End
    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction
    from sassim.sass.program import BasicBlock, Program

_EVERYONE: Final = np.full((1, 1), 0xFFFFFFFF, np.uint32)


def _missing_lanes(c: ExecutionContext, masks: Array) -> Array:
    """Who of masks is not with the threads here and has not ended, as masks."""
    return masks & ballot(c.alive) & ~ballot(c.active_lanes)


@ending("BSYNC")
def _reconverge(i: Instruction, block: BasicBlock, program: Program) -> End:
    del program
    barrier = only_operand(i, Barrier)
    condition, index = read_condition(i), barrier.index

    def end(c: ExecutionContext) -> None:
        predicate = condition(c)
        barriers = c.blocks.convergence_barriers
        if predicate is None:
            yes = c.lanes
            if not (_missing_lanes(c, barriers.masks(index, c.where)) * c.active_lanes).any():
                c.blocks.resume(block.follows, yes)
                return
        else:
            some, no = c.split(predicate)
            if no is not None:
                c.blocks.resume(block.follows, no)
            if some is None:
                return
            yes = some
        barriers.wait(index, block.follows, yes)
        c.blocks.release()

    return end


@ending("BREAK")
def _break(i: Instruction, block: BasicBlock, program: Program) -> End:
    """Take threads out of a convergence barrier."""
    del program
    barrier = only_operand(i, Barrier)
    condition = read_condition(i)

    def end(c: ExecutionContext) -> None:
        leaving = c.active_mask(condition(c))
        c.blocks.convergence_barriers.leave(barrier.index, c.to_all_warps(leaving))
        c.resume(block.follows)
        c.blocks.release()

    return end


def _read_lane_mask(i: Instruction) -> Callable[[ExecutionContext], Array]:
    """Read the mask of lanes that WARPSYNC waits for."""
    if i.has("ALL"):
        return lambda _: _EVERYONE
    masks = [read_u32(i, each) for each in i.operands if isinstance(each, Register | Immediate)]
    return expect_count(i, masks[:1], 1)[0]


@ending("WARPSYNC")
def _sync_warp(i: Instruction, block: BasicBlock, program: Program) -> End:
    """Wait for the threads of a mask, or for all of the warp."""
    if i.guard is not None:
        return _sync_some(i, block, program)
    if i.has("COLLECTIVE"):
        return _collect(i, block, program)
    read = _read_lane_mask(i)

    def end(c: ExecutionContext) -> None:
        masks = c.broadcast(read(c))
        uniform = read(c).shape[1] == 1
        if uniform and not _missing_lanes(c, masks[:, :1]).any():
            c.resume(block.follows)
            return
        barriers = c.blocks.convergence_barriers
        barriers.set_masks(SYNC, c.where, c.mask, masks)
        barriers.wait(SYNC, block.follows, c.lanes)
        c.blocks.release()

    return end


def _sync_some(i: Instruction, block: BasicBlock, program: Program) -> End:
    """The same under a guard; the others go on."""
    del program
    read, guard = _read_lane_mask(i), read_guard(i)
    if i.has("COLLECTIVE"):
        raise NotKnownError(i)

    def end(c: ExecutionContext) -> None:
        predicate = guard(c)
        yes, no = (c.lanes, None) if predicate is None else c.split(predicate)
        if no is not None:
            c.blocks.resume(block.follows, no)
        if yes is not None:
            barriers = c.blocks.convergence_barriers
            barriers.set_masks(SYNC, c.where, c.active_mask(predicate), c.broadcast(read(c)))
            barriers.wait(SYNC, block.follows, yes)
            c.blocks.release()

    return end


def _collect(i: Instruction, block: BasicBlock, program: Program) -> End:
    """Threads of a mask come from different places, do the same once, and part at ENDCOLLECTIVE."""
    read = _read_lane_mask(i)
    label = only_operand(i, Label)
    target = program.target(block.function, label)
    if target is None:
        raise NotKnownError(i)
    goal = target

    def end(c: ExecutionContext) -> None:
        barriers = c.blocks.convergence_barriers
        barriers.set_masks(COLLECTIVE, c.where, c.mask, c.broadcast(read(c)))
        c.blocks.set_collective_targets(c.lanes, goal)
        barriers.wait(COLLECTIVE, block.follows, c.lanes)
        c.blocks.release()

    return end


@ending("ENDCOLLECTIVE")
def _end_collective(i: Instruction, block: BasicBlock, program: Program) -> End:
    del i, block, program

    def end(c: ExecutionContext) -> None:
        resume_each(c, c.blocks.collective_targets[c.where], c.active_lanes)

    return end
