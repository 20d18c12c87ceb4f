"""Kernels with structures and vectors by value: where the compiler reads the members."""

from __future__ import annotations

import pytest

from kernelprof.interface.prediction import predict
from kernelprof.launch.build.compilation import CompileError

SPEC = """\
// /// kernelprof
// kernel = "affine"
// block = [16, 16]
// grid = ["ceil_div(w, 16)", "ceil_div(h, 16)"]
// reference = "affine_reference:affine"
// sizes = { w = 65, h = 33 }
// arguments = [
//   { name = "v", members = [
//     { name = "x", type = "float32", value = 2 },
//     { name = "yzw", type = "float32", values = [0, 0, 3] } ] },
//   { name = "p", members = [
//     { name = "on", type = "bool", value = 1 },
//     { name = "tint", type = "float32", values = [1, 2, 3, 4], align = 16 },
//     { name = "in", of = "in" },
//     { name = "w", type = "int32", value = "w" },
//     { name = "out", of = "out" },
//     { name = "h", type = "int16", value = "h" } ] },
//   { name = "in", type = "float32", shape = ["h", "w"], passed = false },
//   { name = "out", type = "float32", shape = ["h", "w"], output = true, passed = false },
// ]
// ///
struct P { bool on; float4 tint; const float* in; int w; float* out; short h; };
__global__ void affine(float4 v, P p) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= p.w || y >= p.h) return;
    p.out[y * p.w + x] = p.in[y * p.w + x] * v.x + v.w + p.tint.z + (p.on ? 0.5f : 0.f);
}
"""
REFERENCE = "def affine(v_x, **known):\n    return known['in'] * v_x + 3 + 3 + 0.5\n"


@pytest.fixture
def source(tmp_path):
    (tmp_path / "affine_reference.py").write_text(REFERENCE)
    path = tmp_path / "kernel.cu"
    path.write_text(SPEC)
    return path


def test_the_kernel_sees_the_members(source) -> None:
    (said,) = predict(source).remarks
    assert said.startswith("checked against affine_reference:affine at w=65, h=33")


def test_members_that_lie_otherwise_are_refused(source) -> None:
    source.write_text(SPEC.replace(", align = 16", ""))
    with pytest.raises(CompileError, match=r"parameters of 16, 64 bytes.* have 16, 56") as caught:
        predict(source)
    assert "list all members of a structure" in (caught.value.hint or "")
