"""The message schedule of SHA-256 (FIPS 180-4, 6.2.2) for a salt, a number and its padding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def salt(shape: tuple[int, ...]) -> Array:
    """Random bytes."""
    return np.random.default_rng(1).integers(0, 256, shape)


def padding(shape: tuple[int, ...]) -> Array:
    """A one, zeros, and the length of 88 bytes in bits."""
    found = np.zeros(shape, np.uint8)
    found[0] = 0x80
    found[-2:] = divmod(88 * 8, 256)
    return found


def _turned(words: Array, by: int) -> Array:
    turned: Array = words >> np.uint32(by) | words << np.uint32(32 - by)
    return turned


def expected(salt: Array, padding: Array, blocks: int) -> Array:
    """Sixteen words of the message and 48 that follow from them, for each number."""
    message = np.zeros((blocks, 64), np.uint8)
    message[:, :16], message[:, 24:] = salt, padding
    message[:, 16:24] = np.arange(blocks, dtype="<u8").view(np.uint8).reshape(-1, 8)
    words = np.empty((64, blocks), np.uint32)
    words[:16] = message.view(">u4").T
    for j in range(16, 64):
        early, late = words[j - 15], words[j - 2]
        words[j] = words[j - 16] + words[j - 7]
        words[j] += _turned(early, 7) ^ _turned(early, 18) ^ early >> np.uint32(3)
        words[j] += _turned(late, 17) ^ _turned(late, 19) ^ late >> np.uint32(10)
    return words.T
