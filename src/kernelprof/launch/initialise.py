"""A first launch specification for a kernel: what can be guessed, and marks where it cannot."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelprof.errors import InputError
from kernelprof.files import is_plain
from kernelprof.launch import syntax
from kernelprof.launch.chosen import chosen as chosen_of
from kernelprof.launch.guess import guess
from kernelprof.launch.overrides import version_beside
from kernelprof.launch.read_spec import FILL_IN
from kernelprof.launch.signature import (
    declared_kernels,
    includes,
    quoted_includes,
)
from kernelprof.launch.source import (
    block_lines,
    cut_block,
    local_includes,
    read_source,
    refuse_other_than_file,
    sidecar,
    with_block,
)
from kernelprof.launch.usage import undefined_macros
from kernelprof.model.specification import NO_REFERENCE, TOLERANCE, default_tolerance

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tree_sitter import Node

    from kernelprof.launch.guess import Guesses
    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.guesses import Array, Part
    from kernelprof.launch.signature import KernelSignature, Parameter
    from kernelprof.launch.source import Block

_IN_COMMENT = re.compile(r"(?<=  # )([^\n]*?\bline )(\d+)(?! of a file)")
"""Where in this source something is that speaks for a guess."""
_HEADER_FOLDERS = ("include", "inc", "Common", "common", "src")
_MOST_UP = 4
_UNCHECKED = "nothing says what has to come out, so the result is not checked"


@dataclass(frozen=True, slots=True)
class Draft:
    """A source with its new specification, not yet written anywhere."""

    kernel: str
    text: str
    """The whole source."""
    unfilled: tuple[tuple[int, str], ...]
    """Lines of the source that have to be filled in, from 1, and what stands there."""
    remarks: tuple[str, ...] = ()
    """What is to be known beside."""


@dataclass(frozen=True)
class Proposal:
    """What was guessed of a kernel; ``guesses`` may be completed before it is a draft."""

    path: Path
    source: str
    kernel: KernelSignature
    guesses: Guesses
    old: Block | None
    """The specification that it replaces."""
    asked: str | None = None
    """The name that the kernel was chosen by."""

    @property
    def toml(self) -> str:
        """The specification as it stands now."""
        return _toml(self.kernel, self.guesses)

    def blanks(self) -> tuple[str, ...]:
        """What nothing is known of: ``grid``, ``shape of x``."""
        found, argument = [], ""
        for line in self.toml.split("\n"):
            key, _, value = line.partition(" = ")
            if line == "[[arguments]]":
                argument = ""
            elif key == "name" and FILL_IN not in line:
                argument = f" of {json.loads(value)}"
            if line.endswith(FILL_IN):
                if key == "defines":
                    key = f"what {', '.join(self.guesses.macros)} stands for"
                found.append(f"{key}{argument}" if value else line.lstrip("# "))
        return tuple(found)

    def draft(self) -> Draft:
        """The source with it."""
        toml = _IN_COMMENT.sub(self._moved, self.toml)
        text = with_block(self.source, self._with_moved(toml), self.old)
        lines = enumerate(text.split("\n"), start=1)
        unfilled = tuple(
            (number, line.removeprefix("// ").rpartition(f"  {FILL_IN}")[0])
            for number, line in lines
            if line.startswith("// ") and line.rstrip().endswith(FILL_IN)
        )
        remarks = filter(None, (*self.guesses.remarks, self.guesses.differs))
        return Draft(self.kernel.name, text, unfilled, tuple(map(self._with_moved, remarks)))

    def _with_moved(self, text: str) -> str:
        """A text with the places in this source as they are once the specification is in it."""
        name = re.escape(self.path.name)
        return re.sub(rf"(?<![\w./-])({name}:)(\d+)", self._moved, text)

    def _moved(self, place: re.Match[str]) -> str:
        before, line = place[1], int(place[2])
        start, end = (0, 0) if self.old is None else (self.old.start, self.old.end)
        if line > end:
            line += block_lines(self.toml) - (end - start)
        return f"{before}{line}"


def propose(
    path: Path, *, kernel: str | None = None, force: bool = False, against: Path | None = None
) -> Proposal:
    """What is guessed of a kernel; a specification that is there is replaced only by ``force``.

    ``against`` is another version of the kernel, whose results are the reference.
    """
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
    chosen = chosen_of([one.kernel for one in declared], kernel, str(path), root)
    if not chosen.readable:
        raise InputError(
            f"the signature of {chosen.name} cannot be read",
            where=f"{path}:{chosen.line}",
            hint="macros or #if between its parameters stand in the way; write the "
            "specification by hand (docs/launch-specification.md)",
        )
    node = next(one.node for one in declared if one.kernel is chosen)
    guesses = guess(chosen, node, [root, *_included(path)], kernel)
    if not quoted_includes(source):
        parameters = [parameter.name for parameter in chosen.parameters]
        macros = undefined_macros(root, node, parameters)
        guesses.macros = [name for name in macros if name not in guesses.defines]
    guesses.flags = _include_flags(path)
    if guesses.flags:
        guesses.why["flags"] = "where headers that it includes lie"
    others = [one.kernel.name for one in declared if one.kernel is not chosen]
    if kernel is None and others:
        guesses.remarks.append(
            f"of {len(declared)} kernels this one was chosen by the launches in the file (--kernel "
            f"{others[0]} chooses another)"
        )
    if against is not None:
        guesses.reference = version_beside(against, path.parent)
        guesses.why["reference"] = "another version of the kernel"
    return Proposal(path, source, chosen, guesses, old, kernel)


def _include_flags(path: Path) -> list[str]:
    """Folders of headers that lie beside one of the source's own folders, as projects have them."""
    names = [each[1:-1] for each in includes(read_source(path)) if each[:1] in {'"', "<"}]
    found: dict[str, None] = {}
    for name in names:
        if is_plain(path.parent / name):
            continue
        for up, folder in enumerate(path.resolve().parents):
            if up > _MOST_UP:
                break
            for each in _HEADER_FOLDERS:
                if is_plain(folder / each / name):
                    found[f"-I{'../' * up}{each}"] = None
    return list(found)


