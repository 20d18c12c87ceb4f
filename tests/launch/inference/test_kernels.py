"""Plain kernels, and what is guessed of them: from the source alone, nothing is run."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.amounts import number, read, size
from kernelprof.launch.inference.evidence import Guesses
from kernelprof.launch.inference.extents import halve_check_size
from kernelprof.launch.inference.proposal import draft
from kernelprof.launch.specification.reader import load_spec

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"

SOFTMAX = """
__global__ void row_softmax(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x;
    __shared__ float part[128];
    float most = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) most = fmaxf(most, x[row * cols + c]);
    part[threadIdx.x] = most;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
        y[row * cols + c] = expf(x[row * cols + c]);
}
"""
SPMV = """
template <typename T>
__global__ void spmv_csr(const int* row_ptr, const int* col_idx, const T* values, const T* x, T* y,
                         int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    T sum = 0;
    for (int j = row_ptr[row]; j < row_ptr[row + 1]; ++j) sum += values[j] * x[col_idx[j]];
    y[row] = sum;
}
template __global__ void spmv_csr<float>(const int*, const int*, const float*, const float*, float*,
                                         int);
"""
SCATTER = f"""
__global__ void scatter(const float* in, const int* to, float* out, int n) {{
    {INDEX}
    if (i < n) out[to[i]] = in[i];
}}
"""
AXPY = f"""
__global__ void half_axpy(half2* y, const half2* x, half2 unused, int n) {{
    {INDEX}
    if (i < n) y[i] = __hadd2(y[i], x[i]);
}}
""".replace(" half2 unused,", "")
PARTICLES = f"""
struct Particle {{ float3 position; float3 velocity; float mass; }};
__global__ void move(Particle* p, float dt, int count) {{
    {INDEX}
    if (i < count) p[i].position.x += dt * p[i].velocity.x;
}}
"""
HOST = """
#include <cstdlib>
#define CEIL(a, b) (((a) + (b) - 1) / (b))
__global__ void blur(const float* in, float* out, int width, int height, int unused) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = 0.5f * in[y * width + x];
}
void run(const float* d_in, float* d_out, int w, int h) {
    dim3 block(32, 8);
    dim3 grid(CEIL(w, block.x), CEIL(h, block.y));
    blur<<<grid, block>>>(d_in, d_out, w, h, 3);
}
int main(int argc, char** argv) {
    const int w = 1920;
    int h = 1080;
    if (argc > 1) h = atoi(argv[1]);
    float *in, *out;
    cudaMalloc(&in, w * h * sizeof(float));
    cudaMalloc((void**)&out, sizeof(float) * w * (h + 2));
    run(in, out, w, h);
}
"""
BOUNDED = """
__global__ void __launch_bounds__(192) sum_rows(const float* a, float* out, int m, int k) {
    int row = blockIdx.x * 192 + threadIdx.x;
    if (row < m) { float s = 0; for (int c = 0; c < k; ++c) s += a[row * k + c]; out[row] = s; }
}
"""
STENCIL = """
__global__ void five_points(const double* a, double* b, int nx, int ny) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && x < nx - 1 && y > 0 && y < ny - 1)
        b[y * nx + x] = a[y * nx + x - 1] + a[y * nx + x + 1] + a[(y - 1) * nx + x]
                      + a[(y + 1) * nx + x];
}
"""
HISTOGRAM = f"""
__global__ void histogram(const unsigned char* data, unsigned int* counts, int n) {{
    {INDEX}
    if (i < n) atomicAdd(&counts[data[i]], 1u);
}}
"""
MATMUL = """
__global__ void matmul_nt(const float* A, const float* B, float* C, int M, int N, int K) {
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[col * K + k];
    C[row * N + col] = sum;
}
"""
LAYERNORM = """
__global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, int n,
                          int width, float eps) {
    extern __shared__ float part[];
    const float* row = x + blockIdx.x * width;
    float s = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) s += row[i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        y[blockIdx.x * width + i] = (row[i] - s) * gamma[i] + beta[i] + eps;
}
"""


@pytest.fixture
def init(tmp_path):
    """Write a source, initialise it without a blank, and load what was written."""

    def run(source, **options):
        path = tmp_path / "kernel.cu"
        path.write_text(source)
        made = draft(path, **options)
        path.write_text(made.text)
        assert made.unfilled == ()
        return load_spec(path)

    return run


def arrays(spec, sizes=None):
    """The shapes of all arrays at some sizes."""
    return {name: each.shape for name, each in spec.resolve(sizes).arrays.items()}


def test_a_row_for_each_block(init) -> None:
    spec = init(SOFTMAX)
    launch = spec.resolve({"rows": 7, "cols": 1000})
    assert (launch.grid, launch.block) == ((7, 1, 1), (128, 1, 1))
    assert arrays(spec, {"rows": 7, "cols": 1000}) == {"x": (7, 1000), "y": (7, 1000)}
    assert spec.reference == "softmax"


def test_a_sparse_matrix_by_how_it_is_used(init) -> None:
    spec = init(SPMV)
    assert spec.kernel == "spmv_csr<float>"
    by_name = {each.name: each for each in spec.arguments}
    assert by_name["row_ptr"].fill == "offsets"
    assert by_name["values"].type == "float32"
    launch = spec.resolve({"n": 100})
    found = launch.arrays
    assert found["row_ptr"].shape == (101,)
    (entries,) = found["values"].shape
    assert found["col_idx"].shape == (entries,) == (found["row_ptr"].limit,)
    assert found["col_idx"].limit == 100
    assert found["x"].shape == (100,)


def test_places_that_are_written_once_each(init) -> None:
    spec = init(SCATTER)
    to = spec.arguments[1]
    assert (to.fill, to.output) == ("permutation", False)
    assert arrays(spec, {"n": 40}) == {"in": (40,), "to": (40,), "out": (40,)}


def test_pairs_of_halves_are_a_dimension(init) -> None:
    spec = init(AXPY)
    assert [each.type for each in spec.arguments] == ["float16", "float16", "int32"]
    assert arrays(spec, {"n": 8}) == {"y": (8, 2), "x": (8, 2)}
    assert spec.arguments[0].fill == "random"


def test_a_structure_of_one_type_is_a_dimension(init) -> None:
    spec = init(PARTICLES)
    assert arrays(spec, {"count": 5}) == {"p": (5, 7)}
    assert (spec.arguments[0].type, spec.arguments[1].value.text) == ("float32", "1.0")


def test_a_structure_of_several_types_is_bytes_of_zero(init) -> None:
    spec = init(PARTICLES.replace("float mass", "int kind; double mass"))
    assert (spec.arguments[0].type, spec.arguments[0].fill) == ("uint8", "zeros")
    assert arrays(spec, {"count": 5}) == {"p": (5, 40)}  # six floats, an int, padding, a double


def test_what_the_host(init) -> None:
    spec = init(HOST)
    assert spec.sizes == {"w": 1920, "h": 1080}
    launch = spec.resolve({"w": 100, "h": 20})
    assert (launch.grid, launch.block) == ((4, 3, 1), (32, 8, 1))
    assert arrays(spec, {"w": 100, "h": 20}) == {"in": (2000,), "out": (2200,)}
    assert [each.value.text for each in spec.arguments[2:]] == ["w", "h", "3"]


def test_the_host_of_another_instance_does_not_count(init) -> None:
    source = SPMV + "void go(int* p, int* c, double* v, double* x, double* y, int rows) {\n"
    source += "  spmv_csr<double><<<rows, 1>>>(p, c, v, x, y, rows); }\n"
    assert init(source).kernel == "spmv_csr<float>"
    without = source.replace("template __global__ void spmv_csr<float>", "void other")
    assert init(without).kernel == "spmv_csr<double>"


def test_launch_bounds_and_strides(init) -> None:
    launch = init(BOUNDED).resolve({"m": 200, "k": 3})
    assert (launch.grid, launch.block) == ((2, 1, 1), (192, 1, 1))
    assert arrays(init(BOUNDED, force=True), {"m": 200, "k": 3}) == {"a": (600,), "out": (200,)}


def test_a_stencil_covers_the_whole_plane(init) -> None:
    spec = init(STENCIL)
    launch = spec.resolve({"nx": 100, "ny": 50})
    assert (launch.grid, launch.block) == ((7, 4, 1), (16, 16, 1))
    assert arrays(spec, {"nx": 100, "ny": 50})["a"] >= (99 + 99 * 49,)


IMAGES = """
__global__ void blur(const float* img, float* out, int H, int W, int C) {
    int c = blockIdx.z, y = blockIdx.y * HIGH + threadIdx.y, x = blockIdx.x * WIDE + threadIdx.x;
    if (x >= W || y >= H) return;
    out[(c * H + y) * W + x] = 0.5f * img[(c * H + y) * W + x];
}
"""


@pytest.mark.parametrize(
    ("high", "wide", "threads"),
    [("blockDim.y", "blockDim.x", (16, 16, 1)), ("4", "64", (64, 4, 1))],
)
def test_no_thread_runs_along_the_number_of_an_image(init, high, wide, threads) -> None:
    spec = init(IMAGES.replace("HIGH", high).replace("WIDE", wide))
    sizes = {"H": 64, "W": 128, "C": 3}
    launch = spec.resolve(sizes)
    assert launch.block == threads
    assert launch.grid == (128 // threads[0], 64 // threads[1], 3)
    assert arrays(spec, sizes) == {"img": (3 * 64 * 128,), "out": (3 * 64 * 128,)}


def test_no_thread_runs_along_rows_between_two_axes_with_threads(init) -> None:
    source = """
    __global__ void scale(const float* a, float* b, int nx, int ny, int nz) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, z = blockIdx.z * blockDim.z + threadIdx.z;
        int at = (blockIdx.y * nz + z) * nx + x;
        if (x < nx && z < nz) b[at] = a[at];
    }
    """
    launch = init(source).resolve({"nx": 32, "ny": 5, "nz": 64})
    assert (launch.grid, launch.block) == ((2, 5, 4), (16, 1, 16))


def test_a_block_of_rows_that_one_thread_goes_through(init) -> None:
    source = """
    __global__ void scale(const float* a, float* b, int rows, int cols) {
        int col = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * 4;
        if (col < cols)
            for (int r = 0; r < 4; ++r)
                b[(first + r) * cols + col] = a[(first + r) * cols + col];
    }
    """
    launch = init(source).resolve({"rows": 10, "cols": 512})
    assert (launch.grid, launch.block) == ((2, 3, 1), (256, 1, 1))


def test_bytes_index_counts_of_256(init) -> None:
    spec = init(HISTOGRAM)
    assert (spec.resolve().arrays["data"].limit, arrays(spec)["counts"]) == (256, (256,))
    assert spec.arguments[1].fill == "zeros"


def test_a_product_with_the_second_transposed(init) -> None:
    spec = init(MATMUL)
    assert spec.reference == "gemm_nt"
    found = arrays(spec, {"M": 16, "N": 32, "K": 48})
    assert found == {"A": (16, 48), "B": (32, 48), "C": (16, 32)}


def test_dynamic_shared_memory_as_far_as_it_is_reached(init) -> None:
    spec = init(LAYERNORM)
    launch = spec.resolve({"n": 10, "width": 300})
    assert (launch.grid, launch.shared_bytes) == ((10, 1, 1), 4 * 256)
    assert arrays(spec, {"n": 10, "width": 300})["gamma"] == (300,)
    assert arrays(spec, {"n": 10, "width": 300})["y"] == (3000,)


def test_one_kernel_of_two(init) -> None:
    assert init(SOFTMAX + SCATTER, kernel="scatter").kernel == "scatter"


def test_of_equal_check_sizes_the_first_is_halved() -> None:
    names = [f"n{number}" for number in range(16)]
    found = Guesses(sizes=dict.fromkeys(names, 64), check_sizes=dict.fromkeys(names, 64))
    for name in names:
        assert halve_check_size(found)
        assert found.check_sizes[name] == 32


def test_every_guess_says_why(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(HOST)
    lines = draft(path).text.splitlines()
    said = [line for line in lines if line.startswith(("// block", "// grid", "// shape", "// w"))]
    assert len(said) == 5
    assert all("  # " in line for line in said)
    (grid,) = (line for line in said if line.startswith("// grid"))
    head, _, number = grid.removesuffix(" launches it so").rpartition(" ")
    assert head == '// grid = ["ceil_div(w, 32)", "ceil_div(h, 8)"]  # line'
    assert lines[int(number) - 1].strip() == "blur<<<grid, block>>>(d_in, d_out, w, h, 3);"


@pytest.mark.parametrize("names", [("width", "height"), ("rows", "cols"), ("nRows", "nCols")])
def test_a_transposed_matrix_by_its_names(init, names) -> None:
    wide, high = names if names[0] == "width" else names[::-1]
    source = f"""
    __global__ void transpose(float* out, const float* in, int {names[0]}, int {names[1]}) {{
        int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
        if (x < {wide} && y < {high}) out[x * {high} + y] = in[y * {wide} + x];
    }}
    """
    spec = init(source)
    assert spec.reference == "transpose"
    sizes = {wide: 40, high: 30}
    assert arrays(spec, sizes) == {"out": (40, 30), "in": (30, 40)}


def test_the_size_of_a_filter_is_small(init) -> None:
    source = """
    __global__ void conv(const float* image, float* out, const float* filter, int H, int W, int K) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        int high = H - K + 1, wide = W - K + 1;
        if (x >= wide || y >= high) return;
        float sum = 0;
        for (int i = 0; i < K; ++i)
            for (int j = 0; j < K; ++j) sum += image[(y + i) * W + x + j] * filter[i * K + j];
        out[y * wide + x] = sum;
    }
    """
    spec = init(source)
    assert spec.sizes == {"H": 4096, "W": 4096, "K": 5}
    assert spec.resolve().grid == (256, 256, 1)


def test_as_many_rows_are_looked_up_as_there_are_results(init) -> None:
    source = """
    __global__ void embed(float* out, const float* table, const int* ids, int n, int dim) {
        int row = blockIdx.x;
        if (row >= n) return;
        const float* from = table + ids[row] * dim;
        for (int d = threadIdx.x; d < dim; d += blockDim.x) out[row * dim + d] = from[d];
    }
    """
    spec = init(source)
    sizes = {"n": 10, "dim": 100}
    assert spec.resolve(sizes).arrays["ids"].limit == 10
    assert arrays(spec, sizes) == {"out": (1000,), "table": (1000,), "ids": (10,)}


def test_neighbours_of_a_graph_are_among_those_that_it_looks_at_itself(init) -> None:
    source = f"""
    __global__ void level(const int* rows, const int* next, int* levels, int* changed, int n) {{
        {INDEX}
        if (i >= n || levels[i] != 0) return;
        for (int e = rows[i]; e < rows[i + 1]; ++e)
            if (levels[next[e]] == -1) {{ levels[next[e]] = 1; *changed = 1; }}
    }}
    """
    spec = init(source)
    found = spec.resolve({"n": 10}).arrays
    assert (found["next"].limit, found["levels"].shape) == (10, (10,))


@pytest.mark.parametrize(
    ("types", "reference"), [(("int3", "uchar4"), "none"), (("int3", "int3"), "add")]
)
def test_elements_of_different_sizes_have_no_reference(init, types, reference) -> None:
    source = f"""
    __global__ void add3(const {types[0]}* a, const {types[1]}* b, int3* o, unsigned n) {{
        {INDEX}
        if (i < n) o[i] = make_int3(a[i].x + b[i].x, a[i].y + b[i].y, a[i].z + b[i].z);
    }}
    """
    spec = init(source)
    assert (spec.reference, spec.flops is None) == (reference, reference == "none")


def test_a_product_of_complex_matrices_has_no_reference(init) -> None:
    assert init(MATMUL.replace("float*", "float2*")).reference == "none"


LAUNCHED = """
template <typename T> __global__ void fill(T* y, T value, int n) {
    int i = blockIdx.x * 192 + threadIdx.x;
    if (i < n) y[i] = value;
}
"""
LAUNCH = "    fill<<<6, 192>>>(d, 3.5f, 1000);"


def places(text):
    """The lines that comments of a specification name."""
    return [int(each) for each in re.findall(r"  # .*?line (\d+)", text)]


def test_lines_are_those_of_the_file_with_the_specification(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(f"{LAUNCHED}void go(float* d) {{\n{LAUNCH}\n}}\n")
    for _ in range(2):
        path.write_text(draft(path, force=True).text)
        text = path.read_text()
        assert places(text) == [text.splitlines().index(LAUNCH) + 1] * 4
    longer = text.replace("// reference", "// # one more line\n// reference")
    assert longer != text
    path.write_text(f"// Above.\n{longer}")
    text = draft(path, force=True).text
    assert places(text) == [text.splitlines().index(LAUNCH) + 1] * 4


def test_a_launch_above_the_specification_stays_where_it_is(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(LAUNCHED)
    specified = draft(path).text
    path.write_text(f"void go(float* d) {{\n{LAUNCH}\n}}\n{specified}")
    text = draft(path, force=True).text
    assert set(places(text)) == {2}


def test_lines_of_an_included_file_are_its_own(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    (tmp_path / "go.cuh").write_text(f"void go(float* d) {{\n{LAUNCH}\n}}\n")
    path.write_text(f'#include "go.cuh"\n{LAUNCHED}')
    assert "// block = [192]  # line 2 of a file that it includes launches it so\n" in (
        draft(path).text
    )


LINE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
IMAGE = """
typedef struct { int width, height; float scale; bool on; float weights[3]; } Params;
__global__ void affine(const float* in, float* out, const Params p) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < p.width && y < p.height) out[y * p.width + x] = in[y * p.width + x] * p.scale;
}
"""
TENSOR = f"""
struct Tensor {{
    const float* data; float* out; int2 dims;
    __device__ int size() const {{ return dims.x; }}
}};
__global__ void relu(Tensor t, float4 bounds, int n) {{
    {LINE}
    float* to = t.out;
    if (i < t.dims.x * n) to[i] = fmaxf(t.data[i], bounds.x);
}}
"""
UNKNOWN = f"""
struct P {{ MEMBER int n; }};
__global__ void f(float* y, P p) {{ {LINE} if (i < p.n) y[i] = 1; }}
"""


@pytest.fixture
def made(tmp_path):
    """The draft of a specification for a source, and how to read it."""

    def run(source):
        path = tmp_path / "kernel.cu"
        path.write_text(source)
        found = draft(path)
        path.write_text(found.text)
        return found, path

    return run


def test_whole_numbers_are_sizes(made) -> None:
    found, path = made(IMAGE)
    assert found.unfilled == ()
    spec = load_spec(path)
    assert spec.sizes == {"width": 4096, "height": 4096}
    p = spec.document()["arguments"][2]
    assert p == {
        "name": "p",
        "members": [
            {"name": "width", "type": "int32", "value": "width"},
            {"name": "height", "type": "int32", "value": "height"},
            {"name": "scale", "type": "float32", "value": "1.5"},
            {"name": "on", "type": "bool", "value": "1"},
            {"name": "weights", "type": "float32", "values": ["1.0", "1.0", "1.0"]},
        ],
    }
    launch = spec.resolve({"width": 100, "height": 10})
    assert launch.grid == (7, 1, 1)
    assert {name: each.shape for name, each in launch.arrays.items()} == {
        "in": (1000,),
        "out": (1000,),
    }


def test_pointers_have_arrays_that_are_not_passed(made) -> None:
    found, path = made(TENSOR)
    assert found.unfilled == ()
    spec = load_spec(path)
    t, bounds, n, data, out = spec.arguments
    assert [each.name for each in t.members or ()] == ["data", "out", "dims_x", "dims_y"]
    assert [each.align for each in t.members or ()] == [None, None, 8, None]
    assert [each.name for each in bounds.members or ()] == ["x", "y", "z", "w"]
    assert (n.name, data.passed, out.passed) == ("n", False, False)
    assert (data.output, out.output) == (False, True)
    assert spec.resolve({**spec.sizes, "dims_x": 10, "n": 3}).arrays["data"].shape == (30,)


@pytest.mark.parametrize(
    "member",
    ["Node* next;", "unsigned flag : 3;", "virtual void f();", "alignas(16) int a;", "Mode mode;"],
)
def test_what_may_lie_otherwise_is_a_question(made, member) -> None:
    found, _ = made(UNKNOWN.replace("MEMBER", member))
    assert [text for _, text in found.unfilled][-2:] == ['type = ""', 'value = ""']


N, M, K = size("N"), size("M"), size("K")
SMALL = st.integers(0, 9)


@st.composite
def amount_made(draw, depth=2):
    """An amount of sums and products, few enough for a product of two to be an expression."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([N, M, number(1), number(3), number(16)]))
    one, other = draw(amount_made(depth - 1)), draw(amount_made(depth - 1))
    return one + other if draw(st.booleans()) else one * other


