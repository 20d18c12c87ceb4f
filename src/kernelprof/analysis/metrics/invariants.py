"""What can be: ranges of units and relations between metrics, as data.

A capture that breaks one of these is not evidence for anything that rests on the metrics involved.
The margins leave room for what real captures show: counters of one launch come from several replay
passes, so a hit rate of 100.4 % and a throughput of 101 % occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.architectures import EVERY
from kernelprof.analysis.metrics.groups import STALLS

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from kernelprof.analysis.metrics.catalogue import Metric

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
class Implication:
    """A relation between metrics; ``broken`` tells where it fails (missing values never do)."""

    metrics: tuple[str, ...]
    broken: Callable[..., BoolArray]
    reason: str


def _sectors_without_requests(sectors: FloatArray, requests: FloatArray) -> BoolArray:
    unasked: BoolArray = (sectors > 0) & (requests == 0)
    return unasked


def _less_than_ideal(actual: FloatArray, ideal: FloatArray) -> BoolArray:
    too_few: BoolArray = actual < 0.99 * ideal
    return too_few


def _nothing_for_something(nothing: FloatArray, something: FloatArray) -> BoolArray:
    unanswered: BoolArray = (nothing == 0) & (something > 0)
    return unanswered


def _part_above_whole(part: FloatArray, whole: FloatArray) -> BoolArray:
    above: BoolArray = part > 1.1 * whole + 1.0
    return above


def _is_zero(values: FloatArray) -> BoolArray:
    zero: BoolArray = values == 0
    return zero


IMPLICATIONS = (
    Implication(
        ("global_sectors", "global_load_requests"),
        _nothing_for_something,
        "global loads were requested and no sector was needed",
    ),
    Implication(
        ("global_sectors_ideal", "global_sectors"),
        _nothing_for_something,
        "sectors were needed and the fewest possible are none",
    ),
    Implication(
        ("shared_wavefronts", "shared_load_wavefronts"),
        _nothing_for_something,
        "shared-memory loads took wavefronts and none was needed",
    ),
    Implication(
        ("local_sectors", "local_load_sectors"),
        _nothing_for_something,
        "local memory was loaded and no sector was needed",
    ),
    Implication(
        ("global_reduction_requests", "instructions"),
        _part_above_whole,
        "more atomics than instructions",
    ),
    Implication(
        ("issue_slots", "sm_throughput"),
        _part_above_whole,
        "issue slots busier than the busiest part of the SM",
    ),
    Implication(
        ("fma_pipe", "sm_throughput"),
        _part_above_whole,
        "a pipe busier than the busiest part of the SM",
    ),
    *(
        Implication(
            (f"stall_{name}", "warp_cycles_per_instruction"),
            _part_above_whole,
            "a stall longer than all the time between two instructions",
        )
        for name in STALLS
    ),
    Implication(("duration",), _is_zero, "a launch cannot take no time"),
    Implication(
        ("global_load_sectors", "global_load_requests"),
        _sectors_without_requests,
        "global loads moved sectors without a request",
    ),
    Implication(
        ("global_store_sectors", "global_store_requests"),
        _sectors_without_requests,
        "global stores moved sectors without a request",
    ),
    Implication(
        ("global_sectors", "global_sectors_ideal"),
        _less_than_ideal,
        "global accesses took fewer sectors than the fewest possible",
    ),
    Implication(
        ("shared_wavefronts", "shared_wavefronts_ideal"),
        _less_than_ideal,
        "shared-memory accesses took fewer wavefronts than the fewest possible",
    ),
)
