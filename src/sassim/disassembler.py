"""Machine code as text, by NVIDIA's ``nvdisasm``."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sassim.errors import DisassemblerError

if TYPE_CHECKING:
    from collections.abc import Iterable

_CUBIN: Final = "kernel.cubin"
_OPTIONS: Final = ("-c", "-gi", "-ndf")
"""Code with labels; lines with what is inlined; without an analysis of the data flow, which takes a
third of the time, and adds where a BRX can go and which accesses are spills."""
_LIMIT_S: Final = 120
_MOST_LISTINGS: Final = 4
_LISTINGS: Final[dict[tuple[bytes, Path], str]] = {}


def disassemble(cubin: bytes, nvdisasm: Path, meanwhile: Iterable[object] = ()) -> str:
    """The code of a cubin with labels, and lines with what is inlined (``nvdisasm -c -gi -ndf``).

    The last listings are kept: ``nvdisasm`` takes half a second, in which ``meanwhile`` goes on.
    Raises :class:`DisassemblerError` where it cannot be run or does not know the architecture.
    """
    key = (cubin, nvdisasm)
    listing = _LISTINGS.get(key)
    if listing is None:
        listing = _LISTINGS[key] = _run(cubin, nvdisasm, meanwhile)
        for oldest in list(_LISTINGS)[:-_MOST_LISTINGS]:
            _LISTINGS.pop(oldest, None)
    return listing


def _run(cubin: bytes, nvdisasm: Path, meanwhile: Iterable[object]) -> str:
    with tempfile.TemporaryDirectory(prefix="sassim-") as folder:
        Path(folder, _CUBIN).write_bytes(cubin)
        listing, errors_file = Path(folder, "listing"), Path(folder, "errors")
        try:
            with listing.open("wb") as out, errors_file.open("wb") as errors:
                process = subprocess.Popen(
                    [str(nvdisasm), *_OPTIONS, _CUBIN],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=errors,
                )
        except OSError as error:
            raise _disassembler_error(nvdisasm, str(error)) from error
        try:
            with process:
                _wait(process, meanwhile)
        except subprocess.TimeoutExpired as error:
            raise _disassembler_error(nvdisasm, str(error)) from error
        if process.returncode != 0:
            raise _disassembler_error(nvdisasm, errors_file.read_text("utf-8", "replace").strip())
        return listing.read_text("utf-8", "replace")


def _wait(process: subprocess.Popen[bytes], meanwhile: Iterable[object]) -> None:
    """Wait for a program, which ends with this one."""
    try:
        for _ in meanwhile:
            if process.poll() is not None:
                break
        process.wait(timeout=_LIMIT_S)
    except BaseException:
        process.kill()
        raise


def _disassembler_error(nvdisasm: Path, why: str) -> DisassemblerError:
    return DisassemblerError(
        f"nvdisasm cannot disassemble the compiled kernel: {why}",
        where=str(nvdisasm),
        hint="install a newer nvdisasm: pip install --upgrade nvidia-cuda-nvdisasm",
    )
