"""Sources without a launch specification: the one that ``init`` would write is used."""

from __future__ import annotations

import shlex

import pytest

LINE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
SAXPY = f"""\
__global__ void saxpy(int n, float a, const float* x, float* y) {{
    {LINE}
    if (i < n) y[i] = a * x[i] + y[i];
}}
"""
PLAIN = f"""\
__global__ void shift(const float* x, float* y, int n) {{
    {LINE}
    if (i < n) y[i] = x[i] + 1.0f;
}}
"""
ASSUMED = (
    "the launch was inferred from the source: kernel {kernel}; block 256, grid ceil_div(n, 256); "
    "n = 16777216; {values}. `kernelprof init {path}` writes it into the file for review"
)


@pytest.fixture
def kernel_cu(tmp_path):
    """A source with this text."""

    def write(text, name="kernel.cu"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_what_was_assumed_is_said(kernelprof, kernel_cu) -> None:
    path = kernel_cu(SAXPY)
    done = kernelprof(
        f"diagnose {path} --predict --format json", err="checked against saxpy in float64 at n="
    )
    found = done.json["captures"][0]
    said = ASSUMED.format(kernel="saxpy", values="a = 2.0; random values: x, y", path=path)
    assert found["warnings"] == [said]
    assert said in done.err
    inferred = found["inferred"]
    assert inferred["remarks"] == []
    assert inferred["specification"]["grid"] == ["ceil_div(n, 256)"]
    assert inferred["specification"]["reference"] == "saxpy"
    assert path.read_text() == SAXPY


@pytest.mark.parametrize("suffix", [".cuh", ".h", ".hpp"])
def test_a_header_is_a_source(kernelprof, kernel_cu, suffix) -> None:
    header = kernel_cu(SAXPY, f"kernel{suffix}")
    (found,) = kernelprof.json(f"diagnose {header} --predict")["captures"]
    assert found["inferred"]["specification"]["reference"] == "saxpy"


def test_what_is_written_is_not_inferred(kernelprof, kernel_cu) -> None:
    path = kernel_cu(SAXPY)
    kernelprof(f"init {path}")
    (found,) = kernelprof.json(f"diagnose {path} --predict", code={0, 3})["captures"]
    assert (found["inferred"], found["warnings"]) == (None, [])


def test_a_result_that_nothing_checks_is_not_called_right(kernelprof, kernel_cu) -> None:
    kernelprof(
        f"diagnose {kernel_cu(PLAIN)}",
        code={0, 3},
        err=(
            "Result not checked: no reference given (--against "
            "OLD.cu compares it with another version)"
        ),
        says="the launch was inferred from the source: kernel shift",
    )


def test_a_result_that_its_name_does_not_promise_is_told(kernelprof, kernel_cu) -> None:
    source = kernel_cu(SAXPY.replace("+ y[i]", "- y[i]"))
    done = kernelprof(f"diagnose {source} --predict --format json", code={0, 3})
    (found,) = done.json["captures"]
    said = "the result does not match saxpy, so no reference is used"
    assert found["inferred"]["remarks"] == [said]
    assert found["warnings"][1] == f"about the inferred launch: {said}"
    assert "Result not checked" in done.err


def test_sizes_can_be_changed(kernelprof, kernel_cu) -> None:
    path = str(kernel_cu(SAXPY))
    found = kernelprof.json(f"diagnose {path} --predict --size n=4096", code={0, 3})
    (kernel,) = found["kernels"]
    assert kernel["grid"] == [16, 1, 1]


@pytest.mark.slow("several kernels are predicted")
def test_the_kernel_of_several(kernelprof, kernel_cu) -> None:
    both = SAXPY + PLAIN
    path = str(kernel_cu(both))
    for name in ("shift", "sh.*t"):
        done = kernelprof(f"diagnose {path} --predict --kernel {name} --format json", code={0, 3})
        (kernel,) = done.json["kernels"]
        assert kernel["name"] == "shift"
        assert f"--kernel {shlex.quote(name)} " in kernel["verdict"]["command"]
    kernel_cu(f"{both}void go(float* y) {{ shift<<<4096, 256>>>(y, y, 1048576); }}\n")
    (found,) = kernelprof.json(f"diagnose {path} --predict", code={0, 3})["captures"]
    assert found["inferred"]["specification"]["kernel"] == "shift"
    assert found["inferred"]["remarks"] == [
        "shift was selected from the 2 kernels of the file (--kernel saxpy selects another)"
    ]


@pytest.mark.exhaustive("half a minute of predictions")
def test_the_gate_launches_both_alike(kernelprof, kernel_cu) -> None:
    old = kernel_cu(PLAIN, "old.cu")
    strided = PLAIN.replace("x[i]", "x[2 * i % n]")
    host = "void go(float* y) { const int n = 1 << 20; shift<<<(n + 255) / 256, 256>>>(y, y, n); }"
    new = kernel_cu(f"{strided}{host}\n", "new.cu")
    done = kernelprof(f"gate {old} {new} --predict --format json", code=1)
    found = done.json
    assert found["kernels"][0]["match"] == "same"
    assert {each["code"] for each in found["kernels"][0]["findings"]} >= {"counter-worse"}
    assert "before: the launch was inferred" in done.out
    wrong = kernel_cu(PLAIN.replace("1.0f", "2.0f"), "wrong.cu")
    against = f"--against {old}"
    kernelprof(
        f"gate {old} {wrong} --predict {against}", code=1, out="the kernel's result is wrong"
    )


@pytest.mark.slow("two kernels are predicted")
def test_a_candidate_that_leaves_its_arrays_is_a_regression(kernelprof, kernel_cu) -> None:
    old = kernel_cu(PLAIN, "old.cu")
    new = kernel_cu(PLAIN.replace("y[i] =", "y[i - 1] ="), "new.cu")
    (kernel,) = kernelprof.json(f"gate {old} {new} --predict", code=1)["kernels"]
    assert {each["code"] for each in kernel["findings"]} >= {"wrong-result"}


def test_what_prepares_data_is_not_the_kernel(kernelprof, kernel_cu) -> None:
    first = SAXPY.replace("saxpy(", "initData(")
    host = "void go(float* y) { initData<<<8, 256>>>(1, 1, y, y); shift<<<8, 256>>>(y, y, 2048); }"
    path = str(kernel_cu(f"{first}{PLAIN}{host}\n"))
    (found,) = kernelprof.json(f"diagnose {path} --predict", code={0, 3})["captures"]
    assert found["inferred"]["specification"]["kernel"] == "shift"


def test_no_template_argument_is_made_up(kernelprof, kernel_cu) -> None:
    path = str(kernel_cu(f"template <typename T>\n{PLAIN.replace('float', 'T')}"))
    kernelprof(
        f"diagnose {path} --predict",
        code=2,
        err=[
            "its source does not determine its template arguments (T)",
            "specify the template arguments: --kernel 'shift<...>'",
        ],
    )
    kernelprof(
        f"diagnose {path} --predict --kernel 'shift<float>'", code={0, 3}, out="kernel shift<float>"
    )


def test_a_grid_that_follows_from_made_up_sizes_is_no_sure_verdict(kernelprof, kernel_cu) -> None:
    path = str(kernel_cu(PLAIN))
    found = kernelprof.json(f"diagnose {path} --predict --size n=1024", code={0, 3})
    verdict = found["kernels"][0]["verdict"]
    assert (verdict["bottleneck"], verdict["confidence"]) == ("small-grid", "low")
    said = "the number of blocks depends on the sizes: set realistic ones with --size"
    assert verdict["notes"][0] == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            SAXPY.replace("+ y[i]", "- y[i]"),
            "the result does not match saxpy, so no reference is used",
        ),
        (
            PLAIN.replace("if (i < n)", "if (i < n && i % 4 == 0)"),
            "most of y is not written at the check sizes: the grid or the argument values may be "
            "wrong",
        ),
    ],
)
def test_a_launch_that_may_be_wrong_gives_no_sure_verdict(
    kernelprof, kernel_cu, text, said
) -> None:
    found = kernelprof.json(f"diagnose {kernel_cu(text)} --predict", code={0, 3})
    verdict = found["kernels"][0]["verdict"]
    assert verdict["confidence"] == "low"
    assert verdict["notes"][0] == f"the inferred launch may be wrong: {said}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            PLAIN.replace("const float* x", "const Node* x"),
            [
                "no launch specification, and its source does not determine type of x, shape of x",
                "`kernelprof init kernel.cu` writes the inferred values into the file",
                "where: kernel.cu:1",
            ],
        ),
        (
            PLAIN.replace("y[i]", "y[i - 1]"),
            ["with the inferred values, which may be wrong, the kernel fails: ", "bytes before y"],
        ),
        (
            """
            #include <cstdlib>
            __global__ void part(const float* x, float* y, int n) { if (n > 0) y[0] = x[0]; }
            int main() {
                const int first = rand() % 1024 + 1, n = 1024 - first;
                float *x, *y;
                cudaMalloc(&x, n * sizeof(float));
                cudaMalloc(&y, n * sizeof(float));
                part<<<(n + 255) / 256, 256>>>(x, y, n);
            }
            """,
            ["and the inferred one is invalid: ", "grid[0]"],
        ),
        (PLAIN.replace("1.0f", "ONE"), "its source does not determine the value of ONE"),
        (
            f"#include <other.h>\n{PLAIN.replace('1.0f', 'one')}",
            "the missing declaration may be in a header left out (<other.h>)",
        ),
        (
            f"#include <curand_none.h>\n{PLAIN.replace('1.0f', 'one')}",
            "next: install the headers of cuRAND: python -m pip install nvidia-curand",
        ),
    ],
    ids=["blanks", "wrong", "negative", "macro", "header", "header-in-a-wheel"],
)
def test_what_cannot_be_inferred_is_named(kernelprof, kernel_cu, text, says, monkeypatch) -> None:
    monkeypatch.chdir(kernel_cu(text).parent)
    kernelprof("diagnose kernel.cu --predict", code=2, err=says)


