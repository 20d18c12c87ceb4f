"""The SARIF file against the schema of SARIF 2.1.0, and what GitHub wants beyond that."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.changes import (
    AWKWARD,
    CHANGES,
    answer,
    comparison,
    gated,
    kernels,
    side,
    slower,
    texts,
)
from tests.support.captures import source_of

from kernelprof.comparison.gate.policy import Policy
from kernelprof.launch.signature import kernels as kernels_of
from kernelprof.model.gate import Code, GateFinding, GateResult, KernelResult, Outcome
from kernelprof.model.names import short_name
from kernelprof.report.writers import sarif
from kernelprof.report.writers.sarif import FINGERPRINT, RULES
from kernelprof.report.writers.sarif import write_gate as render_sarif

SCHEMA = json.loads(
    (Path(__file__).parents[1] / "schemas" / "sarif-2.1.0.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft7Validator(
    SCHEMA, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER
)


def _run(result: GateResult, *arguments: Any, **options: Any) -> Any:
    log = json.loads(render_sarif(result, *arguments, **options))
    VALIDATOR.validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for each in run["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
        place = each["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"]
        assert place["region"]["startLine"] >= 1
    prints = [each["partialFingerprints"][FINGERPRINT] for each in run["results"]]
    assert all(len(each) == 64 for each in prints)
    return run


def _place(run: Any, number: int = 0) -> tuple[str, int]:
    place = run["results"][number]["locations"][0]["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]["startLine"]


def test_a_regression_stands_at_its_kernel() -> None:
    source = source_of(CHANGES / "naive" / "2").decode()
    lines = {kernel.name: kernel.line for kernel in kernels_of(source)}
    run = _run(gated("coalesced", "naive"), lines)
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("slower", "error"),
        ("counter-worse", "error"),
        ("new-bottleneck", "error"),
        ("renamed", "note"),
    ]
    uri, line = _place(run)
    assert uri == "cuda/ladder/01_naive.cu"
    assert "void sgemm_naive(" in source.splitlines()[line - 1]
    assert run["results"][1]["message"]["text"] == (
        "sgemm_naive: global load sectors: 2.5 to 16.5 sector/request; "
        "global sectors: 1,342,701,568 to 8,862,564,352 sector (+560 %)"
    )
    function = run["results"][0]["locations"][0]["logicalLocations"][0]
    assert function == {"fullyQualifiedName": "sgemm_naive", "kind": "function"}
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]


def test_good_news_is_no_alert() -> None:
    assert _run(gated("coalesced", "coalesced"))["results"] == []
    assert {each["level"] for each in _run(gated("naive", "coalesced"))["results"]} <= {"note"}


def test_what_is_allowed_is_a_note() -> None:
    finding = GateFinding(Code.SLOWER, Outcome.PASS, "2 % slower")
    result = replace(answer(slower("f")), outcome=Outcome.PASS)
    result = replace(result, kernels=(KernelResult(slower("f"), Outcome.PASS, (finding,)),))
    assert [each["level"] for each in _run(result)["results"]] == ["note"]


def test_the_level_of_what_is_inconclusive_follows_the_policy() -> None:
    finding = GateFinding(Code.TIME_UNKNOWN, Outcome.INCONCLUSIVE, "different GPU")
    kernel = KernelResult(slower("f"), Outcome.INCONCLUSIVE, (finding,))
    result = replace(answer(slower("f")), outcome=Outcome.INCONCLUSIVE, kernels=(kernel,))
    levels = [
        _run(replace(result, **changes))["results"][0]["level"]
        for changes in ({}, {"inconclusive_passes": True}, {"outcome": Outcome.REGRESSION})
    ]
    assert levels == ["warning", "note", "error"]


def test_every_rule_explains_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = _run(answer())["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == [code.value for code in RULES]
    for rule in driver["rules"]:
        for key in ("shortDescription", "fullDescription", "help"):
            assert rule[key]["text"]
        assert "helpUri" not in rule
    monkeypatch.setattr(sarif, "_documentation", lambda: "https://example.org/gate")
    documented = _run(answer())["tool"]["driver"]
    assert {rule["helpUri"] for rule in documented["rules"]} == {
        "https://example.org/gate#findings"
    }
    assert documented["informationUri"] == "https://example.org/gate"


def test_the_documentation_lists_every_code_with_its_outcome() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    _, heading, page = page.partition("\n### Findings\n")
    assert heading
    for code in Code:
        (line,) = [each for each in page.splitlines() if re.match(rf"\|.*`{code.value}`.*\|", each)]
        outcome = RULES[code].outcome if code in RULES else Outcome.PASS
        assert line.endswith(f"| {outcome.value} |")


def test_rules_are_the_codes_that_the_default_policy_lets_decide() -> None:
    default = Policy()
    limits = default.limits
    expected = {
        Code.COUNTER_WORSE: limits.counter_worse,
        Code.NEW_BOTTLENECK: limits.new_bottleneck,
        Code.LEFT_LIMIT: limits.left_limit,
        Code.VANISHED: default.vanished,
        Code.CHECK_WEAKENED: limits.check_weakened,
        Code.DAMAGED_CAPTURE: default.damaged,
        Code.RENAMED: default.renamed,
    }
    assert {code: RULES[code].outcome for code in expected} == expected


def test_fingerprints_are_those_of_the_kernel_and_the_code() -> None:
    def prints(*compared, **changes):
        run = _run(answer(*compared, **changes))
        return [each["partialFingerprints"][FINGERPRINT] for each in run["results"]]

    small = side("f(int)", block=(8, 8, 1))
    two = prints(slower("f(int)"), slower("f(int)", before=small, after=small))
    assert len(set(two)) == 2
    (one,) = prints(slower("f(int)", after=side("f(int)", median_ns=9.0), counters=()))
    assert [one] == prints(slower("f(int)", "moved.cu"))
    assert [one] != prints(slower("f(long)"))


@pytest.mark.parametrize(
    ("path", "uri", "base"),
    [
        ("a dir/k.cu", "a%20dir/k.cu", "%SRCROOT%"),
        ("./k.cu", "k.cu", "%SRCROOT%"),
        ("c:k.cu", "c%3Ak.cu", "%SRCROOT%"),
        ("<µ>?#.cu", "%3C%C2%B5%3E%3F%23.cu", "%SRCROOT%"),
        ("/home/me/k.cu", "file:///home/me/k.cu", None),
        ("//share/k.cu", "file:///share/k.cu", None),
    ],
)
def test_a_path_is_a_uri(path: str, uri: str, base: str | None) -> None:
    run = _run(answer(slower("f", path)), {"f": 7})
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": uri} | ({"uriBaseId": base} if base else {})
    assert place["region"] == {"startLine": 7}


def test_without_a_source_the_baseline_is_the_place() -> None:
    kernel = slower("f", before=side("f", inputs=None), after=side("f", inputs=None))
    assert _place(_run(answer(kernel), {"f": 7})) == ("a.json", 1)
    finding = GateFinding(Code.VANISHED, Outcome.INCONCLUSIVE, "nothing was compared")
    run = _run(replace(answer(), outcome=Outcome.INCONCLUSIVE, general=(finding,)))
    assert _place(run) == ("a.json", 1)
    assert run["results"][0]["message"]["text"] == "nothing was compared"


def test_a_message_has_neither_placeholders_nor_links() -> None:
    name = "{0}::[x](https://example.org)"
    text = _run(answer(slower(name)))["results"][0]["message"]["text"]
    assert "{{0}}" in text
    assert r"\[x](https" in text


@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_is_text(name: str) -> None:
    run = _run(answer(slower(name, name), comparison=comparison(slower(name, name), before=name)))
    (found,) = run["results"]
    shown = found["message"]["text"].replace("{{", "{").replace("}}", "}").replace("\\[", "[")
    assert shown.startswith(short_name(name))
    assert found["message"]["text"].isprintable()


@settings(deadline=None, max_examples=40)
@given(st.lists(kernels(), max_size=3), texts)
def test_any_answer_is_valid(found, text) -> None:
    run = _run(answer(*found, comparison=comparison(*found, before=text)), {text: 3})
    assert len(run["results"]) == len(found)
