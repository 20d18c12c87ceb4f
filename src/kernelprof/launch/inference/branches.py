"""Branches of host code that are not taken with the values that a source gives."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

from kernelprof.launch import syntax

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

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


def _compare(condition: Node, evaluate: Evaluate) -> bool | None:
    compare = _COMPARISONS.get(syntax.child_text(condition, "operator"))
    left, right = syntax.child(condition, "left"), syntax.child(condition, "right")
    if compare is None or left is None or right is None:
        return None
    one, other = evaluate(left), evaluate(right)
    return None if one is None or other is None else bool(compare(one, other))
