"""The reference of this kernel."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def momentum(momentum: Floats, force: Floats, dt: float) -> Floats:
    """The momentum after one step."""
    return momentum + dt * force
