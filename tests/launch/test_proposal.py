"""Specifications that are guessed from a kernel's signature and body."""

from __future__ import annotations

import os

import pytest
from tests.launch.conftest import check_facts

from kernelprof.errors import InputError
from kernelprof.launch.inference.proposal import infer_specification
from kernelprof.launch.specification.reader import load_spec

GEMM = """
extern "C" __global__ void sgemm(const float* __restrict__ A, const float* __restrict__ B,
                                 float* __restrict__ C, int M, int N, int K) {
    const int row = blockIdx.%s * %s + threadIdx.%s;
    const int col = blockIdx.%s * %s + threadIdx.%s;
    %s
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = %s;
}
"""
GUARD = "if (row >= M || col >= N) return;"


def _gemm(*, rows="y", block="blockDim.%s", guard=GUARD, result="sum"):
    columns = "x" if rows == "y" else "y"
    sides = [block % axis if "%" in block else block for axis in (rows, columns)]
    return GEMM % (rows, sides[0], rows, columns, sides[1], columns, guard, result)


@pytest.fixture
def unfilled(tmp_path):
    """Write a source, initialise it, and tell the keys that are to be filled in."""

    def run(source, **options):
        path = tmp_path / "kernel.cu"
        path.write_text(source)
        made = infer_specification(path, **options).draft()
        path.write_text(made.text)
        line = made.unfilled[0][0]
        with pytest.raises(InputError, match="still be filled in") as caught:
            load_spec(path)
        assert caught.value.where == f"{path}:{line}"
        lines = made.text.split("\n")
        assert all("please fill in" in lines[number - 1] for number, _ in made.unfilled)
        return [text.split(" =")[0] for _, text in made.unfilled]

    return run


