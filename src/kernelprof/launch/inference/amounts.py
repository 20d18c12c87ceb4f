"""Amounts over sizes, as sums of products: ``(M - 1) * K + K`` and ``M * K`` are the same one.

Factors are names of sizes, and expressions that are kept as they are (``N // 2``). All amounts
stand for whole numbers that are not negative, as extents and grids are.
"""

from __future__ import annotations

import ast
import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.launch.specification.expressions import (
    MAX_LENGTH,
    MAX_NODES,
    Expression,
    count_parts,
    parse_arithmetic,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Product = tuple[str, ...]

_MOST_TERMS: Final = 24


@dataclass(frozen=True)
class SizeExpr:
    """A sum of products of factors, each with a coefficient."""

    terms: tuple[tuple[Product, int], ...]

    def __add__(self, other: SizeExpr) -> SizeExpr:
        terms = dict(self.terms)
        for product, times in other.terms:
            terms[product] = terms.get(product, 0) + times
        return _made(terms)

    def __sub__(self, other: SizeExpr) -> SizeExpr:
        return self + other * constant_size(-1)

    def __mul__(self, other: SizeExpr) -> SizeExpr:
        terms: dict[Product, int] = {}
        for one, a in self.terms:
            for two, b in other.terms:
                product = tuple(sorted((*one, *two)))
                terms[product] = terms.get(product, 0) + a * b
        return _made(terms)

    @property
    def constant(self) -> int | None:
        """The value, if it is a constant."""
        if not self.terms:
            return 0
        ((product, times), *others) = self.terms
        return times if not product and not others else None

    @property
    def names(self) -> set[str]:
        """All sizes in it, also within factors."""
        names: set[str] = set()
        for product, _ in self.terms:
            for factor in product:
                tree = ast.walk(parse_arithmetic(factor))
                called = {"ceil_div", "round_up", "min", "max"}
                names |= {n.id for n in tree if isinstance(n, ast.Name)} - called
        return names

    @property
    def has_atoms(self) -> bool:
        """Whether it has names of :mod:`reach`: ``block__x``, ``grid__x`` or ``loaded__A``."""
        return any(re.match("(block|grid|loaded)__", name) for name in self.names)

    @property
    def too_long(self) -> bool:
        """Whether it exceeds what a specification may hold."""
        if len(self.terms) > _MOST_TERMS or len(self.text) > MAX_LENGTH:
            return True
        return len(self.text) > MAX_NODES / 2 and count_parts(self.text) > MAX_NODES

    @property
    def text(self) -> str:
        """The expression as a specification writes it."""
        parts: list[str] = []
        for product, times in sorted(self.terms, key=lambda term: (-len(term[0]), term)):
            factors = [_factor(each) for each in product]
            if len(self.terms) == 1 and len(product) == 1 and times == 1:
                return product[0]
            if abs(times) != 1 or not factors:
                factors.insert(0, str(abs(times)))
            sign = ("- " if parts else "-") if times < 0 else ("+ " if parts else "")
            parts.append(sign + " * ".join(factors))
        return " ".join(parts) or "0"

    def value(self, sizes: Mapping[str, int]) -> int:
        """Evaluate it at these sizes."""
        return Expression(self.text).integer(sizes)

    def substitute(self, values: Mapping[str, SizeExpr]) -> SizeExpr | None:
        """Replace names by their values; ``None`` where that is not supported."""
        return None if self.too_long else parse_amount(self.text, values)

    def never_below(self, other: SizeExpr) -> bool:
        """Whether it is at least the other wherever factors are 1 or more."""
        return all(times >= 0 for product, times in (self - other).terms if product) and (
            sum(times for _, times in (self - other).terms) >= 0
        )


def parse_amount(text: str, standing: Mapping[str, SizeExpr] | None = None) -> SizeExpr | None:
    """Parse an amount, with ``standing`` in the place of names; ``None`` if it is none."""
    return _read(Expression(text).tree, standing or {})


def _read(node: ast.expr, standing: Mapping[str, SizeExpr]) -> SizeExpr | None:
    match node:
        case ast.Constant(value=int(value)):
            return constant_size(value)
        case ast.Name(id=name):
            return standing.get(name) or parse_size(name)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            operand = _read(inner, standing)
            return None if operand is None else operand * constant_size(-1)
        case ast.BinOp(left=left, op=op, right=right):
            symbol: object = type(op)
        case ast.Call(func=ast.Name(id=name), args=[left, right]):
            symbol = name
        case _:
            return None
    return apply_operator(symbol, _read(left, standing), _read(right, standing))


def names_in(text: str) -> set[str]:
    """Return the sizes in an expression; none where it is no amount, such as a fraction."""
    amount = parse_amount(text) if re.fullmatch(r"[\w\s()*+/,%-]+", text) else None
    return set() if amount is None else amount.names


def _made(terms: Mapping[Product, int]) -> SizeExpr:
    return SizeExpr(tuple(sorted((product, times) for product, times in terms.items() if times)))


def constant_size(value: int) -> SizeExpr:
    """Return a constant."""
    return _made({(): value})


def parse_size(name: str) -> SizeExpr:
    """Return a size, or an opaque expression."""
    return SizeExpr((((name,), 1),))


ONE: Final = constant_size(1)
ZERO: Final = constant_size(0)


def quotient(one: SizeExpr, other: SizeExpr) -> SizeExpr | None:
    """Divide without a remainder for any sizes, else return ``None``."""
    if len(other.terms) != 1 or not one.terms:
        return one if not one.terms and other.terms else None
    ((divisor, times),) = other.terms
    terms: dict[Product, int] = {}
    for product, many in one.terms:
        remaining = list(product)
        for factor in divisor:
            if factor not in remaining:
                return None
            remaining.remove(factor)
        if many % times:
            return None
        terms[tuple(remaining)] = many // times
    return _made(terms)


def divide(one: SizeExpr, other: SizeExpr) -> SizeExpr | None:  # noqa: PLR0911
    """Divide as C divides integers; ``(n + b - 1) / b`` becomes ``ceil_div``."""
    if other.constant == 0:
        return None
    if (whole := quotient(one, other)) is not None:
        return whole
    if one.constant is not None and other.constant is not None:
        return constant_size(one.constant // other.constant)
    # The largest index of something divided: (M * K - 1) / K is M - 1.
    if (above := quotient(one + ONE, other)) is not None:
        return above - ONE
    raised = one - other + ONE
    lowered = dict(one.terms).get((), 0)
    if other.constant is not None and lowered == other.constant - 1:
        return ceil_div(raised, other)
    if other.constant is None and all(times > 0 for product, times in raised.terms if product):
        negative = [times for _, times in raised.terms if times < 0]
        if not negative and set(dict(other.terms)) <= set(dict(one.terms)):
            return ceil_div(raised, other)
    return parse_size(f"{_factor(one.text)} // {_factor(other.text)}")


def ceil_div(one: SizeExpr, other: SizeExpr) -> SizeExpr:
    """Divide and round up."""
    whole = quotient(one, other)
    if whole is not None:
        return whole
    if one.constant is not None and other.constant:
        return constant_size(-(-one.constant // other.constant))
    return parse_size(f"ceil_div({one.text}, {other.text})")


def remainder(one: SizeExpr, other: SizeExpr) -> SizeExpr | None:
    """Return the remainder of a division."""
    if other.constant == 0:
        return None
    if one.constant is not None and other.constant is not None:
        return constant_size(one.constant % other.constant)
    if quotient(one, other) is not None:
        return ZERO
    return parse_size(f"{_factor(one.text)} % {_factor(other.text)}")


def smaller(one: SizeExpr, other: SizeExpr) -> SizeExpr:
    """Return the smaller of two."""
    return _chosen("min", one, other)


def larger(one: SizeExpr, other: SizeExpr) -> SizeExpr:
    """Return the larger of two."""
    return _chosen("max", one, other)


def _chosen(function: str, one: SizeExpr, other: SizeExpr) -> SizeExpr:
    if one == other:
        return one
    if one.constant is not None and other.constant is not None:
        pick = min if function == "min" else max
        return constant_size(pick(one.constant, other.constant))
    return parse_size(f"{function}({one.text}, {other.text})")


def _factor(text: str) -> str:
    plain = re.fullmatch(r"\w+(\([^()]*\))?", text)
    return text if plain else f"({text})"


def read_all(
    dimensions: Sequence[SizeExpr] | None, standing: Mapping[str, SizeExpr]
) -> list[SizeExpr] | None:
    """Replace names in extents; ``None`` if an extent is unknown, or zero."""
    values = [each.substitute(standing) for each in dimensions or ()]
    extents = [each for each in values if each is not None and each.terms]
    return extents if extents and len(extents) == len(values) else None


_NUMBER: Final = re.compile(
    r"(0[xX][0-9a-fA-F']+|[0-9][0-9']*(?:\.0*)?(?:[eE]\+?[0-9]+)?)[uUlLfF]*"
)


_OPERATIONS: Final[dict[object, Callable[[SizeExpr, SizeExpr], SizeExpr | None]]] = {
    **dict.fromkeys(("+", ast.Add), operator.add),
    **dict.fromkeys(("-", ast.Sub), operator.sub),
    **dict.fromkeys(("*", ast.Mult), operator.mul),
    **dict.fromkeys(("/", ast.FloorDiv), divide),
    **dict.fromkeys(("%", ast.Mod), remainder),
    "ceil_div": lambda one, other: None if other.constant == 0 else ceil_div(one, other),
    "min": smaller,
    "max": larger,
}


def apply_operator(
    symbol: object, left: SizeExpr | None, right: SizeExpr | None
) -> SizeExpr | None:
    """Apply an operator of C or of ``ast``; ``None`` for an unknown operand or operator."""
    if left is None or right is None:
        return None
    if symbol in {"<<", ">>"}:
        if right.constant is None or not 0 <= right.constant < 48:
            return None
        symbol, right = "*" if symbol == "<<" else "/", constant_size(1 << right.constant)
    function = _OPERATIONS.get(symbol)
    return None if function is None else function(left, right)


def parse_number(text: str) -> SizeExpr | None:
    """Parse an integer of C; ``None`` for anything else."""
    written = _NUMBER.fullmatch(text.strip())
    if written is None:
        return None
    digits = written[1].replace("'", "")
    if digits[:2].lower() == "0x":
        return constant_size(int(digits, 16))
    if digits.isdecimal():
        octal = len(digits) > 1 and digits[0] == "0" and set(digits) <= set("01234567")
        return constant_size(int(digits, 8 if octal else 10))
    value = float(digits)
    return constant_size(int(value)) if value.is_integer() and value < 1 << 53 else None
