"""Values in a kernel's body, how large each can become, and the elements that accesses take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.arithmetic import plain_number
from kernelprof.launch.guess.names import (
    arguments,
    called,
    innermost,
    returned_only,
    uncast,
    written_template,
)
from kernelprof.launch.guess.ranges import (
    ONE,
    UNKNOWN,
    ZERO,
    Range,
    computed,
    exactly,
    joined,
    loaded,
    smallest,
    special,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.names import Function
    from kernelprof.launch.guess.written_types import Element, Types

_DEEPEST: Final = 4
"""Functions that call each other."""
_LOADS: Final = {"__ldg", "__ldcs", "__ldcg", "__ldca", "__ldlu", "__ldcv"}
_STORES: Final = {"__stcs", "__stcg", "__stwb", "__stwt"}


@dataclass
class Reached:
    """What becomes of one array."""

    extents: list[Amount] = field(default_factory=list)
    """How many elements each access needs there to be."""
    unknown: bool = False
    """Whether some access is not understood."""
    read: bool = False
    written: bool = False
    atomic: bool = False
    scattered: bool = False
    """Whether it is written where a loaded value says."""


@dataclass(frozen=True)
class _Pointer:
    array: str
    offset: Range
    bytes: int
    """Of what it points at."""


class Accesses(ABC):
    """Works out values. ``arrays`` are the kernel's pointers, ``known`` numbers that have names."""

    def __init__(
        self,
        arrays: Mapping[str, Element],
        known: Mapping[str, Amount],
        types: Types,
        functions: Mapping[str, Function],
    ) -> None:
        self.arrays = {name: Reached() for name in arrays}
        self.used: set[str] = set()
        """Names of parameters that it looks at."""
        self._elements = arrays
        self._types = types
        self._functions = functions
        self._depth = 0
        self._values: dict[str, Range] = {name: exactly(each) for name, each in known.items()}
        self._pointers = {
            name: _Pointer(name, exactly(ZERO), each.bytes) for name, each in arrays.items()
        }

    def call(self, name: str, alias: str) -> None:
        """The kernel calls an array so, which is no parameter: ``p.in``."""
        self._pointers[alias] = self._pointers.pop(name)

    @abstractmethod
    def follow(self, node: Node) -> None:
        """A statement, with all that is in it."""

    @abstractmethod
    def narrow(self, condition: Node | None, *, holds: bool) -> None:
        """What a condition says about variables where it holds, or does not."""

    def declare(self, node: Node) -> None:
        name = syntax.text(innermost(syntax.child(node, "declarator")))
        given = syntax.child(node, "value")
        pointer = self._pointer(given)
        if pointer is not None and "*" in syntax.text(syntax.child(node, "declarator")):
            self._pointers[name] = pointer
            return
        self._pointers.pop(name, None)
        self._values[name] = self.value(given)

    # Values

    def value(self, node: Node | None) -> Range:  # noqa: PLR0911, PLR0912
        """How large an expression can become; its accesses are noted."""
        if node is None:
            return UNKNOWN
        match node.type:
            case "number_literal":
                found = plain_number(syntax.text(node))
                return UNKNOWN if found is None else exactly(found)
            case "identifier":
                name = syntax.text(node)
                self.used.add(name)
                if name in self._pointers:
                    self.arrays[self._pointers[name].array].unknown = True
                return self._values.get(name, UNKNOWN)
            case "field_expression":
                return self._member(node)
            case "binary_expression":
                return self._binary(node)
            case "subscript_expression" | "pointer_expression":
                return self._access(node, read=True, written=False)
            case "assignment_expression":
                return self._assign(node)
            case "update_expression":
                return self._assign(node)
            case "cast_expression":
                return self.value(syntax.child(node, "value"))
            case "call_expression":
                return self._call(node)
            case "conditional_expression":
                return self._conditional(node)
            case "unary_expression":
                return self._negative(node)
            case "parenthesized_expression" | "condition_clause":
                inner = [n for n in node.named_children if n.type != "comment"]
                return self.value(inner[0]) if len(inner) == 1 else UNKNOWN
            case "sizeof_expression":
                kind = syntax.child(node, "type") or uncast(syntax.child(node, "value"))
                element = self._types.element(syntax.text(kind))
                return UNKNOWN if element is None else exactly(amounts.number(element.bytes))
            case "init_declarator":
                self.declare(node)
                return UNKNOWN
        for child in node.named_children:
            self.follow(child)
        return UNKNOWN

    def _member(self, node: Node) -> Range:
        known = self._values.get(syntax.text(node))
        if known is not None:
            return known
        argument, axis = syntax.child(node, "argument"), syntax.text(syntax.child(node, "field"))
        found = special(syntax.text(argument), axis)
        if found is not None:
            return found
        if argument is not None and argument.type != "identifier":
            self.value(argument)  # p[i].x
        elif argument is not None and syntax.text(argument) in self._pointers:
            self._reach(self._pointers[syntax.text(argument)], exactly(ZERO), read=True)
        return UNKNOWN

    def _binary(self, node: Node) -> Range:
        operator = syntax.text(syntax.child(node, "operator"))
        left, right = syntax.child(node, "left"), syntax.child(node, "right")
        if operator in {"&&", "||"}:
            self.value(left)
            before = dict(self._values)
            self.narrow(left, holds=operator == "&&")
            self.value(right)
            self._values = before
            return UNKNOWN
        return computed(operator, self.value(left), self.value(right))

    def _negative(self, node: Node) -> Range:
        value = self.value(syntax.child(node, "argument"))
        if syntax.text(syntax.child(node, "operator")) != "-":
            return UNKNOWN
        return computed("-", exactly(ZERO), value)

    def _conditional(self, node: Node) -> Range:
        condition = syntax.child(node, "condition")
        self.value(condition)
        before, both = dict(self._values), []
        for key, holds in (("consequence", True), ("alternative", False)):
            self.narrow(condition, holds=holds)
            both.append(self.value(syntax.child(node, key)))
            self._values = dict(before)
        return joined(*both)

    def _assign(self, node: Node) -> Range:
        left = uncast(syntax.child(node, "left") or syntax.child(node, "argument"))
        given = self.value(syntax.child(node, "right"))
        operator = syntax.text(syntax.child(node, "operator"))
        if left is None:
            return given
        if left.type == "identifier":
            name = syntax.text(left)
            if name in self._pointers:
                moved = self._pointer(syntax.child(node, "right")) if operator == "=" else None
                at = self._pointers[name]
                self._pointers[name] = moved or _Pointer(at.array, UNKNOWN, at.bytes)
            elif operator == "=":
                self._values[name] = given
            else:
                old = self._values.get(name, UNKNOWN)
                self._values[name] = computed(operator.rstrip("="), old, given)
            return given
        target = left
        while target.type == "field_expression":
            inner = syntax.child(target, "argument")
            if inner is None:
                return given
            target = inner
        if target.type in {"subscript_expression", "pointer_expression"}:
            self._access(target, read=operator != "=", written=True)
        return given

    def _call(self, node: Node) -> Range:  # noqa: PLR0911
        name, given = called(node), arguments(node)
        function = syntax.child(node, "function")
        if name in {"min", "max"} and len(given) == 2:
            one, two = (self.value(each) for each in given)
            if name == "max":
                return joined(one, two)
            tops = [each for each in (one.high, two.high) if each is not None]
            return Range(smallest(tops), ZERO)
        if name in {"static_cast", "int", "unsigned", "size_t"} and len(given) == 1:
            return self.value(given[0])
        atomic = name.startswith("atomic")
        if given and (atomic or name in _LOADS or name in _STORES):
            pointer = self._pointer(given[0])
            for each in given[1:]:
                self.value(each)
            if pointer is not None:
                changes = atomic or name in _STORES
                self.arrays[pointer.array].atomic |= atomic
                return self._reach(
                    pointer, exactly(ZERO), read=name not in _STORES, written=changes
                )
            self.value(given[0])
            return UNKNOWN
        if function is not None and function.type == "field_expression":
            self.value(function)
        if name in self._functions and self._depth < _DEEPEST:
            return self._inside(self._functions[name], given)
        for each in given:
            pointer = self._pointer(each)
            if pointer is not None:  # whatever that does with it
                self.arrays[pointer.array].unknown = True
            else:
                self.value(each)
        return UNKNOWN

    def _inside(self, function: Function, given: list[Node]) -> Range:
        """A function of the source, with what it is called with."""
        values, pointers, used = dict(self._values), dict(self._pointers), self.used
        self.used = set()
        bound: list[tuple[str, _Pointer | None, Range]] = []
        for (name, _), node in zip(function.parameters, given, strict=False):
            pointer = self._pointer(node)
            bound.append((name, pointer, UNKNOWN if pointer is not None else self._plain(node)))
        self._depth += 1
        for name, pointer, value in bound:
            self._pointers.pop(name, None)
            self._values[name] = value
            if pointer is not None:
                self._pointers[name] = pointer
        body = function.body
        returned = returned_only(body)
        found = self.value(returned)
        if body is not None and returned is None:
            self.follow(body)
        self._depth -= 1
        for (name, _), node in zip(function.parameters, given, strict=False):
            if name in self.used:
                used |= {syntax.text(n) for n in syntax.walk(node) if n.type == "identifier"}
        self._values, self._pointers, self.used = values, pointers, used
        return found

    def _plain(self, node: Node) -> Range:
        """An argument: a name that is passed on is not looked at yet."""
        if node.type == "identifier":
            return self._values.get(syntax.text(node), UNKNOWN)
        return self.value(node)

    # Accesses

    def _access(self, node: Node, *, read: bool, written: bool) -> Range:
        """``A[i]``, ``*A``, ``&A[i]``."""
        operator = syntax.text(syntax.child(node, "operator"))
        base = syntax.child(node, "argument")
        if node.type == "pointer_expression" and operator == "&":
            inner = uncast(base)
            if inner is not None and inner.type == "subscript_expression":
                return self._access(inner, read=True, written=True)
            return self.value(base)
        index = exactly(ZERO)
        if node.type == "subscript_expression":
            listed = syntax.child(node, "indices") or syntax.child(node, "index")
            inside = [] if listed is None else listed.named_children or [listed]
            index = self.value(inside[0]) if inside else UNKNOWN
        pointer = self._pointer(base)
        if pointer is None:
            if base is not None and not (
                base.type == "identifier" and syntax.text(base) not in self._pointers
            ):
                self.value(base)
            return UNKNOWN
        return self._reach(pointer, index, read=read, written=written)

    def _reach(
        self, pointer: _Pointer, index: Range, *, read: bool = False, written: bool = False
    ) -> Range:
        array, element = self.arrays[pointer.array], self._elements[pointer.array]
        array.read |= read
        array.written |= written
        at = computed("+", pointer.offset, index)
        array.scattered |= written and bool(at.arrays)
        if at.high is None:
            array.unknown = True
        else:
            needed = (at.high + ONE) * amounts.number(pointer.bytes)
            whole = amounts.divided(needed, amounts.number(element.bytes))
            if whole is None or whole.too_long:
                array.unknown = True
            elif whole not in array.extents:
                array.extents.append(whole)
        whole_numbers = "int" in element.type and element.count == 1
        return loaded(pointer.array) if whole_numbers else UNKNOWN

    def _pointer(self, node: Node | None) -> _Pointer | None:  # noqa: PLR0911
        """Where an expression points to, if that is one of the arrays."""
        if node is None:
            return None
        match node.type:
            case "identifier" | "field_expression":
                return self._pointers.get(syntax.text(node))
            case "parenthesized_expression":
                inner = [n for n in node.named_children if n.type != "comment"]
                return self._pointer(inner[0]) if len(inner) == 1 else None
            case "cast_expression":
                found = self._pointer(syntax.child(node, "value"))
                return self._cast(found, syntax.text(syntax.child(node, "type")))
            case "call_expression" if called(node) == "reinterpret_cast" and arguments(node):
                found = self._pointer(arguments(node)[0])
                return self._cast(found, next(iter(written_template(node)), ""))
            case "binary_expression" if syntax.text(syntax.child(node, "operator")) in {"+", "-"}:
                sign = syntax.text(syntax.child(node, "operator"))
                found = self._pointer(syntax.child(node, "left"))
                if found is None:
                    return None
                offset = self.value(syntax.child(node, "right"))
                return _Pointer(found.array, computed(sign, found.offset, offset), found.bytes)
            case "pointer_expression" if syntax.text(node).startswith("&"):
                inner_node = uncast(syntax.child(node, "argument"))
                if inner_node is None or inner_node.type != "subscript_expression":
                    return None
                found = self._pointer(syntax.child(inner_node, "argument"))
                if found is None:
                    return None
                listed = syntax.child(inner_node, "indices")
                inside = [] if listed is None else listed.named_children
                index = self.value(inside[0]) if inside else UNKNOWN
                return _Pointer(found.array, computed("+", found.offset, index), found.bytes)
        return None

    def _cast(self, pointer: _Pointer | None, written: str) -> _Pointer | None:
        """A pointer to elements of another type: its offset is in theirs."""
        element = self._types.element(written)
        if pointer is None or element is None:
            return None
        if element.bytes == pointer.bytes:
            return pointer
        offset = pointer.offset
        scaled = computed("*", offset, exactly(amounts.number(pointer.bytes)))
        scaled = computed("/", scaled, exactly(amounts.number(element.bytes)))
        return _Pointer(pointer.array, scaled, element.bytes)
