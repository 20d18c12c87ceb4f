"""Values of the host's code as amounts: what a launch is given, in terms of a program's numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.arithmetic import combined, plain_number
from kernelprof.launch.guess.names import (
    Frame,
    arguments,
    called,
    function_around,
    returned_only,
    uncast,
    written_template,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from kernelprof.launch.guess.amounts import Amount

_DEEPEST: Final = 40
_MOST_STEPS: Final = 20_000
"""Expressions that are looked at for one launch: a program of 2,000 lines takes some hundreds."""
_INPUT: Final = re.compile(r"\b(argv|atoi|atol|atoll|strtol|stoi|stol|getCmdLine\w*|getenv)\b")
"""What a program is told when it is run: what a variable held before is its default."""
_SMALL: Final = 64
"""Constants up to here are a part of the problem, and not how much of it there is."""
_PROCESSORS: Final = re.compile(r"\w*(num_?sms?|sm_?count|multi_?proc\w*|num_?mps?)", re.IGNORECASE)
_OF_A_GPU: Final = 132
"""Multiprocessors of the GPU that kernels are predicted for without another one (an H200)."""
_PREFERRED: Final = (256, 16)
"""Of several block sizes that are tried: eight warps, as most kernels are launched with, or the
side of a square of as many threads."""


@dataclass
class Values:
    """Works out values; what no number is known of becomes a size of its own.

    ``sizes`` are those that were met, with what the program gives them, ``None`` where that is
    said when it is run.
    """

    sizes: dict[str, int | None] = field(default_factory=dict)
    ambiguous: set[str] = field(default_factory=set)
    _depth: int = 0
    _steps: int = 0
    _members: set[str] = field(default_factory=set)
    """Members that are being worked out."""

    def of(self, node: Node | None, frame: Frame) -> Amount | None:
        """The value of an expression of a function; ``None`` if it cannot be worked out."""
        self._steps += 1
        if node is None or self._depth > _DEEPEST or self._steps > _MOST_STEPS:
            return None
        self._depth += 1
        try:
            found = self._of(node, frame)
        finally:
            self._depth -= 1
        return None if found is None or found.too_long else found

    def _of(self, node: Node, frame: Frame) -> Amount | None:  # noqa: PLR0911
        match node.type:
            case "number_literal":
                return plain_number(syntax.text(node))
            case "parenthesized_expression" | "argument_list" | "initializer_list":
                inner = [each for each in node.named_children if each.type != "comment"]
                return self.of(inner[0], frame) if len(inner) == 1 else None
            case "preproc_arg":
                return self._text(syntax.text(node), {}, frame)
            case "cast_expression":
                return self.of(syntax.child(node, "value"), frame)
            case "identifier":
                return self.name(syntax.text(node), node, frame)
            case "sizeof_expression":
                return self._size_of(node, frame)
            case "conditional_expression":
                return self._conditional(node, frame)
            case "binary_expression":
                return self._binary(node, frame)
            case "call_expression":
                return self._call(node, frame)
            case "field_expression":
                return self._field(node, frame)
            case "subscript_expression":
                return self._element(node, frame)
            case "qualified_identifier":
                return self.name(syntax.text(syntax.child(node, "name")), node, frame)
        return None

    def name(self, name: str, at: Node, frame: Frame) -> Amount | None:  # noqa: PLR0911
        """What a variable, parameter or constant stands for."""
        if name in frame.chosen:
            return plain_number(frame.chosen[name])
        found = None
        given = frame.values(name, at.start_byte)
        if self._given_back(name, at, frame):
            return self._size(name, None)
        for value in given:
            if self._mentions(value, name):
                continue
            found = self.of(value, frame)
            if found is not None or not _INPUT.search(syntax.text(value)):
                break
        if found is None and frame.has_parameter(name):
            argument = frame.argument(name)
            if argument is not None and frame.caller is not None:
                return self.of(argument, frame.caller)
            return self._size(name, None)
        if found is None and not given:
            return self._of_file(name, frame)
        if found is None:
            return self._size(name, None)
        if found.constant is not None and found.constant > 0:
            return self._size(name, found.constant)
        return found

    def _given_back(self, name: str, at: Node, frame: Frame) -> bool:
        """Whether a function is given the address of a variable, to put a value there."""
        body = frame.body
        if body is None:
            return False
        return any(
            body.start_byte <= call.start_byte < min(at.start_byte, body.end_byte)
            and any(syntax.text(each) == f"&{name}" for each in arguments(call))
            for call in frame.source.nodes["call_expression"]
        )

    def _of_file(self, name: str, frame: Frame) -> Amount | None:
        values = frame.source.globals.get(name, ())
        for value in values:
            fixed = value.type == "preproc_arg" or _is_fixed(value)
            found = self.of(value, Frame(frame.source, None))
            if found is not None:
                number = found.constant
                if number == 0 and not fixed:
                    break  # it gets another value somewhere
                plain = number is None or number <= _SMALL
                plain = plain or (fixed and name in frame.source.device_names)
                return found if plain else self._size(name, number)
        if frame.declared(name) is None and not values:
            return None
        return self._size(name, None)

    def _size(self, name: str, value: int | None) -> Amount:
        """A size of that name; a second one of the name with another value is its value."""
        if value is None and _PROCESSORS.fullmatch(name):
            value = _OF_A_GPU
        known = self.sizes.get(name)
        if value is not None and known is not None and known != value:
            return amounts.number(value)
        if name not in self.sizes or value is not None:
            self.sizes[name] = value
        return amounts.size(name)

    def _text(self, text: str, given: dict[str, str], frame: Frame) -> Amount | None:
        """The value of a text, such as that of a macro, with other text for its parameters."""
        for name, value in given.items():
            text = re.sub(rf"\b{re.escape(name)}\b", _constant(f"({value})"), text)
        tree = syntax.parse(f"int x = {text};")
        found = next((n for n in syntax.walk(tree) if n.type == "init_declarator"), None)
        if found is None or tree.has_error:
            return None
        return self.of(syntax.child(found, "value"), Elsewhere(frame))

    def _size_of(self, node: Node, frame: Frame) -> Amount | None:
        kind = syntax.child(node, "type") or uncast(syntax.child(node, "value"))
        written = syntax.text(kind)
        declared = frame.declared(written) if kind is not None else None
        types = frame.source.types.with_chosen(frame.chosen)
        if "*" in (declared or written):
            return amounts.number(8)
        element = types.element(declared or written)
        if element is None:
            return None
        length = amounts.number(1)
        if declared is not None and (known := _array_length(written, frame)) is not None:
            counted = self.of(known, frame)
            if known.type == "initializer_list":
                listed = [n for n in known.named_children if n.type != "comment"]
                counted = amounts.number(len(listed))
            if counted is None:
                return None
            length = counted
        return amounts.number(element.bytes) * length

    def _conditional(self, node: Node, frame: Frame) -> Amount | None:
        """``argc > 1 ? atoi(argv[1]) : 1024`` is 1024; else the larger of both."""
        both = [self.of(syntax.child(node, key), frame) for key in ("consequence", "alternative")]
        if "argc" in syntax.text(syntax.child(node, "condition")):
            return next((each for each in reversed(both) if each is not None), None)
        if both[0] is None or both[1] is None:
            return None
        return both[0] if both[0] == both[1] else amounts.larger(both[0], both[1])

    def _binary(self, node: Node, frame: Frame) -> Amount | None:
        operator = syntax.text(syntax.child(node, "operator"))
        left = self.of(syntax.child(node, "left"), frame)
        right = self.of(syntax.child(node, "right"), frame)
        return None if left is None or right is None else combined(operator, left, right)

    def _call(self, node: Node, frame: Frame) -> Amount | None:  # noqa: PLR0911
        name, given = called(node), arguments(node)
        if name in {"static_cast", "int", "size_t", "unsigned", "dim3", "long"} and len(given) == 1:
            return self.of(given[0], frame)
        if name in {"min", "max"} and len(given) == 2:
            one, two = (self.of(each, frame) for each in given)
            if one is None or two is None:
                return None
            return amounts.smaller(one, two) if name == "min" else amounts.larger(one, two)
        if name in {"ceil", "ceilf"} and len(given) == 1:
            return self._rounded_up(given[0], frame)
        if name in frame.source.macros:
            names, text = frame.source.macros[name]
            return self._text(text, dict(zip(names, map(syntax.text, given), strict=False)), frame)
        function = frame.source.functions.get(name)
        returned = None if function is None else returned_only(function.body)
        if function is None or returned is None:
            return None
        chosen = dict(zip(function.template, written_template(node), strict=False))
        return self.of(returned, Frame(frame.source, function, node, frame, chosen))

    def _rounded_up(self, node: Node, frame: Frame) -> Amount | None:
        """``ceil((float)n / b)``, and ``ceil(n * 1.0 / b)``."""
        inner = uncast(node)
        if inner is None or syntax.text(syntax.child(inner, "operator")) != "/":
            return None
        left = self.of(syntax.child(inner, "left"), frame)
        right = self.of(syntax.child(inner, "right"), frame)
        if left is None or right is None or right.constant == 0:
            return None
        return amounts.ceil_div(left, right)

    def _field(self, node: Node, frame: Frame) -> Amount | None:
        """A member: what any member of that name gets, if all that can be worked out agree."""
        field_name = syntax.text(syntax.child(node, "field"))
        argument = syntax.text(syntax.child(node, "argument"))
        if field_name in "xyz" and "dim3" in (frame.declared(argument) or ""):
            made = self._variable(argument, node, frame)
            one = amounts.number(1)
            return None if made is None else (*made, one, one)["xyz".index(field_name)]
        if field_name in self._members:
            return None
        self._members.add(field_name)
        found = set()
        for each in frame.source.nodes["assignment_expression"]:
            left = syntax.child(each, "left")
            if left is None or left.type != "field_expression":
                continue
            if syntax.text(syntax.child(left, "field")) == field_name:
                found.add(self.of(syntax.child(each, "right"), Elsewhere(frame)))
        self._members.discard(field_name)
        found.discard(None)
        if len(found) == 1 and (value := found.pop()) is not None and value.constant:
            return value
        return None

    def _element(self, node: Node, frame: Frame) -> Amount | None:
        """One of several numbers that are tried after each other: 256 threads if it is one."""
        name = syntax.text(syntax.child(node, "argument"))
        lists = [*frame.values(name, node.start_byte), *frame.source.globals.get(name, ())]
        for each in lists:
            if each.type != "initializer_list":
                continue
            numbers = [plain_number(syntax.text(n)) for n in each.named_children]
            values = [n.constant for n in numbers if n is not None and n.constant]
            if len(values) == len(numbers) and values:
                return amounts.number(next((n for n in _PREFERRED if n in values), values[0]))
        return None

    # Grids and blocks

    def dimensions(self, node: Node, frame: Frame) -> tuple[Amount, ...] | None:
        """A grid or a block: a number, a ``dim3``, or a variable that is one."""
        inner = uncast(node)
        if inner is None:
            return None
        if inner.type == "call_expression" and called(inner) == "dim3":
            return self._all(arguments(inner), frame)
        if inner.type in {"initializer_list", "argument_list"}:
            return self._all([n for n in inner.named_children if n.type != "comment"], frame)
        if inner.type == "compound_literal_expression":
            listed = syntax.child(inner, "value")
            return None if listed is None else self.dimensions(listed, frame)
        if inner.type == "identifier" and "dim3" in (frame.declared(syntax.text(inner)) or ""):
            return self._variable(syntax.text(inner), inner, frame)
        one = self.of(inner, frame)
        return None if one is None else (one,)

    def _variable(self, name: str, at: Node, frame: Frame) -> tuple[Amount, ...] | None:
        """A ``dim3`` variable: as it is made, or by its members."""
        if frame.has_parameter(name):
            argument = frame.argument(name)
            if argument is None or frame.caller is None:
                return None
            return self.dimensions(argument, frame.caller)
        made: tuple[Amount, ...] | None = (amounts.number(1),)
        values = frame.values(name, at.start_byte)
        if values:
            made = self.dimensions(values[0], frame)
        elif (call := _like_a_function(name, frame)) is not None:
            made = self._all(arguments(call), Elsewhere(frame))
        one = amounts.number(1)
        found: list[Amount | None] = [*(made or (None,)), one, one][:3]
        for index, axis in enumerate("xyz"):
            given = frame.values(f"{name}.{axis}", at.start_byte)
            told = next((each for each in given if not _INPUT.search(syntax.text(each))), None)
            if told is not None:
                found[index] = self.of(told, frame)
        while len(found) > 1 and found[-1] == one:
            found.pop()
        known = [each for each in found if each is not None]
        return tuple(known) if len(known) == len(found) else None

    def _all(self, nodes: list[Node], frame: Frame) -> tuple[Amount, ...] | None:
        found = [self.of(each, frame) for each in nodes]
        known = [each for each in found if each is not None]
        return tuple(known) if known and len(known) == len(found) else None

    def _mentions(self, value: Node, name: str) -> bool:
        """Whether a variable gets a value that is made of itself."""
        return any(n.type == "identifier" and syntax.text(n) == name for n in syntax.walk(value))


class Elsewhere(Frame):
    """The same function for an expression that stands somewhere else: all of it counts."""

    def __init__(self, frame: Frame) -> None:
        super().__init__(frame.source, frame.function, frame.call, frame.caller, frame.chosen)

    def values(self, name: str, before: int) -> list[Node]:  # noqa: ARG002
        """What a variable gets anywhere in the function."""
        return super().values(name, 1 << 60)


def _like_a_function(name: str, frame: Frame) -> Node | None:
    """``dim3 block(size);`` of the function, which reads as if it declared another one."""
    for node in frame.source.nodes["declaration"]:
        for part in node.children_by_field_name("declarator"):
            if part.type != "function_declarator":
                continue
            around = function_around(node)
            own = frame.function is not None and syntax.same(around, frame.function.node)
            if own and syntax.text(syntax.child(part, "declarator")) == name:
                tree = syntax.parse(f"int x = f{syntax.text(syntax.child(part, 'parameters'))};")
                return next((n for n in syntax.walk(tree) if n.type == "call_expression"), None)
    return None


def _constant(text: str) -> Callable[[re.Match[str]], str]:
    """What stands in for a name whatever it holds: no backslash in it counts."""
    return lambda _: text


def _is_fixed(value: Node) -> bool:
    """Whether a value at the top of a file cannot change: of a ``const`` or an enumerator."""
    parent = value.parent
    if parent is not None and parent.type == "enumerator":
        return True
    around = None if parent is None else parent.parent
    return around is not None and any(
        syntax.text(part) in {"const", "constexpr"} for part in around.children
    )


def _array_length(name: str, frame: Frame) -> Node | None:
    for node in frame.source.nodes["declaration"]:
        for part in node.children_by_field_name("declarator"):
            inner = syntax.child(part, "declarator") if part.type == "init_declarator" else part
            is_array = inner is not None and inner.type == "array_declarator"
            if is_array and syntax.text(syntax.child(inner, "declarator")) == name:
                return syntax.child(inner, "size") or syntax.child(part, "value")
    return None
