"""The types that elements of arrays, and scalars, can have; sizes and kinds without NumPy."""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

Type = Literal[
    "float16", "bfloat16", "float32", "float64", "float8_e4m3", "float8_e5m2", "bool",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
TYPES: Final[tuple[Type, ...]] = get_args(Type)
"""Types of arguments, by their NumPy names.

``bfloat16`` is CUDA's ``__nv_bfloat16``, ``float8_e4m3`` its ``__nv_fp8_e4m3`` and ``float8_e5m2``
its ``__nv_fp8_e5m2``.
"""
TENSOR_MAP_TYPES: Final[dict[str, str]] = {
    "int32": "INT32",
    "int64": "INT64",
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "float32": "FLOAT32",
    "float64": "FLOAT64",
}
"""What ``CUtensorMapDataType`` calls the types that it knows; of all others, ``float8`` too, a
tensor map has unsigned whole numbers of the same size."""


def element_name(type_name: str) -> str:
    """Return the name of a type in ``CUtensorMapDataType``."""
    return TENSOR_MAP_TYPES.get(type_name, f"UINT{8 * element_bytes(type_name)}")


def is_floating(type_name: str) -> bool:
    """Whether a type has NaN."""
    return type_name.startswith(("float", "bfloat"))


def element_bytes(type_name: str) -> int:
    """Return the bytes of an element."""
    bits = re.search(r"[0-9]+", type_name)  # of float8_e4m3 the first
    return int(bits[0]) // 8 if bits else 1
