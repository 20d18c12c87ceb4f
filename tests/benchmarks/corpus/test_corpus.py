"""The corpus that ships here: its pairs, their captures, and the report."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from benchmarks.corpus.__main__ import written
from benchmarks.corpus.measure import is_measured, place
from benchmarks.corpus.pairs import Kind, all_pairs, corpus
from benchmarks.corpus.peers import read_peers
from benchmarks.corpus.scorecard import scorecard
from benchmarks.corpus.stored import FOLDER
from tests.support.pages import REPORTS, digest_of, digests

from kernelprof.analysis.rules import load_rules
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from benchmarks.corpus.scorecard import Scorecard

LEAST_PAIRS = 2
MOST_SECONDS = 0.5
"""Of processor time for a pair; it takes a fourth of that, most of it to read the pages."""


@pytest.fixture(scope="module")
def card() -> Scorecard:
    """The score, which has to be there in time."""
    pairs, start = all_pairs(), time.process_time()
    peers = read_peers(REPORTS / "corpus-peers.json")
    found = scorecard(pairs, peers=peers, with_halves=True)
    assert time.process_time() - start < MOST_SECONDS * len(pairs)
    return found


def test_every_bottleneck_has_its_pairs() -> None:
    planted = Counter(each.bottleneck for each in corpus() if each.kind is Kind.PAIR)
    assert {slug: planted[slug] for slug in load_rules() if planted[slug] < LEAST_PAIRS} == {}


def test_every_kind_is_there() -> None:
    assert {each.kind for each in corpus()} == set(Kind)


@pytest.mark.slow("hashes the sources of all pairs")
def test_every_pair_has_its_captures() -> None:
    """Where this fails: ``python -m benchmarks.corpus run --captures`` on a machine with a GPU."""
    lacking = [
        each.target(side)
        for each in corpus()
        for side in each.sides
        if not is_measured(FOLDER, each, side)
    ]
    assert lacking == []


def test_every_capture_has_its_pair() -> None:
    known = {place(FOLDER, each, side) for each in corpus() for side in each.sides}
    assert [
        str(path.parent.relative_to(FOLDER))
        for path in sorted(FOLDER.rglob("manifest.json"))
        if path.parent not in known
    ] == []


def test_every_result_was_right_and_timed() -> None:
    for path in sorted(FOLDER.rglob("manifest.json")):
        manifest = read_manifest(path.parent)
        assert manifest.correctness is not None, path
        assert manifest.correctness.passed, path
        assert manifest.timing is not None, path


def test_names_of_folders_are_words() -> None:
    for each in corpus():
        assert set(each.name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-"), each.name


@pytest.mark.exhaustive("scores the whole corpus")
def test_the_other_analyzers_were_asked_about_every_pair(card: Scorecard) -> None:
    # Debug builds were added later: no analyzer has a name for them.
    names = {row.pair.name for row in card.rows if row.pair.bottleneck != "debug-build"}
    for peer in card.peers:
        assert names <= set(peer.answers), peer.name


@pytest.mark.slow("scores the whole corpus")
def test_the_report_is_what_its_command_makes(card: Scorecard) -> None:
    """Where this fails after a change of rules or captures: ``make corpus-report``."""
    assert (REPORTS / "corpus-h200.md").read_text("utf-8") == written(card, "markdown")
    assert digests()["corpus-h200"] == digest_of(written(card, "html").encode())
