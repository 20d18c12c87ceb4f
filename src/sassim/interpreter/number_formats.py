"""Numbers of fewer than 32 bits: what their bits stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.lanes import make_read_only

if TYPE_CHECKING:
    from sassim.interpreter.lanes import Array


def round_to_bfloat16(values: Array) -> Array:
    """Numbers rounded to bfloat16, as 16 bits in 32."""
    near = values.astype(np.float32)
    raw = near.view(np.uint32)
    if values.dtype == np.float64:
        # Rounded to odd, so that the second rounding is as one of the number itself.
        lost = near.astype(np.float64) != values
        raw = np.where(np.abs(near) > np.abs(values), raw - np.uint32(1), raw) | lost
    rounding = (raw >> 16 & 1) + 0x7FFF
    return np.where(np.isnan(near), 0x7FFF, (raw + rounding) >> 16).astype(np.uint32)


def of_bfloat(raw: Array) -> Array:
    """The 32-bit numbers of 16 bits of bfloat16."""
    return (raw.astype(np.uint32) << 16).view(np.float32)


def half_bits(values: Array) -> Array:
    """Numbers rounded to float16, as 16 bits in 32."""
    halves = values.astype(np.float16).view(np.uint16).astype(np.uint32)
    none = np.isnan(values)
    return np.where(none, np.uint32(0x7FFF), halves) if none.any() else halves


def of_half(raw: Array) -> Array:
    """The 32-bit numbers of 16 bits of float16, in 16 or in 32."""
    return raw.astype(np.uint16).view(np.float16).astype(np.float32)


def _decode_small_floats(exponent_bits: int, mantissa_bits: int) -> Array:
    """All numbers of a type of so few bits (OCP 8-bit Floating Point Specification)."""
    bias = 2 ** (exponent_bits - 1) - 1
    numbers = []
    for raw in range(256):
        exponent = raw >> mantissa_bits & (2**exponent_bits - 1)
        mantissa = raw & (2**mantissa_bits - 1)
        value = (mantissa / 2**mantissa_bits + (exponent > 0)) * 2.0 ** (max(exponent, 1) - bias)
        if exponent_bits == 4 and raw & 127 == 127:
            value = np.nan
        elif exponent_bits == 5 and exponent == 31:
            value = np.inf if mantissa == 0 else np.nan
        numbers.append(-value if raw & 128 else value)
    return make_read_only(np.array(numbers, np.float32))


SMALL: Final = {"E4M3": _decode_small_floats(4, 3), "E5M2": _decode_small_floats(5, 2)}
"""The numbers of types of 8 bits, by their bits."""
_LARGEST: Final = {"E4M3": 448.0, "E5M2": 57344.0}


def small_bits(values: Array, name: str) -> Array:
    """Numbers rounded to a type of 8 bits, the largest where they are larger (``.satfinite``)."""
    table = SMALL[name][:127] if name == "E4M3" else SMALL[name][:124]
    size = np.abs(np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=_LARGEST[name]))
    above = np.clip(np.searchsorted(table, size), 0, len(table) - 1)
    below = np.maximum(above - 1, 0)
    low, high = table[below].astype(np.float64), table[above].astype(np.float64)
    middle = (low + high) / 2
    up = (size > middle) | ((size == middle) & (above % 2 == 0))
    raw = np.where(up, above, below)
    raw = np.where(np.isnan(values), 127, raw) | np.where(np.signbit(values), 128, 0)
    return raw.astype(np.uint32)
