"""Readers: exports of Nsight Compute become a :class:`kernelprof.model.capture.Capture`."""

from __future__ import annotations

from kernelprof.sources.reader import read_bytes, read_capture

__all__ = ["read_bytes", "read_capture"]
