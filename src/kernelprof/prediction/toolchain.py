"""What compiles and disassembles a kernel without the CUDA toolkit: NVIDIA's wheels for Python.

``cuda-pathfinder`` finds them where ``pip`` put them, else in a toolkit that is installed.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kernelprof.errors import MissingToolError
from kernelprof.installation import install_command
from kernelprof.tools import ask

_OWN_HEADERS: Final = Path(__file__).parent / "include"
_HEADERS: Final = (
    ("nvidia-cuda-runtime", "cuda_fp16.h"),
    ("nvidia-cuda-crt", "crt/mma.h"),
    ("nvidia-cuda-cccl", "cccl/cuda/std/cstdint"),
)
"""The wheels that hold headers, with one file of each."""

_OLDEST: Final = (13, 1)
"""NVRTC 13.0 gives other code than ``nvcc`` for most kernels: shared memory is addressed with 64
bits, and with 32 since."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Where the tools are."""

    nvrtc: Any
    """The module ``cuda.bindings.nvrtc``, with its library loaded."""
    release: tuple[int, int]
    """Of NVRTC, such as (13, 1)."""
    nvdisasm: Path
    headers: tuple[Path, ...]
    """Of :func:`find_headers`."""

    @property
    def compiler_version(self) -> str:
        """The version of NVRTC, such as ``13.1.115``, or ``13.1`` where it is no wheel."""
        shown = ".".join(map(str, self.release))
        wheel = _wheel("nvidia-cuda-nvrtc")
        return wheel if wheel is not None and wheel.startswith(f"{shown}.") else shown

    @property
    def disassembler_version(self) -> str:
        """The version that ``nvdisasm`` reports, such as ``13.5.37``."""
        done = ask(str(self.nvdisasm), "--version")
        match = re.search(r"release \S+ V(\S+)", done.stdout if done else "")
        return match[1] if match else "unknown version"


def find_toolchain() -> Toolchain:
    """The tools that are installed here.

    Raises :class:`MissingToolError`, which says what is missing and how to get all of it.
    """
    nvrtc = _module("cuda.bindings.nvrtc")
    try:
        _, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError as error:
        raise _missing("NVRTC, NVIDIA's runtime compiler") from error
    if (major, minor) < _OLDEST:
        raise _missing(f"NVRTC {'.'.join(map(str, _OLDEST))} or newer", f"found {major}.{minor}")
    nvdisasm = _module("cuda.pathfinder").find_nvidia_binary_utility("nvdisasm")
    if nvdisasm is None:
        raise _missing("nvdisasm, NVIDIA's disassembler")
    return Toolchain(nvrtc, (major, minor), Path(nvdisasm), find_headers())


def is_installed() -> bool:
    """Whether what predicts kernels is there, as far as that is seen without loading it."""
    from importlib import util

    return all(util.find_spec(name) is not None for name in ("cuda", "elftools", "numpy"))


def find_headers() -> tuple[Path, ...]:
    """Folders of headers in the order in which they are looked in: ours, CUDA's, CCCL's.

    Raises :class:`MissingToolError` where one is missing.
    """
    folder = _module("cuda.pathfinder").find_nvidia_header_directory("cudart")
    for wheel, file in _HEADERS:
        if folder is None or not Path(folder, file).is_file():
            raise _missing(f"the CUDA header {file.removeprefix('cccl/')} ({wheel})")
    return _OWN_HEADERS, Path(folder), Path(folder, "cccl")


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing("cuda-bindings", str(error)) from error


def _missing(what: str, why: str | None = None) -> MissingToolError:
    return MissingToolError(
        f"prediction needs NVIDIA's Python packages, but {what} is not installed here",
        where=why,
        hint=install_command("predict"),
    )


def _wheel(name: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
