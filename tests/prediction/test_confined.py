"""What a source can reach where only some folders may be read, however it names it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof import files, sandbox
from kernelprof.errors import InputError
from kernelprof.interface.prediction import header_folders, predict

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("cuda.bindings")

SECRET = "q8f1_secret_9z"
SPEC = """\
// /// kernelprof
// kernel = "k"
// block = [32]
// grid = [1]
// reference = "{reference}"
// [compile]
// flags = [{flags}]
//
// [[arguments]]
// name = "y"
// type = "float32"
// shape = [32]
// output = true
// ///
"""
KERNEL = "__global__ void k(float* y) { y[threadIdx.x] = 1.0f; }\n"

pytestmark = pytest.mark.skipif(not sandbox.version(), reason="this system cannot confine NVRTC")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.cuh").write_text(f"#error {SECRET}\n")
    (inside / "link.cuh").symlink_to(tmp_path / "secret.cuh")
    (inside / "near.cuh").write_text("#define NEAR 1\n")
    (inside / "ref.cu").write_text(
        SPEC.format(reference="none", flags="") + f'#include "{tmp_path}/secret.cuh"\n' + KERNEL
    )
    (tmp_path / "out.cu").write_text((inside / "ref.cu").read_text())
    allowed = [inside, *sandbox.python_folders(), *header_folders()]
    monkeypatch.setattr(files, "_allowed", tuple(each.resolve() for each in allowed))
    return inside


def answered(place: Path, line: str, reference: str = "none", flags: str = "") -> str:
    """The message about a source that has a line more; empty where it can be predicted."""
    source = place / "k.cu"
    spec = SPEC.format(reference=reference, flags=flags.replace("OUT", str(place.parent)))
    source.write_text(spec + line.replace("OUT", str(place.parent)) + "\n" + KERNEL)
    try:
        predict(source)
    except InputError as error:
        return f"{error.what}\n{error.where}\n{error.hint}"
    return ""


def test_what_lies_inside_is_included(place: Path) -> None:
    line = '#include "near.cuh"\n#include <cuda_fp16.h>\n#if !NEAR\n#error not there\n#endif'
    assert answered(place, line) == ""


@pytest.mark.parametrize(
    "line",
    [
        '#include "OUT/secret.cuh"',
        '#include "../secret.cuh"',
        '#include "link.cuh"',
        '#define F "OUT/secret.cuh"\n#include F',
        "#define S(x) #x\n#define T(x) S(x)\n#include T(OUT/secret.cuh)",
        '??=include "OUT/secret.cuh"',
        '#inc\\\nlude "OUT/secret.cuh"',
        '#include_next "OUT/secret.cuh"',
    ],
)
def test_nothing_else_is(place: Path, line: str) -> None:
    assert SECRET not in answered(place, line)


def test_the_same_lines_reach_it_where_nothing_is_confined(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_allowed", None)
    assert SECRET in answered(place, '#include "../secret.cuh"')
    assert SECRET in answered(place, "", flags='"-I OUT", "-include=secret.cuh"')
    assert SECRET in answered(place, "", reference="ref.cu")


@pytest.mark.parametrize(
    "flags",
    [
        '"-include=OUT/secret.cuh"',
        '"-I OUT", "-include=secret.cuh"',
        '"-isystem OUT", "-include=secret.cuh"',
        '"-DF=<OUT/secret.cuh>", "-include=near.cuh"',
    ],
)
def test_options_reach_no_further(place: Path, flags: str) -> None:
    assert SECRET not in answered(place, "#ifdef F\n#include F\n#endif", flags=flags)


@pytest.mark.parametrize("reference", ["ref.cu", "../out.cu", "link.cu"])
def test_neither_does_a_reference(place: Path, reference: str) -> None:
    (place / "link.cu").symlink_to(place.parent / "out.cu")
    assert SECRET not in answered(place, "", reference=reference)


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        ('#if __has_include("OUT/secret.cuh")\n#error there\n#endif', ""),
        ("#if __has_include(<../secret.cuh>)\n#error there\n#endif", ""),
        ('#if ASKS("OUT/secret.cuh")\n#error there\n#endif', '"-DASKS=__has_include"'),
        ('#if __has_include("link.cuh")\n#error there\n#endif', ""),
        (
            "#define A(x, y) x##y\n#define B(x, y) A(x, y)\n"
            '#if B(__has, _include)("OUT/secret.cuh")\n#error there\n#endif',
            "",
        ),
    ],
)
def test_no_file_elsewhere_can_be_asked_for(place: Path, line: str, flags: str) -> None:
    assert "error there" not in answered(place, line, flags=flags)
