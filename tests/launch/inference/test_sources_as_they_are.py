"""What a source leaves to its build, its headers and its callers."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernelprof.launch.build.compilation import instrument_source
from kernelprof.launch.inference.proposal import _flags_for, infer_specification
from kernelprof.launch.signature import kernels
from kernelprof.launch.source import kernels_of

if TYPE_CHECKING:
    from kernelprof.launch.inference.evidence import Guesses

LINE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
COPY = f"__global__ void copy(const T* x, T* y, int n) {{ {LINE} if (i < n) y[i] = x[i]; }}\n"


def guesses_of(path: Path, text: str, kernel: str | None = None) -> Guesses:
    path.write_text(text, encoding="utf-8")
    return infer_specification(path, kernel=kernel).guesses


@pytest.mark.parametrize(
    ("host", "kernel"),
    [
        (
            "template <int scale = 4, class U> void run(U const* a, int n) {\n"
            "  std::vector<U, Managed<U>> b(n); copy<<<n / scale, 64>>>(a, b.data(), n); }\n"
            "int main() { std::vector<short> a(1 << 20); run(a.data(), 1 << 20); }",
            "copy<short>",
        ),
        (
            "int main() { thrust::device_vector<double> a(9), b(9);\n"
            "  copy<<<3, 3>>>(thrust::raw_pointer_cast(a.data()), &b[0], 9); }",
            "copy<double>",
        ),
        ("int main() { Buffer a; copy<<<3, 3>>>(a.data(), a.data(), 9); }", None),
        ("int main() { Buffer<int>* a; copy<<<3, 3>>>(a->data(), a->data(), 9); }", None),
        (
            "void run(const std::vector<float>& a, float* b) { copy<<<3, 3>>>(a.data(), b, 9); }",
            "copy<float>",
        ),
    ],
)
def test_types_of_containers_decide_template_arguments(tmp_path, host, kernel) -> None:
    guesses = guesses_of(tmp_path / "k.cu", f"template <typename T>\n{COPY}{host}\n")
    assert guesses.kernel == kernel


def test_default_template_arguments_of_host_functions_count(tmp_path) -> None:
    text = (
        f"template <int width, typename T>\n{COPY}"
        "template <int wide = 128, typename U> void run(U* a, int n) {\n"
        "  copy<wide><<<n / wide, wide>>>(a, a, n); }\n"
        "int main() { float* a; run(a, 4096); }\n"
    )
    guesses = guesses_of(tmp_path / "k.cu", text)
    assert guesses.kernel == "copy<128, float>"
    assert [each.text for each in guesses.block or ()] == ["128"]


def test_a_kernel_behind_a_condition_of_the_build_has_what_it_asks_for(tmp_path) -> None:
    text = (
        "#ifdef WITH_CUDA\n#if defined(FAST)\n#define WIDTH 4\n#endif\n"
        f"#ifndef OTHER\n{COPY.replace('T', 'float')}#endif\n#endif\n"
    )
    proposal_path = tmp_path / "k.cu"
    guesses = guesses_of(proposal_path, text)
    assert guesses.defines == {"WITH_CUDA": 1}
    assert "defines = { WITH_CUDA = 1 }" in infer_specification(proposal_path).toml
    plain = COPY.replace("T", "float")
    for other in (
        f"#ifdef WITH_HIP\n#else\n{plain}#endif\n",
        f"#ifdef DEBUG\n{plain}#else\n{plain}#endif\n",
        f"#ifdef __NVCC__\n{plain}#endif\n",
    ):
        assert guesses_of(tmp_path / "k2.cu", other).defines == {}


def test_headers_are_read_from_the_folders_that_are_given_for_them(tmp_path) -> None:
    """One of them by way of another, both by paths from the project's folder."""
    kernels_folder = tmp_path / "src" / "kernels" / "blur"
    kernels_folder.mkdir(parents=True)
    (kernels_folder / "modes.cuh").write_text(
        '#include "src/kernels/threads.cuh"\nenum class Mode : unsigned char { CLAMP = 2, WRAP };\n'
    )
    (tmp_path / "src" / "kernels" / "threads.cuh").write_text("constexpr int THREADS = 192;\n")
    text = (
        '#include "src/kernels/blur/modes.cuh"\n'
        f"__global__ void blur(const float* x, float* y, int n, Mode mode) {{ {LINE}\n"
        "  if (i < n) y[i] = mode == Mode::WRAP ? x[i] : 0.0f; }\n"
        "%svoid run(float* x, float* y, int n) { blur<<<n / THREADS, THREADS>>>(x, y, n, %s); }\n"
    )
    guesses = guesses_of(kernels_folder / "k.cu", text % ("", "Mode::WRAP"))
    assert guesses.flags == ["-I../../.."]
    assert (guesses.types["mode"], guesses.values["mode"]) == ("uint8", "3")
    assert [each.text for each in guesses.block or ()] == ["192"]
    unknown = guesses_of(kernels_folder / "k2.cu", text % ("Mode chosen();\n", "chosen()"))
    assert (unknown.values["mode"], unknown.why["value.mode"]) == ("2", "the first enumerator")


