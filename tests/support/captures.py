"""Captures of ``tests/captures``, each read once: nobody changes one."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.model.sampled import from_bytes
from kernelprof.sources import read_capture
from kernelprof.sources.capture_directory import SOURCE_FILE, read_manifest

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture
    from kernelprof.model.sampled import SampledCode

ROOT: Final = Path(__file__).parents[2]
CAPTURES: Final = ROOT / "tests" / "captures"
RECORDED: Final = ROOT / "src" / "kernelprof" / "recorded"
"""Captures of the ladders, which are installed."""
PAIRS: Final = ROOT / "benchmarks" / "corpus" / "recorded" / "h200-pairs"
"""Captures of the corpus."""


@cache
def captured(name: str) -> Capture:
    """A capture by its path below that folder."""
    return read_capture(CAPTURES / name)


@cache
def sampled_code(path: Path) -> SampledCode:
    """The instructions of the one kernel of a file, with their samples."""
    (code,) = from_bytes(gzip.decompress(path.read_bytes()))
    return code


def source_of(directory: Path) -> bytes:
    """The source of a capture of ``h200_changes``, which is stored where its manifest names it."""
    source = read_manifest(directory).source
    assert source is not None
    data = (ROOT / source.path).read_bytes()
    assert hashlib.sha256(data).hexdigest() == source.sha256, f"{source.path} has changed since"
    return data


def copy_capture(directory: Path, target: Path) -> Path:
    """Copy such a capture with its source beside it, as ``kernelprof profile`` writes it."""
    shutil.copytree(directory, target)
    (target / SOURCE_FILE).write_bytes(source_of(directory))
    return target
