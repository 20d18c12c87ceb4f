"""Answers are those of the recording, and what scripts rely on since 0.1.0 is there.

A change that is meant is recorded with ``python -m tests.answers.record``, and its difference
reviewed. The recording of 0.1.0 stays as it is: exit codes keep their meaning, and keys are only
added.
"""

from __future__ import annotations

import gzip
import json
import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.answers.cases import PAIRS, answer
from tests.answers.lines import lines, lost
from tests.answers.record import read

PAIRS_OF_0_1_0 = "src/kernelprof/recorded/h200-pairs"
"""Where 0.1.0 had the captures of the corpus, in the words of its commands."""
BEFORE: dict[str, Any] = {
    name.replace("gate --calibrate", "baseline calibrate").replace(PAIRS_OF_0_1_0, PAIRS): answered
    for name, answered in json.loads(
        gzip.decompress(Path(__file__).with_name("0.1.0.json.gz").read_bytes())
    ).items()
}
TODAY = read()
PARTS = 12
LONG = ("validation/basic", "validation/detail", "same-code-13x", "h200_once")
"""Captures with dozens of launches for which what to measure next has to be searched."""
ALIKE = PAIRS
"""Captures of one kernel each: a fourth of these hundreds is enough for a first look."""
GATED = ("/tile", "/coalesced", "full.raw")
"""Baselines with three of the seven planted changes, and captures without one."""
INCONCLUSIVE = 3

_NEEDS_READER = pytest.mark.skipif(
    find_spec("ncu_report") is None, reason="needs NVIDIA's reader (the extra 'rep')"
)


def _parts() -> list[Any]:
    """All cases in their order, in parts side by side; a baseline's cases stay together."""
    gates = [name for name in TODAY if name.startswith(("gate", "baseline"))]
    some = [name for name in gates if any(word in name for word in GATED)]
    others = [name for name in gates if name not in some]
    reports = [name for name in TODAY if ".ncu-rep" in name]
    alike = [name for name in TODAY if ALIKE in name]
    long = [name for name in TODAY if any(word in name for word in LONG)]
    long += [name for at, name in enumerate(alike) if at % 4]
    short = [name for name in TODAY if name not in {*gates, *long, *reports}]
    slow = pytest.mark.slow("hundreds of launches to search for, hundreds of captures alike")
    exhaustive = pytest.mark.exhaustive("more of the same; recording runs all")
    return [
        pytest.param(some, id="gates"),
        pytest.param(others, id="other-gates", marks=slow),
        pytest.param(reports, id="reports", marks=_NEEDS_READER),
        *(
            pytest.param(
                short[at::PARTS],
                id=f"{at}",
                marks=() if at == 1 else slow if at % 2 else exhaustive,
            )
            for at in range(PARTS)
        ),
        *(
            pytest.param(
                long[at::6],
                id=f"long-{at}",
                marks=exhaustive if at else slow,
            )
            for at in range(6)
        ),
    ]


def _decides(exit_code: int) -> int:
    """An exit code as scripts may rely on it: whether a capture decides is no promise."""
    return 0 if exit_code == INCONCLUSIVE else exit_code


def _broken(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What a script that was written for 0.1.0 would stumble over."""
    broken = [f"the key {each} is gone" for each in lost(was["document"], now["document"])]
    if _decides(was["exit"]) != _decides(now["exit"]):
        broken.append(f"exit {was['exit']} became {now['exit']}")
    found = now["document"]
    if isinstance(found, dict) and "captures" in found:
        open_ones = [each["verdict"]["status"] == "inconclusive" for each in found["kernels"]]
        if (now["exit"] == INCONCLUSIVE) != any(open_ones):
            broken.append(f"exit {now['exit']} with {sum(open_ones)} inconclusive verdicts")
    return broken


def test_reports_were_recorded_where_they_could_be_read() -> None:
    reports = {name: told[0] for name, told in TODAY.items() if ".ncu-rep" in name}
    assert reports
    assert not [name for name, told in reports.items() if told == "exit 4"]


@pytest.mark.parametrize("names", _parts())
def test_answers_are_those_recorded_and_keep_what_0_1_0_had(names: list[str]) -> None:
    wrong: list[str] = []
    for name in names:
        now = answer(tuple(shlex.split(name)))
        found = _broken(BEFORE[name], now) if name in BEFORE else []
        recorded, told = TODAY[name], lines(now)
        found += [f"- {each}" for each in recorded if each not in told][:5]
        found += [f"+ {each}" for each in told if each not in recorded][:5]
        if not found and recorded != told:
            found.append("the same lines in another order")
        wrong += [f"{name}\n    {each}" for each in found]
    assert not wrong, "\n".join(["python -m tests.answers.record, if it is meant:", *wrong[:40]])


def test_every_answer_is_in_one_part() -> None:
    assert sorted(name for part in _parts() for name in part.values[0]) == sorted(TODAY)
    assert not set(BEFORE) - set(TODAY), "a case of 0.1.0 is no longer asked"


def test_a_lost_key_is_seen() -> None:
    assert lost({"a": 1, "b": 2}, {"a": 1, "c": 3}) == [".b"]
    assert lost({"k": [{"a": 1}]}, {"k": [{"a": 1}, {"b": 1}]}) == [".k[].a"]
    assert lost({"k": [{"v": {"a": 1}}]}, {"k": [{"v": {}}]}) == [".k[].v.a"]
    assert not lost({"k": [{"a": 1}]}, {"k": []})
    assert not lost({"duration": {"median": 1}}, {"duration": None})


def test_a_changed_exit_code_is_seen() -> None:
    def said(exit_code: int, status: str | None = None) -> dict[str, Any]:
        kernels = [{"verdict": {"status": status}}]
        return {
            "exit": exit_code,
            "document": None if status is None else {"captures": [], "kernels": kernels},
        }

    assert _broken(said(2), said(0)) == ["exit 2 became 0"]
    assert _broken(said(0), said(1)) == ["exit 0 became 1"]
    assert not _broken(said(3, "inconclusive"), said(0, "bottleneck"))
    assert _broken(said(0, "bottleneck"), said(0, "inconclusive")) == [
        "exit 0 with 1 inconclusive verdicts"
    ]
