"""``kernelprof profile --repeat``: several captures, each of a process of its own, or none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.support.processes import started, wait_for_file

import kernelprof as kp
from kernelprof.collect import store
from kernelprof.report.progress import ProgressLine
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import read_manifest

if TYPE_CHECKING:
    from pathlib import Path

COUNTED = """#!/bin/sh
echo $$ >> pids
case "$(wc -l < pids | tr -d ' ')$1" in
3slow) sleep 300 ;;
2sleep) echo $$ > pid.new; mv pid.new pid; sleep 300 & wait ;;
esac
exit 0
"""
PRESET = ("--preset", "dram")


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.fixture
def counted(machine: Path) -> Path:
    """The folder to work in, with a program that notes each time that it is run."""
    (machine / "gemm_series").write_text(COUNTED, encoding="utf-8")
    return machine


@pytest.mark.slow("several runs")
def test_each_capture_is_one_of_its_own(counted: Path, kernelprof) -> None:
    command = ["profile", "-o", "out/a b", "--repeat", "3", *PRESET, "--", "./gemm_series", "1"]
    out = kernelprof(*command).out.splitlines()
    assert [line.partition(" launches in ")[0] for line in out[:3]] == [
        "out/a b/1: 26",
        "out/a b/2: 26",
        "out/a b/3: 26",
    ]
    assert out[3:] == [
        "out/a b: 3 captures; next, make a baseline from them:",
        "kernelprof baseline save 'out/a b' -o kernels.json",
        "or judge them against an existing baseline:",
        "kernelprof gate kernels.json 'out/a b'",
    ]
    folder = counted / "out" / "a b"
    assert len(set((counted / "pids").read_text().split())) == 3
    assert _names(folder) == ["1", "2", "3"]
    assert _names(counted / "out") == ["a b"]
    for number in "123":
        assert _names(folder / number) == ["capture.ncu-rep", "manifest.json", "raw.csv.gz"]
        (run,) = read_manifest(folder / number).runs
        exported = run.command[run.command.index("--export") + 1]
        assert exported == str(folder / number / "capture.ncu-rep")
        assert len(read_capture(folder / number)) == 26


@pytest.mark.slow("several runs")
def test_a_folder_of_captures_is_diagnosed_and_shown(counted: Path, kernelprof) -> None:
    kernelprof("profile -o out --repeat 2 -- ./gemm_series")
    found = kernelprof.json("diagnose out")
    assert [each["origin"] for each in found["captures"]] == ["out/1", "out/2"]
    kernelprof("report out -o page.html", out="52 launches from 2 captures")
    assert (counted / "page.html").is_file()


def test_once_is_as_without(counted: Path, kernelprof) -> None:
    assert (
        "baseline"
        not in kernelprof("profile -o out --repeat 1", *PRESET, "--", "./gemm_series").out
    )
    assert _names(counted / "out") == ["capture.ncu-rep", "manifest.json", "raw.csv.gz"]


@pytest.mark.slow
def test_where_one_fails_none_is_kept(counted: Path, kernelprof) -> None:
    before = _names(counted)
    command = ["profile", "-o", "out", "--repeat", "4", "--time-limit", "3", *PRESET]
    kernelprof(
        *command,
        "--",
        "./gemm_series",
        "slow",
        code=2,
        err="the program was still running after 3 s",
    )
    assert len((counted / "pids").read_text().split()) == 3
    assert _names(counted) == sorted([*before, "pids"])
    assert _names(counted.parent / "tmp") == []


@pytest.mark.parametrize(
    "stop", [(signal.SIGINT, 130), pytest.param((signal.SIGTERM, 143), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("kept", [pytest.param(False, marks=pytest.mark.slow), True])
@pytest.mark.slow("several runs")
def test_an_interrupt_leaves_what_was_there(
    kernelprof, counted: Path, cli_environment, stop: tuple[int, int], kept: bool
) -> None:
    command = ["profile", "-o", "out", "--repeat", "3", *PRESET]
    if kept:
        kernelprof(*command, "--", "./gemm_series")
        (counted / "pids").unlink()
        command.append("--force")
    before = {each: each.read_bytes() for each in sorted(counted.rglob("*")) if each.is_file()}
    with started(
        [sys.executable, "-m", "kernelprof", *command, "--", "./gemm_series", "sleep"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": cli_environment["PYTHONPATH"]},
    ) as process:
        wait_for_file(counted / "pid", process)
        process.send_signal(stop[0])
        out, err = process.communicate(timeout=60)
    assert process.returncode == stop[1]
    assert out == err == b""
    for name in ("pid", "pids"):
        (counted / name).unlink()
    after = {each: each.read_bytes() for each in sorted(counted.rglob("*")) if each.is_file()}
    assert after == before
    assert _names(counted) == sorted([*(["out"] if kept else []), "gemm_series", "quiet"])


def test_a_disk_that_fills_up_leaves_nothing(
    counted: Path, kernelprof, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(manifest: object) -> str:
        if (counted / "pids").read_text().count("\n") == 2:
            raise OSError(28, "No space left on device")
        return write(manifest)

    write = store.to_json
    monkeypatch.setattr(store, "to_json", full)
    before = _names(counted)
    kernelprof(
        "profile -o out --repeat 3",
        *PRESET,
        "--",
        "./gemm_series",
        code=4,
        err=["the capture cannot be stored: No space left on device", f"where: {counted / 'out'}"],
    )
    assert _names(counted) == sorted([*before, "pids"])


@pytest.mark.slow("several runs")
def test_only_a_folder_of_captures_is_replaced(counted: Path, kernelprof) -> None:
    command = ["profile", "-o", "out", *PRESET, "--repeat", "2"]
    program = ["--", "./gemm_series"]
    kernelprof(*command, *program)
    kernelprof(*command, *program, code=2, err="--force")
    kernelprof(
        "profile -o out --force",
        *PRESET,
        *program,
        code=2,
        err="is not a capture, so it is not replaced",
    )
    kernelprof(*command[:-1], "3", "--force", *program)
    assert _names(counted / "out") == ["1", "2", "3"]
    (counted / "out" / "notes.txt").touch()
    kernelprof(
        *command,
        "--force",
        *program,
        code=2,
        err="is not a folder of captures, so it is not replaced",
    )
    assert _names(counted / "out") == ["1", "2", "3", "notes.txt"]
    kernelprof("profile -o single", *PRESET, *program)
    kernelprof("profile -o single", *PRESET, "--repeat", "2", "--force", *program, code=2)
    assert (counted / "single" / "raw.csv.gz").is_file()
    assert _names(counted) == ["gemm_series", "out", "pids", "quiet", "single"]


def test_warnings_say_which_capture_they_are_of(counted: Path, kernelprof) -> None:
    (counted / "gemm_series").write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    kernelprof(
        "profile -o out --repeat 2",
        *PRESET,
        "--",
        "./gemm_series",
        err=[
            "warning: out/1: The program ended with exit code 7",
            "warning: out/2: The program ended with exit code 7",
        ],
    )


@pytest.mark.slow("several runs")
def test_from_python_there_is_one_capture_or_a_tuple(counted: Path) -> None:
    program = ["./gemm_series"]
    alone = kp.profile(output="alone", program=program, preset="dram")
    assert alone.origin == "alone"
    (once,) = kp.profile(output="once", program=program, preset="dram", repeat=1)
    assert once.origin == "once"
    twice = kp.profile(output="twice", program=program, preset="dram", repeat=2)
    assert [each.origin for each in twice] == ["twice/1", "twice/2"]
    with pytest.raises(kp.UsageError, match="0 is not a valid number of captures"):
        kp.profile(output="none", program=program, repeat=0)
    assert not (counted / "none").exists()


def test_progress_says_which_run_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    class Display:
        def update(self, _: object, *, description: str) -> None:
            told.append(description)

    line = ProgressLine(shown=False)
    monkeypatch.setattr(line, "_display", Display())
    monkeypatch.setattr(line, "_task", 0, raising=False)
    line.say("k.cu: compiling")
    line.capture(2, 5)
    line.say("k.cu: compiling")
    line.begin("Preset full")
    assert told == [
        "k.cu: compiling",
        "run 2 of 5: k.cu: compiling",
        "run 2 of 5: Preset full: the program starts",
    ]
