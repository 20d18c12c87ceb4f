"""Kernels from sources and programs of frameworks on a real GPU: right ones and broken ones."""

from __future__ import annotations

import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.gpu import support
from tests.support.processes import started

from kernelprof.launch.source import launch_hashes
from kernelprof.launch.specification.reader import load_spec
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunCli
    from tests.gpu.conftest import Results

pytestmark = pytest.mark.usefixtures("needs_pycuda")

SOURCES = Path(__file__).parent / "launch"
LADDER = Path(__file__).parents[2] / "cuda" / "ladder"

BROKEN: tuple[tuple[str, tuple[str, ...], int, tuple[str, ...]], ...] = (
    ("wrong", (), 2, ("result is wrong", "y[999] is 0.350693 and should be 1.37974", "n=1000")),
    ("outside", (), 2, ("illegal memory access", "--sanitize memcheck")),
    ("outside", ("memcheck",), 2, ("Invalid __global__", "outside.cu:39")),
    ("never_ends", (), 2, ("did not end within 2 s", "time_limit_s")),
    ("too_large", (), 4, ("the kernel's arrays need 1200.00 GB", "the largest array is x")),
    ("does_not_compile", (), 2, ('identifier "z" is undefined', "does_not_compile.cu:40")),
    ("does_not_compile", ("memcheck",), 2, ('identifier "z" is undefined',)),
    ("too_much_shared", (), 2, ("256000 bytes of shared memory",)),
    ("too_many_threads", (), 2, ("a block has 1024 threads", "__launch_bounds__(1024)")),
    ("asserts", (), 2, ("an assert in the kernel failed", "Assertion `i < 500` failed")),
    ("covers_half", (), 2, ("4177920 of 4194304 elements of y unwritten",)),
    (
        "past_the_end",
        ("memcheck",),
        2,
        ("Invalid __global__ read of size 4 bytes", "past_the_end.cu:39"),
    ),
    (
        "reads_output",
        ("initcheck",),
        2,
        ("Uninitialized __global__ memory read of size 4 bytes", "reads_output.cu:39"),
    ),
    (
        "races",
        ("racecheck",),
        2,
        ("Race reported between Write access", "races.cu:28", "races.cu:29"),
    ),
)


