"""A second prediction of the same content is the first one; any change of it is predicted anew."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

import pytest

import kernelprof
from kernelprof.errors import KernelprofError
from kernelprof.interface import prediction
from kernelprof.interface.prediction_cache import (
    KernelVersion,
    capture_of_values,
    capture_values,
)
from kernelprof.launch.specification.overrides import LaunchOverrides

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
// /// kernelprof
// kernel = "scale"
// block = [128]
// grid = ["N // 128"]
// reference = "wanted:scaled"
//
// [sizes]
// N = 4096
//
// [check]
// sizes = { N = 256 }
//
// [[arguments]]
// name = "values"
// type = "float32"
// shape = ["N"]
//
// [[arguments]]
// name = "out"
// type = "float32"
// shape = ["N"]
// output = true
// ///
#include "factor.h"
__global__ void scale(const float* values, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = FACTOR * values[i];
}
"""
WITHOUT_LAUNCH = """\
__global__ void scale(const float* values, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * values[i];
}
"""
REFERENCE = """\
FACTOR = 2.0


def scaled(values):
    return FACTOR * values
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    switch = ContextVar("caching", default=True)
    monkeypatch.setattr("kernelprof.interface.prediction_cache.caching", switch)
    folder = tmp_path / "kernel"
    folder.mkdir()
    (folder / "factor.h").write_text("#define FACTOR 2.0f\n")
    (folder / "wanted.py").write_text(REFERENCE)
    (folder / "scale.cu").write_text(SOURCE)
    return folder / "scale.cu"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The architectures that were compiled for."""
    done = []
    compile_anew = prediction.compile_for_prediction

    def compile_noted(*given: object) -> object:
        done.append(given[2])
        return compile_anew(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(prediction, "compile_for_prediction", compile_noted)
    return done  # type: ignore[return-value]


def diagnosed(source: Path, **options: object) -> str:
    return kernelprof.diagnose(source, predict=True, **options).to_text("json")  # type: ignore[arg-type]


def entries(source: Path) -> list[Path]:
    return [*(source.parents[1] / "cache").rglob("predictions/*")]


def test_the_second_run_recalls_the_first(source: Path, compiled: list[str]) -> None:
    first = diagnosed(source)
    assert diagnosed(source) == first
    assert compiled == ["sm_90"]
    assert diagnosed(source, arch="sm_80") != first
    diagnosed(source, size=["N=8192"])
    assert compiled == ["sm_90", "sm_80", "sm_90"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scale.cu", SOURCE.replace("values[i];", "values[i] + 0 * i;")),
        ("factor.h", "#define FACTOR 2.0f  // twice\n"),
        ("wanted.py", REFERENCE.replace("return", "return 1.0 *")),
    ],
)
def test_any_change_is_predicted_anew(
    source: Path, compiled: list[str], name: str, text: str
) -> None:
    diagnosed(source)
    (source.parent / name).write_text(text)
    diagnosed(source)
    assert len(compiled) == 2


def test_an_error_is_reported_again(source: Path, compiled: list[str]) -> None:
    (source.parent / "wanted.py").write_text(REFERENCE.replace("2.0", "3.0"))
    for _ in range(2):
        with pytest.raises(KernelprofError, match="wrong"):
            diagnosed(source)
    assert len(compiled) == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wanted.py", "import beside\n" + REFERENCE),
        ("wanted.py", "import os\n" + REFERENCE),
        ("wanted.py", REFERENCE + "\ndef other():\n    return open('data')\n"),
        ("wanted.py", REFERENCE + "\n\nimport numpy as np\ndef f(): return np.load('x')\n"),
        ("wanted.py", REFERENCE + "\n\nimport numpy as np\nf = np.random.rand(3)\n"),
        ("wanted.py", REFERENCE + "\n\nimport numpy as np\nf = np.random.default_rng()\n"),
        ("factor.h", "#if __has_include(<other.h>)\n#endif\n#define FACTOR 2.0f\n"),
        ("factor.h", '#define OTHER "other.h"\n#include OTHER\n#define FACTOR 2.0f\n'),
    ],
)
def test_what_has_no_key_is_not_cached(source: Path, name: str, text: str) -> None:
    (source.parent / "beside.py").write_text("")
    (source.parent / "other.h").write_text("")
    (source.parent / name).write_text(text)
    diagnosed(source)
    assert entries(source) == []


def test_seeded_numbers_are_cached(source: Path) -> None:
    seeded = "\nimport numpy as np\nr = np.random.default_rng(7)\nx = r.random(3)\n"
    (source.parent / "wanted.py").write_text(REFERENCE + seeded)
    diagnosed(source)
    assert len(entries(source)) == 1


def test_an_entry_is_the_capture_that_was_made(source: Path) -> None:
    launched = prediction.LaunchedSource(source, LaunchOverrides(), "sm_90", None)
    assert launched.version == KernelVersion(source, LaunchOverrides(), "sm_90")
    capture, facts = prediction.count_launch(launched)
    made, read = capture_of_values(capture_values(capture, facts))
    assert read == facts
    for one, other in zip((capture, *capture.cases), (made, *made.cases), strict=True):
        assert repr(one) == repr(other)


def test_an_inferred_launch_is_recalled(
    source: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kernelprof.interface import inferred

    source.write_text(WITHOUT_LAUNCH)
    first = diagnosed(source)
    inferred._infer_once.cache_clear()
    monkeypatch.setattr(inferred, "_infer_anew", None)
    assert diagnosed(source) == first
    assert len(compiled) == 1


def test_the_gate_recalls_versions_and_what_blocks_write(source: Path, compiled: list[str]) -> None:
    after = source.with_name("after.cu")
    after.write_text(SOURCE.replace("FACTOR * values[i]", "values[i] + values[i]"))
    first = kernelprof.gate(source, after, predict=True).to_text("json")
    assert len(compiled) == 2
    assert kernelprof.gate(source, after, predict=True).to_text("json") == first
    assert len(compiled) == 2
