"""JSON of strangers: of bounded size and depth, and of text that can be written again."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kernelprof.model.records import MOST_DEPTH, RecordError, build, read_json, read_object


@dataclass
class Named:
    """A record with a text."""

    name: str


def test_half_a_surrogate_pair_as_a_key() -> None:
    with pytest.raises(RecordError, match="surrogate"):
        build(Named, read_object('{"name": "a", "\\udfff": 1}'))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1), "more than 64 levels deep"),
        ("[" * 100_000, "recursion"),
        ("9" * 301, "301 digits"),
        ("9" * 5_000, "5,000 digits"),
        ("[" + "1," * 4_000_000 + "1]", "more than 4,000,000 values"),
    ],
    ids=["deep", "nested", "301", "5000", "many"],
)
def test_json_beyond_the_limits(text: str, what: str) -> None:
    with pytest.raises(RecordError, match=what):
        read_json(text)


def test_json_within_them() -> None:
    assert str(read_json("[" * MOST_DEPTH + "]" * MOST_DEPTH)).count("[") == MOST_DEPTH
    assert read_json("9" * 300) == int("9" * 300)
    assert read_json("3") == 3
