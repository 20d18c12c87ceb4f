"""From TOML to a :class:`LaunchSpec`, strictly: every error names file, line and key."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from kernelprof.errors import KernelprofError
from kernelprof.launch.expressions import FUNCTIONS
from kernelprof.launch.flags import refusal, shell_characters
from kernelprof.launch.source import Block, find_block
from kernelprof.launch.spec import (
    FILLS,
    NO_REFERENCE,
    TYPES,
    Argument,
    ArrayArgument,
    Check,
    CompileOptions,
    Define,
    LaunchOptions,
    LaunchSpec,
    ScalarArgument,
    SpecError,
)
from kernelprof.launch.table import Table
from kernelprof.launch.toml_places import Places, places

if TYPE_CHECKING:
    from pathlib import Path

FILL_IN = "# kernelprof: please fill in"
"""The comment that ``kernelprof init`` leaves where it could not guess."""

KERNEL_NAME = r"""[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*(<[^;{}"'\\\n]*>)?"""
FUNCTION_NAME = r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*"
REFERENCE_NAME = r"[A-Za-z_][A-Za-z0-9_.]*(:[A-Za-z_][A-Za-z0-9_]*)?"
FILL_NAME = rf"{'|'.join(FILLS)}|.*\.npy|{FUNCTION_NAME}"
IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
STANDARD = r"(c|gnu)\+\+[0-9]{2}"

_AT_LINE = re.compile(r" ?\(at line (\d+), column (\d+)\)")


def load_spec(path: Path) -> LaunchSpec:
    """The specification of a ``.cu`` file (inside it or beside it), or of a ``.toml`` file."""
    block = find_block(path)
    if block is None:
        raise SpecError(
            "the kernel has no launch specification",
            where=str(path),
            hint=f"'kernelprof init {path}' writes one from the kernel's signature",
        )
    return read_spec(block)


def read_spec(block: Block) -> LaunchSpec:
    """Read and check one specification; its expressions have values at both sets of sizes."""
    try:
        data = tomllib.loads(block.text)
    except tomllib.TOMLDecodeError as error:
        raise _toml_error(block, str(error)) from error
    found = places(block.text)
    _refuse_unfilled(block, found)
    spec = _spec(Table(data, (), lambda path: block.where(found.line(path))), block)
    spec.resolve()
    spec.resolve(spec.check_sizes)
    return spec


def spec_from_document(document: dict[str, Any], path: Path) -> LaunchSpec:
    """The specification that :meth:`LaunchSpec.document` wrote; ``path`` is where it was."""
    block = Block("", path)
    return _spec(Table(document, (), lambda _path: str(path)), block)


def _toml_error(block: Block, message: str) -> SpecError:
    at = _AT_LINE.search(message)
    line = int(at[1]) if at else block.text.count("\n") + 1
    return SpecError(
        f"the specification is not valid TOML: {_AT_LINE.sub('', message)}",
        where=block.where(line) + (f" (column {at[2]} of the TOML text)" if at else ""),
        hint="strings stand in quotes, and a table is closed before the next one begins",
    )


def _refuse_unfilled(block: Block, found: Places) -> None:
    lines = [line for line, comment in found.comments if comment.strip().startswith(FILL_IN)]
    if not lines:
        return
    written = block.text.split("\n")[lines[0] - 1].split("#")[0].strip()
    more = f" (and {len(lines) - 1} more below)" if len(lines) > 1 else ""
    raise SpecError(
        f"{written.split('=')[0].strip() or 'the next line'} is still to be filled in{more}",
        where=block.where(lines[0]),
        hint=f"write what is right there, and take the comment '{FILL_IN}' away",
    )


def _spec(top: Table, block: Block) -> LaunchSpec:
    kernel = _matching(top, "kernel", KERNEL_NAME, 'a kernel such as "sgemm" or "sgemm<16>"')
    compile_options = _compile(top.table("compile"))
    sizes = _sizes(top.table("sizes"), compile_options)
    spec = LaunchSpec(
        kernel=kernel,
        block=top.expressions("block", most=3, example="[16, 16]"),
        grid=top.expressions("grid", most=3, example='["ceil_div(N, 16)", "ceil_div(M, 16)"]'),
        reference=_reference(top),
        flops=top.expression("flops"),
        min_bytes=top.expression("min_bytes"),
        sizes=sizes,
        check=_check(top.table("check"), sizes),
        arguments=_arguments(top),
        compile=compile_options,
        launch=_launch(top.table("launch")),
        path=block.path,
    )
    top.finish()
    if spec.reference != NO_REFERENCE and not spec.outputs:
        raise SpecError(
            "no argument is an output, so there is nothing to compare with the reference",
            where=top.where("arguments"),
            hint='add output = true to the arrays that the kernel writes, or reference = "none"',
        )
    _check_builtin(top, spec)
    return spec


def _check_builtin(top: Table, spec: LaunchSpec) -> None:
    """Refuse arrays whose number is not that of the built-in reference."""
    if ":" in spec.reference or spec.reference == NO_REFERENCE:
        return
    from kernelprof.launch.references import find_builtin

    builtin = find_builtin(spec.reference)
    arrays = [each for each in spec.arguments if isinstance(each, ArrayArgument)]
    inputs, outputs = len(arrays) - len(spec.outputs), len(spec.outputs)
    if (inputs, outputs) != (builtin.inputs, 1):
        top.refuse(
            "reference",
            f"the reference {builtin.name!r} ({builtin.summary}) takes {builtin.inputs} input "
            f"array{'s' * (builtin.inputs != 1)} and one output; the arguments have {inputs} and "
            f"{outputs}",
            hint='mark outputs with output = true, or name a function of yours: "module:function"',
        )


def _matching(table: Table, key: str, pattern: str, expected: str) -> str:
    table.need(key, (str,), expected)
    value = table.text(key) or ""
    if not re.fullmatch(pattern, value):
        table.refuse(key, f"{key} {value!r} is not {expected}")
    return value


def _reference(top: Table) -> str:
    expected = '"gemm" or another built-in, "module:function", or "none"'
    reference = _matching(top, "reference", REFERENCE_NAME, expected)
    if ":" in reference or reference == NO_REFERENCE:
        return reference
    from kernelprof.launch.references import find_builtin

    try:
        find_builtin(reference)
    except KernelprofError as error:
        top.refuse("reference", error.what, error.hint)
    return reference


def _name(table: Table, key: str) -> None:
    if not re.fullmatch(IDENTIFIER, key):
        table.refuse(key, f"{key!r} is no name: letters, digits and _ make one")
    if key in FUNCTIONS:
        table.refuse(key, f"{key!r} is a function of expressions", hint="choose another name")


def _sizes(table: Table, options: CompileOptions) -> dict[str, int]:
    for key in table.data:
        _name(table, key)
        table.integer(key, least=1, most=2**48, default=1)
        if key in options.defines:
            table.refuse(key, f"{key!r} is a define, too", hint="keep one of them")
    return dict(table.data)


def _check(table: Table, sizes: dict[str, int]) -> Check:
    inner = table.table("sizes")
    for key in inner.data:
        inner.integer(key, least=1, most=2**32, default=1)
        if key not in sizes:
            inner.refuse(key, f"[sizes] has no {key!r}", hint="sizes are introduced there")
    tolerance = table.positive("tolerance", Check().tolerance)
    table.finish()
    return Check(sizes=dict(inner.data), tolerance=tolerance)


def _compile(table: Table) -> CompileOptions:
    flags = table.take("flags", (list,), 'a list such as ["--use_fast_math"]') or []
    for index, flag in enumerate(flags):
        if not isinstance(flag, str) or not flag.startswith("-"):
            raise SpecError(
                f"a flag is {flag!r}, and has to be a string that begins with -",
                where=table.where("flags", index),
                hint='a flag and its value are one string: "--maxrregcount=64"',
            )
    for index, flag in enumerate(flags):
        if (wrong := refusal(flag)) is not None:
            raise SpecError(wrong[0], where=table.where("flags", index), hint=wrong[1])
    inner = table.table("defines")
    defines: dict[str, Define] = {}
    for key in inner.data:
        _name(inner, key)
        value = inner.take(key, (int, float, str, bool), "a number or a string")
        if isinstance(value, str) and (character := shell_characters(value)) is not None:
            inner.refuse(
                key,
                f"{key} holds {character!r}, which a shell takes for more than text",
                hint="write it without $, `, \\ and control characters",
            )
        defines[key] = int(value) if isinstance(value, bool) else value
    standard = table.text("standard")
    if standard is not None and not re.fullmatch(STANDARD, standard):
        table.refuse("standard", f"standard {standard!r} is none", hint='for example "c++17"')
    table.finish()
    return CompileOptions(flags=tuple(flags), defines=defines, standard=standard)


def _launch(table: Table) -> LaunchOptions:
    default = LaunchOptions()
    options = LaunchOptions(
        shared_bytes=table.expression("shared_bytes") or default.shared_bytes,
        warmup=table.integer("warmup", least=0, most=100_000, default=default.warmup),
        measured=table.integer("measured", least=1, most=100_000, default=default.measured),
        time_limit_s=table.positive("time_limit_s", default.time_limit_s),
    )
    table.finish()
    return options


def _arguments(top: Table) -> tuple[Argument, ...]:
    arguments: list[Argument] = []
    for table in top.tables("arguments"):
        argument = _argument(table)
        if any(argument.name == other.name for other in arguments):
            table.refuse("name", f"a second argument is called {argument.name!r}")
        arguments.append(argument)
    return tuple(arguments)


def _argument(table: Table) -> Argument:
    name = _matching(table, "name", IDENTIFIER, 'a name such as "A"')
    type_name = table.need("type", (str,), '"float32" or another type')
    if type_name not in TYPES:
        table.refuse("type", f"there is no type {type_name!r}", hint=f"known: {', '.join(TYPES)}")
    if ("value" in table.data) == ("shape" in table.data):
        raise SpecError(
            f"argument {name!r} has to have either a shape (an array) or a value (a scalar)",
            where=table.where(),
            hint='shape = ["M", "K"], or value = "M"',
        )
    if "value" in table.data:
        value = table.expression("value")
        assert value is not None
        table.finish()
        return ScalarArgument(name=name, type=type_name, value=value)
    output = bool(table.take("output", (bool,), "true or false"))
    fill = table.text("fill") or (None if output else "random")
    if fill is not None and not re.fullmatch(FILL_NAME, fill):
        table.refuse(
            "fill",
            f"there is no fill {fill!r}",
            f'{", ".join(FILLS)}, a .npy file, or "module:function"',
        )
    seed = table.integer("seed", least=0, most=2**32 - 1, default=-1)
    shape = table.expressions("shape", most=8, example='["M", "K"]')
    table.finish()
    return ArrayArgument(
        name=name,
        type=type_name,
        shape=shape,
        fill=fill,
        seed=None if seed < 0 else seed,
        output=output,
    )
