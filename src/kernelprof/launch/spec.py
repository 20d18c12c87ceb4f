"""A launch specification: its tables, what they mean at given sizes, and their JSON Schema.

``read_spec`` makes one from TOML.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 (msgspec reads the annotations)
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta

from kernelprof.errors import InputError
from kernelprof.launch.expressions import FUNCTIONS, MAX_LENGTH, Expression, Number
from kernelprof.model.specification import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Mapping

Dim3 = tuple[int, int, int]
Amounts = TypeVar("Amounts", int, float)
Define = int | float | str
Type = Literal[
    "float16", "bfloat16", "float32", "float64", "bool",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
TYPES: Final = get_args(Type)
"""Types of arguments, by their NumPy names; ``bfloat16`` is CUDA's ``__nv_bfloat16``."""

FILLS: Final = ("random", "zeros", "arange")

# What every GPU since compute capability 3.0 allows (CUDA C++ Programming Guide, "Features and
# Technical Specifications"); a device may allow less of the product through its registers.
MAX_BLOCK: Dim3 = (1024, 1024, 64)
MAX_THREADS = 1024
MAX_GRID: Dim3 = (2**31 - 1, 65535, 65535)

_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_FUNCTION = rf"[A-Za-z_][A-Za-z0-9_.]*:{_IDENTIFIER}"
_KERNEL = rf"{_IDENTIFIER}(::{_IDENTIFIER})*(<[^;{{}}\"'\\\n]*>)?"
_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_LENGTH}

Dimension = Annotated[Expression, Meta(extra_json_schema={"anyOf": [_TEXT, {"type": "integer"}]})]
"""A whole number, or an expression that gives one."""
Amount = Annotated[Expression, Meta(extra_json_schema={"anyOf": [_TEXT, {"type": "number"}]})]
"""A number, or an expression that gives one."""
Dimensions = Annotated[tuple[Dimension, ...], Meta(min_length=1, max_length=3)]
Name = Annotated[str, Meta(pattern=f"^(?!({'|'.join(sorted(FUNCTIONS))})$){_IDENTIFIER}$")]
"""A name that expressions may use."""
Positive = Annotated[float, Meta(gt=0)]


