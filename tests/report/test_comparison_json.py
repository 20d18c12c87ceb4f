"""The JSON of comparisons and of the gate against its published schemas."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.changes import answer, change, comparison, gated, kernels, side, slower, texts

from kernelprof.model.comparison import (
    ComparedCounter,
    Match,
    MetricChange,
    TimeChange,
    TimeOutcome,
)
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.model.gate import Code, GateFinding, Outcome
from kernelprof.report.writers.json import PUBLISHED, document, schema, write


def _validator(document: str) -> jsonschema.Draft202012Validator:
    published = json.loads(schema(document))
    jsonschema.Draft202012Validator.check_schema(published)
    return jsonschema.Draft202012Validator(published)


COMPARISON = _validator("comparison")
GATE = _validator("gate")


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def _read(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse_constant)


def test_a_comparison_of_captures() -> None:
    found = _read(write(change("coalesced", "naive")))
    COMPARISON.validate(found)
    assert (found["schema_version"], found["kind"]) == ("1", "comparison")
    assert found["summary"] == (
        "13.1x slower; more global load sectors; l1-throughput is gone; "
        "now uncoalesced-global-access"
    )
    (kernel,) = found["kernels"]
    assert (kernel["name"], kernel["match"]) == ("sgemm_naive", "renamed")
    before, after = kernel["before"], kernel["after"]
    assert before["name"] == "sgemm_coalesced"
    assert (before["grid"], before["block"], before["launches"]) == ([64, 64, 1], [32, 32, 1], 1)
    assert before["verdict"]["bottleneck"] == "l1-throughput"
    assert after["verdict"]["bottleneck"] == "uncoalesced-global-access"
    assert after["source"]["path"] == "cuda/ladder/01_naive.cu"
    assert len(after["events_ns"]) == 20
    time = kernel["time"]
    assert (time["outcome"], time["measured_by"]) == ("slower", "CUDA events")
    assert time["samples"] == {"before": 20, "after": 20}
    assert time["ratio"] == pytest.approx(13.05, abs=0.01)
    assert time["ratio_low"] < time["ratio"] < time["ratio_high"]
    sectors = kernel["counters"][0]
    assert sectors["metric"] == "global_load_sectors"
    assert (sectors["before_each"], sectors["after_each"]) == (2.5, 16.5)
    assert sectors["worse"] is True
    assert kernel["metrics"][0]["explains"] == pytest.approx(1.0, abs=0.01)
    assert [each["kind"] for each in kernel["inputs"]] == ["source"]
    assert kernel["diff"].startswith("--- before\n+++ after\n")


@pytest.mark.parametrize(
    ("before", "after", "outcome", "code"),
    [
        ("coalesced", "naive", "regression", 1),
        ("coalesced", "coalesced", "pass", 0),
        ("naive", "coalesced", "pass", 0),
    ],
)
def test_the_gate_on_captures(before: str, after: str, outcome: str, code: int) -> None:
    found = _read(write(gated(before, after)))
    GATE.validate(found)
    assert (found["kind"], found["outcome"], found["exit_code"]) == ("gate", outcome, code)
    assert found["kernels"][0]["outcome"] == outcome
    assert found["reason"].startswith(f"{outcome}: ")


def test_the_gates_findings() -> None:
    found = document(gated("chain", "chain-strides"))
    assert found["reason"] == (
        "regression: fma_chain: as fast as before; more global load sectors; "
        "still fp32-throughput at its limit"
    )
    assert found["kernels"][0]["findings"][0] == {
        "code": "counter-worse",
        "outcome": "regression",
        "text": "global load sectors: 4 to 32 sector/request",
        "places": [],
    }


def test_what_the_policy_makes_of_inconclusive() -> None:
    finding = GateFinding(Code.VANISHED, Outcome.INCONCLUSIVE, "not compared")
    result = replace(answer(), outcome=Outcome.INCONCLUSIVE, general=(finding,))
    found = document(result)
    GATE.validate(found)
    assert (found["exit_code"], found["reason"]) == (3, "inconclusive: not compared")
    assert found["findings"][0]["code"] == "vanished"
    passes = document(replace(result, inconclusive_passes=True))
    assert (passes["exit_code"], passes["inconclusive_passes"]) == (0, True)
    assert passes["reason"] == "inconclusive: not compared (the policy allows inconclusive results)"
    assert document(replace(result, outcome=Outcome.REGRESSION))["exit_code"] == 1


def test_a_side_that_is_not_there_is_null() -> None:
    kernel = slower(
        "f", match=Match.APPEARED, before=None, time=TimeChange(TimeOutcome.NOT_MEASURED)
    )
    found = document(comparison(kernel))
    COMPARISON.validate(found)
    written = found["kernels"][0]
    assert (written["match"], written["before"]) == ("appeared", None)
    assert written["time"]["before_ns"] is None


def test_no_number_is_nan_or_infinite() -> None:
    broken = side("f", median_ns=math.nan, events_ns=(1.0, math.inf), grid=None, inputs=None)
    kernel = slower(
        "f",
        before=broken,
        counters=(ComparedCounter("c", "c", "", math.nan, math.inf, None),),
        metrics=(MetricChange("m", "", -math.inf, 1.0, math.nan),),
    )
    found = _read(write(comparison(kernel)))
    COMPARISON.validate(found)
    written = found["kernels"][0]
    assert (written["before"]["median_ns"], written["before"]["events_ns"]) == (None, [1.0])
    assert (written["before"]["grid"], written["before"]["source"]) == (None, None)
    assert (written["counters"][0]["before"], written["counters"][0]["after"]) == (None, None)
    assert written["metrics"][0]["before"] is None


@settings(deadline=None)
@given(st.lists(kernels(), max_size=3), texts)
def test_any_comparison_is_valid(found, text) -> None:
    COMPARISON.validate(_read(write(comparison(*found, before=text, notes=(text,)))))
    GATE.validate(_read(write(answer(*found))))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), "2"),
        (("kind",), "comparison"),
        (("outcome",), "fail"),
        (("exit_code",), 2),
        (("surprise",), 1),
        (("kernels", 0, "surprise"), 1),
        (("kernels", 0, "time", "outcome"), "quick"),
        (("kernels", 0, "findings", 0, "code"), "slow"),
        (("kernels", 0, "before", "verdict", "status"), "none"),
        (("kernels", 0, "inputs", 0, "after"), None),
    ],
)
def test_the_schema_refuses_what_the_contract_does_not_have(path, value) -> None:
    found = document(answer(slower("f")))
    GATE.validate(found)
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        GATE.validate(found)


def test_both_sides_missing_is_refused() -> None:
    found = document(comparison(slower("f")))
    found["kernels"][0].update(before=None, after=None)
    with pytest.raises(jsonschema.ValidationError):
        COMPARISON.validate(found)


def test_the_schemas_name_every_word() -> None:
    definitions = {name: json.loads(schema(name))["$defs"] for name in ("comparison", "gate")}
    for kind in (TimeOutcome, Match, Status, Confidence):
        for found in definitions.values():
            assert sorted(found[kind.__name__]["enum"]) == sorted(each.value for each in kind)
    for kind in (Code, Outcome):
        listed = definitions["gate"][kind.__name__]["enum"]
        assert sorted(listed) == sorted(each.value for each in kind)


def test_both_schemas_describe_a_kernel_alike() -> None:
    one, other = (json.loads(schema(name))["$defs"] for name in ("comparison", "gate"))
    for name in set(one) - {"Comparison", "ComparedKernel"}:
        assert one[name] == other[name]
    properties = dict(other["JudgedKernel"]["properties"])
    for name in ("outcome", "findings"):
        del properties[name]
    assert one["ComparedKernel"]["properties"] == properties


def test_every_document_has_a_schema() -> None:
    assert set(PUBLISHED) == {
        *("diagnosis", "comparison", "gate", "history", "optimization"),
        *("fleet_run", "fleet_query", "fleet_status"),
    }
    for name in PUBLISHED:
        assert json.loads(schema(name))["$id"] == f"urn:kernelprof:{name}:v1"
