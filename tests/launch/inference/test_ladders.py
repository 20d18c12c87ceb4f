"""How people write the launches of a GEMM ladder, and the bindings of a collection of kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.launch.inference.extents import halve_check_size
from kernelprof.launch.inference.proposal import infer_specification

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.launch.inference.evidence import Guesses

CEIL_DIV = "#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))\n"
FILL = """__global__ void fill(int M, int N, float* C) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < M && y < N) C[x * N + y] = x;
}
"""
LINE = """__global__ void line(int n, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = i;
}
"""
TILED = """template <int BM, int BN>
__global__ void __launch_bounds__(BM * BN / 64) sgemm_tiled(
    int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
    __shared__ float As[BM * 8], Bs[BN * 8];
    A += blockIdx.y * BM * K;
    B += blockIdx.x * BN;
    C += blockIdx.y * BM * N + blockIdx.x * BN;
    int row = threadIdx.x / 2, column = threadIdx.x % 2;
    float sum = 0;
    for (int k = 0; k < K; k += 8) {
        reinterpret_cast<float4*>(&As[4 * threadIdx.x])[0] =
            reinterpret_cast<float4*>(&A[row * K + column * 4])[0];
        reinterpret_cast<float4*>(&Bs[4 * threadIdx.x])[0] =
            reinterpret_cast<float4*>(&B[row / 16 * N + column * 4])[0];
        __syncthreads();
        for (int i = 0; i < 8; i++) sum += As[row * 8 + i] * Bs[i * BN + column];
        A += 8;
        B += 8 * N;
    }
    float4 old = reinterpret_cast<float4*>(&C[row * N + column * 4])[0];
    old.x = alpha * sum + beta * old.x;
    reinterpret_cast<float4*>(&C[row * N + column * 4])[0] = old;
}
void run(int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
    if (M >= 128 and N >= 128) {
        const uint BM = 128;
        const uint BN = 128;
        dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
        sgemm_tiled<BM, BN><<<gridDim, BM * BN / 64>>>(M, N, K, alpha, A, B, beta, C);
    } else {
        const uint BM = 64;
        const uint BN = 64;
        dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
        sgemm_tiled<BM, BN><<<gridDim, BM * BN / 64>>>(M, N, K, alpha, A, B, beta, C);
    }
}
"""


def guesses_of(folder: Path, text: str, kernel: str | None = None) -> Guesses:
    path = folder / "k.cu"
    path.write_text(text, encoding="utf-8")
    return infer_specification(path, kernel=kernel).guesses


def grid_of(guesses: Guesses) -> list[str]:
    return [each.text for each in guesses.grid or ()]


def test_parameters_of_a_macro_can_be_called_as_its_arguments(tmp_path) -> None:
    run = "void run(int M, int N, float* C) { dim3 grid(CEIL_DIV(M, 32), CEIL_DIV(N, 32));\n"
    guesses = guesses_of(
        tmp_path, f"{CEIL_DIV}{FILL}{run} fill<<<grid, dim3(32, 32)>>>(M, N, C); }}"
    )
    assert grid_of(guesses) == ["ceil_div(M, 32)", "ceil_div(N, 32)"]


def test_constants_are_those_of_the_block_around_a_launch(tmp_path) -> None:
    guesses = guesses_of(tmp_path, CEIL_DIV + TILED)
    assert guesses.kernel == "sgemm_tiled<128, 128>"
    assert [each.text for each in guesses.block or ()] == ["256"]
    assert grid_of(guesses) == ["ceil_div(N, 128)", "ceil_div(M, 128)"]


def test_what_is_loaded_as_vectors_is_an_input(tmp_path) -> None:
    guesses = guesses_of(tmp_path, CEIL_DIV + TILED)
    assert (guesses.inputs, guesses.outputs) == (["A", "B"], ["C"])
    assert guesses.reference == "gemm"
    assert guesses.sizes == {"M": 4096, "N": 4096, "K": 4096}


def test_check_sizes_are_halved_where_tiles_stay_whole(tmp_path) -> None:
    guesses = guesses_of(tmp_path, CEIL_DIV + TILED)
    halved = [dict(guesses.check_sizes)]
    while len(halved) < 6 and halve_check_size(guesses):
        halved.append(dict(guesses.check_sizes))
    assert halved[0] == {"M": 256, "N": 384, "K": 128}
    assert halved[-1] == {"M": 128, "N": 384, "K": 8}


def test_a_length_that_is_still_open_may_be_made_of_what_is_in_addresses(tmp_path) -> None:
    kernel = """__global__ void total(int rows, int step, int again, const float* x, float* y) {
    float sum = 0;
    for (int i = 0; i < again; i++) { sum += x[threadIdx.x]; x += step; }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
void run(int rows, int step, int again, float* x, float* y) {
    total<<<rows, 64>>>(rows, step, again, x, y); }
"""
    guesses = guesses_of(tmp_path, kernel)
    assert guesses.arrays["x"].length is None
    assert (guesses.sizes["step"], guesses.sizes["again"]) == (4096, 16)


@pytest.mark.parametrize(
    "blocks",
    [
        "div_ceil(n, 64)",
        "n % 64 ? n / 64 + 1 : n / 64",
        "n / 64 + (n % 64 != 0)",
        "n / 64 + (n % 64 > 0)",
        "n / 64 + (n % 64 ? 1 : 0)",
    ],
)
def test_a_remainder_takes_a_block_more(tmp_path, blocks) -> None:
    text = "int div_ceil(int a, int b) { return (a % b != 0) ? (a / b + 1) : (a / b); }\n"
    text += f"{LINE}void run(int n, float* y) {{ line<<<{blocks}, 64>>>(n, y); }}\n"
    assert grid_of(guesses_of(tmp_path, text)) == ["ceil_div(n, 64)"]


def test_a_variable_that_is_multiplied_after_its_first_value_is_a_size(tmp_path) -> None:
    text = LINE + "void run(int dims, const int* size, float* y) {\n  int n = 1;\n"
    text += "  for (int i = 0; i < dims; ++i) { n *= size[i]; }\n"
    text += "  line<<<(n + 63) / 64, 64>>>(n, y); }\n"
    guesses = guesses_of(tmp_path, text)
    assert (grid_of(guesses), guesses.sizes) == (["ceil_div(n, 64)"], {"n": 1 << 24})


def test_a_step_of_the_loop_around_a_launch_changes_nothing_in_its_first_round(tmp_path) -> None:
    text = LINE + "void run(float* y) {\n  for (int n = 4096; n > 1; n /= 2)\n"
    text += "    line<<<(n + 63) / 64, 64>>>(n, y); }\n"
    assert guesses_of(tmp_path, text).sizes == {"n": 4096}


@pytest.mark.parametrize("switched", ["w", "(w)"])
def test_a_launch_of_a_case_knows_what_was_switched_on(tmp_path, switched) -> None:
    text = "template <int W> __global__ void row(float* y, int n) {\n"
    text += "  if (blockIdx.x < n) y[blockIdx.x * W + threadIdx.x] = 1; }\n"
    text += f"void run(float* y, int n, int w) {{\n  dim3 block(w);\n  switch ({switched}) {{\n"
    text += "  case 64: row<64><<<n, block>>>(y, n); break;\n"
    text += "  default: break; }\n}\n"
    guesses = guesses_of(tmp_path, text)
    assert guesses.kernel == "row<64>"
    assert [each.text for each in guesses.block or ()] == ["64"]


BINDING = """#define CHECK_TYPE(T, type) if (T.dtype() != type) { throw std::runtime_error("t"); }
#define BIND(name, type) \\
  void line_##name(torch::Tensor y) { \\
    CHECK_TYPE(y, (type)) \\
                          \\
    const int n = y.size(0); \\
    dim3 grid((n + 63) / 64); \\
    line < < < grid, 64 >>> (n, reinterpret_cast<float*>(y.data_ptr())); \\
  }
BIND(float, torch::kFloat32)
BIND(same, torch::kFloat32)
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("line", &line_float); }
"""


def test_functions_that_a_macro_defines_launch_a_kernel(tmp_path) -> None:
    assert grid_of(guesses_of(tmp_path, LINE + BINDING)) == ["ceil_div(n, 64)"]
