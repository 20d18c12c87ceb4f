"""An image whose brightness clusters, and its tiles equalised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

SIDE = 64


def image(shape: tuple[int, ...]) -> Ints:
    """Brightness around a level that differs between rows."""
    generator = np.random.default_rng(8)
    level = generator.integers(60, 150, (shape[0], 1), dtype=np.int16)
    noise = generator.integers(-50, 50, (min(shape[0], 512), shape[1]), dtype=np.int16)
    return (level + np.resize(noise, shape)).astype(np.int64)


def equalise(image: Ints, width: int) -> Ints:
    """Each pixel's rank in its tile of 64 by 64, as a level of 0 to 255."""
    result = np.empty_like(image)
    for top in range(0, len(image), SIDE):
        for left in range(0, width, SIDE):
            here = np.s_[top : top + SIDE, left : left + SIDE]
            sums = np.bincount(image[here].ravel(), minlength=256).cumsum()
            result[here] = sums[image[here]] * 255 // SIDE**2
    return result
