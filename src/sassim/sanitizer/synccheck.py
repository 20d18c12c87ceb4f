"""Barriers of a block that some of its threads come to without the others.

All threads of a block have to come to the same ``__syncthreads()``, those that have ended aside
(CUDA C++ Programming Guide, "Synchronization Functions"; PTX ISA, "barrier.cta"). A warp that comes
in parts, and whose other part never comes there, does not; nor does a block whose warps meet at
different places. Barriers of some of a block's threads, which have a thread count, may be anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.faults import BarrierError, FaultLocation
from sassim.interpreter.context import Observer
from sassim.sass.operands import Predicate

if TYPE_CHECKING:
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.state import ResidentBlocks
    from sassim.sass.listing import Instruction

_IN_WARP: Final = "Divergent thread(s) in warp"
_IN_BLOCK: Final = "Divergent thread(s) in block"


class Synccheck(Observer):
    """Notes where each warp waits, and who of it."""

    def on_start(self, blocks: ResidentBlocks) -> None:
        """Nobody waits yet."""
        self._blocks = blocks
        self._wanted = np.zeros_like(blocks.alive)
        """Of warps that came in parts, the threads that had not ended then."""
        self._came = np.zeros_like(blocks.alive)
        self._at = np.full(blocks.warps, -1)
        """The barrier at which each warp waits, among those in ``_barriers``."""
        self._barriers: list[Instruction] = []
        self._numbers: dict[int, int] = {}
        blocks.block_barriers.listeners.append(self._check_released)

    def on_arrival(self, i: Instruction, lanes: Array) -> None:
        """Note the place, and who is missing."""
        number = self._numbers.setdefault(id(i), len(self._barriers))
        if number == len(self._barriers):
            self._barriers.append(i)
        rows = np.flatnonzero(lanes.any(axis=1))
        here, alive = lanes[rows], self._blocks.alive[rows]
        incomplete = self._wanted[rows].any(axis=1)
        apart = incomplete & (self._at[rows] != number)
        if apart.any():
            warp = int(rows[apart.argmax()])
            there = self._first_thread(warp, lanes[warp], number)
            raise BarrierError(_IN_WARP, self._first_thread(warp, self._came[warp]), there=there)
        self._at[rows] = number
        in_parts = (here != alive).any(axis=1)
        if in_parts.any():
            new = in_parts & ~incomplete
            self._wanted[rows[new]] = alive[new]
            self._came[rows[in_parts]] |= here[in_parts]

    def _check_released(self, lanes: Array) -> None:
        """Check the warps that the barrier releases."""
        going: Array = np.any(lanes, axis=1)
        missing = self._wanted & ~self._came
        without = going & missing.any(axis=1)
        if without.any():
            warp = int(without.argmax())
            absent = self._blocks.thread_id(warp, int(missing[warp].argmax()))
            raise BarrierError(_IN_WARP, self._first_thread(warp, self._came[warp]), missing=absent)
        self._check_blocks(lanes, going)
        self._wanted[going] = False
        self._came[going] = False

    def _check_blocks(self, lanes: Array, going: Array) -> None:
        """Refuse warps of a block that meet at different barriers."""
        warps = self._blocks.warps_of_block
        there, at = going.reshape(-1, warps), self._at.reshape(-1, warps)
        least = np.where(there, at, len(self._barriers)).min(axis=1)
        most = np.where(there, at, -1).max(axis=1)
        for block in np.flatnonzero(there.any(axis=1) & (least != most)):
            here = np.flatnonzero(there[block])
            numbers = at[block][here]
            if any(_has_thread_count(self._barriers[each]) for each in numbers):
                continue
            one, other = (
                int(block) * warps + int(here[(numbers == number).argmax()])
                for number in (numbers[0], numbers[numbers != numbers[0]][0])
            )
            raise BarrierError(
                _IN_BLOCK,
                self._first_thread(one, lanes[one]),
                there=self._first_thread(other, lanes[other]),
            )

    def _first_thread(self, warp: int, lanes: Array, number: int | None = None) -> FaultLocation:
        """The first of some threads of a warp, at a barrier (``None``: at which it waits)."""
        barrier = self._barriers[self._at[warp] if number is None else number]
        return FaultLocation(barrier, self._blocks.thread_id(warp, int(lanes.argmax())))


def _has_thread_count(i: Instruction) -> bool:
    return len([each for each in i.operands if not isinstance(each, Predicate)]) > 1
