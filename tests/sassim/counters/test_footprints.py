"""Which sectors of arrays blocks touch, and where their atomics meet."""

from __future__ import annotations

import numpy as np
import pytest

from sassim.counters.footprints import Footprints
from sassim.interpreter.memory import GlobalMemory


@pytest.mark.parametrize(
    ("stride", "turns"),
    [
        (0, 32),  # one address: one thread after the other
        (4, 4),  # 128 bytes: four sectors, each with its eight words at once
        (32, 16),  # a KiB: half of its sectors in one slice, half in another
        (512, 1),
    ],
)
def test_atomics_within_512_bytes_meet_in_one_slice(stride: int, turns: int) -> None:
    memory = GlobalMemory()
    array = memory.allocate("bins", 1 << 14, lambda: np.zeros(1 << 14, np.uint8))
    footprints = Footprints(memory.buffers, np.zeros(1, np.int64))
    addresses = array.base + stride * np.arange(32)[None]
    footprints.contend(addresses, np.ones((1, 32), np.bool_), None)
    assert footprints.hottest() == [(turns, 0)]
