"""Finds ``ncu`` where it is usually installed, and asks it for its version."""

from __future__ import annotations

import glob
import os
import re
import shutil

from kernelprof.collect.processes import ask
from kernelprof.errors import MissingToolError

VARIABLE = "KERNELPROF_NCU"
_PLACES = (
    "/usr/local/cuda/bin",
    "/usr/local/cuda-*/bin",
    "/opt/nvidia/nsight-compute/*",
    "/usr/local/NVIDIA-Nsight-Compute*",
)

HOW_TO_GET = (
    "install it: it is part of the CUDA toolkit (https://developer.nvidia.com/cuda-downloads) and "
    "stands alone at https://developer.nvidia.com/nsight-compute; "
    f"if it is installed elsewhere, name it in ${VARIABLE}"
)


def find_ncu() -> str:
    """The path of ``ncu``: $KERNELPROF_NCU, the search path, then where installers put it.

    Raises :class:`MissingToolError` where there is none.
    """
    named = os.environ.get(VARIABLE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise MissingToolError(
                f"${VARIABLE} does not name a program that can be run",
                where=named,
                hint="correct it, or unset it to use the ncu on the search path",
            )
        return found
    found = shutil.which("ncu") or _installed()
    if found is None:
        raise MissingToolError(
            "ncu (Nsight Compute) is not installed here",
            where=f"${VARIABLE}, the search path, {', '.join(_PLACES)}",
            hint=HOW_TO_GET,
        )
    return found


def ncu_version(ncu: str) -> str | None:
    """The version that ``ncu`` says it has, such as ``2025.3.1.0``."""
    done = ask(ncu, "--version")
    match = re.search(r"^Version (\S+)", done.stdout if done else "", re.MULTILINE)
    return match[1] if match else None


def _installed() -> str | None:
    """The newest of the usual places that has an ``ncu``."""
    for pattern in _PLACES:
        for folder in sorted(glob.glob(pattern), key=_newest, reverse=True):  # noqa: PTH207
            found = shutil.which("ncu", path=folder)
            if found is not None:
                return found
    return None


def _newest(folder: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", folder))
