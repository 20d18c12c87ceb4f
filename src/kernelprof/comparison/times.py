"""Whether one time is longer than another: a difference has to be large and significant.

With five launches a side or more, statistics decide, over the median and over all launches
together. With fewer there is nothing to do statistics with: a difference that no two launches of
the same code ever had decides then, and one in between leaves it open.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.comparison import floors
from kernelprof.model.comparison import TimeChange, TimeOutcome
from kernelprof.model.numbers import quantity
from kernelprof.model.snapshot import EVENTS, PROFILER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.model.capture import FloatArray
    from kernelprof.model.snapshot import KernelSnapshot

    Statistic = Callable[..., Any]

_PERMUTED_UP_TO: Final = 7
"""Up to so many launches a side the probability comes from permutations: ties are common, since
timers tick, and the approximation for ties is for larger samples. All of them are counted."""

ALPHA: Final = 0.01
CONFIDENCE: Final = 0.95

_RESAMPLES: Final = 2000
_MOST_AT_ONCE: Final = 4_000_000
"""Resampled times that are held at a time, 32 MB of them."""

SHORTEST_NS: Final = 100.0
LONGEST_NS: Final = 1e14
"""What a launch can take: an empty kernel takes about a microsecond, and a day is long."""

WORLDS_APART: Final = 10.0
"""By which factor the profiler's time of a launch may differ from that between CUDA events. Caches
that it empties and launches that it serializes made at most 1.35 in the 253 recorded captures of
the ladder and the corpus (``src/kernelprof/recorded``)."""

LAUNCH_NS: Final = 2e4
"""Differences up to this are what launching costs, whatever the factor."""

DISAGREE: Final = 1.5
"""By which factor the two kinds of time may differ in what a change did: between the variants of
one kernel of the corpus they differed by 1.34 at most."""

TAIL: Final = 90.0
"""The percentile that shows whether the slow launches got slower."""


def time_change(
    before: KernelSnapshot, after: KernelSnapshot, not_comparable: str | None
) -> TimeChange:
    """Times of one kernel before and after; like is compared with like, events before profiler."""
    if not_comparable:
        return TimeChange(TimeOutcome.NOT_COMPARABLE, reason=not_comparable)
    for side in (before, after):
        if doubt := _doubt(side):
            return TimeChange(TimeOutcome.NOT_MEASURED, side.measured_by, reason=doubt)
    found = {
        how: _measured(how, old, new, floors.floor_of(how, before, old, new))
        for how, old, new in (
            (EVENTS, before.events_ns, after.events_ns),
            (PROFILER, before.profiled_ns, after.profiled_ns),
        )
        if old and new
    }
    if len(found) == 2:
        return _agreed(found[EVENTS], found[PROFILER])
    for change in found.values():
        return change
    if not (before.median_ns and after.median_ns):
        return TimeChange(TimeOutcome.NOT_MEASURED, reason="one side has no time")
    return TimeChange(
        TimeOutcome.NOT_ENOUGH_SAMPLES,
        before_ns=before.median_ns,
        after_ns=after.median_ns,
        ratio=after.median_ns / before.median_ns,
        reason="one side has no times of single launches",
    )


def _doubt(side: KernelSnapshot) -> str | None:
    """Why the times of a side cannot be those of its launches; ``None`` where they can."""
    for each in (*side.events_ns, *side.profiled_ns):
        if not SHORTEST_NS <= each <= LONGEST_NS:
            return f"{each:.3g} ns is no time that a launch takes"
    if not (side.events_ns and side.profiled_ns):
        return None
    events, profiled = (float(np.median(times)) for times in (side.events_ns, side.profiled_ns))
    apart = max(events, profiled) / min(events, profiled)
    if apart <= WORLDS_APART or abs(events - profiled) <= LAUNCH_NS:
        return None
    return (
        f"times contradict each other: {quantity(events, 'ns')} by CUDA events and "
        f"{quantity(profiled, 'ns')} by the profiler"
    )


def _agreed(events: TimeChange, profiled: TimeChange) -> TimeChange:
    """The change by events, if what the profiler saw of it can be the same change."""
    assert events.ratio is not None  # both were measured
    assert profiled.ratio is not None
    apart = events.ratio / profiled.ratio
    if 1 / DISAGREE <= apart <= DISAGREE:
        return events
    if events.before_ns and profiled.before_ns and events.after_ns and profiled.after_ns:
        sides = (events.before_ns - profiled.before_ns, events.after_ns - profiled.after_ns)
        if max(map(abs, sides)) <= LAUNCH_NS:
            return events
    reason = (
        f"by CUDA events the time is {events.ratio:.3g} times what it was, and by the profiler "
        f"{profiled.ratio:.3g} times"
    )
    return replace(events, outcome=TimeOutcome.UNDECIDED, reason=reason)


def _measured(
    how: str, old: Sequence[float], new: Sequence[float], floor: floors.Floor
) -> TimeChange:
    before, after = float(np.median(old)), float(np.median(new))
    change = TimeChange(
        TimeOutcome.SAME,
        how,
        before_ns=before,
        after_ns=after,
        ratio=after / before,
        floor=floor.size,
        floor_from=floor.source,
        sure=floor.sure,
        samples=(len(old), len(new)),
    )
    if min(change.samples) < floors.FEWEST_SAMPLES:
        means = (float(np.mean(old)), float(np.mean(new)))
        return _of_few(change, means, floor)
    p, (low, high) = _probability(old, new), _interval(old, new, np.median)
    change = replace(change, low=low, high=high, p=p)
    if abs(after / before - 1) > floor.size:
        decided = p < ALPHA and not low <= 1 <= high
        change = replace(change, outcome=_direction(after / before, decided=decided))
    return _of_all_launches(change, old, new, floor.size)


def _direction(ratio: float, *, decided: bool) -> TimeOutcome:
    if not decided:
        return TimeOutcome.UNDECIDED
    return TimeOutcome.SLOWER if ratio > 1 else TimeOutcome.FASTER


def _of_few(change: TimeChange, means: tuple[float, float], floor: floors.Floor) -> TimeChange:
    """Single launches: within the floor of such ones, clearly beyond it, or in between."""
    assert change.ratio is not None
    together = means[1] / means[0]
    apart = max(change.ratio, 1 / change.ratio) - 1
    if together > 1 + floor.size and change.ratio <= 1 + floor.size:
        reason = f"all launches together take {together:.3g} times as long as before"
        return replace(change, outcome=TimeOutcome.UNDECIDED, reason=reason)
    if apart <= floor.size:
        return change
    outcome = _direction(change.ratio, decided=apart > floor.sure)
    reason = ""
    if outcome is TimeOutcome.UNDECIDED:
        reason = (
            f"single launches ({change.samples[0]} and {change.samples[1]}) show differences from "
            f"{100 * floor.sure:.2g} % on for sure"
        )
    return replace(change, outcome=outcome, reason=reason)


def _of_all_launches(
    change: TimeChange, old: Sequence[float], new: Sequence[float], floor: float
) -> TimeChange:
    """The change of the median, unless all launches together, or the slow ones, say otherwise.

    The median stands still where not quite half of the launches got slower.
    """
    before, after = (float(_mean(np.asarray(times))) for times in (old, new))
    ratio = after / before
    together = TimeOutcome.SAME
    low = high = ratio
    if max(ratio, 1 / ratio) - 1 > floor:
        low, high = _interval(old, new, _mean)
        beyond = low > 1 + floor or high < 1 / (1 + floor)
        together = _direction(ratio, decided=beyond)
    if together in _DIFFERENT and change.outcome in {TimeOutcome.SAME, TimeOutcome.UNDECIDED}:
        return replace(
            change,
            outcome=together,
            of="mean",
            before_ns=before,
            after_ns=after,
            ratio=ratio,
            low=low,
            high=high,
            reason=f"all launches together; the median is {change.ratio:.3g} times what it was",
        )
    if {together, change.outcome} == _DIFFERENT:
        reason = (
            f"the median launch takes {change.ratio:.3g} times as long as before, and all "
            f"launches together {ratio:.3g} times"
        )
        return replace(change, outcome=TimeOutcome.UNDECIDED, reason=reason)
    if together is TimeOutcome.UNDECIDED and ratio > 1 and change.outcome is not TimeOutcome.SLOWER:
        reason = (
            f"all launches together take {ratio:.3g} times as long as before (95 % interval "
            f"{low:.3g} to {high:.3g})"
        )
        return replace(change, outcome=TimeOutcome.UNDECIDED, reason=reason)
    return _of_the_slowest(change, old, new, floor)


_DIFFERENT: Final = {TimeOutcome.FASTER, TimeOutcome.SLOWER}


def _of_the_slowest(
    change: TimeChange, old: Sequence[float], new: Sequence[float], floor: float
) -> TimeChange:
    """The change, unless the slowest tenth got clearly slower while all together did not."""
    from scipy import stats

    if change.outcome not in {TimeOutcome.SAME, TimeOutcome.FASTER}:
        return change
    ratio = float(np.percentile(new, TAIL) / np.percentile(old, TAIL))
    if ratio <= 1 + floors.CLEAR * floor:
        return change
    if stats.ks_2samp(old, new, method="asymp").pvalue >= ALPHA:
        return change
    reason = f"the slowest tenth of the launches takes {ratio:.3g} times as long as before"
    return replace(change, outcome=TimeOutcome.UNDECIDED, reason=reason)


def _mean(times: FloatArray, axis: int = -1) -> Any:
    """The mean of times without their extremes, one slow launch of twenty."""
    return floors.clipped(times, axis).mean(axis=axis)


def _probability(old: Sequence[float], new: Sequence[float]) -> float:
    """Two-sided Mann-Whitney U: it assumes no distribution, and only the order counts."""
    from scipy import stats

    if max(len(old), len(new)) > _PERMUTED_UP_TO or len({*old, *new}) == len(old) + len(new):
        return float(stats.mannwhitneyu(old, new, alternative="two-sided").pvalue)
    permuted = stats.PermutationMethod(rng=np.random.default_rng(0))
    return float(stats.mannwhitneyu(old, new, alternative="two-sided", method=permuted).pvalue)


def _interval(
    old: Sequence[float], new: Sequence[float], statistic: Statistic
) -> tuple[float, float]:
    """The percentile bootstrap interval of the ratio of a statistic, with a fixed seed."""
    from scipy import stats

    if len(set(old)) == len(set(new)) == 1:
        return new[0] / old[0], new[0] / old[0]
    result: Any = stats.bootstrap(
        (np.asarray(old), np.asarray(new)),
        lambda a, b, axis: statistic(b, axis=axis) / statistic(a, axis=axis),
        vectorized=True,
        method="percentile",
        n_resamples=_RESAMPLES,
        batch=max(1, min(_RESAMPLES, _MOST_AT_ONCE // max(len(old), len(new)))),
        confidence_level=CONFIDENCE,
        rng=np.random.default_rng(0),
    )
    interval = result.confidence_interval
    return float(interval.low), float(interval.high)
