"""From TOML to a :class:`LaunchSpec`, strictly: every error names file, line and key."""

from __future__ import annotations

import json
import math
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NoReturn, get_args, get_type_hints

import msgspec

from kernelprof.errors import KernelprofError
from kernelprof.files import LARGEST_TOML, size_in_words
from kernelprof.launch.build.options import explain_refusal, shell_characters
from kernelprof.launch.source import SpecBlock, find_block
from kernelprof.launch.specification.elements import TYPES, is_floating
from kernelprof.launch.specification.expressions import (
    FUNCTIONS,
    Expression,
    SpecError,
)
from kernelprof.launch.specification.spec import LaunchSpec
from kernelprof.launch.specification.tables import (
    Argument,
    Check,
    CompileOptions,
    LaunchOptions,
    Member,
    SpecTable,
)
from kernelprof.launch.specification.tensor_maps import TensorMap
from kernelprof.launch.syntax import toml_places
from kernelprof.model.specification import NO_REFERENCE, is_version
from kernelprof.model.toml_text import TomlError, read_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kernelprof.launch.syntax import TomlPath, TomlPlaces

    _Mistake = tuple[TomlPath, str, str | None]

FILL_IN: Final = "# kernelprof: please fill in"
"""The comment that ``kernelprof init`` leaves where it could not guess."""
_TABLES: Final = {
    (): SpecTable,
    ("check",): Check,
    ("compile",): CompileOptions,
    ("launch",): LaunchOptions,
    ("arguments",): Argument,
    ("arguments", "tensor_map"): TensorMap,
    ("arguments", "members"): Member,
}
_EXPRESSIONS: Final[dict[str, tuple[type, ...]]] = {
    **dict.fromkeys(("block", "grid", "cluster", "shape", "limit"), (int, str)),
    **dict.fromkeys(("box", "dims", "strides", "element_strides"), (int, str)),
    **dict.fromkeys(("flops", "min_bytes", "shared_bytes", "value", "values"), (int, float, str)),
}
"""The keys that hold expressions, and the types of a text or a number that stands for one."""
_OF_NAMES: Final = (("sizes",), ("check", "sizes"), ("compile", "defines"))
"""The tables whose keys are names that a specification chooses."""
_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "bool | int | float | str": "a number or a string",
}
_ONE_OF: Final = ("shape", "value", "tensor_map", "members")
_MEMBER_KINDS: Final = ("value", "values", "of")
_OF_ARRAYS: Final = frozenset(("fill", "limit", "seed", "output", "passed"))
_OF_WHOLE: Final = frozenset(("permutation", "offsets"))
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def load_spec(path: Path) -> LaunchSpec:
    """Read the specification in or beside a ``.cu`` file, or a ``.toml`` file."""
    block = find_block(path)
    if block is None:
        raise SpecError(
            "the kernel has no launch specification",
            where=str(path),
            hint=f"'kernelprof init {path}' writes one from the kernel's signature",
        )
    return read_spec(block)


def read_spec(block: SpecBlock) -> LaunchSpec:
    """Read a specification, and check that it resolves at both sets of sizes."""
    try:
        if len(block.text) > LARGEST_TOML:
            raise TomlError(f"it is larger than {size_in_words(LARGEST_TOML)}")
        data = read_toml(block.text)
    except TomlError as error:
        raise _toml_error(block, error) from error
    places = toml_places(block.text)
    _refuse_unfilled(block, places)
    spec = _SpecReader(block, places, data).spec()
    spec.resolve()
    spec.resolve(spec.check_sizes)
    return spec


def _toml_error(block: SpecBlock, error: TomlError) -> SpecError:
    column = f" (column {error.column} of the TOML text)" if error.column else ""
    return SpecError(
        f"the specification is not valid TOML: {error}",
        where=block.where(error.line or 1) + column,
        hint="quote strings, and close all brackets and braces",
    )


def _refuse_unfilled(block: SpecBlock, places: TomlPlaces) -> None:
    lines = [line for line, comment in places.comments if comment.strip().startswith(FILL_IN)]
    if not lines:
        return
    written = block.text.split("\n")[lines[0] - 1].split("#")[0].strip()
    more = f" (and {len(lines) - 1} more below)" if len(lines) > 1 else ""
    raise SpecError(
        f"{written.split('=')[0].strip() or 'the next line'} must still be filled in{more}",
        where=block.where(lines[0]),
        hint=f"write the right value there, and remove the comment '{FILL_IN}'",
    )


