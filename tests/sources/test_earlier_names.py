"""Metrics under the names of Nsight Compute before Nsight Compute 2019.1."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import pytest

from kernelprof.analysis.metrics.architectures import DROPPED, find_dropped
from kernelprof.analysis.metrics.catalogue import names_read
from kernelprof.analysis.verdict import diagnose
from kernelprof.sources import read_bytes
from kernelprof.sources.ncu.metric_names import METRICS, TODAY, describe_left_out, todays_name

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.model.capture import Capture

# jhiems/PMKID_Brute-Force, profile.nsight-cuprof-report, 09606ce84a59: a GTX 1080. As a raw page;
# the report has no units.
GTX_1080 = {
    "launch__grid_size": "1",
    "launch__block_size": "256",
    "launch__waves_per_multiprocessor": "0.05",
    "device__attribute_multiprocessor_count": "20",
    "gpu__time_duration": "1288368224.0",
    "gpc__elapsed_cycles_max": "2217605188.0",
    "gpc__frequency": "1721250920.4977102",
    "dram__frequency": "9072609030.75486",
    "dram__read_bytes": "386528.0",
    "dram__read_sectors": "12079.0",
    "dram__read_pct": "0.00010333769740147169",
    "dram__write_bytes": "0.0",
    "dram__write_pct": "0.0",
    "dram__bytes_per_sec": "300013.6085318416",
    "fbpa__sol_pct": "0.00010333769740147169",
    "gpu__compute_memory_sol_pct": "1.5779916346760334",
    "sm__sol_pct": "0.2460020808895262",
    "sm__maximum_warps_per_active_cycle_pct": "12.5",
    "smsp__issue_active_avg_per_active_cycle": "0.053043115764231194",
    "smsp__issue_active_per_active_cycle_pct": "5.304311576423119",
    "smsp__active_warps_avg_per_active_cycle": "1.0000006364071607",
    "smsp__warp_cycles_per_issue_active": "18.852599791194987",
    "smsp__warp_cycles_per_issue_stall_long_scoreboard": "9.771189832465524",
    "smsp__warp_cycles_per_issue_stall_no_instructions": "3.5279777842744493",
    "smsp__pcsamp_warp_stall_wait": "1025853.0",
    "tex__sol_pct": "0.3195616533225142",
    "tex__hitrate_pct": "6.639670844129453",
}


def _page(cells: dict[str, str], capability: str = "6.1") -> bytes:
    names = ["ID", "Kernel Name", "CC", *cells]
    rows = [names, [""] * len(names), ["0", "El1t3Hax0r", capability, *cells.values()]]
    return "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows).encode()


@pytest.fixture(scope="module")
def capture() -> Capture:
    return read_bytes(_page(GTX_1080), "gtx-1080.csv")


def _value(capture: Capture, name: str) -> float:
    return float(capture.columns[name].values[0])


def test_names_and_units_are_todays(capture: Capture) -> None:
    assert _value(capture, "gpu__time_duration.sum") == 1288368224.0
    assert capture.columns["gpu__time_duration.sum"].unit == "ns"
    assert _value(capture, "sm__throughput.avg.pct_of_peak_sustained_elapsed") == 0.2460020808895262
    assert capture.columns["dram__bytes_read.sum"].unit == "byte"
    waiting = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
    assert _value(capture, waiting.format("long_scoreboard")) == 9.771189832465524
    assert _value(capture, waiting.format("no_instruction")) == 3.5279777842744493
    assert not set(TODAY) & set(capture.columns) - {todays_name(name) for name in TODAY}


def test_they_are_the_same_quantities(capture: Capture) -> None:
    """What holds between today's metrics holds between these values."""
    time_s = _value(capture, "gpu__time_duration.sum") / 1e9
    cycles = _value(capture, "gpc__cycles_elapsed.max")
    assert cycles / _value(capture, "gpc__cycles_elapsed.avg.per_second") == pytest.approx(
        time_s, rel=1e-4
    )
    read = _value(capture, "dram__bytes_read.sum")
    assert read == 32 * _value(capture, "dram__sectors_read.sum")
    assert read / time_s == pytest.approx(_value(capture, "dram__bytes.sum.per_second"), rel=1e-4)
    share = _value(capture, "dram__bytes_read.sum.pct_of_peak_sustained_elapsed")
    peak = float(GTX_1080["dram__frequency"]) * 256 / 8
    assert read / time_s / peak * 100 == pytest.approx(share, rel=1e-3)
    issued = _value(capture, "smsp__issue_active.avg.per_cycle_active")
    percent = _value(capture, "smsp__issue_active.avg.pct_of_peak_sustained_active")
    assert percent == pytest.approx(100 * issued)
    waiting = _value(capture, "smsp__average_warps_active_per_issue_active.ratio")
    warps = _value(capture, "smsp__warps_active.avg.per_cycle_active")
    assert waiting == pytest.approx(warps / issued, rel=1e-4)