GUARDED = f"__global__ void k(float* x, int n) {{ {LINE} if (i < n) x[i] = 2.0f; }}\n"
TALKS = 'assert(i >= 0); if (i < 3) printf("%d of %d\\n", i, n); x[i]'


@pytest.mark.parametrize(
    ("text", "header", "grid"),
    [
        (GUARDED.replace("int n", "int in").replace("< n", "< in"), "", "ceil_div(in, 256)"),
        ('#include "own.h"\n', GUARDED, "ceil_div(n, 256)"),
        (
            "#include <cassert>\n#include <cstdio>\n"
            + GUARDED.replace("x[i] = 2.0f;", f"{{ {TALKS} = 2.0f; }}"),
            "",
            "ceil_div(n, 256)",
        ),
        ('#include "own.h"\n', '#include "inner.h"\n', "ceil_div(n, 256)"),
    ],
    ids=["a-word-of-python", "kernel-in-a-header", "prints-and-asserts", "kernel-in-its-header"],
)
def test_sources_as_people_write_them_are_predicted(
    kernelprof, kernel_cu, text, header, grid
) -> None:
    path = kernel_cu(text)
    kernel_cu(header, "own.h")
    kernel_cu(GUARDED, "inner.h")
    found = kernelprof.json(f"diagnose {path} --predict", code={0, 3})
    (specification,) = (each["inferred"]["specification"] for each in found["captures"])
    assert (specification["kernel"], specification["grid"]) == ("k", [grid])
    assert len(found["kernels"]) == 1


