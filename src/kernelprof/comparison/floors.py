"""How far times of the same code may lie apart: from calibration, scatter, or duration alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.capture import FloatArray
    from kernelprof.model.snapshot import KernelSnapshot, Noise

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


class Floor(NamedTuple):
    """The relative difference below which nothing is concluded, and where it comes from.

    ``sure`` is from which difference on single launches show one for sure.
    """

    size: float
    source: str
    sure: float


def clear(floor: float) -> float:
    """From which difference on single launches show one where no calibration knows the kernel."""
    return max(CLEAR * floor, CLEAR_AT_LEAST)


def coarse(*medians_ns: float) -> float:
    """How far single launches of the same code may lie apart, by duration; a fraction."""
    found = COARSE_AT_1_US / math.sqrt(min(medians_ns) / 1e3)
    return min(max(LEAST_FLOOR, found), MOST_COARSE)


def scatter(times: Sequence[float]) -> float:
    """How far medians of the same code may lie apart, by the launches of one capture; a fraction.

    :data:`SPREADS` standard deviations of the times, clipped to the percentiles :data:`CLIPPED`.
    """
    values = np.asarray(times, dtype=np.float64)
    median = float(np.median(values))
    return float(SPREADS * clipped(values).std() / median) if median else 0.0


def clipped(times: FloatArray, axis: int = -1) -> FloatArray:
    """Times with those beyond the percentiles :data:`CLIPPED` brought to them."""
    low, high = np.percentile(times, CLIPPED, axis=axis, keepdims=True)
    return times.clip(low, high)


def floor_of(
    how: str,
    before: KernelSnapshot,
    old: Sequence[float],
    new: Sequence[float],
) -> Floor:
    """The floor for times ``old`` and ``new`` that ``how`` took."""
    # Not the candidate's own: whoever brings it could excuse anything.
    noise = before.noise
    if noise is not None and noise.how == how:
        return _calibrated(noise)
    least, why = LEAST_FLOOR, "the least that is concluded from two captures"
    few, apart = min(len(old), len(new)), coarse(float(np.median(old)), float(np.median(new)))
    if few < FEWEST_SAMPLES:
        least, why = apart, "what single launches as long as these differ by"
    elif (smaller := apart * math.sqrt(OF_SEVERAL / few)) > least:
        least, why = smaller, f"what {few} launches as long as these differ by"
    calm, wild = sorted((scatter(old), scatter(new)))
    spread = min(wild, MOST_UNLIKE * max(calm, least))
    if few < FEWEST_SAMPLES:
        # Two launches that lie far apart say little of how far others do.
        spread = min(spread, MOST_COARSE)
    if spread > least:
        least, why = spread, f"scatter of the launches by {how}"
    return Floor(least, why, clear(least))


def _calibrated(noise: Noise) -> Floor:
    factor = CALIBRATED.get(noise.captures, ENOUGH_CALIBRATED)
    floor = max(factor * noise.floor, LEAST_CALIBRATED)
    return Floor(floor, f"calibration over {noise.captures} captures", CLEAR * floor)
