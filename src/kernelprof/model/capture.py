"""A capture in memory: one row a launch, one column a metric, numbers in canonical units.

This is the one form behind every source. It is kept as columns, so that a rule is evaluated for all
launches at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    import numpy as np
    import numpy.typing as npt

    from kernelprof.model.sampled import SampledCode

    FloatArray = npt.NDArray[np.float64]
    IntArray = npt.NDArray[np.intp]

OWN_COLUMNS: Final = "kernelprof__"
"""Begins the names of columns that ``ncu`` does not have: values in messages of its rules."""

SECTIONS_COLUMN: Final = f"{OWN_COLUMNS}sections"
"""Text column: identifiers of the sections and rules that have rows for a launch, ``;`` between."""

SPOKEN_COLUMN: Final = f"{OWN_COLUMNS}spoken"
"""Text column: names of the metrics that messages about a launch give, ``;`` between."""

DEVICE_NAME: Final = "device__attribute_display_name"
"""Text column: what the driver calls the GPU."""


class Origin(StrEnum):
    """Where a value comes from."""

    MEASURED = "measured"
    """A hardware or software counter that the profiler read."""
    DERIVED = "derived"
    """Computed from other values by the profiler or by us."""
    LAUNCH = "launch"
    """The launch configuration and the device's attributes."""
    REPORTED = "reported"
    """A number that one of Nsight Compute's own rules printed in a sentence; rounded."""
    PREDICTED = "predicted"
    """A count of what the machine code does, worked out without a GPU."""
    COMPILER = "compiler"
    """What the compiler decided: registers, shared memory, and what follows from them."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Who was launched: the identity of one row of a capture.

    ``id`` is the capture's own ID; it is unique in one export but not over concatenated ones.
    ``grid`` and ``block`` are ``(x, y, z)`` in blocks and threads. ``compute_capability`` is
    ``(major, minor)``. What the export does not have is ``None``.
    """

    id: str
    kernel: str
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    process_id: str | None = None
    process_name: str | None = None
    host: str | None = None
    context: str | None = None
    stream: str | None = None
    device: str | None = None
    compute_capability: tuple[int, int] | None = None
    nvtx: tuple[tuple[str, str], ...] = ()


class Launches(Sequence[Launch]):
    """A sequence of launches: row ``r`` is ``kinds[codes[r]]`` with the ID ``ids[r]``.

    A training step launches a few hundred kernels a hundred thousand times: what distinguishes few
    launches is kept once. The IDs of the ``kinds`` themselves are not used.
    """

    def __init__(self, ids: Sequence[str], codes: IntArray, kinds: Sequence[Launch]) -> None:
        self.ids = ids
        self.codes = codes
        self.kinds = tuple(kinds)

    @staticmethod
    def from_sequence(launches: Sequence[Launch]) -> Launches:
        """Convert any sequence of launches to this form."""
        if isinstance(launches, Launches):
            return launches
        numbers: dict[Launch, int] = {}
        codes = [numbers.setdefault(replace(each, id=""), len(numbers)) for each in launches]
        return Launches([each.id for each in launches], _integers(codes), list(numbers))

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, at: int) -> Launch: ...
    @overload
    def __getitem__(self, at: slice) -> Launches: ...
    def __getitem__(self, at: int | slice) -> Launch | Launches:
        if isinstance(at, slice):
            return Launches(self.ids[at], self.codes[at], self.kinds)
        kind: Launch = self.kinds[self.codes[at]]
        return replace(kind, id=self.ids[at])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def take(self, rows: Iterable[int]) -> Launches:
        """Return the launches of these rows."""
        chosen = _integers(rows)
        return Launches([self.ids[row] for row in chosen.tolist()], self.codes[chosen], self.kinds)

    def codes_by(self, key: Callable[[Launch], Hashable]) -> IntArray:
        """Return a number a launch, equal for launches of one ``key``, which ignores the ID."""
        numbers_of_keys: dict[Hashable, int] = {}
        numbers = [
            numbers_of_keys.setdefault(key(kind), len(numbers_of_keys)) for kind in self.kinds
        ]
        return _integers(numbers)[self.codes]


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """One metric over all launches of a capture.

    ``values`` has one float64 a launch in ``unit``; NaN is missing, never zero.
    ``original_unit`` is the unit as the export gave it (of the first part, where parts differ).
    ``ends`` are the lowest and the highest that a predicted value can be, ``None`` where it is
    known exactly; a prediction has one launch.
    """

    name: str
    values: FloatArray
    unit: str
    original_unit: str
    source: Origin
    ends: tuple[float, float] | None = None

    def holding(self, values: FloatArray) -> MetricColumn:
        """Return the metric with other values, faster than ``replace``: a capture has hundreds."""
        unit = self.original_unit
        return MetricColumn(self.name, values, self.unit, unit, self.source, self.ends)


