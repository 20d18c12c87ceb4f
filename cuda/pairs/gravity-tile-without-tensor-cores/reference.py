"""The reference of this kernel."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def attract(bodies: Floats, sources: Floats) -> Floats:
    """The softened gravity of all sources on each body."""
    apart = sources[None, :, :3] - bodies[:, None, :3]
    pull = sources[:, 3] * ((apart**2).sum(axis=2) + 0.01) ** -1.5
    acceleration = np.zeros_like(bodies)
    acceleration[:, :3] = np.einsum("ij,ijk->ik", pull, apart)
    return acceleration
