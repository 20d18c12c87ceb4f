"""Prices of options (Black and Scholes)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def _between(low: float, high: float, shape: tuple[int, ...]) -> Array:
    return np.random.default_rng(int(high)).uniform(low, high, shape)


def prices(shape: tuple[int, ...]) -> Array:
    """Of stocks."""
    return _between(5, 30, shape)


def strikes(shape: tuple[int, ...]) -> Array:
    """Of options."""
    return _between(1, 100, shape)


def years(shape: tuple[int, ...]) -> Array:
    """Until they end."""
    return _between(0.25, 10, shape)


def _normal(x: Array) -> Array:
    """The normal distribution (Abramowitz and Stegun, 26.2.17)."""
    k = 1 / (1 + 0.2316419 * np.abs(x))
    series = np.polynomial.polynomial.polyval(
        k, [0, 0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429]
    )
    tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * series
    result: Array = np.where(x > 0, 1 - tail, tail)
    return result


def expected(
    d_StockPrice: Array,
    d_OptionStrike: Array,
    d_OptionYears: Array,
    Riskfree: float,
    Volatility: float,
) -> tuple[Array, Array]:
    """Of calls and of puts."""
    spread = Volatility * np.sqrt(d_OptionYears)
    first = np.log(d_StockPrice / d_OptionStrike) + (Riskfree + Volatility**2 / 2) * d_OptionYears
    first /= spread
    paid = d_OptionStrike * np.exp(-Riskfree * d_OptionYears)
    call = d_StockPrice * _normal(first) - paid * _normal(first - spread)
    return call, paid * (1 - _normal(first - spread)) - d_StockPrice * (1 - _normal(first))
