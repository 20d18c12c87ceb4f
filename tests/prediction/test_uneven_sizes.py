"""Check sizes that are no multiples of a block, where the kernel is right at them."""

from __future__ import annotations

import pytest

from kernelprof.launch.inference.extents import use_uneven_values
from kernelprof.launch.inference.proposal import propose
from kernelprof.prediction.completion import complete

LINE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
COPY = f"__global__ void copy(const float* x, float* y, int n) {{ {LINE} if (i < n) y[i] = x[i]; }}"
HOST = """
void run(int n) {
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    copy<<<(n + 255) / 256, 256>>>(x, y, n);
}
"""
FOURS = f"""
__global__ void four(const float4* x, float4* y, int n) {{ {LINE} if (i < n / 4) y[i] = x[i]; }}
void run(int n) {{
    float4 *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    four<<<(n / 4 + 255) / 256, 256>>>(x, y, n);
}}
"""
TILED = """
__global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < K / 16; ++t) {
        a[threadIdx.y][threadIdx.x] = row < M ? A[row * K + t * 16 + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = col < N ? B[(t * 16 + threadIdx.y) * N + col] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
"""
UNROLLED = """
template <int U> __global__ void scale(float* y, float a, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * U;
    for (int u = 0; u < U; ++u) if (i + u < n) y[i + u] *= a;
}
template __global__ void scale<4>(float*, float, int);
"""


@pytest.fixture
def completed(tmp_path):
    """Write a source, and complete what is guessed of its kernel."""

    def run(source):
        path = tmp_path / "kernel.cu"
        path.write_text(source)
        proposal = propose(path)
        complete(proposal, lambda _: None)
        return proposal.guesses

    return run


def test_no_multiple_of_the_block(completed) -> None:
    guesses = completed(COPY)
    assert guesses.sizes == {"n": 1 << 24}
    assert guesses.check_sizes == {"n": 65521}
    assert guesses.reference == "copy"
    assert guesses.remarks == []
    assert guesses.why["check"] == "no multiples, so that a missing bounds check shows"


def test_a_missing_bounds_check_is_told(completed) -> None:
    guesses = completed(COPY.replace("if (i < n)", "") + HOST)
    assert guesses.check_sizes == {"n": 65536}
    (said,) = guesses.remarks
    assert said.startswith(
        "at n = 65521 the kernel goes wrong, so that its check keeps to multiples: the kernel "
        "accessed memory that is not its own"
    )
    assert "x[65521] is 1 element (4 bytes) past the last of x" in said
    assert guesses.trouble == ""


def test_threads_with_four_elements_have_a_multiple_of_four(completed) -> None:
    guesses = completed(FOURS)
    assert guesses.check_sizes["n"] % 256 != 0
    assert guesses.remarks == []


@pytest.mark.slow("a kernel is run at several sizes")
def test_one_size_alone_keeps_to_multiples(completed) -> None:
    guesses = completed(TILED)
    assert guesses.check_sizes == {"M": 251, "N": 379, "K": 128}
    assert guesses.reference == "gemm"
    (said,) = guesses.remarks
    assert said.startswith("at K = 123 the kernel goes wrong, so that its check keeps to multiples")


def test_an_array_is_as_long_as_any_thread_reaches(completed) -> None:
    array = completed(UNROLLED).arrays["y"]
    assert array.dimensions == ["n"]
    assert array.why == "as far as it reaches in 3 small cases"


def test_a_wrong_reference_is_taken_back_at_uneven_sizes_too(completed) -> None:
    guesses = completed(COPY.replace("= x[i]", "= 2 * x[i]"))
    assert guesses.reference is None
    assert guesses.check_sizes == {"n": 65521}
    assert guesses.remarks == []


@pytest.mark.parametrize(("guard", "size"), [("if (i < n)", 65521), ("", 65536)])
def test_what_is_not_run_is_uneven_only_behind_a_bounds_check(tmp_path, guard, size) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(COPY.replace("if (i < n)", guard) + HOST)
    guesses = propose(path).guesses
    use_uneven_values(guesses)
    assert guesses.check_sizes == {"n": size}


@pytest.mark.slow("a kernel is run at several sizes")
def test_work_that_grows_with_the_square_has_smaller_sizes(completed) -> None:
    source = f"""
    __global__ void pairs(const float* x, float* y, int n) {{
        {LINE}
        float sum = 0;
        if (i < n) {{
            for (int j = 0; j < n; ++j) sum += rsqrtf(1 + (x[i] - x[j]) * (x[i] - x[j]));
            y[i] = sum;
        }}
    }}
    """
    guesses = completed(source)
    assert guesses.trouble == ""
    assert guesses.sizes["n"] <= 1 << 18
