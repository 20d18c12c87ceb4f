"""The potential energy of particles in a uniform field."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

HEIGHT = 2
MASS = 6


def of_records(particles: Floats, gravity: float) -> Floats:
    """Mass times height times gravity, a row a particle."""
    energy: Floats = particles[:, MASS] * gravity * particles[:, HEIGHT]
    return energy


def of_fields(particles: Floats, gravity: float) -> Floats:
    """Mass times height times gravity, a row a field."""
    energy: Floats = particles[MASS] * gravity * particles[HEIGHT]
    return energy
