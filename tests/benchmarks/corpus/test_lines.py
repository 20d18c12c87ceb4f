"""The lines that verdicts blame, and those that fixes changed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from benchmarks.corpus.line_table import ranges, section
from benchmarks.corpus.lines import FOLDER, SOURCES, changed, line_scores, read
from benchmarks.corpus.pairs import Kind, Side, corpus
from benchmarks.corpus.score import score
from benchmarks.corpus.scorecard import Scorecard
from benchmarks.corpus.stored import by_full, load, measured

from kernelprof.analysis.stalls.blame import BLAMED

if TYPE_CHECKING:
    from benchmarks.corpus.lines import LineScore
    from benchmarks.corpus.score import Scored

PLANTED = [each for each in corpus() if each.kind in (Kind.PAIR, Kind.TWO)]
WITH_LINES = [each for each in PLANTED if {each.bottleneck, each.second} & set(BLAMED)]
LEAST_RIGHT = 0.8


@pytest.fixture(scope="module")
def scored() -> list[Scored]:
    known = measured(load(WITH_LINES), by_full, (Side.BEFORE,))
    return [score(each, known[each.name]) for each in WITH_LINES]


@pytest.fixture(scope="module")
def found(scored: list[Scored]) -> tuple[LineScore, ...]:
    return line_scores(scored)


@pytest.mark.slow("reads 60 pairs")
def test_the_line_that_the_fix_changed_is_named(found: tuple[LineScore, ...]) -> None:
    right = sum(each.right for each in found)
    assert (right, len(found)) == (50, 60)
    assert right / len(found) >= LEAST_RIGHT


@pytest.mark.slow("reads 60 pairs")
def test_it_is_named_more_often_than_the_line_of_most_samples(found: tuple[LineScore, ...]) -> None:
    assert sum(each.hottest_right for each in found) == 45
    assert sum(each.chance for each in found) == pytest.approx(23.19, abs=0.01)


@pytest.mark.slow("reads 60 pairs")
def test_the_table_says_so(found: tuple[LineScore, ...]) -> None:
    shown = section(Scorecard((), lines=found))
    assert shown is not None
    assert "in 50 of 60 pairs in which a line is to blame (83 %)" in str(shown.blocks[0])
    assert section(Scorecard(())) is None


@pytest.mark.slow("reads all pairs again")
def test_every_pair_with_lines_was_sampled_as_it_is_now() -> None:
    digests = json.loads((FOLDER / SOURCES).read_text(encoding="utf-8"))
    for each in WITH_LINES:
        digest = hashlib.sha256(each.source(Side.BEFORE).read_bytes()).hexdigest()
        assert digests[each.name] == digest
        assert read(each).file == each.target(Side.BEFORE)
        assert read(each).samples > 0
    assert {path.name.partition(".")[0] for path in FOLDER.glob("*.json.gz")} == set(digests)


def test_a_verdict_that_names_something_else_names_no_right_line(scored: list[Scored]) -> None:
    right = next(each for each in scored if each.pair.name == "transpose-column-reads")
    wrong = replace(right, verdict=replace(right.verdict, bottleneck="small-grid"))
    (one,), (other,) = line_scores([right]), line_scores([wrong])
    assert (one.right, one.blamed and one.blamed.line) == (True, 49)
    assert (other.right, other.blamed) == (False, None)


def test_a_pair_that_proves_nothing_counts_nowhere(scored: list[Scored]) -> None:
    void = next(each for each in scored if each.right is None)
    assert line_scores([void]) == ()


def test_what_a_fix_changed() -> None:
    before = "a();\nb();  // one\nc();\nd();\n"
    assert changed(before, before) == set()
    assert changed(before, before.replace("// one", "// two")) == set()
    assert changed(before, before.replace("b();", "x();")) == {2}
    assert changed(before, before.replace("b();  // one\n", "")) == {2}
    assert changed(before, before.replace("c();", "x();\nc();")) == {2, 3}
    assert changed(before, before.replace("c();", "// one\n\nc();")) == set()


def test_line_numbers_in_short() -> None:
    assert ranges((3, 7, 8, 9, 11)) == "3, 7-9, 11"
    assert ranges(()) == ""
