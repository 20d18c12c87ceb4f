"""A first launch specification for a kernel: what can be guessed, and marks where it cannot."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.errors import InputError
from kernelprof.files import is_plain
from kernelprof.launch import syntax
from kernelprof.launch.guess import Guesses, guess
from kernelprof.launch.read_spec import FILL_IN
from kernelprof.launch.signature import choose, declared_kernels, quoted_includes
from kernelprof.launch.source import (
    cut_block,
    read_source,
    refuse_other_than_file,
    sidecar,
    with_block,
)
from kernelprof.launch.usage import constants, undefined_macros, usage
from kernelprof.model.specification import TOLERANCE, default_tolerance

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.launch.signature import KernelSignature


@dataclass(frozen=True, slots=True)
class Draft:
    """A source with its new specification, not yet written anywhere."""

    kernel: str
    text: str
    """The whole source."""
    unfilled: tuple[tuple[int, str], ...]
    """Lines of the source that have to be filled in, from 1, and what stands there."""


def draft(path: Path, *, kernel: str | None = None, force: bool = False) -> Draft:
    """The source with a specification in it; one that is there is replaced only by ``force``."""
    refuse_other_than_file(path, hint="name the .cu file of a kernel")
    source = read_source(path)
    if is_plain(sidecar(path)):
        raise InputError(
            "the kernel has a specification beside it",
            where=str(sidecar(path)),
            hint="remove that file to get a new one inside the source",
        )
    old = cut_block(source, path)
    if old is not None and not force:
        raise InputError(
            "the kernel has a specification already",
            where=old.where(0),
            hint="--force replaces it",
        )
    root = syntax.parse(source)
    declared = declared_kernels(root)
    chosen = choose([one.kernel for one in declared], kernel, str(path))
    if not chosen.readable:
        raise InputError(
            f"the signature of {chosen.name} cannot be read",
            where=f"{path}:{chosen.line}",
            hint="macros or #if between its parameters stand in the way; write the "
            "specification by hand (docs/launch-specification.md)",
        )
    node = next(one.node for one in declared if one.kernel is chosen)
    guesses = guess(chosen, usage(node), constants(root), kernel)
    if not quoted_includes(source):
        parameters = [parameter.name for parameter in chosen.parameters]
        macros = undefined_macros(root, node, parameters)
        guesses.macros = [name for name in macros if name not in guesses.defines]
    text = with_block(source, _toml(chosen, guesses), old)
    lines = enumerate(text.split("\n"), start=1)
    unfilled = tuple(
        (number, line.removeprefix("// ").split("  #")[0])
        for number, line in lines
        if line.startswith("// ") and line.rstrip().endswith(FILL_IN)
    )
    return Draft(chosen.name, text, unfilled)


def _toml(kernel: KernelSignature, guesses: Guesses) -> str:
    lines = [
        _line("kernel", guesses.kernel, f'"{kernel.name}<...>"'),
        _line("block", guesses.block, "[]"),
        _line("grid", guesses.grid, "[]"),
        _line("reference", guesses.reference, '"none"'),
    ]
    work = (("flops", guesses.flops), ("min_bytes", guesses.min_bytes))
    lines += [_line(key, value, "") for key, value in work if value is not None]
    if guesses.sizes:
        lines += ["", "[sizes]", *(f"{name} = {size}" for name, size in guesses.sizes.items())]
        lines += ["", "[check]", f"sizes = {_inline(guesses.check_sizes)}"]
        if _is_precise(guesses):
            lines.append(f"tolerance = {TOLERANCE!r}")
    if guesses.defines or guesses.macros:
        defines = _inline({**guesses.defines, **dict.fromkeys(guesses.macros, 1)})
        unsure = f"  {FILL_IN}" if guesses.macros else ""
        lines += ["", "[compile]", f"defines = {defines}{unsure}"]
    if guesses.shared_bytes is None:
        lines += ["", "[launch]", _line("shared_bytes", None, '"0"')]
    for parameter in kernel.parameters:
        name = parameter.name
        lines += ["", "[[arguments]]", _line("name", name or None, '""')]
        if parameter.tensor_map:
            lines.append(_line("tensor_map", None, '{ of = "", box = [] }'))
            continue
        lines.append(_line("type", guesses.types.get(name), '""'))
        if not parameter.pointer:
            lines.append(_line("value", guesses.values.get(name), '""'))
            continue
        lines.append(_line("shape", guesses.shapes.get(name), "[]"))
        fill = guesses.fills.get(name)
        if name in guesses.outputs:
            lines.append("output = true")
        if fill or name not in guesses.outputs:
            lines.append(_line("fill", fill or "random", ""))
    # The arrays that tensor maps point at are often no parameters.
    for _ in (parameter for parameter in kernel.parameters if parameter.tensor_map):
        lines += ["", "[[arguments]]", _line("name", None, '""'), _line("type", None, '""')]
        lines += [_line("shape", None, "[]"), "passed = false"]
    return "\n".join(lines)


def _is_precise(guesses: Guesses) -> bool:
    """Whether no type allows a larger error than others do; then the tolerance is written out."""
    types = guesses.types.values()
    return all(default_tolerance(each, types) == TOLERANCE for each in types)


def _line(key: str, value: str | list[str] | None, placeholder: str) -> str:
    if value is None:
        return f"{key} = {placeholder}  {FILL_IN}"
    if isinstance(value, list):
        written = [each if each.isdecimal() else json.dumps(each) for each in value]
        return f"{key} = [{', '.join(written)}]"
    return f"{key} = {json.dumps(value)}"


def _inline(values: dict[str, int]) -> str:
    return "{ " + ", ".join(f"{name} = {value}" for name, value in values.items()) + " }"
