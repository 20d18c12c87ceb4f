"""Whole programs: surveyed, measured in part, and what that takes."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.gpu.conftest import RESULTS

from kernelprof.analysis.survey.answer import survey_program
from kernelprof.collect.survey.run import record_program
from kernelprof.launch.processes import Interrupts
from kernelprof.model.survey import Limit

PROGRAMS = Path(__file__).parent / "survey"
MOST_OVERHEAD = 1.2
LONGEST_S = 300
SAME_TIME = 0.03

pytestmark = pytest.mark.usefixtures("results")

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="this Python has no PyTorch"
)


@dataclass(frozen=True)
class Ran:
    """What ``kernelprof diagnose --format json`` wrote, and how long it took."""

    document: dict[str, Any]
    said: str
    seconds: float

    @property
    def survey(self) -> dict[str, Any]:
        found: dict[str, Any] = self.document["captures"][0]["survey"]
        assert found is not None, self.said
        return found

    def kernel(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(k for k in self.document["kernels"] if name in k["name"])
        return found


def diagnosed(name: str, *words: str | Path, folder: Path | None = None) -> Ran:
    """Run the command line; what it says is kept where the results of a run are."""
    command = [sys.executable, "-m", "kernelprof", "diagnose", "--format", "json", *map(str, words)]
    begin = time.monotonic()
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=LONGEST_S
    )
    seconds = time.monotonic() - begin
    if kept := os.environ.get(RESULTS):
        place = Path(kept) / f"survey-{name}"
        place.with_suffix(".json").write_text(done.stdout, encoding="utf-8")
        place.with_suffix(".txt").write_text(f"{seconds:.2f} s\n{done.stderr}", encoding="utf-8")
    assert done.returncode in {0, 3}, done.stderr
    return Ran(json.loads(done.stdout), done.stderr, seconds)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the compiled programs."""
    folder = tmp_path_factory.mktemp("survey")
    running = [
        subprocess.Popen(
            ["nvcc", "-arch=native", "-O3", "-lineinfo", str(source), "-o", folder / source.stem]
        )
        for source in sorted(PROGRAMS.glob("*.cu"))
    ]
    assert [each.wait() for each in running] == [0] * len(running)
    return folder


def answered(verdict: dict[str, Any]) -> tuple[str, str | None]:
    return verdict["status"], verdict["bottleneck"]


def test_a_solver_of_6064_launches(built: Path) -> None:
    found = diagnosed("jacobi", "--", built / "jacobi")
    assert found.seconds <= 25
    survey = found.survey
    assert sum(each["launches"] for each in survey["kernels"]) == 6064
    assert survey["answer"]["limit"] == "kernels"
    assert survey["coverage"]["share"] >= 0.95
    sweep = found.kernel("sweep")
    assert sweep["share"] > 0.95
    assert 1 <= sweep["launches"] <= 3
    assert sweep["surveyed"]["launches"] == 6000
    # All metrics of the same kernel, measured without a survey.
    chosen = ("--preset", "full", "--launch-skip", "1000", "--launch-count", "3")
    whole = diagnosed("jacobi-full", *chosen, "--kernel", "sweep", "--", built / "jacobi")
    assert whole.document["captures"][0]["survey"] is None
    assert answered(sweep["verdict"]) == answered(whole.kernel("sweep")["verdict"])


def test_100000_launches(built: Path) -> None:
    found = diagnosed("many", "--", built / "many")
    assert found.seconds <= 120
    assert found.survey["answer"]["limit"] == "launches"
    assert {"shift", "scale", "mix"} == {
        k["name"].partition("(")[0] for k in found.survey["kernels"]
    }
    assert found.survey["coverage"]["share"] >= 0.95


