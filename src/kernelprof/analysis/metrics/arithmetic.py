"""How much arithmetic an SM does in a cycle, by NVIDIA's documentation. Tables, no counters."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FP32_LANES: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("7.0", "7.2", "7.5", "8.0"), 64),
        **dict.fromkeys(("8.6", "8.7", "8.9", "9.0", "10.0", "12.0"), 128),
    }
)
"""FP32 multiply-adds of an SM in a cycle, by compute capability: CUDA C++ Programming Guide, table
"Throughput of Native Arithmetic Instructions", row "32-bit floating-point add, multiply,
multiply-add"."""

FLOPS_OF_FMA: Final = 2
