"""How far numbers can move until something changes, against trying every turn."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sassim.listings import program

from sassim.loops.affine import FAR, TrackedComparison, comparison_drifts, iterations_until_change

TURNS = 60
NUMBERS = (-7, -3, -1, 0, 1, 2, 5, 12)


def decided(relation: str, one: int, other: int) -> bool:
    return {
        "LT": one < other,
        "LE": one <= other,
        "GT": one > other,
        "GE": one >= other,
        "EQ": one == other,
        "NE": one != other,
    }[relation]


def column(value: int) -> np.ndarray:
    return np.array([[value & 0xFFFFFFFF]], np.uint32)


@pytest.mark.parametrize("relation", ["LT", "LE", "GT", "GE", "EQ", "NE"])
def test_a_comparison_changes_when_it_is_said_to(relation: str) -> None:
    code = program(f"ISETP.{relation}.AND P0, PT, R0, R1, PT", "EXIT")
    i = code.blocks[0].body[0]
    for one in NUMBERS:
        for other in NUMBERS:
            for step, drift in ((1, 0), (0, 1), (3, 1), (-2, 0), (-2, -5), (2, 2), (0, 0)):
                turns = [
                    TrackedComparison(
                        i, (column(one + step * t), column(other + drift * t)), None, False
                    )
                    for t in (-1, 0)
                ]
                moved = comparison_drifts(turns[:1], turns[1:])
                assert moved is not None
                now = decided(relation, one, other)
                tried = (
                    t
                    for t in range(1, TURNS)
                    if decided(relation, one + step * t, other + drift * t) != now
                )
                found = iterations_until_change(turns[1:], moved)
                assert (found if found < TURNS else None) == next(tried, None), (one, other, step)


def test_a_carry_changes_where_the_sum_leaves_its_bits() -> None:
    i = program("IADD3 R0, P0, R0, 0x10, RZ", "EXIT").blocks[0].body[0]
    sums = [TrackedComparison(i, (column(value), column(0)), None, True) for value in (0x10, 0x20)]
    moved = comparison_drifts(sums[:1], sums[1:])
    assert moved is not None
    assert iterations_until_change(sums[1:], moved) == (0xFFFFFFFF - 0x20) // 0x10


def test_lanes_that_take_no_part_decide_nothing() -> None:
    i = program("ISETP.LT.AND P0, PT, R0, R1, PT", "EXIT").blocks[0].body[0]
    lanes = np.arange(32)[None, :] < 16
    start, end = np.arange(32, dtype=np.uint32)[None, :], column(100)
    turns = [TrackedComparison(i, (start + np.uint32(t), end), lanes, False) for t in (0, 1)]
    moved = comparison_drifts(turns[:1], turns[1:])
    assert moved is not None
    assert iterations_until_change(turns[1:], moved) == 100 - 16
    assert iterations_until_change([], []) == FAR
