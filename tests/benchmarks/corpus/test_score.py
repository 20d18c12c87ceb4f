"""What a verdict is worth: places, gains, what proves nothing, and the totals."""

from __future__ import annotations

import pytest
from benchmarks.corpus.pairs import Kind, Side
from benchmarks.corpus.score import LEAST_EFFECT, MOST_FOR_A_DECOY, NEAR, interval, totals
from tests.benchmarks.corpus.samples import (
    ATOMICS,
    BANKS,
    DRAM,
    L1,
    full,
    known,
    pair,
    scored,
    undecided,
)
from tests.benchmarks.corpus.samples import verdict as says

from kernelprof.model.diagnosis import Confidence

OTHER = "memory-latency"


# One planted bottleneck


def test_the_planted_one_is_named_first() -> None:
    found = scored(pair(), says(ATOMICS, 3.0, also=(OTHER,)), 2.0, after=full(DRAM))
    assert (found.right, found.place, found.proven) == (True, 1, (ATOMICS,))
    assert (found.predicted, found.measured, found.error) == (3.0, 2.0, 1.5)
    assert (found.named, found.gone, found.wrong_and_sure) == (ATOMICS, True, False)


def test_the_planted_one_is_named_second() -> None:
    found = scored(pair(), says(OTHER, 3.0, also=(ATOMICS, BANKS)), 2.0)
    assert (found.right, found.place) == (False, 2)
    assert (found.measured, found.error, found.gone) == (2.0, None, None)
    assert found.wrong_and_sure
    later = scored(pair(), says(OTHER, 3.0, also=(BANKS, ATOMICS)), 2.0)
    assert (later.right, later.place) == (False, None)


def test_another_is_named() -> None:
    medium = says(OTHER, 4.0, confidence=Confidence.MEDIUM)
    found = scored(pair(), medium, 2.0, after=says(OTHER))
    assert (found.right, found.place, found.error) == (False, None, None)
    assert (found.predicted, found.measured) == (4.0, 2.0)
    assert not found.wrong_and_sure


def test_an_inconclusive_verdict_names_nothing() -> None:
    found = scored(pair(), undecided(ATOMICS, OTHER), 2.0)
    assert (found.right, found.place, found.named) == (False, None, "inconclusive")
    assert found.anywhere
    assert not scored(pair(), undecided(OTHER), 2.0).anywhere


def test_the_unit_at_its_limit_is_named_too() -> None:
    found = scored(pair(bottleneck=DRAM), full(DRAM), 2.0)
    assert (found.right, found.place, found.predicted, found.error) == (True, 1, 2.0, 1.0)
    assert found.named == "dram-bandwidth (at-limit)"


def test_half_of_the_work_brings_no_more_than_the_next_limit() -> None:
    found = scored(pair(bottleneck=DRAM), full(DRAM, headroom=1.4), 2.1)
    assert (found.predicted, found.error) == (1.4, pytest.approx(1.5))


@pytest.mark.parametrize(("gain", "right"), [(1.01, None), (0.5, None), (LEAST_EFFECT, True)])
def test_a_fix_without_effect_proves_nothing(gain: float, right: bool | None) -> None:
    found = scored(pair(), says(ATOMICS), gain)
    assert found.right is right
    assert found.measured == pytest.approx(gain)
    wrong = scored(pair(), says(OTHER), gain)
    assert wrong.right is (None if right is None else False)
    assert wrong.wrong_and_sure is (right is not None)


def test_a_fix_that_was_not_timed_proves_nothing() -> None:
    assert scored(pair(), says(ATOMICS)).right is None
    assert known(says()).gain(Side.AFTER) is None


@pytest.mark.parametrize(
    ("after", "gone"),
    [
        (says(OTHER), True),
        (full(OTHER), True),
        (full(ATOMICS), True),
        (says(ATOMICS), False),
        (undecided(ATOMICS, OTHER), None),
        (None, None),
    ],
)
def test_whether_the_fixed_kernel_is_without_it(after, gone) -> None:
    assert scored(pair(), says(ATOMICS), 2.0, after=after).gone is gone


# Two planted bottlenecks


def test_either_of_two_may_be_named_first() -> None:
    two = pair(Kind.TWO)
    first = scored(two, says(ATOMICS, 2.0), 1.5, 3.0)
    assert (first.right, first.place, first.measured) == (True, 1, pytest.approx(1.5))
    other = scored(two, says(BANKS, 2.0), 1.5, 3.0)
    assert (other.right, other.place, other.measured) == (True, 1, pytest.approx(3.0))
    assert other.proven == (ATOMICS, BANKS)
    neither = scored(two, says(OTHER, 2.0, also=(BANKS,)), 1.5, 3.0)
    assert (neither.right, neither.place, neither.measured) == (False, 2, pytest.approx(3.0))


