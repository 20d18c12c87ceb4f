"""Arithmetic over sizes and defines: grids, shapes and FLOPs, without running anybody's Python.

An expression is parsed by ``ast`` and walked node by node; what is not listed here is refused.
Every value on the way has to fit 64 bits, so that a long power can neither stall nor flood us.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Number = int | float

MAX_LENGTH = 400
MAX_NODES = 120
MAX_EXPONENT = 64
MAX_MAGNITUDE = 2**63 - 1

_ALLOWED = (
    "numbers, sizes, numeric defines, + - * / // % **, comparisons, 'a if x else b', "
    "ceil_div, round_up, min, max"
)


class ExpressionError(InputError):
    """An expression that cannot be read or has no value; ``position`` is its column, from 1."""

    def __init__(
        self, what: str, *, where: str | None, hint: str | None = None, position: int = 1
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.position = position


class Expression:
    """A checked expression. ``where`` says where it was written, and is no part of its identity."""

    __slots__ = ("text", "tree", "where")

    def __init__(self, text: str, where: str | None = None) -> None:
        self.text = text
        self.where = where
        self.tree = _parse(text, where)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    @property
    def normalised(self) -> str:
        """The same expression, independent of spaces and needless parentheses."""
        return ast.unparse(self.tree)

    def value(self, names: Mapping[str, Number]) -> Number:
        """Its value where the names have these values."""
        return _Evaluation(self, names).visit(self.tree)

    def integer(self, names: Mapping[str, Number]) -> int:
        """Its value, which has to be a whole number."""
        value = self.value(names)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ExpressionError(
                f"{self.text!r} is {value!r}, which is not a whole number",
                where=self.where,
                hint="use // or ceil_div instead of /",
            )
        return value


def _parse(text: str, where: str | None) -> ast.expr:
    if not text.strip():
        raise ExpressionError("an expression is empty", where=where, hint=f"write {_ALLOWED}")
    if len(text) > MAX_LENGTH:
        raise ExpressionError(
            f"an expression is {len(text)} characters long; {MAX_LENGTH} are allowed",
            where=where,
            hint="name parts of it in [sizes] or in [compile] defines",
        )
    lead = len(text) - len(text.lstrip())
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        column = lead + (error.offset or 1)
        raise ExpressionError(
            f"{text!r} is not arithmetic: {error.msg} at column {column}",
            where=where,
            hint=f"an expression is made of {_ALLOWED}",
            position=column,
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{text!r} cannot be read: {error}", where=where) from error
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise ExpressionError(
            f"{text[:40]!r}... has more than {MAX_NODES} parts", where=where, hint="shorten it"
        )
    _check(tree, text, where, lead)
    return tree


def _check(tree: ast.expr, text: str, where: str | None, lead: int) -> None:
    """Refuse what is not arithmetic when the expression is read, not when it is first needed."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr):
            continue
        column = lead + node.col_offset + 1
        problem = _problem(node)
        if problem:
            raise ExpressionError(
                f"{problem} at column {column} of {text!r}",
                where=where,
                hint=f"an expression is made of {_ALLOWED}",
                position=column,
            )


def _problem(node: ast.expr) -> str | None:  # noqa: PLR0911
    match node:
        case ast.Constant(value=bool() | str() | bytes() | complex() | None):
            return f"{ast.unparse(node)} is not a number"
        case ast.Constant(value=int() | float()):
            return None
        case ast.Name():
            return None
        case ast.BinOp(op=op) if type(op) in _BINARY:
            return None
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()) | ast.IfExp():
            return None
        case ast.Compare(ops=ops) if all(type(op) in _COMPARE for op in ops):
            return None
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _CALLS:
            if any(isinstance(argument, ast.Starred) for argument in arguments):
                return "* before an argument is not allowed"
            wanted = 2 if name in _OF_TWO else max(1, len(arguments))
            return None if len(arguments) == wanted else f"{name} takes {wanted} argument(s)"
        case ast.Call(func=ast.Name(id=name)) if name not in _CALLS:
            return f"there is no function {name!r}"
        case _:
            return f"{type(node).__name__} is not allowed"


class _Evaluation:
    def __init__(self, expression: Expression, names: Mapping[str, Number]) -> None:
        self.expression = expression
        self.names = names
        self.lead = len(expression.text) - len(expression.text.lstrip())

    def visit(self, node: ast.expr) -> Number:
        try:
            value = self._visit(node)
        except ZeroDivisionError:
            raise self._error(node, "division by zero") from None
        except (OverflowError, ValueError, TypeError) as error:
            raise self._error(node, str(error)) from error
        if isinstance(value, complex) or not math.isfinite(value) or abs(value) > MAX_MAGNITUDE:
            raise self._error(node, "a value that does not fit 64 bits")
        return value

    def _visit(self, node: ast.expr) -> Number:  # noqa: PLR0911
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name):
                return self._lookup(node, name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.visit(operand)
            case ast.UnaryOp(operand=operand):
                return self.visit(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return _BINARY[type(op)](self.visit(left), self.visit(right))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.visit(body) if self.visit(test) else self.visit(orelse)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                values = [self.visit(left), *(self.visit(other) for other in comparators)]
                pairs = zip(ops, values, values[1:], strict=False)
                return int(all(_COMPARE[type(op)](a, b) for op, a, b in pairs))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return _CALLS[name](*(self.visit(argument) for argument in arguments))
        raise TypeError(f"{type(node).__name__} is not allowed")

    def _lookup(self, node: ast.expr, name: str) -> Number:
        if name in self.names:
            return self.names[name]
        known = ", ".join(sorted(self.names)) or "none"
        raise self._error(
            node,
            f"unknown name {name!r}",
            hint=f"add it to [sizes] or to [compile] defines; known are: {known}",
        )

    def _error(self, node: ast.expr, what: str, hint: str | None = None) -> ExpressionError:
        column = self.lead + node.col_offset + 1
        return ExpressionError(
            f"{what} at column {column} of {self.expression.text!r}",
            where=self.expression.where,
            hint=hint,
            position=column,
        )


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > MAX_EXPONENT:
        raise ValueError(f"an exponent above {MAX_EXPONENT}")
    result: Number = base**exponent
    return result


def _ceil_div(value: Number, divisor: Number) -> Number:
    return -(-value // divisor)


def _round_up(value: Number, multiple: Number) -> Number:
    return -(-value // multiple) * multiple


_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: _power,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
}


def _least(*values: Number) -> Number:
    return min(values)


def _most(*values: Number) -> Number:
    return max(values)


_CALLS: dict[str, Callable[..., Number]] = {
    "ceil_div": _ceil_div,
    "round_up": _round_up,
    "min": _least,
    "max": _most,
}
_OF_TWO = frozenset({"ceil_div", "round_up"})
FUNCTIONS = frozenset(_CALLS)
"""Names that an expression calls; no size or define may have one of them."""
