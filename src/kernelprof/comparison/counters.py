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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.analysis.metrics.groups import UTILIZATIONS
from kernelprof.comparison import costs
from kernelprof.comparison.costs import BANK_CONFLICTS, RESIDENT_BLOCKS, RESIDENT_THREADS
from kernelprof.model.comparison import CounterChange, MetricChange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.model.snapshot import KernelSnapshot


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter by its canonical name, and whether more of it costs something, or less.

    ``per`` names the counter that it is shown by, as sectors a request.
    """

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
    Counter("threads_per_instruction", "threads an instruction", False),
    Counter("block_limit_registers", "blocks an SM by registers"),
    Counter("block_limit_shared_mem", "blocks an SM by shared memory"),
    Counter("block_limit_warps", "blocks an SM by warps"),
    Counter("registers_per_thread", "registers a thread"),
    Counter("shared_memory_static", "static shared memory a block"),
    Counter("shared_memory_dynamic", "dynamic shared memory a block"),
    Counter("global_load_requests", "global load requests"),
    Counter("global_store_requests", "global store requests"),
    Counter("global_sectors_ideal", "global sectors, with adjacent addresses"),
    Counter("shared_wavefronts_ideal", "shared-memory wavefronts without conflicts"),
)

COUNTERS: Final[Mapping[str, Counter]] = MappingProxyType({each.name: each for each in _COUNTERS})

_DERIVED: Final = (
    Counter(BANK_CONFLICTS, "wavefronts by bank conflicts", True),
    Counter(RESIDENT_BLOCKS, "blocks that fit on an SM", False),
    Counter(RESIDENT_THREADS, "threads that fit on an SM", False),
)
DERIVED: Final[Mapping[str, str]] = MappingProxyType(
    {BANK_CONFLICTS: "wavefront", RESIDENT_BLOCKS: "block", RESIDENT_THREADS: "thread"}
)
"""Counters that are worked out from others, with their units."""

_LIMITS: Final = ("block_limit_registers", "block_limit_shared_mem", "block_limit_warps")

_BY_SM: Final = "block_limit_blocks"
"""Blocks that an SM holds at most, whatever they are."""

NOISE: Final = 0.03
"""Relative differences up to this are taken for noise: 26 kernels captured five times on two days
differed by less in utilizations, hit rates and cycles (``tests/captures/h200_triage``)."""

LEAST_POINTS: Final = 1.0
"""Percentages also have to differ by this many points: small ones differ by any factor."""

_OVERALL: Final = frozenset({"sm_throughput", "memory_throughput", "instruction_throughput"})
"""The largest of others, which explain more by themselves."""
_UNITS: Final = tuple(name for name in UTILIZATIONS if name not in _OVERALL)
_LEFT_OUT: Final = frozenset({"duration", "sm_clock", "sm_count", "grid_size", "block_size"})


def counter_changes(
    before: KernelSnapshot, after: KernelSnapshot
) -> tuple[tuple[CounterChange, ...], tuple[str, ...]]:
    """Counters that differ, those that cost something first; and those that only one side has.

    Of predictions those that cost most are the first of them (:mod:`kernelprof.comparison.costs`).

    Where launches of one side differ among themselves, a counter has changed if its ranges do not
    meet; where they meet, and some launches do more than any did before, by more than
    :data:`NOISE`, it has changed partly. Counters that calibration saw varying have to be further
    apart than it saw them.
    """
    changed, lacking = [], []
    for counter in (*_DERIVED, *_COUNTERS):
        if counter.name == RESIDENT_THREADS and before.block == after.block:
            continue  # the blocks say it
        old, new = _range(before, counter.name), _range(after, counter.name)
        if old is None or new is None:
            if (old is None) != (new is None):
                lacking.append(counter.name)
            continue
        room = _varies(counter.name, before)
        if old[0] <= new[1] * (1 + room) and new[0] <= old[1] * (1 + room):
            # A predicted range is what is not known of one value, and not several values.
            if before.predicted is None and (worst := _partly(counter, old, new, room)):
                changed.append(worst)
            continue
        changed.append(_change(counter, before, after))
    changed.sort(key=lambda each: each.worse is not True)
    if _both_predicted(before, after):
        changed = costs.sorted_by_cost(changed, before, after)
    return tuple(changed), tuple(lacking)


def _both_predicted(before: KernelSnapshot, after: KernelSnapshot) -> bool:
    return before.predicted is not None and after.predicted is not None


def value(kernel: KernelSnapshot, name: str) -> float | None:
    """A counter of a kernel, also one that is worked out from others."""
    metrics = kernel.metrics
    if name == BANK_CONFLICTS:
        all_of_them = metrics.get("shared_wavefronts")
        ideal = metrics.get("shared_wavefronts_ideal")
        return None if all_of_them is None or ideal is None else all_of_them - ideal
    if name == RESIDENT_BLOCKS:
        return _resident(kernel)
    if name == RESIDENT_THREADS:
        blocks = _resident(kernel)
        return None if blocks is None or not kernel.block else blocks * math.prod(kernel.block)
    return metrics.get(name)


def _resident(kernel: KernelSnapshot) -> float | None:
    known = [kernel.metrics[limit] for limit in _LIMITS if limit in kernel.metrics]
    if kernel.predicted is None:
        return min(known) if len(known) == len(_LIMITS) else None
    # A prediction has the limit by shared memory where that is the one that counts: how much an SM
    # sets aside for it, is decided at the launch.
    return min((*known, kernel.metrics[_BY_SM])) if _BY_SM in kernel.metrics else None


def unit_of(name: str) -> str:
    """The unit of a counter or another metric."""
    return DERIVED.get(name) or catalogue()[name].unit


def _partly(
    counter: Counter, old: tuple[float, float], new: tuple[float, float], room: float
) -> CounterChange | None:
    """The change of those launches that do more than any did before, where others do not."""
    if counter.more_costs is None:
        return None
    at = 1 if counter.more_costs else 0
    was, now = old[at], new[at]
    apart = now - was if counter.more_costs else was - now
    if apart <= max(room, NOISE) * abs(was):
        return None
    return CounterChange(
        counter.name, counter.label, unit_of(counter.name), was, now, worse=True, partly=True
    )


def _varies(name: str, before: KernelSnapshot) -> float:
    """How far a counter may be off, relatively, by what calibration of the first side saw."""
    return 0.0 if before.noise is None else before.noise.varying.get(name, 0.0)


def _range(kernel: KernelSnapshot, name: str) -> tuple[float, float] | None:
    if name in kernel.spread:
        return kernel.spread[name]
    if name == BANK_CONFLICTS:
        both = _range(kernel, "shared_wavefronts"), _range(kernel, "shared_wavefronts_ideal")
        if both[0] is None or both[1] is None:
            return None
        return max(both[0][0] - both[1][1], 0.0), max(both[0][1] - both[1][0], 0.0)
    found = value(kernel, name)
    return None if found is None else (found, found)


def _change(counter: Counter, before: KernelSnapshot, after: KernelSnapshot) -> CounterChange:
    old, new = (value(side, counter.name) for side in (before, after))
    assert old is not None  # _range has seen both
    assert new is not None
    worse = None if counter.more_costs is None else (new > old) == counter.more_costs
    if counter.name == RESIDENT_BLOCKS and before.block and after.block != before.block:
        worse = None  # larger blocks are fewer: their threads are what counts
    if counter.name == costs.THREADS and _both_predicted(before, after):
        # An average also falls where instructions of whole warps went away.
        worse = worse if costs.lanes_did(before, after) is worse else None
    return CounterChange(
        metric=counter.name,
        label=counter.label,
        unit=unit_of(counter.name),
        before=old,
        after=new,
        worse=worse,
        before_each=_each(counter, before),
        after_each=_each(counter, after),
        each="request" if counter.per else None,
    )


def _each(counter: Counter, kernel: KernelSnapshot) -> float | None:
    if counter.per is None:
        return None
    count, per = value(kernel, counter.name), value(kernel, counter.per)
    return count / per if count is not None and per else None


def metric_changes(before: KernelSnapshot, after: KernelSnapshot) -> tuple[MetricChange, ...]:
    """What changed, units that explain most of the time's change first, then by relative change."""
    changes = []
    for name, old in before.metrics.items():
        new = after.metrics.get(name)
        if new is None or name in COUNTERS or name in _LEFT_OUT:
            continue
        unit = catalogue()[name].unit if name in catalogue() else ""
        if _relative(old, new) > NOISE and (unit != "%" or abs(new - old) >= LEAST_POINTS):
            changes.append(MetricChange(name, unit, old, new, _explains(name, before, after)))
    changes.sort(key=lambda each: (-(each.explains or 0.0), -_relative(each.before, each.after)))
    return tuple(changes)


def _relative(old: float, new: float) -> float:
    """The logarithm of the factor, the same for up and down."""
    if old == new:
        return 0.0
    if old <= 0 or new <= 0:
        return math.inf
    return abs(math.log(new / old))


def _explains(name: str, before: KernelSnapshot, after: KernelSnapshot) -> float | None:
    """The change of the time that the unit is busy, over the change of the duration."""
    old, new = before.metrics.get("duration"), after.metrics.get("duration")
    if name not in _UNITS or old is None or new is None:
        return None
    change = new - old
    if abs(change) <= NOISE * max(old, new):
        return None
    busy = (after.metrics[name] * new - before.metrics[name] * old) / 100
    return min(max(busy / change, 0.0), 1.0)
