"""Reading the corpus: a mistake in a folder is named with its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from benchmarks.corpus.__main__ import pair_table
from benchmarks.corpus.pairs import FILE, Kind, Side, choose, corpus, read_pair

from kernelprof.errors import InputError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

PAIR = """
kind = "pair"
field = "statistics"
bottleneck = "atomic-contention"
change = "A sum for each warp."
"""
TWO = (
    PAIR.replace('"pair"', '"two"')
    + 'second = "shared-bank-conflicts"\nsecond_change = "A padded row."\n'
)
HEALTHY = 'kind = "healthy"\nfield = "hash"\nbottleneck = "integer-throughput"\n'
DECOY = """
kind = "decoy"
field = "images"
change = "A padded row."
not = ["shared-bank-conflicts", "barrier-stalls"]
"""
ONE, BOTH, THREE = ("before",), ("before", "after"), ("before", "after", "after_second")


def written(folder: Path, text: str, files: tuple[str, ...]) -> Path:
    folder.mkdir()
    (folder / FILE).write_text(text, encoding="utf-8")
    for name in files:
        (folder / f"{name}.cu").touch()
    return folder


def test_a_pair(tmp_path: Path) -> None:
    found = read_pair(written(tmp_path / "one", PAIR, BOTH))
    assert (found.name, found.kind, found.field) == ("one", Kind.PAIR, "statistics")
    assert (found.bottleneck, found.change) == ("atomic-contention", "A sum for each warp.")
    assert (found.second, found.second_change, found.never) == (None, "", ())
    assert found.sides == (Side.BEFORE, Side.AFTER)
    assert found.source(Side.AFTER) == tmp_path / "one" / "after.cu"
    assert found.target(Side.AFTER) == "cuda/pairs/one/after.cu"


def test_the_other_kinds(tmp_path: Path) -> None:
    two = read_pair(written(tmp_path / "two", TWO, THREE))
    assert (two.kind, two.second, two.second_change) == (
        Kind.TWO,
        "shared-bank-conflicts",
        "A padded row.",
    )
    assert two.sides == tuple(Side)
    healthy = read_pair(written(tmp_path / "healthy", HEALTHY, ONE))
    assert (healthy.bottleneck, healthy.change, healthy.sides) == (
        "integer-throughput",
        "",
        (Side.BEFORE,),
    )
    decoy = read_pair(written(tmp_path / "decoy", DECOY, BOTH))
    assert (decoy.bottleneck, decoy.never) == (None, ("shared-bank-conflicts", "barrier-stalls"))
    alone = read_pair(written(tmp_path / "alone", DECOY, ONE))
    assert alone.sides == (Side.BEFORE,)


@pytest.mark.parametrize(
    ("text", "files", "key", "what"),
    [
        (PAIR.replace('kind = "pair"', ""), BOTH, "kind", "a text that is not empty"),
        (PAIR.replace('"pair"', "1"), BOTH, "kind", "a text that is not empty"),
        (PAIR.replace('"pair"', '"couple"'), BOTH, "kind", "'couple' is none of pair, two, decoy"),
        (PAIR.replace('"statistics"', '" "'), BOTH, "field", "a text that is not empty"),
        (PAIR.replace('field = "statistics"', ""), BOTH, "field", "a text that is not empty"),
        (PAIR.replace("atomic-", ""), BOTH, "bottleneck", "no bottleneck is called 'contention'"),
        (PAIR.replace('"atomic-contention"', "[]"), BOTH, "bottleneck", "a text that is not"),
        (PAIR.replace("bottleneck", "#"), BOTH, "bottleneck", "a text that is not empty"),
        (PAIR.replace("change", "#"), BOTH, "change", "a text that is not empty"),
        (PAIR + "colour = 1\n", BOTH, "colour", "available: kind, field, bottleneck, change, sec"),
        (TWO.replace("second =", "#"), THREE, "second", "a text that is not empty"),
        (TWO.replace("shared-bank", "bank"), THREE, "second", "called 'bank-conflicts'"),
        (TWO.replace("second_change", "#"), THREE, "second_change", "a text that is not empty"),
        (DECOY.replace("not =", "#"), BOTH, "not", "a list of bottlenecks"),
        (DECOY.partition("not")[0] + "not = []\n", BOTH, "not", "a list of bottlenecks"),
        (DECOY.partition("not")[0] + 'not = "x"\n', BOTH, "not", "a list of bottlenecks"),
        (DECOY.partition("not")[0] + "not = [1]\n", BOTH, "not", "no bottleneck is called 1"),
        (DECOY.partition("not")[0] + 'not = [["x"]]\n', BOTH, "not", "is called ['x']"),
        (DECOY.replace("change", "#"), BOTH, "change", "a text that is not empty"),
        (HEALTHY.replace("bottleneck", "#"), ONE, "bottleneck", "a text that is not empty"),
        (PAIR, (), "kind", "of kind pair needs a before.cu"),
        (PAIR, ONE, "kind", "of kind pair needs a after.cu"),
        (PAIR, THREE, "kind", "of kind pair has no after_second.cu"),
        (TWO, BOTH, "kind", "of kind two needs a after_second.cu"),
        (HEALTHY, BOTH, "kind", "of kind healthy has no after.cu"),
        (DECOY, THREE, "kind", "of kind decoy has no after_second.cu"),
    ],
)
def test_a_mistake_is_named_with_its_key(
    tmp_path: Path, text: str, files: tuple[str, ...], key: str, what: str
) -> None:
    folder = written(tmp_path / "one", text, files)
    with pytest.raises(InputError) as caught:
        read_pair(folder)
    assert what in caught.value.what
    assert caught.value.where == f"{folder / FILE}: {key}"
    assert "docs/corpus.md" in str(caught.value.hint)


@pytest.mark.parametrize("text", ["nonsense", "kind = 1\nkind = 2\n", "\x00"])
def test_what_is_no_toml_is_named_with_its_file(tmp_path: Path, text: str) -> None:
    folder = written(tmp_path / "one", text, BOTH)
    with pytest.raises(InputError, match="it cannot be read") as caught:
        read_pair(folder)
    assert caught.value.where == str(folder / FILE)


def test_a_folder_without_the_file_is_no_pair(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it cannot be read"):
        read_pair(tmp_path)
    written(tmp_path / "b", PAIR, BOTH)
    written(tmp_path / "a", HEALTHY, ONE)
    (tmp_path / "c").mkdir()
    assert [each.name for each in corpus(tmp_path)] == ["a", "b"]


def test_pairs_are_chosen_by_their_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / name, PAIR, BOTH)
    found = corpus(tmp_path)
    assert [each.name for each in choose(found, [])] == ["a", "b"]
    assert [each.name for each in choose(found, ["cuda/pairs/b/"])] == ["b"]
    with pytest.raises(UsageError, match="the corpus has no pair 'c'"):
        choose(found, ["b", "c"])


def test_the_list_has_a_line_a_pair(tmp_path: Path) -> None:
    written(tmp_path / "adds", PAIR, BOTH)
    written(tmp_path / "both-at-once", TWO, THREE)
    written(tmp_path / "copies", DECOY, BOTH)
    written(tmp_path / "digests", HEALTHY, ONE)
    assert pair_table(corpus(tmp_path)).splitlines() == [
        "adds          pair    atomic-contention",
        "both-at-once  two     atomic-contention and shared-bank-conflicts",
        "copies        decoy   not shared-bank-conflicts, barrier-stalls",
        "digests       healthy integer-throughput",
    ]
