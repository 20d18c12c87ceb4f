"""What a user may try between installing kernelprof and the first answer, and what is printed."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from types import SimpleNamespace

import pytest

from kernelprof import installation
from kernelprof.collect import doctor
from kernelprof.installation import find_installation
from kernelprof.prediction.architectures import similar_arch

UV = "home = /usr/bin\nuv = 0.8.3\n"
RECEIPT = 'tool.requirements = [{ name = "kernelprof", extras = ["rep"] }]\n'
CHECKOUT = {"url": "file:///src/kernel%20prof", "dir_info": {"editable": True}}
GIT = {"url": "https://example.org/k.git", "vcs_info": {"vcs": "git", "commit_id": "0"}}


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (({}, "beside", None), "pip install 'kernelprof[predict]'"),
        (({}, "elsewhere", None), "{python} -m pip install 'kernelprof[predict]'"),
        (({"pyvenv.cfg": UV}, "beside", None), "pip install 'kernelprof[predict]'"),
        (
            ({"pyvenv.cfg": UV}, None, None),
            "uv pip install --python {python} 'kernelprof[predict]'",
        ),
        (({"uv-receipt.toml": RECEIPT}, None, None), "uv tool install 'kernelprof[predict,rep]'"),
        (
            ({"pipx_metadata.json": "{}"}, None, None),
            "pipx runpip kernelprof install 'kernelprof[predict]'",
        ),
        (({}, "beside", CHECKOUT), "pip install -e '/src/kernel prof[predict]'"),
        (
            ({}, "beside", GIT),
            "pip install 'kernelprof[predict] @ git+https://example.org/k.git'",
        ),
    ],
    ids=["pip", "not activated", "uv with pip", "uv", "uv tool", "pipx", "checkout", "git"],
)
def test_a_hint_installs_as_kernelprof_was_installed(tmp_path, monkeypatch, case, expected) -> None:
    files, pip, origin = case
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    python = tmp_path / "bin" / "python"
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(python))
    pips = {"beside": str(tmp_path / "bin" / "pip"), "elsewhere": "/usr/bin/pip"}
    monkeypatch.setattr(installation.shutil, "which", lambda _: pips.get(pip))
    monkeypatch.setattr(installation.util, "find_spec", lambda _: pip)
    record = SimpleNamespace(read_text=lambda _: json.dumps(origin) if origin else None)
    monkeypatch.setattr(metadata, "distribution", lambda _: record)
    here = find_installation.__wrapped__()
    assert here.add_extra("predict") == expected.format(python=python)


def test_packages_are_added_beside_kernelprof() -> None:
    assert installation.Installation().add_packages("a", "b") == "pip install a b"
    tool = installation.Installation("uv tool install", extras=("rep",))
    assert tool.add_packages("a") == "uv tool install 'kernelprof[rep]' --with a"


KERNEL = """\
__global__ void rowsum(const float* a, float* out, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) sum += a[r * cols + c];
    out[r] = sum;
}
"""
ARCHITECTURES = "sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, sm_100, sm_103, sm_120, sm_121"


@pytest.fixture
def files(work):
    """Files that a user may name: a program, a script, a source without a specification."""
    (work / "a.out").write_bytes(b"\x7fELF\x02\x01\x01")
    (work / "run").write_text("#!/bin/sh\n", encoding="utf-8")
    (work / "run").chmod(0o755)
    (work / "train.py").write_text("print(1)\n", encoding="utf-8")
    (work / "rowsum.cu").write_text(KERNEL, encoding="utf-8")
    return work


def error(what: str, *, where: str | None = None, next_step: str) -> str:
    """What is printed of an error."""
    place = "" if where is None else f"  where: {where}\n"
    return f"kernelprof: error: {what}\n{place}  next: {next_step}\n"


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "diagnose ./a.out",
            error(
                "this is a program, not a capture",
                where="./a.out",
                next_step="measure it: kernelprof diagnose -- ./a.out",
            ),
        ),
        (
            "diagnose run",
            error(
                "this is a program, not a capture",
                where="run",
                next_step="measure it: kernelprof diagnose -- ./run",
            ),
        ),
        (
            "compare train.py train.py",
            error(
                "this is a program, not a capture",
                where="train.py",
                next_step="measure it: kernelprof diagnose -- python train.py",
            ),
        ),
        (
            "matvec.cu --predict",
            error(
                "there is no command 'matvec.cu'",
                next_step="kernelprof diagnose matvec.cu --predict",
            ),
        ),
        (
            "./a.out 1 '2 3'",
            error(
                "there is no command './a.out'",
                next_step="kernelprof diagnose -- ./a.out 1 '2 3'",
            ),
        ),
        (
            "diagnoze x",
            error("there is no command 'diagnoze'", next_step="kernelprof diagnose x"),
        ),
        ("explode", error("there is no command 'explode'", next_step="kernelprof --help")),
        (
            "diagnose matvek.cu",
            error("there is no such file", where="matvek.cu", next_step="did you mean matvec.cu?"),
        ),
        (
            "diagnose ./Matvec",
            error("there is no such file", where="./Matvec", next_step="did you mean matvec.cu?"),
        ),
        (
            "diagnose matvec.cu --size M=1 N=2 --predict -- x",
            error(
                "'N=2' has no option in front of it",
                next_step="kernelprof diagnose matvec.cu --size M=1 --size N=2 --predict -- x",
            ),
        ),
        (
            "diagnose matvec.cu --size row=",
            error(
                "--size 'row=' is not NAME=VALUE with a whole number of 1 or more",
                next_step="for example --size row=2048",
            ),
        ),
        (
            "diagnose matvec.cu --size M=1,N=2",
            error(
                "--size 'M=1,N=2' is not NAME=VALUE with a whole number of 1 or more",
                next_step="--size M=1 --size N=2",
            ),
        ),
        (
            "diagnose rowsum.cu --predict --size row=4",
            error(
                "--size row: the launch specification has no such name",
                where="rowsum.cu",
                next_step="did you mean rows? it has: rows, cols",
            ),
        ),
        (
            "diagnose matvec.cu --predict --arch h100",
            error(
                "'h100' is no architecture that kernels are predicted for",
                next_step=f"did you mean --arch sm_90? there are: {ARCHITECTURES}",
            ),
        ),
        (
            "diagnose matvec.cu --predict --arch V100",
            error(
                "'V100' is no architecture that kernels are predicted for",
                next_step=f"there are: {ARCHITECTURES}",
            ),
        ),
    ],
)
def test_what_was_meant_is_said_at_once(kernelprof, monkeypatch, line, expected) -> None:
    def run(*_: object, **__: object) -> None:
        raise AssertionError("a kernel is run")

    monkeypatch.setattr("kernelprof.prediction.completion.complete_specification", run)
    assert kernelprof(line, code=2, out="").err == expected


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("A100", "sm_80"),
        ("NVIDIA H100 80GB HBM3", "sm_90"),
        ("hopper", "sm_90"),
        ("rtx-4090", "sm_89"),
        ("4090", "sm_89"),
        ("gb200", "sm_100"),
        ("gb202", "sm_120"),
        ("gb10", "sm_121"),
        ("sm90", "sm_90"),
        ("compute_86", "sm_86"),
        ("sm_90a", "sm_90"),
        ("v100", None),
        ("x", None),
    ],
)
def test_names_of_gpus_are_architectures(name, arch) -> None:
    assert similar_arch(name) == arch


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        ({"ncu_report"}, "the package ncu-report, which is installed, reads reports (.ncu-rep)"),
        (set(), "need the package ncu-report: pip install 'kernelprof[rep]'"),
    ],
)
def test_doctor_looks_for_the_reader_of_reports(
    kernelprof, monkeypatch, installed, expected
) -> None:
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: name in installed or None)
    monkeypatch.setattr(doctor, "_pycuda", lambda: (False, "not installed"))
    kernelprof("doctor", says=expected)


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("ready", "command"),
    [
        (doctor.NEEDED_FOR_SOURCES, "kernelprof diagnose kernel.cu"),
        (("gpu", "ncu", "predict"), "kernelprof diagnose -- ./app"),
        (("gpu", "predict"), "kernelprof diagnose kernel.cu --predict"),
        ((), "kernelprof diagnose capture.csv"),
    ],
)
def test_doctor_ends_with_the_first_command(kernelprof, monkeypatch, ready, command) -> None:
    for name in ("gpu", "ncu", "counters", "nvcc", "pycuda"):
        there = name in ready or (None if name == "counters" and "ncu" in ready else False)
        monkeypatch.setattr(doctor, f"_{name}", lambda *_, there=there: (there, "as told"))
    monkeypatch.setattr(doctor, "_prediction", lambda: ("predict" in ready, "as told"))
    assert kernelprof("doctor").out.endswith(f"\n\nStart with: {command}\n")
