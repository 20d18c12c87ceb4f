"""Edit distances of pairs of strings of one length."""

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def edit_distances(left: Integers, right: Integers) -> Integers:
    """The fewest changed, added and left out symbols, row by row of the table for all pairs."""
    count, length = left.shape
    above = np.tile(np.arange(length + 1), (count, 1))
    for row in range(length):
        here = np.empty_like(above)
        here[:, 0] = row + 1
        for column in range(length):
            replaced = above[:, column] + (left[:, row] != right[:, column])
            skipped = np.minimum(above[:, column + 1], here[:, column]) + 1
            here[:, column + 1] = np.minimum(replaced, skipped)
        above = here
    return above[:, length]
