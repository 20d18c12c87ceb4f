"""What is guessed of structures and vectors that a kernel gets by value."""

from __future__ import annotations

import pytest

from kernelprof.launch.initialise import draft
from kernelprof.launch.read_spec import load_spec

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