@given(amount_made(), amount_made(depth=2), st.integers(1, 50), st.integers(1, 50))
def test_amounts_compute_as_numbers_do(one, other, n, m) -> None:
    sizes = {"N": n, "M": m}
    a, b = one.value(sizes), other.value(sizes)
    assert (one + other).value(sizes) == a + b
    assert (one * other).value(sizes) == a * b
    assert (one - other).value(sizes) == a - b
    assert read(one.text) == one
    if one.never_below(other):
        assert a >= b
    divided = amounts.divide(one, other)
    if divided is not None:
        raised = amounts.divide(one + other - number(1), other)
        assert divided.value(sizes) == a // b
        assert raised is None or raised.value(sizes) == -(-a // b)
    whole = amounts.quotient(one, other)
    if whole is not None:
        assert whole.value(sizes) * b == a


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ((N - number(1)) * K + K, "K * N"),
        (amounts.divide(N + number(255), number(256)), "ceil_div(N, 256)"),
        (amounts.divide(M * K - number(1), K), "M - 1"),
        (amounts.divide(N, number(2)), "N // 2"),
        (amounts.ceil_div(N * number(512), number(256)), "2 * N"),
        (number(3) - N, "-N + 3"),
        (N - N, "0"),
        (amounts.larger(N, M), "max(N, M)"),
        (amounts.remainder(N * K, K), "0"),
    ],
)
def test_how_amounts_read(amount, text) -> None:
    assert amount.text == text


def test_others_stand_in_for_names() -> None:
    assert read("ceil_div(n, block__x)", {"block__x": number(32)}).text == "ceil_div(n, 32)"
    assert read("ceil_div(n, b) * b", {"n": N * size("b")}) == N * size("b")
    assert read("n / 2") is None
    assert amounts.names_in("2.5") == set()
