"""From series of hardware counters to a capture of the kernels that ran meanwhile.

A sample is of the whole GPU over some microseconds, in which several kernels may have run. What a
metric was in each of them is fitted by least squares to the parts of all samples that they took.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from msgspec import structs

from kernelprof.analysis.metrics.architectures import architecture, occupancy_facts
from kernelprof.analysis.metrics.catalogue import column_of, load_metrics
from kernelprof.analysis.metrics.groups import NEAR_LIMIT
from kernelprof.analysis.metrics.waste import WARP_SIZE
from kernelprof.analysis.survey.leads import SAMPLED_LEADS
from kernelprof.analysis.survey.owners import kernel_numbers
from kernelprof.analysis.verdict.ranking import PIPE_RULES, rank_bottlenecks
from kernelprof.model.capture import DEVICE_NAME, Capture, Launch, MetricColumn, Origin
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.model.evidence import Evidence
from kernelprof.model.sampled import ISSUED, STALLS
from kernelprof.model.survey import SampledKernel
from sassim.occupancy import compute_occupancy, system_shared_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from kernelprof.model.trace import Configuration, SampledSeries, Trace, TracedGpu

    Array = npt.NDArray[Any]
    FloatArray = npt.NDArray[np.float64]
    Dimensions = tuple[int, int, int] | None
    KernelKey = tuple[str, Dimensions, Dimensions]

ACTIVE: Final = "sm__cycles_active.avg"
"""Tells when the SMs worked, by which the clock of the samples is put right."""

SHIFT_NS: Final = 3_000_000
STEPS_NS: Final = (50_000, 2_000)
"""The clock of the samples is looked for this far around that of the kernels, which lay 0.3 ms from
it on an H100: in large steps, and around the best in steps of a tenth of a sample."""

MOST_FOR_SHIFT: Final = 20_000
"""Samples that the shift is fitted to."""

LEAST_SAMPLES: Final = 3.0
"""Samples that a kernel has to fill together. Our choice."""

MOST_KERNELS: Final = 500
"""Kernels that are fitted, those with most samples; of others nothing is said. Our choice."""

MOST_OF_OTHERS: Final = 0.05
"""Part of a sample that other kernels may have taken: what they did is unknown. Our choice."""

MOST_ERROR: Final = 5.0
"""Standard error up to which a percentage is used, in points; of others, in percent of it."""

INSTRUCTIONS: Final = "smsp__inst_executed.sum"
_READ: Final = "dram__bytes_read.sum"
_WRITTEN: Final = "dram__bytes_write.sum"
_ELAPSED: Final = ".avg.pct_of_peak_sustained_elapsed"
SAME: Final = {
    f"sm__inst_executed_pipe_{pipe}{_ELAPSED}": f"sm__pipe_{pipe}_cycles_active{_ELAPSED}"
    for pipe in ("fma", "fmaheavy")
} | {
    "sm__inst_executed.sum": INSTRUCTIONS,
    "dram__bytes_op_read.sum": _READ,
    "dram__bytes_op_write.sum": _WRITTEN,
}
"""Counters that stand for others. The instructions of a pipe keep it busy for a cycle or more: over
``tests/captures/ladder`` and ``h200_once`` the two lie at most 1 point apart from 15 % on, but for
wide integer products (20 and 30 %). Threads for each instruction of SMs, sampled of 22 kernels, lay
0.4 from what ``ncu`` counted on average."""

THREADS: Final = "sm__thread_inst_executed_pred_on.sum"
CYCLES: Final = "sm__cycles_elapsed.max"
COMPARED_WITH: Final = {
    _READ: _WRITTEN,
    _WRITTEN: _READ,
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": (
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
    ),
}
"""Counters that may be next to nothing, with those that show whether they matter: errors are in
percent of the larger value."""

LEAST_SELECTED: Final = 100
"""Samples of warps that issue, for what others wait: a standard error of 10 %. Our choice."""

MOST_WAITS: Final = 3

_OF_PIPES: Final = {*PIPE_RULES.values(), "instruction-issue"}

LATENCY: Final = "warp_cycles_per_instruction"

_PREFIX: Final = re.compile(r"^\w+\.Triage\w*\.")
_REALTIME: Final = "_realtime"
_OF_ACTIVE: Final = ".pct_of_peak_sustained_active"
_TIMED: Final = re.compile(r"\.(sum|avg|max|min)$")
"""Ends metrics that grow with time; others are shares and rates."""


UNITS: Final = {
    "dram_throughput": "DRAM",
    "l2_sectors": "L2",
    "l1_wavefronts": "L1",
    "issue_slots": "issue slots",
    "tensor_pipe": "tensor pipe",
    "fma_pipe": "FP32 pipe",
    "fp64_pipe": "FP64 pipe",
    "alu_pipe": "integer pipe",
    "xu_pipe": "XU pipe",
}
"""Utilizations that are shown of a sampled kernel."""

ALIKE: Final = 1.1
"""Ratio of blocks and times up to which launches of the same code count as one kernel. Our
choice."""

DIGITS: Final = 5
"""Significant digits of values that are kept."""


class Fit(NamedTuple):
    """Values of one metric by kernel, and their standard errors; NaN where there is none."""

    values: FloatArray
    errors: FloatArray

    def within(self, allowed: FloatArray) -> Fit:
        """What is known to such errors; values below zero are zero."""
        sure = self.errors <= allowed
        return Fit(
            np.where(sure, np.maximum(self.values, 0.0), np.nan),
            np.where(sure, self.errors, np.nan),
        )


def sampled_kernels(trace: Trace) -> dict[KernelKey, SampledKernel]:
    """What samples say of kernels, by name, grid and block; nothing of those with few samples.

    Rules judge them as measured ones. Sectors of accesses are not among what is sampled, so that a
    verdict is of medium confidence at most; where the rules leave it open, leads are followed.
    """
    capture = sampled_capture(trace)
    if capture is None:
        return {}
    judged = rank_bottlenecks(capture, SAMPLED_LEADS)
    full = {
        slug: each.saturation.low
        for slug, each in judged.findings.items()
        if each.saturation is not None
    }
    made = {}
    for row, launch in enumerate(capture.launches):
        values = {
            name: float(f"{column.values[row]:.{DIGITS}g}")
            for name, column in capture.columns.items()
            if math.isfinite(column.values[row])
        }
        status = judged.status(row)
        decided = status is not Status.INCONCLUSIVE
        reason = judged.ranking.reasons.get(row) if decided else None
        sure = Confidence.MEDIUM if reason is None else Confidence.LOW
        fullest = max(full, key=lambda each: full[each][row])
        made[launch.kernel, launch.grid, launch.block] = SampledKernel(
            status=status.value,
            bottleneck=judged.rule(row).slug if decided else None,
            confidence=sure.value if decided else None,
            reason=reason,
            lead=fullest if full[fullest][row] >= NEAR_LIMIT else None,
            units=_busiest(values),
            waits=_longest(values),
            metrics=values,
        )
    return made | dict(follow_smaller_grids(made))


def follow_smaller_grids(
    made: Mapping[KernelKey, SampledKernel],
) -> Iterator[tuple[KernelKey, SampledKernel]]:
    """Kernels without counters whose code fills a pipe with fewer blocks, as it does with more."""
    filling = defaultdict(list)
    for (name, grid, block), each in made.items():
        if each.status == Status.AT_LIMIT.value and each.bottleneck in _OF_PIPES:
            filling[name, block].append((grid, each))
    for (name, grid, block), each in made.items():
        if each.bottleneck is not None or each.units:
            continue
        for smaller, sibling in filling.get((name, block), ()):
            if 1.0 <= _waves(sibling) <= _waves(each):
                size = " x ".join(map(str, smaller or ()))
                yield (
                    (name, grid, block),
                    structs.replace(
                        each,
                        status=sibling.status,
                        bottleneck=sibling.bottleneck,
                        confidence=Confidence.LOW.value,
                        reason=f"based on samples of the same kernel with the smaller grid {size}",
                    ),
                )
                break


def _waves(kernel: SampledKernel) -> float:
    return _value_of(kernel.metrics, "waves_per_sm") or 0.0


def _busiest(values: dict[str, float]) -> tuple[Evidence, ...]:
    units = []
    for metric, label in UNITS.items():
        value = _value_of(values, metric)
        if value is not None:
            units.append(Evidence(metric, label, value, "%", source=Origin.DERIVED))
    return tuple(sorted(units, key=lambda each: -each.value))


def _longest(values: dict[str, float]) -> tuple[Evidence, ...]:
    waits = []
    latency = _value_of(values, LATENCY)
    for state in STALLS:
        metric = _stall_of(state)
        value = _value_of(values, metric) if metric in load_metrics() else None
        if state not in ISSUED and value and latency:
            part, label = 100 * value / latency, state.replace("_", " ")
            waits.append(Evidence(metric, label, part, "%", source=Origin.DERIVED))
    return tuple(sorted(waits, key=lambda each: -each.value)[:MOST_WAITS])


def _value_of(values: dict[str, float], metric: str) -> float | None:
    names = load_metrics()[metric].all_ncu_names()
    return next((values[name] for name in names if name in values), None)


def _stall_of(state: str) -> str:
    # Counters call one state otherwise than samples.
    return f"stall_{'no_instruction' if state == 'no_instructions' else state}"


def sampled_capture(trace: Trace) -> Capture | None:
    """A capture with one row for each kernel that was sampled long enough; ``None`` without any.

    A row is a kernel in one launch configuration; counts are those of a launch of median length.
    Configurations next to each other share their samples: a loop that generates text has one for
    each token.
    """
    if not (trace.series or trace.stalls) or not len(trace.kernels):
        return None
    numbers, kinds = kernel_numbers(trace)
    durations = (trace.kernels["end"] - trace.kernels["start"]).astype(np.float64)
    kernels, starts, launches = np.unique(numbers, return_index=True, return_counts=True)
    of_kernel = np.split(durations[np.argsort(numbers, kind="stable")], np.cumsum(launches)[:-1])
    medians = np.zeros(len(kinds))
    medians[kernels] = [np.median(each) for each in of_kernel]
    fits: dict[str, Fit] = {}
    alike = group_alike(kinds, medians)
    for series in _in_time(trace):
        rows = trace.kernels["device"] == series.device
        groups = alike[numbers[rows]]
        parts = overlaps(series, trace.kernels[rows], groups, int(alike.max()) + 1)
        for name, fit in _fit_series(series, parts):
            before = fits.get(name)
            fits[name] = fit if before is None else _better(before, fit)
    has_samples = np.zeros(len(kinds), bool)
    for name, fit in fits.items():
        if name != CYCLES:
            has_samples |= np.isfinite(fit.values[alike])
    has_samples[kernels] |= [
        any(_waits(_states(trace, each))) for each in trace.kernels[starts]["configuration"]
    ]
    sampled = np.flatnonzero(has_samples)
    if len(sampled) == 0:
        return None
    firsts = starts[np.searchsorted(kernels, sampled)]
    return _capture(
        trace,
        firsts,
        medians[sampled],
        {name: each.values[alike[sampled]] for name, each in fits.items()},
    )


def group_alike(kinds: Sequence[KernelKey], medians: FloatArray) -> Array:
    """The number of a group for each kernel: of the same name and block, and almost the same size.

    Neither their blocks nor their times (``medians``) differ by more than :data:`ALIKE`, so that
    they have as many waves.
    """
    sizes = [math.prod(grid or ()) for _, grid, _ in kinds]
    by_code = [(name, block or ()) for name, _, block in kinds]
    order = sorted(range(len(kinds)), key=lambda each: (by_code[each], medians[each]))
    groups = np.zeros(len(kinds), np.int64)
    first: int | None = None

    def is_like(one: int, other: int) -> bool:
        pairs = ((mine[one], mine[other]) for mine in (sizes, medians))
        return all(max(pair) <= ALIKE * min(pair) for pair in pairs)

    for each in order:
        if first is None or by_code[each] != by_code[first] or not is_like(each, first):
            first = each
        groups[each] = first
    return np.unique(groups, return_inverse=True)[1]


def _in_time(trace: Trace) -> Iterator[SampledSeries]:
    # All series with the clock of the kernels
    for device in {each.device for each in trace.series}:
        usable = [_usable(s) for s in trace.series if s.device == device and len(s.start)]
        mine = [each for each in usable if len(each.start)]
        kernels = trace.kernels[trace.kernels["device"] == device]
        telling = next((each for each in mine if ACTIVE in each.metrics), None)
        shift = 0 if telling is None else find_shift(telling, kernels)
        for each in mine:
            # An idle sample can have the first counter alone.
            whole = _rows_of(each, np.asarray(np.isfinite(each.values).all(axis=1)))
            yield replace(whole, start=whole.start + shift, end=whole.end + shift)


def _usable(series: SampledSeries) -> SampledSeries:
    # Without the first of each burst, which begins before it, and samples without any value
    length = series.end - series.start
    has_value = np.isfinite(series.values).any(axis=1)
    return _rows_of(series, (length <= 10 * np.median(length)) & has_value)


def _rows_of(series: SampledSeries, rows: Array) -> SampledSeries:
    return replace(
        series, start=series.start[rows], end=series.end[rows], values=series.values[rows]
    )


def find_shift(series: SampledSeries, kernels: Array) -> int:
    """The nanoseconds by which samples are late, so that the SMs are active when kernels run."""
    own = series.values[:, series.metrics.index(ACTIVE)] / (series.end - series.start)
    step = max(1, len(own) // MOST_FOR_SHIFT)
    start, end, active = series.start[::step], series.end[::step], own[::step]
    edges = np.concatenate([kernels["start"], kernels["end"]]).astype(np.int64)
    change = np.repeat([1, -1], len(kernels))
    order = np.argsort(edges, kind="stable")
    edges, running = edges[order], np.cumsum(change[order]) > 0
    until = np.concatenate([[0.0], np.cumsum(np.diff(edges) * running[:-1])])

    def likeness(shift: int) -> float:
        busy = np.interp(end + shift, edges, until) - np.interp(start + shift, edges, until)
        busy = busy / (end - start)
        if busy.std() == 0 or active.std() == 0:
            return 0.0
        return float(np.corrcoef(busy, active)[0, 1])

    best, reach = 0, SHIFT_NS
    for size in STEPS_NS:
        shifts = range(best - reach, best + reach + 1, size)
        best = max(shifts, key=lambda each: (round(likeness(each), 4), -abs(each)))
        reach = size
    return best


def overlaps(series: SampledSeries, kernels: Array, numbers: Array, count: int) -> Any:
    """The part of each sample that each kernel took, as a sparse matrix of samples by kernels."""
    from scipy.sparse import csr_array

    order = np.argsort(series.start, kind="stable")
    start, end = series.start[order], series.end[order]
    first = np.searchsorted(end, kernels["start"], side="right")
    last = np.searchsorted(start, kernels["end"], side="left")
    touched = np.maximum(last - first, 0)
    kernel = np.repeat(np.arange(len(kernels)), touched)
    within = np.arange(len(kernel)) - np.repeat(np.cumsum(touched) - touched, touched)
    sample = first[kernel] + within
    begins = np.maximum(start[sample], kernels["start"][kernel])
    ends = np.minimum(end[sample], kernels["end"][kernel])
    part = (ends - begins) / (end[sample] - start[sample])
    shape = (len(start), count)
    return csr_array((part, (order[sample], numbers[kernel])), shape=shape)


def ncu_name(cupti: str) -> str:
    """What ``ncu`` calls a counter of CUPTI, or one that it stands for."""
    name = _PREFIX.sub("", cupti).replace(_REALTIME, "")
    return SAME.get(name, name)


def _fit_series(series: SampledSeries, parts: Any) -> Iterator[tuple[str, Fit]]:
    length = (series.end - series.start).astype(np.float64)
    mixture = Mixture.from_parts(parts)
    names = [ncu_name(each) for each in series.metrics]
    fits = {}
    active = series.values[:, names.index(ACTIVE)] / length if ACTIVE in names else None
    for column, name in enumerate(names):
        timed = _TIMED.search(name) is not None
        values = series.values[:, column] / length if timed else series.values[:, column]
        if name == CYCLES:
            # Cycles pass without kernels as well.
            busy = np.zeros(len(values))
            busy[mixture.samples] = np.asarray(mixture.parts.sum(axis=1)).ravel()
            yield name, _clocks(mixture.fit(values * busy), float(np.median(values)))
        elif active is not None and name.endswith(_OF_ACTIVE):
            # Such a share says nothing of the cycles in which SMs did not work.
            fits[name] = mixture.fit_ratio(values * active, active)
        else:
            fits[name] = mixture.fit(values)
    for name, fit in fits.items():
        if _TIMED.search(name) is None:
            yield name, fit.within(np.full_like(fit.values, MOST_ERROR))
        else:
            larger = fits.get(COMPARED_WITH.get(name, name), fit)
            sure = larger.within(MOST_ERROR / 100 * larger.values)
            whole = np.fmax(np.abs(fit.values), sure.values)
            yield name, fit.within(MOST_ERROR / 100 * whole)


def _clocks(fit: Fit, usual: float) -> Fit:
    # The power limit lowers the clock in some kernels: 1.65 GHz in a product, 1.98 GHz in what ran
    # before and after it (H100). Of those with few samples it is taken for the usual one.
    sure = fit.within(MOST_ERROR / 100 * fit.values)
    fitted = np.isfinite(sure.values)
    return Fit(np.where(fitted, sure.values, usual), np.where(fitted, sure.errors, np.inf))


@dataclass(frozen=True, slots=True)
class Mixture:
    """What is told of kernels by samples that several of them share, for any metric.

    ``kernels`` are the columns that have enough samples, ``samples`` the rows without others, and
    ``inverse`` is that of the normal matrix of their ``parts``.
    """

    count: int
    kernels: Array
    samples: Array
    parts: Any
    inverse: FloatArray
    separable: Array
    """Kernels whose part is told from those of others."""

    @staticmethod
    def from_parts(parts: Any) -> Mixture:
        """From the part of each sample that each kernel took: samples by kernels, sparse."""
        filling = np.asarray(parts.sum(axis=0)).ravel()
        kernels = np.flatnonzero(filling >= LEAST_SAMPLES)
        kernels = np.sort(kernels[np.argsort(-filling[kernels], kind="stable")[:MOST_KERNELS]])
        chosen = parts[:, kernels]
        others = np.asarray(parts.sum(axis=1)).ravel() - np.asarray(chosen.sum(axis=1)).ravel()
        samples = np.flatnonzero(others < MOST_OF_OTHERS)
        chosen = chosen[samples]
        normal = (chosen.T @ chosen).toarray()
        inverse = np.linalg.pinv(normal, rcond=1e-9, hermitian=True) if len(kernels) else normal
        separable = np.abs((inverse @ normal).diagonal() - 1.0) < 0.01
        return Mixture(parts.shape[1], kernels, samples, chosen, inverse, separable)

    def fit(self, values: FloatArray) -> Fit:
        """What a metric is in each kernel that is told from others."""
        result, fitted = self._solve(values)
        return self._of_separable(result, self._errors(values[self.samples] - fitted))

    def fit_ratio(self, parts: FloatArray, wholes: FloatArray) -> Fit:
        """The ratio of two metrics in each kernel, with the error of what varies in one alone."""
        (part, part_fitted), (whole, whole_fitted) = self._solve(parts), self._solve(wholes)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(whole > 0, part / whole, np.nan)
            of_samples = np.where(whole_fitted > 0, part_fitted / whole_fitted, 0.0)
            left = parts[self.samples] - part_fitted
            left -= of_samples * (wholes[self.samples] - whole_fitted)
            errors = np.where(whole > 0, self._errors(left) / whole, np.nan)
        return self._of_separable(ratio, errors)

    def _solve(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Of the kernels, and what they amount to in the samples
        result = self.inverse @ (self.parts.T @ values[self.samples])
        return result, self.parts @ result

    def _errors(self, left: FloatArray) -> FloatArray:
        freedom = max(len(left) - len(self.kernels), 1)
        variance = self.inverse.diagonal() * float((left**2).sum()) / freedom
        errors: FloatArray = np.sqrt(np.maximum(variance, 0.0))
        return errors

    def _of_separable(self, result: FloatArray, errors: FloatArray) -> Fit:
        values, sure = np.full(self.count, np.nan), np.full(self.count, np.nan)
        separate = self.kernels[self.separable]
        values[separate], sure[separate] = result[self.separable], errors[self.separable]
        return Fit(values, sure)


def _better(one: Fit, other: Fit) -> Fit:
    takes = np.isnan(one.errors) | (other.errors < one.errors)
    return Fit(*(np.where(takes, theirs, mine) for mine, theirs in zip(one, other, strict=True)))


def _capture(
    trace: Trace, firsts: Array, durations: FloatArray, fits: dict[str, FloatArray]
) -> Capture:
    # Of kernels, each by the position of one launch of it
    launches, names = [], list[str | None]()
    facts = {("duration", Origin.MEASURED): durations}
    for row, kernel in enumerate(trace.kernels[firsts]):
        launched = trace.configurations[int(kernel["configuration"])]
        gpu = trace.devices.get(int(kernel["device"]))
        names.append(None if gpu is None else gpu.name)
        capability = None if gpu is None else gpu.compute_capability
        launches.append(
            Launch(
                id=str(row),
                kernel=launched.name,
                grid=launched.grid,
                block=launched.block,
                compute_capability=capability,
            )
        )
        waits = _waits(_states(trace, kernel["configuration"]))
        for origin, pairs in ((Origin.LAUNCH, _configured(launched, gpu)), (Origin.DERIVED, waits)):
            for metric, value in pairs:
                facts.setdefault((metric, origin), np.full(len(firsts), np.nan))[row] = value
    described = [column_of(metric, values, origin) for (metric, origin), values in facts.items()]
    if INSTRUCTIONS in fits and THREADS in fits:
        with np.errstate(divide="ignore", invalid="ignore"):
            threads = fits[THREADS] / fits[INSTRUCTIONS]
        threads[threads > WARP_SIZE * (1 + MOST_ERROR / 100)] = np.nan
        described.append(column_of("threads_per_instruction_predicated", threads, Origin.DERIVED))
    columns = {each.name: each for each in described}
    read = {name: each for each in load_metrics().values() for name in each.all_ncu_names()}
    for name in sorted(fits.keys() & read.keys()):
        timed = durations if _TIMED.search(name) else 1.0
        unit = read[name].unit
        columns[name] = MetricColumn(name, fits[name] * timed, unit, unit, Origin.DERIVED)
    return Capture(tuple(launches), columns, text={DEVICE_NAME: tuple(names)}, origin="samples")


def _states(trace: Trace, configuration: np.intp) -> Mapping[str, int]:
    return trace.stalls.get(trace.configurations[int(configuration)].mangled, {})


def _waits(states: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    # The cycles of a warp by state for each that it issues in: the samples are of its cycles
    selected = states.get("selected", 0)
    if selected < LEAST_SELECTED:
        return
    yield LATENCY, sum(states.values()) / selected
    for state, samples in states.items():
        if (metric := _stall_of(state)) in load_metrics():
            yield metric, samples / selected


def _configured(launched: Configuration, gpu: TracedGpu | None) -> Iterator[tuple[str, float]]:
    yield "grid_size", float(math.prod(launched.grid))
    yield "block_size", float(math.prod(launched.block))
    yield "registers_per_thread", float(launched.registers)
    if not launched.local:
        yield "local_load_sectors", 0.0
        yield "local_store_sectors", 0.0
    if gpu is None:
        return
    yield "sm_count", float(gpu.multiprocessors)
    sm = architecture(gpu.compute_capability)
    if sm is None or sm.residency is None or not launched.registers:
        return
    shared = launched.static_shared + launched.dynamic_shared
    shared += system_shared_bytes(gpu.compute_capability)
    yield "shared_memory_per_block", float(shared)
    fits = compute_occupancy(
        sm.residency,
        threads=math.prod(launched.block),
        registers=launched.registers,
        shared_bytes=shared,
    )
    yield from occupancy_facts(fits)
    if fits.shared is not None:
        yield "block_limit_shared_mem", float(fits.shared)
    if fits.resident:
        yield "waves_per_sm", math.prod(launched.grid) / (fits.resident * gpu.multiprocessors)
