"""Metrics that are not exact: which changed, and how much of the time's change each explains."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.analysis.metrics.groups import UTILIZATIONS
from kernelprof.compare.counters import COUNTERS
from kernelprof.model.comparison import MetricChange

if TYPE_CHECKING:
    from kernelprof.model.snapshot import KernelSnapshot

NOISE: Final = 0.03
"""Relative differences up to this are taken for noise: 26 kernels captured five times on two days
differed by less in utilizations, hit rates and cycles (``tests/captures/h200_triage``)."""

LEAST_POINTS: Final = 1.0
"""Percentages also have to differ by this many points: small ones differ by any factor."""

_OVERALL: Final = frozenset({"sm_throughput", "memory_throughput", "instruction_throughput"})
"""The largest of others, which explain more by themselves."""
_UNITS: Final = tuple(name for name in UTILIZATIONS if name not in _OVERALL)
_LEFT_OUT: Final = frozenset({"duration", "sm_clock", "sm_count", "grid_size", "block_size"})


def metric_changes(before: KernelSnapshot, after: KernelSnapshot) -> tuple[MetricChange, ...]:
    """What changed, units that explain most of the time's change first, then by relative change."""
    both = [
        name
        for name in before.metrics
        if name in after.metrics and name not in COUNTERS and name not in _LEFT_OUT
    ]
    changes = [
        MetricChange(
            name,
            catalogue()[name].unit if name in catalogue() else "",
            before.metrics[name],
            after.metrics[name],
            _explains(name, before, after),
        )
        for name in both
        if _differs(name, before.metrics[name], after.metrics[name])
    ]
    changes.sort(key=lambda each: (-(each.explains or 0.0), -_relative(each.before, each.after)))
    return tuple(changes)


def _differs(name: str, old: float, new: float) -> bool:
    if _relative(old, new) <= NOISE:
        return False
    known = catalogue().get(name)
    return known is None or known.unit != "%" or abs(new - old) >= LEAST_POINTS


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
