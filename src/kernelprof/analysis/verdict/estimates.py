"""What is shown of a gain: an estimate from the bound that rules are compared by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.groups import LAUNCH_OVERHEAD_NS

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.interval import FloatArray
    from kernelprof.analysis.rules import RuleFinding

LARGEST_GAIN: Final = 100.0
"""Estimates beyond this say no more than "far from any limit"."""

# Rules are compared by bounds, of which large ones are
# seldom reached and small ones often exceeded. Both constants are read off the planted bottlenecks
# of the corpus (H200); ``make corpus-report`` prints how many lie within the interval.
RELIABLE: Final = 2.0
"""Bound up to which the measured gains scatter around it."""
DAMPING: Final = 0.8
"""Exponent of what a bound promises beyond that."""
DECIMALS: Final = 9
"""To which estimates are rounded: powers differ in their last digits between machines."""
GAIN_RANGE: Final = (0.6, 1.7)
"""Measured gains over estimates: 78 of 93 lie between these."""


def estimate_gains(facts: Facts, bounds: FloatArray) -> FloatArray:
    """Return the factor of run time to expect of each launch, by its bound.

    No launch gets shorter than one that does nothing.
    """
    damped = RELIABLE * (np.maximum(bounds, RELIABLE) / RELIABLE) ** DAMPING
    expected = np.where(bounds > RELIABLE, damped, bounds)
    duration = facts.values("duration")
    shortest = np.where(np.isnan(duration), np.inf, duration / LAUNCH_OVERHEAD_NS)
    return np.maximum(np.minimum(expected, shortest), 1.0).round(DECIMALS)


def gain_interval(estimate: float) -> tuple[float, float]:
    """Return where four of five measured gains lie; none is below 1 but of what costs time."""
    low, high = GAIN_RANGE
    least = estimate * low
    return least if estimate < 1.0 else max(1.0, least), estimate * high


def expected_gain(facts: Facts, finding: RuleFinding) -> FloatArray:
    """Return the factor of run time to expect of each launch from the fix of a bottleneck."""
    bounds = finding.gain.low
    if finding.promise is not None:
        bounds = np.minimum(bounds, finding.promise.low)
    return np.minimum(estimate_gains(facts, bounds), LARGEST_GAIN)
