"""Sources whose names and flags a shell would run, with the real ``nvcc`` on a real GPU."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.launch.conftest import stand_in

from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_lines, read_manifest
from kernelprof.tools import find_ncu

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunCli

pytestmark = pytest.mark.usefixtures("needs_pycuda")

HOSTILE = (
    "f`pwned` it's & more; $(pwned)",
    'f`pwned` "quoted" größer \\ $(pwned)',
)
"""Debug information can hold the first as it is, and not the second."""

HEADER = """\
__device__ inline float work(float x)
{
    for (int k = 0; k < 256; ++k)
        x = sinf(x) * (VALUE);
    return x;
}
"""
KERNEL = """\
#include "inner/work.cuh"
static_assert((VALUE) == 3, "the define came out as something else");
extern "C" __global__ void apply(const float* x, float* y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = work(x[i]) + TYPE(1) + sizeof(TEXT);
}
"""
TOML = """\
kernel = "apply"
block = [256]
grid = ["ceil_div(n, 256)"]
reference = "none"
sizes = { n = 4194304 }
arguments = [
    { name = "x", type = "float32", shape = ["n"] },
    { name = "y", type = "float32", shape = ["n"], output = true },
    { name = "n", type = "int32", value = "n" },
]
[compile]
flags = ["-O3", '-DTEXT="a; b & c | (d)"', FLAG]
defines = { VALUE = "(1 << 4) > 3 && !0 ? 2 | 1 : 0", TYPE = "static_cast<float>" }
"""
MAIN = """
int main()
{
    float* data;
    cudaMalloc(&data, 8 << 20);
    apply<<<4096, 256>>>(data, data + (1 << 20), 1 << 20);
    return cudaDeviceSynchronize();
}
"""


@pytest.fixture(autouse=True)
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that the program ``pwned`` makes, which is on the search path."""
    mark = tmp_path / "ran"
    tool = stand_in(tmp_path / "found" / "pwned", f"touch {mark}")
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    return mark


def _kernel(folder: Path, flag: str = "-w") -> Path:
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "work.cuh").write_text(HEADER)
    (folder / "apply.toml").write_text(TOML.replace("FLAG", f"'{flag}'"))
    (folder / "apply.cu").write_text(KERNEL)
    return folder / "apply.cu"


def test_a_flag_that_a_shell_would_run_is_refused(
    run_cli: RunCli, tmp_path: Path, ran: Path
) -> None:
    source = _kernel(tmp_path / "plain", '-frandom-seed=";pwned;"')
    done = run_cli("diagnose", str(source))
    assert done.returncode == 2
    assert "-frandom-seed" in done.stderr
    assert "compile.flags[2]" in done.stderr
    assert not ran.exists()


@pytest.mark.parametrize("name", ["plain", *HOSTILE])
def test_a_kernel_in_such_a_folder_is_measured_by_its_own_lines(
    run_cli: RunCli, tmp_path: Path, ran: Path, name: str
) -> None:
    source, capture = _kernel(tmp_path / name), tmp_path / "capture"
    done = run_cli("profile", str(source), "-o", str(capture), cwd=source.parent)
    assert done.returncode == 0, done.stderr
    assert not ran.exists()
    manifest = read_manifest(capture)
    assert manifest.runs[0].warnings == ()
    assert manifest.source is not None
    assert list(manifest.source.includes) == ["inner/work.cuh"]
    lines = read_lines(capture, manifest)
    assert lines is not None
    header = source.parent / "inner" / "work.cuh"
    # What sinf is made of comes from headers of the toolkit, under names of their own.
    ours = [each for each in lines if "/include/" not in each.file]
    assert {each.file for each in ours} <= {str(source), str(header)}
    samples = {each.line: each.samples for each in ours if each.file == str(header)}
    assert max(samples, key=lambda line: samples[line]) in {3, 4}


@pytest.mark.parametrize("name", HOSTILE)
def test_an_error_there_names_the_users_header(
    run_cli: RunCli, tmp_path: Path, ran: Path, name: str
) -> None:
    source = _kernel(tmp_path / name)
    header = source.parent / "inner" / "work.cuh"
    header.write_text(HEADER.replace("sinf", "nosuch"))
    done = run_cli("diagnose", str(source))
    assert done.returncode == 2
    assert f"{header}:4" in done.stderr
    assert not ran.exists()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_program_in_such_a_folder_is_measured(
    run_cli: RunCli, tmp_path: Path, ran: Path, name: str
) -> None:
    source = _kernel(tmp_path / name)
    program = source.with_name(f"{name}.cu")
    defines = '#define VALUE 3\n#define TYPE float\n#define TEXT "a"\n'
    program.write_text(defines + KERNEL + MAIN)
    source.with_name("apply.toml").unlink()
    done = run_cli("diagnose", "--format", "json", str(program), cwd=source.parent)
    assert done.returncode in {0, 3}, done.stderr
    assert '"name": "apply' in done.stdout
    assert not ran.exists()


LAUNCHES = 3
SETTINGS = "[Launch-and-attach]\n--launch-count=1\n"
"""A settings file that ``ncu`` 2025.3.1 obeys."""


def test_settings_of_ncu_in_the_current_folder_are_not_read(
    run_cli: RunCli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "app.cu"
    source.write_text(
        "__global__ void nothing() {}\n"
        f"int main() {{ for (int i = 0; i < {LAUNCHES}; ++i) nothing<<<1, 32>>>();\n"
        "    return cudaDeviceSynchronize(); }\n"
    )
    subprocess.run(["nvcc", "-o", "app", str(source)], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.ncu-cfg").write_text(SETTINGS)
    measure = [find_ncu(), "--metrics", "gpu__time_duration.sum", "--clock-control", "none"]
    bare = subprocess.run([*measure, "./app"], capture_output=True, text=True, check=False)
    assert bare.stdout.count("gpu__time_duration.sum") == 1
    done = run_cli("profile", "--preset", "triage", "-o", "kept", "--", "./app")
    assert done.returncode == 0, done.stderr
    assert len(read_capture("kept")) == LAUNCHES
