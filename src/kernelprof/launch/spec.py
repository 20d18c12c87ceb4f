"""A launch specification as plain values; ``read_spec`` makes it from TOML."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelprof.errors import InputError
from kernelprof.launch.expressions import Expression, Number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Dim3 = tuple[int, int, int]
Define = int | float | str

TYPES = (
    *("float16", "bfloat16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
"""Types of arguments, by their NumPy names; ``bfloat16`` is CUDA's ``__nv_bfloat16``."""

FILLS = ("random", "zeros", "arange")
NO_REFERENCE = "none"

# What every GPU since compute capability 3.0 allows (CUDA C++ Programming Guide, "Features and
# Technical Specifications"); a device may allow less of the product through its registers.
MAX_BLOCK: Dim3 = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_GRID: Dim3 = (2**31 - 1, 65535, 65535)


class SpecError(InputError):
    """A launch specification that cannot be used as it is written."""


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """A device array. ``fill`` is ``None`` for an output that starts poisoned with NaN."""

    name: str
    type: str
    shape: tuple[Expression, ...]
    fill: str | None = "random"
    seed: int | None = None
    output: bool = False

    @property
    def file(self) -> str | None:
        """The ``.npy`` file with its values, relative to the specification, if there is one."""
        return self.fill if self.fill is not None and self.fill.endswith(".npy") else None

    @property
    def function(self) -> str | None:
        """The ``module:function`` that gives its values, if one does."""
        return self.fill if self.fill is not None and ":" in self.fill else None


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A value that is passed as it is."""

    name: str
    type: str
    value: Expression


Argument = ArrayArgument | ScalarArgument


@dataclass(frozen=True, slots=True)
class Check:
    """Sizes to compare with the reference at, and how far off the result may be."""

    sizes: Mapping[str, int] = field(default_factory=dict)
    tolerance: float = 1e-5


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What ``nvcc`` is told beside the architecture and ``-lineinfo``."""

    flags: tuple[str, ...] = ()
    defines: Mapping[str, Define] = field(default_factory=dict)
    standard: str | None = None

    def arguments(self) -> tuple[str, ...]:
        """The options as ``nvcc`` takes them."""
        standard = (f"-std={self.standard}",) if self.standard else ()
        defines = tuple(f"-D{name}={value}" for name, value in self.defines.items())
        return (*standard, *defines, *self.flags)


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """How often the kernel runs, and for how long at most."""

    shared_bytes: Expression = field(default_factory=lambda: Expression("0"))
    warmup: int = 5
    measured: int = 20
    time_limit_s: float = 60.0


@dataclass(frozen=True, slots=True)
class ResolvedArray:
    """An array argument at given sizes."""

    argument: ArrayArgument
    index: int
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ResolvedScalar:
    """A scalar argument at given sizes."""

    argument: ScalarArgument
    index: int
    value: Number


