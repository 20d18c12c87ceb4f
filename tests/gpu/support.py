"""What the tests on a GPU share: running ``ncu``, reading what it wrote, and drilling down."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelprof.analysis.metrics.catalogue import SAMPLES
from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    Diagnose = Callable[..., tuple[int, list[dict[str, Any]]]]

LABELS = (
    "transpose-direct",
    "transpose-tile-32",
    "blocksum-modulo",
    "bins-global",
    "lookup-scattered",
    "spmv-skewed-thread",
    "nbody-tile",
    "scan-steps",
    "dgemm-plain",
    "wmma-registers",
    "xorshift",
    "exp-log",
    "operations-mixed",
    "wide-state-8",
    "walk-one-warp",
    "holding-200",
    "chains-1",
    "tail-133",
    "leader-rounds",
    "long-code",
    "reread-past-l1",
    "copy4",
    "append-each",
    "tile-rows-33",
    "shuffle-rounds",
    "every-eighth",
)
"""Launches of ``validation.cu`` with different bottlenecks, each another kernel."""

MOST_ROUNDS = 4
"""Follow-up captures of one kernel within which its drill-down must come to an end."""

SAME_CLOCKS = ("--clock-control", "none")
"""These tests leave the GPU's clocks alone: others may be using it."""

_LONGEST_S = 300
_PASSES = "profiler__replayer_passes"


def why_not() -> str | None:
    """What this machine lacks, ``None`` if the tests can run."""
    lacks = [f"{tool} is not in PATH" for tool in ("ncu", "nvcc") if not _there(tool)]
    gpu = _no_gpu()
    if gpu is not None:
        lacks.insert(0, gpu)
    if lacks:
        return f"needs an NVIDIA GPU, ncu and nvcc: {'; '.join(lacks)}"
    if "PYTEST_XDIST_WORKER" in os.environ:
        return "kernels that are profiled at the same time disturb each other: make gpu-test"
    return None


def _there(tool: str) -> bool:
    return shutil.which(tool) is not None


def _no_gpu() -> str | None:
    if not _there("nvidia-smi"):
        return "no GPU (nvidia-smi is not in PATH)"
    listed = subprocess.run(
        ["nvidia-smi", "-L"], capture_output=True, text=True, check=False, timeout=60
    )
    if listed.returncode != 0 or "GPU 0" not in listed.stdout:
        return f"no GPU answers ({(listed.stdout + listed.stderr).strip() or 'nvidia-smi -L'})"
    return None


