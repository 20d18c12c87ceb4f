"""The shipped presets: every ncu name is real on every chip, every reference resolves."""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from kernelprof.analysis.metrics.architectures import CHIPS, chip_of
from kernelprof.analysis.metrics.catalogue import (
    SAMPLES,
    load_metrics,
    metrics_for,
    preset,
    presets,
)
from kernelprof.errors import UsageError

CAPTURES = Path(__file__).parents[2] / "captures"
THEMES = {
    "asynchronous-copies", "coalescing", "compute-pipes", "divergence", "dram", "occupancy",
    "shared-memory", "speed-of-light", "stalls",
}  # fmt: skip
SELDOM = {
    "stall_branch_resolving", "stall_dispatch_stall", "stall_drain", "stall_gmma", "stall_imc_miss",
    "stall_membar", "stall_misc", "stall_selected", "stall_sleeping", "stall_tex_throttle",
}  # fmt: skip
"""Reasons for waiting that cost four passes and decide hardly any launch."""
OUTSIDE_THE_LISTS = (
    "launch__", "device__attribute_", "derived__", "memory_l1_", "memory_l2_", "sm__maximum_warps_",
    "inst_executed",
)  # fmt: skip
"""Names that the metric lists of the chips leave out: attributes of the launch and the device, and
counts per instruction that ncu adds up itself. These must stand in a real capture instead."""


def _chip_names(chip: str) -> set[str]:
    path = CAPTURES / "ncu_metric_lists" / f"{chip}.txt.gz"
    with gzip.open(path, "rt", encoding="ascii") as lines:
        return set(lines.read().split())


def _captured_names(capture: str = "gemm_series.full.raw.csv") -> set[str]:
    opened = gzip.open if capture.endswith(".gz") else open
    with opened(CAPTURES / capture, "rt", encoding="utf-8", newline="") as file:
        return set(next(csv.reader(line for line in file if line.startswith('"ID"'))))


@pytest.mark.parametrize("chip", CHIPS)
def test_every_name_is_in_the_chips_list_or_in_a_real_capture(chip: str) -> None:
    listed, captured = _chip_names(chip), _captured_names()
    unknown = [
        f"{metric.preset}: {name}"
        for metric in load_metrics().values()
        for name in metric.ncu_names(CHIPS[chip][0])
        if name not in captured or not name.startswith(OUTSIDE_THE_LISTS)
        if name.partition(".")[0] not in listed
    ]
    assert unknown == []


def test_a_name_outside_the_lists_really_is() -> None:
    listed = set().union(*(_chip_names(chip) for chip in CHIPS))
    outside = {
        name
        for metric in load_metrics().values()
        for name in metric.all_ncu_names()
        if name.partition(".")[0] not in listed
    }
    assert outside
    assert all(name.startswith(OUTSIDE_THE_LISTS) for name in outside)
    assert not any(name.startswith(OUTSIDE_THE_LISTS) for name in listed)


@pytest.mark.parametrize("chip", CHIPS)
def test_a_metric_is_only_declared_absent_where_it_is(chip: str) -> None:
    listed = _chip_names(chip)
    wrongly_absent = [
        metric.name
        for metric in load_metrics().values()
        if not metric.ncu_names(CHIPS[chip][0])
        if metric.ncu[0].partition(".")[0] in listed
    ]
    assert wrongly_absent == []


def test_real_captures_have_every_metric() -> None:
    captured = _captured_names() | _captured_names("fixture_full_preset.raw.csv.gz")
    missing = [
        metric.name
        for metric in load_metrics().values()
        if (names := metric.ncu_names((9, 0))) and captured.isdisjoint(names)
    ]
    assert missing == []


def test_presets_are_the_themes_and_two_selections() -> None:
    assert set(presets()) == THEMES | {"triage", "full"}
    for name, each in presets().items():
        assert each.name == name
        assert each.title
        assert each.description.endswith(".")
        assert each.metrics


