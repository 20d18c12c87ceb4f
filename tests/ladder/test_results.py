"""Results as JSON: what was written is read again, and a mistake is named."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.ladder.samples import BF16, CLIMB

from kernelprof.errors import InputError
from kernelprof.ladder.results import Climb, from_json, to_json


@pytest.mark.parametrize(
    ("climb", "precision", "sizes"), [(CLIMB, None, ()), (BF16, "bfloat16", (500, 1000))]
)
def test_what_was_written_is_read_again(climb: Climb, precision: str | None, sizes: object) -> None:
    text = to_json(climb)
    assert json.loads(text)["schema_version"] == "1"
    assert json.loads(text).get("product", {}).get("precision") == precision
    assert from_json(text, "climb.json") == climb
    assert climb.measured_sizes == sizes


def test_results_of_0_1_0_are_read_and_give_the_same_text() -> None:
    file = Path(__file__).parents[2] / "reports" / "ladder-h200.json"
    text = file.read_text("utf-8")
    found = from_json(text, "ladder-h200.json")
    assert to_json(found) == text
    assert (found.ladder, found.product.precision, found.measured_sizes) == ("sgemm", "float32", ())


def test_more_keys_are_left_out() -> None:
    values = json.loads(to_json(CLIMB))
    values["colour"] = values["rungs"][0]["colour"] = "red"
    assert from_json(json.dumps(values), "climb.json") == CLIMB


def _without(path: str, climb: Climb = CLIMB) -> str:
    return _with(path, None, climb, delete=True)


def _with(path: str, value: object, climb: Climb = CLIMB, *, delete: bool = False) -> str:
    values: Any = json.loads(to_json(climb))
    *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
    inner = values
    for step in way:
        inner = inner[step]
    inner[last] = value
    if delete:
        del inner[last]
    return json.dumps(values)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "it is not JSON"),
        ("[]", "it is not a JSON object"),
        ("{}", "its schema_version is None"),
        (to_json(CLIMB).replace('"schema_version": "1"', '"schema_version": "2"'), "is '2'"),
        (_without("command"), "'command' is missing"),
        (_without("rungs.0.title"), "'rungs[0].title' is missing"),
        (_without("rungs.0.timing.median_ns"), "'rungs[0].timing.median_ns' is missing"),
        (to_json(CLIMB).replace("8000000.0", '"fast"', 1), "'rungs[0].timing.median_ns' has a"),
        (_with("rungs.0.file", "naive.cu"), "'rungs[0].file' does not begin with two digits"),
        (_with("rungs.0.timing.median_ns", math.nan), "'rungs[0].timing.median_ns' is not a time"),
        (_with("rungs.0.timing.median_ns", 0), "'rungs[0].timing.median_ns' is not a time"),
        (_with("rungs.0.timing.low_ns", -1.0), "'rungs[0].timing.low_ns' is not a time"),
        (
            _with("rungs.0.timing.flops", math.inf),
            "'rungs[0].timing.flops' is negative or not finite",
        ),
        (_with("ceiling.timing.median_ns", math.nan), "'ceiling.timing.median_ns' is not a time"),
        (_with("sizes.N", "many"), "'sizes.N' is not a positive whole number"),
        (_with("sizes.N", [1]), "'sizes.N' is not a positive whole number"),
        (_with("sizes.N", 0), "'sizes.N' is not a positive whole number"),
        (
            _with("product.precision", "float8", BF16),
            "'product.precision' has an invalid value",
        ),
        (_with("product.layout", "tn", BF16), "'product.layout' has an invalid value"),
        (_without("rungs.0.beside.0.size", BF16), "'rungs[0].beside[0].size' is missing"),
        (_with("rungs.0.beside.0.size", 0, BF16), "beside[0].size' is not a positive whole number"),
        (_with("rungs.0.beside.1.rounds", [], BF16), "'rungs[0].beside[1].rounds' is empty"),
        (_with("rungs.0.beside.0.rounds.1", [1.0], BF16), "rounds[1]' has an invalid value"),
        (_with("rungs.0.beside.0.rounds.1", [1.0, 0.0], BF16), "a value that is not a time: 0.0"),
        (
            _with("rungs.0.beside.0.rounds.1", [math.nan, 1.0], BF16),
            "a value that is not a time: nan",
        ),
        (_with("rungs.0.beside.0.timing.median_ns", 0, BF16), "timing.median_ns' is not a time"),
        (_with("rungs.0.beside.0.ceiling.low_ns", -1, BF16), "ceiling.low_ns' is not a time"),
        (to_json(CLIMB).replace('"passed": true', '"passed": 1', 1), "correctness.passed' has a"),
    ],
)
def test_what_is_no_result_is_refused_with_its_key(text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        from_json(text, "climb.json")
    assert what in caught.value.what
    assert caught.value.where == "climb.json"
