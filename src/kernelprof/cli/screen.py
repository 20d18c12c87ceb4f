"""What the terminal, the pipe or the file that is written to can show."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from kernelprof.report.writers import Screen


def width() -> int:
    """``COLUMNS`` if set, else the terminal's width, else 80 (a pipe, a file)."""
    return shutil.get_terminal_size((80, 24)).columns


def of(file: Path | None, *, no_color: bool) -> Screen:
    """The file, or stdout; colour on a terminal only, and not where somebody said no."""
    from kernelprof.report.writers import Screen

    if file is not None:
        return Screen(width(), color=False, encoding="utf-8")
    refused = no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Screen(width(), not refused and sys.stdout.isatty(), sys.stdout.encoding or "utf-8")