def test_full_is_the_union_and_triage_lacks_the_reasons_that_hardly_ever_decide() -> None:
    assert {metric.name for metric in preset("full").metrics} == set(load_metrics())
    triage = {metric.name for metric in preset("triage").metrics}
    assert triage < set(load_metrics())
    assert {"duration", "sm_throughput", "dram_throughput", "achieved_occupancy"} <= triage
    reasons = {metric.name for metric in preset("stalls").metrics if "stall_" in metric.name}
    assert reasons - triage == SELDOM
    assert {"stall_long_scoreboard", "stall_barrier", "stall_no_instruction"} <= triage


def test_only_full_samples_where_warps_are() -> None:
    assert [name for name, each in presets().items() if each.samples] == ["full"]
    known = {name for metric in load_metrics().values() for name in metric.all_ncu_names()}
    assert SAMPLES == "group:smsp__pcsamp_warp_stall_reasons"
    assert not [name for name in known if "pcsamp" in name]


def test_every_metric_has_one_home() -> None:
    own = [m.name for theme in THEMES for m in preset(theme).metrics if m.preset == theme]
    assert sorted(own) == sorted(load_metrics())


def test_no_ncu_name_means_two_things() -> None:
    homes: dict[str, str] = {}
    for metric in load_metrics().values():
        for name in metric.all_ncu_names():
            assert homes.setdefault(name, metric.name) == metric.name
        assert metric.why.endswith(".")
        assert len(metric.why) <= 120


def test_architectures() -> None:
    gmma = load_metrics()["stall_gmma"]
    assert gmma.ncu_names((9, 0))
    assert gmma.ncu_names((8, 9)) == ()
    assert load_metrics()["dram_bytes_read"].ncu_names((12, 0)) == ("dram__bytes_op_read.sum",)
    assert load_metrics()["dram_bytes_read"].ncu_names((8, 6)) == ("dram__bytes_read.sum",)
    assert load_metrics()["dram_bytes_read"].all_ncu_names() == (
        "dram__bytes_read.sum",
        "dram__bytes_op_read.sum",
    )


@pytest.mark.parametrize("integrated", [(8, 7), (11, 0), (12, 1)])
def test_device_memory_of_an_integrated_gpu_is_not_counted_but_not_zero(
    integrated: tuple[int, int],
) -> None:
    dram = [metric for name, metric in load_metrics().items() if name.startswith("dram_")]
    assert len(dram) == 4
    assert all(metric.ncu_names(integrated) == () for metric in dram)
    assert not any(metric.is_zero_on(integrated) for metric in dram)


@pytest.mark.parametrize("unknown", [None, (7, 0), (7, 2), (13, 0)])
def test_an_unknown_architecture_has_the_default_names(unknown: tuple[int, int] | None) -> None:
    assert chip_of(unknown) is None
    assert all(metric.ncu_names(unknown) == metric.ncu for metric in load_metrics().values())


def test_metrics_for_leaves_out_what_the_architecture_lacks() -> None:
    names = ["duration", "stall_gmma", "duration"]
    assert [m.name for m in metrics_for(names, (9, 0))] == ["duration", "stall_gmma"]
    assert [m.name for m in metrics_for(names, (8, 0))] == ["duration"]


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (lambda: metrics_for(["dram_thruput"]), "did you mean dram_throughput"),
        (lambda: preset("triag"), "did you mean triage?"),
        (lambda: preset("xyzzy"), "available: asynchronous-copies, "),
    ],
)
def test_a_name_that_is_not_known(ask, hint: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError) as caught:
        ask()
    assert hint in str(caught.value.hint)


def test_reading_the_catalogue_imports_nothing_heavy() -> None:
    code = (
        "import sys, kernelprof.analysis.metrics.catalogue as c; c.load_metrics();"
        "print(sorted({'numpy', 'pandas', 'jinja2', 'rich', 'typer'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
