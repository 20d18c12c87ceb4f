"""What small cases of a kernel tell about its launch."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.launch.inference.amounts import ceil_div, constant_size, parse_size
from kernelprof.launch.inference.extents import use_uneven_values
from kernelprof.launch.inference.proposal import infer_specification
from kernelprof.prediction import completion
from kernelprof.prediction.completion import complete_specification
from kernelprof.prediction.length_fit import fit_length

LINE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


@pytest.fixture
def completed(tmp_path):
    """Write a source, and complete what is guessed of its kernel."""

    def run(source, **options):
        path = tmp_path / "kernel.cu"
        path.write_text(source)
        proposal = infer_specification(path, **options)
        complete_specification(proposal, lambda _: None)
        return proposal

    return run


def test_lengths_that_the_source_does_not_tell(completed) -> None:
    proposal = completed(
        f"__global__ void f(const float* a, float* b, int n) {{ {LINE}\n"
        "  int at = 0; for (int k = 0; k < 3; ++k) at += i;\n"
        "  if (i < n) b[at] = a[i ^ 1]; }"
    )
    guesses = proposal.guesses
    assert guesses.arrays["a"].length == parse_size("n")
    assert guesses.arrays["b"].length.text == "3 * n - 2"
    assert guesses.arrays["b"].why == "the extent that the kernel accesses in 2 small test launches"
    assert proposal.draft().unfilled == ()


def test_small_cases_take_so_long_together_and_no_longer(completed, monkeypatch) -> None:
    monkeypatch.setattr(completion, "_MOST_SECONDS", 0.0)
    guesses = completed(
        f"__global__ void f(const int* a, int* b, int n) {{ {LINE} if (i < n) b[i] = a[i ^ 1]; }}"
    ).guesses
    assert guesses.arrays["a"].length is None
    assert guesses.remarks == [
        "the inferred launch was not tested: small test launches take too long"
    ]


def test_indices_are_told_from_values(completed) -> None:
    source = f"""
    __global__ void f(const int* where, const int* plain, const float* t, float* y, int n) {{ {LINE}
      if (i < n) y[i] = t[where[i] ^ 0] + plain[i]; }}
    """
    arrays = completed(source).guesses.arrays
    assert (arrays["where"].limit, arrays["plain"].limit) == (parse_size("n"), None)
    assert arrays["where"].why_fill.startswith("used to address t")


def test_an_array_that_is_read_first_has_values(completed) -> None:
    """The source hides in a macro that the kernel reads it."""
    proposal = completed(f"""
    #define F(k) a[(k) * n + i]
    __global__ void f(float* a, int n) {{ {LINE}
      if (i < n) {{ float sum = F(0) + F(1); a[i] = sum; }} }}
    """)
    a = proposal.guesses.arrays["a"]
    assert (a.fill, a.why_fill) == ("random", "read before it is written")
    assert (a.output, proposal.guesses.trouble) == (True, "")


def test_a_table_that_is_probed_and_changed(completed) -> None:
    """What addresses depend on alone is not enough: the whole kernel is run instead."""
    proposal = completed(f"""
    __global__ void f(const unsigned* keys, unsigned* table, unsigned* at, int n, int size) {{
      {LINE}
      if (i < n) {{ unsigned slot = keys[i] % size;
        for (int k = 0; k < 8; ++k) {{
          unsigned other = table[slot];
          if (other == keys[i]) break;
          table[slot] = other + 1;
          slot = (slot + other) % size; }}
        at[i] = slot; }} }}
    """)
    assert proposal.guesses.arrays["table"].length is not None
    assert proposal.guesses.trouble == ""


@pytest.mark.slow("one more kernel to complete")
def test_how_many_values_are_zero_makes_no_index(completed) -> None:
    source = f"""
    __global__ void keep(const int* x, int* y, int* count, int n) {{ {LINE}
      if (i < n && x[i] > 0) {{ int at = atomicAdd(count, 1); y[at] = x[i]; }} }}
    """
    assert completed(source).guesses.arrays["x"].limit is None


def test_shared_memory_that_nobody_says_the_size_of(completed) -> None:
    source = f"""
    __device__ float* pool() {{ extern __shared__ float room[]; return room; }}
    __global__ void f(float* y, int n) {{ float* s = pool(); {LINE}
      s[2 * threadIdx.x] = i; __syncthreads(); if (i < n) y[i] = s[2 * threadIdx.x ^ 2]; }}
    void go(float* y, int n, size_t bytes) {{ f<<<(n + 127) / 128, 128, bytes>>>(y, n); }}
    """
    guesses = completed(source).guesses
    assert guesses.shared_bytes == constant_size(4 * 255)
    assert guesses.block == [constant_size(128)]


STENCIL = """
#define IDX(i, j, k) (((i) * ny + (j)) * nz + (k))
__global__ void seven_points(const float* u, float* v, int nx, int ny, int nz) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int i = blockIdx.z * blockDim.z + threadIdx.z;
    if (i >= 1 && i < nx - 1 && j >= 1 && j < ny - 1 && k >= 1 && k < nz - 1)
        v[IDX(i, j, k)] = u[IDX(i - 1, j, k)] + u[IDX(i + 1, j, k)] + u[IDX(i, j - 1, k)]
                        + u[IDX(i, j + 1, k)] + u[IDX(i, j, k - 1)] + u[IDX(i, j, k + 1)];
}
"""
SPARSE_AT_FIRST = """
    int at = i >> 17 ? i : i % 1000;
    for (int k = 0; k < 1; ++k) at ^= 0;
    if (i < n) y[at] ="""


def test_an_interior_that_is_written_is_part_of_the_whole(completed) -> None:
    guesses = completed(STENCIL).guesses
    assert not guesses.trouble
    assert {each.length.text for each in guesses.arrays.values()} == {"nx * ny * nz"}


def test_a_length_that_larger_sizes_contradict_is_that_of_another_array(completed) -> None:
    source = f"""__global__ void f(const float* x, float* y, int n) {{
        {LINE} {SPARSE_AT_FIRST} x[i]; }}"""
    guesses = completed(source).guesses
    assert not guesses.trouble
    assert guesses.arrays["y"].length == parse_size("n")
    why = "the extent that the kernel accesses in small test launches, extended to the length of x"
    assert guesses.arrays["y"].why == why


@pytest.mark.slow("one more kernel to complete")
def test_a_length_that_larger_sizes_contradict_is_asked_for(completed) -> None:
    source = f"__global__ void f(float* y, int n) {{ {LINE} {SPARSE_AT_FIRST} i; }}"
    proposal = completed(source)
    assert proposal.guesses.arrays["y"].length is None
    assert [text for _, text in proposal.draft().unfilled] == ["shape = []"]
    assert proposal.draft().remarks == (
        "the length of y is unknown: at larger sizes the kernel accesses more of it than the "
        "small test launches suggest",
    )


PADDED = """
__global__ void speed(int padded, float* flow, float* areas, float* steps) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    float sum = 0;
    int at = 0;
    for (int part = 0; part < 5; ++part) { sum += flow[i + at]; at += padded; }
    steps[i] = sum / areas[i];
}
int main() {
    int n = 100000, padded = 256 * (n / 256 + min(1, n % 256));
    float *flow, *areas, *steps;
    speed<<<padded / 256, 256>>>(padded, flow, areas, steps);
}
"""


def test_a_length_that_one_case_more_contradicts_fits_that_too(completed) -> None:
    """As ``euler3d`` of Rodinia, whose first cases are all multiples of a block."""
    proposal = completed(PADDED)
    guesses = proposal.guesses
    assert proposal.blanks() == ()
    assert guesses.check_sizes["n"] % 256
    length = guesses.arrays["flow"].length
    assert [length.value({**guesses.sizes, "n": n}) for n in (256, 257, 100_000)] == [
        5 * 256,
        5 * 512,
        5 * 256 * 391,
    ]
    assert guesses.arrays["flow"].why.startswith(completion._FITTED)
    assert not guesses.remarks


HISTOGRAM = """
__global__ void histogram(const unsigned* data, unsigned* bins, int n, int nbins) {
    extern __shared__ unsigned local[];
    __shared__ unsigned total[256];
    total[threadIdx.x] = 0;
    for (int b = threadIdx.x; b < nbins; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < nbins; b += blockDim.x)
        atomicAdd(&bins[b], local[b] + total[(threadIdx.x + 1) % 256]);
}
"""


def test_sizes_shrink_until_a_block_has_shared_memory_for_them(completed) -> None:
    guesses = completed(HISTOGRAM).guesses
    assert guesses.shared_bytes is not None
    assert guesses.shared_bytes.text == "4 * nbins"
    assert guesses.sizes == {"n": 1 << 24, "nbins": 8192}
    assert guesses.why["sizes.nbins"] == "limited by the shared memory of a block"


@pytest.mark.slow("one more kernel to complete")
def test_a_case_that_needs_more_shared_memory_than_there_is_gets_smaller(completed) -> None:
    source = """
    __device__ float* pool() { extern __shared__ float room[]; return room; }
    __global__ void reverse(float* d, int n) {
        float* s = pool();
        for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = d[i];
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) d[i] = s[n - 1 - i];
    }
    void go(float* d, int n, size_t bytes) { reverse<<<1, 256, bytes>>>(d, n); }
    """
    guesses = completed(source).guesses
    assert not guesses.trouble
    assert guesses.shared_bytes is not None
    assert guesses.shared_bytes.text == "4 * n"
    assert guesses.sizes == {"n": 8192}
    assert guesses.check_sizes["n"] <= 8192


def test_a_kernel_that_goes_wrong_is_a_question(completed) -> None:
    source = f"__global__ void f(float* y, int n) {{ {LINE} if (i < n) y[i - 1] = 0; }}"
    (question,) = (text for _, text in completed(source).draft().unfilled)
    assert question.startswith("# with the inferred values, which may be wrong, the kernel fails: ")
    assert "bytes before y" in question


def test_what_goes_wrong_is_at_its_line_of_the_file_with_the_specification(completed) -> None:
    source = f"""__global__ void f(const float* x, float* y, int n) {{ {LINE}
        if (i < n) {{
            float a = x[i ^ 4];
            y[i] = a; }} }}
    """
    (remark,) = completed(source).draft().remarks
    text = completed(source).draft().text
    (number,) = re.findall(r"kernel\.cu:(\d+)", remark)
    assert text.splitlines()[int(number) - 1].strip() == "float a = x[i ^ 4];"


def test_a_reference_that_the_result_contradicts_is_taken_back(completed) -> None:
    source = f"__global__ void copy_twice(const float* x, float* y, int n) {{ {LINE}\n"
    source += "  if (i < n) y[i] = 2 * x[i]; }"
    guesses = completed(source).guesses
    assert guesses.reference is None
    assert guesses.why["reference"] == "the result does not match copy, so no reference is used"


def test_a_reference_that_does_not_fit_the_arrays_is_taken_back(completed) -> None:
    source = f"""
    __global__ void dot(const float4* a, const float* b, float* sum, int n) {{ {LINE}
        if (i < n) atomicAdd(sum, a[i].x * b[i]); }}
    """
    proposal = completed(source)
    assert proposal.guesses.reference is None
    assert (proposal.guesses.flops, proposal.guesses.why.get("reference")) == (None, None)
    assert proposal.draft().remarks == ()
    assert proposal.guesses.check_sizes["n"] % 32  # and it was tried


def test_a_right_reference_stays(completed) -> None:
    source = f"__global__ void copy_once(const float* x, float* y, int n) {{ {LINE}\n"
    source += "  if (i < n) y[i] = x[i]; }"
    assert completed(source).guesses.reference == "copy"


@pytest.mark.slow("one more kernel to complete")
def test_another_version_that_differs_is_no_question(completed, tmp_path) -> None:
    old = tmp_path / "old.cu"
    old.write_text(f"__global__ void f(float* y, int n) {{ {LINE} if (i < n) y[i] = 1; }}")
    source = f"__global__ void f(float* y, int n) {{ {LINE} if (i < n) y[i] = 2; }}"
    proposal = completed(source, against=old)
    assert proposal.draft().unfilled == ()
    assert "differs from old.cu" in proposal.draft().remarks[0]


@given(st.integers(1, 12), st.integers(-3, 9), st.integers(2, 40), st.integers(2, 40))
def test_a_product_that_fits_all_cases(times, more, n, m) -> None:
    cases = [{"n": n, "m": m}, {"n": 2 * n, "m": m}, {"n": n, "m": 3 * m}]
    wanted = parse_size("n") * parse_size("m") * constant_size(times) + constant_size(more)
    ends = [(case, wanted.value(case)) for case in cases]
    found = fit_length(ends, [parse_size("n"), parse_size("m")])
    assert found is not None
    assert [found.value(case) for case in cases] == [end for _, end in ends]


def test_where_nothing_is_exact_a_plain_product_comes_first() -> None:
    """63 of a tile of 8 by 8 are nearer to the interior in these cases, and too few in others."""
    cases = [{"n": 64, "m": 64}, {"n": 64, "m": 32}, {"n": 32, "m": 64}]
    ends = [(case, (case["n"] - 1) * case["m"] - 1) for case in cases]
    tiles = [ceil_div(parse_size(name), constant_size(8)) for name in ("n", "m")]
    assert fit_length(ends, [parse_size("n"), parse_size("m"), *tiles]) == parse_size(
        "n"
    ) * parse_size("m")


def test_nothing_fits_what_no_size_decides() -> None:
    ends = [({"n": 10}, 1000), ({"n": 20}, 17)]
    assert fit_length(ends, [parse_size("n")]) is None


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


def test_no_multiple_of_the_block(completed) -> None:
    guesses = completed(COPY).guesses
    assert guesses.sizes == {"n": 1 << 24}
    assert guesses.check_sizes == {"n": 65521}
    assert guesses.reference == "copy"
    assert guesses.remarks == []
    assert guesses.why["check"] == (
        "not multiples of the block size, to expose a missing bounds check"
    )


def test_a_missing_bounds_check_is_told(completed) -> None:
    guesses = completed(COPY.replace("if (i < n)", "") + HOST).guesses
    assert guesses.check_sizes == {"n": 65536}
    (said,) = guesses.remarks
    assert said.startswith(
        "the check uses multiples of the block or tile size, because the kernel fails at "
        "n = 65521: the kernel accessed memory outside its arrays"
    )
    assert "the access at x[65521] ends 1 element (4 bytes) past the end of x" in said
    assert guesses.trouble == ""


def test_threads_with_four_elements_have_a_multiple_of_four(completed) -> None:
    guesses = completed(FOURS).guesses
    assert guesses.check_sizes["n"] % 256 != 0
    assert guesses.remarks == []


@pytest.mark.slow("a kernel is run at several sizes")
def test_one_size_alone_keeps_to_multiples(completed) -> None:
    guesses = completed(TILED).guesses
    assert guesses.check_sizes == {"M": 251, "N": 379, "K": 128}
    assert guesses.reference == "gemm"
    (said,) = guesses.remarks
    assert said.startswith(
        "the check uses multiples of the block or tile size, because the kernel fails at K = 123: "
    )


def test_an_array_is_as_long_as_any_thread_reaches(completed) -> None:
    array = completed(UNROLLED).guesses.arrays["y"]
    assert array.dimensions == ["n"]
    assert array.why == "the extent that the kernel accesses in 3 small test launches"


def test_a_wrong_reference_is_taken_back_at_uneven_sizes_too(completed) -> None:
    guesses = completed(COPY.replace("= x[i]", "= 2 * x[i]")).guesses
    assert guesses.reference is None
    assert guesses.check_sizes == {"n": 65521}
    assert guesses.remarks == []


@pytest.mark.parametrize(("guard", "size"), [("if (i < n)", 65521), ("", 65536)])
def test_what_is_not_run_is_uneven_only_behind_a_bounds_check(tmp_path, guard, size) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(COPY.replace("if (i < n)", guard) + HOST)
    guesses = infer_specification(path).guesses
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
    guesses = completed(source).guesses
    assert guesses.trouble == ""
    assert guesses.sizes["n"] <= 1 << 18
