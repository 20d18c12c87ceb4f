"""Times of launches as figures that can be compared: median, spread, confidence interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kernelprof.model.manifest import TimingFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = 0.95


def timing_facts(
    times_ns: Sequence[float],
    *,
    warm_up: int,
    flops: float | None = None,
    min_bytes: float | None = None,
) -> TimingFacts:
    """The facts of a measurement of one launch or more, in nanoseconds.

    The confidence interval of the median comes from order statistics (``scipy.stats
    .quantile_test``): times are skewed, and nothing is assumed of their distribution. Five launches
    and fewer have none at 95 %.
    """
    import numpy as np
    from scipy import stats

    times = np.asarray(times_ns, dtype=np.float64)
    test = stats.quantile_test(times, q=float(np.median(times)), p=0.5)
    interval: Any = test.confidence_interval(confidence_level=CONFIDENCE)
    return TimingFacts(
        launches=len(times),
        warm_up=warm_up,
        median_ns=float(np.median(times)),
        low_ns=float(times.min()),
        high_ns=float(times.max()),
        confidence_low_ns=_known(interval.low),
        confidence_high_ns=_known(interval.high),
        times_ns=tuple(float(each) for each in times),
        flops=flops,
        min_bytes=min_bytes,
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