class SpecError(InputError):
    """A launch specification that cannot be used as it is written."""


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a specification, with the keys that it may have."""


class Argument(Table, frozen=True, kw_only=True):
    """An argument: a device array, which has a shape, or a scalar, which has a value.

    ``fill`` is ``None`` for an output that starts poisoned with NaN.
    """

    name: Annotated[str, Meta(pattern=f"^{_IDENTIFIER}$", examples=["A"])]
    type: Annotated[Type, Meta(examples=["float32"])]
    shape: Annotated[
        Annotated[tuple[Dimension, ...], Meta(min_length=1, max_length=8)] | None,
        Meta(examples=[["M", "K"]]),
    ] = None
    fill: Annotated[
        Annotated[str, Meta(pattern=rf"^({'|'.join(FILLS)}|.*\.npy|{_FUNCTION})$")] | None,
        Meta(examples=[*FILLS, "values.npy", "module:function"]),
    ] = None
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] | None = None
    output: bool = False
    value: Amount | None = None

    @property
    def file(self) -> str | None:
        """The ``.npy`` file with its values, relative to the specification, if there is one."""
        return self.fill if self.fill is not None and self.fill.endswith(".npy") else None

    @property
    def function(self) -> str | None:
        """The ``module:function`` that gives its values, if one does."""
        return self.fill if self.fill is not None and ":" in self.fill else None


class Check(Table, frozen=True, kw_only=True):
    """Sizes to compare with the reference at, and how far off the result may be."""

    sizes: dict[Name, Annotated[int, Meta(ge=1, le=2**32)]] = {}
    tolerance: Annotated[Positive, Meta(description="largest relative Frobenius error")] = TOLERANCE


class CompileOptions(Table, frozen=True, kw_only=True):
    """The options of ``nvcc`` beside the architecture and ``-lineinfo``."""

    flags: Annotated[
        tuple[Annotated[str, Meta(pattern="^-")], ...],
        Meta(
            description="options that change nothing but the kernel; those that run programs or "
            "write elsewhere are refused",
            examples=[["--use_fast_math", "--maxrregcount=64"]],
        ),
    ] = ()
    defines: Annotated[
        dict[Name, int | float | str | bool],
        Meta(description="macros; numeric ones can be used in expressions"),
    ] = {}
    standard: Annotated[
        Annotated[str, Meta(pattern=r"^(c|gnu)\+\+[0-9]{2}$")] | None, Meta(examples=["c++17"])
    ] = None

    def fixed(self) -> tuple[str, ...]:
        """The options that the other keys stand for; the value of a define is one, with commas."""
        standard = (f"-std={self.standard}",) if self.standard else ()
        return (*standard, *(f"-D{name}={value}" for name, value in self.defines.items()))

    def arguments(self) -> tuple[str, ...]:
        """All options, as they are recorded."""
        return (*self.fixed(), *self.flags)


class LaunchOptions(Table, frozen=True, kw_only=True):
    """How often the kernel runs, and for how long at most."""

    shared_bytes: Annotated[Amount, Meta(description="dynamic shared memory of a block")] = (
        msgspec.field(default_factory=lambda: Expression("0"))
    )
    warmup: Annotated[int, Meta(ge=0, le=100_000)] = 5
    measured: Annotated[int, Meta(ge=1, le=100_000)] = 20
    time_limit_s: Positive = 60.0


@dataclass(frozen=True, slots=True)
class ResolvedArray:
    """An array argument at given sizes."""

    argument: Argument
    index: int
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ResolvedScalar:
    """A scalar argument at given sizes."""

    argument: Argument
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


class SpecTable(Table, frozen=True, kw_only=True):
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
            pattern=f"^[A-Za-z_][A-Za-z0-9_.]*(:{_IDENTIFIER})?$",
            description="a built-in reference, module:function, or none",
            examples=["gemm", "module:function", "none"],
        ),
    ]
    flops: Annotated[
        Amount | None, Meta(description="floating-point operations that the problem needs")
    ] = None
    min_bytes: Annotated[
        Amount | None,
        Meta(description="bytes that have to move between device memory and the chip at least"),
    ] = None
    sizes: Annotated[
        dict[Name, Annotated[int, Meta(ge=1, le=2**48)]],
        Meta(description="names for expressions, and their values in a measurement"),
    ] = {}
    check: Check = msgspec.field(default_factory=Check)
    compile: CompileOptions = msgspec.field(default_factory=CompileOptions)
    launch: LaunchOptions = msgspec.field(default_factory=LaunchOptions)
    arguments: Annotated[
        tuple[Argument, ...],
        Meta(description="one for each of the kernel's parameters, in their order"),
    ] = ()


class LaunchSpec(SpecTable, frozen=True, kw_only=True):
    """A specification that was read, and the file that it stands in."""

    path: Path | None = None

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The arrays that the kernel writes, in the order of its parameters."""
        return tuple(argument for argument in self.arguments if argument.output)

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
            options = msgspec.structs.replace(options, defines={**options.defines, **defines})
        return msgspec.structs.replace(self, sizes={**self.sizes, **(sizes or {})}, compile=options)

    def resolve(self, sizes: Mapping[str, int] | None = None) -> ResolvedLaunch:
        """Work out all expressions at the given sizes, else at ``[sizes]``."""
        sizes = dict(self.sizes if sizes is None else sizes)
        numbers = {k: v for k, v in self.compile.defines.items() if not isinstance(v, str)}
        names: dict[str, Number] = {**numbers, **sizes}
        grid = _dim3(self.grid, names, MAX_GRID, "blocks of the grid")
        block = _dim3(self.block, names, MAX_BLOCK, "threads of a block")
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
            shared_bytes=_whole(self.launch.shared_bytes, names, 0),
            sizes=sizes,
            arguments=tuple(
                ResolvedScalar(a, i, _scalar(a.type, a.value, names))
                if a.value is not None
                else ResolvedArray(a, i, tuple(_whole(e, names, 1) for e in a.shape or ()))
                for i, a in enumerate(self.arguments)
            ),
            flops=_amount(self.flops, names),
            min_bytes=_amount(self.min_bytes, names),
        )

    def document(self) -> dict[str, Any]:
        """The specification with every default written out; layout does not count.

        It is valid input again: reading it gives an equal specification.
        """
        document = {
            key: _plain(value)
            for key, value in msgspec.structs.asdict(self).items()
            if key != "path" and value is not None
        }
        for argument in document["arguments"]:
            if "value" in argument:
                del argument["output"]
        return document


