"""Programs and captures that the tests on a GPU share; without a GPU they are skipped here."""

from __future__ import annotations

import dataclasses
import gzip
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.gpu import support
from tests.gpu.report import report, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import RunCli

    Diagnose = Callable[..., tuple[int, list[dict[str, Any]]]]

HERE = Path(__file__).parent
RESULTS = "KERNELPROF_GPU_RESULTS"
"""Names the folder that keeps the captures, ``drilldown.json`` and ``report.md`` of a run."""


@dataclass
class Results:
    """What a run found out, for the report and to be replayed without a GPU."""

    machine: dict[str, str] = field(default_factory=dict)
    presets: list[dict[str, Any]] = field(default_factory=list)
    kernels: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    captures: dict[str, Path] = field(default_factory=dict)
    outcomes: dict[str, list[str]] = field(default_factory=dict)

    def kernel(self, label: str) -> dict[str, Any]:
        return self.kernels.setdefault(label, {"label": label})

    def document(self) -> dict[str, Any]:
        return {
            "machine": self.machine,
            "outcomes": {
                "passed": len(self.outcomes.get("passed", [])),
                **{name: tests for name, tests in self.outcomes.items() if name != "passed"},
            },
            "most_rounds": support.MOST_ROUNDS,
            "seconds": {name: round(seconds, 1) for name, seconds in self.seconds.items()},
            "presets": self.presets,
            "kernels": list(self.kernels.values()),
        }


_RESULTS = pytest.StashKey[Results]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is built and measured here has limits of its own, and takes minutes."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(0))


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_RESULTS] = Results()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    results = config.stash[_RESULTS]
    for outcome in ("passed", "failed", "error", "xfailed", "xpassed"):
        tests = [each.nodeid for each in terminalreporter.stats.get(outcome, [])]
        if tests:
            results.outcomes[outcome] = [test.partition("::")[2] for test in tests]
    kept_in = os.environ.get(RESULTS)
    if kept_in and results.machine:
        _keep(results, Path(kept_in))
    if results.kernels:
        terminalreporter.section("kernels")
        terminalreporter.write_line(table(results.document()))


@pytest.fixture(scope="session", autouse=True)
def results(pytestconfig: pytest.Config) -> Results:
    """Collects what is found out; skips where there is no GPU to find it out on."""
    reason = support.why_not()
    if reason is not None:
        pytest.skip(reason)
    found = pytestconfig.stash[_RESULTS]
    found.machine = support.describe_machine()
    return found


