"""Which launches of a program are worth measuring, and what measuring them takes.

``ncu`` takes one expression for names and one for the numbers of their launches, so that a choice
is a set of names times a set of numbers: every kernel is measured at the same few numbers of its
own launches, counted in its process, context and stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kernelprof.analysis.survey.effort import (
    MOST_WRITTEN_BYTES_S,
    REACH_S,
    START_S,
    Effort,
)
from kernelprof.analysis.survey.groups import kernel_numbers
from kernelprof.model.kernel_name import function_name
from kernelprof.model.trace import PAGEABLE, PINNED, RELEASED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from kernelprof.model.trace import Trace

    Array = npt.NDArray[Any]

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
class Choice:
    """The launches to measure: names of kernels, and numbers of their launches from 1 on.

    ``effort`` is what measuring them takes. ``kernels`` are positions in what
    :func:`kernel_numbers` gives, ``share`` is the part of all kernel time that they have.
    """

    names: tuple[ChosenName, ...]
    numbers: tuple[int, ...]
    kernels: tuple[int, ...]
    share: float
    effort: Effort
    processes: int

    @property
    def launches(self) -> int:
        """How many launches these are."""
        return self.effort.launches

    def preset(self, budget: float) -> str:
        """What to begin with: all at once where another run of the program would cost more."""
        most, few = (self.effort.estimate(PASSES[each]) for each in ("full", "triage"))
        again = 1 - (1 - OPEN_AFTER_TRIAGE) ** len(self.kernels)
        fits = most <= FIRST_RUN * budget
        return "full" if fits and most - few < again * self.effort.run else "triage"


class _Launches:
    """The launches that may be measured, by kernel, name and number."""

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
        self.number = _counted(rows["process"], rows["context"], rows["stream"], self.name)
        self.time = (rows["end"] - rows["start"]).astype(np.float64)
        self.fits = fitting[rows["configuration"]]
        self.total = float(self.time[self.fits].sum()) or 1.0
        times = np.bincount(self.kernel[self.fits], self.time[self.fits], self.kernel.max() + 1)
        self.share = times / self.total
        own = _counted(self.kernel)
        many = np.bincount(self.kernel)[self.kernel]
        self.counts = own > np.minimum(np.ceil(WARM_UP * many), WARM_UP_LAUNCHES) * (many > 1)

    def costliest(self) -> list[int]:
        """The kernels with :data:`SHARE` of the time."""
        order = np.argsort(-self.share, kind="stable")
        reached = np.cumsum(self.share[order])
        found = order[: int(np.searchsorted(reached, SHARE - 1e-9)) + 1]
        return [int(each) for each in found]


def choose(
    trace: Trace,
    budget: float,
    *,
    before: float = 0.0,
    wanted: Callable[[str, str], bool] | None = None,
    passes: int = PASSES["triage"],
    repeatable: bool = True,
) -> Choice | None:
    """The launches that show the most of a program's kernel time within so many seconds.

    ``before`` are the seconds that the program runs before it first uses a GPU.
    A program that is ``repeatable`` can be run again for each pass.
    ``wanted`` is told a kernel's name and its mangled name, ``None`` wants all. At least one launch
    is chosen, however short the time; ``None`` where there is none that is wanted.
    """
    if not len(trace.kernels):
        return None
    every = _Launches(trace, wanted or _any)
    if not every.fits.any():
        return None
    costly = every.costliest()
    mine = every.fits & np.isin(every.kernel, costly)
    matched = every.fits & np.isin(every.name, every.name[mine])
    made = _Choices(trace, every, np.flatnonzero(matched), before, repeatable=repeatable)
    tried = [made.beginning_with(first, budget, passes) for first in made.beginnings()]
    return min(tried, key=lambda each: (each.share < SHARE, _cost(each, passes)))


def _any(*_: str) -> bool:
    return True


def _cost(choice: Choice, passes: int) -> float:
    """Seconds, where the share is reached; else what is lacking first."""
    if choice.share < SHARE:
        return -choice.share
    return choice.effort.estimate(passes)


class _Choices:
    """Numbers of launches that can be measured, and what each of them shows and costs."""

    def __init__(
        self, trace: Trace, every: _Launches, rows: Array, before: float, *, repeatable: bool
    ) -> None:
        self.trace, self.every = trace, every
        order = np.argsort(every.number[rows], kind="stable")
        self.rows = rows[order]
        self.numbers = every.number[self.rows]
        begin = min(each.first for each in trace.processes)
        self.seconds = before + (trace.kernels["end"] - begin) * 1e-9
        self.held, self.room = _held(trace)
        alone = len(trace.processes) == 1 and trace.processes[0].complete
        self.again = repeatable and alone
        one = Effort(1, 0, 0.0, self.held, self.room, 0.0, repeatable=False)
        self.launch_s = one.estimate(PASSES["triage"]) - START_S
        self.candidates = self._candidates()
        found = [self._of(number) for number in self.candidates]
        self.size = np.array([len(each) for each in found])
        self.last = np.array([each.max() for each in found])
        self.place = np.array([np.median(each) for each in found]) / len(trace.kernels)
        self.shows = np.zeros((len(found), len(every.share)), bool)
        for position, each in enumerate(found):
            self.shows[position, every.kernel[each][every.counts[each]]] = True

    def beginnings(self) -> list[int]:
        """Candidates to begin with: those that show the most for their cost."""
        nothing = np.zeros(len(self.every.share), np.int64)
        scores = self._scores([], nothing)
        return [int(each) for each in np.argsort(-scores, kind="stable")[:_BEGINNINGS]]

    def beginning_with(self, first: int, budget: float, passes: int) -> Choice:
        """One number after the other, the one that shows the most for its cost first."""
        taken, seen = [first], self.shows[first].astype(np.int64)
        best = self._choice(taken)
        while best.share < SHARE or best.launches < ENOUGH:
            scores = self._scores(taken, seen)
            position = int(scores.argmax())
            if scores[position] <= 0:
                break
            found = self._choice([*taken, position])
            if found.effort.estimate(passes) > budget:
                break
            taken.append(position)
            seen = seen + self.shows[position]
            best = found
        return best

    def _scores(self, taken: list[int], seen: Array) -> Array:
        """What each candidate shows that was not seen often enough, by what it costs."""
        most = np.where(self.every.share >= WORTH_SEVERAL, MOST_LAUNCHES, 1)
        worth = np.where(seen < most, np.array([*_WORTH, 0.0])[np.minimum(seen, 3)], 0.0)
        shown = self.shows @ (worth * self.every.share)
        apart = np.full(len(self.candidates), 0.5)
        last, begin = 0, float(self.seconds[0])
        if taken:
            distance = np.abs(self.place[:, None] - self.place[taken][None, :]).min(axis=1)
            apart = np.minimum(distance, 0.5)
            last = int(self.last[taken].max())
            begin = float(self.seconds[last])
            shown[taken] = 0.0
        further = np.maximum(self.last - last, 0) * REACH_S
        further += np.maximum(self.seconds[self.last] - begin, 0.0)
        scores: Array = shown * (0.1 + apart) / (self.size * self.launch_s + further)
        return scores

    def _choice(self, taken: list[int]) -> Choice:
        numbers = sorted(self.candidates[each] for each in taken)
        rows = self._needed(np.concatenate([self._of(each) for each in numbers]))
        kernels = np.unique(self.every.kernel[rows])
        last = int(rows.max())
        names, launches = np.unique(self.every.name[rows], return_counts=True)
        return Choice(
            names=tuple(
                ChosenName(self.every.names[name], self.every.functions[name], many)
                for name, many in zip(names.tolist(), launches.tolist(), strict=True)
            ),
            numbers=tuple(numbers),
            kernels=tuple(kernels.tolist()),
            share=float(self.every.share[kernels].sum()),
            effort=Effort(
                launches=len(rows),
                reach=last + 1,
                seconds=float(self.seconds[last]),
                held=self.held,
                room=self.room,
                written=float(np.minimum(self.held, self._can_write(rows)).sum()),
                repeatable=self.again,
            ),
            processes=len(self.trace.processes),
        )

    def _needed(self, rows: Array) -> Array:
        """Without the names that the share does not need, those with the least of it first."""
        share = {}
        for name in np.unique(self.every.name[rows]).tolist():
            mine = rows[self.every.name[rows] == name]
            share[name] = float(self.every.share[np.unique(self.every.kernel[mine])].sum())
        spare, left_out = sum(share.values()) - SHARE, []
        for name, part in sorted(share.items(), key=lambda each: each[1]):
            if part > spare:
                break
            left_out.append(name)
            spare -= part
        return rows[~np.isin(self.every.name[rows], left_out)]

    def _can_write(self, rows: Array) -> Array:
        """The most bytes that each of these launches can have written in its time."""
        seconds: Array = self.every.time[rows] * 1e-9
        return seconds * MOST_WRITTEN_BYTES_S

    def _of(self, number: int) -> Array:
        low, high = np.searchsorted(self.numbers, [number, number + 1])
        return self.rows[low:high]

    def _candidates(self) -> list[int]:
        """Numbers from all over the run, of each kernel, and the first few."""
        numbers = set(range(1, _SMALL_NUMBERS + 1))
        for kernel in np.unique(self.every.kernel[self.rows]).tolist():
            own = np.sort(self.numbers[self.every.kernel[self.rows] == kernel])
            places = np.linspace(0, len(own) - 1, _PLACES).astype(np.int64)
            numbers.update(own[places].tolist())
        return sorted(numbers & set(self.numbers.tolist()))


def _counted(*keys: Array) -> Array:
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
    found = np.empty(len(group), np.int64)
    found[order] = within + 1
    return found


def _held(trace: Trace) -> tuple[int, int]:
    """The most bytes that one process held on one GPU, and how many more it would have had.

    A GPU of which nothing is known is taken to have room for as much again.
    """
    most, room = 0, 0
    rows = trace.allocations[~np.isin(trace.allocations["kind"], (PAGEABLE, PINNED))]
    for process, device in _pairs(rows):
        mine = rows[(rows["process"] == process) & (rows["device"] == device)]
        change = mine["bytes"].astype(np.int64) * np.where(mine["what"] == RELEASED, -1, 1)
        held = int(np.cumsum(change).max(initial=0))
        if held > most:
            gpu = trace.devices.get(device)
            most, room = held, held if gpu is None else gpu.memory - held
    return most, room


def _pairs(rows: Array) -> Iterable[tuple[int, int]]:
    return sorted(set(zip(rows["process"].tolist(), rows["device"].tolist(), strict=True)))