def schema() -> str:
    """The JSON Schema of a specification."""
    (reference,), definitions = msgspec.json.schema_components(
        [SpecTable], schema_hook=lambda _kind: {}
    )
    for definition in definitions.values():
        for key, described in definition["properties"].items():
            definition["properties"][key] = _without_null(described)
    of_an_array = [{"required": [key]} for key in ("shape", "fill", "seed", "output")]
    a_scalar = {"required": ["value"], "not": {"anyOf": of_an_array}}
    definitions["Argument"]["oneOf"] = [
        {**of_an_array[0], "not": {"required": ["value"]}},
        a_scalar,
    ]
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:kernelprof:launch:v1",
        **reference,
        "$defs": definitions,
    }
    return json.dumps(document, indent=2, default=_plain) + "\n"


def _without_null(described: dict[str, Any]) -> dict[str, Any]:
    """A key's description without null, which TOML does not have: such a key is left out."""
    if {"type": "null"} not in described.get("anyOf", ()):
        return described
    kept = {key: value for key, value in described.items() if key not in ("anyOf", "default")}
    return {**kept, **described["anyOf"][0]}


def _plain(value: Any) -> Any:
    """A value as JSON has it; what has no value is left out."""
    if isinstance(value, Expression):
        return value.normalised
    if isinstance(value, Table):
        items = msgspec.structs.asdict(value).items()
        return {key: _plain(each) for key, each in items if each is not None}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _dim3(
    extents: tuple[Expression, ...], names: Mapping[str, Number], most: Dim3, what: str
) -> Dim3:
    found = [
        _whole(extent, names, 1, limit, f" {what} in {axis}")
        for extent, limit, axis in zip(extents, most, "xyz", strict=False)
    ]
    x, y, z = (*found, 1, 1, 1)[:3]
    return x, y, z


def _whole(
    expression: Expression,
    names: Mapping[str, Number],
    least: int,
    most: float = math.inf,
    what: str = "",
) -> int:
    return _bounded(expression, expression.integer(names), least, most, what)


def _amount(expression: Expression | None, names: Mapping[str, Number]) -> float | None:
    """Operations or bytes, of which there are none or more."""
    if expression is None:
        return None
    return _bounded(expression, float(expression.value(names)), 0, math.inf)


def _scalar(type_name: str, expression: Expression, names: Mapping[str, Number]) -> Number:
    """A scalar's value, which has to fit its type."""
    if type_name.startswith(("float", "bfloat")):
        return float(expression.value(names))
    least, most = 0, 1
    if type_name != "bool":
        values = 1 << int(type_name.removeprefix("u").removeprefix("int"))
        least = 0 if type_name.startswith("u") else -values // 2
        most = least + values - 1
    return _whole(expression, names, least, most, f", which does not fit {type_name}")


def _bounded(
    expression: Expression, value: Amounts, least: int, most: float, what: str = ""
) -> Amounts:
    if not least <= value <= most:
        possible = f"{least} or more" if most == math.inf else f"{least} to {most}"
        raise SpecError(
            f"{expression.text!r} is {value}{what}; it has to be {possible}", where=expression.where
        )
    return value
