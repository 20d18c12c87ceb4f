"""How many edge pixels of an image point to each eighth of the circle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]


def edge_octants(image: Array, bins: Array, threshold: int) -> Array:
    """Sobel gradients of the inner pixels, counted by direction if they are steep."""
    pixels = image.astype(np.int64)
    left, centre, right = pixels[:, :-2], pixels[:, 1:-1], pixels[:, 2:]
    across = right - left
    along = left + 2 * centre + right
    gx = across[:-2] + 2 * across[1:-1] + across[2:]
    gy = along[2:] - along[:-2]
    octants = 4 * (gy < 0) + 2 * (gx < 0) + (np.abs(gx) < np.abs(gy))
    edges = np.abs(gx) + np.abs(gy) >= threshold
    return bins + np.bincount(octants[edges], minlength=8)