LINE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
TYPED = """
template <typename T>
__global__ void copy(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""
COPY = f"__global__ void copy(const float* x, float* y, int n) {{ {LINE} if (i < n) y[i] = x[i]; }}"
SAXPY = f"""
__global__ void saxpy(int n, float a, const float* x, float* y) {{
    {LINE} if (i < n) y[i] = a * x[i] + y[i];
}}
"""
ADD = f"""
__global__ void add(const double* x, double* y, double* z, long n) {{
    {LINE} if (i < n) z[i] = x[i] + y[i];
}}
"""
SUM = """
__global__ void sum(const float* x, float* total, size_t n) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 32)
        atomicAdd(&total[0], x[i]);
}
"""
TILED = _gemm(block="TILE")
TEMPLATE = TILED.replace('extern "C"', "template <int TILE, typename T = float>")
SCALED = _gemm(result="alpha * sum + beta * C[row * N + col]")
MIXED = _gemm().replace("const float* __restrict__ A", "const __nv_bfloat16* A")
MIXED = MIXED.replace("const float* __restrict__ B", "const __half* B")
CHECK = "M=256 N=384 K=128"
EIGHT_BITS = COPY.replace("float", "__nv_fp8_e4m3")
KERNELS = [
    (
        _gemm(),
        CHECK,
        "kernel=sgemm reference=gemm block=16x16x1 grid=24x16x1 A=256x128 B=128x384 C=256x384 "
        "flops=25165824.0 A.output=False B.output=False C.output=True C.fill=None",
    ),
    # The grid follows the indices.
    *(
        (_gemm(rows="x", guard=guard), CHECK, "grid=16x24x1")
        for guard in (GUARD, "if (row < M && col < N) {}", "")
    ),
    # The block is the tile.
    (_gemm(block="32"), "", "block=32x32x1 grid=128x128x1"),
    ("#define TILE 8\n" + TILED, "", "block=8x8x1 grid=512x512x1"),
    ("constexpr int TILE = 32;\n" + TILED, "", "block=32x32x1 grid=128x128x1"),
    (TILED, "", "TILE=16 block=16x16x1 grid=256x256x1"),
    (TEMPLATE, "", "kernel=sgemm<16,float> block=16x16x1"),
    (TYPED.replace("typename T", "typename T = __half"), "", "kernel=copy<__half> x.type=float16"),
    # An output that is read.
    (
        SCALED.replace("int K)", "int K, float alpha, float beta)"),
        "",
        "C.fill=random alpha.value=1.0 beta.value=0.5",
    ),
    (
        _gemm().replace("int M", "__nv_bfloat16 alpha, int M"),
        "",
        "alpha.type=bfloat16 alpha.value=1.0",
    ),
    # One dimension.
    (COPY, "", "reference=copy block=256x1x1 grid=65536x1x1 y.output=True y.fill=None"),
    (SAXPY, "", "reference=saxpy block=256x1x1 grid=65536x1x1 y.output=True y.fill=random"),
    (ADD, "", "reference=add block=256x1x1 grid=65536x1x1 z.output=True z.fill=None"),
    (SUM, "", "reference=sum block=256x1x1 grid=65536x1x1 total.output=True total.fill=zeros"),
    # Bytes are those of the types; of an elementwise kernel of two widths they are not guessed.
    (EIGHT_BITS, "n=1000", "min_bytes=2000.0"),
    (COPY.replace("float", "double"), "n=10", "min_bytes=160.0"),
    (COPY.replace("const float", "const __nv_bfloat16"), "", "min_bytes=None"),
    (
        MIXED,
        "M=10 N=100 K=1000",
        "A.type=bfloat16 B.type=float16 C.type=float32 min_bytes=224000.0",
    ),
]


@pytest.mark.parametrize(("source", "sizes", "expected"), KERNELS)
def test_what_is_inferred_of_a_kernel(init, source, sizes, expected) -> None:
    check_facts(init(source), sizes, expected)


def test_template_arguments_that_are_given(init) -> None:
    assert init(TEMPLATE, kernel="sgemm<8, float>").kernel == "sgemm<8, float>"
    spec = init(TYPED, kernel="copy<double>")
    assert spec.kernel == "copy<double>"
    assert [each.type for each in spec.arguments] == ["float64", "float64", "int32"]
    assert spec.resolve().min_bytes == 2 * 8 * spec.sizes["n"]


def test_a_macro_is_a_define_only_where_the_block_needs_it(init) -> None:
    """It may come from a header of the user, or the file gives it a value."""
    assert init('#include "sizes.h"\n' + _gemm(result="SPLIT * sum")).compile.defines == {}
    for head in ("#define TILE 8\n", "constexpr int TILE = 32;\n"):
        assert init(head + TILED).compile.defines == {}
    assert init(_gemm(block="32")).compile.defines == {}


MACROS = "#define UNROLL 4\nconstexpr int PAD = 1;\n"


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        (MACROS + _gemm(result="UNROLL * SPLIT + PAD + FLT_MAX + INFINITY + sum"), ["defines"]),
        (TYPED, ["kernel", "type", "type"]),
        (TYPED.replace("T* x", "T* x, const T* z"), ["kernel", "type", "type", "shape", "type"]),
        (
            "__global__ void odd(float4* v, Params p, int* q, Node* r) { q[threadIdx.y] = 1; }",
            ["block", "grid", "shape", "type", "value", "shape", "type", "shape"],
        ),
        (
            _gemm().replace("float sum", "extern __shared__ float tile[];\n    float sum"),
            ["shared_bytes"],
        ),
        (_gemm().replace('extern "C"', "template <int MODE>"), ["kernel"]),
    ],
    ids=["macro", "types", "shape", "several", "shared memory", "template argument"],
)
def test_what_cannot_be_inferred_is_marked(unfilled, source, keys) -> None:
    assert unfilled(source) == keys


@pytest.mark.parametrize("kind", ["folder", "pipe", "nothing"])
def test_what_is_no_file(tmp_path, kind) -> None:
    path = tmp_path / "k.cu"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    said = {"folder": "a folder", "pipe": "a pipe", "nothing": "no such file"}[kind]
    with pytest.raises(InputError, match=said) as caught:
        infer_specification(path).draft()
    assert caught.value.hint


def test_b_transposed_is_told_by_the_name(init) -> None:
    spec = init(_gemm().replace("sgemm(", "sgemm_b_transposed("))
    assert spec.reference == "gemm_nt"
    assert [extent.text for extent in spec.arguments[1].shape] == ["N", "K"]


def test_a_specification_is_replaced_by_force_only(tmp_path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(draft_of := _written(path, "// first line\n" + _gemm()))
    with pytest.raises(InputError, match="already") as caught:
        infer_specification(path).draft()
    assert caught.value.where == f"{path}:1"
    assert infer_specification(path, force=True).draft().text == draft_of


def _written(path, source):
    path.write_text(source)
    return infer_specification(path).draft().text


def test_a_specification_beside_it_stays(tmp_path) -> None:
    (tmp_path / "k.cu").write_text(_gemm())
    (tmp_path / "k.toml").write_text("")
    with pytest.raises(InputError, match=r"already has a specification in a \.toml file"):
        infer_specification(tmp_path / "k.cu", force=True).draft()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("int x;", "no __global__"),
        ("__global__ void a() {}\n__global__ void b() {}", "2 kernels: a, b"),
        ("__global__ void k(MACRO(int, n) int m) {}", "cannot be read"),
    ],
)
def test_what_is_no_readable_kernel_is_refused(tmp_path, source, said) -> None:
    path = tmp_path / "k.cu"
    path.write_text(source)
    with pytest.raises(InputError, match=said):
        infer_specification(path).draft()


def test_a_tensor_map_is_to_be_filled_in_and_so_is_its_array(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(
        "__global__ void k(const __grid_constant__ CUtensorMap map_a, __nv_bfloat16* C, int n) {\n"
        "    C[threadIdx.x] = n;\n}\n"
    )
    made = infer_specification(path).draft()
    text = made.text
    assert '// name = "map_a"\n// tensor_map = { of = "", box = [] }  # kernelprof: please' in text
    assert '// type = "bfloat16"\n' in text
    assert text.count("// passed = false\n") == 1
    # What bfloat16 allows is no matter of ours: the tolerance is left out.
    assert "tolerance" not in text
    keys = [line.partition(" = ")[0] for _, line in made.unfilled]
    assert keys == ["block", "grid", "tensor_map", "shape", "name", "type", "shape"]
    for old, new in (
        ('tensor_map = { of = "", box = [] }', 'tensor_map = { of = "A", box = [64] }'),
        ('// name = ""', '// name = "A"'),
        ('type = ""', 'type = "bfloat16"'),
        ("shape = []", "shape = [64]"),
        ("block = []", "block = [64]"),
        ("grid = []", "grid = [1]"),
        ("  # kernelprof: please fill in", ""),
    ):
        text = text.replace(old, new)
    path.write_text(text)
    found = load_spec(path)
    assert [each.argument.name for each in found.resolve().parameters] == ["map_a", "C", "n"]


def test_float32_has_its_tolerance_written_out(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(_gemm())
    assert "// tolerance = 1e-05\n" in infer_specification(path).draft().text
