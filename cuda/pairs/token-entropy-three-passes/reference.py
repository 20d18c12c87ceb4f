"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def token_entropy(logits: Array) -> Array:
    """Entropy, in nats, of the softmax of each row."""
    over = logits - logits.max(axis=1, keepdims=True)
    log_p = over - np.log(np.exp(over).sum(axis=1, keepdims=True))
    return np.asarray(-(np.exp(log_p) * log_p).sum(axis=1), dtype=np.float64)
