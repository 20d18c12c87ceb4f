"""Series of a report (PM sampling), of one launch: cut to its time, on one grid of steps.

A series is a metric whose instances have times for correlation IDs. Passes sample the same launch
again, each at its own times, so that every pass has a window of its own.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from itertools import accumulate, pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kernelprof.model.launch_series import (
    ACTIVE,
    ISSUE,
    LEAST_STEPS,
    MOST_STEPS,
    SAMPLED,
    LaunchSeries,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PREFIX: Final = re.compile(r"^(pmsampling:|(\w+\.)?Triage\w*\.)")
_START: Final = "profiler__timestamp_workload_start"
_END: Final = "profiler__timestamp_workload_end"
_IPC: Final = "sm__inst_executed.avg.per_cycle_active"
_LEAST_TIME: Final = 10**17
"""Nanoseconds since 1970, in 1973; smaller correlation IDs are addresses and numbers."""
_MOST_SAMPLES: Final = 100_000
_LEAST_COVERED: Final = 0.95
"""Part of a launch that samples must cover: the buffer of a long one may run over. What is not
covered is half of what is named."""
_PEAK_IPC: Final = 4.0
"""Instructions per cycle and SM since compute capability 7.0, which has four schedulers."""
_DIGITS: Final = 4


class CounterSamples(NamedTuple):
    """A counter between ``times``, of which there is one more; ``is_count`` grows with time."""

    times: list[int]
    values: list[float]
    is_count: bool


def series_of_launch(action: Any) -> LaunchSeries | None:
    """Read the series of an action of NVIDIA's package; ``None`` where anything is odd."""
    sampled: dict[str, CounterSamples] = {}
    starts: list[int] = []
    ends: list[int] = []
    for name in action.metric_names():
        if name.startswith((_START, _END)):
            stamps = _times(action.metric_by_name(name))
            (starts if name.startswith(_START) else ends).extend(stamps)
            continue
        base = _PREFIX.sub("", name).replace("_realtime", "").replace("dramc__", "dram__")
        if base in SAMPLED or base == _IPC:
            samples = _samples(action.metric_by_name(name), is_count=base.endswith(".avg"))
            if samples is not None:
                sampled.setdefault(SAMPLED.get(base, base), samples)
    lasts = action.metric_by_name("gpu__time_duration.sum")
    duration = float(lasts.as_double()) if lasts is not None and lasts.has_value() else 0.0
    return combine(sampled, sorted(starts), sorted(ends), duration)


def combine(
    sampled: dict[str, CounterSamples],
    starts: Sequence[int],
    ends: Sequence[int],
    duration_ns: float,
) -> LaunchSeries | None:
    """Cut series to the launch and resample them; ``None`` without enough samples within it.

    Reports before 2025 have no times of the launch: it begins when SMs become active then.
    """
    _derive_issue(sampled)
    windows = {name: _window(each, starts, ends) for name, each in sampled.items()}
    active = sampled.get(ACTIVE)
    if not starts and active is not None:
        begun = _begin_of_activity(active)
        guessed = None if begun is None else (begun, begun + int(duration_ns))
        windows = {
            name: guessed if each.times == active.times else None for name, each in sampled.items()
        }
    cut = {name: (sampled[name], each) for name, each in windows.items() if each is not None}
    cut = {name: each for name, each in cut.items() if _is_covered(*each)}
    if not cut:
        return None
    longest = max(median(b - a for a, b in pairwise(samples.times)) for samples, _ in cut.values())
    length = min(end - start for _, (start, end) in cut.values())
    steps = min(MOST_STEPS, int(length / longest))
    if steps < LEAST_STEPS:
        return None
    series = {name: tuple(resample(*each, steps)) for name, each in cut.items()}
    return LaunchSeries(float(length), float(longest), series)


def resample(samples: CounterSamples, window: tuple[int, int], steps: int) -> Iterator[float]:
    """Yield the mean of a counter in each of equal steps of a window, or its rate if it counts."""
    # Times since 1970 need more digits than a float has.
    times, values = [each - window[0] for each in samples.times], samples.values
    weights = [
        value if samples.is_count else value * (b - a)
        for value, (a, b) in zip(values, pairwise(times), strict=True)
    ]
    totals = [0.0, *accumulate(weights)]

    def total_until(time: float) -> float:
        at = min(max(bisect_right(times, time) - 1, 0), len(weights) - 1)
        part = (time - times[at]) / (times[at + 1] - times[at])
        return totals[at] + weights[at] * min(max(part, 0.0), 1.0)

    width = (window[1] - window[0]) / steps
    edges = [total_until(width * each) for each in range(steps + 1)]
    for before, after in pairwise(edges):
        yield float(f"{max(after - before, 0.0) / width:.{_DIGITS}g}")


def _derive_issue(sampled: dict[str, CounterSamples]) -> None:
    """Derive issue slots on chips that sample instructions by active cycle."""
    ipc, active = sampled.pop(_IPC, None), sampled.get(ACTIVE)
    if ipc is None or active is None or ISSUE in sampled or ipc.times != active.times:
        return
    rates = _rates(active)
    most = max(rates) or 1.0
    values = [100 * a / _PEAK_IPC * rate / most for a, rate in zip(ipc.values, rates, strict=True)]
    sampled[ISSUE] = CounterSamples(ipc.times, values, is_count=False)


def _rates(samples: CounterSamples) -> list[float]:
    lengths = (b - a for a, b in pairwise(samples.times))
    return [value / length for value, length in zip(samples.values, lengths, strict=True)]


def _window(
    samples: CounterSamples, starts: Sequence[int], ends: Sequence[int]
) -> tuple[int, int] | None:
    """Return the time of the launch in the pass of these samples."""
    inside = [each for each in starts if samples.times[0] <= each < samples.times[-1]]
    after = [each for each in ends if inside and each > inside[0]]
    return (inside[0], after[0]) if len(inside) == 1 and after else None


def _begin_of_activity(active: CounterSamples) -> int | None:
    """When SMs become active, within the first sample by the part that they fill of it."""
    rates = _rates(active)
    most = max(rates)
    first = next((at for at, rate in enumerate(rates) if rate > 0.01 * most), None)
    if first is None or most <= 0:
        return None
    begin, end = active.times[first], active.times[first + 1]
    return end - int((end - begin) * rates[first] / most)


def _is_covered(samples: CounterSamples, window: tuple[int, int]) -> bool:
    start, end = window
    if not end > start:
        return False
    covered = min(end, samples.times[-1]) - max(start, samples.times[0])
    return covered >= _LEAST_COVERED * (end - start)


def _samples(metric: Any, *, is_count: bool) -> CounterSamples | None:
    times = _times(metric)
    if len(times) < LEAST_STEPS or any(b <= a for a, b in pairwise(times)):
        return None
    values = [float(metric.as_double(at)) for at in range(len(times))]
    if not all(0 <= value < math.inf for value in values):
        return None
    # A sample is stamped with its begin: the last one has no end.
    times.append(times[-1] + int(median(b - a for a, b in pairwise(times))))
    return CounterSamples(times, values, is_count)


def _times(metric: Any) -> list[int]:
    if metric is None or not metric.has_correlation_ids():
        return []
    count = metric.num_instances()
    if not 0 < count <= _MOST_SAMPLES:
        return []
    ids = metric.correlation_ids()
    times = [int(ids.as_uint64(at)) for at in range(count)]
    return times if min(times) >= _LEAST_TIME else []
