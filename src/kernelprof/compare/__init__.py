"""Before and after one change: what happened to time, counters and verdict. Pure functions."""

from __future__ import annotations

from kernelprof.compare.compare import compare

__all__ = ["compare"]
