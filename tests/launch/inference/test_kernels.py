"""Plain kernels, and what is guessed of them: from the source alone, nothing is run."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.launch.conftest import check_facts

from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.amounts import constant_size, parse_amount, parse_size
from kernelprof.launch.inference.evidence import Guesses
from kernelprof.launch.inference.extents import halve_check_size
from kernelprof.launch.inference.proposal import infer_specification
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
GENERATORS = f"""
#include <curand_kernel.h>
__global__ void draw(curandState* states, float* out, int n) {{
    {INDEX}
    if (i < n) out[i] = curand_normal(&states[i]);
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
IMAGES = """
__global__ void blur(const float* img, float* out, int H, int W, int C) {
    int c = blockIdx.z, y = blockIdx.y * HIGH + threadIdx.y, x = blockIdx.x * WIDE + threadIdx.x;
    if (x >= W || y >= H) return;
    out[(c * H + y) * W + x] = 0.5f * img[(c * H + y) * W + x];
}
"""
BETWEEN = """
__global__ void scale(const float* a, float* b, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, z = blockIdx.z * blockDim.z + threadIdx.z;
    int at = (blockIdx.y * nz + z) * nx + x;
    if (x < nx && z < nz) b[at] = a[at];
}
"""
ROWS_OF_A_BLOCK = """
__global__ void scale(const float* a, float* b, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * 4;
    if (col < cols)
        for (int r = 0; r < 4; ++r)
            b[(first + r) * cols + col] = a[(first + r) * cols + col];
}
"""
EMBED = """
__global__ void embed(float* out, const float* table, const int* ids, int n, int dim) {
    int row = blockIdx.x;
    if (row >= n) return;
    const float* from = table + ids[row] * dim;
    for (int d = threadIdx.x; d < dim; d += blockDim.x) out[row * dim + d] = from[d];
}
"""
LEVEL = f"""
__global__ void level(const int* rows, const int* next, int* levels, int* changed, int n) {{
    {INDEX}
    if (i >= n || levels[i] != 0) return;
    for (int e = rows[i]; e < rows[i + 1]; ++e)
        if (levels[next[e]] == -1) {{ levels[next[e]] = 1; *changed = 1; }}
}}
"""
CONVOLUTION = """
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


def arrays(launch):
    """The shapes of all arrays."""
    return {name: each.shape for name, each in launch.arrays.items()}


SEVERAL_TYPES = PARTICLES.replace("float mass", "int kind; double mass")
HIGH_IMAGES = IMAGES.replace("HIGH", "blockDim.y").replace("WIDE", "blockDim.x")
WIDE_IMAGES = IMAGES.replace("HIGH", "4").replace("WIDE", "64")
KERNELS = [
    (SOFTMAX, "rows=7 cols=1000", "grid=7x1x1 block=128x1x1 x=7x1000 y=7x1000 reference=softmax"),
    (SCATTER, "n=40", "in=40 to=40 out=40 to.fill=permutation to.output=False"),
    (AXPY, "n=8", "y=8x2 x=8x2 y.type=float16 x.type=float16 n.type=int32 y.fill=random"),
    (
        AXPY.replace(
            " = blockIdx.x * blockDim.x + threadIdx.x;", " {blockIdx.x * blockDim.x + threadIdx.x};"
        ),
        "n=8",
        "grid=1x1x1 y=8x2",
    ),
    (PARTICLES, "count=5", "p=5x7 p.type=float32 dt.value=1.0"),
    # Six floats, an int, padding, a double.
    (SEVERAL_TYPES, "count=5", "p=5x40 p.type=uint8 p.fill=zeros"),
    (GENERATORS, "n=6", "states=6x12 states.type=uint32 states.fill=zeros out=6"),
    (GENERATORS.replace("State*", "StatePhilox4_32_10_t*"), "n=6", "states=6x16"),
    (BOUNDED, "m=200 k=3", "grid=2x1x1 block=192x1x1 a=600 out=200"),
    (MATMUL, "M=16 N=32 K=48", "reference=gemm_nt A=16x48 B=32x48 C=16x32"),
    (MATMUL.replace("float*", "float2*"), "", "reference=none"),
    # No thread runs along the number of an image, nor along rows between two axes with threads.
    (HIGH_IMAGES, "H=64 W=128 C=3", "grid=8x4x3 block=16x16x1 img=24576 out=24576"),
    (WIDE_IMAGES, "H=64 W=128 C=3", "grid=2x16x3 block=64x4x1 img=24576 out=24576"),
    (BETWEEN, "nx=32 ny=5 nz=64", "grid=2x5x4 block=16x1x16"),
    (ROWS_OF_A_BLOCK, "rows=10 cols=512", "grid=2x3x1 block=256x1x1"),
    # As many rows are looked up as there are results; neighbours are among what it looks at itself.
    (EMBED, "n=10 dim=100", "ids.limit=10 out=1000 table=1000 ids=10"),
    (LEVEL, "n=10", "next.limit=10 levels=10"),
    (LAYERNORM, "n=10 width=300", "grid=10x1x1 shared_bytes=1024 gamma=300 y=3000"),
    (CONVOLUTION, "", "H=4096 W=4096 K=5 grid=256x256x1"),
    (HISTOGRAM, "", "data.limit=256 counts=256 counts.fill=zeros"),
]


@pytest.mark.parametrize(("source", "sizes", "expected"), KERNELS)
def test_what_is_inferred_of_a_kernel(init, source, sizes, expected) -> None:
    check_facts(init(source), sizes, expected)


def test_one_kernel_of_two(init) -> None:
    assert init(SOFTMAX + SCATTER, kernel="scatter").kernel == "scatter"


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


def test_what_the_host(init) -> None:
    spec = init(HOST)
    assert spec.sizes == {"w": 1920, "h": 1080}
    launch = spec.resolve({"w": 100, "h": 20})
    assert (launch.grid, launch.block) == ((4, 3, 1), (32, 8, 1))
    assert arrays(spec.resolve({"w": 100, "h": 20})) == {"in": (2000,), "out": (2200,)}
    assert [each.value.text for each in spec.arguments[2:]] == ["w", "h", "3"]


def test_the_host_of_another_instance_does_not_count(init) -> None:
    source = SPMV + "void go(int* p, int* c, double* v, double* x, double* y, int rows) {\n"
    source += "  spmv_csr<double><<<rows, 1>>>(p, c, v, x, y, rows); }\n"
    assert init(source).kernel == "spmv_csr<float>"
    without = source.replace("template __global__ void spmv_csr<float>", "void other")
    assert init(without).kernel == "spmv_csr<double>"


def test_a_stencil_covers_the_whole_plane(init) -> None:
    spec = init(STENCIL)
    launch = spec.resolve({"nx": 100, "ny": 50})
    assert (launch.grid, launch.block) == ((7, 4, 1), (16, 16, 1))
    assert arrays(spec.resolve({"nx": 100, "ny": 50}))["a"] >= (99 + 99 * 49,)


def test_of_equal_check_sizes_the_first_is_halved() -> None:
    names = [f"n{number}" for number in range(16)]
    found = Guesses(sizes=dict.fromkeys(names, 64), check_sizes=dict.fromkeys(names, 64))
    for name in names:
        assert halve_check_size(found)
        assert found.check_sizes[name] == 32


def test_every_guess_says_why(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(HOST)
    lines = infer_specification(path).draft().text.splitlines()
    said = [line for line in lines if line.startswith(("// block", "// grid", "// shape", "// w"))]
    assert len(said) == 5
    assert all("  # " in line for line in said)
    (grid,) = (line for line in said if line.startswith("// grid"))
    head, _, number = grid.rpartition(" ")
    assert head == '// grid = ["ceil_div(w, 32)", "ceil_div(h, 8)"]  # as launched on line'
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
    assert arrays(spec.resolve(sizes)) == {"out": (40, 30), "in": (30, 40)}


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


LAUNCHED = """
template <typename T> __global__ void fill(T* y, T value, int n) {
    int i = blockIdx.x * 192 + threadIdx.x;
    if (i < n) y[i] = value;
}
"""
LAUNCH = "    fill<<<6, 192>>>(d, 3.5f, 1000);"


@pytest.mark.parametrize(
    ("size", "condition", "chosen"),
    [(32, "side == 16", 32), (16, "side == 16", 16), (32, "side >= 32", 16), (8, "side != 8", 32)],
)
def test_the_launch_that_known_values_lead_to(init, size, condition, chosen) -> None:
    spec = init(f"""
    template <int SIDE> __global__ void twice(float* y) {{
        y[blockIdx.x * SIDE + threadIdx.x] *= 2.0f;
    }}
    void run(float* y, int side) {{
        if ({condition}) {{ twice<16><<<64, 16>>>(y); }} else {{ twice<32><<<64, 32>>>(y); }}
    }}
    int main() {{ float* y; cudaMalloc(&y, 8192); run(y, {size}); }}
    """)
    assert spec.kernel == f"twice<{chosen}>"


def places(text):
    """The lines that comments of a specification name."""
    return [int(each) for each in re.findall(r"  # .*?line (\d+)", text)]


def test_lines_are_those_of_the_file_with_the_specification(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(f"{LAUNCHED}void go(float* d) {{\n{LAUNCH}\n}}\n")
    for _ in range(2):
        path.write_text(infer_specification(path, force=True).draft().text)
        text = path.read_text()
        assert places(text) == [text.splitlines().index(LAUNCH) + 1] * 4
    longer = text.replace("// reference", "// # one more line\n// reference")
    assert longer != text
    path.write_text(f"// Above.\n{longer}")
    text = infer_specification(path, force=True).draft().text
    assert places(text) == [text.splitlines().index(LAUNCH) + 1] * 4


def test_a_launch_above_the_specification_stays_where_it_is(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(LAUNCHED)
    specified = infer_specification(path).draft().text
    path.write_text(f"void go(float* d) {{\n{LAUNCH}\n}}\n{specified}")
    text = infer_specification(path, force=True).draft().text
    assert set(places(text)) == {2}


def test_lines_of_an_included_file_are_its_own(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    (tmp_path / "go.cuh").write_text(f"void go(float* d) {{\n{LAUNCH}\n}}\n")
    path.write_text(f'#include "go.cuh"\n{LAUNCHED}')
    assert "// block = [192]  # as launched on line 2 of an included file\n" in (
        infer_specification(path).draft().text
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
        found = infer_specification(path).draft()
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


N, M, K = parse_size("N"), parse_size("M"), parse_size("K")
SMALL = st.integers(0, 9)


@st.composite
def amount_made(draw, depth=2):
    """An amount of sums and products, few enough for a product of two to be an expression."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from([N, M, constant_size(1), constant_size(3), constant_size(16)]))
    one, other = draw(amount_made(depth - 1)), draw(amount_made(depth - 1))
    return one + other if draw(st.booleans()) else one * other


@given(amount_made(), amount_made(depth=1), st.integers(1, 50), st.integers(1, 50))
def test_amounts_compute_as_numbers_do(one, other, n, m) -> None:
    sizes = {"N": n, "M": m}
    a, b = one.value(sizes), other.value(sizes)
    assert (one + other).value(sizes) == a + b
    assert (one * other).value(sizes) == a * b
    assert (one - other).value(sizes) == a - b
    assert parse_amount(one.text) == one
    if one.never_below(other):
        assert a >= b
    divided = amounts.divide(one, other)
    if divided is not None:
        raised = amounts.divide(one + other - constant_size(1), other)
        assert divided.value(sizes) == a // b
        assert raised is None or raised.value(sizes) == -(-a // b)
    whole = amounts.quotient(one, other)
    if whole is not None:
        assert whole.value(sizes) * b == a


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ((N - constant_size(1)) * K + K, "K * N"),
        (amounts.divide(N + constant_size(255), constant_size(256)), "ceil_div(N, 256)"),
        (amounts.divide(M * K - constant_size(1), K), "M - 1"),
        (amounts.divide(N, constant_size(2)), "N // 2"),
        (amounts.ceil_div(N * constant_size(512), constant_size(256)), "2 * N"),
        (constant_size(3) - N, "-N + 3"),
        (N - N, "0"),
        (amounts.larger(N, M), "max(N, M)"),
        (amounts.remainder(N * K, K), "0"),
    ],
)
def test_how_amounts_read(amount, text) -> None:
    assert amount.text == text


def test_others_stand_in_for_names() -> None:
    assert (
        parse_amount("ceil_div(n, block__x)", {"block__x": constant_size(32)}).text
        == "ceil_div(n, 32)"
    )
    assert parse_amount("ceil_div(n, b) * b", {"n": N * parse_size("b")}) == N * parse_size("b")
    assert parse_amount("n / 2") is None
    assert amounts.names_in("2.5") == set()
