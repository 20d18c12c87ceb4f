"""Arithmetic with what is known: a value is an interval, a missing metric a wide one.

Missing is never zero. A metric that the capture lacks may have any value that physics allows (a
percentage lies in 0..100, a pipe is at most as busy as the SM it belongs to), so it enters a rule
as that range. A rule computed on ranges gives a range, and a verdict that holds over the whole
range is the verdict that the complete capture gives: evidence taken away can only widen ranges, so
it can turn a verdict into ``inconclusive`` but never into another bottleneck.

``at_most`` and ``at_least`` are minimum and maximum. ``within`` and ``within_bounds`` add an
independent fact. ``or_else`` and ``or_at_most`` act only where a value is not exact; ``low_only``
and ``high_only`` take one bound as a number.

All operations are elementwise over launches. Quantities are non-negative, which keeps the products
and quotients of bounds simple; ``inf`` is a legal upper bound. A number that is known in all
launches is one array for both bounds, and what is computed from such numbers alone is, too: a
complete capture costs half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]
    IntArray = npt.NDArray[np.intp]

Operand = Union["Interval", float]


@dataclass(frozen=True, slots=True)
class Truth:
    """A statement per launch: ``sure`` where it holds, ``maybe`` where it could hold."""

    sure: BoolArray
    maybe: BoolArray

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.sure & other.sure, self.maybe & other.maybe)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.sure | other.sure, self.maybe | other.maybe)

    def __invert__(self) -> Truth:
        return Truth(~self.maybe, ~self.sure)


@dataclass(frozen=True, slots=True)
class Interval:
    """A non-negative quantity between ``low`` and ``high`` (inclusive), one pair per launch."""

    low: FloatArray
    high: FloatArray

    @staticmethod
    def exactly(values: FloatArray) -> Interval:
        return Interval(values, values)

    @property
    def is_exact(self) -> BoolArray:
        """Where the interval is a single number."""
        return np.equal(self.low, self.high)

    @property
    def middle(self) -> FloatArray:
        """The number itself where it is known; the lower bound elsewhere (never ``inf``)."""
        return np.where(self.is_exact, self.high, self.low)

    def __add__(self, other: Operand) -> Interval:
        o = _as_interval(other)
        low = self.low + o.low
        return Interval(low, low if _same(self, o) else self.high + o.high)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Interval:
        """The difference, not below zero: quantities here are counts and shares."""
        o = _as_interval(other)
        with np.errstate(invalid="ignore"):
            low = np.maximum(self.low - o.high, 0.0)
            high = low if _same(self, o) else np.maximum(self.high - o.low, 0.0)
        return _open_where_undefined(low, high)

    def __rsub__(self, other: float) -> Interval:
        return _as_interval(other) - self

    def __mul__(self, other: Operand) -> Interval:
        if not isinstance(other, Interval) and other > 0:
            with np.errstate(over="ignore"):
                scaled = self.low * other
                return Interval(scaled, scaled if self.low is self.high else self.high * other)
        o = _as_interval(other)
        with np.errstate(invalid="ignore", over="ignore"):
            low = self.low * o.low
            high = low if _same(self, o) else self.high * o.high
        # 0 * inf: a zero bound times an unbounded one says nothing at the top, zero at the bottom.
        return _open_where_undefined(low, high)

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Interval:
        """The quotient; ``x / 0`` is unbounded, and ``0 / 0`` is anything from 0 up."""
        o = _as_interval(other)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            low = self.low / o.high
            high = low if _same(self, o) else self.high / o.low
        return _open_where_undefined(low, high)

    def __rtruediv__(self, other: float) -> Interval:
        return _as_interval(other) / self

    def at_most(self, other: Operand) -> Interval:
        """Return the smaller of the two."""
        o = _as_interval(other)
        low = np.minimum(self.low, o.low)
        return Interval(low, low if _same(self, o) else np.minimum(self.high, o.high))

    def at_least(self, other: Operand) -> Interval:
        """Return the larger of the two."""
        o = _as_interval(other)
        low = np.maximum(self.low, o.low)
        return Interval(low, low if _same(self, o) else np.maximum(self.high, o.high))

    def low_only(self) -> Interval:
        """Return the lower bound as a number."""
        return Interval.exactly(self.low)

    def within_bounds(self, other: Interval) -> Interval:
        """Return this narrowed to what both allow; see :meth:`within`."""
        return self.within(other.low_only(), other.high_only())

    def within(self, low: Operand, high: Operand) -> Interval:
        """Return this narrowed by an independent fact; a contradiction leaves it as it is."""
        lo, hi = _as_interval(low), _as_interval(high)
        new_low = np.minimum(np.maximum(self.low, lo.low), self.high)
        new_high = np.maximum(np.minimum(self.high, hi.high), self.low)
        return Interval(np.minimum(new_low, new_high), np.maximum(new_low, new_high))

    def high_only(self) -> Interval:
        """Return the upper bound as a number, for use as a bound of something else."""
        return Interval.exactly(self.high)

    def or_else(self, other: Interval) -> Interval:
        """Return this where it is exact, ``other`` elsewhere."""
        exact = self.is_exact
        return self if exact.all() else other.replaced(exact, self)

    def or_at_most(self, other: Interval) -> Interval:
        """Return this where it is exact, elsewhere narrowed to what ``other`` can be at most."""
        return self if self.is_exact.all() else self.or_else(self.at_most(other.high_only()))

    def replaced(self, rows: BoolArray, value: Operand) -> Interval:
        """Return this with another value in some launches."""
        o = _as_interval(value)
        low = np.where(rows, o.low, self.low)
        return Interval(low, low if _same(self, o) else np.where(rows, o.high, self.high))

    def __gt__(self, other: Operand) -> Truth:
        o = _as_interval(other)
        return Truth(self.low > o.high, self.high > o.low)

    def __ge__(self, other: Operand) -> Truth:
        o = _as_interval(other)
        return Truth(self.low >= o.high, self.high >= o.low)

    def __lt__(self, other: Operand) -> Truth:
        return ~(self >= other)

    def __le__(self, other: Operand) -> Truth:
        return ~(self > other)

    def where(self, condition: Truth, otherwise: Operand) -> Interval:
        """Return this where the condition holds, ``otherwise`` where not, the hull where open."""
        o = _as_interval(otherwise)
        open_ = condition.maybe & ~condition.sure
        low = np.where(condition.sure, self.low, o.low)
        high = low if _same(self, o) else np.where(condition.sure, self.high, o.high)
        if not open_.any():
            return Interval(low, high)
        return Interval(
            np.where(open_, np.minimum(self.low, o.low), low),
            np.where(open_, np.maximum(self.high, o.high), high),
        )


def is_complete(values: FloatArray) -> bool:
    """Return whether no value is NaN, by their sum, which is fast."""
    return not np.isnan(values.sum())


def largest(*intervals: Interval) -> Interval:
    """Return the elementwise maximum."""
    low = _maximum([each.low for each in intervals])
    if all(each.low is each.high for each in intervals):
        return Interval(low, low)
    return Interval(low, _maximum([each.high for each in intervals]))


def _maximum(arrays: Sequence[FloatArray]) -> FloatArray:
    """The elementwise maximum; one array takes the results, as far as all are of one length."""
    result = arrays[0]
    for at, array in enumerate(arrays[1:]):
        # The first array belongs to somebody else, and a result without a shape is no array.
        out = result if at and result.shape == array.shape != () else None
        result = np.maximum(result, array, out=out)
    return result


def _same(one: Interval, other: Interval) -> bool:
    """Whether both are plain numbers in all launches, so that the bounds of a result are one."""
    return one.low is one.high and other.low is other.high


def _as_interval(value: Operand) -> Interval:
    if isinstance(value, Interval):
        return value
    point = np.asarray(value, dtype=np.float64)
    return Interval(point, point)


def _open_where_undefined(low: FloatArray, high: FloatArray) -> Interval:
    if is_complete(low) and (low is high or is_complete(high)):
        return Interval(low, high)
    return Interval(np.where(np.isnan(low), 0.0, low), np.where(np.isnan(high), np.inf, high))
