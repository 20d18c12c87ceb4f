"""Inputs and references of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def records(shape: tuple[int, ...]) -> Floats:
    """A row for each resonator: 2 r cos(angle), -r r, a gain, and fields without use."""
    generator = np.random.default_rng(0)
    bank: Floats = generator.random(shape)
    radius = 0.8 + 0.15 * bank[:, 0]
    angle = np.pi * bank[:, 1]
    bank[:, 0] = 2.0 * radius * np.cos(angle)
    bank[:, 1] = -radius * radius
    return bank


def fields(shape: tuple[int, ...]) -> Floats:
    """The same with a row for each field."""
    return records(shape[::-1]).T


def resonate(signal: Floats, bank: Floats) -> Floats:
    """The gain times the sum of squares of each resonator's output."""
    near, far, gain = bank[:, :3].T
    last, before, total = (np.zeros(len(bank)) for _ in range(3))
    for sample in signal:
        last, before = near * last + far * before + sample, last
        total += last * last
    energy: Floats = gain * total
    return energy


def resonate_fields(signal: Floats, bank: Floats) -> Floats:
    """The same where a row is a field."""
    return resonate(signal, bank.T)
