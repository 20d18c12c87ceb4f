"""Whether one time is longer than another: a difference has to be large and significant."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.model.comparison import TimeChange, TimeOutcome
from kernelprof.model.snapshot import EVENTS, PROFILER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.snapshot import KernelSnapshot

FEWEST_SAMPLES: Final = 5
"""Of fewer launches a side not even the clearest order is significant at :data:`ALPHA`: with five
each its two-sided probability is 2 / C(10, 5) = 0.008."""

_PERMUTED_UP_TO: Final = 7
"""Up to so many launches a side the probability comes from permutations: ties are common, since
timers tick, and the approximation for ties is for larger samples. All of them are counted."""

ALPHA: Final = 0.01
CONFIDENCE: Final = 0.95

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

_RESAMPLES: Final = 2000


def time_change(
    before: KernelSnapshot, after: KernelSnapshot, not_comparable: str | None
) -> TimeChange:
    """Times of one kernel before and after; like is compared with like, events before profiler."""
    if not_comparable:
        return TimeChange(TimeOutcome.NOT_COMPARABLE, reason=not_comparable)
    pairs = (
        (EVENTS, before.events_ns, after.events_ns),
        (PROFILER, before.profiled_ns, after.profiled_ns),
    )
    for how, old, new in pairs:
        if old and new:
            if not all(0 < each < math.inf for each in (*old, *new)):
                return TimeChange(TimeOutcome.NOT_MEASURED, how, reason="a time is no time")
            return _measured(how, old, new, *_floor(how, before, after, old, new))
    if not (before.median_ns and after.median_ns):
        return TimeChange(TimeOutcome.NOT_MEASURED, reason="one side has no time")
    return TimeChange(
        TimeOutcome.NOT_ENOUGH_SAMPLES,
        before_ns=before.median_ns,
        after_ns=after.median_ns,
        ratio=after.median_ns / before.median_ns,
        reason="one side has no times of single launches",
    )


def scatter(times: Sequence[float]) -> float:
    """How far medians of the same code may lie apart, by the launches of one capture; a fraction.

    :data:`SPREADS` standard deviations of the times, clipped to the percentiles :data:`CLIPPED`.
    """
    values = np.asarray(times, dtype=np.float64)
    low, median, high = np.percentile(values, (CLIPPED[0], 50, CLIPPED[1]))
    return float(SPREADS * values.clip(low, high).std() / median) if median else 0.0


def _floor(
    how: str,
    before: KernelSnapshot,
    after: KernelSnapshot,
    old: Sequence[float],
    new: Sequence[float],
) -> tuple[float, str]:
    noise = before.noise or after.noise
    if noise is not None and noise.how == how:
        factor = CALIBRATED.get(noise.captures, ENOUGH_CALIBRATED)
        return (
            max(factor * noise.floor, LEAST_CALIBRATED),
            f"calibration over {noise.captures} captures",
        )
    calm, wild = sorted((scatter(old), scatter(new)))
    spread = min(wild, MOST_UNLIKE * max(calm, LEAST_FLOOR))
    if spread > LEAST_FLOOR:
        return spread, f"scatter of the launches by {how}"
    return LEAST_FLOOR, "the least that is concluded from two captures"


def _measured(
    how: str, old: Sequence[float], new: Sequence[float], floor: float, floor_from: str
) -> TimeChange:
    before, after = float(np.median(old)), float(np.median(new))
    ratio = after / before
    few = TimeChange(
        TimeOutcome.NOT_ENOUGH_SAMPLES,
        how,
        before_ns=before,
        after_ns=after,
        ratio=ratio,
        samples=(len(old), len(new)),
        reason=f"{len(old)} and {len(new)} launches, and {FEWEST_SAMPLES} each are needed",
    )
    if min(few.samples) < FEWEST_SAMPLES:
        return few
    p, (low, high) = _probability(old, new), _interval(old, new)
    if abs(ratio - 1) <= floor:
        outcome = TimeOutcome.SAME
    elif p >= ALPHA or low <= 1 <= high:
        outcome = TimeOutcome.UNDECIDED
    else:
        outcome = TimeOutcome.SLOWER if ratio > 1 else TimeOutcome.FASTER
    found = replace(few, outcome=outcome, low=low, high=high, p=p, reason="")
    return replace(found, floor=floor, floor_from=floor_from)


def _probability(old: Sequence[float], new: Sequence[float]) -> float:
    """Two-sided Mann-Whitney U: it assumes no distribution, and only the order counts."""
    from scipy import stats

    if max(len(old), len(new)) > _PERMUTED_UP_TO or len({*old, *new}) == len(old) + len(new):
        return float(stats.mannwhitneyu(old, new, alternative="two-sided").pvalue)
    permuted = stats.PermutationMethod(rng=np.random.default_rng(0))
    return float(stats.mannwhitneyu(old, new, alternative="two-sided", method=permuted).pvalue)


def _interval(old: Sequence[float], new: Sequence[float]) -> tuple[float, float]:
    """The percentile bootstrap interval of the ratio of medians, with a fixed seed."""
    from scipy import stats

    if len(set(old)) == len(set(new)) == 1:
        return new[0] / old[0], new[0] / old[0]
    result: Any = stats.bootstrap(
        (np.asarray(old), np.asarray(new)),
        lambda a, b, axis: np.median(b, axis=axis) / np.median(a, axis=axis),
        vectorized=True,
        method="percentile",
        n_resamples=_RESAMPLES,
        confidence_level=CONFIDENCE,
        rng=np.random.default_rng(0),
    )
    interval = result.confidence_interval
    return float(interval.low), float(interval.high)
