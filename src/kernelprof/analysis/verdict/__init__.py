"""From a capture to a diagnosis: evaluate every rule, compare, group, and say what is missing."""

from __future__ import annotations

from kernelprof.analysis.verdict.diagnose import diagnose

__all__ = ["diagnose"]
