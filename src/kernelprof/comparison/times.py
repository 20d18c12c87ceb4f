"""Whether one time is longer than another: a difference has to be large and significant.

With five launches a side or more, statistics decide, over the median and over all launches
together. With fewer there is nothing to do statistics with: a difference that no two launches of
the same code ever had decides then, and one in between leaves it open. The noise floor is how far
times of the same code may lie apart: from calibration, scatter, or duration alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from msgspec import structs

from kernelprof.model.comparison import Samples, TimeChange, TimeOutcome
from kernelprof.model.numbers import quantity
from kernelprof.model.snapshot import EVENTS, PROFILER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.model.capture import FloatArray
    from kernelprof.model.snapshot import KernelSnapshot, Noise

    Statistic = Callable[..., Any]

FEWEST_SAMPLES: Final = 5
"""Of fewer launches a side not even the clearest order is significant at 1 %: with five each its
two-sided probability is 2 / C(10, 5) = 0.008."""

LEAST_FLOOR: Final = 0.005
"""Nothing smaller is concluded from two captures without calibration: where memory lies is drawn
anew in each process. Medians of five runs of ``coalesced`` of ``tests/captures/h200_changes`` lay
0.65 % apart, and in earlier captures those of ``walk``, whose launches scatter by 0.02 %, 0.3 %
(in those that are kept, 0.01 %)."""

LEAST_CALIBRATED: Final = 0.001
"""Nothing smaller is concluded with calibration, which itself is of a few captures."""

SPREADS: Final = 2.5
"""The floor in standard deviations of single launches. Medians of five processes lay at most 1.8 of
them apart, over the kernels of ``tests/captures/h200_changes``, which scatter by 0.002 to 5 %: what
one process sees of the noise is less than what several do."""

CLIPPED: Final = (5.0, 95.0)
"""Percentiles to which times are clipped for that: one slow launch of twenty does not count. Two
do: launches of some kernels fall into two groups, 0.8 % apart for ``coalesced`` there."""

CALIBRATED: Final = {3: 3.0, 4: 2.0}
ENOUGH_CALIBRATED: Final = 1.5
"""How much further apart than in the calibration medians may lie, by the number of its captures:
the largest difference of few is small by chance."""

MOST_UNLIKE: Final = 4.0
"""The floor of two captures is at most that of the calmer one times this: a candidate that scatters
must not excuse itself."""

MOST_COARSE: Final = 0.25
COARSE_AT_1_US: Final = 0.3
"""The floor of single launches falls with the root of their duration: ``0.3 / sqrt(us)``, which is
22 % at 2 us, 14 % at 4, 3 % at 100 and 0.9 % at 1 ms. In eleven processes that launched each of 15
kernels once (``tests/captures/h200_once``, 2 us to 1.1 ms), no two launches of a kernel lay further
apart, whichever processes they were of; the nearest to it, at 85 us, by 3.2 %. At most a quarter:
the shortest, of 2 us, lay 15 % apart."""

OF_SEVERAL: Final = 2.0
"""Medians of ``n`` launches, five or more, may lie ``sqrt(2 / n)`` of that apart, or what else is
more: without it, two draws of five of those eleven launches of the 2 us kernel were found to differ
once in 200 draws, and with it never."""

CLEAR: Final = 2.0
CLEAR_AT_LEAST: Final = 0.2
"""From this multiple of the floor on, and this, a difference of single launches is clear. Among
kernels that no calibration knows there are some whose launches jump: one of the five that were
profiled of ``three-blocks`` (``tests/captures/h200_changes``), 0.5 ms long, took 13 % longer."""


PREDICTED: Final = "prediction"
"""What measures a predicted time."""

CHECKED_ARCH: Final = "sm_90"
"""The only architecture whose predicted times were compared with measured ones."""

RATIO_ERROR: Final = 1.5
"""Factor by which the predicted ratio of two versions' times may be off, in either direction: holds
95 % of 30 pairs of ``cuda/pairs`` (those whose hashed names are even), and of 26 others."""

CLEARLY_PREDICTED: Final = 1.15
"""Factor from which one predicted time counts as shorter than another: so it was for all of those
pairs where the prediction says it."""


class Floor(NamedTuple):
    """The relative difference below which nothing is concluded, and where it comes from."""

    size: float
    source: str


def clear_difference(floor: float, calibrated: Noise | None = None) -> float:
    """From which difference on single launches show one for sure, by the calibration if any."""
    return CLEAR * floor if calibrated else max(CLEAR * floor, CLEAR_AT_LEAST)


def calibration(kernel: KernelSnapshot | None, measured_by: str | None) -> Noise | None:
    """The noise of a kernel's times that ``measured_by`` took, where it was calibrated."""
    noise = None if kernel is None else kernel.noise
    return noise if noise is not None and noise.how == measured_by else None


