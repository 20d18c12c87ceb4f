"""Machine code as text, by NVIDIA's ``nvdisasm``."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.errors import MissingToolError
from kernelprof.predict.toolchain import HOW_TO_GET

if TYPE_CHECKING:
    from kernelprof.predict.toolchain import Toolchain

_CUBIN: Final = "kernel.cubin"
_OPTIONS: Final = ("-c", "-gi", "-ndf")
"""Code with labels; lines with what is inlined; without an analysis of the data flow, which takes a
third of the time, and adds where a BRX can go and which accesses are spills."""
_LIMIT_S: Final = 120


def disassemble(cubin: bytes, toolchain: Toolchain) -> str:
    """The code of a cubin with labels, and lines with what is inlined (``nvdisasm -c -gi -ndf``).

    Raises :class:`MissingToolError` where ``nvdisasm`` cannot be run or does not know the
    architecture.
    """
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as folder:
        Path(folder, _CUBIN).write_bytes(cubin)
        try:
            done = subprocess.run(
                [str(toolchain.nvdisasm), *_OPTIONS, _CUBIN],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_LIMIT_S,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _failed(toolchain, str(error)) from error
    if done.returncode != 0:
        raise _failed(toolchain, done.stderr.decode("utf-8", "replace").strip())
    return done.stdout.decode("utf-8", "replace")


def _failed(toolchain: Toolchain, why: str) -> MissingToolError:
    return MissingToolError(
        f"nvdisasm cannot take the compiled kernel apart: {why}",
        where=str(toolchain.nvdisasm),
        hint=f"install a newer one: {HOW_TO_GET} --upgrade",
    )
