"""The tables of a launch specification, with the keys that each may have."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from kernelprof.launch.specification.elements import Type  # noqa: TC001 (msgspec reads the annotations)
from kernelprof.launch.specification.expressions import (
    IDENTIFIER,
    Amount,
    Dimension,
    Dimensions,
    Expression,
    Name,
    Positive,
    StrictTable,
)
from kernelprof.launch.specification.tensor_maps import TensorMap  # noqa: TC001


class Member(StrictTable, frozen=True, kw_only=True):
    """A member of a structure: a number, several side by side, or a pointer to an array."""

    name: Annotated[str, Meta(pattern=f"^{IDENTIFIER}$", examples=["width"])]
    type: Annotated[Type | None, Meta(examples=["int32"])] = None
    value: Amount | None = None
    values: Annotated[
        Annotated[tuple[Amount, ...], Meta(min_length=1, max_length=1024)] | None,
        Meta(description="values of an array or a vector", examples=[[0, 0, 1]]),
    ] = None
    of: Annotated[
        Annotated[str, Meta(pattern=f"^{IDENTIFIER}$")] | None,
        Meta(description="the name of the array that the member points to", examples=["x"]),
    ] = None
    align: Annotated[
        Literal[1, 2, 4, 8, 16, 32, 64, 128] | None,
        Meta(description="alignment in bytes, if larger than that of 'type': 16 for four float32"),
    ] = None

    @property
    def numbers(self) -> tuple[Expression, ...]:
        """Its values; none of a pointer."""
        return (self.value,) if self.value is not None else self.values or ()


Define = int | float | str
FILLS: Final = ("random", "normal", "zeros", "arange", "permutation", "offsets")
_FUNCTION = rf"[A-Za-z_][A-Za-z0-9_.]*:{IDENTIFIER}"
_KERNEL = rf"{IDENTIFIER}(::{IDENTIFIER})*(<[^;{{}}\"'\\\n]*>)?"


class Argument(StrictTable, frozen=True, kw_only=True):
    """An argument: an array, which has a shape, a scalar, a structure, or a tensor map.

    ``fill`` is ``None`` for an output that starts poisoned with NaN.
    """

    name: Annotated[str, Meta(pattern=f"^{IDENTIFIER}$", examples=["A"])]
    type: Annotated[Type | None, Meta(examples=["float32"])] = None
    shape: Annotated[
        Annotated[tuple[Dimension, ...], Meta(min_length=1, max_length=8)] | None,
        Meta(examples=[["M", "K"]]),
    ] = None
    fill: Annotated[
        Annotated[str, Meta(pattern=rf"^({'|'.join(FILLS)}|.*\.npy|{_FUNCTION})$")] | None,
        Meta(examples=[*FILLS, "values.npy", "module:function"]),
    ] = None
    limit: Annotated[
        Dimension | None,
        Meta(
            description="exclusive upper bound of random integers, or last value of offsets",
            examples=["N"],
        ),
    ] = None
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] | None = None
    output: bool = False
    passed: Annotated[
        bool,
        Meta(
            description="false: the array is not a parameter; only tensor maps or structures "
            "point to it"
        ),
    ] = True
    value: Amount | None = None
    tensor_map: TensorMap | None = None
    members: Annotated[
        Annotated[tuple[Member, ...], Meta(min_length=1, max_length=256)] | None,
        Meta(description="members of a structure or a vector that is passed by value"),
    ] = None

    @property
    def element(self) -> Type:
        """The type of a scalar or of an array's elements."""
        assert self.type is not None
        return self.type

    @property
    def file(self) -> str | None:
        """The ``.npy`` file of its values, relative to the specification, if any."""
        return self.fill if self.fill is not None and self.fill.endswith(".npy") else None

    @property
    def function(self) -> str | None:
        """The ``module:function`` of its values, if any."""
        return self.fill if self.fill is not None and ":" in self.fill else None


class Check(StrictTable, frozen=True, kw_only=True):
    """Sizes to compare with the reference at, and how far off the result may be."""

    sizes: dict[Name, Annotated[int, Meta(ge=1, le=2**32)]] = msgspec.field(default_factory=dict)
    tolerance: Annotated[
        Positive | None,
        Meta(
            description="largest allowed relative Frobenius error; the default depends on the types"
        ),
    ] = None