def single_launch_floor(*medians_ns: float) -> float:
    """How far single launches of the same code may lie apart, by duration; a fraction."""
    fraction = COARSE_AT_1_US / math.sqrt(min(medians_ns) / 1e3)
    return min(max(LEAST_FLOOR, fraction), MOST_COARSE)


def scatter_floor(times: Sequence[float]) -> float:
    """Return how far medians of the same code may differ, by one capture's launches; a fraction."""
    values = np.asarray(times, dtype=np.float64)
    median = float(np.median(values))
    return float(SPREADS * clip_outliers(values).std() / median) if median else 0.0


def clip_outliers(times: FloatArray, axis: int = -1) -> FloatArray:
    """Times with those beyond the percentiles :data:`CLIPPED` brought to them."""
    low, high = np.percentile(times, CLIPPED, axis=axis, keepdims=True)
    return times.clip(low, high)


def find_noise_floor(
    how: str,
    before: KernelSnapshot,
    old: Sequence[float],
    new: Sequence[float],
) -> Floor:
    """The floor for times ``old`` and ``new`` that ``how`` took."""
    # Not the candidate's own: whoever brings it could excuse anything.
    if noise := calibration(before, how):
        factor = CALIBRATED.get(noise.captures, ENOUGH_CALIBRATED)
        source = f"calibration over {noise.captures} captures"
        return Floor(max(factor * noise.floor, LEAST_CALIBRATED), source)
    least, why = LEAST_FLOOR, "the minimum without calibration"
    few, apart = (
        min(len(old), len(new)),
        single_launch_floor(float(np.median(old)), float(np.median(new))),
    )
    if few < FEWEST_SAMPLES:
        least = apart
        why = "largest difference expected between single launches of this duration"
    elif (smaller := apart * math.sqrt(OF_SEVERAL / few)) > least:
        least = smaller
        why = f"largest difference expected between medians of {few} launches of this duration"
    calm, wild = sorted((scatter_floor(old), scatter_floor(new)))
    scattered = min(wild, MOST_UNLIKE * max(calm, least))
    if few < FEWEST_SAMPLES:
        # Two launches that lie far apart say little of how far others do.
        scattered = min(scattered, MOST_COARSE)
    if scattered > least:
        least, why = scattered, f"scatter of the launch times measured by {how}"
    return Floor(least, why)


_PERMUTED_UP_TO: Final = 7
"""Up to so many launches a side the probability comes from permutations: ties are common, since
timers tick, and the approximation for ties is for larger samples. All of them are counted."""

ALPHA: Final = 0.01
CONFIDENCE: Final = 0.95

_RESAMPLES: Final = 2000
_HALVINGS: Final = 20
_MOST_AT_ONCE: Final = 4_000_000
"""Resampled times that are held at a time, 32 MB of them."""

SHORTEST_NS: Final = 100.0
LONGEST_NS: Final = 1e14
"""What a launch can take: an empty kernel takes about a microsecond, and a day is long."""

WORLDS_APART: Final = 10.0
"""By which factor the profiler's time of a launch may differ from that between CUDA events. Caches
that it empties and launches that it serializes made at most 1.35 in the 253 recorded captures of
the ladder and the corpus (``recorded`` in ``src/kernelprof`` and ``benchmarks/corpus``)."""

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
        if doubt := _find_implausible_time(side):
            return TimeChange(TimeOutcome.NOT_MEASURED, side.measured_by, reason=doubt)
    changes = {
        how: _compare_medians(how, before, old, new)
        for how, old, new in (
            (EVENTS, before.events_ns, after.events_ns),
            (PROFILER, before.profiled_ns, after.profiled_ns),
        )
        if old and new
    }
    if len(changes) == 2:
        return _reconcile_clocks(changes[EVENTS], changes[PROFILER])
    for change in changes.values():
        return change
    if not (before.median_ns and after.median_ns):
        return TimeChange(TimeOutcome.NOT_MEASURED, reason="one or both times are missing")
    return TimeChange(
        TimeOutcome.NOT_ENOUGH_SAMPLES,
        before_ns=before.median_ns,
        after_ns=after.median_ns,
        ratio=after.median_ns / before.median_ns,
        reason="times of individual launches are missing for one or both versions",
    )


def _find_implausible_time(side: KernelSnapshot) -> str | None:
    # Why the times of a side cannot be those of its launches; `None` where they can
    for each in (*side.events_ns, *side.profiled_ns):
        if not SHORTEST_NS <= each <= LONGEST_NS:
            return f"{each:.3g} ns is not a plausible launch time"
    if side.contradiction is not None:
        return side.contradiction
    if not (side.events_ns and side.profiled_ns):
        return None
    events, profiled = (float(np.median(times)) for times in (side.events_ns, side.profiled_ns))
    apart = max(events, profiled) / min(events, profiled)
    if apart <= WORLDS_APART or abs(events - profiled) <= LAUNCH_NS:
        return None
    return (
        f"the times contradict each other: {quantity(events, 'ns')} by CUDA events and "
        f"{quantity(profiled, 'ns')} by the profiler"
    )


