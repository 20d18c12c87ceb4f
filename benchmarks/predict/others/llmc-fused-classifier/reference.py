"""Losses of softmax and cross-entropy, and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(
    dlogits: Array, logits: Array, dlosses: Array, targets: Array, V: int
) -> dict[str, Array]:
    """Losses, and the gradient up to the vocabulary's size."""
    power = np.exp(logits[:, :V])
    share = power / power.sum(axis=1, keepdims=True)
    at = np.arange(len(targets)), targets
    losses = -np.log(share[at])
    share[at] -= 1
    gradient = dlogits.copy()
    gradient[:, :V] = share * dlosses[:, None]
    return {"dlogits": gradient, "losses": losses}