@pytest.mark.parametrize(
    ("program", "words", "all_of_it"),
    [
        ("jacobi", ("1024", "60", "3"), ("--launch-count", "100")),
        ("many", (), ("--launch-skip", "40000", "--launch-count", "60")),
        ("triton_script.py", (), ("--launch-count", "100", "--kernel", "softmax")),
        # Matrix products of most of a step, forward and backward.
        (
            "encoder.py",
            ("5",),
            ("--launch-skip", "240", "--launch-count", "50", "--kernel", "gemm"),
        ),
    ],
    ids=["jacobi", "many", "triton", "encoder"],
)
def test_verdicts_are_those_of_measuring_all(
    program: str, words: tuple[str, ...], all_of_it: tuple[str, ...], built: Path, tmp_path: Path
) -> None:
    command: list[str | Path] = [built / program, *words]
    if program.endswith(".py"):
        pytest.importorskip("torch")
        command = [sys.executable, PROGRAMS / program, *words]
    name = f"all-{program.partition('.')[0]}"
    few = diagnosed(f"{name}-few", "--", *command, folder=tmp_path)
    whole = diagnosed(name, "--preset", "full", *all_of_it, "--", *command, folder=tmp_path)
    assert whole.document["captures"][0]["survey"] is None
    compared = 0
    for kernel in few.document["kernels"]:
        expected = {answered(each["verdict"]) for each in same_work(kernel, whole.document)}
        compared += bool(expected)
        assert not expected or answered(kernel["verdict"]) in expected, kernel["name"]
    assert compared


def same_work(kernel: dict[str, Any], document: dict[str, Any]) -> list[dict[str, Any]]:
    """Launches of the same grid that take as long: those of a library have several sizes.

    They are more than one entry where they differ, as at the edge of what counts as a limit.
    """

    def as_long(other: dict[str, Any]) -> bool:
        time, its = (each["duration_ns"]["median"] for each in (kernel, other))
        return abs(its / time - 1) <= SAME_TIME

    shape = ("name", "grid", "block")
    alike = [each for each in document["kernels"] if all(each[key] == kernel[key] for key in shape)]
    return [each for each in alike if as_long(each)] if len(alike) > 1 else alike


@needs_torch
def test_training_steps_of_an_encoder(tmp_path: Path) -> None:
    script = PROGRAMS / "encoder.py"
    # PyTorch is read from a disk once; whoever asks about a program has run it before.
    subprocess.run([sys.executable, str(script), "4"], check=True)
    found = diagnosed("encoder", "--", sys.executable, script, "23", folder=tmp_path)
    assert found.seconds <= 60
    survey = found.survey
    assert survey["answer"]["limit"] == "launches"
    assert any("optimizer" in line for line in survey["answer"]["advice"])
    assert survey["coverage"]["share"] >= 0.9
    modules = {each["name"]: each for each in survey["groups"] if each["kind"] == "module"}
    linear = modules["layers.*.linear1 (Linear)"]
    assert linear["place"].endswith("encoder.py:23")
    assert linear["launches"] == 23 * 6
    operators = {each["name"] for each in survey["groups"] if each["kind"] == "operator"}
    assert {"aten::linear", "AddmmBackward0", "Optimizer.step#AdamW.step"} <= operators
    lines = {each["name"]: each for each in survey["groups"] if each["kind"] == "line"}
    assert lines["encoder.py:23, backward"]["share"] > lines["encoder.py:23"]["share"] > 0.1
    assert lines["encoder.py:25"]["launches"] > 10_000  # of the optimizer


@needs_torch
def test_a_survey_costs_little(tmp_path: Path) -> None:
    command = [sys.executable, str(PROGRAMS / "encoder.py"), "23"]
    begin = time.monotonic()
    subprocess.run(command, check=True)
    alone = time.monotonic() - begin
    with Interrupts() as interrupts:
        run = record_program(command, interrupts, folder=tmp_path)
    keep(tmp_path, "encoder", f"alone {alone:.2f} s, surveyed {run.seconds:.2f} s")
    assert run.seconds <= MOST_OVERHEAD * alone


@needs_torch
@pytest.mark.parametrize(
    ("words", "limit"), [((), Limit.LAUNCHES), (("graph",), Limit.KERNELS)], ids=["python", "graph"]
)
def test_short_kernels_from_python_and_from_a_graph(
    words: tuple[str, ...], limit: Limit, tmp_path: Path
) -> None:
    command = [sys.executable, str(PROGRAMS / "short_kernels.py"), *words]
    with Interrupts() as interrupts:
        run = record_program(command, interrupts, folder=tmp_path)
    found = survey_program(run.trace, run.seconds)
    assert found.answer is not None
    keep(tmp_path, f"short-{limit.value}", found.answer.sentence)
    assert found.answer.limit is limit, found.answer.sentence
    assert (found.gpus[0].busy >= 0.8) is (limit is Limit.KERNELS)
    lines = {each.name: each.launches for each in found.groups if each.kind == "line"}
    assert lines["short_kernels.py:13"] == 1
    assert lines.get("short_kernels.py:17", 0) == (4000 if limit is Limit.LAUNCHES else 0)


