"""Captures of ``tests/captures``, each read once: nobody changes one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.sources import read_capture

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture

CAPTURES: Final = Path(__file__).parents[1] / "captures"


@cache
def captured(name: str) -> Capture:
    """A capture by its path below that folder."""
    return read_capture(CAPTURES / name)
