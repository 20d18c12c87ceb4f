"""How much shared memory a block takes, and which launches no GPU makes for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.errors import ExitCode
from kernelprof.launch.run.trial import LaunchError
from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.prediction.architectures import PREDICTED_ARCHS
from kernelprof.prediction.binding import refuse_too_much_shared_memory
from kernelprof.prediction.machine_code import compile_source
from kernelprof.prediction.predictor import predict_kernel
from sassim.occupancy import shared_bytes
from sassim.sass.cubin import KernelResources

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
// /// kernelprof
// kernel = "f"
// block = [128]
// grid = [2]
// reference = "none"
// arguments = [
//   { name = "y", type = "float32", shape = [256], output = true },
// ]
// [sizes]
// n = 70000
// [check]
// sizes = { n = 128 }
// [launch]
// shared_bytes = "4 * n"
// ///
extern "C" __global__ void f(float* y) {
    extern __shared__ float room[];
    __shared__ float own[128];
    own[threadIdx.x] = room[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[blockIdx.x * 128 + threadIdx.x] = room[127 - threadIdx.x] + own[127 - threadIdx.x];
}
"""
MOST_KIB = {
    "sm_75": 64,
    "sm_80": 163,
    "sm_86": 99,
    "sm_87": 163,
    "sm_89": 99,
    "sm_90": 227,
    "sm_100": 227,
    "sm_103": 227,
    "sm_120": 99,
    "sm_121": 99,
}
"""CUDA C++ Programming Guide: "Maximum amount of shared memory per thread block"."""


@pytest.mark.parametrize("arch", PREDICTED_ARCHS)
def test_a_block_has_what_the_guide_says(arch: str) -> None:
    none, most = KernelResources(registers=32, shared_bytes=0, stack_bytes=0), MOST_KIB[arch] * 1024
    refuse_too_much_shared_memory(none, most, arch, "here")
    with pytest.raises(LaunchError, match=rf"but {arch} allows only {most} per block"):
        refuse_too_much_shared_memory(none, most + 1, arch + "a", "here")


@pytest.mark.parametrize(("arch", "static"), [("sm_80", 512), ("sm_90", 1536)])
def test_the_system_s_part_is_counted_once(arch: str, static: int) -> None:
    resources = KernelResources(registers=32, shared_bytes=static, stack_bytes=0)
    assert shared_bytes(resources, 1000, (int(arch[3]), 0)) == 512 + 1000 + 1024
    with pytest.raises(LaunchError, match=r"needs 300512 bytes .*\(512 static, 300000 dynamic\)"):
        refuse_too_much_shared_memory(resources, 300_000, arch, "here")


def test_a_launch_without_room_is_the_user_s_error(tmp_path: Path) -> None:
    source = tmp_path / "kernel.cu"
    source.write_text(SOURCE, encoding="utf-8")
    found = compile_source(source, LaunchOverrides(), progress=lambda _: None)
    with pytest.raises(LaunchError) as caught:
        predict_kernel(found, progress=lambda _: None)
    assert caught.value.exit_code is ExitCode.BAD_INPUT
    assert caught.value.where == str(source)
    assert caught.value.what == (
        "a block needs 280512 bytes of shared memory (512 static, 280000 dynamic), but sm_90 "
        "allows only 232448 per block"
    )
