"""The shape of a launch specification as files hold it: what is read of it has these types.

:mod:`kernelprof.launch.specification.tables` has all keys; comparisons need these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict

import msgspec

from kernelprof.model.records import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NO_REFERENCE: Final = "none"
"""The reference of a kernel whose result is not checked."""

TOLERANCE: Final = 1e-5
"""The largest relative error of a result where a specification names none, and no type is small.

Sums of float32 in another order than the reference's are off by some 1e-7 (the ladder: 3e-7).
"""

_ROUNDING: Final = {
    "float16": 2**-11,
    "bfloat16": 2**-8,
    "float8_e4m3": 2**-4,
    "float8_e5m2": 2**-3,
}
"""The unit roundoff of an output's type: no normal number rounded to nearest is further off, and so
neither is the norm of many; as a rule it is half as far, which leaves room for what comes before.
An output whose numbers are mostly subnormal needs a tolerance of its own."""

_ACCUMULATION: Final = dict.fromkeys(("float8_e4m3", "float8_e5m2"), 2**-6)
"""What tensor cores may lose when they add products of an input's type, which are exact.

They cut off where other units round (Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of
NVIDIA tensor cores", PeerJ Computer Science 7:e330, 2021). Sums of 8-bit products have about 14
bits on Hopper (DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.2): below 2**-13 each
time, in 128 additions (4096 products, 32 an instruction); the report saw nearly 2 %. Those of 16
bits lose below 2**-23 each time: in 64 additions (1024 products) less than :data:`TOLERANCE`.
"""


def is_version(reference: str) -> bool:
    """Return whether a reference is a source: another version of the kernel."""
    return reference.endswith(".cu")


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Format sizes for a message."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items()) or "its fixed sizes"


def default_tolerance(output: str, inputs: Iterable[str]) -> float:
    """Return the largest relative Frobenius error of an output, by its type and its inputs'.

    Inputs are rounded before the reference sees them, so that their precision counts only for how
    they are added.
    """
    lost = [_ROUNDING.get(output, 0.0), *(_ACCUMULATION.get(each, 0.0) for each in inputs)]
    return max(TOLERANCE, *lost)


class _Check(TypedDict, total=False):
    sizes: dict[str, Any] | None


class _Compile(TypedDict, total=False):
    defines: dict[str, Any] | None


class _Argument(TypedDict, total=False):
    fill: str | None
    output: bool | None


class _Specification(TypedDict, total=False):
    kernel: str | None
    reference: str | None
    sizes: dict[str, Any] | None
    check: _Check | None
    arguments: list[_Argument] | None
    launch: dict[str, Any] | None
    compile: _Compile | None


def check_shape(specification: dict[str, Any] | None) -> None:
    """Raise :class:`RecordError` where a part of a specification is of another kind."""
    if specification is None:
        return
    try:
        msgspec.convert(specification, _Specification)
    except msgspec.ValidationError as error:
        raise RecordError(f"its launch specification is invalid: {error}") from error