@pytest.mark.parametrize(
    ("written", "passed", "value"),
    [
        ("enum Mode", "(Mode)1", "1"),
        ("scope::Mode", "scope::C", "5"),
        ("Other", "B", "4"),
        ("Mode", "unknown()", "0"),
    ],
)
def test_an_enumeration_by_any_of_its_names(tmp_path, written, passed, value) -> None:
    text = (
        "enum Mode { A, B = 4, C };\nusing Other = Mode;\n"
        f"__global__ void f(float* x, int n, {written} mode) {{ {LINE}\n"
        "  if (i < n) x[i] = mode; }\n"
        f"int main() {{ float* x; f<<<4, 64>>>(x, 256, {passed}); }}\n"
    )
    assert guesses_of(tmp_path / "k.cu", text).values["mode"] == value


def test_a_header_in_another_encoding_is_read_and_one_of_the_system_is_not(tmp_path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "size.h").write_bytes(b"// Andr\xe9\nconstexpr int THREADS = 96;\n")
    (tmp_path / "own").mkdir()
    text = (
        f'#include "size.h"\n#include <stdlib.h>\n{COPY.replace("T", "float")}'
        "int main() { float* x; copy<<<4, THREADS>>>(x, x, 256); }\n"
    )
    guesses = guesses_of(tmp_path / "own" / "k.cu", text)
    assert guesses.flags == ["-I../include"]
    assert [each.text for each in guesses.block or ()] == ["96"]
    assert list(_flags_for(Path("/usr/local/src/app/k.cu"), "stdlib.h")) == []


def test_a_kernel_in_a_header_of_another_folder_is_found_to_be_built(tmp_path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "copy.cuh").write_text(COPY.replace("T", "float"))
    (tmp_path / "own").mkdir()
    path = tmp_path / "own" / "k.cu"
    text = '#include "copy.cuh"\nint main() { float* x; copy<<<4, 64>>>(x, x, 256); }\n'
    flags = guesses_of(path, text).flags
    assert [each.name for each in kernels_of(path, text, flags)] == ["copy"]
    assert kernels_of(path, text) == ()


def test_filters_and_channels_are_small(tmp_path) -> None:
    text = (
        "__global__ void blur(const float* x, float* y, const float* w, int n, int channels,\n"
        f"                     int kernel_size) {{ {LINE} if (i < n) {{ float sum = 0;\n"
        "  for (int c = 0; c < channels; ++c) for (int k = 0; k < kernel_size; ++k)\n"
        "    sum += w[k] * x[(i + k) * channels + c];\n  y[i] = sum; } }\n"
    )
    sizes = guesses_of(tmp_path / "k.cu", text).sizes
    assert (sizes["channels"], sizes["kernel_size"]) == (3, 5)
    assert sizes["n"] > 1000


