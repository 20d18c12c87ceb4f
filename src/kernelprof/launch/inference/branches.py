"""Branches of host code: those not taken with a source's values, and values of those taken."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax
from kernelprof.launch.inference.amounts import parse_number
from kernelprof.launch.inference.symbols import strip_casts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from kernelprof.launch.inference.amounts import SizeExpr

    Evaluate = Callable[[Node], int | None]

_COMPARISONS: Final = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def is_skipped(node: Node, evaluate: Evaluate) -> bool:
    """Whether an ``if`` around a node compares known numbers that lead to its other branch.

    ``evaluate`` returns the number of an expression, ``None`` where it is not known.
    """
    inner, outer = node, node.parent
    while outer is not None and outer.type != "function_definition":
        if outer.type == "if_statement":
            is_first = syntax.same(syntax.child(outer, "consequence"), inner)
            condition = syntax.parts(syntax.child(outer, "condition"))
            holds = _compare(condition[0], evaluate) if len(condition) == 1 else None
            if holds is not None and holds != is_first:
                return True
        inner, outer = outer, outer.parent
    return False


def find_chosen(node: Node) -> Iterator[tuple[str, SizeExpr]]:
    """The variables that are switched on around a node, and the numbers of its cases."""
    number, outer = None, node.parent
    while outer is not None and outer.type != "function_definition":
        if outer.type == "case_statement" and number is None:
            number = parse_number(syntax.child_text(outer, "value"))
        if outer.type == "switch_statement":
            name = strip_casts(syntax.child(syntax.child(outer, "condition"), "value"))
            if number is not None and name is not None and name.type == "identifier":
                yield syntax.text(name), number
            number = None
        outer = outer.parent


def _compare(condition: Node, evaluate: Evaluate) -> bool | None:
    compare = _COMPARISONS.get(syntax.child_text(condition, "operator"))
    left, right = syntax.child(condition, "left"), syntax.child(condition, "right")
    if compare is None or left is None or right is None:
        return None
    one, other = evaluate(left), evaluate(right)
    return None if one is None or other is None else bool(compare(one, other))
