"""GPUs that kernels are predicted for, against what a capture of one says."""

from __future__ import annotations

import pytest
from tests.support.captures import PAIRS

import kernelprof
from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.prediction.architectures import PREDICTED_ARCHS
from kernelprof.prediction.gpus import gpu_models
from sassim.residency import compute_residency

H200 = gpu_models()[9, 0]


def test_every_gpu_is_of_an_architecture_that_can_be_predicted() -> None:
    assert {f"sm_{major}{minor}" for major, minor in gpu_models()} <= set(PREDICTED_ARCHS)
    assert [each.name for each in gpu_models().values() if each.validated] == ["NVIDIA H200"]


def test_peak_of_device_memory_is_what_the_counters_say() -> None:
    capture = kernelprof.read(PAIRS / "column-statistics-three-passes" / "before")

    def value(name: str) -> float:
        return float(capture.columns[catalogue()[name].ncu[0]].values[0])

    moved = value("dram_bytes_read") + value("dram_bytes_written")
    rate = moved / value("duration") * 1e9
    peak = rate / (value("dram_throughput") / 100)
    assert peak == pytest.approx(H200.dram_bytes_per_second, rel=0.01)
    assert value("sm_count") == H200.sms


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
