"""Which captures and baselines a folder holds."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kernelprof.sources.capture_directory import MANIFEST

DEPTH: Final = 4
"""Folders below the one that is named: enough for KERNEL/BRANCH/DATE/RUN, and an end for a home."""

_OURS: Final = b'"kernelprof"'
_BASELINE: Final = b'"kernelprof-baseline"'
_RAW: Final = "raw.csv.gz"
_UNDATED: Final = (".csv", ".csv.gz", ".ncu-rep")
_LARGEST: Final = 64 * 2**20
"""Bytes of JSON that are looked into; a baseline of a thousand kernels has ten million."""


@dataclass(slots=True)
class Found:
    """What a folder holds. ``undated`` could be diagnosed, and nobody knows of when it is."""

    captures: list[Path] = field(default_factory=list)
    baselines: list[Path] = field(default_factory=list)
    undated: list[Path] = field(default_factory=list)
    unread: list[tuple[Path, str]] = field(default_factory=list)


def find(folder: Path) -> Found:
    """Look through a folder, at most :data:`DEPTH` deep; hidden entries and links are left out.

    A link could lead out of the folder or back into it; a capture that is being written has a
    hidden name.
    """
    found = Found()
    _look(folder, DEPTH, found)
    return found


def _look(folder: Path, deeper: int, found: Found) -> None:
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        found.unread.append((folder, error.strerror or str(error)))
        return
    files = {each.name: each for each in listed if each.is_file(follow_symlinks=False)}
    if MANIFEST in files and (_RAW in files or _holds(Path(files[MANIFEST].path), _OURS)):
        found.captures.append(folder)
        return
    for entry in listed:
        if entry.name.startswith("."):
            continue
        if entry.name in files:
            _sort(Path(entry.path), found)
        elif deeper and entry.is_dir(follow_symlinks=False):
            _look(Path(entry.path), deeper - 1, found)


def _sort(file: Path, found: Found) -> None:
    name = file.name.lower()
    if name.endswith(_UNDATED):
        found.undated.append(file)
    elif name.endswith(".json"):
        if _holds(file, _BASELINE):
            found.baselines.append(file)
        elif _holds(file, _OURS):
            found.undated.append(file)


def _holds(file: Path, word: bytes) -> bool:
    """Whether a file names us: other programs write ``manifest.json`` and ``.json`` as well."""
    try:
        return file.stat().st_size <= _LARGEST and word in file.read_bytes()
    except OSError:
        return False
