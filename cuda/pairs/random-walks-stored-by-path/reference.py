"""Random walks with a pull to zero, from a generator for each path."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
STEPS = 8


def by_record(count: int, records: int) -> Floats:
    """The positions after every eighth step, a row a time."""
    state = (np.arange(1, count + 1, dtype=np.uint64) * 2654435769).astype(np.uint32)
    x = np.zeros(count)
    paths = np.empty((records, count))
    for record in range(records):
        for _ in range(STEPS):
            state ^= state << np.uint32(13)
            state ^= state >> np.uint32(17)
            state ^= state << np.uint32(5)
            x = 0.98 * x + (state >> np.uint32(8)) / 2**24 - 0.5
        paths[record] = x
    return paths


def by_path(count: int, records: int) -> Floats:
    """The positions after every eighth step, a row a path."""
    return by_record(count, records).T
