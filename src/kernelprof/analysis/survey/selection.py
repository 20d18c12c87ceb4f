"""Which launches of a program are worth measuring, and what measuring them takes.

``ncu`` takes one expression for names and one for the numbers of their launches, so that a choice
is a set of names times a set of numbers: every kernel is measured at the same few numbers of its
own launches, counted in its process, context and stream.

``ncu`` measures a kernel in passes. It either repeats the kernel, for which it saves the memory
that the kernel may change and restores it before each pass, or it runs the whole program again for
each pass (kernel replay and application replay). All rates here were measured with ncu 2025.3.1 on
an H200, of a kernel that fills memory (``tests/gpu/survey/memory.cu``).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kernelprof.analysis.survey.owners import kernel_numbers
from kernelprof.model.kernel_name import function_name
from kernelprof.model.survey import Replay
from kernelprof.model.trace import PAGEABLE, PINNED, RELEASED

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from kernelprof.model.trace import Trace

    Array = npt.NDArray[Any]

START_S: Final = 2.4
"""Seconds that ``ncu`` takes to start and to write its report."""

REACH_S: Final = 0.0002
"""Seconds that it takes for a launch that it does not profile: 100,000 in 20 s."""

PASS_S: Final = 0.022
"""Seconds that one pass of one launch takes: 20 launches of 16 passes in 7 s."""

CHECKED_BYTES_S: Final = 2.5e12
"""Bytes a second at which it goes through what the program holds, in each pass: 10 passes of a
launch took 0.18 s more with 42 GB beside it, and 38 passes 0.57 s."""

RESTORED_BYTES_S: Final = 200e9
"""Bytes a second at which it restores what a kernel wrote: 456e9 of 17 GB for the passes of
``SpeedOfLight``, 158e9 for those of the full set."""

MOST_WRITTEN_BYTES_S: Final = 4.8e12
"""No kernel writes more, for no H200 has more bandwidth (NVIDIA's data sheet)."""

TO_HOST_BYTES_S: Final = 60e9
"""Bytes a second where the copy has no room beside the original on the GPU and lies with the host:
84 and 88 GB in 13.2 and 14.6 s for the 10 passes of a launch, however little of it was written."""

AGAIN_S: Final = 0.9
"""Seconds beside its own that another run of the program for one more pass takes: 10 passes in
8 s, 38 in more than 45 s, of a program of 0.35 s."""

WORTH_IT: Final = 2.0
"""The program is run again for each pass where that takes so many times less. Our choice: whatever
it does beside its kernels, as writing files, it does as often."""


@dataclass(frozen=True, slots=True)
class ReplayEffort:
    """What it takes to measure some launches of a program.

    ``launches`` are measured, of the first ``reach`` that the program makes in its first
    ``seconds``. ``held`` is what it holds on a GPU, ``room`` how much more would fit there, both in
    bytes; ``written`` is the sum of what the launches can have written at most. It is
    ``repeatable`` where one process uses a GPU and it ended by itself: only then it can be run
    again for each pass.
    """

    launches: int
    reach: int
    seconds: float
    held: int
    room: int
    written: float
    repeatable: bool

    def estimate(self, passes: int) -> float:
        """Return the seconds of an ``ncu`` run that measures these launches in so many passes."""
        by_kernel = self.replay(passes) is Replay.KERNEL
        return self._by_kernel(passes) if by_kernel else self._by_application(passes)

    def replay(self, passes: int) -> Replay:
        """Return the whole program is run again where saving its memory takes far longer."""
        kernel, application = self._by_kernel(passes), self._by_application(passes)
        pays = self.repeatable and kernel > WORTH_IT * application
        return Replay.APPLICATION if pays else Replay.KERNEL

    @property
    def run(self) -> float:
        """Seconds of a run of ``ncu`` that measures nothing of what comes up to there."""
        return START_S + self._again

    @property
    def _again(self) -> float:
        return self.seconds + REACH_S * self.reach

    def _by_kernel(self, passes: int) -> float:
        if self.held > self.room:
            memory = self.launches * self.held / TO_HOST_BYTES_S
        else:
            memory = self.launches * self.held / CHECKED_BYTES_S + self.written / RESTORED_BYTES_S
        return self.run + passes * (self.launches * PASS_S + memory)

    def _by_application(self, passes: int) -> float:
        return START_S + passes * (AGAIN_S + self._again + self.launches * PASS_S)


SHARE: Final = 0.95
"""The part of all kernel time that the chosen kernels are to have."""

MOST_LAUNCHES: Final = 3
"""Launches of one configuration: enough to see whether they differ."""

WORTH_SEVERAL: Final = 0.03
"""A kernel with less of the time than this is measured once, where that saves something."""

ENOUGH: Final = 40
"""So many launches are measured to see kernels more than once; only new ones are worth more."""

WARM_UP: Final = 0.1
WARM_UP_LAUNCHES: Final = 50
"""The first part of a kernel's launches, at most so many, in which it may not have settled."""

PASSES: Final = {"triage": 16, "full": 20}
"""Passes of the presets on an H200, `docs/capture.md`."""

FIRST_RUN: Final = 0.6
"""The part of the budget that a run for all metrics may take: none has to follow. Our choice."""

OPEN_AFTER_TRIAGE: Final = 7 / 246
"""Of so many recorded launches ``triage`` left so many open."""

_PLACES: Final = 24
_SMALL_NUMBERS: Final = 32
_BEGINNINGS: Final = 40
_WORTH: Final = (1.0, 0.3, 0.1)
"""What the first, second and third launch of a kernel are worth, beside each other."""


class ChosenName(NamedTuple):
    """A mangled name, the bare one of its function, and how many launches of it are measured."""

    mangled: str
    function: str
    launches: int


@dataclass(frozen=True, slots=True)
class LaunchSelection:
    """The launches to measure: names of kernels, and numbers of their launches from 1 on.

    ``effort`` is what measuring them takes. ``kernels`` are positions in what
    :func:`kernel_numbers` gives, ``share`` is the part of all kernel time that they have.
    """

    names: tuple[ChosenName, ...]
    numbers: tuple[int, ...]
    kernels: tuple[int, ...]
    share: float
    effort: ReplayEffort
    processes: int

    @property
    def launches(self) -> int:
        """How many launches these are."""
        return self.effort.launches

    def preset(self, budget: float) -> str:
        """Return the first preset: ``full`` where another run of the program would cost more."""
        most, few = (self.effort.estimate(PASSES[each]) for each in ("full", "triage"))
        again = 1 - (1 - OPEN_AFTER_TRIAGE) ** len(self.kernels)
        fits = most <= FIRST_RUN * budget
        return "full" if fits and most - few < again * self.effort.run else "triage"


class _EligibleLaunches:
    def __init__(self, trace: Trace, wanted: Callable[[str, str], bool]) -> None:
        rows = trace.kernels
        self.kernel, _ = kernel_numbers(trace)
        names = [each.mangled for each in trace.configurations]
        unique, of_name = np.unique(names, return_inverse=True)
        self.names = unique.tolist()
        shown = {each.mangled: each.name for each in trace.configurations}
        self.functions = [function_name(shown[each]) for each in self.names]
        self.name = of_name[rows["configuration"]]
        fitting = np.array([wanted(each.name, each.mangled) for each in trace.configurations])
        self.number = _number_within(rows["process"], rows["context"], rows["stream"], self.name)
        self.time = (rows["end"] - rows["start"]).astype(np.float64)
        self.fits = fitting[rows["configuration"]]
        self.total = float(self.time[self.fits].sum()) or 1.0
        times = np.bincount(self.kernel[self.fits], self.time[self.fits], self.kernel.max() + 1)
        self.share = times / self.total
        own = _number_within(self.kernel)
        many = np.bincount(self.kernel)[self.kernel]
        self.counts = own > np.minimum(np.ceil(WARM_UP * many), WARM_UP_LAUNCHES) * (many > 1)

    def costliest(self) -> Array:
        """Return the launches of the kernels with :data:`SHARE` of the time, by their numbers.

        All kernels of one name are measured together.
        """
        order = np.argsort(-self.share, kind="stable")
        reached = np.cumsum(self.share[order])
        kernels = order[: int(np.searchsorted(reached, SHARE - 1e-9)) + 1]
        names = self.name[self.fits & np.isin(self.kernel, kernels)]
        rows = np.flatnonzero(self.fits & np.isin(self.name, names))
        return rows[np.argsort(self.number[rows], kind="stable")]


def select_launches(
    trace: Trace,
    budget: float,
    *,
    before: float = 0.0,
    wanted: Callable[[str, str], bool] | None = None,
    repeatable: bool = True,
) -> LaunchSelection | None:
    """Return the launches that show the most of a program's kernel time within so many seconds.

    ``before`` are the seconds that the program runs before it first uses a GPU.
    A program that is ``repeatable`` can be run again for each pass.
    ``wanted`` is told a kernel's name and its mangled name, ``None`` wants all. At least one launch
    is chosen, however short the time; ``None`` where there is none that is wanted.
    """
    if not len(trace.kernels):
        return None
    every = _EligibleLaunches(trace, wanted or (lambda *_: True))
    if not every.fits.any():
        return None
    candidates = _Candidates(trace, every, before, repeatable=repeatable)
    tried = [candidates.beginning_with(first, budget) for first in candidates.beginnings()]
    enough = [each for each in tried if each.share >= SHARE]
    if enough:
        return min(enough, key=lambda each: each.effort.estimate(PASSES["triage"]))
    return max(tried, key=lambda each: each.share)


class _Candidates:
    def __init__(
        self, trace: Trace, every: _EligibleLaunches, before: float, *, repeatable: bool
    ) -> None:
        self.trace, self.every = trace, every
        self.rows = every.costliest()
        self.numbers = every.number[self.rows]
        begin = min(each.first for each in trace.processes)
        self.seconds = before + (trace.kernels["end"] - begin) * 1e-9
        alone = len(trace.processes) == 1 and trace.processes[0].complete
        one = ReplayEffort(1, 0, 0.0, *_peak_memory(trace), 0.0, repeatable=False)
        self.launch_s = one.estimate(PASSES["triage"]) - START_S
        self.effort = replace(one, repeatable=repeatable and alone)
        self.candidates = self._candidates()
        rows_of_number = [self._rows_of_number(number) for number in self.candidates]
        self.size = np.array([len(each) for each in rows_of_number])
        self.last = np.array([each.max() for each in rows_of_number])
        self.position = np.array([np.median(each) for each in rows_of_number]) / len(trace.kernels)
        self.shows = np.zeros((len(rows_of_number), len(every.share)), bool)
        for position, each in enumerate(rows_of_number):
            self.shows[position, every.kernel[each][every.counts[each]]] = True

    def beginnings(self) -> list[int]:
        """Return candidates to begin with: those that show the most for their cost."""
        nothing = np.zeros(len(self.every.share), np.int64)
        scores = self._scores([], nothing)
        return [int(each) for each in np.argsort(-scores, kind="stable")[:_BEGINNINGS]]

    def beginning_with(self, first: int, budget: float) -> LaunchSelection:
        """Return one number after the other, the one that shows the most for its cost first.

        Where launches of all names with the first number take longer, the costliest have to do.
        """
        chosen, seen = [first], self.shows[first].astype(np.int64)
        best = self._choice(chosen)

        def seconds(names: int) -> float:
            return self._choice([first], names).effort.estimate(PASSES["triage"])

        if best.effort.estimate(PASSES["triage"]) > budget:
            fitting = bisect_right(range(1, len(best.names)), budget, key=seconds)
            best = self._choice(chosen, max(1, fitting))
        while best.share < SHARE or best.launches < ENOUGH:
            scores = self._scores(chosen, seen)
            position = int(scores.argmax())
            if scores[position] <= 0:
                break
            choice = self._choice([*chosen, position])
            if choice.effort.estimate(PASSES["triage"]) > budget:
                break
            chosen.append(position)
            seen = seen + self.shows[position]
            best = choice
        return best

    def _scores(self, chosen: list[int], seen: Array) -> Array:
        most = np.where(self.every.share >= WORTH_SEVERAL, MOST_LAUNCHES, 1)
        worth = np.where(seen < most, np.array([*_WORTH, 0.0])[np.minimum(seen, 3)], 0.0)
        shown = self.shows @ (worth * self.every.share)
        apart = np.full(len(self.candidates), 0.5)
        last, begin = 0, float(self.seconds[0])
        if chosen:
            distance = np.abs(self.position[:, None] - self.position[chosen][None, :]).min(axis=1)
            apart = np.minimum(distance, 0.5)
            last = int(self.last[chosen].max())
            begin = float(self.seconds[last])
            shown[chosen] = 0.0
        further = np.maximum(self.last - last, 0) * REACH_S
        further += np.maximum(self.seconds[self.last] - begin, 0.0)
        scores: Array = shown * (0.1 + apart) / (self.size * self.launch_s + further)
        return scores

    def _choice(self, chosen: list[int], most_names: int | None = None) -> LaunchSelection:
        numbers = sorted(self.candidates[each] for each in chosen)
        rows = self._worth_names(
            np.concatenate([self._rows_of_number(each) for each in numbers]), most_names
        )
        kernels = np.unique(self.every.kernel[rows])
        last = int(rows.max())
        most_written = self.every.time[rows] * 1e-9 * MOST_WRITTEN_BYTES_S
        names, launches = np.unique(self.every.name[rows], return_counts=True)
        return LaunchSelection(
            names=tuple(
                ChosenName(self.every.names[name], self.every.functions[name], many)
                for name, many in zip(names.tolist(), launches.tolist(), strict=True)
            ),
            numbers=tuple(numbers),
            kernels=tuple(kernels.tolist()),
            share=float(self.every.share[kernels].sum()),
            effort=replace(
                self.effort,
                launches=len(rows),
                reach=last + 1,
                seconds=float(self.seconds[last]),
                written=float(np.minimum(self.effort.held, most_written).sum()),
            ),
            processes=len(self.trace.processes),
        )

    def _worth_names(self, rows: Array, most: int | None) -> Array:
        """Those of the costliest names that the share needs, or of so many at most."""
        share = {}
        for name in np.unique(self.every.name[rows]).tolist():
            mine = rows[self.every.name[rows] == name]
            share[name] = float(self.every.share[np.unique(self.every.kernel[mine])].sum())
        names = sorted(share, key=lambda each: -share[each])
        reached = np.cumsum([share[each] for each in names])
        enough = int(np.searchsorted(reached, SHARE - 1e-9)) + 1
        return rows[np.isin(self.every.name[rows], names[: min(enough, most or enough)])]

    def _rows_of_number(self, number: int) -> Array:
        low, high = np.searchsorted(self.numbers, [number, number + 1])
        return self.rows[low:high]

    def _candidates(self) -> list[int]:
        numbers = set(range(1, _SMALL_NUMBERS + 1))
        for kernel in np.unique(self.every.kernel[self.rows]).tolist():
            own = np.sort(self.numbers[self.every.kernel[self.rows] == kernel])
            places = np.linspace(0, len(own) - 1, _PLACES).astype(np.int64)
            numbers.update(own[places].tolist())
        return sorted(numbers & set(self.numbers.tolist()))


def _number_within(*keys: Array) -> Array:
    """For each row how many rows of the same keys there are up to it."""
    if not len(keys[0]):
        return np.zeros(0, np.int64)
    stacked = np.stack([np.asarray(each, np.int64) for each in keys])
    _, group = np.unique(stacked, axis=1, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    starts = np.flatnonzero(first)
    within = np.arange(len(group)) - np.repeat(starts, np.diff([*starts, len(group)]))
    numbers = np.empty(len(group), np.int64)
    numbers[order] = within + 1
    return numbers


def _peak_memory(trace: Trace) -> tuple[int, int]:
    """The most bytes that one process held on one GPU, and how many more it would have had.

    A GPU of which nothing is known is taken to have room for as much again.
    """
    most, room = 0, 0
    rows = trace.allocations[~np.isin(trace.allocations["kind"], (PAGEABLE, PINNED))]
    for process, device in np.unique(rows[["process", "device"]]).tolist():
        mine = rows[(rows["process"] == process) & (rows["device"] == device)]
        change = mine["bytes"].astype(np.int64) * np.where(mine["what"] == RELEASED, -1, 1)
        held = int(np.cumsum(change).max(initial=0))
        if held > most:
            gpu = trace.devices.get(device)
            most, room = held, held if gpu is None else gpu.memory - held
    return most, room
