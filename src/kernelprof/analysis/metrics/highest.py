"""Which of several metrics is the highest, launch by launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.analysis.metrics.facts import Facts


def highest(facts: Facts, ceilings: Mapping[str, float]) -> tuple[tuple[str, ...], Interval]:
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
    return tuple(names[each] for each in first), Interval(low, high)
