"""Hardware counters at times within one launch (PM sampling), and what they say of its time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from kernelprof.model.capture import OWN_COLUMNS
from kernelprof.model.json_types import (
    CanonicalName,
    JsonStruct,
    Nanoseconds,
    Positive,
    Share,
    about,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.capture import Capture

SERIES_COLUMN: Final = f"{OWN_COLUMNS}series"
"""Text column of a capture: the :class:`LaunchSeries` of a launch as JSON."""
MOST_STEPS: Final = 200
"""Values of a series: as many as a chart on a page has room for."""
LEAST_STEPS: Final = 4
"""Samples within a launch from which they are read. Our choice."""

_ELAPSED: Final = ".avg.pct_of_peak_sustained_elapsed"
ACTIVE: Final = "sm_cycles_active"
ISSUE: Final = "issue_slots"
SAMPLED: Final = {
    "sm__cycles_active.avg": ACTIVE,
    f"dram__throughput{_ELAPSED}": "dram_throughput",
    f"lts__throughput{_ELAPSED}": "l2_throughput",
    f"l1tex__throughput{_ELAPSED}": "l1_throughput",
    "l1tex__data_pipe_lsu_wavefronts.avg": "l1_wavefronts",
    f"sm__inst_executed{_ELAPSED}": ISSUE,
    f"sm__pipe_tensor_cycles_active{_ELAPSED}": "tensor_pipe",
    f"sm__inst_executed_pipe_fma{_ELAPSED}": "fma_pipe",
    f"sm__inst_executed_pipe_fmaheavy{_ELAPSED}": "fma_pipe",
    f"smsp__inst_executed_pipe_fmaheavy{_ELAPSED}": "fma_pipe",
    f"sm__pipe_fp64_cycles_active{_ELAPSED}": "fp64_pipe",
    f"sm__inst_executed_pipe_fp64{_ELAPSED}": "fp64_pipe",
    f"sm__inst_executed_pipe_alu{_ELAPSED}": "alu_pipe",
    f"sm__inst_executed_pipe_xu{_ELAPSED}": "xu_pipe",
    f"sm__mem_tensor_cycles_active{_ELAPSED}": "tensor_memory",
}
"""Canonical metrics of sampled counters, by the counter's name without prefix and ``_realtime``."""


class LaunchSeries(msgspec.Struct, frozen=True):
    """Series of one launch, cut to its time and resampled to equal steps.

    ``series`` are rates or percentages by canonical name, not yet scaled to the launch's metrics.
    """

    duration_ns: float
    interval_ns: float
    """Time between two samples, the longest of all series."""
    series: dict[str, tuple[float, ...]]


def series_to_text(series: LaunchSeries) -> str:
    """Write the series of a launch for their column."""
    return msgspec.json.encode(series).decode()


def read_series(capture: Capture, rows: Iterable[int]) -> tuple[int, LaunchSeries] | None:
    """Return the first of these launches that has series, and these; odd ones are left out."""
    cells = capture.text.get(SERIES_COLUMN)
    for row in rows if cells is not None else ():
        if cells is not None and (cell := cells[row]):
            try:
                launch = msgspec.json.decode(cell, type=LaunchSeries)
            except (msgspec.DecodeError, RecursionError):
                continue
            if _is_usable(launch):
                return row, launch
    return None


def _is_usable(launch: LaunchSeries) -> bool:
    lengths = {len(each) for each in launch.series.values()}
    values = [value for each in launch.series.values() for value in each]
    return (
        len(lengths) == 1
        and LEAST_STEPS <= min(lengths) <= MOST_STEPS
        and set(launch.series) <= set(SAMPLED.values())
        and all(0 <= value < math.inf for value in values)
        and 0 < launch.interval_ns < launch.duration_ns < math.inf
    )


class UnitSeries(JsonStruct, frozen=True):
    """How busy a unit was over the time of a launch."""

    metric: CanonicalName
    label: str
    values: Annotated[tuple[float, ...], about("Percent of peak in each of the equal time steps.")]


class UnitShare(JsonStruct, frozen=True):
    """How busy a unit was in a part of a launch."""

    metric: CanonicalName
    label: str
    percent: Annotated[float, about("Percent of peak, on average.")]


class LaunchPhase(JsonStruct, frozen=True):
    """A part of the steady time of a launch, from `start` to `end` of all its time, 0 to 1."""

    start: Share
    end: Share
    limit: Annotated[
        CanonicalName | None, about("The busiest unit, if near its limit; otherwise null.")
    ]
    busiest: UnitShare


class OverTime(JsonStruct, frozen=True):
    """What samples of hardware counters show of one launch: ramp, steady part and tail.

    Below a certain number of samples only the series are known.
    """

    duration_ns: Nanoseconds
    interval_ns: Annotated[Nanoseconds, about("Time between two samples.")]
    steps: Positive
    ramp: Annotated[
        Share | None, about("Share of time before any unit reaches half its 90th-percentile value.")
    ]
    steady: Share | None
    tail: Annotated[
        Share | None,
        about("Share of time at the end with every unit below half its 90th-percentile value."),
    ]
    tail_active: Annotated[
        Share | None, about("SMs active in the tail, relative to the steady part.")
    ]
    phases: Annotated[
        tuple[LaunchPhase, ...],
        about("Phases of the steady-state time; more than one only if their limits differ."),
    ]
    units: tuple[UnitSeries, ...]
