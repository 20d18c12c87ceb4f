"""What a launch counts as: totals of its grid, each with the interval around it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.counts.loops import LoopingMachine
from kernelprof.predict.counts.sampling import Sample, sample
from kernelprof.predict.counts.tally import Tally
from kernelprof.predict.machine.arrays import LANES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.predict.counts.tally import Accesses
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.launch import Launch
    from kernelprof.predict.machine.needed import Needed
    from kernelprof.predict.sass.listing import Instruction

_FIRST_LANES: Final = 16_384
"""Threads that are run at first."""
_FEWEST_BLOCKS: Final = 16
_EXACT_ENOUGH: Final = 0.005
"""Half of an interval, of the total, from which no more blocks are run."""
_MOST_LANES: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Total:
    """A count of the whole grid, and the interval in which it lies."""

    value: float
    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Whether nothing is left open."""
        return self.low == self.high


@dataclass(frozen=True)
class Counted:
    """The counts of a launch, from a sample of its blocks."""

    launch: Launch
    sample: Sample
    tally: Tally

    def total(self, by_warp: Array) -> Total:
        """The sum over the grid of numbers by warp of the sample."""
        return Total(*self.sample.total(self.tally.of_blocks(by_warp)))

    def ratio(self, above: Array, below: Array) -> Total | None:
        """A quotient of two sums over the grid; ``None`` where the lower one is nothing."""
        whole = self.total(below).value
        if whole == 0:
            return None
        value = self.total(above).value / whole
        # The quotient's error is that of what is left of the upper sum at the quotient.
        margin = self.sample.margin(self.tally.of_blocks(above - value * below)) / whole
        return Total(value, value - margin, value + margin)

    def executed(self) -> Iterator[tuple[Instruction, Array, Array]]:
        """Each instruction with how often each warp carried it out, and with how many threads."""
        for run in self.tally.runs.values():
            for each in run.block.body:
                yield each, run.warps, run.threads
            if run.block.end is not None:
                yield run.block.end, run.warps, run.threads

    def instructions(self, matches: Callable[[Instruction], bool] | None = None) -> Array:
        """Instructions by warp, those that match."""
        total = np.zeros(self.tally.warps, np.int64)
        for i, warps, _ in self.executed():
            if matches is None or matches(i):
                total += warps
        return total

    def threads(self, matches: Callable[[Instruction], bool] | None = None) -> Array:
        """Instructions of threads by warp, those that match; predicates are not looked at."""
        total = np.zeros(self.tally.warps, np.int64)
        for i, _, threads in self.executed():
            if matches is None or matches(i):
                total += threads
        return total

    def accesses(self, count: str, matches: Callable[[Accesses], bool] | None = None) -> Array:
        """A count of accesses by warp, of those that match."""
        total = np.zeros(self.tally.warps, np.int64)
        for each in self.tally.accesses.values():
            if count in each.counts and (matches is None or matches(each)):
                total += each.counts[count]
        return total


def count(launch: Launch, needed: Needed, *, seconds: float) -> Counted:
    """Run a sample of the blocks, and more of them where they differ, within about a time."""
    warps = -(-math.prod(launch.block) // LANES)
    lanes = _FIRST_LANES
    began = time.monotonic()
    while True:
        most = max(_FEWEST_BLOCKS, lanes // (warps * LANES))
        chosen = sample(launch.grid, most)
        tally = Tally()
        LoopingMachine(launch, chosen.blocks, tally, needed).run()
        found = Counted(launch, chosen, tally)
        spent = time.monotonic() - began
        if chosen.complete or lanes >= _MOST_LANES or spent * 6 > seconds or _is_settled(found):
            return found
        lanes *= 4


def _is_settled(found: Counted) -> bool:
    """Whether more blocks would hardly change what matters."""
    return all(
        total.high - total.value <= _EXACT_ENOUGH * total.value
        for total in (
            found.total(found.instructions()),
            found.total(found.accesses("sectors")),
            found.total(found.accesses("requests")),
            found.total(found.accesses("wavefronts")),
        )
    )
