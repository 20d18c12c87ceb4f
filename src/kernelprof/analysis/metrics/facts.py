"""What a capture contains about its launches, as intervals, by canonical metric name.

:class:`Facts` looks a metric up under each of its ``ncu`` names, takes the first that a launch has,
and answers with the range that physics allows where it has none. Values that cannot be (a hit rate
far above 100 %, sectors without requests) count as missing; :attr:`Facts.doubts` lists them. What
can be is data (``relations``). Its margins leave room for what real captures show: counters of one
launch come from several replay passes, so a hit rate of 100.4 % and a throughput of 101 % occur.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import nan, prod
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from kernelprof.analysis.metrics.architectures import COMMON
from kernelprof.analysis.metrics.catalogue import (
    SCHEDULER_CYCLES,
    SHARED_PIPE,
    WARPS_OF_SM,
    WARPS_STALLED,
    WARPS_STALLED_SHARE,
    Metric,
    has_tcgen05,
    load_metrics,
)
from kernelprof.analysis.metrics.gpus import find_gpu
from kernelprof.analysis.metrics.groups import FALLBACKS, STALLS
from kernelprof.analysis.metrics.interval import Interval, is_complete
from kernelprof.analysis.metrics.relations import BOUNDS, RELATIONS, RULED_OUT, SMALLEST, Doubt
from kernelprof.model.capture import DEVICE_NAME, Capture, Launch, Launches, Origin
from kernelprof.model.library_kernel import library_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kernelprof.analysis.metrics.gpus import Gpu
    from kernelprof.analysis.metrics.interval import BoolArray, FloatArray
    from kernelprof.analysis.metrics.relations import Relation
    from kernelprof.model.capture import MetricColumn

T = TypeVar("T")

_SIZES: Mapping[str, Callable[[Launch], tuple[int, int, int] | None]] = {
    "grid_size": attrgetter("grid"),
    "block_size": attrgetter("block"),
}
_TENSOR_PIPES = {"tensor_pipe": "elapsed", "tensor_pipe_active": "active"}
_FP64 = re.compile(r"double|f(loat|p)?64|[dz]gemm|d884|dmma", re.IGNORECASE)
"""What names of kernels with FP64 types contain."""

_ROUNDED = 0.9
"""Of a maximum: what a sum that is printed with few digits has at least."""

_UPPER_BOUNDS = {
    "%": 100.0,
    "thread": float(COMMON.threads_per_block),
    "byte/sector": float(COMMON.sector_bytes),
    "warp": float(COMMON.warps_per_sm),
    "register/thread": float(COMMON.registers_per_thread),
}


def upper_bound(unit: str) -> float:
    """Return the largest value that a metric of this unit can have; ``inf`` if there is none."""
    return _UPPER_BOUNDS.get(unit, float("inf"))


@dataclass(frozen=True, slots=True)
class _Column:
    values: FloatArray
    largest: float = float("inf")
    reported: BoolArray | None = None


class Facts:
    """The metrics of all launches of one capture, by canonical name."""

    is_projected: ClassVar[bool] = False
    """Whether the values were worked out for launches after a fix."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.count = len(capture)
        self.read: dict[str, None] = {}
        """Metrics that were looked at, in that order."""
        self._catalogue = load_metrics()
        self._missing = _Column(np.full(self.count, np.nan))
        self._columns: dict[str, _Column] = {}
        self._intervals: dict[str, Interval] = {}
        self._derived: dict[str, BoolArray] = {}
        self._ruled_out: dict[Callable[..., BoolArray], BoolArray] = {}
        self._settled: dict[str, BoolArray] = {}
        self._launches = Launches.from_sequence(capture.launches)
        self._impossible_values: list[Doubt] = []
        self._substituted = np.zeros(self.count, dtype=np.bool_)
        self._clear_broken_relations()

    @property
    def doubts(self) -> list[Doubt]:
        """Values that cannot be, and metrics that contradict each other."""
        contradictions = self._contradictions  # Looking for them may find more of the others.
        return [*self._impossible_values, *contradictions]

    @property
    def substituted(self) -> BoolArray:
        """Launches in which a metric was read under another name than its first.

        The names mean the same quantity, but their counters differ in the last digits.
        """
        _ = self._contradictions
        return self._substituted

    def __getitem__(self, name: str) -> Interval:
        """Return a metric in its canonical unit; where it is missing, all that it could be."""
        self.read[name] = None
        if name not in self._intervals:
            self._intervals[name] = self._interval(name)
        return self._intervals[name]

    def _interval(self, name: str) -> Interval:
        column = self._column(name)
        highest = upper_bound(self._catalogue[name].unit)
        fits = column.largest <= highest
        clipped = column.values if fits else np.minimum(column.values, highest)
        if is_complete(clipped):
            return Interval.exactly(clipped)
        missing = np.isnan(clipped)
        at_most = np.where(self._is_known_zero(name), 0.0, highest)
        return Interval(np.where(missing, 0.0, clipped), np.where(missing, at_most, clipped))

    def sum_of(self, names: Iterable[str]) -> Interval:
        """Return the sum of metrics."""
        return sum((self[name] for name in names), start=self.exact(0.0))

    def fraction(self, name: str) -> Interval:
        """Return a percentage as a fraction of one."""
        return self[name] * 0.01

    def values(self, name: str) -> FloatArray:
        """Return the raw numbers, NaN where missing."""
        self.read[name] = None
        return self._column(name).values

    def has(self, name: str) -> BoolArray:
        """Return the launches in which the metric has a value."""
        return ~np.isnan(self.values(name))

    def settled(self, name: str) -> BoolArray:
        """Return the launches in which the metric has a value, or is zero for certain."""
        if name not in self._settled:
            self._settled[name] = self.has(name) | self._is_known_zero(name)
        return self._settled[name]

    def lacks(self, name: str, row: int) -> bool:
        """Return whether a launch lacks a metric that its GPU has and that replaces no other."""
        if name in FALLBACKS or self.settled(name)[row]:
            return False
        return self.metric_exists(name, self.capture.launches[row].compute_capability)

    def metric_exists(self, name: str, compute_capability: tuple[int, int] | None) -> bool:
        """Return whether the architecture has the metric at all."""
        return bool(self._catalogue[name].ncu_names(compute_capability))

    def source(self, name: str, row: int) -> Origin:
        """Return where the value in a launch comes from."""
        reported = self._column(name).reported
        if reported is not None and reported[row]:
            return Origin.REPORTED
        column = self._read_from(name, row)
        return Origin.MEASURED if column is None else column.source

    def formula(self, name: str, row: int) -> str:
        """Return how a value was worked out that the capture has not under the metric's name."""
        derived = name in self._derived and self._derived[name][row]
        return "sm__pipe_shared_cycles_active minus FP64 pipe utilization" if derived else ""

    def ends(self, name: str, row: int) -> tuple[float, float] | None:
        """Return the interval of a predicted value that is not known exactly."""
        column = self._read_from(name, row)
        return None if column is None else column.ends

    def _read_from(self, name: str, row: int) -> MetricColumn | None:
        for ncu_name in self._catalogue[name].all_ncu_names():
            column = self.capture.columns.get(ncu_name)
            if column is not None and not np.isnan(column.values[row]):
                return column
        return None

    def gpu(self, row: int) -> Gpu | None:
        """Return the GPU of a launch, by its name or by its number of SMs."""
        names, sms = self.capture.text.get(DEVICE_NAME), self.values("sm_count").item(row)
        return find_gpu(
            names[row] if names else None,
            self.capture.launches[row].compute_capability,
            None if np.isnan(sms) else sms,
        )

    def by_capability(self, holds: Callable[[tuple[int, int] | None], bool]) -> BoolArray:
        """Evaluate a condition on the compute capability of each launch's device."""
        values = {each: holds(each) for each in self._capabilities}
        if len(values) == 1:
            return np.full(self.count, next(iter(values.values())))
        return self.by_launch(lambda launch: values[launch.compute_capability])

    @cached_property
    def _capabilities(self) -> set[tuple[int, int] | None]:
        return {kind.compute_capability for kind in self._launches.kinds}

    def by_launch(self, holds: Callable[[Launch], bool]) -> BoolArray:
        """Evaluate a condition on the kernel, device and configuration of each launch."""
        values = np.array([holds(kind) for kind in self._launches.kinds], dtype=np.bool_)
        return values[self._launches.codes]

    @cached_property
    def of_library(self) -> BoolArray:
        """Launches of kernels that a library brought."""
        return self.by_launch(lambda launch: library_of(launch.kernel) is not None)

    def exact(self, value: float) -> Interval:
        """Return a constant for all launches."""
        return Interval.exactly(np.full(self.count, value))

    def raw(self, ncu_name: str) -> FloatArray:
        """Return a column by its ``ncu`` name, NaN where the capture has none."""
        column = self.capture.columns.get(ncu_name)
        return self._missing.values if column is None else column.values

    @cached_property
    def stall_shares(self) -> Mapping[str, FloatArray]:
        """Shares of warps' time by counts of warps in a state; states without counts are absent."""
        shares = {name: self.stall_share(name) for name in STALLS}
        return {name: each for name, each in shares.items() if not np.isnan(each).all()}

    def stall_share(self, state: str) -> FloatArray:
        """Return the share of warps' time in a state by counts of warps, NaN where missing."""
        share = self.raw(WARPS_STALLED_SHARE.format(state)) / 100.0
        warps = self.raw(WARPS_OF_SM) / COMMON.schedulers
        with np.errstate(invalid="ignore", divide="ignore"):
            by_warps = self.raw(WARPS_STALLED.format(state)) / (warps * self.raw(SCHEDULER_CYCLES))
        return np.minimum(np.where(np.isnan(share), by_warps, share), 1.0)

    def _is_known_zero(self, name: str) -> BoolArray:
        """Launches on chips without such a unit or warp state, or that show not to use it."""
        zero = self.by_capability(self._catalogue[name].is_zero_on)
        rule = RULED_OUT.get(name)
        if rule is None:
            return zero
        if rule not in self._ruled_out:
            # These metrics stand in for the missing one, and are never asked for in its place.
            self._ruled_out[rule] = rule(lambda other: self._column(other).values)
        return zero | self._ruled_out[rule]

    def _column(self, name: str) -> _Column:
        if name not in self._columns:
            column = self._coalesce(self._catalogue[name])
            column = self._fill_from_launches(name, column)
            self._columns[name] = self._fill_from_shared_pipe(name, column)
        return self._columns[name]

    def _fill_from_launches(self, name: str, column: _Column) -> _Column:
        """Take the sizes of grids and blocks from the launches, which have them in every export."""
        size_of = _SIZES.get(name)
        if size_of is None or is_complete(column.values):
            return column
        sizes = [size_of(kind) for kind in self._launches.kinds]
        of_kinds = np.array([nan if each is None else prod(each) for each in sizes], np.float64)
        values = np.where(np.isnan(column.values), of_kinds[self._launches.codes], column.values)
        return _Column(values, float(np.fmax.reduce(values, initial=-np.inf)), column.reported)

    def _fill_from_shared_pipe(self, name: str, column: _Column) -> _Column:
        """Take the tensor pipe from the pipe that it shares with FP64, less what FP64 takes of it.

        Where FP64 was not measured, a kernel whose name shows no FP64 type uses none of it.
        """
        shared = self.raw(SHARED_PIPE.format(_TENSOR_PIPES.get(name, "")))
        if shared is self._missing.values:
            return column
        fp64 = self._column("fp64_pipe").values
        single = self.by_launch(lambda launch: _FP64.search(launch.kernel) is None)
        fp64 = np.where(np.isnan(fp64) & single, 0.0, fp64)
        rows = np.isnan(column.values) & self.by_capability(has_tcgen05)
        values = np.where(rows, np.maximum(shared - fp64, 0.0), column.values)
        self._derived[name] = rows & ~np.isnan(values)
        return _Column(values, float(np.fmax.reduce(values, initial=-np.inf)), column.reported)

    def _coalesce(self, metric: Metric) -> _Column:
        """The first value that a launch has under one of the metric's names, if it can be."""
        values: FloatArray | None = None
        reported: BoolArray | None = None
        for ncu_name in metric.all_ncu_names():
            column = self.capture.columns.get(ncu_name)
            if column is None:
                continue
            if values is not None and is_complete(values):
                break
            column = self._without_impossible_sums(metric, ncu_name, column)
            fill = ~np.isnan(column.values)
            if values is not None:
                fill &= np.isnan(values)
            if ncu_name != metric.ncu[0]:
                self._substituted |= fill
            values = column.values if values is None else np.where(fill, column.values, values)
            if column.source is Origin.REPORTED:
                reported = fill if reported is None else reported | fill
        if values is None:
            return self._missing
        with np.errstate(invalid="ignore"):
            tiny = (values > 0) & (values < SMALLEST)
        if tiny.any():
            reason = "no counter can have a value this small"
            self._impossible_values.append(Doubt(metric.name, reason, tiny))
            values = np.where(tiny, np.nan, values)
        least = np.fmin.reduce(values, initial=np.inf)
        most = np.fmax.reduce(values, initial=-np.inf)
        for bound in BOUNDS:
            if bound.unit not in (None, metric.unit) or bound.low <= least <= most <= bound.high:
                continue
            with np.errstate(invalid="ignore"):
                outside = (values < bound.low) | (values > bound.high)
            if outside.any():
                self._impossible_values.append(Doubt(metric.name, bound.reason, outside))
                values = np.where(outside, np.nan, values)
        return _Column(values, float(most), reported)

    def _without_impossible_sums(
        self, metric: Metric, name: str, column: MetricColumn
    ) -> MetricColumn:
        """A sum over units is at least what the busiest of them has, where a capture has both."""
        largest = self.capture.columns.get(name.replace(".sum", ".max"))
        if largest is None or ".sum" not in name or "pct" in name:
            return column
        with np.errstate(invalid="ignore"):
            less = column.values < _ROUNDED * largest.values
        if not less.any():
            return column
        reason = "the sum over all units is below the largest value of one unit"
        self._impossible_values.append(Doubt(metric.name, reason, less))
        return column.holding(np.where(less, np.nan, column.values))

    @cached_property
    def _present(self) -> frozenset[str]:
        columns = self.capture.columns
        return frozenset(
            name
            for name, metric in self._catalogue.items()
            if any(each in columns for each in metric.all_ncu_names())
        )

    def _clear_broken_relations(self) -> None:
        for relation in RELATIONS:
            if not relation.clears or self._present.isdisjoint(relation.metrics):
                continue
            doubt = self._check(relation)
            if doubt is None:
                continue
            for name in relation.metrics:
                column = self._columns[name]
                values = np.where(doubt.rows, np.nan, column.values)
                self._columns[name] = _Column(values, column.largest, column.reported)
            self._impossible_values.append(doubt)

    @cached_property
    def _contradictions(self) -> tuple[Doubt, ...]:
        """Where metrics contradict each other, and none of them is known to be wrong.

        They change no value, so the search for what to measure next does without.
        """
        doubts = (
            self._check(relation)
            for relation in RELATIONS
            if not relation.clears
            and self._present.issuperset(set(relation.metrics) - relation.optional)
        )
        return tuple(doubt for doubt in doubts if doubt is not None)

    def _check(self, relation: Relation) -> Doubt | None:
        columns = [self._column(name).values for name in relation.metrics]
        with np.errstate(all="ignore"):
            broken = relation.broken(*columns)
        if not broken.any():
            return None
        contradicting = () if relation.clears else relation.metrics
        return Doubt(relation.metrics[0], relation.reason, broken, contradicting)


class Quantities:
    """Intervals derived from the facts, each computed once for all launches.

    A remembered value keeps the metrics that it was computed from: :attr:`Facts.read` has them
    whether it was computed for this reader or for an earlier one.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self._remembered: dict[tuple[object, ...], tuple[Any, dict[str, None]]] = {}

    def remember(self, compute: Callable[..., T], *arguments: str) -> T:
        """Return ``compute(self, *arguments)``, computed the first time only."""
        facts, key = self.facts, (compute, *arguments)
        if key not in self._remembered:
            before, facts.read = facts.read, {}
            self._remembered[key] = compute(self, *arguments), facts.read
            facts.read = before
        value: T
        value, read = self._remembered[key]
        facts.read.update(read)
        return value


class quantity(Generic[T]):  # noqa: N801 - a decorator, as functools.cached_property is
    """A property of :class:`Quantities` that is computed once."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, owner: Quantities, kind: object = None) -> T:
        """Return the value of an instance."""
        return owner.remember(self.compute)
