"""The first coefficients of the cosine transform of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


def cosine_transform(samples: Floats) -> Floats:
    """Sums of each row times the first 32 cosines."""
    length = samples.shape[1]
    angles = np.pi * (np.arange(length) + 0.5) / length
    waves: Floats = samples @ np.cos(angles[:, None] * np.arange(32))
    return waves
