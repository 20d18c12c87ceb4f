"""Amounts over sizes, as sums of products: ``(M - 1) * K + K`` and ``M * K`` are the same one.

Factors are names of sizes, and expressions that are kept as they are (``N // 2``). All amounts
stand for whole numbers that are not negative, as extents and grids are.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.launch.expressions import MAX_LENGTH, Expression

if TYPE_CHECKING:
    from collections.abc import Mapping

    Product = tuple[str, ...]

_MOST_TERMS: Final = 24


@dataclass(frozen=True)
class Amount:
    """A sum of products of factors, each with how often it is taken."""

    terms: tuple[tuple[Product, int], ...]

    def __add__(self, other: Amount) -> Amount:
        found = dict(self.terms)
        for product, times in other.terms:
            found[product] = found.get(product, 0) + times
        return _made(found)

    def __sub__(self, other: Amount) -> Amount:
        return self + other * number(-1)

    def __mul__(self, other: Amount) -> Amount:
        found: dict[Product, int] = {}
        for one, a in self.terms:
            for two, b in other.terms:
                product = tuple(sorted((*one, *two)))
                found[product] = found.get(product, 0) + a * b
        return _made(found)

    @property
    def constant(self) -> int | None:
        """Its value, if it is a plain number."""
        if not self.terms:
            return 0
        ((product, times), *others) = self.terms
        return times if not product and not others else None

    @property
    def names(self) -> set[str]:
        """The sizes in it, those inside of factors too."""
        found: set[str] = set()
        for product, _ in self.terms:
            for factor in product:
                tree = ast.walk(ast.parse(factor, mode="eval"))
                called = {"ceil_div", "round_up", "min", "max"}
                found |= {n.id for n in tree if isinstance(n, ast.Name)} - called
        return found

    @property
    def too_long(self) -> bool:
        """Whether no specification would hold it."""
        return len(self.terms) > _MOST_TERMS or len(self.text) > MAX_LENGTH

    @property
    def text(self) -> str:
        """As a specification writes it."""
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
        """What it is where sizes have these values."""
        return Expression(self.text).integer(sizes)

    def never_below(self, other: Amount) -> bool:
        """Whether it plainly is at least the other wherever factors are 1 or more."""
        return all(times >= 0 for product, times in (self - other).terms if product) and (
            sum(times for _, times in (self - other).terms) >= 0
        )


def read(text: str, standing: Mapping[str, Amount] | None = None) -> Amount | None:
    """The amount that a text is, with others in the place of names; ``None`` if it is none."""
    return _read(Expression(text).tree, standing or {})


def _read(node: ast.expr, standing: Mapping[str, Amount]) -> Amount | None:
    match node:
        case ast.Constant(value=int(value)):
            return number(value)
        case ast.Name(id=name):
            return standing.get(name) or size(name)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            found = _read(inner, standing)
            return None if found is None else found * number(-1)
        case ast.BinOp(left=left, op=op, right=right):
            return _both(_read(left, standing), _read(right, standing), type(op))
        case ast.Call(func=ast.Name(id=name), args=[left, right]):
            return _both(_read(left, standing), _read(right, standing), name)
    return None


def _both(one: Amount | None, other: Amount | None, by: object) -> Amount | None:  # noqa: PLR0911
    if one is None or other is None:
        return None
    if by in {"ceil_div", ast.FloorDiv, ast.Mod} and other.constant == 0:
        return None
    match by:
        case ast.Add:
            return one + other
        case ast.Sub:
            return one - other
        case ast.Mult:
            return one * other
        case ast.FloorDiv:
            return divided(one, other)
        case ast.Mod:
            return remainder(one, other)
        case "ceil_div":
            return ceil_div(one, other)
        case "min" | "max":
            return smaller(one, other) if by == "min" else larger(one, other)
    return None


def names_in(text: str) -> set[str]:
    """The sizes in an expression; none where it is no amount, such as a fraction."""
    found = read(text) if re.fullmatch(r"[\w\s()*+/,%-]+", text) else None
    return set() if found is None else found.names


def number(value: int) -> Amount:
    """A plain number."""
    return _made({(): value})


def size(name: str) -> Amount:
    """A size, or an expression that is taken as it is."""
    return Amount((((name,), 1),))


def quotient(one: Amount, other: Amount) -> Amount | None:
    """One divided by the other, if that has no rest for any sizes."""
    if len(other.terms) != 1 or not one.terms:
        return one if not one.terms and other.terms else None
    ((divisor, times),) = other.terms
    found: dict[Product, int] = {}
    for product, many in one.terms:
        rest = list(product)
        for factor in divisor:
            if factor not in rest:
                return None
            rest.remove(factor)
        if many % times:
            return None
        found[tuple(rest)] = many // times
    return _made(found)


def divided(one: Amount, other: Amount) -> Amount | None:  # noqa: PLR0911
    """One divided by the other as C divides whole numbers; ``(n + b - 1) / b`` rounds up."""
    if other.constant == 0:
        return None
    if (whole := quotient(one, other)) is not None:
        return whole
    if one.constant is not None and other.constant is not None:
        return number(one.constant // other.constant)
    # The largest index of something divided: (M * K - 1) / K is M - 1.
    if (above := quotient(one + number(1), other)) is not None:
        return above - number(1)
    raised = one - other + number(1)
    lowered = dict(one.terms).get((), 0)
    if other.constant is not None and lowered == other.constant - 1:
        return ceil_div(raised, other)
    if other.constant is None and all(times > 0 for product, times in raised.terms if product):
        negative = [times for _, times in raised.terms if times < 0]
        if not negative and set(dict(other.terms)) <= set(dict(one.terms)):
            return ceil_div(raised, other)
    return size(f"{_factor(one.text)} // {_factor(other.text)}")


def ceil_div(one: Amount, other: Amount) -> Amount:
    """One divided by the other, rounded up."""
    whole = quotient(one, other)
    if whole is not None:
        return whole
    if one.constant is not None and other.constant:
        return number(-(-one.constant // other.constant))
    return size(f"ceil_div({one.text}, {other.text})")


def remainder(one: Amount, other: Amount) -> Amount | None:
    """What is left of a division."""
    if other.constant == 0:
        return None
    if one.constant is not None and other.constant is not None:
        return number(one.constant % other.constant)
    if quotient(one, other) is not None:
        return number(0)
    return size(f"{_factor(one.text)} % {_factor(other.text)}")


def smaller(one: Amount, other: Amount) -> Amount:
    """The smaller of two."""
    return _chosen("min", one, other)


def larger(one: Amount, other: Amount) -> Amount:
    """The larger of two."""
    return _chosen("max", one, other)


def _chosen(function: str, one: Amount, other: Amount) -> Amount:
    if one == other:
        return one
    if one.constant is not None and other.constant is not None:
        pick = min if function == "min" else max
        return number(pick(one.constant, other.constant))
    return size(f"{function}({one.text}, {other.text})")


def _made(terms: Mapping[Product, int]) -> Amount:
    return Amount(tuple(sorted((product, times) for product, times in terms.items() if times)))


def _factor(text: str) -> str:
    """A factor as it stands in a product: in parentheses, unless it is a name or a call."""
    plain = re.fullmatch(r"\w+(\([^()]*\))?", text)
    return text if plain else f"({text})"