@pytest.mark.parametrize(
    ("around", "unnamed", "instance"),
    [
        ("namespace { %s }", True, "namespace { template __global__ decltype(f<int>) f<int>; }"),
        ("namespace a { namespace { %s } }", False, "template __global__ decltype(f<int>) f<int>;"),
        ("namespace { namespace { %s } }", False, "template __global__ decltype(f<int>) f<int>;"),
        ("%s", False, "template __global__ decltype(f<int>) f<int>;"),
    ],
)
def test_a_template_is_instantiated_in_its_unnamed_namespace(
    tmp_path, around, unnamed, instance
) -> None:
    text = around % "template <typename T> __global__ void f(T* x) { *x = 1; }"
    (kernel,) = kernels(text)
    assert kernel.in_unnamed_namespace is unnamed
    made = instrument_source(text, tmp_path / "k.cu", "f<int>", unnamed=unnamed)
    assert made.split("\n")[-2] == instance


LOOP = (
    "#define CUDA_KERNEL_LOOP(i, n) \\\n  for (int i = blockIdx.x * blockDim.x + threadIdx.x; \\\n"
    "       i < (n); i += blockDim.x * gridDim.x)  // all of it\n"
)
SCALE = (
    "template <typename T> __global__ void scale(int n,\n    const T* x, T* y) {\n"
    "  CUDA_KERNEL_LOOP(index, n) {\n    y[index] = 2 * x[index];\n  }\n}\n"
)
DISPATCHED = '{}(x.scalar_type(), "scale", [&] {{ scale<{}><<<8, 64>>>(n, x, y); }});'
INSTANTIATES = (
    "#define FOR_TYPE(layer) template void layer<float>::run();\n"
    "#define INSTANTIATE_LAYER(layer) FOR_TYPE(layer)\n"
)


def test_a_macro_that_begins_a_loop_is_that_loop(tmp_path) -> None:
    (tmp_path / "loop.h").write_text(LOOP, encoding="utf-8")
    instance = "template __global__ void scale<float>(int, const float*, float*);"
    text = f'#include "loop.h"\n{SCALE}{instance}\n'
    guesses = guesses_of(tmp_path / "k.cu", text)
    assert guesses.arrays["y"].dimensions == ["n"]
    assert guesses.arrays["y"].output
    assert guesses.why["kernel"] == "instantiated on line 8"


def test_a_loop_of_pytorch_is_that_loop(tmp_path) -> None:
    text = "#include <ATen/cuda/detail/KernelUtils.h>\n"
    text += SCALE.replace("template <typename T> ", "").replace("T*", "float*")
    guesses = guesses_of(tmp_path / "k.cu", text)
    assert guesses.arrays["y"].dimensions == ["n"]


def test_a_macro_that_begins_either_of_two_loops_begins_one(tmp_path) -> None:
    text = f"#ifdef HIP\n{LOOP.replace('int i', 'size_t i')}#else\n{LOOP}#endif\n"
    text += SCALE.replace("template <typename T> ", "").replace("T*", "float*")
    assert guesses_of(tmp_path / "k.cu", text).arrays["y"].dimensions == ["n"]


LAUNCHES = {
    "one": ("#define GO(T) scale<T><<<grid, 64>>>(n, (T*)x, (T*)y)", "if (n) GO(double);"),
    "split": (
        "#define GO(T, m) \\\n  do { \\\n    scale<T> << <grid, 64>> >(n, (T*)x, (T*)y); \\\n"
        "  } while (0)",
        "if (n)\n    GO(double, n / 64);",
    ),
    "nested": (
        "#define RUN(T) scale<T><<<grid, 64>>>(n, (T*)x, (T*)y)\n#define GO(T) { RUN(T); }",
        "GO(double)",
    ),
    "joined": (
        "#define GO(T, name) sc##name<T><<<grid, 64>>>(n, (T*)x, (T*)y); log(#name)",
        "GO(double, ale);",
    ),
}


