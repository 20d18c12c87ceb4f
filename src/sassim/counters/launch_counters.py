"""What a launch counts as: totals of its grid, each with the interval around it."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.counters.counters import BlockCounters
from sassim.counters.sampling import Sample, add_strata, regions_of, sample_blocks
from sassim.faults import UninitializedReadError
from sassim.interpreter.lanes import LANES, distinct
from sassim.interpreter.slices import SliceError
from sassim.loops.backward_slice import slice_program
from sassim.loops.guards import evaluate_guards, plan_guards
from sassim.loops.skipping import LoopInterpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sassim.counters.counters import AccessCounters
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.launch import KernelLaunch
    from sassim.interpreter.slices import BackwardSlice
    from sassim.loops.guards import GuardPlan, GuardValues
    from sassim.sass.listing import Instruction, SourceLine

_FIRST_LANES: Final = 4_096
"""Threads that are run at first, to see how long that takes."""
_FIRST_BLOCKS: Final = 4
_LANES: Final = 16_384
"""Threads that are run at least, about, unless already the first take :data:`_LONG_S`."""
_LONG_S: Final = 1.5
_BLOCKS: Final = 16
_ALIKE_BLOCKS: Final = 8
_ALIKE_S: Final = 0.08
"""Blocks that suffice where all are alike and take so long: of 14 such kernels of the corpus four
times as many changed the time by 0.1 % at most, bytes from device memory by 3 %."""
_EXACT_ENOUGH: Final = 0.005
"""Half of an interval, of the total, from which no more blocks are run."""
_MOST_LANES: Final = 1 << 18
_AT_ONCE_S: Final = 0.5
_AT_ONCE_ALIKE_S: Final = 0.06
"""Seconds within which all blocks of a grid are run rather than a sample: much fewer where the
sample is near enough already."""
_MOST_FOR_STRATA_S: Final = 4.0
_MUCH_LONGER: Final = 8.0
"""Work of a block, against the mean, from which its steps are recorded as well."""
_MOST_PATTERNS: Final = 8
"""Different sets of threads, by block, for which a guard holds: with more none of them is rare."""
_MORE: Final = 1.5
"""How many times as many blocks have to be run to be worth another pass."""
_GROWS: Final = 16
_GROWS_AT_FIRST: Final = 4
"""How many times as many blocks are run at most; of the first few the error is uncertain."""
_MOST_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class Total:
    """A count of the whole grid, and its interval."""

    value: float
    low: float
    high: float

    @property
    def exact(self) -> bool:
        """Whether nothing is left open."""
        return self.low == self.high


@dataclass(frozen=True)
class AccessTotals:
    """What one instruction asks of one kind of memory in the whole grid.

    ``totals`` are by name: requests and threads; of global memory sectors, ideal (the fewest
    sectors that the same bytes need), lines; of shared memory wavefronts and ideal.
    """

    instruction: Instruction
    space: str
    kind: str
    totals: Mapping[str, Total]

    @property
    def line(self) -> SourceLine | None:
        """The line of the source that the instruction comes from, if the cubin has lines."""
        return self.instruction.line


@dataclass(frozen=True)
class LaunchGuards:
    """The guards of a launch, and whether each of their outcomes is in the sample."""

    plan: GuardPlan
    values: GuardValues
    sampled: bool = True


@dataclass(frozen=True)
class LaunchCounters:
    """The counts of a launch, from a sample of its blocks."""

    launch: KernelLaunch
    sample: Sample
    block_counters: BlockCounters
    guards: LaunchGuards
    slice: BackwardSlice
    """What was executed to count."""

    def by_access(self) -> tuple[AccessTotals, ...]:
        """Return totals of the grid for each instruction that accesses memory, in code order."""
        return tuple(
            AccessTotals(
                access.instruction,
                access.space,
                access.kind,
                {name: self.total(by_warp) for name, by_warp in access.counts.items()},
            )
            for _, access in sorted(self.block_counters.accesses.items())
        )

    def total(self, by_warp: Array) -> Total:
        """The sum over the grid of numbers by warp of the sample."""
        return Total(*self.sample.total(self.block_counters.of_blocks(by_warp)))

    def ratio(self, above: Array, below: Array) -> Total | None:
        """A quotient of two sums over the grid; ``None`` where the lower one is nothing."""
        whole = self.total(below).value
        if whole == 0:
            return None
        value = self.total(above).value / whole
        # The quotient's error is that of what is left of the upper sum at the quotient.
        margin = self.sample.margin(self.block_counters.of_blocks(above - value * below)) / whole
        return Total(value, value - margin, value + margin)

    def executed(self) -> Iterator[tuple[Instruction, Array, Array]]:
        """Each instruction with how often each warp carried it out, and with how many threads."""
        for run in self.block_counters.runs.values():
            for each in run.block.body:
                yield each, run.warps, run.threads
            if run.block.end is not None:
                yield run.block.end, run.warps, run.threads

    def instructions(self, matches: Callable[[Instruction], bool] | None = None) -> Array:
        """Instructions by warp, those that match."""
        total = np.zeros(self.block_counters.warps, np.int64)
        for i, warps, _ in self.executed():
            if matches is None or matches(i):
                total += warps
        return total

    def threads(self, matches: Callable[[Instruction], bool] | None = None) -> Array:
        """Instructions of threads by warp, those that match; predicates are not looked at."""
        total = np.zeros(self.block_counters.warps, np.int64)
        for i, _, threads in self.executed():
            if matches is None or matches(i):
                total += threads
        return total

    def accesses(
        self, count: str, matches: Callable[[AccessCounters], bool] | None = None
    ) -> Array:
        """A count of accesses by warp, of those that match."""
        total = np.zeros(self.block_counters.warps, np.int64)
        for each in self.block_counters.accesses.values():
            if count in each.counts and (matches is None or matches(each)):
                total += each.counts[count]
        return total


def count_launch(
    launch: KernelLaunch,
    program_slice: BackwardSlice,
    *,
    seconds: float,
    meanwhile: Callable[[], None] | None = None,
) -> LaunchCounters:
    """Run a sample of the blocks, and more of them where they differ, in about so much time.

    ``meanwhile`` is called now and then.

    All are run where that is a matter of a moment, or where they depend on each other. How long
    blocks take is worked out and not measured: the same blocks are run on every machine.
    """
    runner = _Runner(launch, program_slice, meanwhile)
    counters = _run_samples(runner, launch, program_slice, seconds)
    executed = counters.block_counters.of_blocks(counters.instructions())
    longest = int(executed.argmax())
    mean = counters.sample.total(executed)[0] / math.prod(launch.grid)
    if executed[longest] < _MUCH_LONGER * mean or longest in counters.block_counters.recorded:
        return counters
    # Its steps are looked at where they decide how long the launch takes.
    runner.record(counters, longest)
    return counters


def _run_samples(
    runner: _Runner, launch: KernelLaunch, program_slice: BackwardSlice, seconds: float
) -> LaunchCounters:
    warps = -(-math.prod(launch.block) // LANES)
    lanes_of_block = warps * LANES
    every = math.prod(launch.grid)
    fits = every * lanes_of_block <= _MOST_LANES
    most = max(_FIRST_BLOCKS, _FIRST_LANES // lanes_of_block)
    if program_slice.decides and fits:
        most = every
    spent = 0.0
    while True:
        counters, took = runner.run(most)
        spent += took
        run = len(counters.sample.blocks)
        if counters.sample.complete or run * lanes_of_block * _MORE > _MOST_LANES:
            return counters
        enough = max(_BLOCKS, _LANES // lanes_of_block)
        error = _sampling_error(counters)
        are_alike = error == 0.0 and run >= _ALIKE_BLOCKS and took > _ALIKE_S
        at_once = _AT_ONCE_ALIKE_S if error <= _EXACT_ENOUGH else _AT_ONCE_S
        if fits and took * every <= at_once * run:
            most = every
        elif are_alike or (error <= _EXACT_ENOUGH and (run * _MORE >= enough or took > _LONG_S)):
            return counters
        else:
            left = int((seconds - spent) * run / took)
            grows = _GROWS if run * _MORE >= enough else _GROWS_AT_FIRST
            wanted = int(run * max(min((error / _EXACT_ENOUGH) ** 2, grows), 2 * _MORE))
            most = min(max(enough, wanted), left, _MOST_LANES // lanes_of_block)
            if most < _MORE * run:
                return counters


class _TooLongError(Exception):
    """Blocks with rare outcomes take too long."""


class _Runner:
    """Runs blocks of a launch, each time from the beginning."""

    def __init__(
        self, launch: KernelLaunch, wanted: BackwardSlice, meanwhile: Callable[[], None] | None
    ) -> None:
        self._launch = launch
        self._meanwhile = meanwhile
        self._slice = wanted
        self._stores: frozenset[int] = frozenset()
        self._tries = 0
        plan = plan_guards(launch.program)
        self._with_strata = True
        self._guards = LaunchGuards(plan, evaluate_guards(launch, plan))

    def run(self, most: int) -> tuple[LaunchCounters, float]:
        """Run so many blocks at most; and about how long that took.

        Where the slice lacks a store whose value is read, they are run again with it. Blocks with
        rare outcomes that take too long are left out.
        """
        chosen, guards = self._choose_blocks(most)
        took = 0.0
        while True:
            block_counters = BlockCounters()
            self._launch.memory.begin_anew()
            interpreter = LoopInterpreter(self._launch, chosen.blocks, block_counters, self._slice)
            try:
                interpreter.run(self._end_at_limit(interpreter, limited=chosen.strata > 0))
                counters = LaunchCounters(self._launch, chosen, block_counters, guards, self._slice)
                return counters, took + interpreter.seconds
            except _TooLongError:
                self._with_strata = False
                chosen, guards = self._choose_blocks(most)
            except SliceError as error:
                self._extend_slice(error.stores)
            except UninitializedReadError as error:
                if error.space not in self._slice.assumes:
                    raise
                self._extend_slice(frozenset())
            took += interpreter.seconds

    def record(self, counters: LaunchCounters, longest: int) -> None:
        """Record the steps of the block at a place of the sample, in the place of another's."""
        sample, together = counters.sample, counters.sample.together
        if together > 1:  # a cluster runs as a whole
            places = longest // together * together + np.arange(together)
        else:
            places = np.sort(np.append(counters.block_counters.recorded[:-1], longest))
        alone = BlockCounters()
        self._launch.memory.begin_anew()
        with suppress(SliceError, UninitializedReadError):  # those that write what it reads
            LoopInterpreter(self._launch, sample.blocks[places], alone, self._slice).run(
                self._meanwhile
            )
            counters.block_counters.take_record(alone, places)

    def _end_at_limit(
        self, interpreter: LoopInterpreter, *, limited: bool
    ) -> Callable[[], None] | None:
        if not limited:
            return self._meanwhile
        meanwhile = self._meanwhile

        def look() -> None:
            if interpreter.seconds > _MOST_FOR_STRATA_S:
                raise _TooLongError
            if meanwhile is not None:
                meanwhile()

        return look

    def _choose_blocks(self, most: int) -> tuple[Sample, LaunchGuards]:
        """A sample that has each outcome of each guard, and the ends of what loops count to."""
        sample = sample_blocks(self._launch.grid, most, self._launch.cluster)
        guards = self._guards
        if sample.complete:
            return sample, guards
        groups = list(_missing_outcomes(sample, guards.values))
        if sample.together > 1:
            return sample, replace(guards, sampled=not groups)
        whole = not groups
        if self._with_strata:
            sample, whole = add_strata(sample, groups)
        return sample, replace(guards, sampled=whole and guards.values.complete)

    def _extend_slice(self, stores: frozenset[int]) -> None:
        """Take note of stores whose values are read; without them of all that may be."""
        program = self._launch.program
        self._stores |= {program.addresses[each] for each in stores}
        self._tries += 1
        cautious = not stores or self._tries > _MOST_TRIES
        self._slice = slice_program(program, cautious=cautious, stores=self._stores)


