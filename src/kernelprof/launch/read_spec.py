"""From TOML to a :class:`LaunchSpec`, strictly: every error names file, line and key."""

from __future__ import annotations

import json
import math
import re
import tomllib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NoReturn, get_type_hints

import msgspec

from kernelprof.errors import KernelprofError
from kernelprof.launch.expressions import FUNCTIONS, Expression
from kernelprof.launch.flags import refusal, shell_characters
from kernelprof.launch.source import Block, find_block
from kernelprof.launch.spec import (
    NO_REFERENCE,
    TYPES,
    Argument,
    Check,
    CompileOptions,
    LaunchOptions,
    LaunchSpec,
    SpecError,
    SpecTable,
)
from kernelprof.launch.syntax import toml_places

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.launch.syntax import TomlPath, TomlPlaces

FILL_IN: Final = "# kernelprof: please fill in"
"""The comment that ``kernelprof init`` leaves where it could not guess."""

_TABLES: Final = {
    (): SpecTable,
    ("check",): Check,
    ("compile",): CompileOptions,
    ("launch",): LaunchOptions,
    ("arguments",): Argument,
}
_EXPRESSIONS: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("block", "grid", "shape"), (int, str)),
    **dict.fromkeys(("flops", "min_bytes", "shared_bytes", "value"), (int, float, str)),
}
"""The keys that hold expressions, and the types of a text or a number that stands for one."""

_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "bool | int | float | str": "a number or a string",
}
_AT_LINE = re.compile(r" ?\(at line (\d+), column (\d+)\)")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


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
    places = toml_places(block.text)
    _refuse_unfilled(block, places)
    spec = _Reading(block, places, data).spec()
    spec.resolve()
    spec.resolve(spec.check_sizes)
    return spec


def _toml_error(block: Block, message: str) -> SpecError:
    at = _AT_LINE.search(message)
    line = int(at[1]) if at else block.text.count("\n") + 1
    return SpecError(
        f"the specification is not valid TOML: {_AT_LINE.sub('', message)}",
        where=block.where(line) + (f" (column {at[2]} of the TOML text)" if at else ""),
        hint="strings stand in quotes, and a table is closed before the next one begins",
    )


def _refuse_unfilled(block: Block, places: TomlPlaces) -> None:
    lines = [line for line, comment in places.comments if comment.strip().startswith(FILL_IN)]
    if not lines:
        return
    written = block.text.split("\n")[lines[0] - 1].split("#")[0].strip()
    more = f" (and {len(lines) - 1} more below)" if len(lines) > 1 else ""
    raise SpecError(
        f"{written.split('=')[0].strip() or 'the next line'} is still to be filled in{more}",
        where=block.where(lines[0]),
        hint=f"write the right value there, and remove the comment '{FILL_IN}'",
    )


