"""The reference of this kernel."""

from typing import Any

import numpy as np
import numpy.typing as npt

NONCES_A_BLOCK = 8 * 256
CONSTANTS = (0x61707865, 0x3320646E, 0x79622D32, 0x6B206574)
COLUMNS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def search(key_words: npt.NDArray[Any], blocks: int) -> npt.NDArray[np.uint64]:
    """For each block the smallest first word, above the nonce that gives it."""
    nonces = np.arange(blocks * NONCES_A_BLOCK, dtype=np.uint32)
    s = np.zeros((16, nonces.size), np.uint32)
    s[:4] = np.array(CONSTANTS, np.uint32)[:, None]
    s[4:12] = key_words.astype(np.uint32)[:, None]
    s[13] = nonces
    for _ in range(10):
        for a, b, c, d in COLUMNS + DIAGONALS:
            for to, by, into, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                s[to] += s[by]
                mixed = s[into] ^ s[to]
                s[into] = mixed << np.uint32(turn) | mixed >> np.uint32(32 - turn)
    words = (s[0] + np.uint32(CONSTANTS[0])).astype(np.uint64) << np.uint64(32)
    smallest: npt.NDArray[np.uint64] = (words | nonces).reshape(blocks, -1).min(axis=1)
    return smallest
