"""Which of several metrics is the highest, launch by launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from kernelprof.analysis.metrics.facts import Facts

    IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Named:
    """One of a few names for each launch: that of row ``r`` is ``names[codes[r]]``."""

    names: tuple[str, ...]
    codes: IntArray

    def __getitem__(self, row: int) -> str:
        name: str = self.names[self.codes[row]]
        return name

    def called(self, call: Callable[[str], str]) -> Named:
        """The same with what people call each of them."""
        return Named(tuple(call(name) for name in self.names), self.codes)


def highest(facts: Facts, ceilings: Mapping[str, float]) -> tuple[Named, Interval]:
    """The percentage that is the largest against its ceiling, and its value as the capture has it.

    The first of them where a launch has none; its value is then anything from 0 to 100.
    """
    names = tuple(ceilings)
    values = np.vstack([facts.values(name) for name in names])
    shares = values / np.array(list(ceilings.values()))[:, None]
    first = np.where(np.isnan(shares), -1.0, shares).argmax(axis=0)
    shown = values[first, np.arange(facts.count)]
    missing = np.isnan(shown)
    low, high = np.where(missing, 0.0, shown), np.where(missing, 100.0, shown)
    return Named(names, first), Interval(low, high)
