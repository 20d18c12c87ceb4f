"""The unit of rates: one for the whole report of a climb, so that its rows can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.ladder.results import ceiling_rate, gflops, peak_gflops
from kernelprof.model.numbers import number

if TYPE_CHECKING:
    from kernelprof.ladder.results import Climb
    from kernelprof.model.manifest import TimingFacts

MOST_GFLOPS: Final = 100_000.0
"""The largest rate that is given in GFLOP/s; beyond it a number would have six digits."""


@dataclass(frozen=True, slots=True)
class RateUnit:
    """A unit with its size in GFLOP/s; a ``whole`` one is given without fractions."""

    name: str
    gflops: float
    whole: bool

    def of(self, rate: float) -> float:
        """A rate in GFLOP/s in this unit."""
        return rate / self.gflops

    def number(self, rate: float) -> str:
        """A rate in GFLOP/s as a number without its unit: ``50,152``, ``812.3``."""
        return number(round(self.of(rate)) if self.whole else self.of(rate))

    def text(self, rate: float) -> str:
        """The same with the unit."""
        return f"{self.number(rate)} {self.name}"

    def cell(self, timing: TimingFacts | None) -> str:
        """What was timed, without the unit; a dash where nothing was."""
        rate = gflops(timing)
        return "-" if rate is None else self.number(rate)


GIGA: Final = RateUnit("GFLOP/s", 1.0, whole=True)
TERA: Final = RateUnit("TFLOP/s", 1e3, whole=False)


def rate_unit(climb: Climb) -> RateUnit:
    """The unit that fits the largest rate which the report gives, a peak among them.

    Beside cuBLAS at several sizes it is TFLOP/s in any case: there rungs are for tensor cores.
    """
    rates = [gflops(rung.timing) for rung in climb.rungs]
    rates += [ceiling_rate(climb), peak_gflops(climb.surroundings, climb.product)]
    largest = max((rate for rate in rates if rate is not None), default=0.0)
    return TERA if climb.measured_sizes or largest > MOST_GFLOPS else GIGA
