"""What a capture says about its launches, as intervals, by canonical metric name.

:class:`Facts` looks a metric up under each of its ``ncu`` names, takes the first that a launch has,
and answers with the range that physics allows where it has none. Values that cannot be (a hit rate
far above 100 %, sectors without requests) count as missing; :attr:`Facts.doubts` says so. What can
be is data: ranges of units (:data:`BOUNDS`) and relations between metrics (``implications``).
Their margins leave room for what real captures show: counters of one launch come from several
replay passes, so a hit rate of 100.4 % and a throughput of 101 % occur.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.architectures import EVERY
from kernelprof.analysis.metrics.catalogue import Metric, catalogue
from kernelprof.analysis.metrics.consistency import CONSISTENCIES, Consistency
from kernelprof.analysis.metrics.groups import STALLS
from kernelprof.analysis.metrics.implications import IMPLICATIONS
from kernelprof.analysis.metrics.interval import Interval, is_complete
from kernelprof.analysis.metrics.ruled_out import RULED_OUT
from kernelprof.model.capture import Capture, Launch, Launches, Origin

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from kernelprof.model.capture import MetricColumn

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]


PERCENT_MARGIN = 110.0
"""Largest percentage taken for real. Passes of one launch differ by a few percent; the largest in
our captures is 103.1 % (a maximum over SMs); a value beyond this is broken."""

_UPPER_BOUNDS = {
    "%": 100.0,
    "thread": float(EVERY.threads_per_block),
    "byte/sector": float(EVERY.sector_bytes),
    "warp": float(EVERY.warps_per_sm),
    "register/thread": float(EVERY.registers_per_thread),
}


def upper_bound(unit: str) -> float:
    """The largest value that a metric of this unit can have; ``inf`` where there is none."""
    return _UPPER_BOUNDS.get(unit, float("inf"))


@dataclass(frozen=True, slots=True)
class Bound:
    """A range that every metric of a unit keeps (``unit`` of ``None``: any unit)."""

    unit: str | None
    low: float
    high: float
    reason: str

    def applies_to(self, metric: Metric) -> bool:
        return self.unit is None or metric.unit == self.unit

    def violated(self, values: FloatArray) -> BoolArray:
        with np.errstate(invalid="ignore"):
            return (values < self.low) | (values > self.high)


BOUNDS = (
    Bound(None, 0.0, float("inf"), "a count, time or share cannot be negative"),
    Bound("%", 0.0, PERCENT_MARGIN, f"a percentage above {PERCENT_MARGIN:g} cannot be"),
    Bound("byte/sector", 0.0, 32.5, "a sector holds 32 bytes"),
)


@dataclass(frozen=True, slots=True)
class Doubt:
    """A value that cannot be, and in which launches: it is treated as missing.

    Where several ``metrics`` contradict each other, one of them is wrong and nobody knows which:
    they are taken as they are, and the launch is judged with low confidence.
    """

    metric: str
    reason: str
    rows: BoolArray = field(compare=False)
    metrics: tuple[str, ...] = ()

    @property
    def anywhere(self) -> Doubt:
        """The same without the launches, to count them by."""
        return replace(self, rows=np.empty(0, dtype=np.bool_))

    @property
    def names(self) -> str:
        """The metrics that it is about, for a message."""
        return ", ".join(self.metrics[:4]) or self.metric


@dataclass(frozen=True, slots=True)
class _Column:
    values: FloatArray
    reported: BoolArray


_OPTIONAL = frozenset(f"stall_{name}" for name in STALLS)
"""Metrics that count as nothing where a relation holds without them."""


class Facts:
    """The metrics of all launches of one capture, by canonical name."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.count = len(capture)
        self.read: dict[str, None] = {}
        """Metrics that were looked at, in that order."""
        self._catalogue = catalogue()
        self._columns: dict[str, _Column] = {}
        self._intervals: dict[str, Interval] = {}
        self._ruled_out: dict[Callable[..., BoolArray], BoolArray] = {}
        self._settled: dict[str, BoolArray] = {}
        self._launches = Launches.of(capture.launches)
        self._noted: list[Doubt] = []
        self._substituted = np.zeros(self.count, dtype=np.bool_)
        self._check_implications()

    @property
    def doubts(self) -> list[Doubt]:
        """Values that cannot be, and metrics that contradict each other."""
        contradictions = self._contradictions  # Looking for them may note more of the others.
        return [*self._noted, *contradictions]

    @property
    def substituted(self) -> BoolArray:
        """Launches in which a metric was read under another name than its first.

        The names mean the same quantity, but their counters differ in the last digits.
        """
        _ = self._contradictions
        return self._substituted

    def metric(self, name: str) -> Interval:
        """The metric in its canonical unit; where it is missing, all that it could be."""
        self.read[name] = None
        found = self._intervals.get(name)
        if found is None:
            found = self._intervals[name] = self._interval(name)
        return found

    def _interval(self, name: str) -> Interval:
        values = self._column(name).values
        highest = upper_bound(self._catalogue[name].unit)
        clipped = np.minimum(values, highest) if np.isfinite(highest) else values
        if is_complete(values):
            return Interval.exactly(clipped)
        missing = np.isnan(values)
        at_most = np.where(self._known_to_be_zero(name), 0.0, highest)
        return Interval(np.where(missing, 0.0, clipped), np.where(missing, at_most, clipped))

    def fraction(self, name: str) -> Interval:
        """A percentage as a fraction of one."""
        return self.metric(name) * 0.01

    def values(self, name: str) -> FloatArray:
        """The raw numbers, NaN where missing."""
        self.read[name] = None
        return self._column(name).values

    def has(self, name: str) -> BoolArray:
        """In which launches the metric has a value."""
        self.read[name] = None
        return ~np.isnan(self._column(name).values)

    def settled(self, name: str) -> BoolArray:
        """In which launches the metric has a value, or is known to be zero without one."""
        known = self._settled.get(name)
        if known is None:
            known = self._settled[name] = self.has(name) | self._known_to_be_zero(name)
        return known

    def metric_exists(self, name: str, compute_capability: tuple[int, int] | None) -> bool:
        """Whether the architecture has the metric at all."""
        return bool(self._catalogue[name].ncu_names(compute_capability))

    def source(self, name: str, row: int) -> Origin:
        """Where the value in a launch comes from."""
        if self._column(name).reported[row]:
            return Origin.REPORTED
        column = self._read_from(name, row)
        return Origin.MEASURED if column is None else column.source

    def ends(self, name: str, row: int) -> tuple[float, float] | None:
        """Where a predicted value lies that is not known exactly."""
        column = self._read_from(name, row)
        return None if column is None else column.ends

    def _read_from(self, name: str, row: int) -> MetricColumn | None:
        """The column that the value of a launch is read from."""
        for ncu_name in self._catalogue[name].all_ncu_names():
            column = self.capture.columns.get(ncu_name)
            if column is not None and not np.isnan(column.values[row]):
                return column
        return None

    def by_capability(self, holds: Callable[[tuple[int, int] | None], bool]) -> BoolArray:
        """What holds for each launch, by the compute capability of its device."""
        found = {each: holds(each) for each in self._capabilities}
        if len(found) == 1:
            return np.full(self.count, next(iter(found.values())))
        return self.by_launch(lambda launch: found[launch.compute_capability])

    @cached_property
    def _capabilities(self) -> set[tuple[int, int] | None]:
        return {kind.compute_capability for kind in self._launches.kinds}

    def by_launch(self, holds: Callable[[Launch], bool]) -> BoolArray:
        """What holds for each launch, by its kernel, device and configuration."""
        known = np.array([holds(kind) for kind in self._launches.kinds], dtype=np.bool_)
        return known[self._launches.codes]

    def exact(self, value: float) -> Interval:
        """A constant for all launches."""
        return Interval.exactly(np.full(self.count, value))

    def raw(self, ncu_name: str) -> FloatArray:
        """A column by its ``ncu`` name, NaN where the capture has none."""
        column = self.capture.columns.get(ncu_name)
        return np.full(self.count, np.nan) if column is None else column.values

    def _known_to_be_zero(self, name: str) -> BoolArray:
        """Launches on chips without such a unit or warp state, or that show not to use it.

        There a metric that is missing is truly zero.
        """
        zero = self.by_capability(self._catalogue[name].is_zero_on)
        rule = RULED_OUT.get(name)
        if rule is None:
            return zero
        if rule not in self._ruled_out:
            # Looked at in the place of the metric, and never asked for instead of it.
            self._ruled_out[rule] = rule(lambda other: self._column(other).values)
        return zero | self._ruled_out[rule]

    def _column(self, name: str) -> _Column:
        found = self._columns.get(name)
        if found is None:
            found = self._columns[name] = self._coalesce(self._catalogue[name])
        return found

    def _coalesce(self, metric: Metric) -> _Column:
        """The first value that a launch has under one of the metric's names, if it can be."""
        values: FloatArray | None = None
        reported = np.zeros(self.count, dtype=np.bool_)
        for ncu_name in metric.all_ncu_names():
            column = self.capture.columns.get(ncu_name)
            if column is None:
                continue
            if values is not None and is_complete(values):
                break
            fill = ~np.isnan(column.values)
            if values is not None:
                fill &= np.isnan(values)
            if ncu_name != metric.ncu[0]:
                self._substituted |= fill
            values = column.values if values is None else np.where(fill, column.values, values)
            if column.source is Origin.REPORTED:
                reported = reported | fill
        if values is None:
            return _Column(np.full(self.count, np.nan), reported)
        impossible = self._impossible(metric, values)
        if impossible is not None:
            values = np.where(impossible, np.nan, values)
        return _Column(values, reported)

    def _impossible(self, metric: Metric, values: FloatArray) -> BoolArray | None:
        """In which launches the value cannot be, if in any."""
        found: BoolArray | None = None
        least, most = (
            np.fmin.reduce(values, initial=np.inf),
            np.fmax.reduce(values, initial=-np.inf),
        )
        for bound in BOUNDS:
            if not bound.applies_to(metric) or (bound.low <= least and most <= bound.high):
                continue
            outside = bound.violated(values)
            if found is not None:
                outside &= ~found
            if outside.any():
                self._noted.append(Doubt(metric.name, bound.reason, outside))
                found = outside if found is None else found | outside
        return found

    def _check_implications(self) -> None:
        """Take values away that cannot be beside each other, before anything is worked out."""
        for implication in IMPLICATIONS:
            known = [self._column(name).values for name in implication.metrics]
            broken = implication.broken(*known)
            if not broken.any():
                continue
            for name, values in zip(implication.metrics, known, strict=True):
                cleared = np.where(broken, np.nan, values)
                self._columns[name] = _Column(cleared, self._columns[name].reported)
            self._noted.append(Doubt(implication.metrics[0], implication.reason, broken))

    @cached_property
    def _contradictions(self) -> tuple[Doubt, ...]:
        """Where metrics contradict each other, and none of them is known to be wrong.

        They change no value, so the search for what to measure next does without.
        """
        columns = self.capture.columns
        there = {
            name
            for name, metric in self._catalogue.items()
            if any(each in columns for each in metric.all_ncu_names())
        }
        checked = (
            each
            for each in CONSISTENCIES
            if all(name in there for name in each.metrics if name not in _OPTIONAL)
        )
        return tuple(doubt for each in checked if (doubt := self._check(each)) is not None)

    def _check(self, relation: Consistency) -> Doubt | None:
        known = [self._column(name).values for name in relation.metrics]
        with np.errstate(all="ignore"):
            broken = relation.broken(*known)
        if not broken.any():
            return None
        return Doubt(relation.metrics[0], relation.reason, broken, relation.metrics)
