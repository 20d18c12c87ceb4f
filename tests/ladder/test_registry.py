"""The registry of rungs: what it gives, and that a mistake in it is named with its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.errors import InputError, UsageError
from kernelprof.ladder.product import Product
from kernelprof.ladder.registry import (
    Ladder,
    choose,
    find_ladder,
    load_ladders,
    read_ladder,
    singly_chosen_files,
)

if TYPE_CHECKING:
    from pathlib import Path

TOP = (
    'schema_version = "1"\nname = "tiny"\ntitle = "A tiny ladder"\nabout = "C = A * B."\n'
    "sizes = [64, 128]\n"
)
CEILING = '[ceiling]\nprecision = "bfloat16"\nlayout = "nt"\nfill = "random"\n'
HEAD = TOP + CEILING
FIRST = '[[rung]]\nfile = "01_a.cu"\ntitle = "A"\nchanges = "Nothing yet."\n'
SECOND = (
    '[[rung]]\nfile = "02_b.cu"\ntitle = "B"\nafter = "01_a.cu"\nchanges = "One thing."\n'
    'before = "It was slow."\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "tiny"
    found.mkdir()
    for name in ("01_a.cu", "02_b.cu"):
        (found / name).touch()
    return found


def _written(folder: Path, text: str) -> Path:
    path = folder / "ladder.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_two_rungs(folder: Path) -> None:
    variants = 'expected = "small-grid"\nvariants = [{ TILE = 8 }, { TILE = 16, MODE = "x" }]\n'
    tiny = read_ladder(_written(folder, HEAD + FIRST + SECOND + variants))
    assert (tiny.name, tiny.title, tiny.about) == ("tiny", "A tiny ladder", "C = A * B.")
    assert (tiny.sizes, tiny.product) == ((64, 128), Product("bfloat16", "nt", "random"))
    first, second = tiny.rungs
    assert (first.ladder, first.target) == ("tiny", "cuda/ladder/tiny/01_a.cu")
    assert (first.number, first.stem, first.title, first.after) == (1, "01_a", "A", None)
    assert first.path == folder / "01_a.cu"
    assert (second.after, second.before) == ("01_a.cu", "It was slow.")
    assert second.expected == "small-grid"
    assert second.variants == ({"TILE": 8}, {"TILE": 16, "MODE": "x"})


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("nonsense", "", "not valid TOML"),
        (HEAD.replace('"1"', '"2"') + FIRST, "schema_version", "Invalid enum value '2'"),
        (HEAD.partition("\n")[2] + FIRST, "", "missing required field `schema_version`"),
        (HEAD, "", "missing required field `rung`"),
        (TOP + "rung = []\n" + CEILING, "rung", "of length >= 1"),
        (TOP + "colour = 1\n" + CEILING + FIRST, "", "unknown field `colour`"),
        (TOP + "rung = [1]\n" + CEILING, "rung[0]", "Expected `object`, got `int`"),
        (TOP + FIRST, "", "missing required field `ceiling`"),
        (HEAD.replace("bfloat16", "float8") + FIRST, "ceiling.precision", "Invalid enum value"),
        (HEAD.replace('"nt"', '"tn"') + FIRST, "ceiling.layout", "Invalid enum value 'tn'"),
        (HEAD.replace('"tiny"', '"small"') + FIRST, "name", "does not match the folder's name"),
        (HEAD.replace('"tiny"', '"sgemm"') + FIRST, "name", "does not match the folder's name"),
        (HEAD.replace("[64, 128]", "[]") + FIRST, "sizes", "of length >= 1"),
        (HEAD.replace("[64, 128]", "[0]") + FIRST, "sizes[0]", ">= 1"),
        (HEAD.replace("[64, 128]", "[128, 64]") + FIRST, "sizes", "not in ascending order"),
        (HEAD.replace("[64, 128]", "[64, 64]") + FIRST, "sizes", "not in ascending order"),
        (HEAD + FIRST + "colour = 1\n", "rung[0]", "unknown field `colour`"),
        (HEAD + FIRST.replace("01_a.cu", "a.cu"), "rung[0].file", "matching regex"),
        (HEAD + FIRST.replace("01_a.cu", "03_c.cu"), "rung[0].file", "no file '03_c.cu'"),
        (HEAD + FIRST.replace('"A"', '" "'), "rung[0].title", "matching regex"),
        (HEAD + FIRST.replace('"A"', "1"), "rung[0].title", "Expected `str`, got `int`"),
        (HEAD + SECOND, "rung[0].after", "no earlier rung is named '01_a.cu'"),
        (HEAD + FIRST + FIRST, "rung[1].file", "does not sort after '01_a.cu'"),
        (HEAD + FIRST + 'before = "?"\n', "rung[0].after", "must be given together"),
        (
            HEAD + FIRST + SECOND.replace('before = "It was slow."\n', ""),
            "rung[1].before",
            "must be given together",
        ),
        (HEAD + FIRST + 'expected = "Slow!"\n', "rung[0].expected", "matching regex"),
        (HEAD + FIRST + "variants = 1\n", "rung[0].variants", "Expected `array`, got `int`"),
        (HEAD + FIRST + "variants = [{}]\n", "rung[0].variants[0]", "of length >= 1"),
        (HEAD + FIRST + "variants = [{ A-B = 1 }]\n", "rung[0].variants[0]", "A-Za-z0-9_"),
        (
            HEAD + FIRST + "variants = [{ A = true }]\n",
            "rung[0].variants[0][...]",
            "Expected `int | float | str`, got `bool`",
        ),
    ],
)
def test_a_mistake_is_refused_with_its_key(folder: Path, text: str, place: str, what: str) -> None:
    path = _written(folder, text)
    with pytest.raises(InputError) as caught:
        read_ladder(path)
    assert what in caught.value.what
    assert caught.value.where == (f"{path}: {place}" if place else str(path))


def test_a_registry_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_ladder(tmp_path / "ladder.toml")


@pytest.fixture
def both(folder: Path) -> list[Ladder]:
    """The first ladder, and a tiny one beside it."""
    return [find_ladder(), read_ladder(_written(folder, HEAD + FIRST + SECOND))]


def test_ladders_are_found_by_their_folders() -> None:
    first, *others = load_ladders()
    assert first.name == "sgemm"
    assert [each.name for each in others] == ["bf16"]
    assert find_ladder("bf16") == others[0]
    with pytest.raises(UsageError, match="no ladder 'hgemm'") as caught:
        find_ladder("hgemm")
    assert caught.value.hint == "the ladders are sgemm, bf16"


@pytest.mark.parametrize(
    ("ladder_name", "file", "names"),
    [
        ("sgemm", "03_shared_tile.cu", ["3", "03", "03_shared_tile", "x/y/03_shared_tile.cu"]),
        ("tiny", "02_b.cu", ["tiny/2", "tiny/02_b", "tiny/02_b.cu", "cuda/ladder/tiny/02_b"]),
    ],
)
def test_a_rung_by_number_or_file_and_its_ladder_unless_that_is_the_first(
    ladder_name: str, file: str, names: list[str], both: list[Ladder]
) -> None:
    for wanted in names:
        chosen, (rung,) = choose(both, [wanted])
        assert (chosen.name, rung.file) == (ladder_name, file)


def test_a_file_is_known_by_where_it_lies(both, folder, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    chosen, (rung,) = choose(both, ["02_b.cu"])
    assert (chosen.name, rung.file) == ("tiny", "02_b.cu")


def test_rungs_come_in_the_order_of_the_ladder_and_once(both: list[Ladder]) -> None:
    of, found = choose(both, ["4", "2", "02"])
    assert [rung.number for rung in found] == [2, 4]
    assert choose(both, []) == (of, of.rungs)
    assert choose(both, ["tiny"]) == choose(both, ["tiny", "tiny/1"]) == (both[1], both[1].rungs)


def test_a_rung_is_named_by_itself_and_not_by_its_ladder(both: list[Ladder]) -> None:
    assert singly_chosen_files(both, []) == singly_chosen_files(both, ["tiny"]) == frozenset()
    assert singly_chosen_files(both, ["tiny", "tiny/2"]) == {"02_b.cu"}
    assert singly_chosen_files(both, ["3", "03_shared_tile.cu"]) == {"03_shared_tile.cu"}


@pytest.mark.parametrize(
    ("names", "what", "hints"),
    [
        *(
            (
                mixed,
                r"of different ladders: .* and ",
                ("one ladder at a time", "prefix rungs of tiny with its name, as in tiny/1"),
            )
            for mixed in (["3", "tiny/1"], ["tiny", "sgemm"], ["tiny", "2"])
        ),
        *(
            ([wanted], "there is no ladder 'hgemm'", ("the ladders are sgemm, tiny",))
            for wanted in ("hgemm/3", "cuda/ladder/hgemm/3")
        ),
        *(
            (
                [wanted],
                "neither a ladder nor a rung",
                ("give only the name of a ladder, without a folder: tiny",),
            )
            for wanted in ("tiny/", "cuda/ladder/tiny", "cuda/ladder/tiny/")
        ),
        *(
            ([wanted], "has no rung", ("from 1 to ", "ladder list"))
            for wanted in ("0", "99", "naive", "01_naive.cu.orig", "tiny/3", "hgemm/1x")
        ),
    ],
)
def test_what_is_no_rung_of_one_ladder_is_refused(
    names: list[str], what: str, hints: tuple[str, ...], both: list[Ladder]
) -> None:
    with pytest.raises(UsageError, match=what) as caught:
        choose(both, names)
    for hint in hints:
        assert hint in str(caught.value.hint)
