"""A text, and the SHA-256 of the windows that begin at each of its words."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

MOST = 12


def text(shape: tuple[int, ...]) -> Ints:
    """Words of all bits."""
    return np.random.default_rng(33).integers(0, 2**32, shape, dtype=np.int64)


def blocks(shape: tuple[int, ...]) -> Ints:
    """Blocks that the windows of each warp take."""
    return np.random.default_rng(32).integers(1, MOST + 1, shape)


def digest_windows(text: Ints, blocks: Ints) -> Ints:
    """The digest of each window, a column each; three words of its last block are padding."""
    words = text.astype(">u4")
    digests = [
        hashlib.sha256(words[at : at + length].tobytes()).digest()
        for at, length in enumerate(np.repeat(blocks, 32) * 16 - 3)
    ]
    return np.frombuffer(b"".join(digests), ">u4").astype(np.int64).reshape(-1, 8).T
