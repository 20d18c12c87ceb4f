"""From a comparison to the plain values that its page shows."""

from kernelprof.report.html.build.comparison.page import build_comparison

__all__ = ["build_comparison"]
