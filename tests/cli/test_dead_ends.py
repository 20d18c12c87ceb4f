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
                "unknown command 'matvec.cu'",
                next_step="kernelprof diagnose matvec.cu --predict",
            ),
        ),
        (
            "./a.out 1 '2 3'",
            error(
                "unknown command './a.out'",
                next_step="kernelprof diagnose -- ./a.out 1 '2 3'",
            ),
        ),
        (
            "diagnoze x",
            error("unknown command 'diagnoze'", next_step="kernelprof diagnose x"),
        ),
        ("explode", error("unknown command 'explode'", next_step="kernelprof --help")),
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
                "'N=2' needs its own --size or --define",
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
                next_step="did you mean rows? available: rows, cols",
            ),
        ),
        (
            "diagnose matvec.cu --predict --arch h100",
            error(
                "kernelprof cannot predict for the architecture 'h100'",
                next_step=f"did you mean --arch sm_90? available: {ARCHITECTURES}",
            ),
        ),
        (
            "diagnose matvec.cu --predict --arch V100",
            error(
                "kernelprof cannot predict for the architecture 'V100'",
                next_step=f"available: {ARCHITECTURES}",
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
        ({"ncu_report"}, "reports (.ncu-rep) can be read with the installed package ncu-report"),
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


COPY = """__global__ void copy(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""
STRIDED = COPY.replace("copy", "strided").replace("x[i]", "x[33 * i % n]")
OPEN = "template <int N>\n" + COPY.replace("copy", "open").replace("n)", "n)", 1)
MAIN = "int main() { copy<<<4096, 256>>>(nullptr, nullptr, 1 << 20); }\n"
NOT_HERE = (
    "this machine has no NVIDIA GPU (nvidia-smi is missing or reports no GPU) and no ncu "
    "(Nsight Compute)"
)


@pytest.fixture
def kernels(work):
    """Sources in the current folder, on a machine without a GPU."""
    for name, text in (
        ("two.cu", COPY + STRIDED),
        ("three.cu", COPY + OPEN),
        ("main.cu", COPY + MAIN),
    ):
        (work / name).write_text(text, encoding="utf-8")
    return work


@pytest.mark.slow("several predictions")
@pytest.mark.usefixtures("kernels")
def test_all_kernels_of_a_file_are_diagnosed(kernelprof) -> None:
    found = kernelprof.json("diagnose two.cu --predict", code=0)
    assert [each["name"] for each in found["kernels"]] == ["copy", "strided"]
    assert [each["verdict"]["bottleneck"] for each in found["kernels"]] == [
        "memory-latency",
        "uncoalesced-global-access",
    ]
    one = kernelprof.json("diagnose two.cu --predict --kernel strided", code=0)
    assert [each["name"] for each in one["kernels"]] == ["strided"]


@pytest.mark.slow("several predictions")
@pytest.mark.usefixtures("kernels")
def test_a_kernel_that_cannot_be_launched_does_not_hide_the_others(kernelprof) -> None:
    printed = kernelprof(
        "diagnose three.cu --predict",
        code=2,
        out="kernel copy;",
        err=[
            "kernelprof: error: open: open has no launch specification, and its source does not "
            "determine its template arguments (N)\n  where: three.cu:6\n  next: specify the "
            "template arguments: --kernel 'open<...>'\n"
        ],
    )
    assert printed.out.count(", about ") == 1


@pytest.mark.slow("a prediction")
@pytest.mark.usefixtures("kernels")
def test_kernels_of_a_program_are_predicted_without_a_gpu(kernelprof) -> None:
    kernelprof(
        "diagnose main.cu",
        code=(0, 3),
        out="main.cu as predicted for sm_90 (no GPU and no ncu here)\n",
        err="kernelprof: predicted: this machine has no GPU and no ncu; to measure the kernel, "
        "run this on a machine with a GPU: kernelprof diagnose main.cu\n",
    )


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "diagnose main.cu -- 1024",
            error(
                f"main.cu cannot be measured here: {NOT_HERE}",
                where="main.cu",
                next_step="run this on a machine with a GPU and ncu:\n"
                "kernelprof diagnose main.cu -- 1024\n"
                "or capture there, and diagnose the capture here:\n"
                "kernelprof profile main.cu -o main -- 1024\n"
                "kernelprof diagnose main\n"
                "or predict the kernels in this file here, without running main():\n"
                "kernelprof diagnose main.cu --predict",
            ),
        ),
        (
            "profile main.cu -o out --preset triage --flags=-O2",
            error(
                f"main.cu cannot be measured here: {NOT_HERE}",
                where="main.cu",
                next_step="capture on a machine with a GPU and ncu, and diagnose the capture "
                "here:\n"
                "kernelprof profile main.cu --preset triage --flags=-O2 -o out\n"
                "kernelprof diagnose out",
            ),
        ),
    ],
)
def test_without_a_gpu_a_short_command_says_how_to_measure(kernelprof, line, expected) -> None:
    assert kernelprof(line, code=4, out="").err == expected


@pytest.mark.usefixtures("kernels")
def test_without_ncu_a_program_gets_a_command_that_names_the_preset(kernelprof) -> None:
    kernelprof(
        "diagnose --preset triage -- ./app 'a b'",
        code=4,
        out="",
        err="\nor capture on a machine with a GPU and ncu, and diagnose the capture here:\n"
        "kernelprof profile --preset triage -o capture -- ./app 'a b'\n"
        "kernelprof diagnose capture\n",
    )


def test_a_command_collects_what_profile_collects(kernelprof) -> None:
    full = kernelprof("command --preset full -- ./app").out
    assert kernelprof("command -- ./app").out == full


@pytest.fixture
def capture(captures, tmp_path, monkeypatch):
    """``c.csv`` in the current folder."""
    (tmp_path / "c.csv").write_bytes((captures / "fixture_basic.raw.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "starts"),
    [
        ("out.json", "{\n"),
        ("OUT.SARIF", '{\n  "$schema"'),
        ("out.md", "### kernelprof: `c.csv`"),
        ("out.txt", "c.csv\n"),
        ("out", "c.csv\n"),
    ],
)
def test_the_suffix_chooses_the_format(kernelprof, capture, name, starts) -> None:
    kernelprof(f"diagnose c.csv -o {name}", code=(0, 3), out="")
    assert (capture / name).read_text("utf-8").startswith(starts)


def test_a_file_that_ends_in_html_is_the_page(kernelprof, capture) -> None:
    kernelprof("diagnose c.csv -o out.html", code=(0, 3), out="c.csv\n")
    kernelprof("report c.csv -o report.html")
    assert (capture / "out.html").read_bytes() == (capture / "report.html").read_bytes()


@pytest.mark.usefixtures("capture")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "diagnose c.csv --format json -o out.html",
            error(
                "--format json does not match the suffix of the file name",
                where="out.html",
                next_step="leave out --format to write html, or rename the file",
            ),
        ),
        (
            "diagnose c.csv -o a.html --html b.html",
            error(
                "-o and --html both name an HTML file",
                where="a.html",
                next_step="use only one of them",
            ),
        ),
    ],
)
def test_a_format_that_the_suffix_is_not_is_refused(kernelprof, line, expected) -> None:
    assert kernelprof(line, code=2, out="").err == expected


@pytest.mark.usefixtures("capture")
def test_a_suffix_of_a_format_that_is_not_offered_is_refused(kernelprof) -> None:
    said = kernelprof("diagnose c.csv -o out.csv", code=2, out="").err
    assert "the format 'csv' is not offered for this" in said


def test_a_report_has_a_default_file_and_can_be_opened(kernelprof, capture, monkeypatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) is None)
    kernelprof("report c.csv --open", out="kernelprof-c.html: 3 launches from c.csv\n", err="")
    assert opened == [(capture / "kernelprof-c.html").as_uri()]
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    kernelprof(
        "report c.csv c.csv --open",
        out="kernelprof-report.html: 6 launches from 2 captures\n",
        err="kernelprof: warning: no browser found; open kernelprof-report.html yourself\n",
    )


@pytest.mark.exhaustive("several predictions")
def test_two_sources_are_compared_by_prediction(kernelprof, kernels) -> None:
    (kernels / "old.cu").write_text(COPY, encoding="utf-8")
    (kernels / "new.cu").write_text(STRIDED.replace("strided", "copy"), encoding="utf-8")
    kernelprof(
        "compare old.cu new.cu --predict",
        out="copy: predicted: 2.6x slower; more global load sectors, more instructions\n",
    )
    kernelprof(
        "diagnose new.cu --predict --against old.cu",
        code=2,
        err="the kernel's result is wrong: y differs from old.cu",
    )


@pytest.mark.usefixtures("capture")
def test_captures_are_not_compared_by_prediction(kernelprof) -> None:
    assert kernelprof("compare c.csv c.csv --predict", code=2).err == error(
        "--predict and --arch apply only to two .cu files",
        where="c.csv c.csv",
        next_step="kernelprof compare before.cu after.cu --predict\n"
        "or, for two captures, leave out --predict and --arch",
    )
