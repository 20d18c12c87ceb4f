"""Inputs and reference of these kernels."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def points(shape: tuple[int, ...]) -> npt.NDArray[np.complex128]:
    """Points within the unit circle, not too near to it."""
    generator = np.random.default_rng(0)
    radius = 0.5 + 0.49 * generator.random(shape)
    z: npt.NDArray[np.complex128] = radius * np.exp(2j * np.pi * generator.random(shape))
    return z


def real(shape: tuple[int, ...]) -> Floats:
    """The points' real parts."""
    return points(shape).real


def imaginary(shape: tuple[int, ...]) -> Floats:
    """The points' imaginary parts."""
    return points(shape).imag


def transform(signal: Floats, real: Floats, imaginary: Floats) -> tuple[Floats, Floats]:
    """The sum of samples times powers of each point."""
    z = real + 1j * imaginary
    total = np.zeros_like(z)
    for sample in signal[::-1]:
        total *= z
        total += sample
    return total.real, total.imag
