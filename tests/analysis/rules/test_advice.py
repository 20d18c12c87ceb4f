"""Advice follows from the counters: each line with a launch that gets it, and one that must not."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.captures import PAIRS, RECORDED
from tests.support.few import one_in, part_of

import kernelprof
from kernelprof.analysis.advice import Advice, Condition, LaunchValues, group_by_situation
from kernelprof.analysis.advice.lines import CALLER, advise
from kernelprof.analysis.rules import load_rules
from kernelprof.analysis.verdict import diagnose
from kernelprof.model.capture import Capture, Launch, MetricColumn, Origin
from kernelprof.model.diagnosis import Status, Verdict
from kernelprof.sources import read_capture

CAPTURES = Path(__file__).parents[2] / "captures"
SOURCES = Path(__file__).parent / "sources"
LIST = tomllib.loads(Path(__file__).with_name("advice.toml").read_text("utf-8"))
EXPORTS = sorted(
    path
    for path in (
        *(CAPTURES / "validation").glob("*.csv*"),
        *CAPTURES.glob("*.csv*"),
        *(CAPTURES / "degraded").glob("*.csv"),
        *PAIRS.rglob("raw.csv.gz"),
    )
    if not path.name.endswith("times.csv")
)

Case = list[str] | dict[str, Any] | str


def _lines() -> dict[tuple[str, str], Advice]:
    """Every line that there is, by its bottleneck and text."""
    lines = {
        (slug, line.template): line
        for slug, rule in load_rules().items()
        for line in (*rule.fixes, *rule.caller)
    }
    return lines | {("any", line.template): line for line in CALLER}


@cache
def _read(name: str) -> Capture:
    folders = (PAIRS.parent, RECORDED, CAPTURES)
    return read_capture(next(each / name for each in folders if (each / name).exists()))


def _other(name: str) -> Capture:
    """A launch of other people, of the few columns that the list has."""
    entry = LIST["other"][name]
    launch = Launch(
        "0",
        entry["kernel"],
        grid=(entry["grid"], 1, 1),
        block=(entry["block"], 1, 1),
        compute_capability=tuple(entry["capability"]),
    )
    columns = {
        metric: MetricColumn(metric, np.array([float(value)]), unit, unit, Origin.MEASURED)
        for metric, (value, unit) in entry["columns"].items()
    }
    return Capture((launch,), columns)


def _capture(case: Case) -> Capture:
    if isinstance(case, str):
        return _other(case)
    if isinstance(case, list):
        case = {"capture": case}
    if "predicted" in case:
        return kernelprof.predict(SOURCES / case["predicted"])
    name, kernel = case["capture"]
    whole = _read(name)
    rows = [row for row, launch in enumerate(whole.launches) if kernel in launch.kernel]
    part = whole.rows(rows)
    launches = [
        replace(
            launch,
            kernel=case.get("as", launch.kernel),
            compute_capability=tuple(case.get("capability", launch.compute_capability or ())),
        )
        for launch in part.launches
    ]
    columns = {
        metric: column
        for metric, column in part.columns.items()
        if not ("without" in case and metric.startswith(case["without"]))
    }
    return replace(part, launches=tuple(launches), columns=columns)


@cache
def _verdicts(case: str) -> list[Verdict]:
    """Those of a case's launches, which many lines ask for."""
    return [kernel.verdict for kernel in diagnose(_capture(json.loads(case))).kernels]


def _advice(case: Case, bottleneck: str) -> list[tuple[str, ...]]:
    """What is said of the launches of a case that have this bottleneck."""
    verdicts = _verdicts(json.dumps(case))
    found = [
        verdict.advice
        for verdict in verdicts
        if verdict.bottleneck == bottleneck or (bottleneck == "any" and verdict.bottleneck)
    ]
    assert found, f"no launch of {case} is called {bottleneck}"
    return found


def _is_in(text: str, lines: tuple[str, ...]) -> bool:
    pattern = re.escape(text).replace(re.escape("{x}"), r"[0-9.,]+")
    return any(re.fullmatch(pattern, line) for line in lines)


def _named(entry: dict[str, Any]) -> str:
    return f"{entry['rule']}: {entry['text']}"


class TestEachLine:
    @pytest.mark.parametrize("entry", LIST["line"], ids=_named)
    def test_it_is_said(self, entry: dict[str, Any]) -> None:
        said = _advice(entry["said"], entry["rule"])
        assert any(_is_in(entry["text"], lines) for lines in said)

    @pytest.mark.parametrize("entry", one_in(3, LIST["line"], why="lines alike"), ids=_named)
    def test_it_is_not_said_where_it_does_not_fit(self, entry: dict[str, Any]) -> None:
        if isinstance(entry["unsaid"], str):
            line = _lines()[entry["rule"], entry["text"]]
            assert entry["unsaid"] != "always right" or (line.when, line.unless) == (None, None)
            return
        said = _advice(entry["unsaid"], entry["rule"])
        assert not any(_is_in(entry["text"], lines) for lines in said)


def test_the_list_has_every_line_once() -> None:
    listed = Counter((entry["rule"], entry["text"]) for entry in LIST["line"])
    assert set(listed) == set(_lines())
    assert set(listed.values()) == {1}