def _missing_outcomes(sample: Sample, values: GuardValues) -> Iterator[tuple[Array, Array]]:
    """Groups of blocks with an outcome that no sampled block of their region has."""
    kinds = (*values.outcomes.values(), *values.patterns.values())
    # A grid of billions of blocks has no values of each.
    every = math.prod(sample.grid) if kinds else 0
    regions = regions_of(np.arange(every), sample.grid)
    count = int(regions.max(initial=0)) + 1
    for of_blocks in kinds:
        different = distinct(of_blocks)
        if len(different) > _MOST_PATTERNS:
            continue
        in_region = np.searchsorted(different, of_blocks) * count + regions
        there = distinct(in_region[sample.blocks])
        for kind in np.setdiff1d(distinct(in_region), there, assume_unique=True):
            yield in_region == kind, np.arange(len(in_region))
    for low, high in values.numbers.values():
        below, above = (end[sample.blocks] for end in (low, high))
        yield low < below.min(), low
        yield high > above.max(), high


def _sampling_error(counters: LaunchCounters) -> float:
    """Half of the widest interval around what matters, against its total."""
    totals = (
        counters.total(counters.instructions()),
        counters.total(counters.accesses("sectors")),
        counters.total(counters.accesses("requests")),
        counters.total(counters.accesses("wavefronts")),
    )
    return max((each.high - each.value) / each.value for each in totals if each.value)
