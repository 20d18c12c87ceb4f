"""Captures in a folder: capture directories, and files by their names."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof import files
from kernelprof.errors import InputError
from kernelprof.sources.capture_directory import is_capture

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPTH: Final = 4
"""Folders below the one that is named: enough for KERNEL/BRANCH/DATE/RUN, and an end for a home."""

_SUFFIXES: Final = (
    ".csv", ".tsv", ".txt", ".log", ".out", ".md", ".rst", ".ipynb", ".ncu-rep", ".ncu-repz",
    ".nsight-cuprof-report",
)  # fmt: skip
"""Endings of exports, of text that may hold a text page, and of reports; also with ``.gz``."""


def may_be_capture(name: str) -> bool:
    """Return whether a file of this name may be a capture; one without an ending may be a log."""
    folded = name.lower().removesuffix(".gz")
    return folded.endswith(_SUFFIXES) or "." not in folded


def is_folder(target: str) -> bool:
    """Return whether a target is a folder that is not a capture itself."""
    path = Path(target)
    return files.is_folder(path) and not is_capture(path)


def list_entries(folder: Path) -> Iterator[Path]:
    """Yield the capture directories and files of a folder, at most :data:`DEPTH` folders deep.

    Hidden entries and links are left out: a link could lead out of the folder or back into it.
    Raises :class:`InputError` if the folder cannot be read; one in it that cannot be is given, too,
    so that whoever reads it reports why.
    """
    unreadable: list[Path] = []

    def note(error: OSError) -> None:
        if Path(error.filename) == folder:
            raise InputError(
                f"the folder cannot be read: {error.strerror}",
                where=str(folder),
                hint="name a folder that you may read",
            ) from error
        unreadable.append(Path(error.filename))

    for root, folders, names in os.walk(folder, onerror=note):
        here = Path(root)
        if is_capture(here):
            folders.clear()
            yield here
            continue
        deeper = len(here.relative_to(folder).parts) < DEPTH
        folders[:] = sorted(each for each in folders if deeper and not each.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and is_plain_itself(here / name):
                yield here / name
    yield from unreadable


def is_plain_itself(file: Path) -> bool:
    """Whether this is a plain file, and not a link to one."""
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except OSError:
        return False
