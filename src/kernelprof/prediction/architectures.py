"""The architectures that a kernel can be predicted for."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
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


def similar_arch(name: str) -> str | None:
    """Return the architecture that was meant: of a GPU (``h100``), a chip, or ``sm90``."""
    plain = re.sub(r"[^a-z0-9]|nvidia|geforce|tesla|jetson", "", name.lower())
    number = re.fullmatch(r"(?:sm|compute)?([0-9]{2,3})[af]?", plain)
    if number is not None and f"sm_{number[1]}" in PREDICTED_ARCHS:
        return f"sm_{number[1]}"
    for (major, minor), each in ARCHITECTURES.items():
        names = (plain, f"rtx{plain}")
        if any(fnmatchcase(one, pattern) for one in names for pattern in each.gpus):
            arch = f"sm_{major}{minor}"
            return arch if arch in PREDICTED_ARCHS else None
    return None
