"""Quotes of an option chain and the volatilities that they imply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

SPOT = 100.0
RATE = 0.02


def strikes(STRIKES: int) -> Array:  # noqa: N803
    """Strikes around the price of the share."""
    return np.random.default_rng(31).uniform(85.0, 118.0, STRIKES)


def expiries(STRIKES: int) -> Array:  # noqa: N803
    """Half a year to two years."""
    return np.random.default_rng(32).uniform(0.5, 2.0, STRIKES)


def prices(STRIKES: int) -> Array:  # noqa: N803
    """What a call and a put cost at volatilities of 20 % to 60 %."""
    sigma = np.random.default_rng(33).uniform(0.2, 0.6, STRIKES)
    strike = strikes(STRIKES).astype(np.float32).astype(np.float64)
    years = expiries(STRIKES).astype(np.float32).astype(np.float64)
    return np.stack(_values(strike, years, sigma)[:2], axis=1)


def implied(strike: Array, years: Array, price: Array) -> Array:
    """Newton's method on the prices of calls and puts."""
    sigmas = []
    for side in range(2):
        sigma = np.full(strike.shape, 0.5)
        for _ in range(30):
            *value, vega = _values(strike, years, sigma)
            sigma = np.maximum(sigma + (price[:, side] - value[side]) / vega, 0.01)
        sigmas.append(sigma)
    return np.stack(sigmas, axis=1)


def _values(strike: Array, years: Array, sigma: Array) -> tuple[Array, Array, Array]:
    """The prices of call and put, and how fast both rise with the volatility."""
    width = sigma * np.sqrt(years)
    d = (np.log(SPOT / strike) + RATE * years) / width + 0.5 * width
    discounted = strike * np.exp(-RATE * years)
    call = SPOT * ndtr(d) - discounted * ndtr(d - width)
    put = discounted * ndtr(width - d) - SPOT * ndtr(-d)
    return call, put, SPOT * np.sqrt(years) * np.exp(-0.5 * d * d) / np.sqrt(2.0 * np.pi)
