"""Specifications that are guessed from a kernel's signature and body."""

from __future__ import annotations

import os

import pytest

from kernelprof.errors import InputError
from kernelprof.launch.inference.proposal import draft
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
def init(tmp_path):
    """Write a source, initialise it, and load what was written."""

    def run(source, **options):
        path = tmp_path / "kernel.cu"
        path.write_text(source)
        made = draft(path, **options)
        path.write_text(made.text)
        assert made.unfilled == ()
        assert made.text.endswith(source)
        return load_spec(path)

    return run


@pytest.fixture
def unfilled(tmp_path):
    """Write a source, initialise it, and tell the keys that are to be filled in."""

    def run(source, **options):
        path = tmp_path / "kernel.cu"
        path.write_text(source)
        made = draft(path, **options)
        path.write_text(made.text)
        line = made.unfilled[0][0]
        with pytest.raises(InputError, match="still to be filled in") as caught:
            load_spec(path)
        assert caught.value.where == f"{path}:{line}"
        lines = made.text.split("\n")
        assert all("please fill in" in lines[number - 1] for number, _ in made.unfilled)
        return [text.split(" =")[0] for _, text in made.unfilled]

    return run


def test_a_gemm_runs_as_it_is(init) -> None:
    spec = init(_gemm())
    assert (spec.kernel, spec.reference) == ("sgemm", "gemm")
    launch = spec.resolve(spec.check_sizes)
    assert launch.block == (16, 16, 1)
    assert launch.grid == (24, 16, 1)  # columns along x: 384 / 16
    assert [getattr(a, "shape", None) for a in launch.arguments[:3]] == [
        (256, 128),
        (128, 384),
        (256, 384),
    ]
    assert launch.flops == 2 * 256 * 384 * 128
    assert [a.name for a in spec.outputs] == ["C"]
    assert spec.outputs[0].fill is None


@pytest.mark.parametrize("guard", [GUARD, "if (row < M && col < N) {}", ""])
def test_the_grid_follows_the_indices(init, guard) -> None:
    spec = init(_gemm(rows="x", guard=guard))
    assert spec.resolve(spec.check_sizes).grid == (16, 24, 1)