def test_of_two_only_what_its_fix_proves_is_right() -> None:
    two = pair(Kind.TWO)
    assert scored(two, says(BANKS), 1.5, 1.0).right is False
    assert scored(two, says(BANKS, also=(ATOMICS,)), 1.5, 1.0).place == 2
    assert scored(two, says(BANKS), 1.0, 1.0).right is None


# Healthy kernels and decoys


@pytest.mark.parametrize(
    ("before", "right"),
    [(full(L1), True), (says(L1), False), (full(DRAM), False), (undecided(L1, DRAM), False)],
)
def test_a_healthy_kernel_is_at_the_limit_of_its_unit(before, right: bool) -> None:
    assert scored(pair(Kind.HEALTHY), before).right is right


@pytest.mark.parametrize(
    ("before", "right"),
    [(says(OTHER), True), (full(DRAM), True), (undecided(BANKS), True), (says(BANKS), False)],
)
def test_in_a_decoy_what_looks_bad_is_not_named(before, right: bool) -> None:
    assert scored(pair(Kind.DECOY), before, 1.0).right is right


def test_a_decoy_may_have_a_bottleneck() -> None:
    about = pair(Kind.DECOY, bottleneck=DRAM)
    assert scored(about, full(DRAM), 1.0).right is True
    assert scored(about, says(OTHER), 1.0).right is False
    assert scored(about, undecided(DRAM), 1.0).right is True


@pytest.mark.parametrize(("gain", "right"), [(1.0, False), (MOST_FOR_A_DECOY, False), (1.1, None)])
def test_a_decoy_whose_change_helps_proves_nothing(gain: float, right: bool | None) -> None:
    found = scored(pair(Kind.DECOY), says(BANKS), gain)
    assert found.right is right
    assert found.measured == pytest.approx(gain)


def test_a_decoy_needs_no_second_kernel() -> None:
    assert scored(pair(Kind.DECOY), says(OTHER)).right is True


# Totals


def test_totals_count_every_kind_where_it_belongs() -> None:
    low = Confidence.LOW
    found = totals(
        [
            scored(pair(), says(ATOMICS, 2.0), 2.0, after=full(DRAM)),
            scored(pair(), says(ATOMICS, 3.1), 2.0, after=says(ATOMICS)),
            scored(pair(), says(ATOMICS, 1.0, confidence=low), 2.0, after=undecided(OTHER)),
            scored(pair(bottleneck=DRAM), full(DRAM), 2.0, after=full(DRAM)),
            scored(pair(), says(OTHER, 2.0, also=(ATOMICS,)), 2.0, after=says(OTHER)),
            scored(pair(), undecided(ATOMICS, OTHER), 2.0),
            scored(pair(), says(OTHER), 1.01),
            scored(pair(Kind.TWO), says(BANKS, 2.0), 1.5, 3.0),
            scored(pair(Kind.HEALTHY), full(L1)),
            scored(pair(Kind.HEALTHY), says(L1, confidence=Confidence.MEDIUM)),
            scored(pair(Kind.DECOY), undecided(BANKS), 1.0),
            scored(pair(Kind.DECOY), says(BANKS), 1.0),
            scored(pair(Kind.DECOY), says(BANKS), 1.2),
        ]
    )
    assert (found.known, found.pairs, found.first, found.first_two) == (11, 7, 5, 6)
    assert (found.anywhere, found.at_limit) == (7, 1)
    assert (found.predicted, found.near, found.near_halved) == (4, 2, 1)
    assert found.median_error == pytest.approx(1.5)
    assert (found.fixed, found.gone) == (3, 2)
    assert (found.healthy, found.healthy_right) == (2, 1)
    assert (found.decoys, found.decoys_right, found.decoys_inconclusive) == (2, 1, 1)
    assert (found.inconclusive, found.wrong_and_sure) == (2, 2)
    assert found.by_confidence == {
        Confidence.HIGH: (5, 7),
        Confidence.MEDIUM: (0, 1),
        Confidence.LOW: (1, 1),
    }


def test_a_gain_is_near_up_to_the_limit_itself() -> None:
    gains = [scored(pair(), says(ATOMICS, gain), 2.0) for gain in (2.0 * NEAR, 2.0 / NEAR, 4.0)]
    assert totals(gains).near == 2


def test_totals_of_nothing() -> None:
    found = totals([scored(pair(), says(OTHER), 1.0)])
    assert (found.known, found.pairs, found.median_error) == (0, 0, None)
    assert set(found.by_confidence.values()) == {(0, 0)}


@pytest.mark.parametrize(
    ("right", "of", "low", "high"),
    [(81, 100, 0.722, 0.875), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0)],
)
def test_the_interval_of_a_share(right: int, of: int, low: float, high: float) -> None:
    """Against the worked example and the tables of Wilson's interval."""
    assert interval(right, of) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))
