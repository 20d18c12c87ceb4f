"""Real surveys of the programs in ``tests/gpu/survey``, recorded on an H200."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kernelprof.collect.survey.reader import read_survey

if TYPE_CHECKING:
    from kernelprof.model.trace import Trace

SURVEYS = Path(__file__).parents[1] / "captures" / "surveys"


def unpacked(name: str, folder: Path) -> Path:
    """The files of a survey, as the processes left them."""
    for packed in sorted((SURVEYS / name).iterdir()):
        place = folder / packed.name.removesuffix(".xz")
        data = packed.read_bytes()
        place.write_bytes(lzma.decompress(data) if packed.suffix == ".xz" else data)
    return folder


@cache
def trace(name: str) -> Trace:
    """All that one survey recorded."""
    with TemporaryDirectory() as folder:
        return read_survey(unpacked(name, Path(folder)))
