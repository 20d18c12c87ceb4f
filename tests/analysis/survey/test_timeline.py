"""Sets of time against sets of whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.analysis.survey.timeline import (
    Spans,
    difference,
    gaps,
    intersection,
    merge_spans,
    union,
)

INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair))),
    max_size=12,
)


def _spans(intervals: list[tuple[int, int]]) -> Spans:
    made = np.array(intervals, np.int64).reshape(-1, 2)
    return merge_spans(made[:, 0], made[:, 1])


def _numbers(of: Spans) -> set[int]:
    pairs = zip(of.start.tolist(), of.end.tolist(), strict=True)
    return {number for start, end in pairs for number in range(start, end)}


def _meant(intervals: list[tuple[int, int]]) -> set[int]:
    return {number for start, end in intervals for number in range(start, end)}


@given(INTERVALS)
def test_a_union_is_disjoint_and_in_order(intervals: list[tuple[int, int]]) -> None:
    found = _spans(intervals)
    assert _numbers(found) == _meant(intervals)
    assert found.total == len(_meant(intervals))
    assert (found.start[1:] > found.end[:-1]).all()


@given(INTERVALS, INTERVALS)
def test_sets_of_two(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> None:
    mine, theirs = _spans(one), _spans(other)
    assert _numbers(intersection(mine, theirs)) == _meant(one) & _meant(other)
    assert _numbers(difference(mine, theirs)) == _meant(one) - _meant(other)
    assert _numbers(union(mine, theirs)) == _meant(one) | _meant(other)


@given(INTERVALS)
def test_gaps_fill_what_lies_between(intervals: list[tuple[int, int]]) -> None:
    found = _spans(intervals)
    whole = set(range(found.start[0], found.end[-1])) if len(found.start) else set()
    assert _numbers(gaps(found)) == whole - _numbers(found)
