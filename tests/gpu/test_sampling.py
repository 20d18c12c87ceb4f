"""Hardware counters sampled while a program runs, and answers whatever becomes of ``ncu``."""

from __future__ import annotations

import csv
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.gpu.test_survey import PROGRAMS, built, diagnosed, keep

from kernelprof.analysis.survey.answer import survey_program
from kernelprof.collect.survey.run import record_program
from kernelprof.launch.processes import Interrupts

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.model.survey import Survey

__all__ = ["built"]
pytestmark = pytest.mark.usefixtures("results")

MOST_OVERHEAD = 1.3
NEAR = 5.0
DRAM = "dram__throughput.avg.pct_of_peak_sustained_elapsed"

needs = {
    name: pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"without {name}")
    for name in ("torch", "jax")
}


def seconds_of(command: list[str]) -> float:
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def surveyed(command: list[str], folder: Path, name: str) -> tuple[Survey, float]:
    """The median of three surveys, which leave a ratio to the median of three runs alone."""
    alone = statistics.median(seconds_of(command) for _ in range(3))
    took = []
    for number in range(3):
        place = folder / f"{name}-{number}"
        place.mkdir()
        with Interrupts() as interrupts:
            run = record_program(command, interrupts, folder=place)
        assert not run.ended
        took.append(run.seconds)
    ratio = statistics.median(took) / alone
    keep(folder / f"{name}-2", name, f"alone {alone:.2f} s, surveyed {ratio:.2f} times that")
    return survey_program(run.trace, run.seconds), ratio


@needs["torch"]
def test_units_of_kernels_are_as_busy_as_ncu_says(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAMS / "mixed.py")]
    survey, ratio = surveyed(command, tmp_path, "mixed")
    assert ratio <= MOST_OVERHEAD
    assert sum(each.share for each in survey.kernels if each.sampled) >= 0.95
    whole = diagnosed(
        "mixed-ncu",
        "--preset",
        "full",
        "--launch-skip",
        "40",
        "--launch-count",
        "12",
        "--",
        *command,
    )
    measured = whole.document["kernels"]
    compared = 0
    for kernel in survey.kernels:
        same = [
            each
            for each in measured
            if each["grid"] == list(kernel.grid) and each["block"] == list(kernel.block)
        ]
        if kernel.sampled is None or not same or kernel.share < 0.02:
            continue
        compared += 1
        said = same[0]["verdict"]
        facts = {fact["metric"]: fact["value"] for fact in said["evidence"]}
        units = {each.metric: each.value for each in kernel.sampled.units}
        for metric in ("dram_throughput", "tensor_pipe"):
            if metric in facts:
                assert units[metric] == pytest.approx(facts[metric], abs=NEAR), kernel.name
        if kernel.sampled.bottleneck is not None and said["confidence"] == "high":
            assert kernel.sampled.bottleneck == said["bottleneck"]
    assert compared >= 3


def test_a_solver_is_sampled(built: Path, tmp_path: Path) -> None:
    survey, ratio = surveyed([str(built / "jacobi"), "4096", "30000"], tmp_path, "jacobi")
    assert ratio <= MOST_OVERHEAD
    sweep = survey.kernels[0].sampled
    assert sweep is not None
    assert sweep.units[0].metric == "dram_throughput"
    ncu = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
    chosen = ["--launch-skip", "1000", "--launch-count", "1", "--metrics", DRAM]
    words = [str(built / "jacobi"), "4096", "2000"]
    done = subprocess.run([*ncu, *chosen, *words], check=True, capture_output=True, text=True)
    lines = [each for each in done.stdout.splitlines() if each.startswith('"')]
    (row,) = list(csv.DictReader(lines))[1:]  # the first has the units
    assert sweep.units[0].value == pytest.approx(float(row[DRAM].replace(",", "")), abs=NEAR)


FAILURES = {
    "crashes": "kill -SEGV $$",
    "hangs": "sleep 1000",
    "refuses": "echo '==ERROR== ERR_NVGPUCTRPERM' >&2; exit 1",
}


@pytest.mark.parametrize("what", FAILURES)
def test_the_survey_answers_whatever_ncu_does(
    what: str, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("ncu")
    fake = tmp_path / "bin" / "ncu"
    fake.parent.mkdir()
    asks = f'case "$*" in *--version*|*--query-*) exec {real} "$@";; esac'
    fake.write_text(f"#!/bin/sh\n{asks}\n{FAILURES[what]}\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    options = ("--budget", "5", "--keep", str(tmp_path / "kept"))
    ran = diagnosed(f"ncu-{what}", *options, "--", built / "jacobi", "4096", "20000")
    assert ran.document["kernels"] == []
    kernels: list[dict[str, Any]] = ran.survey["kernels"]
    assert sum(each["launches"] for each in kernels) == 20_064
    assert kernels[0]["sampled"]["units"]
    assert "Nothing was measured" in " ".join(ran.document["captures"][0]["warnings"])
    assert not (tmp_path / "kept").exists()


@needs["jax"]
def test_a_step_of_jax_is_answered(tmp_path: Path) -> None:
    command = (sys.executable, PROGRAMS / "jax_step.py", "1000")
    found = diagnosed("jax", "--budget", "30", "--", *command, folder=tmp_path)
    kernels = found.survey["kernels"]
    assert sum(each["share"] for each in kernels if each["measured"]) >= 0.9
    # What XLA tries before the steps begin runs before the samples do.
    assert sum(each["share"] for each in kernels if each["sampled"]) >= 0.9