@pytest.mark.parametrize("macro", LAUNCHES)
def test_a_macro_with_a_launch_is_that_launch(tmp_path, macro) -> None:
    text = f"{LOOP}{SCALE}void run(void* x, void* y, int n) {{\n  dim3 grid((n + 63) / 64);\n"
    defined, used = LAUNCHES[macro]
    guesses = guesses_of(tmp_path / "k.cu", f"{text}{defined}\n  {used}\n}}\n")
    assert guesses.kernel == "scale<double>"
    assert [each.text for each in guesses.block] == ["64"]
    assert [each.text for each in guesses.grid] == ["ceil_div(n, 64)"]


def test_macros_with_launches_that_name_each_other_end(tmp_path) -> None:
    text = f"{LOOP}{SCALE}#define GO(T) GO(T) GO(T) scale<T><<<8, 64>>>(n, x, y);\n"
    text += "void run(float* x, float* y, int n) { GO(float) }\n"
    assert guesses_of(tmp_path / "k.cu", text).kernel == "scale<float>"


def test_a_macro_that_is_defined_twice_is_not_guessed(tmp_path) -> None:
    text = f"{LOOP}{SCALE}#ifdef BIG\n#define GO(T) scale<T><<<8, 64>>>(n, x, y)\n#else\n"
    text += "#define GO(T) scale<T><<<8, 1024>>>(n, x, y)\n#endif\n"
    text += "void run(float* x, float* y, int n) { GO(float); }\n"
    assert guesses_of(tmp_path / "k.cu", text).kernel is None


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ("", "enum { B = 64 };"),
        ("enum class Tile { B, GRID };", "constexpr int B = 64;"),
    ],
)
def test_values_of_a_function_are_numbers(tmp_path, before, inside) -> None:
    text = f"{before}\ntemplate <int N> __global__ void f(float* x) {{ x[threadIdx.x] = N; }}\n"
    text += f"void run(float* x) {{ {inside} f<B><<<1, 64>>>(x); }}\n"
    assert guesses_of(tmp_path / "k.cu", text).kernel == "f<64>"


@pytest.mark.parametrize("within", ["namespace a {{ {} }}", "template <class Op> {}"])
def test_a_class_that_is_not_seen_is_no_template_argument(tmp_path, within) -> None:
    text = "struct Op {};\n" if "template" in within else ""
    text += "template <class F> __global__ void map(float* x) { x[threadIdx.x] = 1; }\n"
    run = "void run(float* x) { map<Op><<<1, 64>>>(x); }"
    text += within.format(run if "template" in within else f"struct Op {{}}; {run}")
    assert guesses_of(tmp_path / "k.cu", f"{text}\n").kernel is None


@pytest.mark.parametrize(
    ("parameter", "given", "kernel"),
    [
        ("class F", "Twice", "map<Twice>"),
        ("class F", "Unknown", None),
        ("Mode mode", "FAST", "map<FAST>"),
    ],
)
def test_classes_and_enumerators_are_template_arguments(tmp_path, parameter, given, kernel) -> None:
    text = "struct Twice { __device__ float operator()(float a) { return 2 * a; } };\n"
    text += (
        f"enum Mode {{ SLOW, FAST }};\ntemplate <{parameter}> __global__ void map(float* x) {{\n"
    )
    text += f"  x[threadIdx.x] = 1; }}\nvoid run(float* x) {{ map<{given}><<<1, 64>>>(x); }}\n"
    assert guesses_of(tmp_path / "k.cu", text).kernel == kernel


