"""The references of the kernels beside this file."""

import numpy as np


def fma_chain(x, n):
    """Halving and adding a quarter ends at a half from any start."""
    return np.full(n, 0.5)


def walk(zeros, rounds):
    """A generator of which each block has its own start; the values that are loaded add nothing."""
    blocks = np.arange(2, dtype=np.uint64)
    for _ in range(int(rounds)):
        blocks = (blocks * 1664525 + 1013904223) % 2**32
    return np.repeat(blocks >> 1, 32)
