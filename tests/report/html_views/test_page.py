"""Pages as a whole: missing data, hostile names, provenance, sources, size."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.blocks import every, facts_of, notes_of
from tests.report.html_views.helpers import card_of, check, page_of
from tests.support.few import one_in

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.groups import STALLS
from kernelprof.analysis.rules import load_rules
from kernelprof.analysis.verdict import diagnose
from kernelprof.model.diagnosis import Candidate, Confidence, MissingMetric, Status, Verdict
from kernelprof.model.manifest import CompilerWarning
from kernelprof.report.document import Chart, CodeBlock
from kernelprof.report.documents import capture_page
from kernelprof.report.documents.verdict import summarize_verdict
from kernelprof.report.figures.multiprocessor import EXPLAINED
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.report.html_views.helpers import Page

    from kernelprof.model.capture import Capture

CAPTURES = (
    "gemm_series.full.details.csv",
    "pycuda_two_kernels.seven-metrics.raw.csv",
    "fixture_basic.raw.csv",
    "fixture_full.details.csv.gz",
    "fixture_full_preset.raw.csv.gz",
    "fixture_sections.raw.csv",
    "validation/raw.csv.gz",
    "validation/frameworks.raw.csv.gz",
    "h200_drilldown/triage.csv.gz",
    "ladder/ladder.full.raw.csv.gz",
)
USED = (
    "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2",
    "derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x4",
    "derived__lts__lts2xbar_bytes.sum.peak_sustained",
    "dram__bytes.sum.peak_sustained",
    "dram__cycles_elapsed.avg.per_second",
    "lts__cycles_elapsed.avg.per_second",
    "l1tex__cycles_elapsed.avg.per_second",
    "device__attribute_memory_clock_rate",
    "device__attribute_global_memory_bus_width",
    "device__attribute_clock_rate",
    "device__attribute_single_to_double_precision_perf_ratio",
)


def _without(capture: Capture, names: Iterable[str]) -> Capture:
    gone = set(names)
    left = {name: column for name, column in capture.columns.items() if name not in gone}
    return replace(capture, columns=left)


@pytest.mark.parametrize("name", one_in(4, CAPTURES, why="captures alike"))
def test_every_capture_gives_a_page_of_plain_values(captures: Path, name: str) -> None:
    page = page_of(read_capture(captures / name))
    check(page)
    assert page.kernels
    assert len({card.section.anchor for card in page.kernels}) == len(page.kernels)
    for card in page.kernels:
        assert card.headline.endswith(".")
        assert card.metrics


def test_eight_metrics_leave_most_sections_out(eight: Page) -> None:
    check(eight)
    card = card_of(eight, "0")
    assert card.warp_states is None
    assert card.pipes == ()
    assert card.instructions == ()
    assert card.roofline is None
    assert card.memory is None
    kinds = {each.kind for each in every(card.section.blocks) if isinstance(each, Chart)}
    assert kinds == {"occupancy"}
    assert card.facts["time"] == "17.65 ms with the profiler"
    assert card.occupancy is not None
    assert card.occupancy.theoretical == 1.0
    assert card.occupancy.limiters == ("registers", "warp slots")


def test_an_inconclusive_kernel_tells_what_is_missing_and_how_to_get_it(eight: Page) -> None:
    cards = [each for each in eight.kernels if each.kernel.verdict.status is Status.INCONCLUSIVE]
    lacking = [each for each in cards if each.kernel.verdict.missing]
    assert lacking
    for card in lacking:
        blocks = every(card.part("How to settle the verdict").blocks)
        (command,) = (each for each in blocks if isinstance(each, CodeBlock))
        assert command.copy
        assert "--set full" in command.text
        for each in card.kernel.verdict.missing:
            assert f"{each.ncu_name}: {each.why}" in card.advice["Missing"]
        assert card.headline.startswith(
            (
                "This capture does not show what limits the kernel; candidates:",
                "The metrics that would show what limits",
            )
        )


@pytest.mark.slow("a hundred pages")
def test_any_single_column_may_be_missing(naive_folder: Path) -> None:
    capture = read_capture(naive_folder)
    manifest = read_manifest(naive_folder)
    diagnosis = diagnose(capture)
    known = {name for metric in load_metrics().values() for name in metric.all_ncu_names()}
    for name in (*sorted(known & set(capture.columns)), *USED):
        check(page_of(_without(capture, [name]), diagnosis, manifest=manifest))


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_set_of_columns_may_be_missing(captures: Path, data: st.DataObject) -> None:
    capture = read_capture(captures / "fixture_full_preset.raw.csv.gz")
    known = {name for metric in load_metrics().values() for name in metric.all_ncu_names()}
    names = sorted((known | set(USED)) & set(capture.columns))
    gone = data.draw(st.sets(st.sampled_from(names), min_size=1))
    check(page_of(_without(capture, gone)))


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("value", [0.0, -1.0, 1e308, np.nan])
def test_absurd_values_do_not_reach_the_page_as_numbers_that_are_none(
    captures: Path, value: float
) -> None:
    capture = read_capture(captures / "fixture_full_preset.raw.csv.gz")
    columns = {
        name: replace(column, values=np.full(len(capture), value))
        for name, column in capture.columns.items()
    }
    check(page_of(replace(capture, columns=columns)))


def test_names_from_a_capture_stay_as_they_are_but_for_control_characters(
    captures: Path,
) -> None:
    capture = read_capture(captures / "fixture_full_preset.raw.csv.gz")
    hostile = '</script><img src=x onerror="alert(1)">{{ 7*7 }}\u202e\x00'
    launches = tuple(replace(each, kernel=hostile) for each in capture.launches)
    page = page_of(replace(capture, launches=launches))
    check(page)
    for card in page.kernels:
        assert card.name.startswith('</script><img src=x onerror="alert')
        assert any(
            '</script><img src=x onerror="alert(1)">{{ 7*7 }}' in each for each in card.texts
        )
        assert all(each.isprintable() for each in (card.name, *card.texts))
    assert json.loads(page.document.data)["kernels"][0]["name"] == hostile


def test_what_the_manifest_says_is_on_the_page(naive: Page) -> None:
    facts = naive.provenance
    assert facts["measured at"] == "2026-11-21T13:23:55Z"
    assert facts["Nsight Compute"] == "2025.3.1.0"
    assert facts["SM clock"] == "1,980 MHz, at most 1,980 MHz"
    assert facts["compile flags"] == "-arch=sm_90 -lineinfo -DBLOCK=32 -O3"
    assert facts["run"] == "preset full: Full: 1 launch, 19 passes, 14.27 s"
    assert sum(len(text) == 64 for text in facts.values()) == 5
    (command,) = naive.commands
    assert command.startswith("ncu --metrics gpu__time_duration.sum,")
    assert command.endswith("kernelprof.launch.child cuda/ladder/01_naive.cu --cubin kernel.cubin")
    assert naive.document.title == "Report: sgemm_naive"


def test_the_source_has_its_specification_and_hot_lines(
    naive_folder: Path, naive_source: str
) -> None:
    capture = read_capture(naive_folder)
    page = page_of(
        capture,
        manifest=read_manifest(naive_folder),
        source_text=naive_source + "// changed",
        hot_lines={"sgemm_naive": {3: 0.75, 2: 0.25, 10_000: 0.5}},
    )
    source = page.kernels[0].source
    assert source is not None
    (listing,) = (each for each in every(source.blocks) if isinstance(each, CodeBlock))
    assert listing.shares == ((2, 0.25), (3, 0.75))
    assert "differs" in notes_of(source.blocks)[0]
    facts = facts_of(source.blocks)
    assert facts["sizes"] == "M = 4,096, N = 4,096, K = 4,096"
    assert facts["arguments"].startswith(
        "name = A, type = float32, shape = (M, K), output = False, fill = random name = B, "
    )
    assert facts["minimum bytes"] == "4 * (M * K + K * N + M * N)"


def test_what_the_compiler_warned_of_is_beside_its_flags(
    naive_folder: Path, naive_source: str
) -> None:
    manifest = read_manifest(naive_folder)
    assert manifest.source is not None
    warnings = (CompilerWarning("C7508", "'setmaxnreg' ignored \x1b[31m"),)
    warned = replace(manifest, source=replace(manifest.source, compiler_warnings=warnings))
    page = page_of(read_capture(naive_folder), manifest=warned, source_text=naive_source)
    source = page.kernels[0].source
    assert source is not None
    assert facts_of(source.blocks)["compiler warning"].startswith("C7508: 'setmaxnreg' ignored ")
    assert "\x1b" not in facts_of(source.blocks)["compiler warning"]


def test_a_manifest_is_of_the_kernel_that_it_names(
    series_capture: Capture, naive_folder: Path
) -> None:
    manifest = read_manifest(naive_folder)
    diagnosis = diagnose(series_capture)
    page = page_of(series_capture, diagnosis, manifest=manifest)
    assert all(card.source is None for card in page.kernels)
    rooflines = [card.roofline for card in page.kernels if card.roofline]
    assert all(point.level != "ideal" for each in rooflines for point in each.points)


def test_the_table_holds_every_column_of_a_few_kernels(naive_folder: Path) -> None:
    capture = read_capture(naive_folder)
    page = page_of(capture)
    metrics = page.kernels[0].metrics
    with_value = {name for name, each in capture.columns.items() if not np.isnan(each.values[0])}
    assert with_value <= metrics.keys()
    meaning = load_metrics()["duration"].why
    assert metrics["gpu__time_duration.sum"] == ("275,881,632", "ns", meaning)


def test_the_table_of_many_kernels_holds_what_is_known(series: Page) -> None:
    check(series)
    assert "contains every column" in notes_of(series.document.blocks[-1:])[0]
    assert all(meaning for card in series.kernels for *_, meaning in card.metrics.values())


@pytest.mark.slow("a thousand kernels")
def test_a_thousand_kernels_are_built_in_seconds(series_capture: Capture) -> None:
    times = 40
    launches = tuple(
        replace(launch, kernel=f"{launch.kernel.partition('(')[0]}_{turn}(float *)")
        for turn in range(times)
        for launch in series_capture.launches
    )
    columns = {
        name: replace(column, values=np.tile(column.values, times))
        for name, column in series_capture.columns.items()
    }
    text = {name: cells * times for name, cells in series_capture.text.items()}
    capture = replace(series_capture, launches=launches, columns=columns, text=text)
    diagnosis = diagnose(capture)
    assert len(diagnosis.kernels) >= 1000
    start = time.process_time()
    document = capture_page.document(capture, diagnosis)
    assert time.process_time() - start < 4.0
    cards = [each for each in document.blocks if getattr(each, "anchor", "").startswith("kernel-")]
    assert len(cards) == len(diagnosis.kernels)


def test_every_verdict_and_every_state_has_its_sentence() -> None:
    assert set(EXPLAINED) == set(STALLS)
    known = set(load_metrics())
    for slug, rule in load_rules().items():
        each = rule.headline
        assert each.plain.endswith("."), slug
        assert ("{x}" in each.numbered) == bool(each.metric), slug
        assert not each.metric or each.metric in known, slug
        assert "{" not in each.plain + each.at_limit, slug


@pytest.mark.parametrize("status", [Status.BOTTLENECK, Status.AT_LIMIT])
@pytest.mark.parametrize("slug", sorted(load_rules()))
def test_a_headline_needs_no_evidence(slug: str, status: Status) -> None:
    text = summarize_verdict(Verdict(status, slug, Confidence.LOW))
    assert text.endswith(".")
    assert "{" not in text


def test_an_open_verdict_names_its_candidates() -> None:
    also = tuple(Candidate(slug, 1.0, 2.0) for slug in ("l1-throughput", "memory-latency"))
    missing = (MissingMetric("duration", "gpu__time_duration.sum", "It weighs."),)
    open_ = Verdict(Status.INCONCLUSIVE, None, Confidence.LOW, also=also, missing=missing)
    text = summarize_verdict(open_)
    assert text == (
        "This capture does not show what limits the kernel; candidates: L1 throughput or memory "
        "latency."
    )
    assert "are not conclusive" in summarize_verdict(replace(open_, missing=()))
    text = summarize_verdict(Verdict(Status.INCONCLUSIVE, None, Confidence.LOW))
    assert text == "No rule explains the run time of this kernel."
