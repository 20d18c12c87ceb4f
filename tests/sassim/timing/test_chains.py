"""Kernels whose time is known: a chain of multiply-adds, and as many as the pipe takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import kernelprof
from kernelprof.analysis.metrics.catalogue import load_metrics

if TYPE_CHECKING:
    from pathlib import Path

STEPS = 4096
LATENCY = 4
"""Cycles of Hopper from one multiply-add to another that needs its result, as its machine code says
(and Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via
Microbenchmarking", 2024, table of instruction latencies)."""

SOURCE = """\
// /// kernelprof
// kernel = "chain"
// block = [{threads}]
// grid = [132]
// reference = "none"
// arguments = [
//   {{ name = "x", type = "float32", shape = [{elements}] }},
//   {{ name = "sums", type = "float32", shape = [{elements}], output = true }},
// ]
// ///
extern "C" __global__ void chain(const float *x, float *sums) {{
    const int mine = blockIdx.x * blockDim.x + threadIdx.x;
    const float by = x[mine];
    float sum = by;
    #pragma unroll 64
    for (int n = 0; n < {steps}; n++) sum = fmaf(sum, by, 1.0f);
    sums[mine] = sum;
}}
"""


def predicted(folder: Path, threads: int, arch: str = "sm_90") -> kernelprof.Capture:
    source = folder / "chain.cu"
    source.write_text(
        SOURCE.format(threads=threads, elements=132 * threads, steps=STEPS), encoding="utf-8"
    )
    return kernelprof.predict(source, arch=arch)


def value(capture: kernelprof.Capture, name: str) -> float:
    return float(capture.columns[load_metrics()[name].ncu[0]].values[0])


def test_one_warp_waits_for_each_result(tmp_path: Path) -> None:
    capture = predicted(tmp_path, 32)
    assert value(capture, "sm_cycles_active") == pytest.approx(LATENCY * STEPS, rel=0.15)
    wait = value(capture, "stall_wait") / value(capture, "warp_cycles_per_instruction")
    assert wait == pytest.approx(1 - 1 / LATENCY, abs=0.1)


@pytest.mark.slow("thousands of turns are modelled")
def test_many_warps_fill_the_pipe(tmp_path: Path) -> None:
    capture = predicted(tmp_path, 1024)
    # 32 warps share four schedulers, one multiply-add a cycle each at best.
    assert value(capture, "sm_cycles_active") == pytest.approx(8 * STEPS, rel=0.25)
    assert value(capture, "stall_wait") < value(capture, "warp_cycles_per_instruction") / 2


def test_an_architecture_without_a_known_gpu_has_no_time(tmp_path: Path) -> None:
    capture = predicted(tmp_path, 32, "sm_103")
    assert value(capture, "instructions") > 132 * STEPS
    assert load_metrics()["duration"].ncu[0] not in capture.columns
    assert capture.cases == ()
