"""From a capture and its diagnosis to the plain values that a report shows."""

from kernelprof.report.html.build.page import build_page

__all__ = ["build_page"]
