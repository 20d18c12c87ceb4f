"""The stand-in for ``ncu``, and programs for it to profile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

STAND_IN = Path(__file__).parents[1] / "fake_ncu" / "ncu"
PROGRAM = """#!/bin/sh
echo 'fixture: start, 1,234 elements and a "quote"'
echo 'fixture: between kernels'
echo 'fixture: end, no error'
[ "$1" = late ] && exit 7
[ "$1" = crash ] && kill -ABRT $$
exit 0
"""

RunNcu = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder with a program for each capture that the stand-in can replay."""
    for name in ("fixture", "gemm_series", "validation"):
        program = tmp_path / name
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)
    return tmp_path


@pytest.fixture
def run_ncu(programs: Path) -> RunNcu:
    """Run a command line whose first word is ``ncu``, in the folder of the programs."""

    def run(command: list[str]) -> subprocess.CompletedProcess[str]:
        assert command[0] == "ncu"
        return subprocess.run(
            [sys.executable, str(STAND_IN), *command[1:]],
            cwd=programs,
            capture_output=True,
            text=True,
            check=False,
        )

    return run
