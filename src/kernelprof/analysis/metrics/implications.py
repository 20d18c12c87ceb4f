"""Values that cannot stand beside each other: what then counts as missing, whichever is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.groups import STALLS

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]


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


IMPLICATIONS: Final = (
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
