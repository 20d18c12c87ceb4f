"""Which elements of each array a kernel reaches, from the text of its body alone.

Statements are followed in their order, branches and loops by their conditions. What is not
understood is unknown, and so is then what depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.guess import amounts
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
    larger,
    loaded,
    special,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.names import Function
    from kernelprof.launch.guess.written_types import Element, Types

_DEEPEST: Final = 4
"""Functions that call each other."""
_FLIPPED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NEGATED: Final = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "!=": "==", "==": "!="}
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
class Bound:
    """What a thread's index is compared with: blocks along ``axis`` are ``step`` apart in it."""

    axis: str
    step: Amount
    end: Amount
    """The first value that is too large."""
    strided: bool
    """Whether a loop over the whole grid goes on behind it, so that any grid does."""


@dataclass(frozen=True)
class _Pointer:
    array: str
    offset: Range
    bytes: int
    """Of what it points at."""


class Reach:
    """Follows one kernel. ``arrays`` are its pointers, ``known`` whole numbers that have names."""

    def __init__(
        self,
        arrays: Mapping[str, Element],
        known: Mapping[str, Amount],
        types: Types,
        functions: Mapping[str, Function],
    ) -> None:
        self.arrays = {name: Reached() for name in arrays}
        self.bounds: list[Bound] = []
        self.offsets: set[str] = set()
        """Arrays whose neighbours say where something begins and ends."""
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

    # Statements

    def follow(self, node: Node) -> None:
        """A statement, with all that is in it."""
        match node.type:
            case "compound_statement":
                self._in_order(node)
            case "declaration":
                for part in node.children_by_field_name("declarator"):
                    if part.type == "init_declarator":
                        self._declare(part)
            case "if_statement":
                self._branch(node)
            case "for_statement":
                self._loop(node)
            case "while_statement" | "do_statement":
                self._forget(node)
                condition = syntax.child(node, "condition")
                self.value(condition)
                self._within(syntax.child(node, "body"), condition, holds=True)
                self._forget(node)
            case _ if node.type.endswith("statement") and node.type != "expression_statement":
                for child in node.named_children:
                    self.follow(child)
            case _:
                self.value(node)

    def _in_order(self, node: Node) -> None:
        """Statements after each other; behind ``if (i >= n) return;`` the opposite holds."""
        for child in node.named_children:
            self.follow(child)
            if child.type == "if_statement" and not syntax.child(child, "alternative"):
                leaves = syntax.child(child, "consequence")
                if leaves is not None and _leaves(leaves):
                    self._narrow(syntax.child(child, "condition"), holds=False)

    def _declare(self, node: Node) -> None:
        name = syntax.text(innermost(syntax.child(node, "declarator")))
        given = syntax.child(node, "value")
        pointer = self._pointer(given)
        if pointer is not None and "*" in syntax.text(syntax.child(node, "declarator")):
            self._pointers[name] = pointer
            return
        self._pointers.pop(name, None)
        self._values[name] = self.value(given)

    def _branch(self, node: Node) -> None:
        condition = syntax.child(node, "condition")
        self.value(condition)
        before = dict(self._values)
        self._within(syntax.child(node, "consequence"), condition, holds=True)
        after = self._values
        self._values = dict(before)
        self._within(syntax.child(node, "alternative"), condition, holds=False)
        assigned = set(_assigned(node))
        for name, value in self._values.items():
            if name in assigned:
                self._values[name] = joined(value, after.get(name, UNKNOWN))

    def _within(self, node: Node | None, condition: Node | None, *, holds: bool) -> None:
        """A statement where a condition holds, or does not; what it narrows is undone."""
        if node is None:
            return
        before = dict(self._values)
        self._narrow(condition, holds=holds)
        narrowed = {n: v for n, v in self._values.items() if before.get(n) != v}
        self.follow(node)
        assigned = set(_assigned(node))
        for name in narrowed:
            if name not in assigned and name in before:
                self._values[name] = before[name]

    def _loop(self, node: Node) -> None:
        start, condition = syntax.child(node, "initializer"), syntax.child(node, "condition")
        update, body = syntax.child(node, "update"), syntax.child(node, "body")
        if start is not None:
            self.follow(start)
        counters = set(_assigned(update)) if update is not None else set()
        begun = {name: self._values.get(name, UNKNOWN) for name in counters}
        self._forget(node, but=counters)
        growing = "-" not in syntax.text(update) and ">>" not in syntax.text(update)
        growing = growing and "/=" not in syntax.text(update)
        strided = "gridDim" in syntax.text(update) or self._grid_step(update)
        for name, value in begun.items():
            high = None if growing else value.high
            self._values[name] = Range(high, value.low if growing else ZERO, value.blocks)
        self.value(condition)
        before = dict(self._values)
        self._narrow(condition, holds=True, strided=strided, begun=begun)
        if body is not None:
            self.follow(body)
        self._values = {n: v for n, v in before.items() if n not in counters} | {
            n: v for n, v in self._values.items() if n not in before
        }
        self._forget(node)

    def _grid_step(self, update: Node | None) -> bool:
        """Whether a loop goes on by a variable that holds the threads of the whole grid."""
        step = syntax.text(syntax.child(update, "right"))
        value = self._values.get(step)
        high = None if value is None else value.high
        return high is not None and any(name.startswith("grid__") for name in high.names)

    def _forget(self, node: Node, but: set[str] | None = None) -> None:
        """Of what a loop changes nothing is known in its next turn."""
        for name in _assigned(node):
            if name not in (but or ()):
                self._values[name] = UNKNOWN

    # Conditions

    def _narrow(
        self,
        condition: Node | None,
        *,
        holds: bool,
        strided: bool = False,
        begun: Mapping[str, Range] | None = None,
    ) -> None:
        """What a condition says about variables."""
        for left, operator, right in _comparisons(uncast(condition), holds=holds):
            for one, sign, other in (
                (left, operator, right),
                (right, _FLIPPED.get(operator, operator), left),
            ):
                if sign in {"<", "<=", "!=", "=="}:
                    self._bounded(one, sign, other, strided=strided, begun=begun or {})

    def _bounded(
        self, one: Node, sign: str, other: Node, *, strided: bool, begun: Mapping[str, Range]
    ) -> None:
        name = syntax.text(uncast(one))
        limit = self._quietly(other)
        if limit.high is None:
            return
        top = limit.high if sign in {"<=", "=="} else limit.high - ONE
        value = self._values.get(name)
        grown = value if value is not None else self._quietly(one)
        if sign == "!=" and name not in begun:
            return
        for axis, step in grown.blocks.items():
            if len(grown.blocks) == 1 and step.terms and sign in {"<", "<="}:
                self.bounds.append(Bound(axis, step, top + ONE, strided))
        started = begun.get(name)
        if started is not None and started.arrays & limit.arrays:
            self.offsets |= started.arrays & limit.arrays
        if value is not None and uncast(one).type == "identifier":  # type: ignore[union-attr]
            known = value.high
            kept = known is not None and top.never_below(known) and known != top
            self._values[name] = Range(
                known if kept else top, value.low, value.blocks, value.arrays
            )

    def _quietly(self, node: Node | None) -> Range:
        """A value whose accesses are counted elsewhere."""
        kept = {name: (len(each.extents), each.unknown) for name, each in self.arrays.items()}
        found = self.value(node)
        for name, (count, unknown) in kept.items():
            del self.arrays[name].extents[count:]
            self.arrays[name].unknown = unknown
        return found

    # Values

    def value(self, node: Node | None) -> Range:
        """How large an expression can become; its accesses are noted."""
        if node is None:
            return UNKNOWN
        match node.type:
            case "number_literal":
                from kernelprof.launch.guess.values import plain_number

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
                self._declare(node)
                return UNKNOWN
        for child in node.named_children:
            self.follow(child)
        return UNKNOWN

    def _member(self, node: Node) -> Range:
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
            self._narrow(left, holds=operator == "&&")
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
            self._narrow(condition, holds=holds)
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

    def _call(self, node: Node) -> Range:
        name, given = called(node), arguments(node)
        function = syntax.child(node, "function")
        if name in {"min", "max"} and len(given) == 2:
            one, two = (self.value(each) for each in given)
            if name == "max":
                return joined(one, two)
            tops = [each for each in (one.high, two.high) if each is not None]
            return Range(_smallest(tops), ZERO)
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

    def _pointer(self, node: Node | None) -> _Pointer | None:
        """Where an expression points to, if that is one of the arrays."""
        if node is None:
            return None
        match node.type:
            case "identifier":
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


