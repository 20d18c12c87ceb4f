"""A kernel is predicted for every architecture, and what one cannot carry out is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.support.few import few

from kernelprof.interface.prediction import unique_architectures
from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.prediction import predictor
from kernelprof.prediction.architectures import PREDICTED_ARCHS
from kernelprof.prediction.binding import NotRunnableError
from kernelprof.prediction.machine_code import compile_source
from kernelprof.prediction.predictor import predict_kernel

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.prediction.predictor import Prediction

HEAD = """\
// /// kernelprof
// kernel = "{kernel}"
// block = [128]
// grid = [2]
// reference = "{reference}"
// arguments = [
//   {{ name = "x", type = "float32", shape = ["n"] }},
//   {{ name = "y", type = "float32", shape = ["n"], output = true }},
// ]
// [sizes]
// n = 256
// [compile]
// flags = [{flags}]
// ///
"""
MIXTURE = """\
#include <cuda_fp16.h>
// Each block turns its part of x around, divides it and takes its sum and its largest number away.
extern "C" __global__ void mixture(const float* x, float* y) {
    __shared__ float tile[128];
    __shared__ float sum, largest[4];
    const int t = threadIdx.x, at = blockIdx.x * 128 + t;
    if (t == 0) sum = 0;
    tile[t] = x[at];
    __syncthreads();
    float high = tile[t], all = __half2float(__float2half(2.0f)) * 0.5f * tile[t];
    for (int far = 16; far > 0; far /= 2) {
        high = fmaxf(high, __shfl_xor_sync(~0u, high, far));
        all += __shfl_down_sync(~0u, all, far);
    }
    if (t % 32 == 0) {
        atomicAdd(&sum, all);
        largest[t / 32] = high;
    }
    __syncthreads();
    high = fmaxf(fmaxf(largest[0], largest[1]), fmaxf(largest[2], largest[3]));
    y[at] = (float)((double)tile[127 - t] / 0.35 - sum) - high;
}
"""
REFERENCE = """\
import numpy as np


def expected(x, n):
    parts = x.reshape(2, 128)
    sums, largest = parts.sum(axis=1, keepdims=True), parts.max(axis=1, keepdims=True)
    return {"y": (parts[:, ::-1] / 0.35 - sums - largest).reshape(-1)}
"""
ONLY_ON_A_GPU = {
    "bulk": (
        "sm_90",
        """asm volatile("cp.async.bulk.prefetch.L2.global [%0], 64;" :: "l"(x));""",
        "bulk copies (cp.async.bulk)",
    ),
    "texture": (
        "sm_80",
        "y[threadIdx.x] = tex1Dfetch<float>((cudaTextureObject_t)x, threadIdx.x);",
        "textures",
    ),
    "surface": (
        "sm_80",
        "surf1Dwrite(1.0f, (cudaSurfaceObject_t)x, threadIdx.x);",
        "surfaces",
    ),
    "tcgen05": (
        "sm_100",
        """asm volatile("tcgen05.fence::after_thread_sync;");
        __shared__ unsigned at;
        unsigned to = __cvta_generic_to_shared(&at);
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;"
                     :: "r"(to) : "memory");
        y[0] = at;""",
        "tcgen05 (tensor cores with tensor memory)",
    ),
    "clock": ("sm_90", "y[threadIdx.x] = clock64();", "the clock"),
}


def predicted(folder: Path, kernel: str, code: str, arch: str, flags: str = "") -> Prediction:
    """Predict a kernel whose reference, if it has one, stands beside it."""
    reference = "reference:expected" if (folder / "reference.py").exists() else "none"
    source = folder / "kernel.cu"
    head = HEAD.format(kernel=kernel, reference=reference, flags=flags)
    source.write_text(head + code, encoding="utf-8")
    found = compile_source(source, LaunchOverrides(), arch=arch, progress=lambda _: None)
    return predict_kernel(found, progress=lambda _: None)


@pytest.mark.parametrize("arch", few(PREDICTED_ARCHS, "sm_120", why="code alike"))
def test_a_kernel_is_right_on_every_architecture(arch: str, tmp_path: Path) -> None:
    (tmp_path / "reference.py").write_text(REFERENCE, encoding="utf-8")
    found = predicted(tmp_path, "mixture", MIXTURE, arch)
    (output,) = found.checked
    assert output.output == "y"
    columns = {name: column.values[0] for name, column in found.capture.columns.items()}
    assert columns["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 256 * 4 / 32
    assert columns["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == 256 * 4 / 32
    assert columns["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 8
    assert found.capture.launches[0].compute_capability == (int(arch[3:-1]), int(arch[-1]))


@pytest.mark.parametrize("name", ONLY_ON_A_GPU)
def test_what_only_a_gpu_can_run_is_named(name: str, tmp_path: Path) -> None:
    arch, statement, what = ONLY_ON_A_GPU[name]
    code = f'extern "C" __global__ void alone(const float* x, float* y) {{\n{statement}\n}}\n'
    with pytest.raises(NotRunnableError) as error:
        predicted(tmp_path, "alone", code, arch)
    assert what in error.value.what
    file, _, line = (error.value.where or "").rpartition(":")
    assert file == str(tmp_path / "kernel.cu")
    assert int(line) > HEAD.count("\n") + 1


def test_a_simulation_ends_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictor, "_MOST_SECONDS", 0.0)
    code = """extern "C" __global__ void mixture(const float* x, float* y) {
    for (int i = threadIdx.x; x[i % 256] < 0.99f && i < 9999; ++i) __syncthreads();
    y[blockIdx.x * 128 + threadIdx.x] = 1.0f;
}
"""
    with pytest.raises(NotRunnableError) as error:
        predicted(tmp_path, "mixture", code, "sm_90")
    assert error.value.what == ("the simulation of mixture was stopped after 0 s of CPU time")
    assert error.value.hint == (
        "choose a smaller --size (now n=256), or measure the kernel on a machine with a GPU"
    )


def test_the_architecture_specific_name_means_the_same() -> None:
    assert unique_architectures("sm_100a, sm_90a,sm_100") == ("sm_100", "sm_90")
