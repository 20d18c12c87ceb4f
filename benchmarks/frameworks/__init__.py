"""Pairs of operations of PyTorch and Triton, and what launches them.

A folder with a ``pair.toml`` and a ``pair.py`` is a pair; docs/corpus.md says what is in them. Only
:mod:`benchmarks.frameworks.__main__`, ``product`` and the pairs need PyTorch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

PACKAGE: Final = __name__
FOLDER: Final = Path(__file__).resolve().parent
SCRIPT: Final = "pair.py"
"""Has a function for each side, and ``inputs``, ``expected`` and ``TOLERANCE``."""

SIDES: Final = ("before", "after", "after_second")

RANGE: Final = "measured"
"""The NVTX range around the one call that is profiled."""
