"""The JUnit file against the schema of the JUnit reports that CI systems read."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.changes import AWKWARD, answer, gated, kernels, side, slower

from kernelprof.model.comparison import Match, TimeChange, TimeOutcome
from kernelprof.model.gate import Code, GateFinding, KernelResult, Outcome
from kernelprof.model.names import printable, short_name
from kernelprof.report.writers.junit import write as render_junit

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).parents[1] / "schemas" / "junit-10.xsd"))


def _read(text: str) -> ET.Element:
    SCHEMA.validate(text)
    text.encode("utf-8")
    return ET.fromstring(text.encode("utf-8"))


def _counts(suite: ET.Element) -> list[str | None]:
    return [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]


def test_a_regression_is_a_failure_with_its_findings() -> None:
    suite = _read(render_junit(gated("coalesced", "naive")))
    assert (suite.tag, suite.get("name")) == ("testsuite", "kernelprof gate")
    assert _counts(suite) == ["1", "1", "0", "0"]
    (case,) = suite
    assert (case.get("name"), case.get("classname")) == ("sgemm_naive", "kernelprof.gate")
    assert float(case.get("time", "")) == pytest.approx(0.0353, rel=0.01)
    (failure,) = case
    assert failure.tag == "failure"
    assert failure.get("type") == "regression"
    assert failure.get("message") == (
        "13.1x slower; more global load sectors; l1-throughput is gone; "
        "now uncoalesced-global-access"
    )
    lines = (failure.text or "").split("\n")
    assert lines[0].startswith("regression slower: 13.1x slower: 2.71 ms to 35.32 ms (ratio ")
    assert "regression counter-worse: global load sectors: 2.5 to 16.5 sector/request" in lines


def test_what_passed() -> None:
    suite = _read(render_junit(gated("naive", "coalesced")))
    assert _counts(suite) == ["1", "0", "0", "0"]
    assert [child.tag for child in suite[0]] == ["system-out"]
    assert "pass faster: 13.1x faster: " in (suite[0][0].text or "")
    same = _read(render_junit(gated("coalesced", "coalesced")))
    assert list(same[0]) == []


def _inconclusive(**other):
    kernel = slower("f", time=TimeChange(TimeOutcome.NOT_COMPARABLE, reason="different GPU"))
    finding = GateFinding(Code.TIME_UNKNOWN, Outcome.INCONCLUSIVE, "times not comparable")
    results = (KernelResult(kernel, Outcome.INCONCLUSIVE, (finding,)),)
    return replace(
        answer(kernel), **({"outcome": Outcome.INCONCLUSIVE, "kernels": results} | other)
    )


def test_what_is_inconclusive_fails_unless_the_policy_lets_it_pass() -> None:
    for outcome in (Outcome.INCONCLUSIVE, Outcome.REGRESSION):
        suite = _read(render_junit(_inconclusive(outcome=outcome)))
        assert _counts(suite) == ["1", "1", "0", "0"]
        assert suite[0][0].get("type") == "inconclusive"
        assert suite[0][0].get("message") == "times not comparable"
    suite = _read(render_junit(_inconclusive(inconclusive_passes=True)))
    assert _counts(suite) == ["1", "0", "0", "1"]
    assert suite[0][0].get("message") == "times not comparable"
    assert suite[0][0].text == "inconclusive time-unknown: times not comparable"


def test_a_kernel_that_the_policy_leaves_out_is_skipped() -> None:
    finding = GateFinding(Code.IGNORED, Outcome.PASS, "the policy excludes this kernel")
    result = replace(
        answer(slower("f")),
        outcome=Outcome.PASS,
        kernels=(KernelResult(slower("f"), Outcome.PASS, (finding,)),),
    )
    suite = _read(render_junit(result))
    assert _counts(suite) == ["1", "0", "0", "1"]
    assert suite[0][0].get("message") == "the policy excludes this kernel"


def test_a_comparison_of_nothing_does_not_pass() -> None:
    finding = GateFinding(Code.VANISHED, Outcome.INCONCLUSIVE, "nothing was compared")
    suite = _read(render_junit(replace(answer(), outcome=Outcome.INCONCLUSIVE, general=(finding,))))
    assert _counts(suite) == ["1", "1", "0", "0"]
    assert suite[0].get("name") == "all kernels"


def test_launches_of_one_name_and_kernels_without_a_time() -> None:
    small = side("f(int)", block=(8, 8, 1))
    gone = slower(
        "gone", match=Match.VANISHED, after=None, time=TimeChange(TimeOutcome.NOT_MEASURED)
    )
    suite = _read(
        render_junit(answer(slower("f(int)"), slower("f(int)", before=small, after=small), gone))
    )
    assert [case.get("name") for case in suite] == ["f 16x16", "f 8x8", "gone"]
    assert [case.get("time") for case in suite] == ["0.000004000", "0.000004000", "0.000000000"]
    assert suite.get("time") == "0.000"


@pytest.mark.parametrize("name", AWKWARD)
def test_a_name_is_text(name: str) -> None:
    suite = _read(render_junit(answer(slower(name))))
    assert suite[0].get("name") == short_name(name)
    assert printable(name) in (suite[0][0].text or "")


@settings(deadline=None)
@given(st.lists(kernels(), max_size=4))
def test_any_answer_is_valid(found) -> None:
    suite = _read(render_junit(answer(*found)))
    assert len(suite.findall("testcase")) == len(found)