def describe_machine() -> dict[str, str]:
    """GPU, driver, and the versions of the tools."""
    gpu = _first_output(
        "nvidia-smi", "--query-gpu=name,driver_version,compute_cap", "--format=csv,noheader"
    ).splitlines()[0]
    name, driver, capability = (part.strip() for part in gpu.split(","))
    release = re.search(r"release \S+ V(\S+)", _first_output("nvcc", "--version"))
    version = re.search(r"Version (\S+)", _first_output("ncu", "--version"))
    return {
        "gpu": name,
        "compute capability": capability,
        "driver": driver,
        "ncu": version[1] if version else "unknown",
        "nvcc": release[1] if release else "unknown",
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def _first_output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@dataclass(frozen=True)
class Ran:
    """A command line that was run."""

    line: str
    code: int
    said: str
    seconds: float


def run_line(line: str, folder: Path) -> Ran:
    """Run a printed command line as it stands, in a shell, as somebody who pastes it."""
    words = shlex.split(line)
    assert words[0] == "ncu", line
    assert "--import" in words or " ".join(SAME_CLOCKS) in line, f"would change the clocks: {line}"
    start = time.monotonic()
    done = subprocess.run(
        line,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=_LONGEST_S,
    )
    seconds = time.monotonic() - start
    return Ran(line, done.returncode, (done.stdout + done.stderr).strip(), seconds)


def without_setup(line: str) -> str:
    """The command line for a program that turns profiling on where its own kernels start."""
    return line.replace("ncu ", "ncu --profile-from-start off ", 1)


def passes(capture: Path) -> list[int]:
    """How often each launch was run to collect it."""
    return [int(each) for each in read_capture(capture).columns[_PASSES].values]


def absent(capture: Path, names: Sequence[str]) -> list[str]:
    """Which of these metrics have no value in a capture."""
    columns = read_capture(capture).columns
    return [name for name in names if name not in columns or np.isnan(columns[name].values).all()]


def asked_metrics(line: str) -> list[str]:
    """The metrics after ``--metrics`` in a command line; samples by source line are none."""
    words = shlex.split(line)
    names = words[words.index("--metrics") + 1].split(",") if "--metrics" in words else []
    return [name for name in names if name != SAMPLES]


def answer(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a kernel's entry in the JSON says, in short."""
    verdict = entry["verdict"]
    return {
        "status": verdict["status"],
        "bottleneck": verdict["bottleneck"],
        "confidence": verdict["confidence"],
        "gain": verdict["estimated_gain"],
    }


def named(said: Mapping[str, Any]) -> str:
    """An answer in a word or two."""
    if said["status"] == "bottleneck":
        return str(said["bottleneck"])
    return f"{said['status']} {said['bottleneck'] or ''}".strip()


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two answers are the same verdict."""
    return (one["status"], one["bottleneck"]) == (other["status"], other["bottleneck"])


def by_id(entries: Sequence[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """The entry of each launch by the capture's own ID."""
    return {int(each): entry for entry in entries for each in entry["ids"]}


@dataclass
class Step:
    """One follow-up capture of one kernel."""

    round: int
    command: str
    file: str
    passes: int
    seconds: float
    absent: list[str]
    verdict: dict[str, Any] = field(default_factory=dict)


@dataclass
class Drill:
    """The way of one kernel from the triage to the last verdict."""

    label: str
    id: int
    triage: dict[str, Any]
    triage_passes: int
    steps: list[Step] = field(default_factory=list)
    final: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def follow_up_passes(self) -> int:
        return sum(step.passes for step in self.steps)


def drill_down(
    triage: Path, labels: Sequence[str], folder: Path, diagnose: Diagnose
) -> list[Drill]:
    """Follow the printed commands, round by round, until every kernel has a verdict.

    ``triage`` is the first capture, with a launch for each label. Every command is run as it is
    printed and writes ``followup.csv`` into ``folder``, which is then kept under another name.
    """
    captures = [triage]
    entries = by_id(diagnose(triage)[1])
    drills = [
        Drill(label, row, answer(entries[row]), count, final=answer(entries[row]))
        for row, (label, count) in enumerate(zip(labels, passes(triage), strict=True))
    ]
    for number in range(1, MOST_ROUNDS + 1):
        going = [drill for drill in drills if _goes_on(drill, entries[drill.id])]
        if not going:
            break
        for drill in going:
            captures += _follow_up(drill, number, entries[drill.id], folder)
        entries = by_id(diagnose(*captures, "--merge")[1])
        for drill in drills:
            drill.final = answer(entries[drill.id])
            if drill in going and drill.steps:
                drill.steps[-1].verdict = drill.final
    return drills


def _goes_on(drill: Drill, entry: dict[str, Any]) -> bool:
    return not drill.problems and entry["verdict"]["status"] == "inconclusive"


def _follow_up(drill: Drill, number: int, entry: dict[str, Any], folder: Path) -> list[Path]:
    command = entry["verdict"]["command"]
    if any(step.command == command for step in drill.steps):
        drill.problems.append(f"round {number} asks for the same again: {command}")
        return []
    ran = run_line(command, folder)
    written = folder / "followup.csv"
    if ran.code != 0 or not written.exists():
        drill.problems.append(f"exit code {ran.code} of {command}\n{ran.said}")
        return []
    kept = written.rename(folder / f"round-{number}.{drill.label}.csv")
    launches = read_capture(kept).launches
    shapes = [(each.kernel, list(each.grid or ()), list(each.block or ())) for each in launches]
    if shapes != [(entry["name"], entry["grid"], entry["block"])]:
        drill.problems.append(f"{command}\nprofiled {shapes}")
    drill.steps.append(
        Step(
            number,
            command,
            kept.name,
            passes(kept)[0],
            round(ran.seconds, 1),
            absent(kept, asked_metrics(command)),
        )
    )
    return [kept]
