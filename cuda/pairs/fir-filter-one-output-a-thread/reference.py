"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def fir(samples: Array, taps: Array, length: int) -> Array:
    """Correlation of each channel with the taps."""
    windows = np.lib.stride_tricks.sliding_window_view(samples, taps.size, axis=1)
    return np.asarray(windows[:, :length] @ taps, dtype=np.float64)