@pytest.mark.parametrize(
    ("side", "head", "defines", "block"),
    [
        ("32", "", {}, 32),
        ("TILE", "#define TILE 8\n", {}, 8),
        ("TILE", "constexpr int TILE = 32;\n", {}, 32),
        ("TILE", "", {"TILE": 16}, 16),
    ],
)
def test_the_block_is_the_tile(init, side, head, defines, block) -> None:
    spec = init(head + _gemm(block=side))
    assert spec.compile.defines == defines
    assert spec.resolve().block == (block, block, 1)
    assert spec.resolve().grid == (4096 // block, 4096 // block, 1)


def test_a_macro_that_nobody_defines_is_marked(unfilled) -> None:
    used = "UNROLL * SPLIT + PAD + FLT_MAX + INFINITY + sum"
    source = "#define UNROLL 4\nconstexpr int PAD = 1;\n" + _gemm(result=used)
    assert unfilled(source) == ["defines"]


def test_a_macro_may_come_from_a_header_of_the_user(init) -> None:
    assert init('#include "sizes.h"\n' + _gemm(result="SPLIT * sum")).compile.defines == {}


TYPED = """
template <typename T>
__global__ void copy(const T* x, T* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""


def test_a_type_of_a_template_is_not_guessed(unfilled) -> None:
    assert unfilled(TYPED) == ["kernel", "type", "type"]
    made = unfilled(TYPED.replace("T* x", "T* x, const T* z"))
    assert made == ["kernel", "type", "type", "shape", "type"]


def test_a_type_that_is_given_or_the_default(init) -> None:
    spec = init(TYPED, kernel="copy<double>")
    assert spec.kernel == "copy<double>"
    assert [each.type for each in spec.arguments] == ["float64", "float64", "int32"]
    assert spec.resolve().min_bytes == 2 * 8 * spec.sizes["n"]
    spec = init(TYPED.replace("typename T", "typename T = __half"))
    assert (spec.kernel, spec.arguments[0].type) == ("copy<__half>", "float16")


@pytest.mark.parametrize("kind", ["folder", "pipe", "nothing"])
def test_what_is_no_file(tmp_path, kind) -> None:
    path = tmp_path / "k.cu"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    said = {"folder": "a folder", "pipe": "a pipe", "nothing": "no such file"}[kind]
    with pytest.raises(InputError, match=said) as caught:
        draft(path)
    assert caught.value.hint


def test_a_template_with_a_tile(init) -> None:
    source = _gemm(block="TILE").replace('extern "C"', "template <int TILE, typename T = float>")
    spec = init(source)
    assert spec.kernel == "sgemm<16, float>"
    assert spec.resolve().block == (16, 16, 1)
    assert init(source, kernel="sgemm<8, float>").kernel == "sgemm<8, float>"


def test_an_output_that_is_read_is_in_out(init) -> None:
    source = _gemm(result="alpha * sum + beta * C[row * N + col]")
    spec = init(source.replace("int K)", "int K, float alpha, float beta)"))
    assert spec.outputs[0].fill == "random"
    assert [a.value.text for a in spec.arguments[-2:]] == ["1.0", "0.5"]


def test_b_transposed_is_told_by_the_name(init) -> None:
    spec = init(_gemm().replace("sgemm(", "sgemm_b_transposed("))
    assert spec.reference == "gemm_nt"
    assert [extent.text for extent in spec.arguments[1].shape] == ["N", "K"]


LINE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


@pytest.mark.parametrize(
    ("source", "reference", "fill"),
    [
        (f"__global__ void copy(const float* x, float* y, int n) {{ {LINE} if (i < n) "
         "y[i] = x[i]; }", "copy", None),
        (f"__global__ void saxpy(int n, float a, const float* x, float* y) {{ {LINE} "
         "if (i < n) y[i] = a * x[i] + y[i]; }", "saxpy", "random"),
        (f"__global__ void add(const double* x, double* y, double* z, long n) {{ {LINE} "
         "if (i < n) z[i] = x[i] + y[i]; }", "add", None),
        ("__global__ void sum(const float* x, float* total, size_t n) { "
         "for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 32) "
         "atomicAdd(&total[0], x[i]); }", "sum", "zeros"),
    ],
    ids=["copy", "saxpy", "add", "sum"],
)  # fmt: skip
def test_one_dimension(init, source, reference, fill) -> None:
    spec = init(source)
    assert spec.reference == reference
    assert spec.resolve().block == (256, 1, 1)
    assert spec.resolve().grid == ((1 << 24) // 256, 1, 1)
    assert [a.fill for a in spec.outputs] == [fill]


def test_what_cannot_be_guessed_is_marked(unfilled) -> None:
    source = "__global__ void odd(float4* v, Params p, int* q, Node* r) { q[threadIdx.y] = 1; }"
    keys = ["block", "grid", "shape", "type", "value", "shape", "type", "shape"]
    assert unfilled(source) == keys


def test_shared_memory_of_unknown_size_is_marked(unfilled) -> None:
    source = _gemm().replace("float sum", "extern __shared__ float tile[];\n    float sum")
    assert unfilled(source) == ["shared_bytes"]


def test_a_template_argument_that_nobody_knows_is_marked(unfilled) -> None:
    source = _gemm().replace('extern "C"', "template <int MODE>")
    assert unfilled(source) == ["kernel"]


def test_a_specification_is_replaced_by_force_only(tmp_path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(draft_of := _written(path, "// first line\n" + _gemm()))
    with pytest.raises(InputError, match="already") as caught:
        draft(path)
    assert caught.value.where == f"{path}:1"
    assert draft(path, force=True).text == draft_of


def _written(path, source):
    path.write_text(source)
    return draft(path).text


def test_a_specification_beside_it_stays(tmp_path) -> None:
    (tmp_path / "k.cu").write_text(_gemm())
    (tmp_path / "k.toml").write_text("")
    with pytest.raises(InputError, match="beside it"):
        draft(tmp_path / "k.cu", force=True)


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
        draft(path)


def test_a_tensor_map_is_to_be_filled_in_and_so_is_its_array(tmp_path) -> None:
    path = tmp_path / "kernel.cu"
    path.write_text(
        "__global__ void k(const __grid_constant__ CUtensorMap map_a, __nv_bfloat16* C, int n) {\n"
        "    C[threadIdx.x] = n;\n}\n"
    )
    made = draft(path)
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
    assert "// tolerance = 1e-05\n" in draft(path).text


def test_bytes_are_those_of_the_type(init) -> None:
    source = (
        "__global__ void copy_all(const __nv_fp8_e4m3* x, __nv_fp8_e4m3* y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = x[i];\n}\n"
    )
    assert init(source).resolve({"n": 1000}).min_bytes == 2000
    assert init(source.replace("__nv_fp8_e4m3", "double")).resolve({"n": 10}).min_bytes == 160


def test_bytes_of_arrays_of_different_types_are_added_up(init) -> None:
    source = _gemm().replace("const float* __restrict__ A", "const __nv_bfloat16* A")
    spec = init(source.replace("const float* __restrict__ B", "const __half* B"))
    assert [each.type for each in spec.arguments[:3]] == ["bfloat16", "float16", "float32"]
    resolved = spec.resolve({"M": 10, "N": 100, "K": 1000})
    assert resolved.min_bytes == 2 * 10 * 1000 + 2 * 1000 * 100 + 4 * 10 * 100


def test_what_an_elementwise_kernel_of_two_widths_moves_is_not_guessed(init) -> None:
    source = (
        "__global__ void copy_all(const __nv_bfloat16* x, float* y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = x[i];\n}\n"
    )
    assert init(source).min_bytes is None


def test_a_factor_of_bfloat16_has_a_value(init) -> None:
    source = _gemm().replace("int M", "__nv_bfloat16 alpha, int M")
    (alpha,) = [each for each in init(source).arguments if each.name == "alpha"]
    assert alpha.value is not None
    assert (alpha.type, alpha.value.normalised) == ("bfloat16", "1.0")
