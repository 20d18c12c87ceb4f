"""What is counted, by source line: real machine code of small kernels."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.sassim.listings import LOOP, program

from kernelprof.launch.specification.overrides import LaunchOverrides
from kernelprof.prediction.facts import line_digests, summarize_code, summarize_prediction
from kernelprof.prediction.lines import SourcePaths
from kernelprof.prediction.machine_code import compile_source
from kernelprof.prediction.predictor import digest_code, predict_kernel
from sassim.sass.listing import SourceLine

if TYPE_CHECKING:
    from kernelprof.model.prediction import PredictionFacts

HEAD = """\
// /// kernelprof
// kernel = "scale"
// block = [128]
// grid = ["ceil_div(N, 128)"]
// reference = "scale"
// arguments = [
//   { name = "x", type = "float32", shape = ["N"] },
//   { name = "y", type = "float32", shape = ["N"], output = true },
//   { name = "a", type = "float32", value = 3.0 },
// ]
// [sizes]
// N = 4096
// ///
"""
FIRST = HEAD.count("\n") + 1
"""The line behind the specification."""

KERNEL = """\
__constant__ float nothing[2] = {0.0f, 0.0f};
extern "C" __global__ void scale(const float* x, float* y, float a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float near = x[i];
    const float far = x[i * 33 % 4096];
    float sum = a * near + nothing[0] * far;
    for (int k = 0; k < threadIdx.x % 32; ++k) {
        sum += nothing[k % 2] * k;
    }
    y[i] = sum;
}
"""


def line(text: str) -> int:
    """The line of the kernel that has a text."""
    (found,) = [n for n, each in enumerate(KERNEL.split("\n"), FIRST) if text in each]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("kernels")
    (made / "scale.cu").write_text(HEAD + KERNEL, encoding="utf-8")
    return made


@cache
def known(source: Path) -> PredictionFacts:
    return summarize_prediction(
        predict_kernel(compile_source(source, LaunchOverrides(), progress=str), progress=str)
    )


def test_accesses_are_those_of_their_lines(folder: Path) -> None:
    counted = known(folder / "scale.cu").counts
    found = [each for each in counted.accesses if each.space == "global"]
    assert {each.file for each in found} == {str(folder / "scale.cu")}
    # 4,096 threads are 128 warps, each with one request a line.
    assert {each.requests for each in found} == {(128, 128, 128)}
    assert {each.bytes_a_thread for each in found} == {4}
    sectors = {(each.line, each.kind): (each.sectors, each.ideal) for each in found}
    adjacent, scattered = (128 * 4,) * 3, (128 * 32,) * 3
    assert sectors == {
        (line("x[i];"), "load"): (adjacent, adjacent),
        (line("x[i * 33"), "load"): (scattered, adjacent),
        (line("y[i] ="), "store"): (adjacent, adjacent),
    }
    assert found[0].line == line("x[i * 33")
    assert found[0].needless == 28 / 32


def test_instructions_and_their_threads_are_those_of_their_lines(folder: Path) -> None:
    work = {each.line: each for each in known(folder / "scale.cu").counts.lines}
    whole, part = work[line("int i =")], work[line("sum +=")]
    assert whole.threads.value == 32 * whole.instructions.value > 0
    # Of 32 lanes the first leaves the loop at once and the last runs it 31 times.
    assert 0.3 < part.threads.value / (32 * part.instructions.value) < 0.7


def test_the_innermost_line_of_the_source_counts(folder: Path) -> None:
    source = folder / "scale.cu"
    inlined = (
        SourceLine("/usr/include/vector.h", 7),
        SourceLine(str(source), 30),
        SourceLine(str(source), 44),
    )
    assert SourcePaths(source).place_of(inlined) == (str(source), 30)
    assert SourcePaths(source).place_of(inlined[:1]) == ("/usr/include/vector.h", 7)
    assert SourcePaths(source).place_of(()) == ("", 0)


def test_files_are_named_as_the_source_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    named = Path(folder.name) / "scale.cu"
    places = SourcePaths(named)
    assert places.name(str(folder / "scale.cu")) == f"{folder.name}/scale.cu"
    assert places.name(str(folder / "inc" / "tile.cuh")) == f"{folder.name}/inc/tile.cuh"
    assert places.name("/usr/include/math.h") == "/usr/include/math.h"


def test_facts_say_what_was_compiled_run_and_checked(folder: Path) -> None:
    found = known(folder / "scale.cu")
    counted, source, check = found.counts, found.source, found.correctness
    assert (counted.arch, counted.blocks) == ("sm_90", 32)
    assert 1 <= counted.blocks_run <= 32
    assert source.path == str(folder / "scale.cu")
    assert source.compiler is not None
    assert source.compiler.startswith("NVRTC 13.")
    assert check is not None
    assert check.passed
    assert check.reference == "scale"
    assert check.sizes == {"N": 4096}
    assert counted.text == line_digests(HEAD + KERNEL)


def test_a_digest_is_that_of_saved_baselines() -> None:
    """Computed before the simulator became a library of its own."""
    known = "326e2d9878cfac7e7c9e1f7cb2bb5d0c95cf6104f8de9ab25c4464b8ff163620"
    assert digest_code(program(*LOOP)) == known


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("int i =", "// the thread\n    int i =", True),
        ("far", "distant", True),
        ("a * near", "near * a", True),
        ("* 33", "* 35", False),
        ("{0.0f, 0.0f}", "{0.0f, 1.0f}", False),
        (
            "y[i] = sum",
            "__shared__ volatile float room[128];\n    room[0] = a;\n    y[i] = sum",
            False,
        ),
    ],
    ids=["a comment", "a name", "the same product", "an index", "a constant", "shared memory"],
)
@pytest.mark.slow("two compilations each")
def test_the_digest_is_of_all_that_decides_what_is_done(
    folder: Path, tmp_path: Path, old: str, new: str, same: bool
) -> None:
    source = tmp_path / "scale.cu"
    source.write_text(HEAD + KERNEL.replace(old, new), encoding="utf-8")
    codes = [
        compile_source(each, LaunchOverrides(), progress=str)
        for each in (folder / "scale.cu", source)
    ]
    digests = [digest_code(each.code) for each in codes]
    assert (digests[0] == digests[1]) is same
    bare = summarize_code(codes[1]).counts
    assert (bare.code, bare.blocks_run, bare.accesses) == (digests[1], 0, ())
