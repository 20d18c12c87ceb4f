"""Where threads of a warp wait for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.arrays import ballot
from kernelprof.predict.machine.barriers import COLLECTIVE, SYNC
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.control import ending
from kernelprof.predict.machine.control.branches import condition_of, scatter
from kernelprof.predict.machine.values import guard_of, whole
from kernelprof.sass.operands import Barrier, Immediate, Label, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.control import End
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block, Program

_EVERYONE: Final = np.full((1, 1), 0xFFFFFFFF, np.uint32)


def _missing(c: Context, masks: Array) -> Array:
    """Who of masks is not with the threads here and has not ended, as masks."""
    return masks & ballot(c.alive) & ~ballot(c.here)


@ending("BSYNC")
def _meet(i: Instruction, block: Block, program: Program) -> End:
    del program
    (barrier,) = (each for each in i.operands if isinstance(each, Barrier))
    condition, index = condition_of(i), barrier.index

    def end(c: Context) -> None:
        taken = condition(c)
        meetings = c.blocks.meetings
        if taken is None:
            yes = c.lanes
            if not (_missing(c, meetings.masks(index, c.where)) * c.here).any():
                c.blocks.go(block.follows, yes)
                return
        else:
            some, no = c.divided(taken)
            if no is not None:
                c.blocks.go(block.follows, no)
            if some is None:
                return
            yes = some
        meetings.wait(index, block.follows, yes)
        c.blocks.release()

    return end


@ending("BREAK")
def _break(i: Instruction, block: Block, program: Program) -> End:
    """Threads that nobody waits for at a barrier any more."""
    del program
    (barrier,) = (each for each in i.operands if isinstance(each, Barrier))
    condition = condition_of(i)

    def end(c: Context) -> None:
        leaving = c.active(condition(c))
        c.blocks.meetings.leave(barrier.index, c.spread(leaving))
        c.go(block.follows)
        c.blocks.release()

    return end


def _mask_of(i: Instruction) -> Callable[[Context], Array]:
    """Whom WARPSYNC waits for."""
    if i.has("ALL"):
        return lambda _: _EVERYONE
    return next(whole(each) for each in i.operands if isinstance(each, Register | Immediate))


@ending("WARPSYNC")
def _sync_warp(i: Instruction, block: Block, program: Program) -> End:
    """Wait for the threads of a mask, or for all of the warp."""
    if i.guard is not None:
        return _sync_some(i, block, program)
    if i.has("COLLECTIVE"):
        return _collect(i, block, program)
    read = _mask_of(i)

    def end(c: Context) -> None:
        masks = c.every(read(c))
        uniform = read(c).shape[1] == 1
        if uniform and not _missing(c, masks[:, :1]).any():
            c.go(block.follows)
            return
        meetings = c.blocks.meetings
        meetings.set_masks(SYNC, c.where, c.mask, masks)
        meetings.wait(SYNC, block.follows, c.lanes)
        c.blocks.release()

    return end


def _sync_some(i: Instruction, block: Block, program: Program) -> End:
    """The same under a guard; the others go on."""
    del program
    read, guard = _mask_of(i), guard_of(i)
    if i.has("COLLECTIVE"):
        raise NotKnownError(i)

    def end(c: Context) -> None:
        taken = guard(c)
        yes, no = (c.lanes, None) if taken is None else c.divided(taken)
        if no is not None:
            c.blocks.go(block.follows, no)
        if yes is not None:
            meetings = c.blocks.meetings
            meetings.set_masks(SYNC, c.where, c.active(taken), c.every(read(c)))
            meetings.wait(SYNC, block.follows, yes)
            c.blocks.release()

    return end


def _collect(i: Instruction, block: Block, program: Program) -> End:
    """Threads of a mask come from different places, do the same once, and part at ENDCOLLECTIVE."""
    read = _mask_of(i)
    label = next(each for each in i.operands if isinstance(each, Label))
    target = program.target(block.function, label)
    if target is None:
        raise NotKnownError(i)
    goal = target

    def end(c: Context) -> None:
        meetings = c.blocks.meetings
        meetings.set_masks(COLLECTIVE, c.where, c.mask, c.every(read(c)))
        c.blocks.set_goals(c.lanes, goal)
        meetings.wait(COLLECTIVE, block.follows, c.lanes)
        c.blocks.release()

    return end


@ending("ENDCOLLECTIVE")
def _part(i: Instruction, block: Block, program: Program) -> End:
    del i, block, program

    def end(c: Context) -> None:
        scatter(c, c.blocks.goals[c.where], c.here)

    return end