@dataclass(frozen=True, slots=True)
class ResolvedLaunch:
    """Everything that a launch needs, as numbers."""

    grid: Dim3
    block: Dim3
    shared_bytes: int
    sizes: Mapping[str, int]
    arguments: tuple[ResolvedArray | ResolvedScalar, ...]
    flops: float | None
    min_bytes: float | None


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """How one kernel is built, launched and checked."""

    kernel: str
    block: tuple[Expression, ...]
    grid: tuple[Expression, ...]
    arguments: tuple[Argument, ...]
    reference: str = NO_REFERENCE
    sizes: Mapping[str, int] = field(default_factory=dict)
    flops: Expression | None = None
    min_bytes: Expression | None = None
    check: Check = field(default_factory=Check)
    compile: CompileOptions = field(default_factory=CompileOptions)
    launch: LaunchOptions = field(default_factory=LaunchOptions)
    path: Path | None = field(default=None, compare=False)

    @property
    def outputs(self) -> tuple[ArrayArgument, ...]:
        """The arrays that the kernel writes, in the order of its parameters."""
        return tuple(a for a in self.arguments if isinstance(a, ArrayArgument) and a.output)

    @property
    def check_sizes(self) -> dict[str, int]:
        """The sizes of the comparison: those of ``[check]``, else ``[sizes]``."""
        return {**self.sizes, **self.check.sizes}

    def changed(
        self,
        *,
        sizes: Mapping[str, int] | None = None,
        defines: Mapping[str, Define] | None = None,
    ) -> LaunchSpec:
        """The same launch with other sizes or defines, for a sweep."""
        options = self.compile
        if defines:
            options = dataclasses.replace(options, defines={**options.defines, **defines})
        return dataclasses.replace(self, sizes={**self.sizes, **(sizes or {})}, compile=options)

    def resolve(self, sizes: Mapping[str, int] | None = None) -> ResolvedLaunch:
        """Work out all expressions at the given sizes, else at ``[sizes]``."""
        sizes = dict(self.sizes if sizes is None else sizes)
        numbers = {k: v for k, v in self.compile.defines.items() if not isinstance(v, str)}
        names: dict[str, Number] = {**numbers, **sizes}
        grid, block = _dim3(self.grid, names), _dim3(self.block, names)
        for axis, (threads, most) in enumerate(zip(block, MAX_BLOCK, strict=True)):
            _within(threads, most, "threads of a block", self.block, axis)
        for axis, (blocks, most) in enumerate(zip(grid, MAX_GRID, strict=True)):
            _within(blocks, most, "blocks of the grid", self.grid, axis)
        if math.prod(block) > MAX_THREADS:
            raise SpecError(
                f"a block of {'x'.join(map(str, block))} has {math.prod(block)} threads; "
                f"every GPU allows {MAX_THREADS} at most",
                where=self.block[0].where,
                hint="make the block smaller",
            )
        return ResolvedLaunch(
            grid=grid,
            block=block,
            shared_bytes=_at_least(self.launch.shared_bytes, names, 0),
            sizes=sizes,
            arguments=tuple(
                ResolvedArray(a, i, tuple(_at_least(extent, names, 1) for extent in a.shape))
                if isinstance(a, ArrayArgument)
                else ResolvedScalar(a, i, _scalar(a, names))
                for i, a in enumerate(self.arguments)
            ),
            flops=_amount(self.flops, names),
            min_bytes=_amount(self.min_bytes, names),
        )

    def document(self) -> dict[str, Any]:
        """The specification with every default written out; layout does not count.

        It is valid input again: reading it gives an equal specification.
        """
        document: dict[str, Any] = {
            "kernel": self.kernel,
            "block": [extent.normalised for extent in self.block],
            "grid": [extent.normalised for extent in self.grid],
            "reference": self.reference,
            "sizes": dict(self.sizes),
            "check": {"sizes": dict(self.check.sizes), "tolerance": self.check.tolerance},
            "compile": {
                "flags": list(self.compile.flags),
                "defines": dict(self.compile.defines),
            },
            "launch": {
                "shared_bytes": self.launch.shared_bytes.normalised,
                "warmup": self.launch.warmup,
                "measured": self.launch.measured,
                "time_limit_s": self.launch.time_limit_s,
            },
            "arguments": [_argument_document(argument) for argument in self.arguments],
        }
        if self.compile.standard:
            document["compile"]["standard"] = self.compile.standard
        for key, expression in (("flops", self.flops), ("min_bytes", self.min_bytes)):
            if expression is not None:
                document[key] = expression.normalised
        return document


def _argument_document(argument: Argument) -> dict[str, Any]:
    document: dict[str, Any] = {"name": argument.name, "type": argument.type}
    if isinstance(argument, ScalarArgument):
        return {**document, "value": argument.value.normalised}
    document |= {
        "shape": [extent.normalised for extent in argument.shape],
        "output": argument.output,
    }
    if argument.fill is not None:
        document["fill"] = argument.fill
    if argument.seed is not None:
        document["seed"] = argument.seed
    return document


def _dim3(extents: tuple[Expression, ...], names: Mapping[str, Number]) -> Dim3:
    x, y, z = (*(extent.integer(names) for extent in extents), 1, 1, 1)[:3]
    return x, y, z


def _within(
    value: int, most: int, what: str, expressions: tuple[Expression, ...], axis: int
) -> None:
    if not 1 <= value <= most:
        written = expressions[axis]
        raise SpecError(
            f"{value} {what} in {'xyz'[axis]} ({written.text}); 1 to {most} are possible",
            where=written.where,
        )


def _at_least(expression: Expression, names: Mapping[str, Number], least: int) -> int:
    value = expression.integer(names)
    if value < least:
        raise SpecError(
            f"{expression.text!r} is {value}; it has to be {least} or more", where=expression.where
        )
    return value


def _amount(expression: Expression | None, names: Mapping[str, Number]) -> float | None:
    """Operations or bytes, of which there are none or more."""
    if expression is None:
        return None
    value = float(expression.value(names))
    if not 0 <= value < math.inf:
        raise SpecError(
            f"{expression.text!r} is {value:g}; it has to be 0 or more", where=expression.where
        )
    return value


def _scalar(argument: ScalarArgument, names: Mapping[str, Number]) -> Number:
    """The value, which has to fit its type."""
    if argument.type.startswith(("float", "bfloat")):
        return float(argument.value.value(names))
    value = argument.value.integer(names)
    least, most = _range(argument.type)
    if not least <= value <= most:
        raise SpecError(
            f"{argument.value.text!r} is {value}, which does not fit {argument.type}",
            where=argument.value.where,
            hint=f"{argument.type} holds {least} to {most}",
        )
    return value


def _range(type_name: str) -> tuple[int, int]:
    if type_name == "bool":
        return 0, 1
    bits = int(type_name.removeprefix("u").removeprefix("int"))
    return (
        (0, 2**bits - 1) if type_name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    )
