"""The inputs and the reference of this kernel."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def distributions(shape: tuple[int, ...]) -> Floats:
    """Rows of shares that add up to one."""
    weights = np.random.default_rng(0).random(shape)
    shares: Floats = weights / weights.sum(axis=1, keepdims=True)
    return shares


def transitions(shape: tuple[int, ...]) -> Floats:
    """The chance to move to a row's state from a column's; the columns add up to one."""
    return distributions(shape).T


def walk_chain(start: Floats, moves: Floats, steps: int) -> Floats:
    """The distributions after all steps, each rounded to half precision."""
    now = start
    for _ in range(steps):
        now = (now @ moves.T).astype(np.float16).astype(np.float64)
    return now