@pytest.mark.parametrize(
    ("host", "kernel"),
    [
        (DISPATCHED.format("AT_DISPATCH_FLOATING_TYPES_AND_HALF", "scalar_t"), "scale<float>"),
        (DISPATCHED.format("DISPATCH_HALF_AND_BFLOAT", "scalar_t_0"), "scale<__half>"),
        (DISPATCHED.format("AT_DISPATCH_INTEGRAL_TYPES", "scalar_t"), "scale<int>"),
        (DISPATCHED.format("AT_DISPATCH_FLOATING_TYPES", "short"), "scale<short>"),
        (DISPATCHED.format("AT_DISPATCH_FLOATING_TYPES", "at::Half"), "scale<at::Half>"),
        (DISPATCHED.format("DISPATCH_BFLOAT16", "scalar_t"), "scale<__nv_bfloat16>"),
        (DISPATCHED.format("AT_DISPATCH_REDUCED_FLOATING_TYPES", "scalar_t"), "scale<__half>"),
        (DISPATCHED.format("DISPATCH_DOUBLE", "scalar_t"), "scale<double>"),
        (DISPATCHED.format("AT_DISPATCH_FLOATING_TYPES", "Pair<scalar_t>"), "scale<Pair<float>>"),
        (DISPATCHED.format("AT_DISPATCH_FLOATING_TYPES", "Pair"), None),
        (DISPATCHED.format("run_all", "scalar_t"), None),
    ],
)
def test_a_macro_dispatches_a_launch_for_types(tmp_path, host, kernel) -> None:
    pair = "struct Pair { int a; float* b; };\n"
    text = f"{LOOP}{SCALE}{pair}void run(Tensor x, Tensor y, int n) {{ {host} }}\n"
    guesses = guesses_of(tmp_path / "k.cu", text)
    assert guesses.kernel == kernel


def test_types_of_indices_and_of_functions_are_not_those_of_elements(tmp_path) -> None:
    text = (
        "template <typename T, typename I, typename F>\n"
        "__global__ void put(T* x, const I* at, F f) { x[at[threadIdx.x]] = f(threadIdx.x); }\n"
        "void run(Tensor x, Tensor at) { AT_DISPATCH_FLOATING_TYPES(x.type(), 1, [&] {\n"
        "  AT_DISPATCH_INDEX_TYPES(at.type(), 2, [&] {\n"
        "    put<scalar_t, index_t, Add<scalar_t>><<<8, 64>>>(x, at, f); }); }); }\n"
    )
    assert guesses_of(tmp_path / "k.cu", text).kernel == "put<float, int, Add<float>>"


def test_a_macro_instantiates_templates_of_the_host_for_types(tmp_path) -> None:
    host = (
        "template <typename D> void Layer<D>::run() {\n"
        "  scale<D><<<8, 64>>>(count_, data(), data()); }\nINSTANTIATE_LAYER(Layer);\n"
    )
    guesses = guesses_of(tmp_path / "k.cu", f"{LOOP}{INSTANTIATES}{SCALE}{host}")
    assert guesses.kernel == "scale<float>"
    assert guesses.why["kernel"] == "as launched on line 13, with float of INSTANTIATE_LAYER"


@pytest.mark.parametrize(
    "number", ["blockIdx.x + blockIdx.y * gridDim.x", "gridDim.x * blockIdx.y + blockIdx.x"]
)
def test_blocks_that_are_numbered_along_x_and_y_fit_along_x(tmp_path, number) -> None:
    kernel = (
        "__global__ void zero(int n, float* x) {\n"
        f"  int i = int({number}) * blockDim.x + threadIdx.x;\n  if (i < n) x[i] = 0;\n}}\n"
    )
    guesses = guesses_of(tmp_path / "k.cu", kernel)
    assert [each.text for each in guesses.grid or ()] == ["ceil_div(n, 256)"]
    host = "void run(float* x) { dim3 grid(64, 32); zero<<<grid, 256>>>(1 << 19, x); }\n"
    guesses = guesses_of(tmp_path / "k.cu", kernel + host)
    assert [each.text for each in guesses.grid or ()] == ["64", "32"]
    of_rows = kernel.replace("x[i] = 0;", "x[i] = blockIdx.y;")
    assert len(guesses_of(tmp_path / "k.cu", of_rows).grid or ()) == 2


def test_a_header_defines_a_macro_that_the_kernel_uses_if_the_build_asks_for_it(tmp_path) -> None:
    (tmp_path / "sizes.h").write_text(
        "#ifdef GPU\n#define BLOCK 512\n#endif\n#ifdef TEST\n#define OTHER 1\n#endif\n",
        encoding="utf-8",
    )
    text = (
        '#include "sizes.h"\n__global__ void part(float* x) {\n'
        "  __shared__ float sums[BLOCK]; sums[threadIdx.x] = x[threadIdx.x]; }\n"
    )
    assert guesses_of(tmp_path / "k.cu", text).defines == {"GPU": 1}


