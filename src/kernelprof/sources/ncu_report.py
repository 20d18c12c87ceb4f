"""Reports (.ncu-rep): through ``ncu --import``, else through NVIDIA's own package ncu-report."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.errors import MissingToolError
from kernelprof.installation import install_command
from kernelprof.model.launch_series import SERIES_COLUMN
from kernelprof.model.sampled import SampledCode, from_bytes
from kernelprof.sources import read_bytes
from kernelprof.sources.ncu.report_package import read_by_package
from kernelprof.sources.source import CONVERT, NoCaptureError, is_repz
from kernelprof.sources.source_page import read_instructions
from kernelprof.tools import NCU_VARIABLE, find_ncu

if TYPE_CHECKING:
    from collections.abc import Container

    from kernelprof.model.capture import Capture
    from kernelprof.sources.source import Input

_TIMEOUT_S: Final = 600.0
_CODE_TIMEOUT_S: Final = 60.0
LARGEST_PAGE: Final = 256 << 20
"""Bytes of a source page: 145 kernels of the corpus have 70 MB together."""
_NO_LINES: Final = "No lineinfo available"


def read(target: Input, _only: Container[str] | None) -> Capture:
    """Read the capture in a report. Runs ``ncu`` (or what $KERNELPROF_NCU names) if installed.

    With its instructions and their samples, where it has any.

    Raises InputError if the report cannot be opened or holds no launch, MissingToolError if neither
    ``ncu`` nor the package ncu-report is installed.
    """
    path = target.path
    if path is None or (target.packed and not is_repz(target)):
        return _read_unpacked(target)
    return _read_file(path, target.origin)


def _read_unpacked(target: Input) -> Capture:
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as folder:
        path = Path(folder) / "report.ncu-rep"
        with path.open("wb") as file:
            file.writelines(target.chunks())
        return _read_file(path, target.origin)


def _read_file(path: Path, origin: str) -> Capture:
    tool = _find_tool()
    has_package = find_spec("ncu_report") is not None
    if tool is not None:
        capture = _through_ncu(tool, path, origin)
        if has_package:  # which alone reads series
            capture = _with_series(capture, read_by_package(path, only_series=True).series)
        return replace(capture, code=_code_by_ncu(tool, path))
    if not has_package:
        raise MissingToolError(
            "reading a .ncu-rep report needs Nsight Compute or NVIDIA's report reader",
            where=origin,
            hint=(
                f"Install the reader with `{install_command('rep')}`, or convert the report "
                f"where ncu is installed: `{CONVERT}`."
            ),
        )
    report = read_by_package(path)
    if report.problem:
        raise NoCaptureError(report.problem)
    capture = _with_series(read_bytes(report.page, origin), report.series)
    return replace(capture, code=from_bytes(report.code))


def _with_series(capture: Capture, series: tuple[str | None, ...]) -> Capture:
    """Add the series of the first launches, if all launches of the report are in the capture."""
    ids = [each.id for each in capture.launches]
    if not any(series) or ids != [str(number) for number in range(len(ids))]:
        return capture
    cells = (*series, *(None for _ in ids))[: len(ids)]
    return replace(capture, text={**capture.text, SERIES_COLUMN: cells})


def _find_tool() -> str | None:
    """Find the ``ncu`` that profiling uses, too; ``None`` where there is none and none is named."""
    try:
        return find_ncu()
    except MissingToolError:
        if os.environ.get(NCU_VARIABLE):
            raise
        return None


def _through_ncu(tool: str, path: Path, origin: str) -> Capture:
    try:
        done = _export_page(tool, path, ["raw", "--print-units", "base"], _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingToolError(
            f"cannot run {tool}: {error}",
            where=origin,
            hint=f"Set ${NCU_VARIABLE} to the path of ncu, or put ncu in PATH.",
        ) from error
    if done.returncode != 0:
        printed = (done.stdout + done.stderr).decode("utf-8", "replace").strip().splitlines()
        what = f"{tool} could not open the report"
        raise NoCaptureError(f"{what}: {printed[0]}" if printed else what)
    return read_bytes(done.stdout, origin)


def _export_page(
    tool: str, path: Path, page: list[str], limit_s: float
) -> subprocess.CompletedProcess[bytes]:
    command = [tool, "--import", str(path.absolute()), "--csv", "--page", *page]
    # Not in the user's folder, whose settings of ncu (config.ncu-cfg) are untrusted.
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as empty:
        return subprocess.run(command, capture_output=True, check=False, timeout=limit_s, cwd=empty)


def _code_by_ncu(tool: str, path: Path) -> tuple[SampledCode, ...]:
    """Read the instructions of a report; empty where it has none, or it takes too long.

    A kernel without line information is on the page of instructions alone.
    """
    codes: tuple[SampledCode, ...] = ()
    try:
        for printed in ("cuda,sass", "sass"):
            done = _export_page(tool, path, ["source", "--print-source", printed], _CODE_TIMEOUT_S)
            if done.returncode != 0 or len(done.stdout) > LARGEST_PAGE:
                break
            text = done.stdout.decode("utf-8", "replace")
            functions = {each.function for each in codes}
            more = read_instructions(text.split("\n"))
            codes = (*codes, *(each for each in more if each.function not in functions))
            if _NO_LINES not in text:
                break
    except (OSError, subprocess.TimeoutExpired):
        pass  # the counters are worth having without them
    return codes
