"""Which elements of each array a kernel accesses, from the text of its body alone.

Statements are followed in order, branches and loops by their conditions. An expression that is not
supported has an unknown range, and so has everything that depends on it.

Names of amounts beside the sizes: ``block__x`` and ``grid__x`` are threads and blocks along an
axis, ``loaded__A`` is what the values in an array of whole numbers stay below.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.amounts import ONE, ZERO, apply_operator, parse_number
from kernelprof.launch.inference.symbols import (
    call_arguments,
    called_name,
    declared_name,
    returned_only,
    strip_casts,
    written_template,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node

    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.symbols import Element, FunctionSymbol, Types


@dataclass(frozen=True)
class Range:
    """From ``low`` to ``high``, both included; ``None`` where unknown.

    ``blocks`` is the increase from one block to the next, by axis; ``arrays`` are those of
    integers that the value was loaded from.
    """

    high: SizeExpr | None
    low: SizeExpr | None = ZERO
    blocks: Mapping[str, SizeExpr] = field(default_factory=dict)
    arrays: frozenset[str] = frozenset()

    @property
    def exact(self) -> SizeExpr | None:
        """The value, if there is only one."""
        return self.high if self.high == self.low else None


UNKNOWN: Final = Range(None, None)


def exactly(amount: SizeExpr) -> Range:
    """One value."""
    return Range(amount, amount)


def builtin_range(variable: str, axis: str) -> Range | None:
    """``threadIdx.x`` and its like."""
    threads, blocks = amounts.parse_size(f"block__{axis}"), amounts.parse_size(f"grid__{axis}")
    match variable:
        case "threadIdx":
            return Range(threads - ONE)
        case "blockIdx":
            return Range(blocks - ONE, ZERO, {axis: ONE})
        case "blockDim":
            return exactly(threads)
        case "gridDim":
            return exactly(blocks)
    return None


def loaded_range(array: str) -> Range:
    """What an array of whole numbers holds."""
    return Range(amounts.parse_size(f"loaded__{array}") - ONE, ZERO, {}, frozenset((array,)))


def join(one: Range, other: Range) -> Range:
    """Either of two."""
    if one == other:
        return one
    low = one.low if one.low == other.low else ZERO
    if one.low is None or other.low is None:
        low = None
    return Range(larger_known(one.high, other.high), low, {}, one.arrays | other.arrays)


def larger_known(one: SizeExpr | None, other: SizeExpr | None) -> SizeExpr | None:
    """The larger of two amounts."""
    if one is None or other is None:
        return None
    if one.never_below(other):
        return one
    return other if other.never_below(one) else amounts.larger(one, other)


def apply_to_ranges(operator: str, a: Range, b: Range) -> Range:
    """Two ranges by an operator of C."""
    arrays = a.arrays | b.arrays
    match operator:
        case "%":
            return Range(apply_operator("-", b.high, ONE), ZERO, {}, arrays)
        case "&":
            mask = b.exact if b.exact is not None and b.exact.constant is not None else a.exact
            if mask is None or mask.constant is None or mask.constant < 0:
                return UNKNOWN
            return Range(mask, ZERO, {}, arrays)
        case "-":
            high = apply_operator("-", a.high, b.low)
            low = apply_operator("-", a.low, b.high)
        case "/" | ">>" | "<<":
            high = apply_operator(operator, a.high, b.exact)
            low = ZERO if a.low == ZERO else None
            if a.exact is not None and b.exact is not None:
                low = high
        case "+" | "*":
            high = apply_operator(operator, a.high, b.high)
            low = apply_operator(operator, a.low, b.low)
        case _:
            return UNKNOWN
    return Range(high, low, _blocks(operator, a, b), arrays)


def _blocks(operator: str, a: Range, b: Range) -> Mapping[str, SizeExpr]:
    if operator == "+":
        axes = {*a.blocks, *b.blocks}
        return {axis: a.blocks.get(axis, ZERO) + b.blocks.get(axis, ZERO) for axis in axes}
    if operator == "-":
        return a.blocks if not b.blocks else {}
    if operator in {"*", "<<"}:
        for one, other in ((a, b), (b, a)):
            factor = other.exact
            if operator == "<<":
                factor = apply_operator("<<", ONE, factor)
            if one.blocks and factor is not None and not other.blocks:
                return {axis: each * factor for axis, each in one.blocks.items()}
    return {}


def _smaller_known(one: Range, two: Range) -> SizeExpr | None:
    """The smaller of two largest values, the first if they cannot be compared."""
    if one.high is None or two.high is None:
        return one.high or two.high
    return two.high if one.high.never_below(two.high) else one.high


_DEEPEST: Final = 4
_LOADS: Final = {"__ldg", "__ldcs", "__ldcg", "__ldca", "__ldlu", "__ldcv"}
_STORES: Final = {"__stcs", "__stcg", "__stwb", "__stwt"}


@dataclass
class ArrayAccesses:
    """What becomes of one array."""

    extents: list[SizeExpr] = field(default_factory=list)
    """How many elements each access needs there to be."""
    unknown: bool = False
    read: bool = False
    written: bool = False
    atomic: bool = False
    addressed: bool = False
    """Whether the address of an element is taken."""
    scattered: bool = False
    """Whether it is written where a loaded value says."""


@dataclass(frozen=True)
class _Pointer:
    array: str
    offset: Range
    bytes: int

    def moved(self, offset: Range, sign: str = "+") -> _Pointer:
        return replace(self, offset=apply_to_ranges(sign, self.offset, offset))


_FLIPPED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NEGATED: Final = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "!=": "==", "==": "!="}


@dataclass(frozen=True)
class IndexBound:
    """What a thread's index is compared with: blocks along ``axis`` are ``step`` apart in it."""

    axis: str
    step: SizeExpr
    end: SizeExpr
    """The first value that is too large."""
    strided: bool
    """Whether a loop over the whole grid goes on behind it, so that any grid does."""


