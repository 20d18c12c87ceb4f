"""Which rule wins each launch, and whether the evidence decides it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from kernelprof.analysis.metrics.interval import Truth
    from kernelprof.analysis.rules import Finding

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]
    IntArray = npt.NDArray[np.intp]

AT_LIMIT = 0.80
"""Saturation from which a unit without needless work counts as full: Nsight Compute's SOLBottleneck
rule (2025.3) speaks of more than 80 % of the device's performance."""

LEAST_GAIN = 1.05
"""Smallest factor worth a name. Launches of the same code differ by up to 0.3 % in our captures
(``tests/captures/gemm_series.same-code-13x.raw.csv``) and the estimates by more."""

SUBSTITUTE_ERROR = 0.02
"""Relative difference that counters of one quantity under different names can make to a gain; the
largest in ``tests/captures`` is 1.1 % (issue slots by issued and by executed instructions)."""

NEAR_TIE = 1.10
"""Ratio of two estimated gains within which the evidence does not tell them apart. Issue slots and
L1 of the tiled GEMMs that are not unrolled differ by 1 % to 7 %."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The outcome over all launches; ``rules`` names the rows of ``low`` and ``high``.

    ``winner`` is the row of the first rule, ``decided`` where no value that a missing metric could
    have would change it, ``at_limit`` where the winner's unit is full of needed work,
    ``unexplained`` where a unit that no rule follows is the busiest.
    """

    rules: tuple[str, ...]
    low: FloatArray
    high: FloatArray
    winner: IntArray
    decided: BoolArray
    at_limit: BoolArray
    unexplained: BoolArray

    def candidates(self, row: int) -> list[int]:
        """Rules that could still be the first in this launch, the likeliest first."""
        threshold = max(self.low[:, row].max(), LEAST_GAIN)
        could = [r for r in range(len(self.rules)) if self.high[r, row] >= threshold]
        return sorted(could, key=lambda r: (-self.low[r, row], -self.high[r, row], r))

    def runners_up(self, row: int) -> list[int]:
        """Rules that the evidence does not tell apart from the winner, the nearest first."""
        first = self.winner[row]
        bar = max(LEAST_GAIN, self.low[first, row] / NEAR_TIE)
        near = [r for r in range(len(self.rules)) if r != first and self.high[r, row] >= bar]
        return sorted(near, key=lambda r: (-self.high[r, row], r))


def choose(findings: Mapping[str, Finding], unexplained: Truth, substituted: BoolArray) -> Choice:
    """Compare the rules' gains launch by launch.

    ``findings`` stands in the order that settles exact ties; ``unexplained`` says where a part of
    the machine that no rule follows may be the limit, which nothing can be decided over, and
    ``substituted`` where counters stand in that may differ from the first choice by a little.

    The winner has the largest gain that is certain; it is decided where even the largest gain that
    each other rule could have is smaller.
    """
    low = np.vstack([finding.gain.low for finding in findings.values()])
    high = np.vstack([finding.gain.high for finding in findings.values()])
    winner = low.argmax(axis=0)
    columns = np.arange(low.shape[1])
    best = low[winner, columns]
    order = np.arange(low.shape[0])[:, None]
    clear = np.where(substituted, best * (1.0 - SUBSTITUTE_ERROR), best)
    beaten = (high < clear) | ((high == best) & (order > winner)) | (order == winner)
    decided = beaten.all(axis=0)

    at_limit = np.zeros(low.shape[1], dtype=np.bool_)
    for row, finding in enumerate(findings.values()):
        if finding.saturation is None:
            continue
        full = finding.saturation >= AT_LIMIT
        mine = winner == row
        decided = decided & ~(mine & (full.sure != full.maybe))
        at_limit = at_limit | (mine & full.sure)
    # A rule that promises nothing names nothing; known only where its gain is.
    worthless = high[winner, columns] < LEAST_GAIN
    unclear = (best < LEAST_GAIN) & ~worthless & ~at_limit
    at_a_unit = np.array([finding.saturation is not None for finding in findings.values()])
    nothing_to_name = worthless & ~at_a_unit[winner]
    decided = decided & ~unclear & ~nothing_to_name
    decided = decided & ~unexplained.maybe
    return Choice(tuple(findings), low, high, winner, decided, at_limit, unexplained.sure)
