"""Causal attention, with the largest product and the sum of exponentials of each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def lowest(shape: tuple[int, ...]) -> Array:
    """What every product is larger than."""
    return np.full(shape, -np.inf)


def expected(Q: Array, K: Array, V: Array, softmax_scale: float) -> dict[str, Array]:
    """Sums, maxima, and the weighted values."""
    product = Q @ K.swapaxes(2, 3) * softmax_scale
    product = np.where(np.tri(product.shape[-1], dtype=bool), product, -np.inf)
    most = product.max(axis=3)
    power = np.exp(product - most[..., None])
    total = power.sum(axis=3)
    return {"l": total, "m": most, "O": power @ V / total[..., None]}
