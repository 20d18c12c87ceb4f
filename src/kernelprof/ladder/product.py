"""The matrix product of a ladder: its precision, how B lies, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from kernelprof.launch.specification.elements import element_bytes
from kernelprof.model.specification import default_tolerance

if TYPE_CHECKING:
    from collections.abc import Mapping

PrecisionName = Literal["float32", "bfloat16"]
Layout = Literal["nn", "nt"]
Fill = Literal["random", "normal"]


@dataclass(frozen=True, slots=True)
class Precision:
    """Names of a precision, and the largest relative error of a product in it (2-norm)."""

    short: str
    peak: str
    routine: str
    most_error: float


PRECISIONS: Final[Mapping[str, Precision]] = MappingProxyType(
    {
        # FP32 makes about 2e-7 at the checked size, and TF32 some 3e-4.
        "float32": Precision("FP32", "FP32 peak", "SGEMM", 1e-5),
        # What a rung may be off: one rounding at the end, before which the sums add some 1e-6.
        "bfloat16": Precision(
            *("BF16", "BF16 tensor peak", "GemmEx in BF16"),
            default_tolerance("bfloat16", ("bfloat16",)),
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Product:
    """C = A * B of row-major matrices with FP32 sums; ``nn``: B is [K, N], ``nt``: [N, K]."""

    precision: PrecisionName = "float32"
    layout: Layout = "nn"
    fill: Fill = "random"

    @property
    def about(self) -> Precision:
        """What follows from the precision."""
        return PRECISIONS[self.precision]

    @property
    def words(self) -> str:
        """``FP32, row-major``, and what else tells one product from another."""
        if self.precision == "float32" and self.layout == "nn":
            return "FP32, row-major"
        sums = "" if self.precision == "float32" else ", FP32 accumulation"
        operand = "B is [N, K]" if self.layout == "nt" else "B is [K, N]"
        return f"{self.about.short}{sums}, row-major, {operand}"


def count_flops(size: int) -> float:
    """Operations of a product of square matrices."""
    return 2.0 * size**3


def count_least_bytes(product: Product, size: int) -> float:
    """Bytes that have to move for square matrices: A and B read once, C written once."""
    return 3.0 * element_bytes(product.precision) * size**2
