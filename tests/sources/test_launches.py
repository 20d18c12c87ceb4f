"""Launches as a table are the launches that they were made of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.model.capture import Capture, Launch, Launches, MetricColumn, Origin

LAUNCHES = st.lists(
    st.builds(
        Launch,
        id=st.integers(0, 9).map(str),
        kernel=st.sampled_from("fg"),
        grid=st.sampled_from([None, (1, 2, 3)]),
        stream=st.sampled_from(["7", None]),
    ),
    max_size=12,
)


@given(LAUNCHES)
def test_it_is_the_sequence_that_it_was_made_of(launches: list[Launch]) -> None:
    table = Launches.from_sequence(launches)
    assert list(table) == launches
    assert [table[row] for row in range(len(table))] == launches
    assert table == tuple(launches)
    assert list(table[2:7]) == launches[2:7]
    assert Launches.from_sequence(table) is table
    assert len(table.kinds) == len({replace(each, id="") for each in launches})


@given(LAUNCHES, st.lists(st.integers(0, 11), max_size=6))
def test_rows_may_be_taken_in_any_order(launches: list[Launch], rows: list[int]) -> None:
    rows = [row for row in rows if row < len(launches)]
    assert list(Launches.from_sequence(launches).take(rows)) == [launches[row] for row in rows]


@given(LAUNCHES)
def test_codes_tell_what_is_alike(launches: list[Launch]) -> None:
    codes = Launches.from_sequence(launches).codes_by(lambda each: (each.kernel, each.grid))
    for one, first in zip(codes, launches, strict=True):
        for other, second in zip(codes, launches, strict=True):
            alike = (first.kernel, first.grid) == (second.kernel, second.grid)
            assert (one == other) == alike


def test_other_launches_are_not_the_same() -> None:
    table = Launches.from_sequence([Launch("0", "f"), Launch("1", "f")])
    assert table != [Launch("0", "f")]
    assert table != [Launch("0", "f"), Launch("2", "f")]
    assert table != "ab"


def test_a_capture_of_some_launches_has_their_values() -> None:
    values = np.array([1.0, 2.0, 3.0])
    column = MetricColumn("m", values, "", "", Origin.MEASURED)
    launches = tuple(Launch(str(at), "f") for at in range(3))
    text = {"kernelprof__sections": ("a;b", None, "c")}
    whole = Capture(launches, {"m": column}, text, origin="x")
    some = whole.rows([2, 0])
    assert list(some.launches) == [launches[2], launches[0]]
    assert some.columns["m"].values.tolist() == [3.0, 1.0]
    assert some.text["kernelprof__sections"] == ("c", "a;b")
    part = whole.part(1, 3)
    assert list(part.launches) == list(launches[1:])
    assert part.columns["m"].values.tolist() == [2.0, 3.0]
    # What was said somewhere in the export stays known: a rule that never spoke may not have run.
    assert part.seen == some.seen == whole.seen == {"a", "b", "c", ""}
    assert part.rows([0]).seen == whole.seen
