"""Commands that are printed, run against the stand-in: they give just what they are to give."""

from __future__ import annotations

import csv
import shlex
from typing import TYPE_CHECKING

import pytest
from tests.support.few import part_of

from kernelprof.analysis.metrics.catalogue import (
    SAMPLES,
    Metric,
    load_metrics,
    metrics_for,
    preset,
    presets,
)
from kernelprof.analysis.ncu_command import (
    MOST_CHARACTERS,
    collection_options,
    combine_runs,
    format_ncu_command,
    shared_command,
)
from kernelprof.analysis.verdict import diagnose
from kernelprof.errors import UsageError
from kernelprof.model.diagnosis import NcuRun
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from conftest import RunNcu

HOPPER = (9, 0)


def _table(path: Path) -> list[dict[str, str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith('"ID"'))
    return list(csv.DictReader(lines[start:]))[1:]


def _metric(ncu: Sequence[str], section: str | None = None) -> Metric:
    return Metric("name", tuple(ncu), "%", "Why.", "preset", section=section)


@pytest.mark.parametrize("name", presets())
def test_the_command_of_a_preset_gives_each_of_its_metrics(name, run_ncu, programs) -> None:
    command = format_ncu_command(
        name, compute_capability=HOPPER, clock_control="none", application=["./fixture"]
    )
    done = run_ncu(shlex.split(shlex.join(command)))
    assert done.returncode == 0
    rows = _table(programs / "capture.csv")
    assert len(rows) == 3
    asked = [names[0] for m in preset(name).metrics if (names := m.ncu_names(HOPPER))]
    assert [metric for metric in asked if metric not in rows[0]] == []


def test_a_metric_that_is_not_asked_for_is_not_collected(run_ncu: RunNcu, programs: Path) -> None:
    command = format_ncu_command(
        metrics_for(["dram_throughput"]), compute_capability=HOPPER, application=["./fixture"]
    )
    assert run_ncu(command).returncode == 0
    (first, *_) = _table(programs / "capture.csv")
    measured = {name.partition(".")[0] for name in first if "." in name}
    assert measured == {"gpu__dram_throughput", "gpu__time_duration"}


@pytest.mark.parametrize(
    ("kernel", "ids"),
    [
        ("gemm_bad(const float *, const float *, float *, int, int, int)", ["0", "1"]),
        ("void gemm_tiled<16, 0, 0>(const float *, float *, int)", ["6"]),
        ("void gemm_tiled<16, 1, 0>(const float *, float *, int)", ["9"]),
        ("copy_vec4", ["14"]),
    ],
)
def test_one_launch_of_each_configuration_of_one_kernel(
    kernel, ids, run_ncu, programs, captures
) -> None:
    command = format_ncu_command(
        "dram",
        compute_capability=HOPPER,
        kernel=kernel,
        launch_count=1,
        application=["./gemm_series", "2048"],
    )
    assert run_ncu(command).returncode == 0
    shape = ("Kernel Name", "Block Size", "Grid Size")
    every = {row["ID"]: row for row in _table(captures / "gemm_series.full.raw.csv")}
    got = [[row[name] for name in shape] for row in _table(programs / "capture.csv")]
    assert got == [[every[number][name] for name in shape] for number in ids]


def test_a_misspelt_metric_is_not_collected(run_ncu: RunNcu, programs: Path) -> None:
    wrong = "dram__thruput.avg.pct_of_peak_sustained_elapsed"
    done = run_ncu(format_ncu_command([_metric([wrong])], application=["./fixture"]))
    assert done.returncode == 0
    assert wrong not in _table(programs / "capture.csv")[0]
    done = run_ncu(format_ncu_command([_metric(["dram__thruput"])], application=["./fixture"]))
    assert done.returncode == 9


def test_a_misspelt_section_is_refused(run_ncu: RunNcu) -> None:
    done = run_ncu(format_ncu_command([_metric(["x"], "SourceCounter")], application=["./fixture"]))
    assert done.returncode == 1
    assert "'--section SourceCounter' did not match any section" in done.stdout


def test_the_parts_of_a_command() -> None:
    command = format_ncu_command(
        [_metric(["a.sum", "b.sum"]), _metric(["c.avg"]), _metric(["d"], "SourceCounters")],
        kernel="copy",
        launch_skip=2,
        launch_count=3,
        clock_control="none",
        nvtx_include=["step/", "train@step"],
        application=["./app", "--size", "1 2"],
        output="out dir/capture.csv",
    )
    assert shlex.join(command) == (
        "ncu --metrics a.sum,c.avg --section SourceCounters --kernel-name copy"
        " --launch-skip 2 --launch-count 3 --clock-control none"
        " --nvtx --nvtx-include step/ --nvtx-include train@step"
        " --csv --page raw --print-units auto --log-file 'out dir/capture.csv'"
        " ./app --size '1 2'"
    )


@pytest.mark.parametrize("name", presets())
def test_the_command_of_a_preset_samples_where_it_says_so(name: str) -> None:
    asked = format_ncu_command(name)[2].split(",")
    assert asked.count(SAMPLES) == (name == "full")
    assert (asked[-1] == SAMPLES) == (name == "full")


def test_samples_can_be_had_with_any_metrics() -> None:
    metrics = [_metric(["a.sum"]), _metric(["d"], "SourceCounters")]
    assert collection_options(metrics, samples=True) == [
        *("--metrics", f"a.sum,{SAMPLES}"),
        *("--section", "SourceCounters"),
    ]
    assert collection_options(metrics[1:], samples=True)[:2] == ["--metrics", SAMPLES]
    assert collection_options("dram", samples=True)[1].endswith(f",{SAMPLES}")
    with pytest.raises(UsageError, match="nothing to collect"):
        collection_options([], samples=True)


def test_launches_are_counted_for_each_configuration_of_a_kernel() -> None:
    metrics = [_metric(["a.sum"])]
    counted = ["--filter-mode", "per-launch-config", "--launch-count", "2"]
    assert format_ncu_command(metrics, kernel="copy", launch_count=2)[5:9] == counted
    assert "--filter-mode" not in format_ncu_command(metrics, launch_count=2)
    assert "--filter-mode" not in format_ncu_command(metrics, kernel="copy")


def test_what_is_not_known_is_left_out_or_a_placeholder() -> None:
    assert shlex.join(format_ncu_command([_metric(["a.sum"])])) == (
        "ncu --metrics a.sum --csv --page raw --print-units auto --log-file capture.csv"
        " ./app args..."
    )


def test_names_are_those_of_the_architecture() -> None:
    dram = [load_metrics()["dram_bytes_read"]]
    assert format_ncu_command(dram, compute_capability=(12, 0))[2] == "dram__bytes_op_read.sum"
    assert format_ncu_command(dram, compute_capability=(8, 0))[2] == "dram__bytes_read.sum"


def test_nothing_to_collect() -> None:
    with pytest.raises(UsageError, match="nothing to collect"):
        format_ncu_command([load_metrics()["stall_gmma"]], compute_capability=(8, 0))


def _run(kernel: str, *metrics: str, launches: int = 1) -> NcuRun:
    return NcuRun(kernel, launches, metrics, HOPPER, None, ("./app",))


_LONG_NAME = "k" * 120
_LIMITED = "--filter-mode per-launch-config --launch-count"
_WRITTEN = "--csv --page raw --print-units auto --log-file followup.csv ./app"


@pytest.mark.parametrize(
    ("runs", "options", "launches"),
    [
        (
            [_run("scale<float>(float *)", "dram_throughput")],
            "--metrics gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed --kernel-name-base "
            "demangled --kernel-name 'regex:(^|[ :])scale<float>\\('",
            1,
        ),
        (
            [_run("copy(int)"), _run("scale(int)", launches=3), _run("copy(int)")],
            "--set full --kernel-name 'regex:^(copy|scale)$'",
            3,
        ),
        # One lacks everything: the set is collected for both.
        ([_run("copy()", "dram_throughput"), _run("copy()")], "--set full --kernel-name copy", 1),
        # Where both are too long the kernel matters more than the metrics.
        (
            [_run(_LONG_NAME, "dram_throughput", "l2_throughput", "l1_throughput")],
            f"--set full --kernel-name {_LONG_NAME}",
            1,
        ),
        ([_run(f"kernel_number_{each}()") for each in range(40)], "--set full", 1),
    ],
)
def test_one_command_settles_all_kernels(runs: list[NcuRun], options: str, launches: int) -> None:
    command = combine_runs(runs)
    assert command == f"ncu {options} {_LIMITED} {launches} {_WRITTEN}"
    assert len(command) <= MOST_CHARACTERS


@pytest.mark.parametrize(
    "name",
    part_of(
        3,
        ["h200_triage/full", "validation/basic.raw", "validation/frameworks.details"],
        "h200_triage/full",
        why="a search for each of dozens of kernels",
    ),
)
def test_the_command_of_a_capture_is_short(captures: Path, name: str) -> None:
    """Names of templates and dozens of kernels included."""
    found = diagnose(read_capture(captures / f"{name}.csv.gz"))
    verdicts = [kernel.verdict for kernel in found.kernels]
    command = shared_command(verdicts)
    assert command is not None
    assert len(command) <= MOST_CHARACTERS