@dataclass(frozen=True)
class Capture:
    """All launches of one export, or of several read together.

    ``columns`` is keyed by the metric's name as ``ncu --page raw`` writes it, whatever the source
    calls it. ``text`` holds the non-numeric columns (device name, cache configuration), ``None``
    where empty. ``origin`` is the path it was read from and ``page`` the page of ``ncu`` that it
    holds. ``warnings`` are sentences for the user (a truncated row was left out, a metric was
    ``(!) n/a``), and ``damage`` those among them after which the capture is not the whole of what
    was to be captured: rows or launches are lost, values contradict each other, or the program or
    the profiler failed. ``unavailable`` names metrics that were asked for and that ncu could not
    give.
    ``program`` is the command line that was profiled, where it is known; an export alone knows the
    executable, the ``application``, which may be an interpreter or what a script started. Where the
    ``application`` is a source, ``program`` are the arguments of its ``main``, and ``options``
    those of the command line with which it was built or launched instead of those in the source.
    ``whole_seen`` is, for a part of a larger capture, :attr:`seen` of that one.
    ``cases`` are the same launches with other values, or fewer, that are as likely: those of a
    prediction. A verdict that they do not share is less sure. ``code`` are the machine instructions
    of kernels with what was sampled at each, where that is known.
    """

    launches: Sequence[Launch]
    columns: Mapping[str, MetricColumn]
    text: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    origin: str = "<memory>"
    page: str = "raw"
    application: str | None = None
    program: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    clock_control: str | None = None
    warnings: tuple[str, ...] = ()
    damage: tuple[str, ...] = ()
    unavailable: frozenset[str] = frozenset()
    whole_seen: frozenset[str] | None = None
    cases: tuple[Capture, ...] = ()
    code: tuple[SampledCode, ...] = ()

    @cached_property
    def seen(self) -> frozenset[str]:
        """Sections and rules that have rows on the details page for some launch of the export."""
        if self.whole_seen is not None:
            return self.whole_seen
        cells = set(self.text.get(SECTIONS_COLUMN, ()))
        return frozenset(name for cell in cells for name in (cell or "").split(";"))

    def __len__(self) -> int:
        return len(self.launches)

    def part(self, start: int, stop: int) -> Capture:
        """Return a capture of launches from ``start`` up to ``stop``; it shares their values."""
        some = slice(start, stop)
        text = {name: cells[some] for name, cells in self.text.items()}
        return self._with_launches(Launches.from_sequence(self.launches)[some], some, text)

    def rows(self, rows: Sequence[int]) -> Capture:
        """Return a capture of some of the launches, in the given order."""
        at = list(rows)
        text = {name: tuple(cells[row] for row in at) for name, cells in self.text.items()}
        return self._with_launches(Launches.from_sequence(self.launches).take(at), at, text)

    def _with_launches(
        self, launches: Launches, at: slice | list[int], text: dict[str, tuple[str | None, ...]]
    ) -> Capture:
        columns = {n: each.holding(each.values[at]) for n, each in self.columns.items()}
        return replace(
            self,
            launches=launches,
            columns=columns,
            text=text,
            whole_seen=self.seen,
            cases=tuple(each._with_launches(launches, at, text) for each in self.cases),
        )


@dataclass(frozen=True, slots=True)
class SampledLine:
    """One line of one file in one kernel, and the samples of warps at its instructions."""

    file: str
    function: str
    line: int
    samples: int


def sum_samples(lines: Iterable[SampledLine]) -> tuple[SampledLine, ...]:
    """Add up samples by file, kernel and line, in the order in which they came.

    A kernel that was launched twice has each of its lines twice.
    """
    samples_of: dict[tuple[str, str, int], int] = {}
    for each in lines:
        key = (each.file, each.function, each.line)
        samples_of[key] = samples_of.get(key, 0) + each.samples
    return tuple(SampledLine(*key, samples) for key, samples in samples_of.items())


def line_shares(lines: Iterable[SampledLine], file: str) -> dict[str, dict[int, float]]:
    """Return by kernel the lines of one file with their share of all samples of that kernel.

    Samples in other files count in the whole. A line without a sample is left out.
    """
    totals: dict[str, int] = {}
    counts: dict[str, dict[int, int]] = {}
    for each in lines:
        totals[each.function] = totals.get(each.function, 0) + each.samples
        here = counts.setdefault(each.function, {})
        if each.file == file and each.samples > 0:
            here[each.line] = here.get(each.line, 0) + each.samples
    return {
        function: {line: samples / totals[function] for line, samples in sorted(here.items())}
        for function, here in counts.items()
    }


def _integers(values: Iterable[int]) -> IntArray:
    """Return an array of row numbers; commands that read no capture do without numpy."""
    import numpy as np

    return np.fromiter(values, dtype=np.intp)