def test_what_is_not_known_to_be_the_same_is_named_and_not_used(capture: Capture) -> None:
    (said,) = capture.warnings
    assert "before Nsight Compute 2019.1" in said
    assert said.endswith("were ignored: dram__frequency, tex__sol_pct, tex__hitrate_pct.")
    assert "l1tex__t_sector_hit_rate.pct" not in capture.columns
    assert "dram__cycles_elapsed.avg.per_second" not in capture.columns


def test_todays_captures_are_left_alone(captures: Path) -> None:
    for name in ("fixture_basic.raw.csv", "gemm_series.eight-metrics.raw.csv"):
        text = (captures / name).read_text()
        header = next(line for line in text.splitlines() if line.startswith('"ID"'))
        names = header.strip('"').split('","')
        assert describe_left_out(names) == ""
        assert [todays_name(each) for each in names] == names


def test_metrics_of_the_rules_are_read_under_the_earlier_names() -> None:
    brief = read_bytes(_page(GTX_1080), "x")
    from kernelprof.sources import _read_input  # what the command line reads of a wide page
    from kernelprof.sources.source import Input

    data = iter([_page(GTX_1080)])
    found = _read_input(Input(lambda _: next(data, b""), "x"), names_read())
    assert "gpu__time_duration.sum" in found.columns
    assert found.warnings == brief.warnings


def test_every_name_of_today_exists(captures: Path) -> None:
    """In the metric lists of ncu, less what it adds to them, or on its details page."""
    lists = [
        gzip.decompress(path.read_bytes()).decode()
        for path in (captures / "ncu_metric_lists").glob("*.txt.gz")
    ]
    known = set(re.findall(r"^(\w+__\w+)", "\n".join(lists), re.MULTILINE))
    assert len(lists) == 7
    for name, unit in TODAY.values():
        assert name.partition(".")[0] in known or name in METRICS.values(), name
        assert unit == "" or unit.islower() or unit == "%"


def test_a_gpu_that_todays_ncu_does_not_profile_gets_no_command(capture: Capture) -> None:
    small = diagnose(capture).kernels[0].verdict
    assert small.bottleneck == "small-grid"
    assert small.command is None
    last = "Nsight Compute 2019.5 is the last version that profiles GPUs of compute capability 6.1"
    assert f"{last}: 2020.1" in " ".join(small.notes)
    open_one = {name: GTX_1080[name] for name in ("gpu__time_duration", "dram__read_bytes")}
    verdict = diagnose(read_bytes(_page(open_one), "x")).kernels[0].verdict
    assert verdict.missing
    assert verdict.command is None


def test_volta_gets_the_command_and_the_version_that_takes_it() -> None:
    """2025.2 is the last for it, and has today's names."""
    few = {"gpu__time_duration.sum": "5000"}
    volta = diagnose(read_bytes(_page(few, "7.0"), "x")).kernels[0].verdict
    assert volta.command is not None
    assert (
        "Nsight Compute 2025.2 is the last version that profiles GPUs of compute capability 7.0"
        in " ".join(volta.notes)
    )
    turing = diagnose(read_bytes(_page(few, "7.5"), "x")).kernels[0].verdict
    assert turing.command is not None
    assert not any("Nsight Compute" in each for each in turing.notes)


def test_since_when_a_gpu_is_not_profiled() -> None:
    assert [each.below for each in DROPPED] == sorted(each.below for each in DROPPED)
    assert {version: gone and gone.last for version, gone in (
        (each, find_dropped(each))
        for each in ((5, 2), (6, 0), (6, 1), (7, 0), (7, 2), (7, 5), (9, 0))
    )} == {
        (5, 2): None, (6, 0): "2019.5", (6, 1): "2019.5", (7, 0): "2025.2", (7, 2): "2025.2",
        (7, 5): None, (9, 0): None,
    }  # fmt: skip
    assert find_dropped((5, 2)) is not None
    assert find_dropped((7, 5)) is None
    assert find_dropped(None) is None
