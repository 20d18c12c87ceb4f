"""What the commands of this folder share: errors in a sentence, and files of results."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kernelprof.errors import InputError, KernelprofError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def run(program: str, work: Callable[[], int]) -> int:
    """Do the work of a command; an error is printed in a sentence and gives its exit code."""
    try:
        return work()
    except KernelprofError as error:
        where = f"{error.where}: " if error.where else ""
        hint = f"\n{error.hint}" if error.hint else ""
        sys.stderr.write(f"{program}: {where}{error.what}{hint}\n")
        return int(error.exit_code)


def check_place(path: Path | None) -> None:
    """Refuse a file in a folder that is not there, before anything is worked out for it."""
    if path is not None and not path.parent.is_dir():
        raise InputError("there is no such folder to write to", where=str(path.parent))


def write(text: str, path: Path | None) -> None:
    """Write into a file, to standard output for none."""
    if path is None:
        sys.stdout.write(text)
    else:
        path.write_text(text, encoding="utf-8")
