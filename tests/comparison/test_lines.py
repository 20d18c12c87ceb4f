"""Which lines are to blame: versions of a source side by side, and what their lines count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.comparison.predicted import access, amount, predicted

from kernelprof.comparison.counters import COUNTERS, DERIVED
from kernelprof.comparison.gate.predicted import (
    LINE_COUNTERS,
    align_lines,
    changed_lines,
    worse_lines,
)
from kernelprof.model.prediction import LineWork
from kernelprof.model.waiting import SourceLocation
from kernelprof.prediction.facts import line_digests

BEFORE = """\
__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = 2 * x[i];
    }
}
"""


def edited(*edits: tuple[str, str]) -> tuple[str, ...]:
    text = BEFORE
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return line_digests(text)


def test_indentation_and_trailing_space_are_no_change() -> None:
    other = line_digests(BEFORE.replace("    ", "\t").replace(";\n", ";  \n"))
    assert align_lines(line_digests(BEFORE), other).hunks == ()


@given(
    st.lists(st.sampled_from("abcd") | st.just(""), max_size=12),
    st.lists(st.sampled_from("abcd") | st.just(""), max_size=12),
)
def test_every_line_is_the_same_as_one_before_or_was_written(old, new) -> None:
    found = align_lines(old, new)
    assert all(old[i - 1] == new[j - 1] for j, i in found.old_of.items())
    written = {line for hunk in found.hunks for line in hunk.new}
    for line in range(1, len(new) + 1):
        assert (line in found.old_of) != (line in written) or not new[line - 1]


def test_an_access_that_moved_down_is_compared_with_itself() -> None:
    after = edited(("    int i", "    // one\n    // two\n    int i"))
    assert after.index(line_digests(BEFORE)[3]) == 5
    same = worse_lines(
        "global_load_sectors",
        predicted(line_digests(BEFORE), access(4, sectors=64)),
        predicted(after, access(6, sectors=64)),
    )
    assert same == ()
    worse = worse_lines(
        "global_load_sectors",
        predicted(line_digests(BEFORE), access(4, sectors=64)),
        predicted(after, access(6, sectors=80)),
    )
    assert [(each.location, each.before, each.after) for each in worse] == [
        (SourceLocation("k.cu", 6), 64, 80)
    ]


def test_lines_that_were_replaced_are_compared_with_those_in_their_place() -> None:
    after = edited(
        ("        x[i] = 2 * x[i];", "        float y = x[3 * i];\n        x[i] = 2 * y;")
    )
    found = worse_lines(
        "global_sectors",
        predicted(line_digests(BEFORE), access(4, sectors=64), access(4, sectors=64, kind="store")),
        predicted(after, access(4, sectors=192), access(5, sectors=64, kind="store")),
    )
    # 128 sectors before stand for 256 after: three quarters of them at the line that has those.
    assert [(each.location.line, each.before, each.after) for each in found] == [
        (4, 96, 192),
        (5, 32, 64),
    ]


def test_the_line_that_counts_most_comes_first_and_small_parts_are_left_out() -> None:
    text = line_digests(BEFORE)
    lines = {2: 50, 3: 9, 4: 1000, 5: 201}
    found = worse_lines(
        "global_sectors",
        predicted(text, *(access(line, sectors=0) for line in lines)),
        predicted(text, *(access(line, sectors=more) for line, more in lines.items())),
    )
    assert [each.location.line for each in found] == [4, 5]


def test_lines_of_an_included_file_keep_their_numbers() -> None:
    text = line_digests(BEFORE)
    before = predicted(text, access(7, sectors=64, file="k.cuh"))
    after = predicted(text, access(7, sectors=128, file="k.cuh"))
    (found,) = worse_lines("global_load_sectors", before, after)
    assert found.location == SourceLocation("k.cuh", 7)


def test_threads_are_counted_that_are_missing() -> None:
    text = line_digests(BEFORE)
    whole = LineWork("k.cu", 4, amount(100), amount(3200))
    half = LineWork("k.cu", 4, amount(100), amount(1600))
    other = LineWork("k.cu", 3, amount(500), amount(16000))
    before, after = (predicted(text, lines=(each, other)) for each in (whole, half))
    (found,) = worse_lines("threads_per_instruction", before, after)
    assert (found.location.line, found.before, found.after) == (4, 0, 1600)
    assert worse_lines("instructions", before, after) == ()


def test_what_is_not_counted_by_line_blames_none() -> None:
    text = line_digests(BEFORE)
    assert worse_lines("registers_per_thread", predicted(text), predicted(text)) == ()
    assert set(LINE_COUNTERS) <= {*COUNTERS, *DERIVED}


@pytest.mark.parametrize(
    ("name", "space", "kind", "count"),
    [
        ("global_load_sectors", "global", "load", "sectors"),
        ("global_sectors", "global", "store", "sectors"),
        ("local_sectors", "local", "store", "sectors"),
        ("shared_wavefronts", "shared", "load", "wavefronts"),
        ("conflict_wavefronts", "shared", "load", "wavefronts"),
        ("global_atomic_requests", "global", "atomic", "requests"),
        ("global_reduction_requests", "global", "reduction", "requests"),
    ],
)
def test_each_counter_is_of_its_own_accesses(name: str, space: str, kind: str, count: str) -> None:
    text = line_digests(BEFORE)
    before, after = (
        predicted(text, access(4, space=space, kind=kind, **{count: much})) for much in (10, 20)
    )
    blamed = {each for each in LINE_COUNTERS if worse_lines(each, before, after)}
    assert name in blamed
    also = {"global_load_sectors": {"global_sectors"}, "shared_wavefronts": {"conflict_wavefronts"}}
    assert blamed - {name} <= {*also.get(name, ()), "shared_wavefronts"}


def test_changed_lines_above_an_access_come_before_those_below() -> None:
    after = edited(
        ("__global__ void scale(float* x, int n)", "__global__ void scale(float* x, long n)"),
        ("threadIdx.x;", "threadIdx.x % 7;"),
        ("x[i] = 2 * x[i];", "x[i] = 2.0f * x[i];"),
    )
    text = line_digests(BEFORE)
    places = changed_lines(predicted(text), predicted(after), [SourceLocation("k.cu", 3)])
    assert [each.line for each in places] == [2, 4]
    places = changed_lines(predicted(text), predicted(after), [])
    assert [each.line for each in places] == [1, 4]


def test_where_lines_were_only_taken_out_the_one_behind_them_is_named() -> None:
    after = edited(("    int i = blockIdx.x * blockDim.x + threadIdx.x;\n", ""))
    (place,) = changed_lines(predicted(line_digests(BEFORE)), predicted(after), [])
    assert place.line == 2
    (place,) = changed_lines(predicted(line_digests(BEFORE)), predicted(()), [])
    assert place.line == 1
