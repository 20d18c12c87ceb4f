"""The reference of the kernels beside this file."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def habitats(
    growth: Array, capacity: Array, hunger: Array, steps: int, h: float
) -> tuple[Array, Array]:
    """Runge-Kutta of fourth order for prey and predators."""
    a, usual, b = (1.0 + 0.2 * of for of in (growth, capacity, hunger))

    def slope(x: Array, y: Array) -> Array:
        of_prey = x * (a * (1.0 - 0.25 / usual * x) - 0.6 * y)
        return np.stack([of_prey, y * (0.3 * b * x - 0.4)])

    state = np.stack([np.full_like(growth, 1.0), np.full_like(growth, 0.5)])
    for _ in range(int(steps)):
        first = slope(*state)
        second = slope(*(state + 0.5 * h * first))
        third = slope(*(state + 0.5 * h * second))
        fourth = slope(*(state + h * third))
        state = state + h / 6.0 * (first + 2.0 * second + 2.0 * third + fourth)
    return state[0], state[1]