@pytest.mark.parametrize(
    "header",
    [
        "#ifdef ROCM\n#include <hip.h>\n#else\n#define BLOCK 512\n#endif\n",
        "#ifdef ROCM\n#define BLOCK 512\n#else\nconstexpr int BLOCK = 32;\n#endif\n",
        "#ifdef ROCM\n#define BLOCK 512\n#else\n#define BLOCK 32\n#endif\n",
    ],
)
def test_a_macro_that_is_there_otherwise_asks_for_nothing(tmp_path, header) -> None:
    (tmp_path / "sizes.h").write_text(header, encoding="utf-8")
    text = '#include "sizes.h"\n__global__ void part(float* x) { x[threadIdx.x] = BLOCK; }\n'
    assert guesses_of(tmp_path / "k.cu", text).defines == {}
    own = "#define SIZE 3\n__global__ void part(float* x) { x[threadIdx.x] = SIZE; }\n"
    (tmp_path / "sizes.h").write_text("#ifdef TEST\n#define SIZE 64\n#endif\n", encoding="utf-8")
    assert guesses_of(tmp_path / "k.cu", f'#include "sizes.h"\n{own}').defines == {}


def test_headers_of_cpp_are_not_looked_for_in_folders_above(tmp_path) -> None:
    for name in ("string", "own.h"):
        (tmp_path / "inc").mkdir(exist_ok=True)
        (tmp_path / "inc" / name).touch()
    (tmp_path / "src").mkdir()
    source = tmp_path / "src" / "k.cu"
    text = "#include <string>\n__global__ void k(float* x) { x[threadIdx.x] = 0; }\n"
    assert guesses_of(source, text).flags == []
    assert guesses_of(source, f"#include <own.h>\n{text}").flags == ["-I../inc"]


def test_a_macro_that_is_a_statement_hides_no_launch(tmp_path) -> None:
    text = (
        "#define BEGIN {\r\n#define AND_SO_ON\n#define N 64\n"
        "template <int W> __global__ void zero(float* x) { x[blockIdx.x * W + threadIdx.x] = 0; }\n"
        "template <int W> void run(float* x) {\n  float* y = x;\n  /* begins:\n  here */\n"
        "  BEGIN\r\n  AND_SO_ON\n"
        "  zero<W><<<8, W>>>(y);\n}\nvoid all(float* x) { run<\n  N\n  >(x); }\n"
    )
    assert guesses_of(tmp_path / "k.cu", text).kernel == "zero<64>"


def test_a_thread_for_each_row_gets_rows_for_the_whole_gpu(tmp_path) -> None:
    text = (
        "__global__ void sums(const float* x, float* y, int rows, int columns) {\n"
        f"  {LINE}\n  if (i >= rows) return;\n  float sum = 0;\n"
        "  for (int c = 0; c < columns; c++) sum += x[i * columns + c];\n  y[i] = sum; }\n"
    )
    sizes = guesses_of(tmp_path / "k.cu", text).sizes
    assert sizes == {"rows": 131072, "columns": 128}


def test_a_launch_with_its_brackets_apart_and_a_macro_with_a_comment(tmp_path) -> None:
    text = (
        "#define WIDTH 64 // of a row\n#define HALF (WIDTH / 2) // and /* half */\n"
        "#define OTHER 8 /* see //\n it */\n"
        "template <int W> __global__ void zero(float* x) { x[blockIdx.x * W + threadIdx.x] = 0; }\n"
        "void run(float* x) { zero<HALF> << <8, WIDTH >> > (x); }\n"
    )
    guesses = guesses_of(tmp_path / "k.cu", text)
    assert guesses.kernel == "zero<32>"
    assert [each.text for each in guesses.block or ()] == ["64"]


def test_a_structure_that_points_to_its_own_type_is_asked_for(tmp_path) -> None:
    text = (
        "struct Node { struct Node* next; };\n"
        "__global__ void chase(struct Node* p, int n) { while (n--) p = p->next; }\n"
    )
    path = tmp_path / "k.cu"
    path.write_text(text, encoding="utf-8")
    assert infer_specification(path).blanks() == ("type of p", "shape of p")


