"""Which elements of each array a kernel reaches, from the text of its body alone.

Statements are followed in their order, branches and loops by their conditions. What is not
understood is unknown, and so is then what depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.guess.accesses import Accesses
from kernelprof.launch.guess.names import uncast
from kernelprof.launch.guess.ranges import ONE, UNKNOWN, ZERO, Range, joined, larger

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tree_sitter import Node

    from kernelprof.launch.guess.amounts import Amount
    from kernelprof.launch.guess.names import Function
    from kernelprof.launch.guess.written_types import Element, Types

_FLIPPED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_NEGATED: Final = {"<": ">=", ">": "<=", "<=": ">", ">=": "<", "!=": "==", "==": "!="}


@dataclass(frozen=True)
class Bound:
    """What a thread's index is compared with: blocks along ``axis`` are ``step`` apart in it."""

    axis: str
    step: Amount
    end: Amount
    """The first value that is too large."""
    strided: bool
    """Whether a loop over the whole grid goes on behind it, so that any grid does."""


class Reach(Accesses):
    """Follows one kernel, statement by statement."""

    def __init__(
        self,
        arrays: Mapping[str, Element],
        known: Mapping[str, Amount],
        types: Types,
        functions: Mapping[str, Function],
    ) -> None:
        """``functions`` are those that the kernel may call."""
        super().__init__(arrays, known, types, functions)
        self.bounds: list[Bound] = []
        self.offsets: set[str] = set()
        """Arrays whose neighbours say where something begins and ends."""

    # Statements

    def follow(self, node: Node) -> None:
        """A statement, with all that is in it."""
        match node.type:
            case "compound_statement":
                self._in_order(node)
            case "declaration":
                for part in node.children_by_field_name("declarator"):
                    if part.type == "init_declarator":
                        self.declare(part)
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
                    self.narrow(syntax.child(child, "condition"), holds=False)

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
        self.narrow(condition, holds=holds)
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
        self.narrow(condition, holds=True, strided=strided, begun=begun)
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

    def narrow(
        self,
        condition: Node | None,
        *,
        holds: bool,
        strided: bool = False,
        begun: Mapping[str, Range] | None = None,
    ) -> None:
        """What a condition says about variables where it holds, or does not.

        A loop's is ``strided`` if it goes on behind the whole grid, and ``begun`` are its counters
        as they begin.
        """
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


def reach(
    kernel: Node,
    arrays: Mapping[str, Element],
    known: Mapping[str, Amount],
    types: Types,
    functions: Mapping[str, Function],
    *,
    aliases: Mapping[str, str],
) -> Reach:
    """Follow a kernel's definition; ``functions`` are those that it may call.

    ``aliases`` are what it calls arrays that are no parameters.
    """
    found = Reach(arrays, known, types, functions)
    for name, alias in aliases.items():
        found.call(name, alias)
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


def needed(extents: list[Amount]) -> Amount | None:
    """How many elements all accesses together need."""
    found: Amount | None = extents[0] if extents else None
    for each in extents[1:]:
        found = larger(found, each)
    return found
