"""Where threads of a block or of a cluster wait for each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.arrays import ALWAYS, first_of
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.control import ending
from kernelprof.predict.machine.faults import TrapError
from kernelprof.predict.machine.operations.barriers import phase_of, upper_word
from kernelprof.predict.machine.values import guard_of, predicate, put_predicate, whole
from kernelprof.sass.operands import Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.control import End
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block, Program
    from kernelprof.sass.operands import Operand

_NUMBER_MASK: Final = 0xF
_COUNT_SHIFT: Final = 16
_COUNT_MASK: Final = 0xFFF
"""A register says which barrier in its lowest bits, and how many threads from bit 16 on."""


@ending("BAR")
def _block_barrier(i: Instruction, block: Block, program: Program) -> End:
    """All threads of a block, or as many as the instruction says; ARV comes and goes on."""
    del program
    given = [each for each in i.operands if isinstance(each, Immediate | Register)]
    votes = [predicate(each) for each in i.operands if isinstance(each, Predicate)]
    if not i.has("SYNC", "ARV", "RED") or len(votes) != i.has("RED"):
        raise NotKnownError(i)
    number_of = _number(given[0], 0, _NUMBER_MASK)
    count_of = _number(given[1], _COUNT_SHIFT, _COUNT_MASK) if len(given) > 1 else None
    guard, arrives_only = guard_of(i), i.has("ARV")

    def end(c: Context) -> None:
        taken = guard(c)
        yes, no = (c.lanes, None) if taken is None else c.divided(taken)
        if no is not None:
            c.blocks.go(block.follows, no)
        if yes is None:
            return
        c.counters.arrived(i, yes)
        barriers = c.blocks.block_barriers
        numbers = _of_all(c, number_of(c))
        counts = None if count_of is None else _of_all(c, count_of(c))[:, 0]
        for number in np.unique(numbers[yes.any(axis=1)]):
            lanes = yes & (numbers == number)
            if votes:
                yes_said = lanes & c.spread(c.here & votes[0](c))
                barriers.vote(int(number), yes_said, asks_for_all=i.has("AND"))
            barriers.arrive(int(number), lanes, counts, c.blocks.alive)
            if not arrives_only:
                barriers.wait(int(number), block.follows, lanes)
        if arrives_only:
            c.blocks.go(block.follows, yes)
        c.blocks.release()

    plain = i.guard is None and not votes and not arrives_only
    if plain and len(given) == 1 and isinstance(given[0], Immediate):
        return _of_all_threads(block, end)
    return end


def _of_all_threads(block: Block, otherwise: End) -> End:
    """Go on at once where all threads that have not ended are here."""

    def end(c: Context) -> None:
        if c.rows is None and not c.blocks.block_barriers.waiting:
            together = c.mask is None or bool((c.lanes == c.blocks.alive).all())
            if together:
                c.blocks.block_barriers.met(c.lanes)
                c.go(block.follows)
                return
        otherwise(c)

    return end


def _number(operand: Operand, shift: int, mask: int) -> Callable[[Context], Array]:
    """A number in an instruction, or in a part of a register of the first thread of each warp."""
    read = whole(operand)
    if isinstance(operand, Immediate):
        return lambda c: read(c).astype(np.int64)
    return lambda c: first_of(read(c), c.mask).astype(np.int64) >> shift & mask


def _of_all(c: Context, values: Array) -> Array:
    """A column of these warps as one of all warps."""
    found = np.zeros((c.blocks.warps, 1), np.int64)
    found[c.where] = values
    return found


@ending("UCGABAR_ARV", "UCGABAR_WAIT")
def _cluster_barrier(i: Instruction, block: Block, program: Program) -> End:
    """All threads of a cluster: they come, and wait later. One thread speaks for its warp."""
    del program
    if i.guard is not None:
        raise NotKnownError(i)
    waits = i.opcode == "UCGABAR_WAIT"

    def end(c: Context) -> None:
        clusters = c.blocks.clusters
        c.counters.ordered(c, i)
        if waits:
            clusters.wait(block.follows, c.lanes)
        else:
            clusters.arrive(c.lanes)
            c.go(block.follows)
        c.blocks.release()

    return end


@ending("SYNCS")
def _wait_for_phase(i: Instruction, block: Block, program: Program) -> End:
    """``mbarrier.try_wait``: threads wait until a phase has ended, and then it has."""
    del program
    if not i.has("PHASECHK"):
        raise NotKnownError(i)
    (at, phase), guard = phase_of(i), guard_of(i)
    named = i.operands[0]
    if not isinstance(named, Predicate):
        raise NotKnownError(i)
    flag, flag_index = put_predicate(named), named.index

    def end(c: Context) -> None:
        phases = c.blocks.phases
        places = upper_word(c, at(c))
        ended = phases.ended(places, phase(c))
        active = guard(c)
        flag(c, ALWAYS, active)
        staying = c.here & ~ended if active is None else c.here & ~ended & active
        going = c.here & ~staying
        if going.any():
            c.go(block.follows, going)
        if staying.any():
            wanted = c.every(phase(c))
            lanes = c.spread(staying)
            phases.wait(
                block.follows, lanes, _spread(c, places), _spread(c, wanted), flag=flag_index
            )

    return end


def _spread(c: Context, values: Array) -> Array:
    """Values of these warps as some of all warps."""
    if c.rows is None:
        return values
    found = np.zeros(c.lanes.shape, values.dtype)
    found[c.where] = values
    return found


@ending("BPT")
def _trap(i: Instruction, block: Block, program: Program) -> End:
    """``__trap()``: the kernel ends with an error."""
    del program
    guard = guard_of(i)
    if not i.has("TRAP"):
        raise NotKnownError(i)

    def end(c: Context) -> None:
        taken = guard(c)
        here = c.here if taken is None else c.here & taken
        if here.any():
            raise TrapError("the kernel stops itself (__trap)", np.argwhere(here))
        c.go(block.follows)

    return end
