"""The gate: whether a change may pass, by a policy, over a comparison. Pure functions."""

from __future__ import annotations

from kernelprof.compare.gate.judge import judge

__all__ = ["judge"]
