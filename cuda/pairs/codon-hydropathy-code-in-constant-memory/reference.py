"""The words and the reference of these kernels."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

AMINO_ACIDS = "FFLLSSSSYY**CC*WLLLLPPPPHHQQRRRRIIIMTTTTNNKKSSRRVVVVAAAADDEEGGGG"
"""The standard genetic code, bases in the order TCAG."""
KYTE_DOOLITTLE = {
    **{"I": 4.5, "V": 4.2, "L": 3.8, "F": 2.8, "C": 2.5, "M": 1.9, "A": 1.8},
    **{"G": -0.4, "T": -0.7, "S": -0.8, "W": -0.9, "Y": -1.3, "P": -1.6, "H": -3.2},
    **{"E": -3.5, "Q": -3.5, "D": -3.5, "N": -3.5, "K": -3.9, "R": -4.5, "*": 0.0},
}


def words(shape: tuple[int, ...]) -> npt.NDArray[np.uint32]:
    """Random bases, fifteen in a word."""
    return np.random.default_rng(0).integers(0, 1 << 30, shape, dtype=np.uint32)


def hydropathy(words: npt.NDArray[Any]) -> Floats:
    """The sum over the codons of each word."""
    scale = np.array([KYTE_DOOLITTLE[each] for each in AMINO_ACIDS])
    codons = words.astype(np.int64)[:, None] >> np.arange(0, 30, 6) & 63
    return np.asarray(scale[codons].sum(axis=1))