def _included(path: Path) -> list[Node]:
    """The trees of the user's own files that a source includes."""
    found, _ = local_includes(path)
    return [syntax.parse(read_source(file)) for file in found.values()]


def draft(path: Path, *, kernel: str | None = None, force: bool = False) -> Draft:
    """The source with a specification in it; one that is there is replaced only by ``force``."""
    return propose(path, kernel=kernel, force=force).draft()


def _toml(kernel: KernelSignature, guesses: Guesses) -> str:
    why = guesses.why
    lines = [
        *([f"# {guesses.trouble}  {FILL_IN}"] if guesses.trouble else ()),
        _line("kernel", guesses.kernel, f'"{kernel.name}<...>"', why.get("kernel")),
        _line("block", _texts(guesses.block), "[]", why.get("block")),
        _line("grid", _texts(guesses.grid), "[]", why.get("grid")),
        _line("reference", guesses.reference or NO_REFERENCE, "", why.get("reference", _UNCHECKED)),
    ]
    work = (("flops", guesses.flops), ("min_bytes", guesses.min_bytes))
    lines += [_line(key, value, "") for key, value in work if value is not None]
    if guesses.sizes:
        lines += ["", "[sizes]"]
        for name, size in guesses.sizes.items():
            lines.append(f"{name} = {size}{_comment(why.get(f'sizes.{name}'))}")
        checked = f"sizes = {_inline(guesses.check_sizes)}{_comment(why.get('check'))}"
        lines += ["", "[check]", checked]
        if _is_precise(guesses):
            lines.append(f"tolerance = {TOLERANCE!r}")
    if guesses.defines or guesses.macros or guesses.flags:
        lines += ["", "[compile]"]
        if guesses.flags:
            lines.append(_line("flags", guesses.flags, "", why.get("flags")))
        if guesses.defines or guesses.macros:
            defines = _inline({**guesses.defines, **dict.fromkeys(guesses.macros, 1)})
            unsure = f"  {FILL_IN}" if guesses.macros else ""
            lines.append(f"defines = {defines}{unsure}")
    shared = guesses.shared_bytes
    if shared is None or shared.constant != 0:
        lines += ["", "[launch]"]
        text = None if shared is None else shared.text
        lines.append(_line("shared_bytes", text, '"0"', why.get("shared_bytes")))
    for parameter in kernel.parameters:
        lines += ["", "[[arguments]]", *_argument(parameter, guesses)]
    for array in guesses.arrays.values():
        if array.alias:
            lines += ["", "[[arguments]]", *_array(array), "passed = false"]
    # The arrays that tensor maps point at are often no parameters.
    for _ in (parameter for parameter in kernel.parameters if parameter.tensor_map):
        lines += ["", "[[arguments]]", _line("name", None, '""'), _line("type", None, '""')]
        lines += [_line("shape", None, "[]"), "passed = false"]
    return "\n".join(lines)


