"""Counts under the names that ``ncu`` gives them: a capture of one launch."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.architectures import architecture, occupancy_facts
from kernelprof.analysis.metrics.catalogue import column_of, load_metrics
from kernelprof.model.capture import Capture, Launch, MetricColumn, Origin
from kernelprof.prediction.estimates import TIMES, estimate_times
from sassim.counters.counters import BULK
from sassim.counters.launch_counters import Total
from sassim.occupancy import capability_of, compute_occupancy, shared_bytes
from sassim.pipe_cycles import product_wavefronts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from kernelprof.launch.specification.spec import LaunchSpec, ResolvedLaunch
    from kernelprof.prediction.estimates import Estimate
    from sassim.counters.counters import AccessCounters
    from sassim.counters.launch_counters import LaunchCounters
    from sassim.occupancy import Occupancy

    Values = Iterable[tuple[str, Total | float | None]]

_FIRST_WITH_BULK: Final = (9, 0)
"""The compute capability from which on there are copies in bulk."""

_COUNTS: Final = {
    "global_load_requests": ("requests", "global", "load", "copy"),
    "global_load_sectors": ("sectors", "global", "load", "copy"),
    "global_store_requests": ("requests", "global", "store"),
    "global_store_sectors": ("sectors", "global", "store"),
    "global_atomic_requests": ("requests", "global", "atomic", "compare"),
    "global_reduction_requests": ("requests", "global", "reduction"),
    "global_sectors": ("sectors", "global"),
    "global_sectors_ideal": ("ideal", "global"),
    "shared_wavefronts": ("wavefronts", "shared"),
    "shared_wavefronts_ideal": ("ideal", "shared"),
    "local_sectors": ("sectors", "local"),
}
"""By metric: a count, the space, and the kinds of accesses (none: all) that are summed up."""
_BULK_COUNTS: Final = {
    "tma_loads": ("requests", BULK, "load"),
    "tma_load_sectors": ("sectors", BULK, "load"),
    "tma_store_sectors": ("sectors", BULK, "store"),
    "tma_reduction_sectors": ("sectors", BULK, "reduction"),
}

_POLLS: Final = 0.95, 1.5
"""Interval of the instructions of warps that poll barriers, as factors: how often they poll depends
on how long they wait. An H200 executed 0.99 to 1.39 times those predicted, on corpus and ladder."""

MODEL_ERRORS: Final = Path(__file__).parents[1] / "data" / "modelled.toml"
"""Where values of models of caches and time lie on a GPU."""


@dataclass(frozen=True, slots=True)
class ModelError:
    """How far a metric's predictions are off: 95 % of ``kernels`` lie between two factors.

    They are of values to which ``offset`` is added, in the unit of the metric, so that a value that
    is predicted to be nothing has room as well.
    """

    kernels: int
    offset: float
    low: float
    high: float

    def around(self, value: float) -> tuple[float, float]:
        """The lowest and the highest that a predicted value can be."""
        moved = value + self.offset
        low, high = (moved * each - self.offset for each in (self.low, self.high))
        return min(max(low, 0.0), value), max(high, value)  # a factor of 1 may round


@cache
def model_errors() -> Mapping[str, ModelError]:
    """By canonical name; a metric that was never compared with a measurement has none."""
    tables = tomllib.loads(MODEL_ERRORS.read_text(encoding="utf-8"))
    return MappingProxyType({name: ModelError(**each) for name, each in tables.items()})


def build_capture(
    counters: LaunchCounters, cubin: bytes, spec: LaunchSpec, resolved: ResolvedLaunch, arch: str
) -> Capture:
    """The capture that a GPU of an architecture would give, as far as it is known.

    Counts come from the sample of blocks, resources and occupancy from the compiler, and what takes
    time from the model of it, for an architecture with a GPU that is known. ``cases`` are
    the same without what warps wait for, at the predicted time and at both ends of its interval,
    and for a GPU that the model was never compared with one without any time.
    """
    capability = capability_of(arch)
    fits = _occupancy(counters, resolved, capability)
    columns = _columns(Origin.PREDICTED, _counts(counters, capability))
    columns |= _columns(Origin.COMPILER, _resources(counters, resolved, capability, fits))
    launch = Launch(
        id="0",
        kernel=spec.kernel,
        grid=resolved.grid,
        block=resolved.block,
        compute_capability=capability,
    )
    counts = Capture(launches=(launch,), columns=columns, origin=str(spec.path or spec.kernel))
    in_time = fits and estimate_times(
        counters,
        cubin,
        capability,
        resident=fits.resident,
        shared_bytes=shared_bytes(
            counters.launch.program.image.resources, resolved.shared_bytes, capability
        ),
    )
    capture = _add_times(counts, in_time) if in_time else counts
    return _add_intervals(capture, counters, capability)


def _add_times(counts: Capture, in_time: Estimate) -> Capture:
    """A capture with what takes time as well, and what it could be as well."""

    def at(factor: float, *, waits: bool) -> Capture:
        more = _columns(Origin.PREDICTED, in_time.values(factor, waits=waits))
        return replace(counts, columns={**counts.columns, **more})

    cases = [at(each, waits=False) for each in (1.0, *TIMES)]
    if not in_time.gpu.validated:
        cases.append(counts)
    return replace(at(1.0, waits=True), cases=tuple(cases))


def _add_intervals(
    capture: Capture, counters: LaunchCounters, capability: tuple[int, int]
) -> Capture:
    """With where each value lies that is not known exactly: from the sample, or, where a model of
    caches and time says it, as far off as the model was on the corpus.
    """
    ends: dict[str, tuple[float, float]] = {}
    for name, error in model_errors().items():
        metric = load_metrics()[name]
        column = capture.columns.get(metric.ncu[0])
        if column is not None:
            predicted = float(column.values[0])
            low, high = error.around(predicted)
            ends[name] = low, min(high, max(100.0, predicted)) if metric.unit == "%" else high
    for name, value in _counts(counters, capability):
        if isinstance(value, Total) and not value.exact:
            ends[name] = max(value.low, 0.0), value.high
    columns = dict(capture.columns)
    for name, (low, high) in ends.items():
        ncu_name = load_metrics()[name].ncu[0]
        if low < high and ncu_name in columns:
            columns[ncu_name] = replace(columns[ncu_name], ends=(low, high))
    return replace(capture, columns=columns)


def list_intervals(capture: Capture) -> dict[str, tuple[float, float]]:
    """The lowest and the highest that values can be, by canonical name, of those not exact."""
    names = {metric.ncu[0]: name for name, metric in load_metrics().items() if metric.ncu}
    return {names[name]: each.ends for name, each in capture.columns.items() if each.ends}


def _columns(origin: Origin, values: Values) -> dict[str, MetricColumn]:
    """Values under the names that ``ncu`` gives them; without those that are not known."""
    columns = {}
    for name, value in values:
        if value is None:
            continue
        number = value.value if isinstance(value, Total) else value
        column = column_of(name, np.array([number], np.float64), origin)
        columns[column.name] = column
    return columns


def _counts(counters: LaunchCounters, capability: tuple[int, int]) -> Values:
    executed = counters.instructions()
    polls = any(counters.block_counters.trace.phases.waits)
    for name, total in (
        ("instructions", counters.total(executed)),
        ("threads_per_instruction", counters.ratio(counters.threads(), executed)),
    ):
        yield name, _with_polls(total) if total and polls else total
    with_bulk = capability >= _FIRST_WITH_BULK
    of_products = product_wavefronts(counters)
    for name, (count, *wanted) in _COUNTS.items():
        of_warps = counters.accesses(count, _accesses_to(*wanted))
        if name.startswith("shared_wavefronts"):
            of_warps = of_warps + of_products
        yield name, counters.total(of_warps)
    for name, (count, *wanted) in _BULK_COUNTS.items():
        if with_bulk or name != "tma_loads":
            yield name, counters.total(counters.accesses(count, _accesses_to(*wanted)))
    local = counters.accesses("sectors", _accesses_to("local"))
    if not local.any():
        yield "local_load_sectors", counters.total(local)
        yield "local_store_sectors", counters.total(local)


def _with_polls(total: Total) -> Total:
    low, high = _POLLS
    return Total(total.value, total.low * low, total.high * high)


def _accesses_to(space: str, *kinds: str) -> Callable[[AccessCounters], bool]:
    return lambda each: each.space == space and (not kinds or each.kind in kinds)


def _occupancy(
    counters: LaunchCounters, resolved: ResolvedLaunch, capability: tuple[int, int]
) -> Occupancy | None:
    """The blocks that an SM holds; ``None`` for an architecture of which that is not known."""
    resources = counters.launch.program.image.resources
    sm = architecture(capability)
    if sm is None or sm.residency is None:
        return None
    return compute_occupancy(
        sm.residency,
        threads=math.prod(resolved.block),
        registers=resources.registers,
        shared_bytes=shared_bytes(resources, resolved.shared_bytes, capability),
    )


def _resources(
    counters: LaunchCounters,
    resolved: ResolvedLaunch,
    capability: tuple[int, int],
    fits: Occupancy | None,
) -> Iterator[tuple[str, float]]:
    resources = counters.launch.program.image.resources
    yield "grid_size", float(math.prod(resolved.grid))
    yield "block_size", float(math.prod(resolved.block))
    yield "registers_per_thread", float(resources.registers)
    shared = shared_bytes(resources, resolved.shared_bytes, capability)
    yield "shared_memory_per_block", float(shared)
    if fits is None:
        return
    yield from occupancy_facts(fits)
    if fits.shared is not None and fits.shared == fits.resident:
        yield "block_limit_shared_mem", float(fits.shared)
