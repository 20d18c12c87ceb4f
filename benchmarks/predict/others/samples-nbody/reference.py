"""One step of bodies that others attract; the softening is that of a program that sets none."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def expected(
    newPos: Array, oldPos: Array, vel: Array, N: int, deltaTime: float, damping: float
) -> tuple[Array, Array]:
    """The bodies from N on move by what the first N do to them."""
    away = oldPos[None, :N, :3] - oldPos[N:, None, :3]
    inverse = (away**2).sum(axis=2) ** -1.5
    force = np.einsum("ijk,ij->ik", away, inverse * oldPos[:N, 3])
    position, velocity = newPos.copy(), vel.copy()
    velocity[N:, :3] = (vel[N:, :3] + force * deltaTime) * damping
    position[N:, :3] = oldPos[N:, :3] + velocity[N:, :3] * deltaTime
    position[N:, 3] = oldPos[N:, 3]
    return position, velocity