def _reconcile_clocks(events: TimeChange, profiled: TimeChange) -> TimeChange:
    # The change by events, if what the profiler saw of it can be the same change
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
        f"the time changed by a factor of {events.ratio:.3g} according to CUDA events, but "
        f"by {profiled.ratio:.3g} according to the profiler"
    )
    return structs.replace(events, outcome=TimeOutcome.UNDECIDED, reason=reason)


def _compare_medians(
    how: str, side: KernelSnapshot, old: Sequence[float], new: Sequence[float]
) -> TimeChange:
    floor = find_noise_floor(how, side, old, new)
    before, after = float(np.median(old)), float(np.median(new))
    change = TimeChange(
        TimeOutcome.SAME,
        how,
        before_ns=before,
        after_ns=after,
        ratio=after / before,
        noise_floor=floor.size,
        noise_floor_from=floor.source,
        samples=Samples(len(old), len(new)),
    )
    scaled = np.asarray(new) * (before / after)
    least = find_noise_floor(how, side, old, scaled.tolist()).size
    if change.samples.fewer < FEWEST_SAMPLES:
        together = float(np.mean(new)) / float(np.mean(old))
        noise = calibration(side, how)
        change = structs.replace(change, smallest_detectable=clear_difference(least, noise))
        return _judge_few(change, together, floor.size, clear_difference(floor.size, noise))
    p, (low, high) = _mann_whitney_p(old, new), _bootstrap_interval(old, new, np.median)
    least = _find_smallest_detectable(old, scaled, least, after / before / low - 1)
    change = structs.replace(change, ratio_low=low, ratio_high=high, p=p, smallest_detectable=least)
    if abs(after / before - 1) > floor.size:
        decided = p < ALPHA and not low <= 1 <= high
        change = structs.replace(change, outcome=_direction(after / before, decided=decided))
    return _judge_all_launches(change, old, new, floor.size)


def _find_smallest_detectable(
    old: Sequence[float], new: FloatArray, floor: float, beyond_interval: float
) -> float:
    # The least fraction by which launches `new`, of the same median, are found slower if all are
    least = max(floor, beyond_interval)
    if _mann_whitney_p(old, new * (1 + least)) >= ALPHA:
        low, least = least, max(old) / float(new.min())  # all are slower than each of the others
        for _ in range(_HALVINGS):
            middle = (low + least) / 2
            if _mann_whitney_p(old, new * (1 + middle)) < ALPHA:
                least = middle
            else:
                low = middle
    clipped = [clip_outliers(np.asarray(times)) for times in (old, new)]
    together = float(clipped[1].mean() / clipped[0].mean()) * (1 + least)
    error = math.hypot(*(x.std() / x.mean() / math.sqrt(len(x)) for x in clipped))
    # Resampling takes seconds for many launches, and its interval is wider than this
    if max(together * (1 - error), 1 / (together * (1 + error))) > 1 + floor:
        low, high = _bootstrap_interval(old, new, _clipped_mean)
        least = max(least, 1 / (high * (1 + floor)) - 1)
        least = max(min(least, (1 + floor) / low - 1), 0.0)
    return least


def _direction(ratio: float, *, decided: bool) -> TimeOutcome:
    if not decided:
        return TimeOutcome.UNDECIDED
    return TimeOutcome.SLOWER if ratio > 1 else TimeOutcome.FASTER


def _judge_few(change: TimeChange, together: float, floor: float, sure: float) -> TimeChange:
    # Single launches: within the floor of such ones, clearly beyond it, or in between
    assert change.ratio is not None
    apart = max(change.ratio, 1 / change.ratio) - 1
    if together > 1 + floor and change.ratio <= 1 + floor:
        reason = (
            f"the median launch time is {change.ratio:.3g} times as long as before, but the "
            f"mean is {together:.3g} times as long"
        )
        return structs.replace(change, outcome=TimeOutcome.UNDECIDED, reason=reason)
    if apart <= floor:
        return change
    outcome = _direction(change.ratio, decided=apart > sure)
    reason = ""
    if outcome is TimeOutcome.UNDECIDED:
        reason = (
            f"with so few launches ({change.samples.before} and {change.samples.after}), only "
            f"differences of {100 * sure:.2g} % or more are reliable"
        )
    return structs.replace(change, outcome=outcome, reason=reason)


