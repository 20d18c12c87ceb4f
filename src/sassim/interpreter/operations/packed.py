"""Two or four numbers in a register."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sassim.interpreter.number_formats import of_bfloat, round_to_bfloat16

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction

    Combine = Callable[[Array, Array], Array]


_KINDS: Final[dict[str, np.dtype[Any]]] = {
    "S16x2": np.dtype(np.int16),
    "U16x2": np.dtype(np.uint16),
    "S8x4": np.dtype(np.int8),
    "U8x4": np.dtype(np.uint8),
}


def packed_kind(i: Instruction) -> np.dtype[Any] | None:
    """The type of whole numbers of which an instruction takes several in a register, if it does."""
    return next((kind for name, kind in _KINDS.items() if i.has(name)), None)


def _halves(function: Callable[..., Array]) -> Combine:
    def execute(old: Array, given: Array) -> Array:
        a, b = (np.ascontiguousarray(each).view(np.float16) for each in (old, given))
        return function(a, b).astype(np.float16).view(old.dtype)

    return execute


def _brains(function: Callable[..., Array]) -> Combine:
    def execute(old: Array, given: Array) -> Array:
        a, b = (of_bfloat(np.ascontiguousarray(each).view(np.uint16)) for each in (old, given))
        return round_to_bfloat16(function(a, b)).astype(np.uint16).view(old.dtype)

    return execute


def _singles(function: Callable[..., Array]) -> Combine:
    def execute(old: Array, given: Array) -> Array:
        a, b = (np.ascontiguousarray(each).view(np.float32) for each in (old, given))
        return function(a, b).view(old.dtype)

    return execute


_FUNCTIONS: Final[dict[str, Callable[..., Array]]] = {
    "ADD": np.add,
    "MIN": np.fmin,
    "MAX": np.fmax,
}

PACKED: Final[dict[str, tuple[Any, dict[str, Combine]]]] = {
    "F16x2": (np.uint32, {name: _halves(each) for name, each in _FUNCTIONS.items()}),
    "BF16x2": (np.uint32, {name: _brains(each) for name, each in _FUNCTIONS.items()}),
    "F32x2": (np.uint64, {"ADD": _singles(np.add)}),
}
"""The type that holds them, and what is done with two of them, by modifier."""
