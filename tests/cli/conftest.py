"""Programs to profile, and the stand-in for ``ncu`` that replays what they once measured."""

from __future__ import annotations

import shutil
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kernelprof.collect import doctor, environment
from kernelprof.collect.environment import LocalGpu, LocalMachine
from kernelprof.launch.run.prepare import PreparedKernel
from kernelprof.model.capture import Capture
from kernelprof.model.manifest import CorrectnessFacts, SourceFacts, TimingFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.launch.processes import Interrupts
    from kernelprof.launch.specification.overrides import LaunchOverrides

ROOT = Path(__file__).parents[2]
LADDER = ROOT / "cuda" / "ladder"
STAND_IN = ROOT / "tests" / "fake_ncu" / "ncu"
PROGRAM = """#!/bin/sh
echo 'gemm_series: start'
case "$1" in
late) exit 7 ;;
early) echo 'gemm_series: no memory' >&2; exit 5 ;;
sleep) echo $$ > pid.new; mv pid.new pid; sleep 300 & wait ;;
esac
exit 0
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with programs in it, on a machine whose ``ncu`` is the stand-in."""
    work = tmp_path / "work"
    work.mkdir()
    for name in ("gemm_series", "quiet"):
        program = work / name
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)
    # The stand-in runs under the Python that runs these tests.
    ncu = tmp_path / "ncu"
    ncu.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n', encoding="utf-8")
    ncu.chmod(0o755)
    monkeypatch.setenv("KERNELPROF_NCU", str(ncu))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose nvidia-smi shows a GPU."""
    seen = LocalMachine((LocalGpu(0, "NVIDIA H200", (9, 0)),), "580.95.05", "13.0")
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", lambda: seen)


@pytest.fixture
def no_ncu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without ``ncu``."""
    monkeypatch.delenv("KERNELPROF_NCU", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("kernelprof.tools._NCU_PLACES", ())


@pytest.fixture
def no_gpu(monkeypatch) -> None:
    """A machine without a GPU, and without records."""
    monkeypatch.setattr("kernelprof.collect.environment.query_machine", LocalMachine)
    monkeypatch.setattr("kernelprof.collect.recorded.FOLDERS", ())


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the example in it, on a machine without ``ncu``, a GPU and records."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("KERNELPROF_NCU", "/no/such/ncu")
    monkeypatch.setattr("kernelprof.collect.recorded.FOLDERS", ())
    shutil.copy(ROOT / "examples" / "matvec.cu", tmp_path / "matvec.cu")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rung(machine) -> Path:
    """A kernel with a launch specification in the folder to work in."""
    return shutil.copy(LADDER / "01_naive.cu", machine / "gemm.cu")


class Preparing:
    """Stands in for building and launching, which need a GPU; ``heard`` is what came of it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.heard: list[object] = []

    @contextmanager
    def __call__(
        self,
        source: Path,
        overrides: LaunchOverrides,
        interrupts: Interrupts,
        tell: Callable[[str], None],
        **program: object,
    ) -> Iterator[PreparedKernel]:
        assert not any(program.values())
        self.heard.append(("begin", str(source), overrides))
        interrupts.check()
        tell("compiling")
        try:
            if self.error is not None:
                raise self.error
            yield PreparedKernel(
                target=str(source),
                command=("./gemm_series",),
                kernel="^gemm_bad",
                launch_skip=1,
                source=SourceFacts(str(source), "a" * 64, {"kernel": "gemm_bad"}),
                timing=TimingFacts(
                    20, 5, 2.1e6, 2.09e6, 2.13e6, 2.1e6, 2.11e6, flops=137438953472.0
                ),
                correctness=CorrectnessFacts(
                    True, "gemm", 3.1e-7, 1e-5, {"M": 250, "N": 390, "K": 130}
                ),
            )
        finally:
            self.heard.append(("end", Path("out").exists()))


@pytest.fixture
def preparing(monkeypatch) -> Preparing:
    stand_in = Preparing()
    monkeypatch.setattr("kernelprof.collect.run.prepare_kernel", stand_in)
    return stand_in


@pytest.fixture
def judged(monkeypatch, samples):
    """Replace reading and judging, so that only what the command does with the result counts."""

    def judge(capture, *, preset=None, progress=None):
        assert preset is progress is None
        return stored[capture.origin]

    def read(target, *, only=None, progress=None):
        assert only is not None
        assert progress is None
        return Capture((), {}, origin=target)

    stored = {"x": samples.diagnosis(), "y": samples.diagnosis()}
    monkeypatch.setattr("kernelprof.sources.read_capture", read)
    monkeypatch.setattr("kernelprof.analysis.verdict.diagnose", judge)


@pytest.fixture
def bare(monkeypatch, no_ncu) -> None:
    """A machine with nothing but kernelprof."""
    del no_ncu
    monkeypatch.setattr(environment, "query_machine", environment.LocalMachine)
    monkeypatch.setattr(environment, "counters_are_for_administrators", lambda: None)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