class CompileOptions(StrictTable, frozen=True, kw_only=True):
    """The options of ``nvcc`` beside the architecture and ``-lineinfo``."""

    flags: Annotated[
        tuple[Annotated[str, Meta(pattern="^-")], ...],
        Meta(
            description="nvcc options for language, optimization, macros, includes and warnings; "
            "most others are rejected",
            examples=[["--use_fast_math", "--maxrregcount=64"]],
        ),
    ] = ()
    defines: Annotated[
        dict[Name, int | float | str | bool],
        Meta(description="macros; expressions can use the numeric macros"),
    ] = msgspec.field(default_factory=dict)
    architecture_specific: Annotated[
        bool,
        Meta(
            description="false: compile for sm_90 instead of sm_90a, without "
            "architecture-specific features"
        ),
    ] = True
    standard: Annotated[
        Annotated[str, Meta(pattern=r"^(c|gnu)\+\+[0-9]{2}$")] | None, Meta(examples=["c++17"])
    ] = None

    def fixed(self) -> tuple[str, ...]:
        """Return the options of the other keys; a define is one option, also with commas."""
        standard = (f"-std={self.standard}",) if self.standard else ()
        return (*standard, *(f"-D{name}={value}" for name, value in self.defines.items()))

    def arguments(self) -> tuple[str, ...]:
        """Return all options, as they are recorded."""
        return (*self.fixed(), *self.flags)


class LaunchOptions(StrictTable, frozen=True, kw_only=True):
    """How often the kernel runs, and for how long at most."""

    shared_bytes: Annotated[Amount, Meta(description="dynamic shared memory of a block")] = (
        msgspec.field(default_factory=lambda: Expression("0"))
    )
    cluster: Annotated[
        Dimensions | None,
        Meta(description="blocks of a cluster in x, y, z", examples=[[2, 1, 1]]),
    ] = None
    warmup: Annotated[int, Meta(ge=0, le=100_000)] = 5
    measured: Annotated[int, Meta(ge=1, le=100_000)] = 20
    time_limit_s: Positive = 60.0


class SpecTable(StrictTable, frozen=True, kw_only=True):
    """How a CUDA kernel is built, launched and checked by kernelprof."""

    kernel: Annotated[
        str,
        Meta(
            pattern=f"^{_KERNEL}$",
            description="the __global__ function, with template arguments if it is a template",
            examples=["sgemm", "sgemm<16>"],
        ),
    ]
    block: Annotated[
        Dimensions, Meta(description="threads of a block in x, y, z", examples=[[16, 16]])
    ]
    grid: Annotated[
        Dimensions,
        Meta(
            description="blocks of the grid in x, y, z",
            examples=[["ceil_div(N, 16)", "ceil_div(M, 16)"]],
        ),
    ]
    reference: Annotated[
        str,
        Meta(
            pattern=rf"^([A-Za-z_][A-Za-z0-9_.]*(:{IDENTIFIER})?|.*\.cu)$",
            description="a built-in reference, module:function, the .cu file of another version "
            "of the kernel, or 'none'",
            examples=["gemm", "module:function", "before.cu", "none"],
        ),
    ]
    flops: Annotated[
        Amount | None, Meta(description="floating-point operations that the problem needs")
    ] = None
    min_bytes: Annotated[
        Amount | None,
        Meta(description="the minimum number of bytes that must move to and from device memory"),
    ] = None
    sizes: Annotated[
        dict[Name, Annotated[int, Meta(ge=1, le=2**48)]],
        Meta(description="sizes by name, for expressions; the kernel is measured at these values"),
    ] = msgspec.field(default_factory=dict)
    check: Check = msgspec.field(default_factory=Check)
    compile: CompileOptions = msgspec.field(default_factory=CompileOptions)
    launch: LaunchOptions = msgspec.field(default_factory=LaunchOptions)
    arguments: Annotated[
        tuple[Argument, ...],
        Meta(
            description="one table for each parameter of the kernel, in parameter order; arrays "
            "with passed = false can be at any position"
        ),
    ] = ()


_ADDED: Final = {"passed": True, "architecture_specific": True}
"""Keys that 0.1 did not have, and their defaults.

A document leaves them out where they have these, so that digests of earlier captures still fit.
"""


def to_json_values(value: Any) -> Any:
    """Convert to JSON values; keys without a value are left out."""
    if isinstance(value, Expression):
        return value.normalised
    if isinstance(value, StrictTable):
        items = msgspec.structs.asdict(value).items()
        return {key: to_json_values(each) for key, each in items if each is not _ADDED.get(key)}
    return [to_json_values(each) for each in value] if isinstance(value, tuple) else value
