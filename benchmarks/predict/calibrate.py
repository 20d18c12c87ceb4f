"""How far models of caches and time are off on the corpus, as intervals for what they say next.

An interval is the value, moved by an offset so that a value of nothing has room as well, between
two factors. The factors leave out as many kernels at each end as a share of ``HELD`` allows, by the
order of the residuals alone (split conformal prediction, Vovk, Gammerman and Shafer 2005, section
4.2): no distribution is assumed. Of a few offsets that one is taken that gives the narrowest
intervals.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np
from benchmarks.predict.beside import HELD

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.prediction.metrics import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from benchmarks.predict.beside import Beside, Compared, Report
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Values = Mapping[str, Sequence[tuple[float, float]]]
    """By metric what was predicted and what was measured, a kernel each."""

OFFSETS: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Of the median of a metric."""
FEWEST: Final = 10
"""Kernels below which a metric gets the widest factors of those of its unit."""
DRAWS: Final = 20


def calibrated(values: Values) -> dict[str, ModelError]:
    """By metric where values lie around what is predicted for them."""
    found = {name: _spread(pairs) for name, pairs in values.items() if len(pairs) >= FEWEST}
    for name, pairs in values.items():
        unit = load_metrics()[name].unit
        alike = [each for other, each in found.items() if load_metrics()[other].unit == unit]
        if len(pairs) < FEWEST and alike:
            low, high = min(each.low for each in alike), max(each.high for each in alike)
            found[name] = ModelError(len(pairs), _offset(pairs) * OFFSETS[0], low, high)
    return dict(sorted(found.items()))


def modelled(report: Report) -> dict[str, list[tuple[float, float]]]:
    """What models said of kernels and what was measured of them."""
    return _of(report.known)


def held_elsewhere(report: Report) -> tuple[int, int]:
    """Values in their interval, and all, where it comes from other pairs alone.

    Half of the pairs, by lot and many times over, give the intervals for the other half.
    """
    groups: dict[str, list[Beside]] = defaultdict(list)
    for row in report.known:
        groups[row.kernel.name.rpartition("/")[0]].append(row)
    lots, held, every = random.Random(0), 0, 0
    for _ in range(DRAWS):
        names = lots.sample(sorted(groups), len(groups))
        seen, unseen = names[: len(names) // 2], names[len(names) // 2 :]
        spreads = calibrated(_of(row for name in seen for row in groups[name]))
        for metric, pairs in _of(row for name in unseen for row in groups[name]).items():
            every += len(pairs)
            if metric in spreads:
                held += sum(_holds(spreads[metric], *pair) for pair in pairs)
    return held, every


def to_toml(spreads: Mapping[str, ModelError]) -> str:
    """The file ``data/modelled.toml``."""
    lines = [
        "# Where a value that a model of caches or time predicts lies on a GPU: between",
        "# (value + offset) * low - offset and (value + offset) * high - offset, for 95 % of so",
        "# many kernels of the corpus on an NVIDIA H200.",
        "# Written by: python -m benchmarks.predict calibrate",
        "",
    ]
    for name, each in spreads.items():
        numbers = (f"{key} = {getattr(each, key):.3g}" for key in ("offset", "low", "high"))
        lines.append(f"{name} = {{ kernels = {each.kernels}, {', '.join(numbers)} }}")
    return "\n".join(lines) + "\n"


def _of(rows: Iterable[Beside]) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        for each in row.compared:
            if not each.counted:
                found[each.name].append(_pair(each))
    return found


def _pair(each: Compared) -> tuple[float, float]:
    return each.predicted.value, each.measured


def _holds(spread: ModelError, predicted: float, measured: float) -> bool:
    low, high = spread.around(predicted)
    return low <= measured <= high


def _spread(pairs: Sequence[tuple[float, float]]) -> ModelError:
    predicted, measured = np.array(pairs, np.float64).T
    median = _offset(pairs)

    def with_offset(part: float) -> ModelError:
        offset = float(f"{median * part:.3g}")
        low, high = _ends(np.sort((measured + offset) / (predicted + offset)))
        return ModelError(len(pairs), offset, low, high)

    def width(spread: ModelError) -> float:
        ends = np.array([spread.around(float(each)) for each in predicted])
        return float(np.mean((ends[:, 1] - ends[:, 0]) / (measured + median)))

    return min(map(with_offset, OFFSETS), key=width)


def _offset(pairs: Sequence[tuple[float, float]]) -> float:
    """The median of a metric, whichever is higher of what is predicted and measured."""
    return float(np.median([max(pair) for pair in pairs]))


def _ends(factors: Floats) -> tuple[float, float]:
    """The lowest and the highest factor after as many are left out as may be, rounded outwards.

    The prediction itself is always between them.
    """
    out = max(int((len(factors) + 1) * (1 - HELD) / 2), 1)
    low = _rounded(float(factors[out - 1]), math.floor)
    return min(low, 1.0), max(_rounded(float(factors[-out]), math.ceil), 1.0)


def _rounded(value: float, way: Callable[[float], int]) -> float:
    """To three digits that count."""
    if value == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{way(value / step) * step:.3g}")
