"""Interval arithmetic keeps what it promises: the true value never leaves the interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.analysis.metrics.interval import Interval, Truth, largest

if TYPE_CHECKING:
    from collections.abc import Callable

numbers = st.just(0.0) | st.floats(min_value=1e-6, max_value=1e9, allow_nan=False)


@st.composite
def interval_with_a_point(draw: st.DrawFn) -> tuple[Interval, float]:
    low, point, high = sorted((draw(numbers), draw(numbers), draw(numbers)))
    top = draw(st.sampled_from([high, np.inf, point]))
    return Interval(np.array([low]), np.array([top])), point


BINARY: dict[str, tuple[Callable[..., Interval], Callable[[float, float], float]]] = {
    "add": (lambda a, b: a + b, lambda x, y: x + y),
    "subtract": (lambda a, b: a - b, lambda x, y: max(x - y, 0.0)),
    "multiply": (lambda a, b: a * b, lambda x, y: x * y),
    "divide": (lambda a, b: a / b, lambda x, y: x / y if y else np.nan),
    "at_most": (lambda a, b: a.at_most(b), min),
    "at_least": (lambda a, b: a.at_least(b), max),
    "largest": (largest, max),
}


@pytest.mark.parametrize("name", BINARY)
@given(a=interval_with_a_point(), b=interval_with_a_point())
def test_an_operation_on_intervals_contains_the_operation_on_points(
    name: str, a: tuple[Interval, float], b: tuple[Interval, float]
) -> None:
    on_intervals, on_points = BINARY[name]
    result = on_intervals(a[0], b[0])
    expected = on_points(a[1], b[1])
    if np.isnan(expected):
        return
    slack = 1e-9 * max(abs(expected), 1e-300)
    assert result.low[0] <= expected + slack
    assert result.high[0] >= expected - slack


@given(a=interval_with_a_point(), b=interval_with_a_point())
def test_a_comparison_is_sure_only_where_it_holds_and_open_where_it_might(
    a: tuple[Interval, float], b: tuple[Interval, float]
) -> None:
    for truth, holds in (
        (a[0] > b[0], a[1] > b[1]),
        (a[0] >= b[0], a[1] >= b[1]),
        (a[0] < b[0], a[1] < b[1]),
        (a[0] <= b[0], a[1] <= b[1]),
    ):
        assert not (truth.sure[0] and not holds)
        assert not (holds and not truth.maybe[0])


@given(
    a=interval_with_a_point(), b=interval_with_a_point(), known=st.booleans(), holds=st.booleans()
)
def test_a_choice_covers_both_branches_where_the_condition_is_open(
    a: tuple[Interval, float], b: tuple[Interval, float], known: bool, holds: bool
) -> None:
    condition = Truth(np.array([holds and known]), np.array([holds or not known]))
    chosen = a[0].where(condition, b[0])
    point = a[1] if holds else b[1]
    assert chosen.low[0] <= point <= chosen.high[0]


def test_the_logic_is_three_valued() -> None:
    yes, no, open_ = (
        Truth(np.array([s]), np.array([m]))
        for s, m in ((True, True), (False, False), (False, True))
    )
    assert not (yes & open_).sure[0]
    assert (yes & open_).maybe[0]
    assert not (no & open_).maybe[0]
    assert (yes | open_).sure[0]
    assert not (no | open_).sure[0]
    assert (~open_).maybe[0]
    assert not (~open_).sure[0]
    assert (~no).sure[0]


def test_zero_over_zero_is_anything_and_not_a_number_that_passes_for_one() -> None:
    zero = Interval.exactly(np.array([0.0]))
    ratio = zero / zero
    assert ratio.low[0] == 0.0
    assert ratio.high[0] == np.inf


def test_the_largest_of_constants_changes_none_of_them() -> None:
    values = np.array([1.0, 5.0])
    first = Interval.exactly(values)
    constants = [Interval.exactly(np.asarray(each)) for each in (2.0, 3.0, 4.0)]
    assert float(largest(*constants).low) == 4.0
    assert largest(first, *constants).low.tolist() == [4.0, 5.0]
    assert largest(*constants, first).high.tolist() == [4.0, 5.0]
    assert values.tolist() == [1.0, 5.0]
