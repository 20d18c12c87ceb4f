"""Arithmetic over sizes and defines: grids, shapes, FLOPs. No Python of a specification is run.

``ast`` parses an expression, and only the listed nodes are evaluated. Every intermediate value has
to fit 64 bits, integers and fractions alike, so that a large power cannot stall the process.
"""

from __future__ import annotations

import ast
import keyword
import math
import operator
import re
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


Number = int | float
MAX_LENGTH = 400
MAX_NODES = 120
MAX_EXPONENT = 64
MAX_MAGNITUDE = 2**63 - 1
_MADE_OF = (
    "an expression can contain numbers, sizes, numeric defines, + - * / // % **, comparisons, "
    "'a if x else b', ceil_div, round_up, min and max"
)

_SYNTAX: Final = {"if", "else", "and", "or", "not", "lambda"}
_NAMES: Final = re.compile(rf"\b({'|'.join(set(keyword.kwlist) - _SYNTAX)})\b")
"""Words of Python that are names in CUDA: parameters are called ``in``."""


def parse_arithmetic(text: str) -> ast.expr:
    """Parse an expression; words of Python can be names. :class:`SyntaxError` if it is none."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        try:
            return ast.parse(_NAMES.sub(_as_name, text), mode="eval").body
        except SyntaxError:
            raise error from None


def count_parts(text: str) -> int:
    """How many parts an expression has, of the :data:`MAX_NODES` that it may have."""
    return sum(1 for _ in ast.walk(parse_arithmetic(text)))


def _as_name(word: re.Match[str]) -> str:
    # Python takes a bold letter for the plain one, and a word with it for no keyword.
    letter = word[0][0]
    bold = 0x1D41A - ord("a") if letter.islower() else 0x1D400 - ord("A")
    return chr(ord(letter) + bold) + word[0][1:]


class ExpressionError(InputError):
    """An expression that is invalid or has no value; ``position`` is its column, from 1."""

    def __init__(
        self, what: str, *, where: str | None, hint: str | None = None, position: int = 1
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.position = position


class Expression:
    """A checked expression; ``where``, its location, is no part of its identity."""

    __slots__ = ("text", "tree", "where")

    def __init__(self, text: str, where: str | None = None) -> None:
        self.text = text
        self.where = where
        self.tree = self._parsed()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    @property
    def normalised(self) -> str:
        """The expression without redundant spaces and parentheses."""
        return ast.unparse(self.tree)

    def value(self, names: Mapping[str, Number]) -> Number:
        """Evaluate it with these values of names."""
        return self._value(self.tree, names)

    def integer(self, names: Mapping[str, Number]) -> int:
        """Evaluate it to an integer."""
        value = self.value(names)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ExpressionError(
                f"{self.text!r} is {value!r}, which is not an integer",
                where=self.where,
                hint="use // or ceil_div instead of /",
            )
        return value

    def _parsed(self) -> ast.expr:
        if len(self.text) > MAX_LENGTH:
            raise ExpressionError(
                f"an expression is {len(self.text)} characters long; at most "
                f"{MAX_LENGTH} are allowed",
                where=self.where,
                hint="replace parts of it with names from [sizes] or [compile] defines",
            )
        try:
            tree = parse_arithmetic(self.text.strip())
        except SyntaxError as error:
            raise self._error(error.offset or 1, f"not arithmetic: {error.msg}") from error
        except (ValueError, RecursionError, MemoryError) as error:
            raise self._error(1, f"cannot be read: {error}") from error
        nodes = list(ast.walk(tree))
        if len(nodes) > MAX_NODES:
            raise ExpressionError(
                f"the expression has more than {MAX_NODES} parts",
                where=self.where,
                hint="replace parts of it with names from [sizes] or [compile] defines",
            )
        for node in nodes:
            if isinstance(node, ast.expr) and (problem := _problem(node)):
                raise self._error(node.col_offset + 1, problem)
        return tree

    def _value(self, node: ast.expr, names: Mapping[str, Number]) -> Number:
        try:
            value: Number = self._worked_out(node, names)
        except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
            by_zero = isinstance(error, ZeroDivisionError)
            what = "division by zero" if by_zero else str(error)
            raise self._error(node.col_offset + 1, what) from error
        whole = isinstance(value, int)
        fits = abs(value) <= MAX_MAGNITUDE if whole else _is_real(value)
        if not fits:
            what = "the value is not a real number that fits in 64 bits"
            raise self._error(node.col_offset + 1, what)
        return value

    def _worked_out(self, node: ast.expr, names: Mapping[str, Number]) -> Any:  # noqa: PLR0911
        def evaluate(each: ast.expr) -> Number:
            return self._value(each, names)

        match node:
            case ast.Constant(value=number):
                return number
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.UnaryOp(op=op, operand=operand):
                return _OPERATIONS[type(op)](evaluate(operand))
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATIONS[type(op)](evaluate(left), evaluate(right))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return evaluate(body) if evaluate(test) else evaluate(orelse)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                values = [evaluate(each) for each in (left, *comparators)]
                pairs = zip(ops, values, values[1:], strict=False)
                return int(all(_OPERATIONS[type(op)](a, b) for op, a, b in pairs))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return _CALLS[name](*map(evaluate, arguments))
        listed_names = ", ".join(sorted(names)) or "none"
        raise self._error(
            node.col_offset + 1,
            f"unknown name {ast.unparse(node)!r}",
            hint=f"add it to [sizes] or to [compile] defines; available: {listed_names}",
        )

    def _error(self, column: int, what: str, hint: str = _MADE_OF) -> ExpressionError:
        column += len(self.text) - len(self.text.lstrip())
        what = f"{what} at column {column} of {self.text!r}"
        return ExpressionError(what, where=self.where, hint=hint, position=column)


def _is_real(value: complex) -> bool:
    return not isinstance(value, complex) and math.isfinite(value)


def _problem(node: ast.expr) -> str | None:  # noqa: PLR0911
    match node:
        case ast.Constant(value=value):
            plain = type(value) in (int, float)
            return None if plain else f"{ast.unparse(node)} is not a number"
        case ast.Name() | ast.IfExp():
            return None
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) if type(op) in _OPERATIONS:
            return None
        case ast.Compare(ops=ops) if all(type(op) in _OPERATIONS for op in ops):
            return None
        case ast.Call(func=ast.Name(id=name)) if name not in _CALLS:
            return f"there is no function {name!r}"
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            wanted = 2 if name in _OF_TWO else max(1, len(arguments))
            return None if len(arguments) == wanted else f"{name} takes {wanted} argument(s)"
    return f"{type(node).__name__} is not allowed"


def _power(base: Number, exponent: Number) -> Any:
    if abs(exponent) > MAX_EXPONENT:
        raise ValueError(f"an exponent above {MAX_EXPONENT}")
    return base**exponent


_OPERATIONS: Final[dict[type[ast.AST], Callable[..., Any]]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_OF_TWO: Final[dict[str, Callable[..., Any]]] = {
    "ceil_div": lambda value, divisor: -(-value // divisor),
    "round_up": lambda value, multiple: -(-value // multiple) * multiple,
}
_CALLS: Final[dict[str, Callable[..., Any]]] = {
    **_OF_TWO,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
}
FUNCTIONS: Final = frozenset(_CALLS)
"""Names that an expression calls; no size or define may have one of them."""
Amounts = TypeVar("Amounts", int, float)
IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_TEXT = {"type": "string", "minLength": 1, "maxLength": MAX_LENGTH}
Dimension = Annotated[Expression, Meta(extra_json_schema={"anyOf": [_TEXT, {"type": "integer"}]})]
"""A whole number, or an expression that gives one."""
Amount = Annotated[Expression, Meta(extra_json_schema={"anyOf": [_TEXT, {"type": "number"}]})]
"""A number, or an expression that gives one."""
Dimensions = Annotated[tuple[Dimension, ...], Meta(min_length=1, max_length=3)]
Name = Annotated[str, Meta(pattern=f"^(?!({'|'.join(sorted(FUNCTIONS))})$){IDENTIFIER}$")]
Positive = Annotated[float, Meta(gt=0)]


class SpecError(InputError):
    """A launch specification that is invalid as written."""


class StrictTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a specification, with the keys that it may have."""


def evaluate_whole(
    expression: Expression,
    names: Mapping[str, Number],
    least: int,
    most: float = math.inf,
    what: str = "",
) -> int:
    """Evaluate an integer within bounds; :class:`SpecError` beyond them."""
    return bound_value(expression, expression.integer(names), least, most, what)


def bound_value(
    expression: Expression, value: Amounts, least: int, most: float, what: str = ""
) -> Amounts:
    """Return a value of an expression, if it is within bounds."""
    if not least <= value <= most:
        possible = f"{least} or more" if most == math.inf else f"{least} to {most}"
        raise SpecError(
            f"{expression.text!r} gives {value}{what}; allowed: {possible}", where=expression.where
        )
    return value