ACCESSORS = """
#include <torch/extension.h>
template <typename scalar_t> __global__ void gates(
    const torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> in,
    torch::PackedTensorAccessor<scalar_t, 2, torch::RestrictPtrTraits, size_t> out,
    const torch::PackedTensorAccessor64<int64_t, 2> rays, int n) {
  const int row = blockIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;  // not all of in
  if (c < in.size(2) && row < n)
    out[row][c] = in[row][0][c] * in[row]
        [2][c] + rays[row][1];
}
torch::Tensor run(torch::Tensor weights, torch::Tensor rays) {
  const auto batch = rays.size(0), width = weights.size(1);
  auto in = torch::matmul(weights, weights).reshape({batch, 3, width});
  auto out = torch::zeros_like(torch::empty({batch, width}, weights.options()));
  auto held = rays.packed_accessor64<int64_t, 2>();
  AT_DISPATCH_FLOATING_TYPES(in.scalar_type(), "gates", ([&] {
    gates<scalar_t><<<dim3((width + 255) / 256, batch), 256>>>(
        in.packed_accessor32<scalar_t, 3, torch::RestrictPtrTraits>(),
        out.packed_accessor<scalar_t, 2, torch::RestrictPtrTraits, size_t>(), held, batch);
  }));
}
"""


def test_an_accessor_of_pytorch_is_its_structure(tmp_path) -> None:
    path = tmp_path / "k.cu"
    path.write_text(ACCESSORS)
    toml = infer_specification(path).toml
    arguments = tomllib.loads(toml)["arguments"]
    assert [each["name"] for each in arguments] == [
        *("in", "in__data", "out", "out__data", "rays", "rays__data", "n"),
    ]
    assert arguments[0]["members"] == [
        {"name": "data_", "of": "in__data"},
        {"name": "sizes_", "type": "int32", "values": ["batch", "3", "width"]},
        {"name": "strides_", "type": "int32", "values": ["(3) * (width)", "(width)", "1"]},
    ]
    assert arguments[2]["members"][2] == {
        "name": "strides_",
        "type": "int64",
        "values": [arguments[2]["members"][2]["values"][0], "1"],
    }
    # The kernel reads two columns of it, and nothing says how many there are.
    assert arguments[4]["members"][1]["values"] == ["batch", "2"]
    assert [each["shape"] for each in (arguments[1], arguments[5])] == [
        ["3 * batch * width"],
        ["2 * batch"],
    ]
    assert [each["passed"] for each in arguments if each["name"].endswith("__data")] == [False] * 3
    assert tomllib.loads(toml)["grid"] == ["ceil_div(width, 256)", "batch"]


def test_accessors_of_the_host_and_many_assignments_are_no_trouble(tmp_path) -> None:
    guesses = guesses_of(
        tmp_path / "k.cu",
        f"__global__ void k(float* a, int n) {{ {LINE} if (i < n) a[i] = 1; }}\n"
        "void run(torch::Tensor t) {\n"
        "  torch::PackedTensorAccessor32<float, 2> a = t.packed_accessor32<float, 2>();\n"
        "  for (int i = 0; i < 3; ++i) { at::PackedTensorAccessor32<float, 1> b; }\n"
        + "  t = t.contiguous();\n" * 30
        + "  k<<<(t.size(0) + 255) / 256, 256>>>(t.data_ptr<float>(), t.size(0)); }\n",
    )
    assert guesses.values["n"] == "n"


