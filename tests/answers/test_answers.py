"""Every answer of 0.1.0 is still given, but for the differences listed in ``intended.toml``."""

from __future__ import annotations

import gzip
import json
import shlex
import tomllib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.answers.cases import answer

HERE = Path(__file__).parent
BEFORE: dict[str, Any] = json.loads(gzip.decompress((HERE / "0.1.0.json.gz").read_bytes()))
PARTS = 12
LONG = ("validation/basic", "validation/detail", "same-code-13x")
"""Captures with dozens of launches for which what to measure next has to be searched."""
ALIKE = "recorded/h200-pairs"
"""Captures of one kernel each: a fourth of these hundreds is enough for a first look."""


@cache
def _intended() -> dict[str, Any]:
    return tomllib.loads((HERE / "intended.toml").read_text(encoding="utf-8"))


def _worded(value: Any) -> Any:
    """A document of 0.1.0 in the sentences of today."""
    if isinstance(value, str):
        for each in _intended().get("sentence", ()):
            value = value.replace(each["was"], each["now"])
        return value
    if isinstance(value, list):
        return [_worded(each) for each in value]
    if isinstance(value, dict):
        return {key: _worded(each) for key, each in value.items()}
    return value


def differences(was: Any, now: Any, path: str = "") -> list[str]:
    """Where two documents differ: the path, what was there and what is."""
    if isinstance(was, dict) and isinstance(now, dict):
        if list(was) != list(now):
            return [f"{path}: keys {list(was)} became {list(now)}"]
        parts = [(f"{path}.{key}".lstrip("."), was[key], now[key]) for key in was]
    elif path.rpartition(".")[2] in _intended()["asked"]:
        return _unasked(was, now, path)
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        parts = [(f"{path}.{at}", *pair) for at, pair in enumerate(zip(was, now, strict=True))]
    else:
        same = _uncounted(was) == _uncounted(now) and type(was) is type(now)
        return [] if same else [f"{path}: {was!r} became {now!r}"]
    return [found for place, one, other in parts for found in differences(one, other, place)]


def _uncounted(value: Any) -> Any:
    """A sentence that counts the metrics of a rule, without the count."""
    words = value.partition(" ")[2] if isinstance(value, str) else ""
    return words if words in _intended()["counted"] else value


def _unasked(was: Any, now: Any, path: str) -> list[str]:
    """Where nothing is asked for although something was, or the other way round."""
    return [] if bool(was) == bool(now) else [f"{path}: {was!r} became {now!r}"]


_NEEDS_READER = pytest.mark.skipif(
    find_spec("ncu_report") is None, reason="needs NVIDIA's reader (the extra 'rep')"
)


def _parts() -> list[Any]:
    """All cases in their order, in parts that run side by side; a gate's cases stay together."""
    gates = [name for name in BEFORE if name.startswith(("gate", "baseline"))]
    reports = [name for name in BEFORE if ".ncu-rep" in name]
    alike = [name for name in BEFORE if ALIKE in name]
    long = [name for name in BEFORE if any(word in name for word in LONG)]
    long += [name for at, name in enumerate(alike) if at % 4]
    short = [name for name in BEFORE if name not in {*gates, *long, *reports}]
    slow = pytest.mark.slow("hundreds of launches to search for, hundreds of captures alike")
    return [
        pytest.param(gates, id="gates"),
        pytest.param(reports, id="reports", marks=_NEEDS_READER),
        *(pytest.param(short[at::PARTS], id=f"{at}") for at in range(PARTS)),
        *(pytest.param(long[at::6], id=f"long-{at}", marks=slow) for at in range(6)),
    ]


@pytest.mark.parametrize("names", _parts())
def test_the_same_answers_as_in_0_1_0(names: list[str]) -> None:
    wrong: list[str] = []
    for name in names:
        was, now = BEFORE[name], answer(tuple(shlex.split(name)))
        found = differences(_worded(was), now)
        wrong += [f"{name}\n    {each}" for each in found[:5]]
    assert not wrong, "\n".join(wrong[:40])


def test_every_answer_is_in_one_part() -> None:
    assert sorted(name for part in _parts() for name in part.values[0]) == sorted(BEFORE)


def test_a_difference_is_seen() -> None:
    """The comparison notices a changed value, a lost key and a changed type."""
    assert differences({"a": 1}, {"a": 2}) == ["a: 1 became 2"]
    assert differences({"a": [1]}, {"a": [1.0]}) == ["a.0: 1 became 1.0"]
    assert differences({"a": 1, "b": 2}, {"a": 1}) == [": keys ['a', 'b'] became ['a']"]
    assert not differences({"missing": ["x", "y"]}, {"missing": ["y"]})
    assert differences({"missing": ["x"]}, {"missing": []})
    assert differences({"command": None}, {"command": "ncu --metrics y"})
    counted = "of the rule's metrics are not in the capture"
    assert not differences([f"4 {counted}"], [f"3 {counted}"])
    assert differences([f"4 {counted}"], ["3 others"])
