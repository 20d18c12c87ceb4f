"""What single values say by themselves."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest
from tests.analysis.verdict.support import CAPTURES

from kernelprof.analysis.metrics.catalogue import CONFLICTS_OF, LOCAL_BYTES_OF
from kernelprof.analysis.verdict import diagnose
from kernelprof.model.capture import DEVICE_NAME, Capture, Launch, MetricColumn, Origin
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.sources import read_bytes, read_capture

TRANSPOSES = {
    "naive": {"ld.sum": 524288.0, "st.sum": 4194304.0},
    "tiled": {"ld.sum": 524288.0, "st.sum": 524288.0},
}
"""Sectors of a transpose of 2048 x 2048 floats (131,072 requests each way), of a public export:
Olajide-Badejo/GPU-Roofline-Profiler at 14f29c68d4c8, results/sample_run/ncu/transpose_*.csv."""
REQUESTS = 131072.0
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_global_op_"
ASKED = "l1tex__t_requests_pipe_lsu_mem_global_op_"


def captured(**values: float) -> Capture:
    """One launch with these columns, by their ncu names."""
    columns = {
        name: MetricColumn(name, np.array([value]), "", "", Origin.MEASURED)
        for name, value in values.items()
    }
    launch = Launch("0", "transpose", compute_capability=(12, 0))
    return Capture((launch,), columns)


def transpose(kind: str, **more: float) -> Capture:
    sectors = {f"{SECTORS}{name}": value for name, value in TRANSPOSES[kind].items()}
    asked = {f"{ASKED}{name}": REQUESTS for name in ("ld.sum", "st.sum")}
    return captured(**sectors, **asked, **more)


def test_two_files_that_differ_eightfold_in_coalescing_do_not_read_the_same() -> None:
    naive, tiled = (diagnose(transpose(kind)).kernels[0].verdict for kind in TRANSPOSES)
    texts = [each.text for each in naive.findings]
    assert texts[0] == (
        "Global stores touch 32 sectors per request, 8.0x the ideal for 4-byte elements and 2.0x "
        "the ideal for 16-byte elements."
    )
    assert naive.findings[0].bottleneck == "uncoalesced-global-access"
    assert [each.bottleneck for each in naive.also] == ["uncoalesced-global-access"]
    assert not any("sectors per request" in each.text for each in tiled.findings)


def test_what_is_decisive_alone_is_the_verdict() -> None:
    """With an SM that does hardly anything, in a launch that is long enough."""
    idle = {
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 6.4,
        "gpu__time_duration.sum": 163_100.0,
    }
    verdict = diagnose(transpose("naive", **idle)).kernels[0].verdict
    assert verdict.bottleneck == "uncoalesced-global-access"
    assert verdict.confidence is Confidence.LOW
    assert "based only on" in verdict.notes[0]
    assert diagnose(transpose("tiled", **idle)).kernels[0].verdict.status is Status.INCONCLUSIVE


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"smsp__thread_inst_executed_per_inst_executed.ratio": 8.0},
            "On average, 8 of the 32 threads of a warp are active.",
        ),
        (
            {"smsp__sass_average_branch_targets_threads_uniform.pct": 80.0},
            "Threads of a warp diverge at 20 % of the branches.",
        ),
        (
            {"launch__block_size": 1.0},
            "A block has 1 thread: 31 of 32 lanes are inactive.",
        ),
        (
            {"launch__grid_size": 20.0, "launch__sm_count": 132.0},
            "The grid has 20 blocks for 132 SMs.",
        ),
        (
            {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 40532.0},
            "40,532 shared-memory wavefronts are caused by bank conflicts.",
        ),
        (
            {
                "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed": 1536.0,
                "launch__sm_count": 48.0,
            },
            "FP32 arithmetic runs at 25 % of the GPU's peak.",
        ),
        (
            {"memory_l1_wavefronts_shared": 400.0, "memory_l1_wavefronts_shared_ideal": 100.0},
            "75 % of shared-memory wavefronts are caused by bank conflicts.",
        ),
        (
            {"memory_l1_wavefronts_shared": 105.0, "memory_l1_wavefronts_shared_ideal": 100.0},
            "Shared memory has no notable bank conflicts: wavefronts are within 10 % of the ideal.",
        ),
        (
            {
                "memory_l2_theoretical_sectors_global": 64.0,
                "memory_l2_theoretical_sectors_global_ideal": 64.0,
            },
            "Global accesses are coalesced: sectors are within 10 % of the ideal.",
        ),
        ({"memory_l2_theoretical_sectors_local": 0.0}, "The kernel has no local-memory traffic."),
        ({}, "The capture contains no counters for this launch."),
    ],
)
def test_each_value_has_its_sentence(values: dict[str, float], text: str) -> None:
    verdict = diagnose(captured(**values)).kernels[0].verdict
    assert text in [each.text for each in verdict.findings]


def test_a_kernel_without_branches_does_not_diverge() -> None:
    """Of one ``ncu`` writes that 0 % of its branches are uniform."""
    without = {"smsp__sass_average_branch_targets_threads_uniform.pct": 0.0}
    findings = diagnose(captured(**without)).kernels[0].verdict.findings
    assert [each.bottleneck for each in findings] == [None]


def test_that_all_is_needed_is_said_only_where_nothing_else_is() -> None:
    needed = {
        "memory_l2_theoretical_sectors_local": 0.0,
        "memory_l1_wavefronts_shared": 0.0,
        "memory_l1_wavefronts_shared_ideal": 0.0,
    }
    (one,) = diagnose(captured(**needed)).kernels[0].verdict.findings
    assert one.text == "The kernel has no local-memory traffic."
    divergent = {"smsp__thread_inst_executed_per_inst_executed.ratio": 8.0}
    (other,) = diagnose(captured(**needed, **divergent)).kernels[0].verdict.findings
    assert other.bottleneck == "warp-divergence"


def test_findings_stand_only_where_the_verdict_rests_on_little() -> None:
    for kernel in diagnose(read_capture(CAPTURES / "gemm_series.full.raw.csv")).kernels:
        assert bool(kernel.verdict.findings) == (kernel.verdict.status is Status.INCONCLUSIVE)


def test_what_a_source_lacks_is_measured_by_kernelprof_and_not_by_starting_the_source() -> None:
    """One metric less is a command of ``ncu`` for a program; a source is none."""
    full = read_capture(CAPTURES / "gemm_series.full.raw.csv")
    dropped = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
    columns = {name: each for name, each in full.columns.items() if "dram" not in name}
    assert dropped not in columns
    commands = {
        application: {
            kernel.verdict.command
            for kernel in diagnose(replace(full, columns=columns, application=application)).kernels
        }
        - {None}
        for application in ("./app", "kernels/a.cu")
    }
    assert any("ncu --metrics" in each for each in commands["./app"] if each)
    assert commands["kernels/a.cu"] == {"kernelprof diagnose kernels/a.cu --preset full"}


def loads_and_stores(row: int) -> Capture:
    """Only conflicts and local bytes of loads and stores: a launch of ``gemm_series``."""
    full = read_capture(CAPTURES / "gemm_series.full.raw.csv")
    columns = {}
    for kind in ("ld", "st"):
        conflicts = CONFLICTS_OF.format(kind)
        columns[conflicts] = full.columns[conflicts].values[row]
        sectors = f"l1tex__t_sectors_pipe_lsu_mem_local_op_{kind}.sum"
        columns[LOCAL_BYTES_OF.format(kind)] = full.columns[sectors].values[row] * 32
    return replace(captured(**columns), launches=(full.launches[row],))


@pytest.mark.parametrize(
    ("row", "texts"),
    [
        (12, ["536,346,624 shared-memory wavefronts are caused by bank conflicts."]),
        (13, []),
        (
            21,
            [
                "Local-memory loads and stores move 13.51 GB: register spills, or arrays with "
                "run-time indices."
            ],
        ),
    ],
)
def test_counts_of_loads_and_stores_alone_show_conflicts_and_spills(
    row: int, texts: list[str]
) -> None:
    """Bank conflicts at stride 32 and 1, and a spilled array; a few are no more than noise."""
    capture = loads_and_stores(row)
    verdict = diagnose(capture).kernels[0].verdict
    found = [each for each in verdict.findings if each.bottleneck]
    assert [each.text for each in found] == texts
    assert [each.bottleneck for each in verdict.also] == [each.bottleneck for each in found]
    few = captured(**dict.fromkeys(capture.columns, 50.0))
    few = replace(few, launches=capture.launches)
    assert not diagnose(few).kernels[0].verdict.also


ELAPSED = "avg.pct_of_peak_sustained_elapsed"
MEMORY = f"gpu__compute_memory_throughput.{ELAPSED}"
SM = f"sm__throughput.{ELAPSED}"
FULL_L1 = {"l1tex__throughput.avg.pct_of_peak_sustained_active": 93.0, MEMORY: 88.0}
STATIC, DYNAMIC = (f"launch__shared_mem_per_block_{kind}" for kind in ("static", "dynamic"))


@pytest.mark.parametrize(
    ("values", "leads"),
    [
        ({**FULL_L1, STATIC: 0.0, DYNAMIC: 0.0}, ["uncoalesced-global-access"]),
        ({**FULL_L1, STATIC: 0.0, DYNAMIC: 4096.0}, ["shared-memory-throughput"]),
        (FULL_L1, []),
        (
            {f"lts__throughput.{ELAPSED}": 85.0, f"gpu__dram_throughput.{ELAPSED}": 65.0},
            ["dram-bandwidth"],
        ),
        (
            {
                f"l1tex__lsu_writeback_active.{ELAPSED}": 97.1,
                "launch__waves_per_multiprocessor": 0.5,
            },
            ["l1-throughput"],
        ),
        ({"sm__maximum_warps_per_active_cycle_pct": 8.3}, ["low-occupancy"]),
        (
            {
                "sm__maximum_warps_per_active_cycle_pct": 8.3,
                "sm__inst_executed_pipe_tc.sum": 8e5,
            },
            ["async-pipeline-stalls"],
        ),
        (
            {
                "sm__throughput.avg.pct_of_peak_sustained_active": 91.8,
                "sm__maximum_warps_per_active_cycle_pct": 8.3,
                "sm__inst_executed_pipe_tc.sum": 3e6,
            },
            ["tensor-throughput", "async-pipeline-stalls"],
        ),
        (
            {
                SM: 30.0,
                MEMORY: 20.0,
                "sm__warps_active.avg.pct_of_peak_sustained_active": 80.0,
            },
            ["memory-latency"],
        ),
    ],
)
def test_what_is_busy_points_to_what_limits_most_such_launches(
    values: dict[str, float], leads: list[str]
) -> None:
    verdict = diagnose(captured(**values)).kernels[0].verdict
    assert verdict.status is Status.INCONCLUSIVE
    assert [each.bottleneck for each in verdict.findings if each.bottleneck] == leads
    assert [each.bottleneck for each in verdict.also] == leads


@pytest.mark.parametrize(("percent", "named"), [(72.0, "dram-bandwidth"), (68.0, None)])
def test_busy_device_memory_alone_is_a_verdict(percent: float, named: str | None) -> None:
    verdict = diagnose(captured(**{f"gpu__dram_throughput.{ELAPSED}": percent})).kernels[0].verdict
    assert (verdict.bottleneck, verdict.confidence) == (named, Confidence.LOW)


def test_busy_device_memory_is_no_verdict_where_the_sm_is_busier() -> None:
    values = {f"gpu__dram_throughput.{ELAPSED}": 72.0, SM: 95.0}
    assert diagnose(captured(**values)).kernels[0].verdict.bottleneck is None


def test_device_memory_is_judged_by_the_specified_rate_too() -> None:
    """1.4 of 1.79 TB/s."""
    unnamed = captured(**{"dram__bytes.sum.per_second": 1.4e12})
    named = replace(unnamed, text={DEVICE_NAME: ("NVIDIA GeForce RTX 5090",)})
    verdicts = [diagnose(each).kernels[0].verdict for each in (named, unnamed)]
    assert [each.bottleneck for each in verdicts] == ["dram-bandwidth", None]


def test_a_pipe_in_a_message_about_active_cycles_is_scaled_to_all_of_them() -> None:
    name = "waynehacking8__blackwell-tensorcore-kernels/ncu_sm120_mma_warptile_8192.txt.gz"
    columns = read_capture(CAPTURES / "blackwell" / name).columns
    (share,) = columns[f"sm__pipe_tensor_cycles_active.{ELAPSED}"].values
    assert share == pytest.approx(85.0 * 6721113.16 / 6936768, rel=1e-3)


def test_a_pipe_in_a_message_without_elapsed_cycles_is_not_there() -> None:
    name = "waynehacking8__blackwell-tensorcore-kernels/ncu_sm120_mma_warptile_8192.txt.gz"
    text = gzip.decompress((CAPTURES / "blackwell" / name).read_bytes()).decode()
    broken = text.replace(" 6936768", "       0")
    assert broken != text
    columns = read_bytes(broken.encode(), "broken.txt").columns
    assert f"sm__pipe_tensor_cycles_active.{ELAPSED}" not in columns