def test_what_does_not_compile_is_said_before_what_is_not_known(kernelprof, kernel_cu) -> None:
    path = kernel_cu(
        "#include <glm/glm.hpp>\n"
        "__device__ float size_of(glm::vec3 p) { return p.x; }\n"
        f"__global__ void shift(const int* at, float* y) {{ {LINE} y[at[at[i]]] = size_of(i); }}\n"
    )
    done = kernelprof(f"diagnose {path} --predict", code=2, err="the kernel does not compile")
    assert 'flags = ["-IFOLDER"]' in done.err
    assert "<glm/glm.hpp>" in done.err
    kernelprof(f"init {path}", err="kernelprof: ")
    assert 'name = "at"' in path.read_text()


def test_a_kernel_with_accessors_of_pytorch_is_predicted(kernelprof, kernel_cu) -> None:
    path = kernel_cu(
        "#include <torch/extension.h>\n"
        "__global__ void twice(const torch::PackedTensorAccessor32<float, 2> x,\n"
        "    torch::PackedTensorAccessor32<float, 2> y) {\n"
        f"  {LINE} if (i < x.size(1)) y[blockIdx.y][i] = 2 * x[blockIdx.y][i]; }}\n"
        "torch::Tensor run(torch::Tensor x) { auto y = torch::empty_like(x);\n"
        "  const auto rows = x.size(0), columns = x.size(1);\n"
        "  twice<<<dim3((columns + 255) / 256, rows), 256>>>(\n"
        "    x.packed_accessor32<float, 2>(), y.packed_accessor32<float, 2>()); return y; }\n"
    )
    answer = kernelprof.json(f"diagnose {path} --predict")
    (found,) = answer["captures"]
    assert found["inferred"]["remarks"] == []
    assert found["inferred"]["specification"]["sizes"] == {"columns": 4096, "rows": 4096}
    verdict = answer["kernels"][0]["verdict"]
    assert verdict["bottleneck"] in {"dram-bandwidth", "memory-latency"}