def _keep(found: Results, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in found.captures.items():
        packed = gzip.compress(path.read_bytes(), 9, mtime=0)
        (folder / f"{name}.gz").write_bytes(packed)
    text = json.dumps(found.document(), indent=1) + "\n"
    (folder / "drilldown.json").write_text(text, encoding="utf-8")
    (folder / "report.md").write_text(report(found.document()), encoding="utf-8")


@pytest.fixture(scope="session")
def needs_pycuda(results: Results) -> None:
    """Skips where kernels cannot be launched from their sources."""
    del results
    if importlib.util.find_spec("pycuda") is None:
        pytest.skip("PyCUDA is not installed: pip install 'kernelprof[gpu]'")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where programs are built and captures are written."""
    return tmp_path_factory.mktemp("gpu")


@dataclass(frozen=True)
class Programs:
    """``fixture`` launches three small kernels, ``drill`` the kernels that ``labels`` names."""

    fixture: Path
    drill: Path
    labels: tuple[str, ...]
    kernels: tuple[str, ...]


@pytest.fixture(scope="session")
def programs(folder: Path, results: Results) -> Programs:
    """The programs to profile; skips where counters are for administrators only."""
    built = {name: folder / name for name in ("fixture", "drill")}
    labels = ",".join(support.LABELS)
    options = ["-arch=native", "-O3", "-lineinfo", "--extended-lambda", f'-DLABELS="{labels}"']
    sources = {"fixture": HERE.parent / "kernels" / "fixture.cu", "drill": HERE / "drill.cu"}
    compilers = [
        subprocess.Popen(["nvcc", *options, "-o", str(built[name]), str(source)])
        for name, source in sources.items()
    ]
    assert [compiler.wait(timeout=600) for compiler in compilers] == [0, 0]
    listed = subprocess.run(
        [str(built["drill"]), "list"], capture_output=True, text=True, check=True, timeout=60
    )
    pairs = [line.partition(",")[::2] for line in listed.stdout.splitlines()]
    assert {label for label, _ in pairs} == set(support.LABELS)
    tried = support.run_line(
        f"ncu {' '.join(support.SAME_CLOCKS)} --metrics gpu__time_duration.sum {built['fixture']}",
        folder,
    )
    results.seconds["ncu and one metric of three kernels"] = tried.seconds
    if "ERR_NVGPUCTRPERM" in tried.said:
        pytest.skip("ncu may not read counters here: https://developer.nvidia.com/ERR_NVGPUCTRPERM")
    return Programs(
        built["fixture"],
        built["drill"],
        tuple(label for label, _ in pairs),
        tuple(kernel for _, kernel in pairs),
    )


@pytest.fixture(scope="session")
def run_cli(run_process: RunCli) -> RunCli:
    """Each command in a process of its own, as on a GPU it is used."""
    return run_process


@pytest.fixture(scope="session")
def diagnose(run_cli: RunCli) -> Diagnose:
    """Diagnose captures with the command line: exit code, and the kernels of the JSON."""

    def run(*arguments: Path | str) -> tuple[int, list[dict[str, Any]]]:
        done = run_cli("diagnose", *map(str, arguments), "--format", "json")
        assert done.returncode in {0, 3}, done.stderr
        kernels: list[dict[str, Any]] = json.loads(done.stdout)["kernels"]
        return done.returncode, kernels

    return run


@pytest.fixture(scope="session")
def printed_command(run_cli: RunCli) -> Callable[..., str]:
    """The line that ``kernelprof command`` prints for a preset and a program."""

    def run(preset: str, *program: Path | str) -> str:
        words = ["--preset", preset, *support.SAME_CLOCKS, "--", *map(str, program)]
        done = run_cli("command", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")

    return run


@pytest.fixture(scope="session")
def collect(
    folder: Path, results: Results, programs: Programs, printed_command: Callable[..., str]
) -> Callable[[str], Path]:
    """Run the printed command of a preset on all kernels; each preset once."""
    done: dict[str, Path] = {}

    def run(preset: str) -> Path:
        if preset not in done:
            line = support.without_setup(printed_command(preset, programs.drill))
            ran = support.run_line(line, folder)
            assert ran.code == 0, ran.said
            done[preset] = (folder / "capture.csv").rename(folder / f"{preset}.csv")
            results.seconds[f"preset {preset} of all kernels"] = ran.seconds
            results.captures[f"{preset}.csv"] = done[preset]
            for label, count in zip(programs.labels, support.passes(done[preset]), strict=True):
                results.kernel(label).setdefault("passes", {})[preset] = count
        return done[preset]

    return run


@dataclass(frozen=True)
class FullSet:
    """One run with ``--set full``: the report, and its exports with base and scaled units."""

    report: Path
    base: Path
    scaled: Path


@pytest.fixture(scope="session")
def full_set(folder: Path, results: Results, programs: Programs) -> FullSet:
    """All sections of Nsight Compute for all kernels."""
    clocks = " ".join(support.SAME_CLOCKS)
    line = f"ncu {clocks} --set full --export full-set {programs.drill}"
    ran = support.run_line(support.without_setup(line), folder)
    assert ran.code == 0, ran.said
    results.seconds["--set full of all kernels"] = ran.seconds
    exported = {}
    for units in ("base", "auto"):
        exported[units] = folder / f"full-set.{units}.raw.csv"
        page = f"--import full-set.ncu-rep --csv --page raw --print-units {units}"
        ran = support.run_line(f"ncu {page} > {exported[units].name}", folder)
        assert ran.code == 0, ran.said
    results.captures["full-set.raw.csv"] = exported["base"]
    for label, count in zip(programs.labels, support.passes(exported["base"]), strict=True):
        results.kernel(label).setdefault("passes", {})["full set"] = count
    return FullSet(folder / "full-set.ncu-rep", exported["base"], exported["auto"])


@pytest.fixture(scope="session")
def full_answers(
    full_set: FullSet, programs: Programs, diagnose: Diagnose, results: Results
) -> dict[str, dict[str, Any]]:
    """The verdict of each kernel with everything that Nsight Compute knows."""
    entries = support.by_id(diagnose(full_set.base)[1])
    answers = {label: support.answer(entries[row]) for row, label in enumerate(programs.labels)}
    for label, said in answers.items():
        results.kernel(label)["full set"] = said
    return answers


@pytest.fixture(scope="session")
def preset_answers(
    collect: Callable[[str], Path], programs: Programs, diagnose: Diagnose, results: Results
) -> dict[str, dict[str, Any]]:
    """The verdict of each kernel with the metrics of the preset ``full``."""
    entries = support.by_id(diagnose(collect("full"))[1])
    answers = {label: support.answer(entries[row]) for row, label in enumerate(programs.labels)}
    for label, said in answers.items():
        results.kernel(label)["full"] = said
    return answers


@pytest.fixture(scope="session")
def drills(
    folder: Path,
    collect: Callable[[str], Path],
    programs: Programs,
    diagnose: Diagnose,
    results: Results,
) -> dict[str, support.Drill]:
    """Every kernel followed from the triage to its last verdict."""
    found = support.drill_down(collect("triage"), programs.labels, folder, diagnose)
    for drill in found:
        kernel = results.kernel(drill.label)
        kernel["triage"] = drill.triage
        kernel["final"] = drill.final
        kernel["problems"] = drill.problems
        kernel["steps"] = [dataclasses.asdict(step) for step in drill.steps]
        results.captures.update({step.file: folder / step.file for step in drill.steps})
    steps = [step for drill in found for step in drill.steps]
    results.seconds[f"{len(steps)} follow-up captures"] = sum(step.seconds for step in steps)
    return {drill.label: drill for drill in found}


@pytest.fixture
def say() -> Callable[[str], None]:
    """Tell what a test did; ``pytest -rA`` shows it."""

    def write(text: str) -> None:
        sys.stdout.write(text + "\n")

    return write


@pytest.fixture
def scratch(tmp_path: Path, programs: Programs) -> Path:
    """A folder of its own with the small program in it."""
    shutil.copy(programs.fixture, tmp_path / "fixture")
    return tmp_path
