"""The JSON output against its published schema."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from kernelprof.model.diagnosis import Candidate, Diagnosis, DurationRange, Evidence
from kernelprof.report.writers.json import PUBLISHED, document, schema, write


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    published = json.loads(schema())
    jsonschema.Draft202012Validator.check_schema(published)
    return jsonschema.Draft202012Validator(published)


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def test_the_document_is_valid(samples, validator) -> None:
    text = write([samples.diagnosis(), samples.diagnosis()])
    found = json.loads(text, parse_constant=_refuse_constant)
    validator.validate(found)
    assert found["schema_version"] == "1"
    assert [capture["launches"] for capture in found["captures"]] == [20_003, 20_003]
    assert len(found["kernels"]) == 8


def test_a_bottleneck(samples) -> None:
    kernel = document([samples.diagnosis()])["kernels"][0]
    assert kernel["ids"] == ["0"]
    assert kernel["name"] == "gemm_bad(const float *, const float *, float *, int, int, int)"
    assert (kernel["grid"], kernel["block"], kernel["launches"]) == ([64, 64, 1], [32, 32, 1], 1)
    assert kernel["duration_ns"] == {
        "median": 35_310_000.0,
        "min": 0.98 * 35_310_000.0,
        "max": 1.03 * 35_310_000.0,
    }
    assert kernel["compute_capability"] == "9.0"
    verdict = kernel["verdict"]
    assert verdict["status"] == "bottleneck"
    assert verdict["bottleneck"] == "uncoalesced-global-access"
    assert verdict["confidence"] == "high"
    assert verdict["also"] == ["memory-latency"]
    assert verdict["estimated_gain"] == 12.7
    assert (verdict["missing"], verdict["command"]) == ([], None)
    assert verdict["evidence"][0] == {
        "metric": "load_bytes",
        "label": "bytes used per sector",
        "value": 4.23,
        "unit": "byte/sector",
        "op": "<",
        "threshold": 16,
        "source": "measured",
        "formula": "",
        "low": None,
        "high": None,
    }
    assert verdict["evidence"][3]["source"] == "derived"
    assert verdict["evidence"][3]["formula"] == "sectors loaded / sectors needed"
    assert verdict["gain_interval"] == [7.62, 21.59]
    assert verdict["findings"] == []
    assert verdict["evidence"][2]["op"] == "="
    assert verdict["evidence"][2]["threshold"] is None


def test_an_inconclusive_verdict_names_metrics_and_command(samples) -> None:
    kernel = document([samples.diagnosis()])["kernels"][2]
    assert len(kernel["ids"]) == kernel["launches"] == 20_000
    verdict = kernel["verdict"]
    assert (verdict["status"], verdict["bottleneck"]) == ("inconclusive", None)
    assert verdict["also"] == ["shared-bank-conflicts", "shared-memory-throughput"]
    assert verdict["missing"] == ["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]
    assert verdict["missing_metrics"][0]["why"] == "tells conflicts from plain traffic"
    assert verdict["command"] == samples.command


def test_no_number_is_nan_or_infinite(samples, validator) -> None:
    verdict = replace(
        samples.uncoalesced,
        gain=math.inf,
        also=(Candidate("memory-latency", math.nan, math.inf),),
        evidence=(
            Evidence("broken", "broken", math.nan, "%"),
            Evidence("whole", "whole", 1.0, "%", ">", math.inf),
        ),
    )
    kernel = replace(samples.kernel("f(int)", verdict, share=math.nan), duration_ns=None)
    found = json.loads(write([Diagnosis((kernel,), "x.csv")]), parse_constant=_refuse_constant)
    validator.validate(found)
    written = found["kernels"][0]
    assert (written["share"], written["duration_ns"]) == (None, None)
    assert written["verdict"]["estimated_gain"] is None
    assert [each["metric"] for each in written["verdict"]["evidence"]] == ["whole"]
    assert written["verdict"]["evidence"][0]["threshold"] is None


def test_unknown_identity_is_null(samples, validator) -> None:
    kernel = replace(
        samples.kernel("f", samples.at_limit, block=None),
        grid=None,
        device=None,
        compute_capability=None,
    )
    found = document([Diagnosis((kernel,), "x.csv")])
    validator.validate(found)
    assert [found["kernels"][0][key] for key in ("grid", "block", "device")] == [None] * 3


def test_a_name_that_is_not_unicode_is_still_json(samples) -> None:
    diagnosis = Diagnosis((samples.kernel("bad \udcff µ", samples.at_limit),), "x.csv")
    text = write([diagnosis])
    assert text.isascii()
    assert json.loads(text)["kernels"][0]["name"] == "bad \udcff µ"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), "2"),
        (("kernels", 0, "verdict", "status"), "none"),
        (("kernels", 0, "verdict", "bottleneck"), None),
        (("kernels", 0, "verdict", "bottleneck"), "l1-cache-thrashing"),
        (("kernels", 2, "verdict", "command"), 1),
        (("kernels", 2, "verdict", "bottleneck"), "dram-bandwidth"),
        (("kernels", 0, "ids"), []),
        (("kernels", 0, "surprise"), 1),
    ],
)
def test_the_schema_refuses_what_the_contract_does_not_have(
    samples, validator, path, value
) -> None:
    found = document([samples.diagnosis()])
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(found)


def test_the_schema_names_every_rule() -> None:
    from kernelprof.analysis.rules import load_rules

    assert set(json.loads(schema())["$defs"]["Bottleneck"]["enum"]) == set(load_rules())


@pytest.mark.slow("validates 487 answers")
def test_the_schemas_accept_every_answer_of_the_first_version() -> None:
    recorded = Path(__file__).parents[1] / "answers" / "0.1.0.json.gz"
    answers = json.loads(gzip.decompress(recorded.read_bytes()))
    found = [each["document"] for each in answers.values() if isinstance(each["document"], dict)]
    validators = {
        kind: jsonschema.Draft202012Validator(json.loads(schema(kind))) for kind in PUBLISHED
    }
    checked = Counter()
    for each in found:
        if "kernels" in each:
            kind = each.get("kind", "diagnosis")
            validators[kind].validate(each)
            checked[kind] += 1
    assert checked == {"diagnosis": 399, "gate": 54, "comparison": 21, "history": 13}


def test_spread_keeps_minimum_and_maximum(samples) -> None:
    kernel = replace(
        samples.kernel("f", samples.at_limit), duration_ns=DurationRange(2.0, 1.0, 4.0)
    )
    written = document([Diagnosis((kernel,), "x.csv")])["kernels"][0]["duration_ns"]
    assert written == {"median": 2.0, "min": 1.0, "max": 4.0}


def test_a_comparison_holds_as_it_is_written(samples) -> None:
    against = Evidence("waves", "waves of blocks", 15.5, "wave", "<", 1.0)
    verdict = replace(samples.inconclusive, evidence=(against,))
    found = document([Diagnosis((samples.kernel("f", verdict),), "x.csv")])
    assert found["kernels"][0]["verdict"]["evidence"][0]["op"] == ">="
