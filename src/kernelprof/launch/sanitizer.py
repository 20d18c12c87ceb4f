"""Runs a kernel at its check sizes under a tool of ``compute-sanitizer``."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.errors import ExitCode, MissingToolError
from kernelprof.launch import processes
from kernelprof.launch.trial import LaunchError
from kernelprof.tools import HOW_TO_GET_NVCC, find_nvcc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.launch.processes import Interrupts

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")

_FOUND = 86
"""The exit code by which the tool says that it found something."""

_LIMIT_S = 1800.0
_MOST_LINES = 16
_MARK = "========="
_SUMMARY = re.compile(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+)", re.MULTILINE)
_NOT_OF_THE_KERNEL = re.compile(
    r"Host Frame|Saved host backtrace|COMPUTE-SANITIZER|Target application"
)


def sanitize(
    tool: str, command: Sequence[str], where: str, interrupts: Interrupts
) -> LaunchError | None:
    """Run the command under a tool; a finding is raised with what the tool wrote of it.

    What ended badly without a finding is returned: the program's own failure, which it tells better
    by itself, or one of the tool.
    """
    found = _find()
    ended = processes.run(
        [found, "--tool", tool, "--error-exitcode", str(_FOUND), *command],
        interrupts,
        time_limit=_LIMIT_S,
    )
    text = ended.printed.decode("utf-8", "replace")
    if ended.code == _FOUND or found_something(text):
        raise LaunchError(
            f"compute-sanitizer ({tool}) found a mistake in the kernel:\n{findings(text)}",
            where=where,
            hint="correct it first: what a kernel computes after such a mistake means nothing",
        )
    if ended.code == 0:
        return None
    return LaunchError(
        f"compute-sanitizer ({tool}) ended with exit code {ended.code} and found nothing:\n"
        f"{findings(text)}",
        where=where,
        hint="see whether it works by itself on this machine, or go without --sanitize",
        exit_code=ExitCode.ENVIRONMENT,
    )


def found_something(text: str) -> bool:
    """Whether the tool's last line counts errors or hazards."""
    return any(int(count) for count in _SUMMARY.findall(text))


def findings(text: str) -> str:
    """What the tool says of the kernel, without the Python and the driver that launched it."""
    lines = [
        line.removeprefix(_MARK).rstrip() for line in text.splitlines() if line.startswith(_MARK)
    ]
    shown = [line for line in lines if line.strip() and not _NOT_OF_THE_KERNEL.search(line)]
    left_out = shown[_MOST_LINES:-1]
    if left_out:
        shown = [*shown[:_MOST_LINES], f" ... ({len(left_out)} more)", shown[-1]]
    return "\n".join(shown) or text.strip()


def _find() -> str:
    found = shutil.which("compute-sanitizer") or shutil.which(
        "compute-sanitizer", path=_toolkit_folder()
    )
    if found is None:
        raise MissingToolError(
            "compute-sanitizer is not installed here",
            hint=f"it is part of the CUDA toolkit: {HOW_TO_GET_NVCC}; or go without --sanitize",
        )
    return found


def _toolkit_folder() -> str:
    try:
        folder = Path(find_nvcc()).resolve().parent
    except MissingToolError:
        return os.defpath
    return str(folder)
