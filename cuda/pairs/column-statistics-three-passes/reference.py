"""What the kernels beside this file have to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]


def column_statistics(table: Array) -> dict[str, Array]:
    """Mean, standard deviation and range of each column."""
    return {
        "mean": table.mean(axis=0),
        "deviation": table.std(axis=0),
        "lowest": table.min(axis=0),
        "highest": table.max(axis=0),
    }
