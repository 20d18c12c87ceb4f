"""Programs to profile, and the stand-in for ``ncu`` that replays what they once measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernelprof.collect.environment import LocalGpu, LocalMachine

STAND_IN = Path(__file__).parents[1] / "fake_ncu" / "ncu"
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