class _SpecReader:
    def __init__(self, block: SpecBlock, places: TomlPlaces, data: dict[str, Any]) -> None:
        self.block = block
        self.places = places
        self.data = data

    def spec(self) -> LaunchSpec:
        """Return the specification; :class:`SpecError` for the first mistake."""
        try:
            table = msgspec.convert(self._with_expressions(self.data, ()), SpecTable)
        except msgspec.ValidationError as error:
            self._explain(str(error))
        for path, what, hint in self._mistakes(table):
            self._refuse(path, what, hint)
        defines = {
            name: int(value) if isinstance(value, bool) else value
            for name, value in table.compile.defines.items()
        }
        fields = msgspec.structs.asdict(table) | {
            "arguments": tuple(map(_with_default_fill, table.arguments)),
            "compile": msgspec.structs.replace(table.compile, defines=defines),
        }
        spec = LaunchSpec(**fields, path=self.block.path)
        check = msgspec.structs.replace(spec.check, tolerance=spec.tolerance)
        return msgspec.structs.replace(spec, check=check)

    def _with_expressions(self, value: Any, path: TomlPath) -> Any:
        kinds = _EXPRESSIONS.get(str(next(reversed(_names(path)), None)), ())
        if isinstance(value, dict) and path not in _OF_NAMES:
            return {key: self._with_expressions(each, (*path, key)) for key, each in value.items()}
        if isinstance(value, list):
            return [self._with_expressions(each, (*path, i)) for i, each in enumerate(value)]
        if isinstance(value, bool) or not isinstance(value, kinds):
            return value
        return Expression(str(value), self._where(path))

    def _explain(self, message: str) -> NoReturn:
        what, _, location = message.partition(" - at ")
        steps = _STEP.findall(location.partition("$")[2])
        path: TomlPath = tuple(int(index) if index else key for key, index in steps)
        if "[...]" in location or "`key`" in location:
            path, what = self._wrong_entry(path)
        field_match = re.search(r"(required|unknown) field `(.*)`", what)
        if field_match is None:
            key, value = _last_key(path), _format_value(self._value(path))
            if "regex" in what or "enum" in what:
                self._refuse(path, f"{key} {value} is not valid", hint=_hint_example(path))
            self._refuse(
                path,
                f"{key} is {value}, but must be {_expected_type(what, path)}",
                _hint_example(path),
            )
        key = field_match[2]
        keys = _TABLES[_names(path)].__struct_fields__
        if field_match[1] == "unknown":
            close = get_close_matches(key, keys, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"available: {', '.join(keys)}"
            self._refuse((*path, key), f"there is no key {key!r} here", hint=hint)
        table = f"[{dotted(path)}]" if path else "the specification"
        self._refuse(path, f"{table} has no {key!r}", hint=_hint_example((*path, key)))

    def _wrong_entry(self, path: TomlPath) -> tuple[TomlPath, str]:
        """The first wrong entry of a table of names, which msgspec does not name."""
        kind = get_type_hints(_TABLES[_names(path[:-1])], include_extras=True)[str(path[-1])]
        for key, value in self._value(path).items():
            try:
                msgspec.convert({key: value}, kind)
            except msgspec.ValidationError as error:
                if "`key`" not in str(error):
                    return (*path, key), str(error).partition(" - at ")[0]
                wrong = f"{key!r} is not a valid name (letters, digits and underscores)"
                if key in FUNCTIONS:
                    wrong = f"{key!r} is the name of a function in expressions"
                self._refuse((*path, key), wrong, hint="choose another name")
        raise AssertionError(path)

    def _mistakes(self, table: SpecTable) -> Iterator[_Mistake]:
        for name in table.sizes:
            if name in table.compile.defines:
                yield ("sizes", name), f"{name!r} is also a define", "keep one of them"
        for name in table.check.sizes:
            if name not in table.sizes:
                hint = "add it to [sizes], or correct the name"
                yield ("check", "sizes", name), f"[sizes] has no {name!r}", hint
        if not table.kernel.isprintable():
            yield ("kernel",), "kernel contains control characters", None
        yield from _mistakes_of_compile(table.compile)
        if table.check.tolerance == math.inf:
            yield ("check", "tolerance"), "tolerance must be finite", None
        if math.isinf(table.launch.time_limit_s):
            yield ("launch", "time_limit_s"), "time_limit_s must be finite", None
        yield from self._mistakes_of_arguments(table)

    def _mistakes_of_arguments(self, table: SpecTable) -> Iterator[_Mistake]:
        arrays = [each.name for each in table.arguments if each.shape is not None]
        for index, argument in enumerate(table.arguments):
            at: TomlPath = ("arguments", index)
            if any(argument.name == each.name for each in table.arguments[:index]):
                yield (*at, "name"), f"two arguments are called {argument.name!r}", None
            for path, what, hint in _mistakes_of_argument(argument, self._value(at)):
                yield (*at, *path), what, hint
            for path, what, hint in _mistakes_of_members(argument.members or (), arrays):
                yield (*at, *path), what, hint
            if argument.tensor_map is not None and argument.tensor_map.of not in arrays:
                yield (*at, "tensor_map", "of"), *_no_such_array(argument.tensor_map.of, arrays)
        outputs = sum(each.output for each in table.arguments)
        if table.reference != NO_REFERENCE and not outputs:
            what = "no argument is an output, so there is nothing to compare with the reference"
            hint = "add output = true to the arrays that the kernel writes, or set reference = "
            yield ("arguments",), what, f'{hint}"none"'
        if not table.reference.isprintable():
            yield ("reference",), "reference contains control characters", None
        is_named = ":" in table.reference or is_version(table.reference)
        if not is_named and table.reference != NO_REFERENCE:
            from kernelprof.launch.check.references import find_builtin

            try:
                find_builtin(table.reference, len(arrays) - outputs, outputs)
            except KernelprofError as error:
                yield ("reference",), error.what, error.hint

    def _value(self, path: TomlPath) -> Any:
        value: Any = self.data
        for step in path:
            value = value[step]
        return value

    def _where(self, path: TomlPath) -> str:
        line = self.block.where(self.places.line(path))
        return f"{line}: {dotted(path)}" if path else line

    def _refuse(self, path: TomlPath, what: str, hint: str | None = None) -> NoReturn:
        raise SpecError(what, where=self._where(path), hint=hint)


def _mistakes_of_compile(options: CompileOptions) -> Iterator[_Mistake]:
    for index, flag in enumerate(options.flags):
        if (wrong := explain_refusal(flag)) is not None:
            yield ("compile", "flags", index), *wrong
    if options.standard and (wrong := explain_refusal(f"-std={options.standard}")) is not None:
        yield ("compile", "standard"), *wrong
    for name, value in options.defines.items():
        if not name.isidentifier():
            what = f"{name!r} is not a valid name (letters, digits and underscores)"
            yield ("compile", "defines", name), what, "choose another name"
        if character := shell_characters(str(value)):
            what = f"the value of {name} contains {character!r}, which a shell interprets"
            hint = "write it without $, `, \\ and control characters"
            yield ("compile", "defines", name), what, hint


def _mistakes_of_argument(argument: Argument, given: dict[str, Any]) -> Iterator[_Mistake]:
    name, fill = argument.name, argument.fill
    if sum(key in given for key in _ONE_OF) != 1:
        what = (
            "needs exactly one of shape (array), value (scalar), members (structure) and tensor_map"
        )
        hint = 'shape = ["M", "K"], value = "M" or tensor_map = { of = "A", box = [64, 64] }'
        yield (), f"argument {name!r} {what}", hint
    if argument.type is None and argument.tensor_map is None and argument.members is None:
        yield (), f"argument {name!r} has no 'type'", f"available: {', '.join(TYPES)}"
    if fill is not None and not fill.isprintable():
        yield ("fill",), "fill contains control characters", None
    if fill == "normal" and not is_floating(argument.type or ""):
        yield (
            ("fill",),
            f"{argument.type} cannot hold normally distributed values",
            'use fill = "random", which gives integers from 0 to 15 by default',
        )
    if fill in _OF_WHOLE and is_floating(argument.type or "float"):
        yield ("fill",), f"{fill} gives whole numbers, but {name} is {argument.type}", None
    if argument.limit is not None and (
        fill not in {None, "random", "offsets"} or is_floating(argument.type or "float")
    ):
        what = "limit applies only to random integers and to offsets"
        yield ("limit",), what, 'set fill = "random" or "offsets", and an integer type'
    if fill == "offsets" and argument.limit is None:
        hint = 'give the last offset, such as limit = "NNZ"'
        yield ("fill",), "no limit is given for the offsets", hint
    for key in given:
        if argument.value is not None and key in _OF_ARRAYS:
            yield (key,), f"a scalar cannot have {key!r}", None
        if argument.tensor_map is not None and key in {"type", *_OF_ARRAYS}:
            yield (key,), f"a tensor map cannot have {key!r}: set it on the array", None
        if argument.members is not None and key in {"type", *_OF_ARRAYS}:
            yield (key,), f"a structure cannot have {key!r}: set it on a member or its array", None


def _mistakes_of_members(members: Sequence[Member], arrays: Sequence[str]) -> Iterator[_Mistake]:
    for index, each in enumerate(members):
        at = ("members", index)
        if any(each.name == other.name for other in members[:index]):
            yield (*at, "name"), f"two members are called {each.name!r}", None
        given = [key for key in _MEMBER_KINDS if getattr(each, key) is not None]
        if len(given) != 1:
            what = f"member {each.name!r} needs exactly one of 'value', 'values' and 'of'"
            yield at, what, 'value = "width", values = [0, 1], or of = "x" to point to the array x'
        elif (each.of is None) != (each.type is not None):
            what = "has no 'type'" if each.of is None else "is a pointer and must not have a 'type'"
            hint = "numbers need a 'type'; pointers have the type of their array"
            yield at, f"member {each.name!r} {what}", hint
        elif each.of is not None and each.of not in arrays:
            yield (*at, "of"), *_no_such_array(each.of, arrays)


def _no_such_array(name: str, arrays: Sequence[str]) -> tuple[str, str]:
    hint = f"the arrays are {', '.join(arrays)}" if arrays else "add its table"
    hint += "; an array that is not a kernel parameter needs passed = false in its table"
    return f"no array is called {name!r}", hint


def _with_default_fill(argument: Argument) -> Argument:
    if argument.shape is None or argument.output or argument.fill is not None:
        return argument
    return msgspec.structs.replace(argument, fill="random")


def dotted(path: TomlPath) -> str:
    """Format a path: ``arguments[0].shape``."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def _names(path: TomlPath) -> tuple[str, ...]:
    return tuple(step for step in path if isinstance(step, str))


def _last_key(path: TomlPath) -> str:
    return dotted(path[-2:] if isinstance(path[-1], int) else path[-1:])


def _format_value(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else f"a list of {len(value)}"
    return json.dumps(value, default=str, ensure_ascii=False)


def _expected_type(what: str, path: TomlPath) -> str:
    """What msgspec expects at a path, in words: ``Expected `int` >= 1, got ...``."""
    kind, bounds = re.findall(r"`(.*?)(?: \| null)?`([^,]*)", what)[0]
    if kind == "Expression":
        whole = "" if float in _EXPRESSIONS[_names(path)[-1]] else "whole "
        return f"a {whole}number or an expression"
    return f"{_KINDS.get(kind, kind)}{bounds}"


def _hint_example(path: TomlPath) -> str:
    *table, key = _names(path)
    kind = get_type_hints(_TABLES.get(tuple(table), SpecTable), include_extras=True).get(key)
    if choices := tuple(_choices(kind)):
        return f"available: {', '.join(choices)}"
    metas = getattr(kind, "__metadata__", ())
    examples = [each for meta in metas for each in meta.examples or ()]
    shown = " or ".join(json.dumps(each) for each in examples)
    return f"for example {key} = {shown}" if shown else "see docs/launch-specification.md"


def _choices(kind: Any) -> Iterator[str]:
    for each in get_args(kind):
        if isinstance(each, str):
            yield each
        else:
            yield from _choices(each)
