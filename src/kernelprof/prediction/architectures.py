"""The architectures that a kernel can be predicted for."""

from __future__ import annotations

from typing import Final

from kernelprof.analysis.metrics.architectures import ARCHITECTURES

DEFAULT_ARCH: Final = "sm_90"
"""That of the newest GPU that the project has captures of, an H200."""

_OLDEST: Final = (7, 5)
"""CUDA 13 compiles for nothing older (release notes of CUDA 13.0, "Deprecated Architectures")."""

PREDICTED_ARCHS: Final = tuple(
    f"sm_{major}{minor}" for major, minor in sorted(ARCHITECTURES) if (major, minor) >= _OLDEST
)
"""As ``--arch`` takes them. For the set of features of one of them alone (``sm_90a``) a launch
specification decides."""
