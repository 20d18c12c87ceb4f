"""TOML within bounds: what its parser takes forever for, or recurses over, is refused."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest

from kernelprof.model.toml_text import LONGEST_LINE, MOST_PARTS, TomlError, read_toml

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ("a = 1\n" + "a." * 200_000 + "b = 1", "a line has more than 65,536 characters", 2),
        ("a = 1\n" + "a." * 20_000 + "b = 1", "a key has more than 32 parts", 2),
        ('"a" . ' * 40 + "b = 1", "a key has more than 32 parts", 1),
        ("'a'." * 40 + "b = 1", "a key has more than 32 parts", 1),
        ("[" + ".".join("a" * 40) + "]", "a key has more than 32 parts", 1),
        ("a = " + "[" * 30_000, "more than 32 levels deep", None),
        ("a = " + "[\n" * 30_000, "more than 32 levels deep", None),
        ("a = " + "[" * 40 + "]" * 40, "more than 32 levels deep", None),
        ("a = " + "{a=" * 20_000, "more than 32 levels deep", None),
        ("a = " + "9" * 5_000, "too many digits", None),
        ("a = [[" + "9" * 20 + "]]", "does not fit in 64 bits", None),
        ("a = 1\nb = ", "Invalid value (at end of document)", 2),
        ("a = 1\n  b = x", "Invalid value", 2),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_what_is_refused_says_where(text: str, what: str, line: int | None) -> None:
    begun = time.monotonic()
    with pytest.raises(TomlError) as caught:
        read_toml(text)
    assert what in str(caught.value)
    assert caught.value.line == line
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    "line",
    [
        '"' + '.\\"' * 20_000,
        "'" * 40_000 + "." * 40,
        "a" * 60_000 + "." * 40,
        ". " * 30_000,
        " a " * 20_000 + "." * 40,
        "a = '" + "\\" * 60_000,
    ],
    ids=range(6),
)
def test_looking_for_long_keys_is_fast(line: str) -> None:
    begun = time.monotonic()
    with pytest.raises(TomlError):
        read_toml(line)
    assert time.monotonic() - begun < 2


def test_what_is_near_the_bounds_is_read() -> None:
    key = ".".join("a" * MOST_PARTS)
    assert read_toml(f"{key} = 1")["a"]["a"]["a"]
    assert read_toml(f'x = "{"a." * 500}"  # {"a." * 500}') == {"x": "a." * 500}
    assert read_toml(f"x = {2**63 - 1}\ny = {-(2**63)}") == {"x": 2**63 - 1, "y": -(2**63)}
    assert len(read_toml(f'x = "{"a" * (LONGEST_LINE - 6)}"')["x"]) == LONGEST_LINE - 6


@pytest.mark.parametrize("path", sorted(ROOT.glob("cuda/**/*.toml")), ids=lambda path: path.name)
def test_files_of_ours_read_as_before(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert read_toml(text) == tomllib.loads(text)
