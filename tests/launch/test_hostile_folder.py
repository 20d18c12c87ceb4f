"""A stranger's folder as the current one: nothing in it runs but what a specification names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from tests.launch.conftest import stand_in
from tests.support.few import few

from kernelprof.launch.check.arrays import fill
from kernelprof.launch.check.references import Case, compute_expected
from kernelprof.launch.run.prepare import CHILD
from kernelprof.launch.specification.reader import load_spec
from kernelprof.launch.specification.spec import ResolvedArray
from kernelprof.tools import find_ncu, find_nvcc, search_path, which

ROOT = Path(__file__).parents[1]
RIGHT = ROOT / "gpu" / "launch" / "right.cu"
CAPTURE = ROOT / "captures" / "fixture_basic.raw.csv"
MODULES = (
    *("sitecustomize", "usercustomize", "numpy", "msgspec", "scipy", "cyclopts", "tree_sitter"),
    *("pycuda", "saxpy", "torch"),
)
STANDARD = ("importlib", "inspect", "argparse", "ctypes", "traceback")


@pytest.fixture
def hostile(tmp_path, monkeypatch) -> Path:
    """The current folder: each module and program in it leaves a file called X."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'X')!r}, 'a').write({name!r})\n")
    for name in ("nvcc", "ncu", "git", "nvidia-smi", "cu++filt", "compute-sanitizer", "sh", "gcc"):
        stand_in(folder / name, f"echo {name} >> {folder}/X")
    shutil.copy(RIGHT, folder)
    monkeypatch.chdir(folder)
    return folder


