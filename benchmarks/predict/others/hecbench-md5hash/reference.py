"""The key of seven decimal digits that has an MD5 digest."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(keyspace: int, **words: int) -> tuple[Array, Array, Array]:
    """Its index, its bytes and its digest, as four words."""
    wanted = np.array([words[f"searchDigest{k}"] for k in range(4)], np.uint32).tobytes()
    for index in range(keyspace):
        key = bytes(index // 10**place % 10 for place in range(7))
        if hashlib.md5(key).digest() == wanted:
            break
    found = np.frombuffer(key + bytes(1), np.uint8)
    return np.array([index]), found, np.frombuffer(wanted, np.uint32)
