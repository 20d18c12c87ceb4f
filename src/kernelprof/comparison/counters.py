"""What differs in counters that repeat to the last digit, and in metrics that do not.

Which counters repeat was measured: 26 kernels of ``tests/kernels/validation.cu``, captured five
times on two days (``tests/captures/h200_drilldown`` and ``h200_triage``), eleven GEMM kernels 13
times each (``tests/captures/gemm_series.same-code-13x.raw.csv``), twelve kernels five times each
(``tests/captures/h200_changes``). Those below were equal in all of them, with one exception: a
kernel that appends by atomics moved 1 % more or fewer global sectors, since its addresses depend on
who comes first. Not among them, because they differed for the same code: sectors of global stores
(up to 0.6 %), of local memory and of L2 as the hardware counts them, its shared-memory wavefronts
and bank conflicts, and everything in cycles or bytes of device memory. What is worked out from the
addresses of executed instructions stands in for those where Nsight Compute has it.

Predictions have no time. What they count is work, whose parts can be added up; what fits on an SM,
or idles in a warp, is shown beside it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.groups import UTILIZATIONS
from kernelprof.model.comparison import ComparedCounter, MetricChange, PartlyChangedCounter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.model.comparison import CounterChange
    from kernelprof.model.snapshot import KernelSnapshot

RESIDENT_BLOCKS: Final = "resident_blocks"
"""Blocks that fit on an SM: the least of what registers, shared memory and warps allow."""

RESIDENT_THREADS: Final = "resident_threads"
"""Their threads: what is compared where blocks have another size."""

BANK_CONFLICTS: Final = "conflict_wavefronts"
"""Shared-memory wavefronts beyond those that the same accesses need without conflicts."""

THREADS: Final = "threads_per_instruction"

WORK_COUNTERS: Final = (
    "global_sectors",
    "local_sectors",
    "shared_wavefronts",
    "global_atomic_requests",
    "global_reduction_requests",
    "instructions",
)
"""What is work, each counted once. A sector, a wavefront and an instruction of a warp count alike:
an SM takes two sectors a cycle from L2, one wavefront, and four instructions (architectures.toml;
https://docs.nvidia.com/nsight-compute/ProfilingGuide/, "Memory Tables", "Scheduler")."""

_PART_OF: Final = {"global_load_sectors": "global_sectors", BANK_CONFLICTS: "shared_wavefronts"}
"""Counters that others hold as well: of the two the one is told that says more."""

LEAST: Final = 0.001
"""Relative changes below this are not told: a line more of the same length would say nothing."""

LANES: Final = 32

_MOST_SHOWN: Final = 3


def did_more_lanes_idle(before: KernelSnapshot, after: KernelSnapshot) -> bool | None:
    """Whether more lanes idle than before, or fewer; ``None`` where neither is known."""
    old, new = _idle_range(before), _idle_range(after)
    if old is None or new is None or (new[0] <= old[1] and old[0] <= new[1]):
        return None
    return new[0] > old[1] if abs(idle_lane_growth(before, after)) >= LEAST else None


def count_idle_lanes(kernel: KernelSnapshot) -> float:
    """The lanes that idle in all instructions of a kernel; nothing where that is not known."""
    executed, threads = (kernel.metrics.get(name) for name in ("instructions", THREADS))
    return 0.0 if executed is None or threads is None else executed * (LANES - threads)


def idle_lane_growth(before: KernelSnapshot, after: KernelSnapshot) -> float:
    """How many lanes more idle, as a part of all lanes that the instructions had before."""
    executed = before.metrics.get("instructions") or 0.0
    return (
        (count_idle_lanes(after) - count_idle_lanes(before)) / (LANES * executed)
        if executed
        else 0.0
    )


def sum_work(kernel: KernelSnapshot) -> float:
    """All work of a kernel."""
    return sum(kernel.metrics.get(name, 0.0) for name in WORK_COUNTERS)


def sorted_by_cost(
    changes: Iterable[ComparedCounter], before: KernelSnapshot, after: KernelSnapshot
) -> list[ComparedCounter]:
    """What is worse first, and of that what costs most; then what is better, by what it saves."""

    def order(change: CounterChange) -> tuple[int, float, float]:
        by = _cost(change, before, after)
        return (True, False, None).index(change.worse), -by, -relative_change(change)

    return sorted(changes, key=order)


def _cost(change: CounterChange, before: KernelSnapshot, after: KernelSnapshot) -> float:
    # How much a change is, as a part of all work of before. Of what fits on an SM the factor by
    # which it changed: as much longer latencies may take
    total = sum_work(before)
    if change.metric in {RESIDENT_BLOCKS, RESIDENT_THREADS}:
        fewer, more = sorted((change.before, change.after))
        return more / fewer - 1 if fewer else float(more > 0)
    if change.metric == THREADS:
        added = (count_idle_lanes(after) - count_idle_lanes(before)) / LANES
    else:
        is_work = change.metric in WORK_COUNTERS or change.metric in _PART_OF
        added = change.after - change.before if is_work else 0.0
    return abs(added) / total if total else 0.0


def most_costly(changes: Sequence[CounterChange]) -> list[CounterChange]:
    """Return the few changes that a line has room for, in their order, without small ones."""
    by_counter: dict[str, CounterChange] = {}
    for each in changes:
        if each.worse is not None and relative_change(each) >= LEAST:
            by_counter.setdefault(_PART_OF.get(each.metric, each.metric), each)
    return list(by_counter.values())[:_MOST_SHOWN]


def relative_change(change: CounterChange) -> float:
    """By which part of it a counter changed; infinity from none."""
    return abs(change.after / change.before - 1) if change.before else math.inf


def _idle_range(kernel: KernelSnapshot) -> tuple[float, float] | None:
    executed, threads = (_value_range(kernel, name) for name in ("instructions", THREADS))
    if executed is None or threads is None:
        return None
    return executed[0] * (LANES - threads[1]), executed[1] * (LANES - threads[0])


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter, and whether more of it costs something; ``per`` is what it is shown by."""

    name: str
    label: str
    more_costs: bool | None = None
    per: str | None = None


_COUNTERS: Final = (
    Counter("global_load_sectors", "global load sectors", True, "global_load_requests"),
    Counter("global_sectors", "global sectors", True),
    Counter("local_sectors", "local-memory sectors (spills)", True),
    Counter("shared_wavefronts", "shared-memory wavefronts", True),
    Counter("global_atomic_requests", "global atomics", True),
    Counter("global_reduction_requests", "global reductions", True),
    Counter("instructions", "instructions", True),
    Counter("threads_per_instruction", "threads per instruction", False),
    Counter("block_limit_registers", "block limit by registers"),
    Counter("block_limit_shared_mem", "block limit by shared memory"),
    Counter("block_limit_warps", "block limit by warps"),
    Counter("registers_per_thread", "registers per thread"),
    Counter("shared_memory_static", "static shared memory per block"),
    Counter("shared_memory_dynamic", "dynamic shared memory per block"),
    Counter("global_load_requests", "global load requests"),
    Counter("global_store_requests", "global store requests"),
    Counter("global_sectors_ideal", "ideal global sectors (adjacent addresses)"),
    Counter("shared_wavefronts_ideal", "ideal shared-memory wavefronts (no conflicts)"),
)

COUNTERS: Final[Mapping[str, Counter]] = MappingProxyType({each.name: each for each in _COUNTERS})

_DERIVED: Final = (
    Counter(BANK_CONFLICTS, "wavefronts from bank conflicts", True),
    Counter(RESIDENT_BLOCKS, "blocks that fit on an SM", False),
    Counter(RESIDENT_THREADS, "threads that fit on an SM", False),
)
DERIVED: Final[Mapping[str, str]] = MappingProxyType(
    {BANK_CONFLICTS: "wavefront", RESIDENT_BLOCKS: "block", RESIDENT_THREADS: "thread"}
)
"""Counters that are worked out from others, with their units."""

_BY_SHARED: Final = "block_limit_shared_mem"
"""Predictions have it only where it is what limits the blocks of an SM: how much an SM sets aside
for shared memory is decided at the launch."""

_LIMITS: Final = ("block_limit_registers", _BY_SHARED, "block_limit_warps")

_BY_SM: Final = "block_limit_blocks"
"""Blocks that an SM holds at most, whatever they are."""

NOISE: Final = 0.03
"""Relative differences up to this are taken for noise: 26 kernels captured five times on two days
differed by less in utilizations, hit rates and cycles (``tests/captures/h200_triage``)."""

LEAST_POINTS: Final = 1.0
"""Percentages also have to differ by this many points: small ones differ by any factor."""

_OVERALL: Final = frozenset({"sm_throughput", "memory_throughput", "instruction_throughput"})
_UNITS: Final = tuple(name for name in UTILIZATIONS if name not in _OVERALL)
_LEFT_OUT: Final = frozenset({"duration", "sm_clock", "sm_count", "grid_size", "block_size"})


def counter_changes(
    before: KernelSnapshot, after: KernelSnapshot
) -> tuple[tuple[ComparedCounter, ...], tuple[str, ...]]:
    """Return counters that differ, costly ones first, and the names that only one side has.

    Ranges of launches have to be disjoint; where some launches do more than any did before, by
    more than :data:`NOISE`, the change is partial. Counters that varied in a calibration have
    to differ by more than they did there.
    """
    changed, lacking = [], []
    for counter in (*_DERIVED, *_COUNTERS):
        if counter.name == RESIDENT_THREADS and before.block == after.block:
            continue  # the blocks say it
        old, new = _value_range(before, counter.name), _value_range(after, counter.name)
        if old is None or new is None:
            optional = counter.name == _BY_SHARED and _both_predicted(before, after)
            if (old is None) != (new is None) and not optional:
                lacking.append(counter.name)
            continue
        room = _calibrated_variation(counter.name, before)
        if old[0] <= new[1] * (1 + room) and new[0] <= old[1] * (1 + room):
            # A predicted range is what is not known of one value, and not several values.
            if before.predicted is None and (worst := _partial_change(counter, old, new, room)):
                changed.append(worst)
            continue
        changed.append(_make_change(counter, before, after))
    changed.sort(key=lambda each: each.worse is not True)
    if _both_predicted(before, after):
        changed = sorted_by_cost(changed, before, after)
    return tuple(changed), tuple(lacking)


def _both_predicted(before: KernelSnapshot, after: KernelSnapshot) -> bool:
    return before.predicted is not None and after.predicted is not None


def counter_value(kernel: KernelSnapshot, name: str) -> float | None:
    """A counter of a kernel, also one that is worked out from others."""
    metrics = kernel.metrics
    if name == BANK_CONFLICTS:
        all_of_them = metrics.get("shared_wavefronts")
        ideal = metrics.get("shared_wavefronts_ideal")
        return None if all_of_them is None or ideal is None else all_of_them - ideal
    if name == RESIDENT_BLOCKS:
        return _count_resident_blocks(kernel)
    if name == RESIDENT_THREADS:
        blocks = _count_resident_blocks(kernel)
        return None if blocks is None or not kernel.block else blocks * math.prod(kernel.block)
    return metrics.get(name)


def _count_resident_blocks(kernel: KernelSnapshot) -> float | None:
    limits = [kernel.metrics[limit] for limit in _LIMITS if limit in kernel.metrics]
    if kernel.predicted is None:
        return min(limits) if len(limits) == len(_LIMITS) else None
    return min((*limits, kernel.metrics[_BY_SM])) if _BY_SM in kernel.metrics else None


def unit_of(name: str) -> str:
    """The unit of a counter or another metric."""
    return DERIVED.get(name) or load_metrics()[name].unit


def _partial_change(
    counter: Counter, old: tuple[float, float], new: tuple[float, float], room: float
) -> ComparedCounter | None:
    # The change of those launches that do more than any did before, where others do not
    if counter.more_costs is None:
        return None
    at = 1 if counter.more_costs else 0
    was, now = old[at], new[at]
    apart = now - was if counter.more_costs else was - now
    if apart <= max(room, NOISE) * abs(was):
        return None
    return PartlyChangedCounter(
        counter.name, counter.label, unit_of(counter.name), was, now, worse=True
    )


def _calibrated_variation(name: str, before: KernelSnapshot) -> float:
    return 0.0 if before.noise is None else before.noise.varying.get(name, 0.0)


def _value_range(kernel: KernelSnapshot, name: str) -> tuple[float, float] | None:
    if name in kernel.spread:
        return kernel.spread[name]
    if name == BANK_CONFLICTS:
        whole = _value_range(kernel, "shared_wavefronts")
        ideal = _value_range(kernel, "shared_wavefronts_ideal")
        if whole is None or ideal is None:
            return None
        return max(whole[0] - ideal[1], 0.0), max(whole[1] - ideal[0], 0.0)
    metric = counter_value(kernel, name)
    return None if metric is None else (metric, metric)


def _make_change(
    counter: Counter, before: KernelSnapshot, after: KernelSnapshot
) -> ComparedCounter:
    old, new = (counter_value(side, counter.name) for side in (before, after))
    assert old is not None  # _value_range has seen both
    assert new is not None
    worse = None if counter.more_costs is None else (new > old) == counter.more_costs
    if counter.name == RESIDENT_BLOCKS and before.block and after.block != before.block:
        worse = None  # larger blocks are fewer: their threads are what counts
    if counter.name == THREADS and _both_predicted(before, after):
        # An average also falls where instructions of whole warps went away.
        worse = worse if did_more_lanes_idle(before, after) is worse else None
    return ComparedCounter(
        metric=counter.name,
        label=counter.label,
        unit=unit_of(counter.name),
        before=old,
        after=new,
        worse=worse,
        before_each=_per_request(counter, before),
        after_each=_per_request(counter, after),
        each="request" if counter.per else None,
    )


def _per_request(counter: Counter, kernel: KernelSnapshot) -> float | None:
    if counter.per is None:
        return None
    count, per = counter_value(kernel, counter.name), counter_value(kernel, counter.per)
    return count / per if count is not None and per else None


def metric_changes(before: KernelSnapshot, after: KernelSnapshot) -> tuple[MetricChange, ...]:
    """What changed, units that explain most of the time's change first, then by relative change."""
    changes = []
    for name, old in before.metrics.items():
        new = after.metrics.get(name)
        if new is None or name in COUNTERS or name in _LEFT_OUT:
            continue
        unit = load_metrics()[name].unit if name in load_metrics() else ""
        if _log_ratio(old, new) > NOISE and (unit != "%" or abs(new - old) >= LEAST_POINTS):
            changes.append(MetricChange(name, unit, old, new, _explained_part(name, before, after)))
    changes.sort(key=lambda each: (-(each.explains or 0.0), -_log_ratio(each.before, each.after)))
    return tuple(changes)


def _log_ratio(old: float, new: float) -> float:
    if old == new:
        return 0.0
    if old <= 0 or new <= 0:
        return math.inf
    return abs(math.log(new / old))


def _explained_part(name: str, before: KernelSnapshot, after: KernelSnapshot) -> float | None:
    old, new = before.metrics.get("duration"), after.metrics.get("duration")
    if name not in _UNITS or old is None or new is None:
        return None
    change = new - old
    if abs(change) <= NOISE * max(old, new):
        return None
    busy = (after.metrics[name] * new - before.metrics[name] * old) / 100
    return min(max(busy / change, 0.0), 1.0)
