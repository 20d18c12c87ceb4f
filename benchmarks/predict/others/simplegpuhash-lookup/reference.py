"""A table with the keys that are looked up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def table(shape: tuple[int, ...], numkvs: int) -> Array:
    """Keys and values, each at the first free slot from its hash on."""
    pairs = np.random.default_rng(1).integers(0, 1 << 32, (numkvs, 2), np.uint32)
    slots = np.full(shape, 0xFFFFFFFF, np.uint32)
    wanted, left = _hash(pairs[:, 0]) & np.uint32(shape[0] - 1), np.arange(numkvs, dtype=np.uint32)
    while left.size:
        here = wanted[left]
        free = slots[here, 0] == 0xFFFFFFFF
        slots[here[free]] = pairs[left[free]]
        left = left[(slots[here, 0] != pairs[left, 0])]
        wanted[left] = (wanted[left] + 1) & np.uint32(shape[0] - 1)
    return slots


def _hash(key: Array) -> Array:
    key = key ^ (key >> 16)
    key = key * np.uint32(0x85EBCA6B)
    key ^= key >> 13
    key *= np.uint32(0xC2B2AE35)
    mixed: Array = key ^ (key >> 16)
    return mixed
