"""What a process takes: wall time, CPU time and the peak of its memory."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.speed import launcher

from kernelprof.errors import MissingToolError

if TYPE_CHECKING:
    from collections.abc import Sequence

LAUNCHER: Final = (sys.executable, "-I", "-S", str(Path(launcher.__file__)))

# Without its bytecode a package that was not installed by pip would start slower than one that was.
_NOT_PASSED_ON: Final = ("PYTHONDONTWRITEBYTECODE",)


@dataclass(frozen=True, slots=True)
class Run:
    """One process, from its start to its end."""

    process_s: float
    cpu_s: float
    peak_bytes: int
    exit_code: int
    call_s: float | None = None
    """What the program itself says that the measured call took."""


@dataclass(frozen=True, slots=True)
class Printed:
    """What a process wrote to its two streams."""

    out: str
    errors: str


def run(command: Sequence[str], folder: Path) -> tuple[Run, Printed]:
    """Run a program to its end; what it prints is put into the folder on the way."""
    out, errors = folder / "stdout.txt", folder / "stderr.txt"
    ran = subprocess.run(
        [*LAUNCHER, str(out), str(errors), *command],
        capture_output=True,
        text=True,
        check=False,
        env={name: text for name, text in os.environ.items() if name not in _NOT_PASSED_ON},
    )
    if ran.returncode != 0:
        raise MissingToolError(f"it cannot be run: {ran.stderr.strip()}", where=command[0])
    seconds, cpu, peak, code = ran.stdout.split()
    printed = Printed(*(path.read_text("utf-8", errors="replace") for path in (out, errors)))
    return Run(float(seconds), float(cpu), int(peak), int(code)), printed
