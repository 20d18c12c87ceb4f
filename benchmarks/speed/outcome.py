"""What was measured, and what is made of it: medians, ratios, and whether a target is met."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.speed.timing import Run


class Figure(Enum):
    """What is looked at; the values are the names in the JSON."""

    PROCESS = "process_s"
    CALL = "call_s"
    PEAK = "peak_bytes"


class Unit(Enum):
    """What a target's value is counted in."""

    RATIO = "x"
    SECONDS = "s"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A figure of one contestant."""

    who: str
    figure: Figure = Figure.PROCESS


@dataclass(frozen=True, slots=True)
class Target:
    """``of / (per * times)`` and its limit."""

    what: str
    limit: float
    of: Quantity
    per: Quantity | None = None
    times: float = 1.0
    unit: Unit = Unit.RATIO
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """All runs of a contestant, or why there are none."""

    name: str
    version: str = ""
    runs: tuple[Run, ...] = ()
    absent: str = ""

    def figure(self, figure: Figure) -> float | None:
        """The median over the runs."""
        values = [getattr(run, figure.value) for run in self.runs]
        known = [float(value) for value in values if value is not None]
        return median(known) if known else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A case after its runs."""

    name: str
    title: str
    measured: tuple[Measured, ...]
    targets: tuple[Target, ...] = ()
    bases: tuple[Quantity, ...] = ()
    """What every contestant is compared with."""
    file_bytes: int | None = None
    """What peaks of memory are compared with."""

    def value(self, quantity: Quantity) -> float | None:
        """A figure of a contestant, if it was measured."""
        found = (each for each in self.measured if each.name == quantity.who)
        return next((each.figure(quantity.figure) for each in found), None)

    def against(self, measured: Measured, base: Quantity) -> float | None:
        """How many times the base a contestant takes: call by call, where it has a call."""
        own = measured.figure(base.figure)
        if own is None and base.figure is Figure.CALL:
            own = measured.figure(Figure.PROCESS)
        return _ratio(own, self.value(base))

    def reached(self, target: Target) -> float | None:
        """A target's value, if everything that it needs was measured."""
        per = 1.0 if target.per is None else self.value(target.per)
        return _ratio(self.value(target.of), None if per is None else per * target.times)

    def met(self, target: Target) -> bool | None:
        """Whether the target is met; None where that is not known."""
        value = self.reached(target)
        if value is None:
            return None
        return value >= target.limit if target.at_least else value <= target.limit


def _ratio(of: float | None, per: float | None) -> float | None:
    return None if of is None or not per else of / per
