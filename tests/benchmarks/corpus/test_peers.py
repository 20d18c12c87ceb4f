"""Other analyzers' answers: the file they come in, and when one is right."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.corpus.pairs import Kind
from benchmarks.corpus.peers import Answer, Peer, peer_is_right, peer_totals, read_peers
from tests.benchmarks.corpus.samples import (
    ATOMICS,
    BANKS,
    DRAM,
    L1,
    card,
    full,
    pair,
    scored,
    undecided,
    verdict,
)

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, values: Any) -> Path:
    path = folder / "peers.json"
    path.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
    return path


def document() -> dict[str, Any]:
    return {
        "ncu": {
            "version": "2025.3.1",
            "pairs": {
                "banks": {
                    "rule": "SharedMemoryConflicts",
                    "sentence": "Many conflicts.",
                    "kind": "global",
                    "speedup_percent": 71.5,
                    "slugs": [BANKS],
                    "anywhere": [BANKS, L1],
                },
                "atomics": {
                    "rule": None,
                    "sentence": None,
                    "kind": None,
                    "speedup_percent": None,
                    "slugs": [],
                },
            },
        },
        "fournex": {
            "version": "1.0",
            "pairs": {"banks": {"label": "bank_conflicts", "confidence": "high", "slugs": [BANKS]}},
        },
    }


def test_the_file(tmp_path: Path) -> None:
    ncu, fournex = read_peers(written(tmp_path, document()))
    assert (ncu.name, ncu.title, ncu.version) == ("ncu", "Nsight Compute's rules", "2025.3.1")
    assert ncu.answers["banks"] == Answer(
        "SharedMemoryConflicts", (BANKS,), "Many conflicts.", 71.5, anywhere=(BANKS, L1)
    )
    assert ncu.answers["atomics"] == Answer("", ())
    assert (fournex.name, fournex.title, fournex.version) == ("fournex", "Fournex", "1.0")
    assert fournex.answers == {"banks": Answer("bank_conflicts", (BANKS,), confidence="high")}


def test_one_analyzer_is_enough(tmp_path: Path) -> None:
    values = document()
    del values["ncu"]
    assert [each.name for each in read_peers(written(tmp_path, values))] == ["fournex"]


def changed(*path: str, to: Any) -> dict[str, Any]:
    values = document()
    place = values
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return values


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ("nonsense", "it is not JSON"),
        ("[]", "it is not a JSON object"),
        ('{"ncu": {"version": "1", "pairs": {"a": {"rule": "x", "slugs": [], '
         '"speedup_percent": NaN}}}}', "NaN is not JSON"),
        ({}, "it has none of ncu, fournex"),
        ({"others": {}}, "it has none of ncu, fournex"),
        (changed("ncu", to=[]), "'ncu' has an invalid value: expected `object | null`"),
        (changed("ncu", "version", to=2025), "'ncu.version' has an invalid value"),
        (changed("ncu", "pairs", "banks", "slugs", to=BANKS), "'ncu.pairs[...].slugs' has a"),
        (changed("ncu", "pairs", "banks", "slugs", to=[BANKS, "bank"]),
         "'ncu.pairs.banks.slugs': no bottleneck is called 'bank'"),
        (changed("ncu", "pairs", "banks", "anywhere", to=["bank"]),
         "'ncu.pairs.banks.anywhere': no bottleneck is called 'bank'"),
        (changed("ncu", "pairs", "banks", to={"rule": "x"}), "'ncu.pairs[...].slugs' is missing"),
        (changed("fournex", "pairs", "banks", "confidence", to=0.9),
         "confidence' has an invalid value"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_key(tmp_path: Path, values: Any, what: str) -> None:
    path = written(tmp_path, values)
    with pytest.raises(InputError) as caught:
        read_peers(path)
    assert what in caught.value.what
    assert caught.value.where == str(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_peers(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("meant", "right"), [((ATOMICS,), True), ((L1, ATOMICS), True), ((L1,), False), ((), False)]
)
def test_about_a_planted_one_any_of_the_meanings_counts(meant, right: bool) -> None:
    assert peer_is_right(scored(pair(), verdict(L1), 2.0), Answer("x", meant)) is right


def test_of_two_planted_either_counts_that_its_fix_proves() -> None:
    both = scored(pair(Kind.TWO), verdict(L1), 1.5, 2.0)
    assert peer_is_right(both, Answer("x", (ATOMICS,)))
    assert peer_is_right(both, Answer("x", (BANKS,)))
    one = scored(pair(Kind.TWO), verdict(L1), 1.5, 1.0)
    assert peer_is_right(one, Answer("x", (BANKS,))) is False


def test_about_a_healthy_kernel_its_unit_is_enough() -> None:
    healthy = scored(pair(Kind.HEALTHY), full(L1))
    assert peer_is_right(healthy, Answer("x", ("memory-latency", L1)))
    assert peer_is_right(healthy, Answer("x", (DRAM,))) is False


def test_about_a_decoy_all_but_what_looks_bad_is_right() -> None:
    decoy = scored(pair(Kind.DECOY, bottleneck=DRAM), full(DRAM), 1.0)
    assert peer_is_right(decoy, Answer("x", (L1,)))
    assert peer_is_right(decoy, Answer("x", ()))
    assert peer_is_right(decoy, Answer("x", (L1, BANKS))) is False


def test_a_pair_that_proves_nothing_counts_for_nobody() -> None:
    void = scored(pair(), verdict(ATOMICS), 1.01)
    assert peer_is_right(void, Answer("x", (ATOMICS,))) is None
    found = peer_totals(Peer("ncu", "1", {void.pair.name: Answer("x", (ATOMICS,))}), [void])
    assert (found.pairs, found.first) == (0, 0)


def test_totals_are_over_what_it_was_asked_about() -> None:
    found = card()
    ncu, fournex = found.peers
    rules = found.peer_totals(ncu)
    assert (rules.pairs, rules.first, rules.anywhere) == (3, 2, 3)
    assert (rules.healthy, rules.healthy_right) == (1, 1)
    assert (rules.decoys, rules.decoys_right) == (1, 0)
    assert (rules.sure, rules.wrong_and_sure) == (None, None)
    labels = found.peer_totals(fournex)
    assert (labels.pairs, labels.first, labels.decoys) == (1, 0, 0)
    assert labels.anywhere is None
    assert (labels.sure, labels.wrong_and_sure) == (1, 1)


def test_an_analyzer_is_not_asked_about_what_is_not_scored() -> None:
    answers = {"some-pair": Answer("x", (ATOMICS,)), "another": Answer("y", (L1,))}
    found = peer_totals(Peer("ncu", "1", answers), [scored(pair(), undecided(L1), 2.0)])
    assert (found.pairs, found.first) == (1, 1)
