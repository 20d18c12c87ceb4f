"""Where values of models of caches and time lie on a GPU, from ``data/modelled.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = Path(__file__).parents[1] / "data" / "modelled.toml"


@dataclass(frozen=True, slots=True)
class ModelError:
    """How far a metric's predictions are off: 95 % of ``kernels`` lie between two factors.

    They are of values to which ``offset`` is added, in the unit of the metric, so that a value that
    is predicted to be nothing has room as well.
    """

    kernels: int
    offset: float
    low: float
    high: float

    def around(self, value: float) -> tuple[float, float]:
        """The lowest and the highest that a predicted value can be."""
        moved = value + self.offset
        low, high = (moved * each - self.offset for each in (self.low, self.high))
        return min(max(low, 0.0), value), max(high, value)  # a factor of 1 may round


@cache
def spreads() -> Mapping[str, ModelError]:
    """By canonical name; a metric that was never compared with a measurement has none."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return MappingProxyType({name: ModelError(**each) for name, each in tables.items()})
