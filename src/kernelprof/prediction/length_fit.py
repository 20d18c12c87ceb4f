"""A length as a product of sizes, from what was reached of an array in several cases."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Final

from kernelprof.launch.inference import amounts
from kernelprof.launch.specification.expressions import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.launch.inference.amounts import SizeExpr

    Sizes = dict[str, int]

_MOST_TIMES: Final = 4096
_SLACK: Final = 1.25
"""How much longer an array may be than what is reached of it, where nothing fits exactly."""


def fit_length(ends: Sequence[tuple[Sizes, int]], factors: Sequence[SizeExpr]) -> SizeExpr | None:
    """A product of factors, times a number, plus a number, that is what was reached in each case.

    Without one that is exact, the shortest that is long enough in each case and little longer, of
    plain products first: another factor would be that of just these cases.
    """
    close: tuple[tuple[bool, float], SizeExpr] | None = None
    for count in range(min(4, len(factors)) + 1):
        for chosen in combinations_with_replacement(factors, count):
            product = amounts.constant_size(1)
            for each in chosen:
                product = product * each
            try:
                values = [(product.value(case), end) for case, end in ends]
            except ExpressionError:
                continue
            exact = _fit_line(values)
            if exact is not None:
                times, more = exact
                return product * amounts.constant_size(times) + amounts.constant_size(more)
            for part in (2, 4, 8, 16):
                if count and all(end * part == value for value, end in values):
                    return amounts.divide(product, amounts.constant_size(part))
            times = max(-(-end // value) for value, end in values)
            slack = max(times * value / end for value, end in values)
            rank = bool(times & (times - 1)), slack
            if slack <= _SLACK and (close is None or rank < close[0]):
                close = rank, product * amounts.constant_size(times)
    return None if close is None else close[1]


def _fit_line(values: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """A factor and a number to add, by which all of the values give what they should."""
    (x, y), *others = values
    other = next(((a, b) for a, b in others if a != x), None)
    if other is None:
        return (0, y) if x == 1 and all(b == y for _, b in others) else None
    times, remainder = divmod(y - other[1], x - other[0])
    more = y - times * x
    if remainder or not 0 < times <= _MOST_TIMES or abs(more) > max(times, 64):
        return None
    return (times, more) if all(times * a + more == b for a, b in values) else None
