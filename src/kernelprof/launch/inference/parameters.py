"""Values of parameters that are passed by value: scalars, structures, and vectors."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.accessors import index_variable, least_size
from kernelprof.launch.inference.evidence import GuessedArray, GuessedMember
from kernelprof.launch.inference.symbols import AXES, strip_casts
from kernelprof.launch.specification.elements import is_floating
from kernelprof.launch.specification.expressions import FUNCTIONS, ExpressionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.evidence import Guesses
    from kernelprof.launch.inference.host import HostLaunch
    from kernelprof.launch.inference.symbols import Element, Frame, StructField, Types
    from kernelprof.launch.signature import KernelSignature


_FACTORS: Final = {"alpha": "1.0", "beta": "0.0", "a": "2.0", "scale": "1.5", "factor": "1.5"}
_REAL: Final = re.compile(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)[fFlL]?")
_RADIUS: Final = 4
_USUAL_SIZES: Final = (
    (re.compile(r"r|radius|.*_radius|half_?width|halo", re.IGNORECASE), _RADIUS),
    (re.compile(r"(n|num)?_?channels", re.IGNORECASE), 3),
    (re.compile(r"(kernel|filter|mask|window)_?(size|width|height|len(gth)?)", re.IGNORECASE), 5),
    (re.compile(r"ksize|window", re.IGNORECASE), 5),
)
_MOST_STEPS: Final = 8
_WINDOW: Final = 5
_LARGE: Final = 4096


def infer_scalars(
    kernel: KernelSignature, types: Types, launch: HostLaunch | None, guesses: Guesses
) -> dict[str, SizeExpr]:
    """Values of the parameters that are no arrays; gives those of whole numbers as amounts."""
    whole_numbers: dict[str, SizeExpr] = {}
    extents = _index_extents(kernel, launch)
    for parameter in kernel.parameters:
        name = parameter.name
        if parameter.pointer or parameter.tensor_map or not name:
            continue
        element = types.element(parameter.written[: parameter.written.rfind(name)])
        if element is None or element.count > 1:
            continue
        guesses.types[name] = element.type
        given = None if launch is None else launch.arguments.get(name)
        if is_floating(element.type):
            _real(name, given, launch, guesses)
        elif element.type == "bool":
            text = syntax.text(strip_casts(given))
            guesses.values[name] = {"true": "1", "false": "0"}.get(text, "1")
            guesses.why[f"value.{name}"] = "" if text in {"true", "false"} else "0 or 1"
        elif element.enumerators:
            passed = syntax.text(strip_casts(given)).rpartition("::")[2]
            amount = _whole(given, launch)
            number = element.enumerators.get(passed, None if amount is None else amount.constant)
            why = "the first enumerator" if number is None else ""
            number = _first_enumerator(element) if number is None else number
            whole_numbers[name] = amounts.constant_size(number)
            guesses.values[name], guesses.why[f"value.{name}"] = str(number), why
        elif name not in FUNCTIONS:
            amount = _whole(given, launch)
            if amount is None and (least := least_size(name)) is not None:
                amount = amounts.constant_size(least)
            variable = index_variable(name)
            if amount is None:
                amount = extents.get(variable)
            if amount is None:
                size = f"size_of_{variable}" if variable else name
                amount = amounts.parse_size(size)
                guesses.sizes.setdefault(size, 0)
            if variable:
                extents.setdefault(variable, amount)
            whole_numbers[name] = amount
            guesses.values[name] = amount.text
    return whole_numbers


def _index_extents(kernel: KernelSignature, launch: HostLaunch | None) -> dict[str, SizeExpr]:
    """Sizes that the host tells of dimensions, by the variable that indexes them."""
    extents: dict[str, SizeExpr] = {}
    for name in (each.name for each in kernel.parameters):
        variable = index_variable(name)
        given = None if launch is None or not variable else launch.arguments.get(name)
        amount = _whole(given, launch)
        if amount is not None:
            extents.setdefault(variable, amount)
    return extents


def _first_enumerator(element: Element) -> int:
    return next(iter(element.enumerators.values()))


def _whole(given: Node | None, launch: HostLaunch | None) -> SizeExpr | None:
    if given is None or launch is None:
        return None
    text = syntax.text(strip_casts(given))
    if text in {"true", "false"}:
        return amounts.constant_size(int(text == "true"))
    return launch.values.evaluate(given, launch.frame)


def default_real(name: str) -> tuple[str, str]:
    """A value of a real number that is called so, and what speaks for it."""
    if name.lower() in _FACTORS:
        return _FACTORS[name.lower()], ""
    return "1.0", "value unknown; assumed not to affect the run time"


def _real(name: str, given: Node | None, launch: HostLaunch | None, guesses: Guesses) -> None:
    if given is not None and launch is not None:
        value = _number(given, launch.frame)
        if value is not None:
            guesses.values[name] = value
            guesses.why[f"value.{name}"] = f"as passed on {launch.line}"
            return
    guesses.values[name], why = default_real(name)
    if why:
        guesses.why[f"value.{name}"] = why


def _number(node: Node | None, frame: Frame, steps: int = 0) -> str | None:  # noqa: PLR0911
    inner = strip_casts(node)
    if inner is None or steps > _MOST_STEPS:
        return None
    text = syntax.text(inner)
    if written := _REAL.fullmatch(text):
        return repr(float(written[1]))
    if inner.type == "unary_expression" and text.startswith("-"):
        value = _number(syntax.child(inner, "argument"), frame, steps + 1)
        return None if value is None else repr(-float(value))
    if inner.type in {"argument_list", "initializer_list"} and inner.named_child_count == 1:
        return _number(inner.named_children[0], frame, steps + 1)
    if inner.type != "identifier":
        return None
    for value in [*frame.values(text), *frame.source.globals.get(text, ())]:
        if value.type == "preproc_arg":
            plain = _REAL.fullmatch(syntax.text(value).strip("() "))
            return repr(float(plain[1])) if plain else None
        return _number(value, frame, steps + 1)
    if frame.has_parameter(text) and frame.caller is not None:
        return _number(frame.argument(text), frame.caller, steps + 1)
    return None


def infer_windows(guesses: Guesses) -> None:
    """Sizes that make the grid smaller where they are larger: those of a filter."""
    block = {name for each in guesses.block or () for name in each.names}
    for name, value in guesses.sizes.items():
        grid = [each for each in guesses.grid or () if name in each.names]
        if value or name in block or not grid:
            continue
        sizes = dict.fromkeys(guesses.sizes, _LARGE) | {n: v for n, v in guesses.sizes.items() if v}
        few, many = ({**sizes, name: each} for each in (1, _LARGE // 2))
        with suppress(ExpressionError):
            if all(each.value(many) < each.value(few) for each in grid):
                guesses.sizes[name] = _WINDOW
                guesses.why[f"sizes.{name}"] = (
                    "assumed to be a filter size: larger values give fewer blocks"
                )


def infer_small_sizes(kernel: Node, program: Mapping[str, int | None], guesses: Guesses) -> None:
    """Sizes that are small by what they are: the reach of a stencil, a filter, color channels.

    Values that the ``program`` gives stay as they are.
    """
    body = syntax.child_text(kernel, "body")
    names = (name for text in guesses.values.values() for name in amounts.names_in(text))
    for name in dict.fromkeys((*guesses.sizes, *names)):
        if guesses.sizes.get(name) or program.get(name):
            continue
        if re.search(rf"=\s*-\s*{re.escape(name)}\s*;", body):
            guesses.sizes[name], guesses.why[f"sizes.{name}"] = _RADIUS, "elements on each side"
        for pattern, usual in _USUAL_SIZES:
            if not guesses.sizes.get(name) and pattern.fullmatch(name):
                guesses.sizes[name], guesses.why[f"sizes.{name}"] = usual, "inferred from its name"


_MOST_NUMBERS: Final = 64
"""Of an array in a structure: a longer one holds data, of which nothing is known."""


def infer_structures(
    kernel: KernelSignature, types: Types, guesses: Guesses
) -> dict[str, SizeExpr]:
    """The members of parameters that are structures; gives whole numbers, by ``p.width``."""
    whole_numbers: dict[str, SizeExpr] = {}
    names = {each.name for each in kernel.parameters} | set(FUNCTIONS)
    for parameter in kernel.parameters:
        name = parameter.name
        if parameter.pointer or parameter.tensor_map or not name or name in guesses.types:
            continue
        fields = types.fields(parameter.written[: parameter.written.rfind(name)])
        owner = _Owner(name, names, guesses)
        parts = [owner.parts(each) for each in fields or ()]
        if parts and all(parts):
            guesses.structures[name] = [member for several in parts for member in several]
            whole_numbers |= owner.whole_numbers
    return whole_numbers


class _Owner:
    def __init__(self, name: str, names: set[str], guesses: Guesses) -> None:
        """``names`` are in use already."""
        self.whole_numbers: dict[str, SizeExpr] = {}
        self._name, self._names, self._guesses = name, names, guesses

    def parts(self, field: StructField) -> list[GuessedMember]:
        """A member, a vector as its components; none where it cannot be filled."""
        element = field.element
        if element is None:
            return []
        if field.pointer:
            name = self._free(field.name)
            alias = f"{self._name}.{field.name}"
            self._guesses.arrays[name] = GuessedArray(name, element, alias=alias, const=field.const)
            return [GuessedMember(field.name, None, array=name)]
        if field.count == 1 and element.count <= len(AXES):
            return self._numbers(field, element)
        if field.count * element.count > _MOST_NUMBERS:
            return []
        value = "1.0" if is_floating(element.type) else "1"
        values = [value] * (field.count * element.count)
        return [GuessedMember(field.name, element.type, values=values, align=field.align)]

    def _numbers(self, field: StructField, element: Element) -> list[GuessedMember]:
        inner = [f".{axis}" for axis in AXES[: element.count]] if element.count > 1 else [""]
        parts: list[GuessedMember] = []
        for end in inner:
            key = f"{self._name}.{field.name}{end}"
            name = f"{field.name}{end}".replace(".", "_")
            self._number(key, name, element)
            align = None if parts else field.align
            parts.append(GuessedMember(name, element.type, key=key, align=align))
        return parts

    def _number(self, key: str, name: str, element: Element) -> None:
        guesses, kind = self._guesses, element.type
        guesses.types[key] = kind
        if is_floating(kind):
            guesses.values[key], guesses.why[f"value.{key}"] = default_real(name)
        elif kind == "bool":
            guesses.values[key], guesses.why[f"value.{key}"] = "1", "0 or 1"
        elif element.enumerators:
            guesses.values[key] = str(_first_enumerator(element))
            guesses.why[f"value.{key}"] = "the first enumerator"
        else:
            size = self._free(name)
            guesses.sizes.setdefault(size, 0)
            guesses.values[key] = size
            self.whole_numbers[key] = amounts.parse_size(size)

    def _free(self, member: str) -> str:
        unfit = member in self._names or member in AXES
        name = f"{self._name}_{member}" if unfit else member
        self._names.add(name)
        return name
