"""The frame at which sums over a stack of frames reach a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]


def find_full(frames: Ints, limit: int) -> Ints:
    """The first frame with a sum up to it of the limit or more, or the number of frames."""
    sums = frames.cumsum(axis=0)
    return np.where(sums[-1] < limit, len(frames), (sums >= limit).argmax(axis=0))
