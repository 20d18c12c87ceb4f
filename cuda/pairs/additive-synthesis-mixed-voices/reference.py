"""Inputs and reference of these kernels."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def mixed_voices(shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """A random voice for each sample."""
    return np.random.default_rng(0).integers(0, 2, shape, dtype=np.int32)


def ordered_voices(shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """The same voices, sorted."""
    return np.sort(mixed_voices(shape))


def sing(time: Floats, voice: npt.NDArray[Any], partials: Floats) -> Floats:
    """The sum over all partials with their octave, or with their twelfth."""
    frequency, phase, cosine, sine = partials.T
    angle = 6.0 * frequency * time[:, None] + 3.0 * phase
    octave = (np.cos(angle) + 0.5 * np.cos(2 * angle)) @ cosine
    octave += (np.sin(angle) + 0.5 * np.sin(2 * angle)) @ sine
    twelfth = (np.cos(angle) - 0.25 * np.cos(3 * angle)) @ cosine
    twelfth += (np.sin(angle) + 0.25 * np.sin(3 * angle)) @ sine
    sound: Floats = np.where(voice % 2 == 0, octave, twelfth)
    return sound