def keep(folder: Path, name: str, said: str) -> None:
    """The files of a survey and what it says, where the results of a run are kept."""
    if kept := os.environ.get(RESULTS):
        place = shutil.copytree(folder, Path(kept) / "surveys" / name, dirs_exist_ok=True)
        (place / "said.txt").write_text(f"{said}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("held", "written", "saved"),
    # 80 GB have no room twice on a GPU of 141 GB.
    [(1, 4, True), (40_000, 4, True), (1, 4_000, True), (40_000, 4_000, True), (1, 80_000, False)],
    ids=str,
)
def test_saving_memory_takes_what_was_estimated(
    built: Path, held: int, written: int, saved: bool
) -> None:
    program = built / "memory"
    found = diagnosed(f"memory-{held}-{written}", "--", program, str(held), str(written), "30")
    assert ("runs again for each pass" not in found.said) is saved
    fill = found.kernel("fill")
    assert fill["surveyed"]["launches"] == 30
    # A launch that writes 4 MB is over before memory is busy.
    assert (fill["verdict"]["bottleneck"] == "dram-bandwidth") is (written > 4)
    coverage = found.survey["coverage"]
    assert coverage["launches"] >= 1
    assert coverage["seconds"] <= 2 * coverage["estimate_s"], found.said
    assert coverage["estimate_s"] <= 2 * coverage["seconds"] + 5, found.said


def test_a_source_with_its_own_main_and_arguments() -> None:
    source = PROGRAMS / "jacobi.cu"
    found = diagnosed("source", source, "--", "1024", "300", "3")
    assert found.survey["kernels"][0]["launches"] == 300
    assert found.kernel("sweep")["grid"] == [32, 128, 1]


def test_a_project_that_is_built_before(tmp_path: Path) -> None:
    source = shutil.copytree(PROGRAMS / "project", tmp_path / "project")
    subprocess.run(["cmake", "-S", source, "-B", source / "build"], check=True, capture_output=True)
    found = diagnosed(
        "project", "--build", "cmake --build build", "--", "build/columns", folder=source
    )
    assert found.kernel("column_sums")["surveyed"]["launches"] == 100


def test_a_program_that_forks(built: Path) -> None:
    found = diagnosed("fork", "--", built / "fork_launch")
    assert found.survey["processes"] == 3
    fill = found.kernel("fill")
    assert fill["surveyed"]["launches"] == 600
    assert fill["launches"] >= 1


def test_a_program_on_two_gpus(built: Path) -> None:
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True)
    if len(listed.stdout.splitlines()) < 2:
        pytest.skip("one GPU is here")
    found = diagnosed("two-gpus", "--", built / "two_gpus")
    gpus = found.survey["gpus"]
    assert [each["device"] for each in gpus] == [0, 1]
    assert all("NVIDIA" in each["name"] for each in gpus)
    assert sum(each["launches"] for each in found.survey["kernels"]) == 300
    assert found.kernel("fill")["launches"] >= 1


@pytest.mark.parametrize("how", ["segv", "kernel"])
def test_a_program_that_crashes(built: Path, how: str) -> None:
    found = diagnosed(f"crash-{how}", "--", built / "crashes", how)
    assert found.survey["ended"]
    assert found.kernel("add")["surveyed"]["launches"] == 2000
    assert found.kernel("add")["launches"] >= 1


def test_a_program_that_never_ends(built: Path) -> None:
    found = diagnosed("never", "--time-limit", "8", "--", built / "never_ends")
    assert found.survey["ended"] == "the program was stopped after 8 s"
    assert found.survey["answer"]["limit"] == "synchronization"
    assert found.kernel("step")["surveyed"]["launches"] > 1000


@needs_torch
def test_a_script_of_triton(tmp_path: Path) -> None:
    script = PROGRAMS / "triton_script.py"
    found = diagnosed(
        "triton", "--kernel", "softmax", "--", sys.executable, script, folder=tmp_path
    )
    functions = {
        each["name"]: each for each in found.survey["groups"] if each["kind"] == "function"
    }
    assert functions["softmax"]["place"] == f"{script}:8"
    assert functions["softmax"]["launches"] == 20
    assert all("softmax" in each["name"] for each in found.document["kernels"])