class _Reading:
    """One specification on its way from tables to a :class:`LaunchSpec`."""

    def __init__(self, block: Block, places: TomlPlaces, data: dict[str, Any]) -> None:
        self.block = block
        self.places = places
        self.data = data

    def spec(self) -> LaunchSpec:
        """The specification, if all of it can be used."""
        try:
            table = msgspec.convert(self._with_expressions(), SpecTable)
        except msgspec.ValidationError as error:
            self._explain(str(error))
        self._check_names(table)
        self._check_compile_options(table.compile)
        for path, value in (
            (("check", "tolerance"), table.check.tolerance),
            (("launch", "time_limit_s"), table.launch.time_limit_s),
        ):
            if math.isinf(value):
                self._refuse(path, f"{path[-1]} is {value}, and has to be finite")
        filled = [self._filled(index, each) for index, each in enumerate(table.arguments)]
        defines = {
            k: int(v) if v is True or v is False else v for k, v in table.compile.defines.items()
        }
        fields = msgspec.structs.asdict(table) | {
            "arguments": tuple(filled),
            "compile": msgspec.structs.replace(table.compile, defines=defines),
        }
        spec = LaunchSpec(**fields, path=self.block.path)
        self._check_reference(spec)
        return spec

    def _with_expressions(self) -> dict[str, Any]:
        """The tables with expressions in the place of the texts and numbers that stand for them."""
        found = self._located(self.data, ())
        launch, arguments = found.get("launch"), found.get("arguments")
        if isinstance(launch, dict):
            found["launch"] = self._located(launch, ("launch",))
        if isinstance(arguments, list):
            found["arguments"] = [
                self._located(each, ("arguments", index)) if isinstance(each, dict) else each
                for index, each in enumerate(arguments)
            ]
        return found

    def _located(self, table: dict[str, Any], path: TomlPath) -> dict[str, Any]:
        return {
            key: self._expression((*path, key), value, _EXPRESSIONS[key])
            if key in _EXPRESSIONS
            else value
            for key, value in table.items()
        }

    def _expression(self, path: TomlPath, value: Any, kinds: tuple[type, ...]) -> Any:
        """A value of these types as an expression, those of a list each; others as they are."""
        if isinstance(value, list):
            return [self._expression((*path, i), each, kinds) for i, each in enumerate(value)]
        if isinstance(value, bool) or not isinstance(value, kinds):
            return value
        return Expression(str(value), self._where(path))

    def _explain(self, message: str) -> NoReturn:
        """Raise the error for what msgspec says of a table: its place, and what would be right."""
        what, _, place = message.partition(" - at ")
        steps = _STEP.findall(place.partition("$")[2])
        path: TomlPath = tuple(int(index) if index else key for key, index in steps)
        if "[...]" in place or "`key`" in place:
            path, what = self._wrong_entry(path)
        named = re.search(r"(required|unknown) field `(.*)`", what)
        if named is None:
            key, value = _last(path), _shown(self._value(path))
            if "regex" in what or "enum" in what:
                self._refuse(path, f"{key} {value} is not valid", hint=_example(path))
            self._refuse(
                path, f"{key} is {value}, and has to be {_expected(what, path)}", _example(path)
            )
        key = named[2]
        known = _TABLES[_names(path)].__struct_fields__
        if named[1] == "unknown":
            close = get_close_matches(key, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
            self._refuse((*path, key), f"there is no key {key!r} here", hint=hint)
        table = f"[{dotted(path)}]" if path else "the specification"
        self._refuse(path, f"{table} has no {key!r}", hint=_example((*path, key)))

    def _wrong_entry(self, path: TomlPath) -> tuple[TomlPath, str]:
        """The first wrong entry of a table of names, which msgspec does not name."""
        kind = get_type_hints(_TABLES[_names(path[:-1])], include_extras=True)[str(path[-1])]
        for key, value in self._value(path).items():
            try:
                msgspec.convert({key: value}, kind)
            except msgspec.ValidationError as error:
                if "`key`" not in str(error):
                    return (*path, key), str(error).partition(" - at ")[0]
                wrong = f"{key!r} is not a name of letters, digits and underscores"
                if key in FUNCTIONS:
                    wrong = f"{key!r} is a function of expressions"
                self._refuse((*path, key), wrong, hint="choose another name")
        raise AssertionError(path)

    def _check_names(self, table: SpecTable) -> None:
        """Refuse names that mean two things or none, and texts with control characters."""
        for name in table.sizes:
            if name in table.compile.defines:
                self._refuse(("sizes", name), f"{name!r} is a define, too", hint="keep one of them")
        for name in table.check.sizes:
            if name not in table.sizes:
                self._refuse(
                    ("check", "sizes", name),
                    f"[sizes] has no {name!r}",
                    hint="sizes are introduced there",
                )
        if not table.kernel.isprintable():
            self._refuse(("kernel",), "kernel holds control characters")
        for index, argument in enumerate(table.arguments):
            at = ("arguments", index)
            if any(argument.name == each.name for each in table.arguments[:index]):
                self._refuse((*at, "name"), f"a second argument is called {argument.name!r}")
            if argument.fill is not None and not argument.fill.isprintable():
                self._refuse((*at, "fill"), "fill holds control characters")

    def _check_compile_options(self, options: CompileOptions) -> None:
        """Refuse flags that change more than the kernel, and texts that a shell would run."""
        for index, flag in enumerate(options.flags):
            if (wrong := refusal(flag)) is not None:
                self._refuse(("compile", "flags", index), *wrong)
        for name, value in options.defines.items():
            character = shell_characters(value) if isinstance(value, str) else None
            if character is not None:
                self._refuse(
                    ("compile", "defines", name),
                    f"{name} holds {character!r}, which a shell takes for more than text",
                    hint="write it without $, `, \\ and control characters",
                )

    def _filled(self, index: int, argument: Argument) -> Argument:
        """An argument with its default fill, if it is either an array or a scalar."""
        at = ("arguments", index)
        if (argument.value is None) == (argument.shape is None):
            raise SpecError(
                f"argument {argument.name!r} has to have either a shape (an array) or a value "
                "(a scalar)",
                where=self._where(at),
                hint='shape = ["M", "K"], or value = "M"',
            )
        table = self.data["arguments"][index]
        of_an_array = next((key for key in table if key in {"fill", "seed", "output"}), None)
        if argument.value is not None and of_an_array is not None:
            self._refuse((*at, of_an_array), f"a scalar has no {of_an_array!r}")
        if argument.value is not None or argument.output or argument.fill is not None:
            return argument
        return msgspec.structs.replace(argument, fill="random")

    def _check_reference(self, spec: LaunchSpec) -> None:
        """Refuse a reference that does not exist or that does not fit the arrays."""
        if spec.reference != NO_REFERENCE and not spec.outputs:
            raise SpecError(
                "no argument is an output, so there is nothing to compare with the reference",
                where=self._where(("arguments",)),
                hint="add output = true to the arrays that the kernel writes, or reference = "
                '"none"',
            )
        if ":" in spec.reference or spec.reference == NO_REFERENCE:
            return
        from kernelprof.launch.references import find_builtin

        arrays = sum(each.shape is not None for each in spec.arguments)
        outputs = len(spec.outputs)
        try:
            find_builtin(spec.reference, arrays - outputs, outputs)
        except KernelprofError as error:
            self._refuse(("reference",), error.what, hint=error.hint)

    def _value(self, path: TomlPath) -> Any:
        found: Any = self.data
        for step in path:
            found = found[step]
        return found

    def _where(self, path: TomlPath) -> str:
        place = self.block.where(self.places.line(path))
        return f"{place}: {dotted(path)}" if path else place

    def _refuse(self, path: TomlPath, what: str, hint: str | None = None) -> NoReturn:
        raise SpecError(what, where=self._where(path), hint=hint)


def dotted(path: TomlPath) -> str:
    """A path as people write it: ``arguments[0].shape``."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def _names(path: TomlPath) -> tuple[str, ...]:
    """A path without the numbers of entries: what :data:`_TABLES` knows a table by."""
    return tuple(step for step in path if isinstance(step, str))


def _last(path: TomlPath) -> str:
    """The key that a path ends with, and the number of its entry."""
    return dotted(path[-2:] if isinstance(path[-1], int) else path[-1:])


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else f"a list of {len(value)}"
    return json.dumps(value, default=str, ensure_ascii=False)


def _expected(what: str, path: TomlPath) -> str:
    """What msgspec expects at a path, in words: ``Expected `int` >= 1, got ...``."""
    kind, bounds = re.findall(r"`(.*?)(?: \| null)?`([^,]*)", what)[0]
    if kind == "Expression":
        whole = "" if float in _EXPRESSIONS[_names(path)[-1]] else "whole "
        return f"a {whole}number or an expression"
    return f"{_KINDS.get(kind, kind)}{bounds}"


def _example(path: TomlPath) -> str:
    """What may stand at a path, as TOML."""
    *table, key = _names(path)
    if key == "type":
        return f"known are {', '.join(TYPES)}"
    kind = get_type_hints(_TABLES.get(tuple(table), SpecTable), include_extras=True).get(key)
    metas = getattr(kind, "__metadata__", ())
    examples = [each for meta in metas for each in meta.examples or ()]
    shown = " or ".join(json.dumps(each) for each in examples)
    return f"for example {key} = {shown}" if shown else "see docs/launch-specification.md"