class Reach:
    """Follows one kernel, statement by statement, and records what it accesses.

    ``arrays`` are the kernel's pointers, ``constants`` named numbers, ``functions`` what it may
    call, ``aliases`` what it calls arrays that are no parameters: ``p.in``.
    """

    def __init__(
        self,
        arrays: Mapping[str, Element],
        constants: Mapping[str, SizeExpr],
        types: Types,
        functions: Mapping[str, FunctionSymbol],
        aliases: Mapping[str, str],
    ) -> None:
        self.arrays = {name: ArrayAccesses() for name in arrays}
        self.used: set[str] = set()
        self.bounds: list[IndexBound] = []
        self.offsets: set[str] = set()
        """Arrays in which neighbouring elements are the begin and end of a range."""
        self._elements = arrays
        self._types = types
        self._functions = functions
        self._depth = 0
        self._values: dict[str, Range] = {name: exactly(each) for name, each in constants.items()}
        self._pointers = {
            aliases.get(name, name): _Pointer(name, exactly(ZERO), each.bytes)
            for name, each in arrays.items()
        }

    def _declare(self, node: Node) -> None:
        name = syntax.text(declared_name(syntax.child(node, "declarator")))
        given = syntax.child(node, "value")
        pointer = self._pointer(given)
        if pointer is not None and "*" in syntax.child_text(node, "declarator"):
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
                number = parse_number(syntax.text(node))
                return UNKNOWN if number is None else exactly(number)
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
            case "assignment_expression" | "update_expression":
                return self._assign(node)
            case "cast_expression":
                return self.value(syntax.child(node, "value"))
            case "call_expression":
                return self._call(node)
            case "conditional_expression":
                return self._conditional(node)
            case "unary_expression":
                value = self.value(syntax.child(node, "argument"))
                is_minus = syntax.child_text(node, "operator") == "-"
                return apply_to_ranges("-", exactly(ZERO), value) if is_minus else UNKNOWN
            case "parenthesized_expression" | "condition_clause" | "initializer_list":
                inner = syntax.parts(node)
                return self.value(inner[0]) if len(inner) == 1 else UNKNOWN
            case "sizeof_expression":
                kind = syntax.child(node, "type") or strip_casts(syntax.child(node, "value"))
                element = self._types.element(syntax.text(kind))
                return UNKNOWN if element is None else exactly(amounts.constant_size(element.bytes))
            case "init_declarator":
                self._declare(node)
                return UNKNOWN
        for child in node.named_children:
            self.follow(child)
        return UNKNOWN

    def _member(self, node: Node) -> Range:
        value_of_name = self._values.get(syntax.text(node))
        if value_of_name is not None:
            return value_of_name
        argument, axis = syntax.child(node, "argument"), syntax.child_text(node, "field")
        builtin = builtin_range(syntax.text(argument), axis)
        if builtin is not None:
            return builtin
        if argument is not None and argument.type != "identifier":
            self.value(argument)  # p[i].x
        elif argument is not None and syntax.text(argument) in self._pointers:
            self._reach(self._pointers[syntax.text(argument)], exactly(ZERO), read=True)
        return UNKNOWN

    def _binary(self, node: Node) -> Range:
        operator = syntax.child_text(node, "operator")
        left, right = syntax.child(node, "left"), syntax.child(node, "right")
        if operator in {"&&", "||"}:
            self.value(left)
            before = dict(self._values)
            self.narrow(left, holds=operator == "&&")
            self.value(right)
            self._values = before
            return UNKNOWN
        return apply_to_ranges(operator, self.value(left), self.value(right))

    def _conditional(self, node: Node) -> Range:
        condition = syntax.child(node, "condition")
        self.value(condition)
        before, both = dict(self._values), []
        for key, holds in (("consequence", True), ("alternative", False)):
            self.narrow(condition, holds=holds)
            both.append(self.value(syntax.child(node, key)))
            self._values = dict(before)
        return join(*both)

    def _assign(self, node: Node) -> Range:
        left = strip_casts(syntax.child(node, "left") or syntax.child(node, "argument"))
        given = self.value(syntax.child(node, "right"))
        operator = syntax.child_text(node, "operator")
        if left is None:
            return given
        if left.type == "identifier":
            name = syntax.text(left)
            if name in self._pointers:
                moved = self._pointer(syntax.child(node, "right")) if operator == "=" else None
                self._pointers[name] = moved or replace(self._pointers[name], offset=UNKNOWN)
            elif operator == "=":
                self._values[name] = given
            else:
                old = self._values.get(name, UNKNOWN)
                self._values[name] = apply_to_ranges(operator.rstrip("="), old, given)
            return given
        target: Node | None = left
        while target is not None and target.type == "field_expression":
            target = syntax.child(target, "argument")
        if target is not None and target.type in {"subscript_expression", "pointer_expression"}:
            self._access(target, read=operator != "=", written=True)
        return given

    def _call(self, node: Node) -> Range:
        name, given = called_name(node), call_arguments(node)
        function = syntax.child(node, "function")
        if name in {"min", "max"} and len(given) == 2:
            one, two = (self.value(each) for each in given)
            return join(one, two) if name == "max" else Range(_smaller_known(one, two), ZERO)
        if name in {"static_cast", "int", "unsigned", "size_t"} and len(given) == 1:
            return self.value(given[0])
        atomic = name.startswith(("atomic", "gpuAtomic"))
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
            return self._inline_call(self._functions[name], given)
        for each in given:
            pointer = self._pointer(each)
            if pointer is None:
                self.value(each)
            elif name.startswith("curand"):  # the state of one generator
                self._reach(pointer, exactly(ZERO), read=True, written=True)
            else:  # whatever that does with it
                self.arrays[pointer.array].unknown = True
        return UNKNOWN

    def _inline_call(self, function: FunctionSymbol, given: list[Node]) -> Range:
        values, pointers, used = dict(self._values), dict(self._pointers), self.used
        self.used = set()
        bound: list[tuple[str, _Pointer | None, Range]] = []
        passed = [(name, node) for (name, _), node in zip(function.parameters, given, strict=False)]
        for name, node in passed:
            pointer = self._pointer(node)
            value = UNKNOWN if pointer is not None else self._argument_value(node)
            bound.append((name, pointer, value))
        self._depth += 1
        for name, pointer, value in bound:
            self._pointers.pop(name, None)
            self._values[name] = value
            if pointer is not None:
                self._pointers[name] = pointer
        body = function.body
        returned = returned_only(body)
        result = self.value(returned)
        if body is not None and returned is None:
            self.follow(body)
        self._depth -= 1
        for name, node in passed:
            if name in self.used:
                used |= {syntax.text(n) for n in syntax.walk(node) if n.type == "identifier"}
        self._values, self._pointers, self.used = values, pointers, used
        return result

    def _argument_value(self, node: Node) -> Range:
        """An argument: a name that is passed on is not looked at yet."""
        if node.type == "identifier":
            return self._values.get(syntax.text(node), UNKNOWN)
        return self.value(node)

    # Accesses

    def _access(self, node: Node, *, read: bool, written: bool) -> Range:
        operator = syntax.child_text(node, "operator")
        base = syntax.child(node, "argument")
        if node.type == "pointer_expression" and operator == "&":
            inner = strip_casts(base)
            if inner is not None and inner.type == "subscript_expression":
                return self._access(inner, read=True, written=True)
            return self.value(base)
        is_indexed = node.type == "subscript_expression"
        index = self._index(node) if is_indexed else exactly(ZERO)
        addressed = {name: each.addressed for name, each in self.arrays.items()}
        pointer = self._pointer(base)
        if pointer is not None:
            # An address that is taken for this access alone: ((float4*)&a[i])[0]
            self.arrays[pointer.array].addressed = addressed[pointer.array]
            return self._reach(pointer, index, read=read, written=written)
        if base is not None and (base.type != "identifier" or syntax.text(base) in self._pointers):
            self.value(base)
        return UNKNOWN

    def _index(self, subscript: Node) -> Range:
        listed = syntax.child(subscript, "indices") or syntax.child(subscript, "index")
        return UNKNOWN if listed is None else self.value((listed.named_children or [listed])[0])

    def _reach(
        self, pointer: _Pointer, index: Range, *, read: bool = False, written: bool = False
    ) -> Range:
        array, element = self.arrays[pointer.array], self._elements[pointer.array]
        array.read |= read
        array.written |= written
        at = pointer.moved(index).offset
        array.scattered |= written and bool(at.arrays)
        if at.high is None:
            array.unknown = True
        else:
            end_bytes = (at.high + ONE) * amounts.constant_size(pointer.bytes)
            whole = amounts.divide(end_bytes, amounts.constant_size(element.bytes))
            if whole is None or whole.too_long:
                array.unknown = True
            elif whole not in array.extents:
                array.extents.append(whole)
        whole_numbers = "int" in element.type and element.count == 1
        return loaded_range(pointer.array) if whole_numbers else UNKNOWN

    def _pointer(self, node: Node | None) -> _Pointer | None:  # noqa: PLR0911
        if node is None:
            return None
        match node.type:
            case "identifier" | "field_expression":
                return self._pointers.get(syntax.text(node))
            case "parenthesized_expression":
                inner = syntax.parts(node)
                return self._pointer(inner[0]) if len(inner) == 1 else None
            case "cast_expression":
                base = self._pointer(syntax.child(node, "value"))
                return self._cast(base, syntax.child_text(node, "type"))
            case "call_expression" if called_name(node) == "reinterpret_cast" and call_arguments(
                node
            ):
                base = self._pointer(call_arguments(node)[0])
                return self._cast(base, next(iter(written_template(node)), ""))
            case "binary_expression" if syntax.child_text(node, "operator") in {"+", "-"}:
                sign = syntax.child_text(node, "operator")
                base = self._pointer(syntax.child(node, "left"))
                offset_node = syntax.child(node, "right")
                return None if base is None else base.moved(self.value(offset_node), sign)
            case "pointer_expression" if syntax.text(node).startswith("&"):
                inner_node = strip_casts(syntax.child(node, "argument"))
                if inner_node is None or inner_node.type != "subscript_expression":
                    return None
                base = self._pointer(syntax.child(inner_node, "argument"))
                if base is None:
                    return None
                self.arrays[base.array].addressed = True
                return base.moved(self._index(inner_node))
        return None

    def _cast(self, pointer: _Pointer | None, written: str) -> _Pointer | None:
        element = self._types.element(written)
        if pointer is None or element is None:
            return None
        if element.bytes == pointer.bytes:
            return pointer
        offset = pointer.offset
        scaled = apply_to_ranges("*", offset, exactly(amounts.constant_size(pointer.bytes)))
        scaled = apply_to_ranges("/", scaled, exactly(amounts.constant_size(element.bytes)))
        return _Pointer(pointer.array, scaled, element.bytes)

    # Statements

    def follow(self, node: Node) -> None:
        """A statement, with all that is in it."""
        match node.type:
            case "compound_statement":
                self._follow_sequence(node)
            case "declaration":
                for declarator in node.children_by_field_name("declarator"):
                    if declarator.type == "init_declarator":
                        self._declare(declarator)
            case "if_statement":
                self._branch(node)
            case "for_statement":
                self._loop(node)
            case "while_statement" | "do_statement":
                self._invalidate(node)
                condition = syntax.child(node, "condition")
                self.value(condition)
                self._follow_branch(syntax.child(node, "body"), condition, holds=True)
                self._invalidate(node)
            case _ if node.type.endswith("statement") and node.type != "expression_statement":
                for child in node.named_children:
                    self.follow(child)
            case _:
                self.value(node)

    def _follow_sequence(self, node: Node) -> None:
        """Statements after each other; behind ``if (i >= n) return;`` the opposite holds."""
        for child in node.named_children:
            self.follow(child)
            if child.type == "if_statement" and not syntax.child(child, "alternative"):
                leaves = syntax.child(child, "consequence")
                if leaves is not None and _leaves_block(leaves):
                    self.narrow(syntax.child(child, "condition"), holds=False)

    def _branch(self, node: Node) -> None:
        condition = syntax.child(node, "condition")
        self.value(condition)
        before = dict(self._values)
        self._follow_branch(syntax.child(node, "consequence"), condition, holds=True)
        after = self._values
        self._values = dict(before)
        self._follow_branch(syntax.child(node, "alternative"), condition, holds=False)
        assigned = set(_assigned_names(node))
        for name, value in self._values.items():
            if name in assigned:
                self._values[name] = join(value, after.get(name, UNKNOWN))

    def _follow_branch(self, node: Node | None, condition: Node | None, *, holds: bool) -> None:
        if node is None:
            return
        before = dict(self._values)
        self.narrow(condition, holds=holds)
        narrowed = {n: v for n, v in self._values.items() if before.get(n) != v}
        self.follow(node)
        assigned = set(_assigned_names(node))
        for name in narrowed:
            if name not in assigned and name in before:
                self._values[name] = before[name]

    def _loop(self, node: Node) -> None:
        start, condition = syntax.child(node, "initializer"), syntax.child(node, "condition")
        update, body = syntax.child(node, "update"), syntax.child(node, "body")
        if start is not None:
            self.follow(start)
        counters = set(_assigned_names(update)) if update is not None else set()
        begun = {name: self._values.get(name, UNKNOWN) for name in counters}
        self._invalidate(node, but=counters)
        growing = "-" not in syntax.text(update) and ">>" not in syntax.text(update)
        growing = growing and "/=" not in syntax.text(update)
        strided = "gridDim" in syntax.text(update) or self._grid_step(update)
        for name, value in begun.items():
            high = None if growing else value.high
            self._values[name] = Range(high, value.low if growing else ZERO, value.blocks)
        self.value(condition)
        before = dict(self._values)
        self.narrow(condition, holds=True, strided=strided, begun=begun)
        if body is not None:
            self.follow(body)
        self._values = {n: v for n, v in before.items() if n not in counters} | {
            n: v for n, v in self._values.items() if n not in before
        }
        self._invalidate(node)

    def _grid_step(self, update: Node | None) -> bool:
        step = syntax.child_text(update, "right")
        value = self._values.get(step)
        high = None if value is None else value.high
        return high is not None and any(name.startswith("grid__") for name in high.names)

    def _invalidate(self, node: Node, but: set[str] | None = None) -> None:
        for name in _assigned_names(node):
            if name in self._pointers:
                self._pointers[name] = replace(self._pointers[name], offset=UNKNOWN)
            elif name not in (but or ()):
                self._values[name] = UNKNOWN

    # Conditions

    def narrow(
        self,
        condition: Node | None,
        *,
        holds: bool,
        strided: bool = False,
        begun: Mapping[str, Range] | None = None,
    ) -> None:
        """Narrow variables by a condition that holds, or does not.

        For a loop, ``strided`` is whether it advances by the whole grid, and ``begun`` are
        its counters' first values.
        """
        for left, operator, right in _comparisons(strip_casts(condition), holds=holds):
            for one, sign, other in (
                (left, operator, right),
                (right, _FLIPPED.get(operator, operator), left),
            ):
                if sign in {"<", "<=", "!=", "=="}:
                    self._narrow_variable(one, sign, other, strided=strided, begun=begun or {})

    def _narrow_variable(
        self, one: Node, sign: str, other: Node, *, strided: bool, begun: Mapping[str, Range]
    ) -> None:
        name = syntax.text(strip_casts(one))
        limit = self._value_uncounted(other)
        if limit.high is None:
            return
        top = limit.high if sign in {"<=", "=="} else limit.high - ONE
        value = self._values.get(name)
        grown = value if value is not None else self._value_uncounted(one)
        if sign == "!=" and name not in begun:
            return
        for axis, step in grown.blocks.items():
            if len(grown.blocks) == 1 and step.terms and sign in {"<", "<="}:
                self.bounds.append(IndexBound(axis, step, top + ONE, strided))
        started = begun.get(name)
        if started is not None and started.arrays & limit.arrays:
            self.offsets |= started.arrays & limit.arrays
        if value is not None and strip_casts(one).type == "identifier":  # type: ignore[union-attr]
            previous = value.high
            is_tighter = previous is not None and top.never_below(previous) and previous != top
            self._values[name] = Range(
                previous if is_tighter else top, value.low, value.blocks, value.arrays
            )

    def _value_uncounted(self, node: Node | None) -> Range:
        """A value whose accesses are counted elsewhere."""
        counts = {name: (len(each.extents), each.unknown) for name, each in self.arrays.items()}
        result = self.value(node)
        for name, (count, unknown) in counts.items():
            del self.arrays[name].extents[count:]
            self.arrays[name].unknown = unknown
        return result