def reach(
    kernel: Node,
    arrays: Mapping[str, Element],
    known: Mapping[str, Amount],
    types: Types,
    functions: Mapping[str, Function],
) -> Reach:
    """Follow a kernel's definition; ``functions`` are those that it may call."""
    found = Reach(arrays, known, types, functions)
    body = syntax.child(kernel, "body")
    if body is not None:
        found.follow(body)
    return found


def _comparisons(node: Node | None, *, holds: bool) -> Iterator[tuple[Node, str, Node]]:
    """The comparisons that are true together where a condition holds, or does not."""
    node = uncast(node)
    if node is None:
        return
    if node.type == "condition_clause":
        yield from _comparisons(syntax.child(node, "value"), holds=holds)
    elif node.type == "unary_expression" and syntax.text(node).startswith("!"):
        yield from _comparisons(syntax.child(node, "argument"), holds=not holds)
    elif node.type == "binary_expression":
        operator = syntax.text(syntax.child(node, "operator"))
        left, right = syntax.child(node, "left"), syntax.child(node, "right")
        if operator == ("&&" if holds else "||"):
            yield from _comparisons(left, holds=holds)
            yield from _comparisons(right, holds=holds)
        elif operator in _NEGATED and left is not None and right is not None:
            yield left, operator if holds else _NEGATED[operator], right


def _leaves(node: Node) -> bool:
    """Whether a statement ends the kernel, or the turn of its loop."""
    last = node
    if node.type == "compound_statement":
        inside = [each for each in node.named_children if each.type != "comment"]
        if not inside:
            return False
        last = inside[-1]
    return last.type in {"return_statement", "continue_statement", "break_statement"}


def _assigned(node: Node | None) -> Iterator[str]:
    """The variables that something changes."""
    for each in [] if node is None else syntax.walk(node):
        if each.type == "assignment_expression":
            target = syntax.child(each, "left")
        elif each.type == "update_expression":
            target = syntax.child(each, "argument")
        else:
            continue
        if target is not None and target.type == "identifier":
            yield syntax.text(target)


def _smallest(tops: list[Amount]) -> Amount | None:
    found = None
    for each in tops:
        if found is None or found.never_below(each):
            found = each
    return found


def needed(extents: list[Amount]) -> Amount | None:
    """How many elements all accesses together need."""
    found: Amount | None = extents[0] if extents else None
    for each in extents[1:]:
        found = larger(found, each)
    return found
