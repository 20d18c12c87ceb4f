"""What goes wrong at the sizes of the measurement alone, where only some blocks are run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from kernelprof.launch.run.trial import LaunchError
from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.prediction.machine_code import compile_source
from kernelprof.prediction.predictor import predict_kernel

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
// /// kernelprof
// kernel = "scale"
// block = [128]
// grid = ["ceil_div(N, 128)"]
// reference = "scale"
// arguments = [
//   { name = "x", type = "float32", shape = ["N"] },
//   { name = "y", type = "float32", shape = ["N"], output = true },
//   { name = "a", type = "float32", value = 3.0 },
//   { name = "n", type = "int32", value = "N" },
// ]
// [sizes]
// N = 1048576
// [check]
// sizes = { N = 4000 }
// ///
extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
"""


def run(tmp_path: Path, text: str) -> None:
    source = tmp_path / "scale.cu"
    source.write_text(text, encoding="utf-8")
    predict_kernel(compile_source(source, LaunchOverrides(), progress=str), progress=str)


def test_an_index_inside_is_not_told(tmp_path: Path) -> None:
    run(tmp_path, SOURCE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("y[i] =", "y[n > 4000 ? i + n : i] =", r"write .*\n.*\n.*\n.*y\[1048576\] ends 1 element"),
        ("x[i];", "x[i + (n >> 20) * n];", r"read .*\n.*\n.*\n.*x\[1048576\] ends 1 element"),
    ],
    ids=["a store", "a load"],
)
def test_an_access_outside_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(LaunchError, match="memory outside its arrays") as caught:
        run(tmp_path, SOURCE.replace(old, new))
    assert re.search(said, caught.value.what)
    line = SOURCE[: SOURCE.index(old)].count("\n") + 1
    assert caught.value.where == f"{tmp_path / 'scale.cu'}:{line}"