def test_a_part_of_an_accessor_is_an_accessor(tmp_path) -> None:
    guesses = guesses_of(
        tmp_path / "k.cu",
        "__global__ void k(torch::PackedTensorAccessor32<float, 3> in,\n"
        "    torch::PackedTensorAccessor32<float, 2> out) { const int i = blockIdx.x;\n"
        "  auto point = in[i][threadIdx.x]; auto&& row = out[i];\n"
        "  row[threadIdx.x] = point[0] + point[1] * point[2]; }\n"
        "void run(at::Tensor in) { auto out = torch::empty({in.size(0), 64});\n"
        "  const int n = in.size(0); k<<<n, 64>>>(in.packed_accessor32<float, 3>(),\n"
        "    out.packed_accessor32<float, 2>()); }\n",
    )
    lengths = [guesses.arrays[each].length for each in ("in__data", "out__data")]
    values = [each.value({"n": 10, "in__size_1": 64}) for each in lengths if each is not None]
    assert values == [10 * 64 * 3, 10 * 64]


def test_dimensions_with_the_same_index_are_as_large(tmp_path) -> None:
    guesses = guesses_of(
        tmp_path / "k.cu",
        "__global__ void k(torch::PackedTensorAccessor32<float, 2> a,\n"
        "    torch::PackedTensorAccessor32<float, 3> b,\n"
        "    torch::PackedTensorAccessor32<float, 2> c) {\n"
        "  const int n = blockIdx.x, i = threadIdx.x;\n"
        "  for (int k = 0; k < a.size(1); ++k) c[n][i] += a[n][k] * b[n][k][i]; }\n"
        "void run(at::Tensor a, at::Tensor b) { const int rows = a.size(0);\n"
        "  auto c = torch::empty({rows, 32}); k<<<rows, 32>>>(a.packed_accessor32<float, 2>(),\n"
        "    b.packed_accessor32<float, 3>(), c.packed_accessor32<float, 2>()); }\n",
    )
    assert guesses.values["b__size_1_by_k"] == guesses.values["a__size_1_by_k"] == "size_of_k"
    assert guesses.values["b__size_2_by_i"] == guesses.values["c__size_1_by_i"] == "32"


@pytest.mark.parametrize(
    "use",
    ["auto row = in[0]; f(row);", "out[0][0] = sum(in);", "out[0][0] = in[0][1][i"],
    ids=["part", "whole", "open"],
)
def test_an_accessor_that_is_used_otherwise_is_asked_for(tmp_path, use) -> None:
    path = tmp_path / "k.cu"
    path.write_text(
        "__global__ void k(torch::PackedTensorAccessor32<float, 3> in,\n"
        f"    torch::PackedTensorAccessor32<float, 2> out) {{ int i = 0; {use} }}\n"
        "using Held = GenericPackedTensorAccessor<float, 3>;\n"
    )
    proposal = infer_specification(path)
    assert "type of in" in proposal.blanks()


@pytest.mark.parametrize(
    ("made", "size"),
    [
        ("auto a = torch::empty({rows, 64});", "64"),
        ("auto a = at::zeros({rows, 64}, x.options()).contiguous();", "64"),
        ("auto b = x.new_empty({rows, 64}); auto a = torch::empty_like(b);", "64"),
        ("auto b = x.view({rows, 64}); auto a = torch::empty(b.sizes());", "64"),
        ("auto a = x.clone(); const int columns = x.size(1);", "columns"),
        ("auto a = x.clone(); int columns = x.size(1); columns = 3;", "n"),
        ("auto a = x.clone(); int columns = x.size(1); columns += 3;", "n"),
        ("auto a = x.clone(); int columns = x.size(1); columns++;", "n"),
        ("auto a = x.clone(); { int m = x.size(1); } { int m = x.size(1); }", "m"),
    ],
)
def test_sizes_of_tensors_are_those_that_they_are_made_with(tmp_path, made, size) -> None:
    guesses = guesses_of(
        tmp_path / "k.cu",
        "__global__ void k(float* a, int n) { a[blockIdx.x * n + threadIdx.x] = 1; }\n"
        f"void run(at::Tensor x) {{ const int rows = x.size(0); {made}\n"
        "  k<<<rows, 64>>>(a.data_ptr<float>(), a.size(1)); }\n",
    )
    assert guesses.values["n"] == size
    assert guesses.arrays["a"].length is not None
    assert (guesses.arrays["a"].length.text == "64 * rows") == (size == "64")
