"""Programs of others that kernelprof runs: where they are installed, and which version they are."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from kernelprof.errors import MissingToolError

NCU_VARIABLE: Final = "KERNELPROF_NCU"
_NCU_PLACES = (
    "/usr/local/cuda/bin",
    "/usr/local/cuda-*/bin",
    "/opt/nvidia/nsight-compute/*",
    "/usr/local/NVIDIA-Nsight-Compute*",
)
HOW_TO_GET_NCU: Final = (
    "install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads), which includes ncu, "
    "or only Nsight Compute (https://developer.nvidia.com/nsight-compute); "
    f"if ncu is installed but was not found, set ${NCU_VARIABLE} to its path"
)

_NVCC_PLACES = ("/usr/local/cuda/bin",)
_NVCC_VARIABLES = ("CUDA_HOME", "CUDA_PATH")
HOW_TO_GET_NVCC: Final = (
    "install the CUDA toolkit (https://developer.nvidia.com/cuda-downloads), and add its bin "
    f"folder to the search path, or set ${_NVCC_VARIABLES[0]} to the toolkit's folder"
)

BROWSER_VARIABLE: Final = "KERNELPROF_CHROMIUM"
_BROWSERS: Final = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
_ANSWER_LIMIT_S = 60

_GIT_SETTINGS: Final = (
    "core.fsmonitor=false", "core.hooksPath=/dev/null", "log.showSignature=false",
    "core.alternateRefsCommand=", "protocol.allow=never",
)  # fmt: skip
_GIT_FILTERS: Final = r"^(filter|diff)\..*\.(clean|smudge|process|command|textconv)$"
"""Programs that attributes of files choose."""

_refused: str | None = None
"""What to do where this process starts neither ``ncu`` nor ``nvcc`` nor a user's program."""


def refuse_programs(hint: str) -> None:
    """From here on this process builds, profiles and imports nothing by programs of others."""
    global _refused  # noqa: PLW0603 (a process is allowed to or not)
    _refused = hint


def check_allowed(program: str) -> None:
    """Raise :class:`MissingToolError` where no programs are to be started."""
    if _refused is not None:
        raise MissingToolError(f"{program} is not allowed to run here", hint=_refused)


def search_path() -> str:
    """The search path without relative and empty entries: those are whatever folder we are in.

    A checkout may hold a file called ``nvcc`` or ``git``.
    """
    given = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(each for each in given if Path(each).is_absolute())


def which(program: str) -> str | None:
    """The path of a program that is on the search path, else ``None``."""
    return shutil.which(program, path=search_path())


def git_command(folder: Path) -> list[str] | None:
    """The words that begin a ``git`` command in a folder; ``None`` where git is not installed.

    Programs that the repository's own configuration names, which may be a stranger's, are not run.
    """
    git = which("git")
    if git is None:
        return None
    off = (f"{name}=" for name in _git_filters(git, str(folder.resolve())))
    settings = [word for each in (*_GIT_SETTINGS, *off) for word in ("-c", each)]
    return [git, "-C", str(folder), "--no-pager", *settings]


@cache
def _git_filters(git: str, folder: str) -> tuple[str, ...]:
    """The settings of a repository that name programs by attributes of files."""
    done = ask(git, "-C", folder, "config", "--name-only", "--get-regexp", _GIT_FILTERS)
    return tuple(filter(None, done.stdout.split("\n"))) if done else ()


def ask(*command: str) -> subprocess.CompletedProcess[str] | None:
    """Ask a program a short question, such as its version; ``None`` where it cannot be run."""
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_ANSWER_LIMIT_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def find_ncu() -> str:
    """The path of ``ncu``: $KERNELPROF_NCU, the search path, then where installers put it.

    Raises :class:`MissingToolError` where there is none.
    """
    check_allowed("ncu")
    configured = os.environ.get(NCU_VARIABLE)
    path = which(configured) if configured else which("ncu") or _installed_ncu()
    if path is None and configured:
        raise MissingToolError(
            f"${NCU_VARIABLE} does not name a program that can be run",
            where=configured,
            hint="correct it, or unset it to use the ncu on the search path",
        )
    if path is None:
        raise MissingToolError(
            "ncu (Nsight Compute) is not installed here",
            where=f"${NCU_VARIABLE}, the search path, {', '.join(_NCU_PLACES)}",
            hint=HOW_TO_GET_NCU,
        )
    return path


def ncu_version(ncu: str) -> str | None:
    """The version that ``ncu`` reports, such as ``2025.3.1.0``."""
    done = ask(ncu, "--version")
    match = re.search(r"^Version (\S+)", done.stdout if done else "", re.MULTILINE)
    return match[1] if match else None


def find_browser() -> str:
    """The path of Chromium, or of a browser made of it: $KERNELPROF_CHROMIUM, then the search path.

    Raises :class:`MissingToolError` where there is none.
    """
    configured = os.environ.get(BROWSER_VARIABLE)
    path = which(configured) if configured else next(filter(None, map(which, _BROWSERS)), None)
    if path is None:
        raise MissingToolError(
            "PNG output needs Chromium; none found",
            where=f"${BROWSER_VARIABLE}, the search path",
            hint="install Chromium, or write HTML instead and open it in any browser",
        )
    return path


def find_nvcc() -> str:
    """The path of ``nvcc``: the search path, $CUDA_HOME, $CUDA_PATH, then where installers put it.

    Raises :class:`MissingToolError` where there is none.
    """
    check_allowed("nvcc")
    homes = [Path(os.environ.get(name, "")) for name in _NVCC_VARIABLES]
    folders = [*(str(home / "bin") for home in homes if home.is_absolute()), *_NVCC_PLACES]
    path = which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(folders))
    if path is None:
        raise MissingToolError(
            "nvcc, the CUDA compiler, is not installed here",
            where=f"the search path, {', '.join(folders)}",
            hint=HOW_TO_GET_NVCC,
        )
    return path


def nvcc_version() -> str | None:
    """The version that ``nvcc`` reports, such as ``13.0.88``; ``None`` where it reports none."""
    try:
        done = ask(find_nvcc(), "--version")
    except MissingToolError:
        return None
    match = re.search(r"release \S+ V(\S+)", done.stdout if done else "")
    return match[1] if match else None


def find_in_toolkit(program: str) -> str | None:
    """A program of the CUDA toolkit: on the search path, else beside ``nvcc``."""
    path = which(program)
    if path is not None:
        return path
    try:
        return shutil.which(program, path=str(Path(find_nvcc()).resolve().parent))
    except MissingToolError:
        return None


def _installed_ncu() -> str | None:
    def version(folder: str) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", folder)]

    for pattern in _NCU_PLACES:
        for folder in sorted(glob.glob(pattern), key=version, reverse=True):  # noqa: PTH207
            path = shutil.which("ncu", path=folder)
            if path is not None:
                return path
    return None
