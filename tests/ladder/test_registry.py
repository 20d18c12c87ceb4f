"""The registry of rungs: what it gives, and that a mistake in it is named with its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.errors import InputError, UsageError
from kernelprof.ladder.registry import choose, ladder, read_ladder

if TYPE_CHECKING:
    from pathlib import Path

HEAD = 'schema_version = "1"\n'
FIRST = '[[rung]]\nfile = "01_a.cu"\ntitle = "A"\nchanges = "Nothing yet."\n'
SECOND = (
    '[[rung]]\nfile = "02_b.cu"\ntitle = "B"\nafter = "01_a.cu"\nchanges = "One thing."\n'
    'before = "It was slow."\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("01_a.cu", "02_b.cu"):
        (tmp_path / name).touch()
    return tmp_path


def _written(folder: Path, text: str) -> Path:
    path = folder / "ladder.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_two_rungs(folder: Path) -> None:
    variants = 'expected = "small-grid"\nvariants = [{ TILE = 8 }, { TILE = 16, MODE = "x" }]\n'
    first, second = read_ladder(_written(folder, HEAD + FIRST + SECOND + variants))
    assert (first.number, first.stem, first.title, first.after) == (1, "01_a", "A", None)
    assert first.path == folder / "01_a.cu"
    assert (second.after, second.before) == ("01_a.cu", "It was slow.")
    assert second.expected == "small-grid"
    assert second.variants == ({"TILE": 8}, {"TILE": 16, "MODE": "x"})


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("nonsense", "", "not valid TOML"),
        ('schema_version = "2"\n' + FIRST, "schema_version", "Invalid enum value '2'"),
        (FIRST, "", "missing required field `schema_version`"),
        (HEAD, "", "missing required field `rung`"),
        (HEAD + "rung = []\n", "rung", "of length >= 1"),
        (HEAD + "colour = 1\n" + FIRST, "", "unknown field `colour`"),
        (HEAD + "rung = [1]\n", "rung[0]", "Expected `object`, got `int`"),
        (HEAD + FIRST + "colour = 1\n", "rung[0]", "unknown field `colour`"),
        (HEAD + FIRST.replace("01_a.cu", "a.cu"), "rung[0].file", "matching regex"),
        (HEAD + FIRST.replace("01_a.cu", "03_c.cu"), "rung[0].file", "no file '03_c.cu'"),
        (HEAD + FIRST.replace('"A"', '" "'), "rung[0].title", "matching regex"),
        (HEAD + FIRST.replace('"A"', "1"), "rung[0].title", "Expected `str`, got `int`"),
        (HEAD + SECOND, "rung[0].after", "no rung above is '01_a.cu'"),
        (HEAD + FIRST + FIRST, "rung[1].file", "does not come after '01_a.cu'"),
        (HEAD + FIRST + 'before = "?"\n', "rung[0].after", "come together"),
        (
            HEAD + FIRST + SECOND.replace('before = "It was slow."\n', ""),
            "rung[1].before",
            "come together",
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


@pytest.mark.parametrize("wanted", ["3", "03", "03_shared_tile", "x/y/03_shared_tile.cu"])
def test_a_rung_by_number_or_file(wanted: str) -> None:
    (found,) = choose(ladder(), [wanted])
    assert found.file == "03_shared_tile.cu"


def test_rungs_come_in_the_order_of_the_ladder_and_once() -> None:
    assert [rung.number for rung in choose(ladder(), ["4", "2", "02"])] == [2, 4]
    assert choose(ladder(), []) == ladder()


@pytest.mark.parametrize("wanted", ["0", "99", "naive", "01_naive.cu.orig"])
def test_a_rung_that_does_not_exist(wanted: str) -> None:
    with pytest.raises(UsageError, match="has no rung") as caught:
        choose(ladder(), [wanted])
    assert "from 1 to " in str(caught.value.hint)
    assert "ladder list" in str(caught.value.hint)