def _argument(parameter: Parameter, guesses: Guesses) -> list[str]:
    """The table of one parameter."""
    name = parameter.name
    lines = [_line("name", name or None, '""')]
    if parameter.tensor_map:
        return [*lines, _line("tensor_map", None, '{ of = "", box = [] }')]
    if name in guesses.structures:
        return [*lines, "members = [", *_members(guesses.structures[name], guesses), "]"]
    if not parameter.pointer:
        lines.append(_line("type", guesses.types.get(name), '""'))
        why = guesses.why.get(f"value.{name}")
        return [*lines, _line("value", guesses.values.get(name), '""', why)]
    array = guesses.arrays.get(name)
    if array is None:
        return [*lines, _line("type", None, '""'), _line("shape", None, "[]")]
    return _array(array)


def _members(parts: Sequence[Part], guesses: Guesses) -> Iterator[str]:
    """A line for each member of a structure."""
    for part in parts:
        keys: dict[str, Any] = {"name": part.name, "type": part.type, "of": part.of}
        if part.of is None and part.values is None:
            keys["value"] = guesses.values[part.key]
        keys["values"], keys["align"] = part.values, part.align
        given = (f"{key} = {json.dumps(each)}" for key, each in keys.items() if each is not None)
        why = guesses.why.get(f"value.{part.key}")
        yield f"    {{ {', '.join(given)} }},{_comment(why)}"


def _array(array: Array) -> list[str]:
    """The keys of an array."""
    lines = [_line("name", array.name, '""')]
    lines.append(_line("type", array.element.type or None, '""'))
    lines.append(_line("shape", array.dimensions, "[]", array.why))
    if array.output:
        lines.append("output = true")
    if array.fill is not None:
        lines.append(_line("fill", array.fill, "", array.why_fill))
    if array.limit is not None:
        lines.append(_line("limit", array.limit.text, ""))
    return lines


def _is_precise(guesses: Guesses) -> bool:
    """Whether no type allows a larger error than others do; then the tolerance is written out."""
    types = [
        *guesses.types.values(),
        *(a.element.type for a in guesses.arrays.values() if a.element.type),
    ]
    return all(default_tolerance(each, types) == TOLERANCE for each in types)


def _line(key: str, value: str | list[str] | None, placeholder: str, why: str | None = "") -> str:
    """A key with its value and what speaks for it; without a value what is to be filled in."""
    if value is None:
        return f"{key} = {placeholder}  {FILL_IN}"
    if isinstance(value, list):
        written = [each if each.isdecimal() else json.dumps(each) for each in value]
        return f"{key} = [{', '.join(written)}]{_comment(why)}"
    return f"{key} = {json.dumps(value)}{_comment(why)}"


def _comment(why: str | None) -> str:
    return f"  # {why}" if why else ""


def _texts(amounts: list[Amount] | None) -> list[str] | None:
    return None if amounts is None else [each.text for each in amounts]


def _inline(values: dict[str, int]) -> str:
    return "{ " + ", ".join(f"{name} = {value}" for name, value in values.items()) + " }"
