"""What is said of a gain: an estimate, and the interval in which four of five gains came out.

Rules are compared by bounds: what removing a bottleneck brings at most. Large bounds are seldom
reached, small ones often exceeded by a fix that brings something else along, so what is shown is an
estimate. Both constants are read off the planted bottlenecks of the corpus (H200), whose gains
were measured; ``make corpus-report`` prints how many lie within the interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.waiting import LAUNCH_OVERHEAD_NS

if TYPE_CHECKING:
    import numpy.typing as npt

    from kernelprof.analysis.metrics.facts import Facts

    FloatArray = npt.NDArray[np.float64]

RELIABLE: Final = 2.0
"""Bound up to which the measured gains scatter around it."""
DAMPING: Final = 0.8
"""Exponent of what a bound promises beyond that."""
SPREAD: Final = (0.6, 1.7)
"""Measured gains over estimates: 79 of 92 lie between these."""


def estimates(facts: Facts, bounds: FloatArray) -> FloatArray:
    """The factor of run time to expect of each launch, by its bound.

    No launch gets shorter than one that does nothing.
    """
    damped = RELIABLE * (np.maximum(bounds, RELIABLE) / RELIABLE) ** DAMPING
    expected = np.where(bounds > RELIABLE, damped, bounds)
    duration = facts.values("duration")
    shortest = np.where(np.isnan(duration), np.inf, duration / LAUNCH_OVERHEAD_NS)
    return np.maximum(np.minimum(expected, shortest), 1.0)


def interval(estimate: float) -> tuple[float, float]:
    """Where four of five measured gains lie; no gain is below 1."""
    low, high = SPREAD
    return max(1.0, estimate * low), estimate * high
