"""Where threads of a block or of a cluster wait for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.faults import TrapError
from sassim.interpreter.context import NotKnownError
from sassim.interpreter.control_flow import ending
from sassim.interpreter.lanes import ALWAYS, distinct, first_of
from sassim.interpreter.mbarriers import PhaseEvents
from sassim.interpreter.operand_access import (
    operand_at,
    read_guard,
    read_predicate,
    read_u32,
    write_predicate,
)
from sassim.interpreter.operations.barriers import phase_of, upper_word
from sassim.sass.operands import Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.control_flow import End
    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand
    from sassim.sass.program import BasicBlock, Program

_NUMBER_MASK: Final = 0xF
_COUNT_SHIFT: Final = 16
_COUNT_MASK: Final = 0xFFF
"""A register says which barrier in its lowest bits, and how many threads from bit 16 on."""


@ending("BAR")
def _block_barrier(i: Instruction, block: BasicBlock, program: Program) -> End:
    """All threads of a block, or as many as the instruction says; ARV comes and goes on."""
    del program
    given = [each for each in i.operands if isinstance(each, Immediate | Register)]
    votes = [read_predicate(i, each) for each in i.operands if isinstance(each, Predicate)]
    if not given or not i.has("SYNC", "ARV", "RED") or len(votes) != i.has("RED"):
        raise NotKnownError(i)
    number_of = _read_barrier_field(i, given[0], 0, _NUMBER_MASK)
    count_of = (
        _read_barrier_field(i, given[1], _COUNT_SHIFT, _COUNT_MASK) if len(given) > 1 else None
    )
    guard, arrives_only = read_guard(i), i.has("ARV")

    def end(c: ExecutionContext) -> None:
        predicate = guard(c)
        yes, no = (c.lanes, None) if predicate is None else c.split(predicate)
        if no is not None:
            c.blocks.resume(block.follows, no)
        if yes is None:
            return
        c.observer.on_arrival(i, yes)
        barriers = c.blocks.block_barriers
        numbers = _expand_column(c, number_of(c))
        counts = None if count_of is None else _expand_column(c, count_of(c))[:, 0]
        for number in distinct(numbers[yes.any(axis=1)]):
            lanes = yes & (numbers == number)
            if votes:
                votes_yes = lanes & c.to_all_warps(c.active_lanes & votes[0](c))
                barriers.vote(int(number), votes_yes, asks_for_all=i.has("AND"))
            barriers.arrive(int(number), lanes, counts, c.blocks.alive)
            if not arrives_only:
                barriers.wait(int(number), block.follows, lanes)
        if arrives_only:
            c.blocks.resume(block.follows, yes)
        c.blocks.release()

    plain = i.guard is None and not votes and not arrives_only
    if plain and len(given) == 1 and isinstance(given[0], Immediate):
        return _sync_whole_block(block, end)
    return end


def _sync_whole_block(block: BasicBlock, otherwise: End) -> End:
    """Go on at once where all threads that have not ended are here."""

    def end(c: ExecutionContext) -> None:
        if c.rows is None and not c.blocks.block_barriers.waiting:
            together = c.mask is None or bool((c.lanes == c.blocks.alive).all())
            if together:
                c.blocks.block_barriers.met(c.lanes)
                c.resume(block.follows)
                return
        otherwise(c)

    return end


def _read_barrier_field(
    i: Instruction, operand: Operand, shift: int, mask: int
) -> Callable[[ExecutionContext], Array]:
    """A number in an instruction, or in a part of a register of the first thread of each warp."""
    read = read_u32(i, operand)
    if isinstance(operand, Immediate):
        return lambda c: read(c).astype(np.int64)
    return lambda c: first_of(read(c), c.mask).astype(np.int64) >> shift & mask


def _expand_column(c: ExecutionContext, values: Array) -> Array:
    """A column of these warps as one of all warps."""
    column = np.zeros((c.blocks.warps, 1), np.int64)
    column[c.where] = values
    return column


@ending("UCGABAR_ARV", "UCGABAR_WAIT")
def _cluster_barrier(i: Instruction, block: BasicBlock, program: Program) -> End:
    """All threads of a cluster: they come, and wait later. One thread speaks for its warp."""
    del program
    if i.guard is not None:
        raise NotKnownError(i)
    waits = i.opcode == "UCGABAR_WAIT"

    def end(c: ExecutionContext) -> None:
        clusters = c.blocks.clusters
        c.observer.on_fence(c, i)
        if waits:
            clusters.wait(block.follows, c.lanes)
        else:
            clusters.arrive(c.lanes)
            c.resume(block.follows)
        c.blocks.release()

    return end


@ending("SYNCS")
def _wait_for_phase(i: Instruction, block: BasicBlock, program: Program) -> End:
    """``mbarrier.try_wait``: threads wait until a phase has ended, and then it has."""
    del program
    if not i.has("PHASECHK"):
        raise NotKnownError(i)
    (at, phase), guard = phase_of(i), read_guard(i)
    flag_operand = operand_at(i, 0)
    if not isinstance(flag_operand, Predicate):
        raise NotKnownError(i)
    flag, flag_index = write_predicate(i, flag_operand), flag_operand.index

    def end(c: ExecutionContext) -> None:
        phases = c.blocks.mbarriers
        places = upper_word(c, at(c))
        ended = phases.has_ended(places, phase(c))
        active = guard(c)
        flag(c, ALWAYS, active)
        c.observer.on_phases(c, (), _awaited(c, places, phase(c), active))
        staying = c.active_lanes & ~ended if active is None else c.active_lanes & ~ended & active
        going = c.active_lanes & ~staying
        if going.any():
            c.resume(block.follows, going)
        if staying.any():
            wanted = c.to_all_warps(c.broadcast(phase(c)))
            lanes = c.to_all_warps(staying)
            phases.wait(block.follows, lanes, c.to_all_warps(places), wanted, flag=flag_index)

    return end


def _awaited(
    c: ExecutionContext, places: Array, phases: Array, active: Array | None
) -> PhaseEvents:
    """The phases that the first threads of warps wait for; a warp waits for one."""
    lanes = c.active_lanes if active is None else c.active_lanes & active
    warps = np.flatnonzero(lanes.any(axis=1))
    at = lanes[warps].argmax(axis=1)
    upper = c.broadcast(places)[warps, at] & -8
    ended = c.blocks.mbarriers.count_ended(upper)
    waited = ended - ((ended ^ c.broadcast(phases)[warps, at].astype(np.int64)) & 1)
    return PhaseEvents(np.arange(c.blocks.warps)[c.where][warps], upper, waited)


@ending("BPT")
def _trap(i: Instruction, block: BasicBlock, program: Program) -> End:
    """``__trap()``: the kernel ends with an error."""
    del program
    guard = read_guard(i)
    if not i.has("TRAP"):
        raise NotKnownError(i)

    def end(c: ExecutionContext) -> None:
        predicate = guard(c)
        here = c.active_lanes if predicate is None else c.active_lanes & predicate
        if here.any():
            raise TrapError("the kernel stops itself (__trap)", np.argwhere(here))
        c.resume(block.follows)

    return end
