"""What a launch counts as: totals of its grid, each with the interval around it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.counts.loops import LoopingMachine
from kernelprof.predict.counts.needed import needed as needed_of
from kernelprof.predict.counts.sampling import Sample, sample
from kernelprof.predict.counts.tally import Tally
from kernelprof.predict.machine.arrays import LANES
from kernelprof.predict.machine.faults import UnwrittenError
from kernelprof.predict.machine.needed import AssumedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.predict.counts.tally import Accesses
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.launch import Launch
    from kernelprof.predict.machine.needed import Needed
    from kernelprof.predict.sass.listing import Instruction

_FIRST_LANES: Final = 4_096
"""Threads that are run at first, to see how long that takes."""
_FIRST_BLOCKS: Final = 4
_LANES: Final = 16_384
"""Threads that are run at least, about, unless already the first take :data:`_LONG_S`."""
_LONG_S: Final = 1.5
_BLOCKS: Final = 16
_EXACT_ENOUGH: Final = 0.005
"""Half of an interval, of the total, from which no more blocks are run."""
_MOST_LANES: Final = 1 << 18
_AT_ONCE_S: Final = 0.5
"""Seconds within which all blocks of a grid are run rather than a sample."""
_MORE: Final = 1.5
"""How many times as many blocks have to be run to be worth another pass."""
_GROWS: Final = 4
_MOST_TRIES: Final = 8


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


def count(
    launch: Launch, needed: Needed, *, seconds: float, meanwhile: Callable[[], None] | None = None
) -> Counted:
    """Run a sample of the blocks, and more of them where they differ, in about so much time.

    ``meanwhile`` is called now and then.

    All are run where that is a matter of a moment, or where they depend on each other. How long
    blocks take is worked out and not measured: the same blocks are run on every machine.
    """
    warps = -(-math.prod(launch.block) // LANES)
    lanes_of_block = warps * LANES
    every = math.prod(launch.grid)
    runner = _Runner(launch, needed, meanwhile)
    fits = every * lanes_of_block <= _MOST_LANES
    most = max(_FIRST_BLOCKS, _FIRST_LANES // lanes_of_block)
    if needed.decides and fits:
        most = every
    spent = 0.0
    while True:
        found, took = runner.run(most)
        spent += took
        run = len(found.sample.blocks)
        if found.sample.complete or run * lanes_of_block * _MORE > _MOST_LANES:
            return found
        enough = max(_BLOCKS, _LANES // lanes_of_block)
        if fits and took * every <= _AT_ONCE_S * run:
            most = every
        elif (run * _MORE >= enough or took > _LONG_S) and _is_settled(found):
            return found
        else:
            left = int((seconds - spent) * run / took)
            most = min(max(enough, _GROWS * run), left, _MOST_LANES // lanes_of_block)
            if most < _MORE * run:
                return found


class _Runner:
    """Runs blocks of a launch, each time from the beginning."""

    def __init__(
        self, launch: Launch, wanted: Needed, meanwhile: Callable[[], None] | None
    ) -> None:
        self._launch = launch
        self._meanwhile = meanwhile
        self._needed = wanted
        self._stores: frozenset[int] = frozenset()
        self._tries = 0

    def run(self, most: int) -> tuple[Counted, float]:
        """Run so many blocks at most; and about how long that took.

        Where something is needed after all that was taken for unused, they are run again with it.
        """
        chosen = sample(self._launch.grid, most, self._launch.cluster)
        took = 0.0
        while True:
            tally = Tally()
            self._launch.memory.begin_anew()
            machine = LoopingMachine(self._launch, chosen.blocks, tally, self._needed)
            try:
                machine.run(self._meanwhile)
                return Counted(self._launch, chosen, tally), took + machine.seconds
            except AssumedError as error:
                self._need_more(error.stores)
            except UnwrittenError as error:
                if error.space not in self._needed.assumes:
                    raise
                self._need_more(frozenset())
            took += machine.seconds

    def _need_more(self, stores: frozenset[int]) -> None:
        """Take note of stores whose values are read; without them of all that may be."""
        program = self._launch.program
        self._stores |= {program.addresses[each] for each in stores}
        self._tries += 1
        cautious = not stores or self._tries > _MOST_TRIES
        self._needed = needed_of(program, cautious=cautious, stores=self._stores)


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
