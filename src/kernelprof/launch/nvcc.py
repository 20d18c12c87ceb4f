"""Finds ``nvcc`` where it is usually installed, and asks it for its version."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from kernelprof.collect.processes import ask
from kernelprof.errors import MissingToolError

_PLACES = ("/usr/local/cuda/bin",)
_VARIABLES = ("CUDA_HOME", "CUDA_PATH")

HOW_TO_GET_NVCC = (
    "install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads), and put its folder "
    f"bin on the search path, or name the toolkit's folder in ${_VARIABLES[0]}"
)


def find_nvcc() -> str:
    """The path of ``nvcc``: the search path, $CUDA_HOME, $CUDA_PATH, then where installers put it.

    Raises :class:`MissingToolError` where there is none.
    """
    homes = [os.environ[name] for name in _VARIABLES if os.environ.get(name)]
    folders = [*(str(Path(home) / "bin") for home in homes), *_PLACES]
    found = shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(folders))
    if found is None:
        raise MissingToolError(
            "nvcc, the CUDA compiler, is not installed here",
            where=f"the search path, {', '.join(folders)}",
            hint=HOW_TO_GET_NVCC,
        )
    return found


def nvcc_version() -> str | None:
    """The version that ``nvcc`` says it has, such as ``13.0.88``; ``None`` where it says none."""
    try:
        done = ask(find_nvcc(), "--version")
    except MissingToolError:
        return None
    match = re.search(r"release \S+ V(\S+)", done.stdout if done else "")
    return match[1] if match else None
