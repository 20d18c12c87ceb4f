"""The inputs and the reference of the kernels beside this file."""

from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def packet(shape: tuple[int, ...]) -> Array:
    """Random words."""
    return np.random.default_rng(42).integers(0, 2**32, shape, dtype=np.uint32)


def checksums(packet: Array) -> Array:
    """CRC-32 of each packet's bytes, the lowest byte of a word first."""
    rows = packet.astype("<u4")
    return np.array([crc32(row.tobytes()) for row in rows], dtype=np.uint64)