@pytest.mark.parametrize(
    "path", part_of(8, EXPORTS, why="captures alike"), ids=lambda path: "/".join(path.parts[-3:])
)
def test_every_verdict_has_advice(path: Path) -> None:
    for kernel in diagnose(read_capture(path)).kernels:
        verdict = kernel.verdict
        assert bool(verdict.advice) == (verdict.status is not Status.INCONCLUSIVE), kernel.name
        assert len(set(verdict.advice)) == len(verdict.advice)
        assert not any("{" in line or "nan" in line for line in verdict.advice)


class TestWhatIssuesSaw:
    """What was said of kernels whose own counters showed it wrong."""

    def test_full_occupancy_is_not_to_be_raised(self) -> None:
        (lines,) = _advice(["validation/raw.csv.gz", "lookup"], "memory-latency")
        assert lines == (
            "Issue several independent loads before the first use: unroll the loop, or process "
            "several items per thread.",
            "Use wider loads, such as float4 (16 bytes per thread). On average, a load currently "
            "reads 4 distinct bytes per thread.",
        )

    def test_loads_of_16_bytes_are_wide(self) -> None:
        name = "h200-pairs/symbol-counts-thread-by-thread/after/raw.csv.gz"
        (lines,) = _advice([name, "count_symbols"], "memory-latency")
        assert not any("Use wider loads" in line for line in lines)

    def test_a_remainder_shows(self) -> None:
        lines = _advice(["validation/raw.csv.gz", "blocksum_modulo"], "instruction-issue")[0]
        assert any(line.startswith("Replace integer division") for line in lines)

    def test_blocks_of_one_warp_show(self) -> None:
        (lines,) = _advice(["validation/raw.csv.gz", "stream_copy"], "low-occupancy")
        assert lines[0] == (
            "Use larger blocks, of 128 threads or more. An SM holds at most 32 blocks, and each "
            "block of this launch is one warp."
        )
        # It uses none; 1 KiB of each block is the driver's.
        assert not any("shared memory" in line for line in lines)

    def test_the_resource_that_limits_is_named(self) -> None:
        (lines,) = _advice(["gemm_series.full.raw.csv", "low_occ"], "low-occupancy")
        assert lines[0].startswith("Use less shared memory per block")
        assert not any("fewer registers" in line for line in lines)

    def test_nobody_unrolls_the_loop_of_a_library(self) -> None:
        names = ("validation/frameworks.raw.csv.gz", "validation/frameworks_more.raw.csv.gz")
        own = re.compile(r"pragma|threadIdx|__\w+__|float4|cp\.async|[Uu]nroll")
        of_libraries = 0
        for kernel in (kernel for name in names for kernel in diagnose(_read(name)).kernels):
            if any("is for the library's caller" in note for note in kernel.verdict.notes):
                of_libraries += 1
                assert not any(own.search(line) for line in kernel.verdict.advice), kernel.name
        assert of_libraries > 40


@pytest.mark.parametrize("source", ["hash_table.cu", "list_of_a_warp.cu"])
def test_no_line_is_for_another_access(source: str) -> None:
    """Atomics on many addresses need no reduction, and one address no wider or coalesced load."""
    (kernel,) = kernelprof.predict(SOURCES / source).diagnose().kernels
    assert kernel.verdict.bottleneck in {"atomic-contention", "memory-latency"}
    wrong = re.compile(r"one atomic per block|own copy|hot counters|[Cc]oalesce|threadIdx|float4")
    assert not [line for line in kernel.verdict.advice if wrong.search(line)]


def test_a_missing_number_takes_the_line_along() -> None:
    line = Advice("It is {x}.", number=lambda launch: launch["xu_pipe"])
    condition = Condition("XU is busy", lambda launch: launch["xu_pipe"] > 10)
    nothing = _launch(Capture((Launch("0", "kernel"),), {}))
    assert line.text_for(nothing) is None
    assert Advice("Do it.", when=condition).text_for(nothing) is None
    assert Advice("Do it.", unless=condition).text_for(nothing) == "Do it."


def test_a_page_has_lines_in_general_by_their_situation() -> None:
    condition = Condition("XU is busy", lambda launch: launch["xu_pipe"] > 10)
    lines = (
        Advice("Use it.", when=condition, number=lambda _: 1.0, measured="It is {x} % busy."),
        Advice("Replace it.", situation="If it is slow", unless=condition),
        Advice("Do it.", unless=condition),
        Advice("Test it.", situation="", unless=condition),
        Advice("Keep it.", when=condition),
    )
    assert group_by_situation(lines) == {
        "": ["Do it (unless XU is busy).", "Test it."],
        "If XU is busy": ["Use it.", "Keep it."],
        "If it is slow": ["Replace it."],
    }


def test_another_kernel_is_no_way_out_of_a_limit() -> None:
    launch = _launch(Capture((Launch("0", "nvjet_sm90_tst_256x128"),), {}))
    own, callers = (Advice("Unroll."),), (Advice("Use FP8."),)
    assert advise(own, callers, launch, at_limit=True) == ("Use FP8.",)
    assert len(advise(own, callers, launch, at_limit=False)) == 2
    assert len(advise(own, (), launch, at_limit=True)) == 1


def _launch(capture: Capture) -> LaunchValues:
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.rules import RuleContext

    return RuleContext(Facts(capture)).launch(0)
