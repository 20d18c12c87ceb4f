"""Units and waits that are predicted, against what an H200 measured of the same sources."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.captures import PAIRS
from tests.support.few import part_of

import kernelprof
from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.groups import STALLS
from kernelprof.analysis.verdict.ranking import OPEN_IN_A_CASE, PREDICTED
from kernelprof.comparison.snapshots import make_snapshot
from kernelprof.model.capture import Origin
from kernelprof.model.comparison import TimeOutcome
from kernelprof.prediction.architectures import PREDICTED_ARCHS
from kernelprof.prediction.estimates import estimate_times, gpu_models
from kernelprof.prediction.metrics import ModelError, model_errors
from sassim.residency import compute_residency

CUDA = Path(__file__).parents[2] / "cuda"

H200 = gpu_models()[9, 0]
KERNELS = {
    "chacha-nonce-search": "integer-throughput",
    "cauchy-likelihood-log-a-sample": "sfu-throughput",
    "edit-distance-table-diagonals": "shared-bank-conflicts",
    "row-norms-thread-per-row": "uncoalesced-global-access",
    "chebyshev-series-in-double": "fp64-throughput",
}
"""Pairs of the corpus whose ``before`` is predicted in a second, and what limits each."""

UNITS = ("issue_slots", "alu_pipe", "fma_pipe", "xu_pipe", "fp64_pipe", "l1_throughput")
POINTS = 2.5
"""How far units may be off were the time the measured one."""
TIMES = 1.25
"""Factor by which the time may be off."""


def value(capture: kernelprof.Capture, name: str) -> float:
    """A metric of the only launch."""
    return float(capture.columns[load_metrics()[name].ncu[0]].values[0])


@pytest.fixture(
    scope="module",
    params=part_of(3, KERNELS, next(iter(KERNELS)), why="a second to predict, as the first"),
)
def pair(request: pytest.FixtureRequest) -> tuple[str, kernelprof.Capture, kernelprof.Capture]:
    """A name, the prediction of its ``before``, and the capture of it."""
    name = request.param
    recorded = PAIRS / name / "before"
    predicted = kernelprof.predict(CUDA / "pairs" / name / "before.cu")
    return name, predicted, kernelprof.read(recorded)


def test_work_and_time_are_the_measured(
    pair: tuple[str, kernelprof.Capture, kernelprof.Capture],
) -> None:
    _, predicted, measured = pair
    longer = value(predicted, "sm_cycles_elapsed") / value(measured, "sm_cycles_elapsed")
    assert 1 / TIMES < longer < TIMES
    for name in UNITS:
        busy = value(predicted, name) * longer
        assert busy == pytest.approx(value(measured, name), abs=POINTS), name


@pytest.mark.slow("three kernels of a few seconds")
@pytest.mark.parametrize(
    "name",
    [
        "radix-digit-counts-by-block",
        "pulse-spectrum-one-copy",
        "symbol-counts-thread-by-thread",
    ],
)
def test_atomics_keep_the_hottest_slice_as_busy_as_measured(name: str) -> None:
    predicted = kernelprof.predict(CUDA / "pairs" / name / "before.cu")
    measured = kernelprof.read(PAIRS / name / "before")
    longer = value(predicted, "sm_cycles_elapsed") / value(measured, "sm_cycles_elapsed")
    busy = longer * value(predicted, "l2_atomic_unit_hottest")
    assert busy == pytest.approx(value(measured, "l2_atomic_unit_hottest"), rel=0.1)


def test_what_warps_wait_for_adds_up(
    pair: tuple[str, kernelprof.Capture, kernelprof.Capture],
) -> None:
    """To the time between two instructions of a warp, which follows from how many there are."""
    _, predicted, _ = pair
    cycles = value(predicted, "warp_cycles_per_instruction")
    waits = sum(value(predicted, f"stall_{name}") for name in STALLS)
    assert waits == pytest.approx(cycles, rel=0.01)
    issued = value(predicted, "issue_slots_active") / 100
    assert value(predicted, "active_warps") == pytest.approx(cycles * issued, rel=0.01)


def test_verdict_is_the_measured(
    pair: tuple[str, kernelprof.Capture, kernelprof.Capture],
) -> None:
    name, predicted, measured = pair
    (said,) = predicted.diagnose().kernels
    (known,) = measured.diagnose().kernels
    assert said.verdict.bottleneck == known.verdict.bottleneck == KERNELS[name]
    assert said.verdict.status is known.verdict.status
    sources = {each.source for each in said.verdict.evidence}
    assert sources <= {Origin.PREDICTED, Origin.COMPILER, Origin.DERIVED}


def test_intervals_hold_the_values(
    pair: tuple[str, kernelprof.Capture, kernelprof.Capture],
) -> None:
    _, predicted, measured = pair
    assert predicted.prediction is not None
    known = predicted.prediction.intervals
    assert {"duration", "issue_slots", "stall_long_scoreboard", "dram_throughput"} <= known.keys()
    held = []
    for name, (low, high) in known.items():
        assert low <= value(predicted, name) <= high, name
        if load_metrics()[name].ncu[0] in measured.columns:
            held.append(low <= value(measured, name) <= high)
    assert len(held) > 30
    assert sum(held) >= 0.9 * len(held)


def test_predicted_times_are_compared_apart_from_measured_ones(
    pair: tuple[str, kernelprof.Capture, kernelprof.Capture],
) -> None:
    _, predicted, _ = pair
    (kernel,) = make_snapshot(predicted, prediction=predicted.prediction).kernels
    assert kernel.total_ns is None
    assert kernel.times_ns == ()
    assert not {"issue_slots", "l1_throughput"} & kernel.metrics.keys()
    (change,) = kernelprof.compare(predicted, predicted).kernels
    assert change.time.outcome is TimeOutcome.UNDECIDED
    assert change.time.measured_by == "prediction"
    assert kernel.metrics["instructions"] > 0


@pytest.mark.slow("two predictions of a second")
def test_a_verdict_that_hangs_on_waits_is_never_sure() -> None:
    source = CUDA / "pairs" / "cooling-rods-solved-from-one-end" / "before.cu"
    (kernel,) = kernelprof.predict(source).diagnose().kernels
    verdict = kernel.verdict
    assert verdict.confidence is not kernelprof.Confidence.HIGH
    assert OPEN_IN_A_CASE in verdict.notes
    assert verdict.missing == ()
    assert verdict.command == f"kernelprof diagnose {source} --preset full"


@pytest.mark.slow("two predictions of a second")
def test_no_prediction_is_sure() -> None:
    source = CUDA / "pairs" / "row-norms-thread-per-row" / "before.cu"
    for arch, reason in (("sm_90", PREDICTED), ("sm_80", OPEN_IN_A_CASE)):
        (kernel,) = kernelprof.predict(source, arch=arch).diagnose().kernels
        assert kernel.verdict.bottleneck == "uncoalesced-global-access"
        assert kernel.verdict.confidence is kernelprof.Confidence.MEDIUM
        assert kernel.verdict.notes == (reason,)


def test_an_architecture_without_a_known_gpu_gets_no_time() -> None:
    counted = SimpleNamespace()
    assert estimate_times(counted, b"", (3, 0), resident=1, shared_bytes=0) is None  # type: ignore[arg-type]


BF16 = Path(kernelprof.__file__).parent / "recorded" / "h200-bf16"


@pytest.mark.parametrize(
    "rung",
    part_of(
        3,
        ["07_two_consumers", "04_wgmma", "05_larger_tile"],
        why="predicts rungs of the BF16 ladder, with copies by tensor maps and wgmma",
    ),
)
def test_rungs_on_hopper_take_the_measured_time(rung: str) -> None:
    """Within 15 %, as long as copies and products are under way side by side."""
    capture = kernelprof.predict(CUDA / "ladder" / "bf16" / f"{rung}.cu")
    measured = kernelprof.read(BF16 / rung)
    assert value(capture, "duration") == pytest.approx(value(measured, "duration"), rel=0.15)
    for exact in (
        "tma_loads",
        "tma_load_sectors",
        "tma_store_sectors",
        "shared_wavefronts",
        "shared_wavefronts_ideal",
    ):
        assert value(capture, exact) == value(measured, exact)
    assert value(capture, "instructions") == pytest.approx(
        value(measured, "instructions"), rel=0.05
    )
    assert value(capture, L2_SECTORS) == pytest.approx(value(measured, L2_SECTORS), rel=0.15)


L2_SECTORS = "l2_sectors_from_l1"


@pytest.mark.exhaustive("half a minute of a rung")
def test_what_is_multicast_comes_from_l2_once() -> None:
    capture = kernelprof.predict(CUDA / "ladder" / "bf16" / "10_cluster_multicast.cu")
    measured = kernelprof.read(BF16 / "10_cluster_multicast")
    assert value(capture, "tma_load_sectors") > 1.4 * value(capture, L2_SECTORS)
    assert value(capture, L2_SECTORS) == pytest.approx(value(measured, L2_SECTORS), rel=0.15)


def test_every_gpu_is_of_an_architecture_that_can_be_predicted() -> None:
    assert {f"sm_{major}{minor}" for major, minor in gpu_models()} <= set(PREDICTED_ARCHS)
    assert [each.name for each in gpu_models().values() if each.validated] == ["NVIDIA H200"]


def test_peak_of_device_memory_is_what_the_counters_say() -> None:
    capture = kernelprof.read(PAIRS / "column-statistics-three-passes" / "before")
    moved = value(capture, "dram_bytes_read") + value(capture, "dram_bytes_written")
    rate = moved / value(capture, "duration") * 1e9
    peak = rate / (value(capture, "dram_throughput") / 100)
    assert peak == pytest.approx(H200.dram_bytes_per_second, rel=0.01)
    assert value(capture, "sm_count") == H200.sms


def test_blocks_are_spread_over_sms() -> None:
    few = compute_residency(H200, grid=100, resident=4, block_bytes=1024, threads=256)
    assert (few.sms, few.blocks, few.blocks_of_sm) == (100, 1, 1)
    many = compute_residency(H200, grid=132 * 9 + 1, resident=4, block_bytes=1024, threads=256)
    assert (many.sms, many.blocks, many.blocks_of_sm) == (132, 4, 10)
    assert many.waves == pytest.approx((132 * 9 + 1) / (132 * 4))


def test_what_shared_memory_takes_is_not_left_to_l1() -> None:
    without = compute_residency(H200, grid=1000, resident=8, block_bytes=1024, threads=256)
    with_much = compute_residency(H200, grid=1000, resident=1, block_bytes=200 * 1024, threads=256)
    assert without.l1_bytes > 220 * 1024
    assert with_much.l1_bytes == (256 - 228) * 1024


def test_an_interval_is_between_two_factors_of_what_is_moved() -> None:
    spread = ModelError(kernels=40, offset=2.0, low=0.5, high=3.0)
    assert spread.around(6.0) == (2.0, 22.0)
    assert spread.around(0.0) == (0.0, 4.0)


@given(name=st.sampled_from(sorted(model_errors())), value=st.floats(0, 1e15))
def test_the_prediction_is_in_its_interval(name: str, value: float) -> None:
    low, high = model_errors()[name].around(value)
    assert 0 <= low <= value <= high


def test_all_that_models_say_has_one() -> None:
    names = model_errors().keys()
    assert names <= load_metrics().keys()
    never = {"gmma", "sleeping", "tex_throttle"}  # of kernels that a model of time takes
    assert {f"stall_{each}" for each in STALLS if each not in never} <= names
    assert {"duration", "dram_throughput", "l2_throughput", "achieved_occupancy"} <= names


def test_what_is_known_exactly_is_left_so() -> None:
    assert model_errors()["sm_count"].around(132.0) == pytest.approx((132.0, 132.0))


FEW_BLOCKS = """\
// /// kernelprof
// kernel = "few"
// block = [64]
// grid = ["blocks"]
// reference = "none"
//
// [sizes]
// blocks = 4096
//
// [check]
// sizes = { blocks = 8 }
//
// [[arguments]]
// name = "x"
// type = "float32"
// shape = [384]
// fill = "random"
// output = true
// ///
__global__ void few(float* x) {
    if (blockIdx.x >= 6) return;
    float sum = x[blockIdx.x * 64 + threadIdx.x];
    for (int k = 0; k < 20000; ++k) sum = sum * 0.5f + 1.0f;
    x[blockIdx.x * 64 + threadIdx.x] = sum;
}
"""


@pytest.mark.slow("two predictions")
def test_a_launch_takes_as_long_as_its_longest_block(tmp_path: Path) -> None:
    times = []
    for blocks in (6, 4096):
        source = tmp_path / f"few_{blocks}.cu"
        source.write_text(FEW_BLOCKS.replace("blocks = 4096", f"blocks = {blocks}"), "utf-8")
        times.append(value(kernelprof.predict(source), "duration"))
    assert times[1] == pytest.approx(times[0], rel=0.25)