def kernels(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode in {0, 3}, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["kernels"]
    return found


@pytest.fixture(scope="module")
def diagnosed(run_cli: RunCli, results: Results) -> Callable[..., list[dict[str, Any]]]:
    """The kernels of a diagnosis from source or of a program, as JSON; what it took is kept."""

    def run(label: str, *arguments: Path | str) -> list[dict[str, Any]]:
        begin = time.monotonic()
        done = run_cli("diagnose", "--format", "json", *map(str, arguments))
        results.seconds[f"diagnose {label}"] = time.monotonic() - begin
        return kernels(done)

    return run


@pytest.mark.parametrize(("name", "tools", "code", "says"), BROKEN)
def test_a_broken_kernel_is_told_and_not_diagnosed(
    name: str, tools: tuple[str, ...], code: int, says: tuple[str, ...], run_cli: RunCli
) -> None:
    options = [word for tool in tools for word in ("--sanitize", tool)]
    done = run_cli("diagnose", *options, str(SOURCES / f"{name}.cu"))
    assert done.returncode == code, done.stderr
    for words in says:
        assert words in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_source_with_a_specification_ends_in_a_diagnosis(
    diagnosed: Callable[..., list[dict[str, Any]]],
) -> None:
    (found,) = diagnosed("a source with a specification", SOURCES / "right.cu")
    assert (found["grid"], found["block"]) == ([16384, 1, 1], [256, 1, 1])
    assert found["launches"] == 1
    (full,) = diagnosed("the same, --preset full", SOURCES / "right.cu", "--preset", "full")
    assert support.same(support.answer(found), support.answer(full))


def test_what_was_checked_and_timed_is_said(run_cli: RunCli) -> None:
    done = run_cli("diagnose", str(SOURCES / "right.cu"), "--size", "n=1048576")
    assert "checked against saxpy in float64 at n=1000" in done.stderr
    assert "timed: median" in done.stderr
    assert "20 launches" in done.stderr


def test_all_types_reach_the_kernel(run_cli: RunCli) -> None:
    done = run_cli("diagnose", str(SOURCES / "mixed_types.cu"))
    assert done.returncode in {0, 3}, done.stderr
    assert "checked against mixed_types:mixed" in done.stderr


def test_sanitizers_pass_a_right_kernel(run_cli: RunCli) -> None:
    tools = ("memcheck", "racecheck", "initcheck", "synccheck")
    options = [word for tool in tools for word in ("--sanitize", tool)]
    done = run_cli("diagnose", *options, str(SOURCES / "right.cu"))
    assert done.returncode in {0, 3}, done.stderr


def test_a_source_with_a_main_ends_in_a_diagnosis(
    diagnosed: Callable[..., list[dict[str, Any]]],
) -> None:
    (found,) = diagnosed("a source with main()", SOURCES / "program.cu")
    assert found["name"].startswith("transpose(")
    assert found["verdict"]["bottleneck"] == "uncoalesced-global-access"


@pytest.mark.parametrize("framework", ["pytorch", "triton"])
def test_a_program_of_a_framework_ends_in_a_diagnosis(
    framework: str, diagnosed: Callable[..., list[dict[str, Any]]]
) -> None:
    module = {"pytorch": "torch"}.get(framework, framework)
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    program = SOURCES / f"{framework}_program.py"
    words = ("--kernel", "add", "--", sys.executable, str(program))
    found = diagnosed(f"a program of {framework}", *words)
    assert [each["verdict"]["bottleneck"] for each in found] == ["dram-bandwidth"]


@pytest.mark.parametrize(
    ("rung", "bottleneck"),
    [
        ("01_naive", "uncoalesced-global-access"),
        ("02_coalesced", "l1-throughput"),
        ("03_shared_tile", "shared-memory-throughput"),
    ],
)
def test_the_first_rungs_at_another_size(
    rung: str, bottleneck: str, diagnosed: Callable[..., list[dict[str, Any]]]
) -> None:
    sizes = [word for name in "MNK" for word in ("--size", f"{name}=2048")]
    (found,) = diagnosed(f"{rung}.cu, N = 2048", LADDER / f"{rung}.cu", *sizes)
    assert found["verdict"]["bottleneck"] == bottleneck


def test_a_define_builds_another_kernel(diagnosed: Callable[..., list[dict[str, Any]]]) -> None:
    sizes = [word for name in "MNK" for word in ("--size", f"{name}=1024")]
    options = (*sizes, "--define", "TILE=8")
    (found,) = diagnosed("03_shared_tile.cu, TILE = 8", LADDER / "03_shared_tile.cu", *options)
    assert found["block"] == [8, 8, 1]


def test_a_capture_of_a_source_says_what_was_measured(
    run_cli: RunCli, tmp_path: Path, diagnose: Callable[..., Any]
) -> None:
    source = Path(shutil.copy(SOURCES / "right.cu", tmp_path))
    folder = tmp_path / "capture"
    done = run_cli("profile", str(source), "-o", str(folder))
    assert done.returncode == 0, done.stderr
    manifest = read_manifest(folder)
    hashes = launch_hashes(source, load_spec(source))
    assert manifest.source is not None
    assert manifest.source.sha256 == hashes.source
    assert manifest.source.specification_sha256 == hashes.specification
    assert manifest.source.resources is not None
    assert manifest.source.resources["local_bytes"] == 0
    assert manifest.timing is not None
    assert len(manifest.timing.times_ns) == 20
    assert manifest.timing.low_ns <= manifest.timing.median_ns <= manifest.timing.high_ns
    assert manifest.correctness is not None
    assert manifest.correctness.passed
    assert manifest.correctness.largest_error is not None
    assert manifest.correctness.largest_error < 1e-6
    (launch,) = diagnose(folder)[1]
    assert launch["name"].startswith("saxpy(")
    # Under ncu caches are emptied before each pass: longer than between events, and not by much.
    assert 0.8 < launch["duration_ns"]["median"] / manifest.timing.median_ns < 3.0


def test_several_captures_are_runs_of_their_own(run_cli: RunCli, tmp_path: Path) -> None:
    source = Path(shutil.copy(SOURCES / "right.cu", tmp_path))
    folder = tmp_path / "captures"
    done = run_cli("profile", str(source), "-o", str(folder), "--repeat", "3", "--preset", "dram")
    assert done.returncode == 0, done.stderr
    assert sorted(each.name for each in folder.iterdir()) == ["1", "2", "3"]
    found = [read_manifest(folder / number) for number in "123"]
    times = [each.timing.times_ns for each in found if each.timing is not None]
    assert [len(each) for each in times] == [20] * 3
    # Each was built, checked and timed anew: no two have the same times.
    assert len(set(times)) == 3
    assert all(each.correctness is not None and each.correctness.passed for each in found)
    assert len({each.source.sha256 for each in found if each.source is not None}) == 1
    for number, each in zip("123", found, strict=True):
        assert str(folder / number / "capture.ncu-rep") in each.runs[0].command
        assert (folder / number / "source.cu").read_bytes() == source.read_bytes()
    assert run_cli("diagnose", str(folder)).returncode in {0, 3}


def test_a_time_holds_the_kernel_and_not_the_host(run_cli: RunCli, tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    done = run_cli("profile", str(SOURCES / "nothing.cu"), "-o", str(folder))
    assert done.returncode == 0, done.stderr
    timing = read_manifest(folder).timing
    assert timing is not None
    # H200: 3.2 us are the events and the start of a kernel; 7.8 us where the GPU waits for PyCUDA.
    assert 500 < timing.median_ns < 5000


def test_an_interrupt_leaves_no_capture_and_no_process(
    tmp_path: Path, cli_environment: dict[str, str]
) -> None:
    source = tmp_path / "never_ends.cu"
    text = (SOURCES / "never_ends.cu").read_text("utf-8")
    source.write_text(text.replace("time_limit_s = 2", "time_limit_s = 600"), "utf-8")
    folder = tmp_path / "capture"
    with started(
        [sys.executable, "-m", "kernelprof", "profile", str(source), "-o", str(folder)],
        stderr=subprocess.PIPE,
        env=cli_environment,
        text=True,
    ) as process:
        time.sleep(6)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
    assert not folder.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["never_ends.cu"]
    left = subprocess.run(["pgrep", "-f", str(source)], capture_output=True, text=True, check=False)
    assert left.stdout == ""


@pytest.mark.parametrize(("result", "code"), [("x[i] + x[i]", (0, 3)), ("x[i] + 1.0f", (2,))])
def test_another_version_is_the_reference(
    run_cli: RunCli, tmp_path: Path, result: str, code: tuple[int, ...]
) -> None:
    """A pull request has a version before it: both run on the GPU, with the same values."""
    kernel = (
        "__global__ void twice(const float* x, float* y, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < n) y[i] = %s;\n}\n"
    )
    old, new = tmp_path / "old.cu", tmp_path / "new.cu"
    old.write_text(kernel % "2.0f * x[i]")
    new.write_text(kernel % result)
    assert run_cli("init", str(new)).returncode == 0
    done = run_cli("diagnose", str(new), "--against", str(old))
    assert done.returncode in code, done.stderr
    assert ("checked against old.cu" in done.stderr) == (2 not in code)
    assert ("differs from old.cu" in done.stderr) == (2 in code)
