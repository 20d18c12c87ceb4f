"""The reference of this kernel."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEP = 0.02
DAMPING = 0.3


def integrate(
    start: Floats, speed: Floats, spring: Floats, cubic: Floats, steps: int
) -> tuple[Floats, Floats]:
    """Places and speeds after all steps of the classical Runge-Kutta method."""
    linear = 1.0 + 0.5 * spring
    third = 0.5 + 0.25 * cubic

    def slope(x: Floats, v: Floats) -> tuple[Floats, Floats]:
        return v, -DAMPING * v - linear * x - third * x**3

    x, v = start, speed
    for _ in range(steps):
        x1, v1 = slope(x, v)
        x2, v2 = slope(x + STEP / 2 * x1, v + STEP / 2 * v1)
        x3, v3 = slope(x + STEP / 2 * x2, v + STEP / 2 * v2)
        x4, v4 = slope(x + STEP * x3, v + STEP * v3)
        x = x + STEP / 6 * (x1 + 2 * x2 + 2 * x3 + x4)
        v = v + STEP / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
    return x, v
