"""Times of launches: median, spread, and a confidence interval from order statistics."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelprof.launch.trial import timing_facts

TIMES = st.lists(st.floats(1.0, 1e12), min_size=1, max_size=60)


def test_the_interval_of_twenty_launches_is_the_sixth_to_the_fifteenth() -> None:
    # For n = 20 and p = 1/2 the binomial distribution has 2.1 % below 6: 95.9 % lie between.
    times = [100.0 + 3.0 * rank for rank in range(1, 21)]
    random.Random(1).shuffle(times)
    found = timing_facts(times, warm_up=5, flops=8e6, min_bytes=4e7)
    assert (found.launches, found.warm_up) == (20, 5)
    assert (found.low_ns, found.high_ns) == (103.0, 160.0)
    assert found.median_ns == 131.5
    assert (found.confidence_low_ns, found.confidence_high_ns) == (118.0, 145.0)
    assert found.times_ns == tuple(times)
    assert (found.flops, found.min_bytes) == (8e6, 4e7)


@pytest.mark.parametrize(
    ("count", "low", "median", "high"),
    [
        (1, None, 1.0, None),
        (2, None, 1.5, None),
        (5, None, 3.0, None),
        (6, 1.0, 3.5, 6.0),
        (19, 5.0, 10.0, 15.0),
        (100, 40.0, 50.5, 61.0),
    ],
)
def test_the_interval_needs_six_launches(count, low, median, high) -> None:
    found = timing_facts([float(rank) for rank in range(1, count + 1)], warm_up=0)
    assert found.median_ns == median
    assert (found.confidence_low_ns, found.confidence_high_ns) == (low, high)


def test_one_slow_launch_moves_neither_median_nor_interval() -> None:
    times = [float(rank) for rank in range(1, 21)]
    plain, slow = (timing_facts(each, warm_up=0) for each in (times, [*times[:-1], 1e9]))
    assert slow.high_ns == 1e9
    assert slow.median_ns == plain.median_ns
    assert slow.confidence_low_ns == plain.confidence_low_ns
    assert slow.confidence_high_ns == plain.confidence_high_ns


@given(TIMES)
def test_the_figures_stand_in_order(times) -> None:
    found = timing_facts(times, warm_up=0)
    low, high = found.confidence_low_ns, found.confidence_high_ns
    assert (low is None) == (high is None) == (len(times) < 6)
    if low is not None and high is not None:
        assert found.low_ns <= low <= found.median_ns <= high <= found.high_ns
        assert {low, high} <= set(times)
    assert found.low_ns <= found.median_ns <= found.high_ns


@settings(deadline=None)  # the first call loads SciPy
@given(TIMES, st.randoms())
def test_the_order_of_the_launches_does_not_matter(times, shuffled) -> None:
    other = list(times)
    shuffled.shuffle(other)
    one, two = timing_facts(times, warm_up=0), timing_facts(other, warm_up=0)
    assert one.median_ns == two.median_ns
    assert one.confidence_low_ns == two.confidence_low_ns
    assert one.confidence_high_ns == two.confidence_high_ns
