"""What the terminal, the pipe or the file that is written to can show."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a text goes to."""

    width: int
    color: bool
    encoding: str


def width() -> int:
    """``COLUMNS`` if set, else the terminal's width, else 80 (a pipe, a file)."""
    return shutil.get_terminal_size((80, 24)).columns


def of(file: Path | None, *, no_color: bool) -> Destination:
    """The file, or stdout; colour on a terminal only, and not where somebody said no."""
    if file is not None:
        return Destination(width(), color=False, encoding="utf-8")
    refused = no_color or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Destination(width(), not refused and sys.stdout.isatty(), sys.stdout.encoding or "utf-8")
