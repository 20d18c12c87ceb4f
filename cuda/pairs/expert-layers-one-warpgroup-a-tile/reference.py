"""An input and the reference of the kernels beside this file."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


def chosen(shape: tuple[int, ...], experts: int) -> Whole:
    """The expert of every 128 tokens; some are asked more often than others."""
    generator = np.random.default_rng(17)
    asked: Whole = np.sort(generator.choice(experts, shape, p=generator.dirichlet([4.0] * experts)))
    return asked


def apply(tokens: Floats, weights: Floats, chosen: Whole, experts: int) -> Floats:
    """The tokens times the transpose of their expert's weights."""
    by_expert = np.split(weights, experts)
    parts = zip(tokens.reshape(len(chosen), 128, -1), chosen, strict=True)
    return np.concatenate([each @ by_expert[expert].T for each, expert in parts])