def _ran(*command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


DRIVER = """\
class Error(Exception): pass
class Device:
    def __init__(self, number): pass
    def name(self): return "a GPU"
    def make_context(self): return None
    def compute_capability(self): return 9, 0
def init(): pass
def module_from_buffer(data): raise Error("built")
"""
NVCC = """\
import os, subprocess, sys
from pathlib import Path
for word in (os.getcwd(), os.environ["TMPDIR"], *sys.argv[1:]):
    subprocess.run(["/bin/sh", "-c", f'true "{word}"'])
Path(__file__).with_name("asked").write_text(os.getcwd())
names = b"\\0.shstrtab\\0.text.saxpy\\0"
section = lambda name, at, size: bytes(name.to_bytes(4, "little") + bytes(20)) + (
    at.to_bytes(8, "little") + size.to_bytes(8, "little") + bytes(24))
head = b"\\x7fELF\\x02\\x01" + bytes(34) + (64).to_bytes(8, "little") + bytes(10)
head += b"".join(each.to_bytes(2, "little") for each in (64, 3, 1))
table = bytes(64) + section(1, 256, len(names)) + section(11, 256, 0)
Path(sys.argv[sys.argv.index("-o") + 1]).write_bytes(head + table + names)
"""
"""As ``nvcc``, each word goes to a shell; the cubin has nothing but the name of a kernel."""


AGAIN = "builds once more with other names"


@pytest.mark.parametrize("kept", few(["kept", "k`ran`", None], "k`ran`", None, why=AGAIN))
@pytest.mark.parametrize(
    "name", few(['f`ran` "x"', "$(ran)", '";ran;"', "é;ran"], 'f`ran` "x"', '";ran;"', why=AGAIN)
)
def test_the_launching_process_builds_without_a_shell(
    tmp_path, cli_environment, name, kept
) -> None:
    folder, found = tmp_path / name, tmp_path / "found"
    folder.mkdir()
    (found / "pycuda").mkdir(parents=True)
    (found / "pycuda" / "__init__.py").touch()
    (found / "pycuda" / "driver.py").write_text(DRIVER)
    (found / "nvcc.py").write_text(NVCC)
    stand_in(found / "nvcc", f'exec {sys.executable} {found}/nvcc.py "$@"')
    stand_in(found / "ran", f"touch {tmp_path}/X")
    source = Path(shutil.copy(RIGHT, folder / f"{name}.cu"))
    options = []
    if kept is not None:
        (tmp_path / kept).mkdir()
        options = ["--cubin", str(tmp_path / kept / "kernel.cubin")]
    given = cli_environment
    done = _ran(
        *(*CHILD, str(source), *options),
        environment={
            **given,
            "PYTHONPATH": f"{given['PYTHONPATH']}:{found}",
            "PATH": f"{found}:{given['PATH']}",
        },
    )
    assert done.stderr == "kernelprof: the CUDA driver reported an error: built\n"
    assert not (tmp_path / "X").exists()
    place = (found / "asked").read_text()
    assert (place == str(tmp_path / "kept" / "kernelprof-build")) is (kept == "kept")
    if kept is not None:
        _, built = msgspec.msgpack.decode((tmp_path / kept / "kernel.cubin").read_bytes())
        assert built["entry"] == "saxpy"


def test_the_launching_process_imports_nothing_of_it(hostile, cli_environment) -> None:
    for name in ("kernelprof", *STANDARD):
        shutil.copy(hostile / "numpy.py", hostile / f"{name}.py")
    done = _ran(*CHILD, "right.cu", environment=cli_environment)
    assert "kernelprof" in done.stderr
    assert "PyCUDA" in done.stderr or "GPU" in done.stderr
    assert not (hostile / "X").exists()


@pytest.mark.slow("processes are started in hostile folders")
@pytest.mark.parametrize("arguments", [("diagnose", str(CAPTURE)), ("diagnose", "right.cu")])
def test_the_command_imports_and_runs_nothing_of_it(hostile, cli_environment, arguments) -> None:
    given = {**cli_environment, "PATH": f".:{os.environ['PATH']}::checkout"}
    done = _ran("-m", "kernelprof", *arguments, environment=given)
    assert done.returncode in {0, 3, 4}, done.stderr
    assert not (hostile / "X").exists()


def test_a_program_is_never_one_of_the_current_folder(hostile, monkeypatch) -> None:
    there = stand_in(hostile.parent / "bin" / "nvcc", "true").parent
    stand_in(there / "ncu", "true")
    monkeypatch.delenv("KERNELPROF_NCU", raising=False)
    monkeypatch.setenv("PATH", f".::..//checkout:{there}:")
    assert search_path() == str(there)
    assert which("git") is None
    assert find_nvcc() == str(there / "nvcc")
    assert find_ncu() == str(there / "ncu")


def test_a_toolkit_that_lies_in_the_current_folder_is_none(hostile, monkeypatch) -> None:
    stand_in(hostile / "cuda", "true").unlink()
    (hostile / "cuda" / "bin").mkdir(parents=True)
    shutil.copy(hostile / "nvcc", hostile / "cuda" / "bin")
    there = stand_in(hostile.parent / "bin" / "nvcc", "true")
    monkeypatch.setenv("PATH", "/nothing")
    monkeypatch.setattr("kernelprof.tools._NVCC_PLACES", (str(there.parent),))
    for home in ("cuda", "./cuda"):
        monkeypatch.setenv("CUDA_HOME", home)
        assert find_nvcc() == str(there)


def test_a_reference_runs_a_module_only_where_one_is_named(hostile) -> None:
    """Its whole trust: ``"saxpy"`` is kernelprof's own, ``"saxpy:f"`` is the file's."""
    spec = load_spec(hostile / "right.cu")
    x, y = np.ones(3), np.full(3, 2.0)
    case = Case({"x": x}, {"y": y}, {"a": 2.0}, {"n": 3})
    assert compute_expected(spec.reference, case, hostile)["y"].tolist() == [4, 4, 4]
    for argument in spec.resolve({"n": 3}).arguments:
        if isinstance(argument, ResolvedArray):
            fill(argument, hostile, {"n": 3})
    assert not (hostile / "X").exists()
    with pytest.raises(Exception, match="has no function 'f'"):
        compute_expected("saxpy:f", case, hostile)
    assert (hostile / "X").read_text() == "saxpy"