def _judge_all_launches(
    change: TimeChange, old: Sequence[float], new: Sequence[float], floor: float
) -> TimeChange:
    # The change of the median, unless all launches together, or the slow ones, say otherwise. The
    # median stands still where not quite half of the launches got slower
    before, after = (float(_clipped_mean(np.asarray(times))) for times in (old, new))
    ratio = after / before
    together = TimeOutcome.SAME
    low = high = ratio
    if max(ratio, 1 / ratio) - 1 > floor:
        low, high = _bootstrap_interval(old, new, _clipped_mean)
        beyond = low > 1 + floor or high < 1 / (1 + floor)
        together = _direction(ratio, decided=beyond)
    if together in _DIFFERENT and change.outcome in {TimeOutcome.SAME, TimeOutcome.UNDECIDED}:
        return structs.replace(
            change,
            outcome=together,
            statistic="mean",
            before_ns=before,
            after_ns=after,
            ratio=ratio,
            ratio_low=low,
            ratio_high=high,
            reason="the times are means of all launches; the median changed by a factor of "
            f"{change.ratio:.3g}",
        )
    if {together, change.outcome} == _DIFFERENT:
        reason = (
            f"the median launch time is {change.ratio:.3g} times as long as before, but the "
            f"mean is {ratio:.3g} times as long"
        )
        return structs.replace(change, outcome=TimeOutcome.UNDECIDED, reason=reason)
    if together is TimeOutcome.UNDECIDED and ratio > 1 and change.outcome is not TimeOutcome.SLOWER:
        reason = (
            f"the mean launch time is {ratio:.3g} times as long as before (95 % interval "
            f"{low:.3g} to {high:.3g})"
        )
        return structs.replace(change, outcome=TimeOutcome.UNDECIDED, reason=reason)
    return _judge_slowest(change, old, new, floor)


_DIFFERENT: Final = {TimeOutcome.FASTER, TimeOutcome.SLOWER}


def _judge_slowest(
    change: TimeChange, old: Sequence[float], new: Sequence[float], floor: float
) -> TimeChange:
    # The change, unless the slowest tenth got clearly slower while all together did not
    from scipy import stats

    if change.outcome not in {TimeOutcome.SAME, TimeOutcome.FASTER}:
        return change
    ratio = float(np.percentile(new, TAIL) / np.percentile(old, TAIL))
    if ratio <= 1 + CLEAR * floor:
        return change
    if stats.ks_2samp(old, new, method="asymp").pvalue >= ALPHA:
        return change
    reason = f"the launch times' 90th percentile is {ratio:.3g} times as large as before"
    return structs.replace(change, outcome=TimeOutcome.UNDECIDED, reason=reason)


def _clipped_mean(times: FloatArray, axis: int = -1) -> Any:
    # The mean of times without their extremes, one slow launch of twenty
    return clip_outliers(times, axis).mean(axis=axis)


def _mann_whitney_p(old: Sequence[float], new: Sequence[float] | FloatArray) -> float:
    # Two-sided Mann-Whitney U: it assumes no distribution, and only the order counts
    from scipy import stats

    if max(len(old), len(new)) > _PERMUTED_UP_TO or len({*old, *new}) == len(old) + len(new):
        return float(stats.mannwhitneyu(old, new, alternative="two-sided").pvalue)
    permuted = stats.PermutationMethod(rng=np.random.default_rng(0))
    return float(stats.mannwhitneyu(old, new, alternative="two-sided", method=permuted).pvalue)


def _bootstrap_interval(
    old: Sequence[float], new: Sequence[float] | FloatArray, statistic: Statistic
) -> tuple[float, float]:
    # The percentile bootstrap interval of the ratio of a statistic, with a fixed seed
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


def predicted_time_change(
    before: KernelSnapshot, after: KernelSnapshot, apart: str | None = None
) -> TimeChange:
    """Compare the predicted times of two versions; ``apart`` says why they are not comparable.

    :data:`CLEARLY_PREDICTED` decides the outcome; the interval of the ratio is by
    :data:`RATIO_ERROR`.
    """
    old, new = before.predicted_ns, after.predicted_ns
    if apart is None and not (old and new):
        apart = "only one version has a predicted time" if old or new else "no time was predicted"
    if apart is None and after.arch != CHECKED_ARCH:
        apart = f"predicted times are compared for {CHECKED_ARCH} only"
    if apart is not None or not old or not new:
        return TimeChange(TimeOutcome.NOT_MEASURED, reason=apart or "")
    ratio = new / old
    outcome = TimeOutcome.UNDECIDED
    if ratio >= CLEARLY_PREDICTED:
        outcome = TimeOutcome.SLOWER
    elif ratio <= 1 / CLEARLY_PREDICTED:
        outcome = TimeOutcome.FASTER
    return TimeChange(
        outcome,
        measured_by=PREDICTED,
        before_ns=old,
        after_ns=new,
        ratio=ratio,
        ratio_low=ratio / RATIO_ERROR,
        ratio_high=ratio * RATIO_ERROR,
    )