def _comparisons(node: Node | None, *, holds: bool) -> Iterator[tuple[Node, str, Node]]:
    node = strip_casts(node)
    if node is None:
        return
    if node.type == "condition_clause":
        yield from _comparisons(syntax.child(node, "value"), holds=holds)
    elif node.type == "unary_expression" and syntax.text(node).startswith("!"):
        yield from _comparisons(syntax.child(node, "argument"), holds=not holds)
    elif node.type == "binary_expression":
        operator = syntax.child_text(node, "operator")
        left, right = syntax.child(node, "left"), syntax.child(node, "right")
        if operator == ("&&" if holds else "||"):
            yield from _comparisons(left, holds=holds)
            yield from _comparisons(right, holds=holds)
        elif operator in _NEGATED and left is not None and right is not None:
            yield left, operator if holds else _NEGATED[operator], right


def _leaves_block(node: Node) -> bool:
    statements = syntax.parts(node) if node.type == "compound_statement" else [node]
    leaving = {"return_statement", "continue_statement", "break_statement"}
    return bool(statements) and statements[-1].type in leaving


def _assigned_names(node: Node | None) -> Iterator[str]:
    targets = {"assignment_expression": "left", "update_expression": "argument"}
    for each in [] if node is None else syntax.walk(node):
        target = syntax.child(each, targets[each.type]) if each.type in targets else None
        if target is not None and target.type == "identifier":
            yield syntax.text(target)


def largest_extent(extents: Sequence[SizeExpr | None]) -> SizeExpr | None:
    """How many elements all accesses together need; ``None`` if one of them is unknown."""
    return reduce(larger_known, extents) if extents else None
