"""What a launch did over its time, in every format."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import jsonschema
import msgspec
import pytest
from tests.support.captures import captured

from kernelprof.analysis.verdict import diagnose
from kernelprof.model.launch_series import SERIES_COLUMN, LaunchSeries, series_to_text
from kernelprof.report.documents import capture_page, diagnosis
from kernelprof.report.json_diagnosis import diagnoses_json
from kernelprof.report.writers import html, terminal
from kernelprof.report.writers.json import schema

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture

COPY = 14
"""A launch of the capture whose DRAM throughput is 90 %."""
STEADY = [88.0] * 95 + [10.0] * 5
TAIL = [95.0] * 60 + [10.0] * 40


@pytest.fixture(scope="module")
def capture() -> Capture:
    return captured("gemm_series.full.raw.csv").rows([COPY])


def with_series(capture: Capture, dram: list[float], active: list[float]) -> Capture:
    series = {"dram_throughput": tuple(dram), "sm_cycles_active": tuple(active)}
    text = series_to_text(LaunchSeries(5.44e5, 5.4e3, series))
    return replace(capture, text={**capture.text, SERIES_COLUMN: (text,)})


def test_a_capture_without_series_says_nothing(capture: Capture) -> None:
    result = diagnose(capture)
    assert result.kernels[0].over_time is None
    assert "Over time" not in terminal.write(diagnosis.document(result))
    assert "Over time" not in html.write(capture_page.document(capture, result))


def test_a_steady_launch_is_a_line_of_the_explanation(capture: Capture) -> None:
    whole = with_series(capture, STEADY, STEADY)
    result = diagnose(whole)
    assert result.kernels[0].verdict == diagnose(capture).kernels[0].verdict
    line = "Over time: ramp ~0 %, steady 95 % (DRAM 87 %), tail 5.0 %."
    assert line in terminal.write(diagnosis.document(result))
    assert "Over time" not in terminal.write(diagnosis.document(result, explain=False))


def test_a_tail_is_a_note_and_changes_no_verdict(capture: Capture) -> None:
    before = diagnose(capture).kernels[0].verdict
    result = diagnose(with_series(capture, TAIL, TAIL))
    verdict = result.kernels[0].verdict
    assert (verdict.answer, verdict.confidence) == (before.answer, before.confidence)
    assert "a sign of workload-imbalance" in verdict.notes[-1]
    brief = terminal.write(diagnosis.document(result, explain=False))
    assert "steady 60 % (DRAM 100 %), tail 40 % with active SMs down to 16 %" in " ".join(
        brief.split()
    )


def test_json(capture: Capture) -> None:
    result = diagnose(with_series(capture, TAIL, TAIL))
    document = msgspec.json.decode(msgspec.json.encode(diagnoses_json([result])))
    jsonschema.validate(document, json.loads(schema("diagnosis")))
    over_time = document["kernels"][0]["over_time"]
    assert over_time["tail"] == pytest.approx(0.4)
    assert [each["metric"] for each in over_time["units"]] == [
        "dram_throughput",
        "sm_cycles_active",
    ]
    assert len(over_time["units"][0]["values"]) == over_time["steps"] == 100


def test_the_page_draws_a_lane_for_each_unit(capture: Capture) -> None:
    whole = with_series(capture, TAIL, TAIL)
    page = html.write(capture_page.document(whole, diagnose(whole)))
    assert "<h3>Over time</h3>" in page
    assert page.count('preserveAspectRatio="none"') == 2
    assert "SMs active" in page
    assert "kernelprof__series" not in page
