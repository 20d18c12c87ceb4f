"""Tells the failures of ``ncu`` apart, by its exit code and its words, and says what to do.

``ncu`` ends with the program's own exit code, with 1 where it refuses to start, with 9 where it
gave up at a kernel, and with 0 where it profiled nothing: the words decide. Those of 2025.3.1 are
recorded in ``tests/captures/ncu_behaviour/``; what could not be provoked there is matched by the
terms that NVIDIA's documentation gives.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.errors import ExitCode, InputError, KernelprofError, MissingToolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

PERMISSION: Final = (
    "ways that NVIDIA documents (https://developer.nvidia.com/ERR_NVGPUCTRPERM):\n"
    "  run kernelprof as root, or with the capability CAP_SYS_ADMIN\n"
    "  in a container: start it with --cap-add=SYS_ADMIN\n"
    "  for all users: put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into a file in "
    "/etc/modprobe.d/, rebuild the initial ramdisk where the distribution needs it, and reboot"
)

_LAST_LINES = 8
_MOST_KERNELS = 10


class StorageError(KernelprofError):
    """A capture cannot be stored: the environment lacks the room."""

    exit_code = ExitCode.ENVIRONMENT


class ProfilerError(KernelprofError):
    """``ncu`` failed for a reason of its own or of the machine."""

    exit_code = ExitCode.ENVIRONMENT


class ProgramError(InputError):
    """The program that was to be profiled failed by itself."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run of ``ncu`` ended.

    ``said`` are its own lines, ``printed`` the last ones of the program; ``command`` is the whole
    command, ``program`` the part of it that was profiled. ``has_report`` tells
    whether it wrote a report, ``has_gpu`` whether the machine shows one (``None``: not known), and
    ``filtered`` whether launches were chosen by options.
    """

    code: int
    said: tuple[str, ...]
    printed: tuple[str, ...] = ()
    command: str = ""
    program: str = ""
    has_report: bool = False
    has_gpu: bool | None = None
    filtered: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.said)

    @property
    def program_code(self) -> int | None:
        """The program's exit code, where it was not 0 and ``ncu`` said so."""
        match = re.search(r"The application returned an error code \((-?\d+)\)", self.text)
        return int(match[1]) if match else None

    def errors(self) -> str:
        """The lines with errors in one, without the marks."""
        lines = [
            line.removeprefix("==ERROR==").strip()
            for line in self.said
            if line.startswith("==ERROR==")
        ]
        return " ".join(lines)

    def last_lines(self) -> str:
        """What the program printed last, to show below a message; empty where it was nothing."""
        lines = [line for line in self.printed if line.strip()][-_LAST_LINES:]
        if not lines:
            return ""
        return "\nthe program's last lines:\n" + "\n".join(f"  {line}" for line in lines)


def failure(ended: Ended) -> KernelprofError | None:
    """The error that this end is, ``None`` where there is a report that can be used.

    A program that failed after its kernels were profiled leaves a whole report: that is no error
    here, and :attr:`Ended.program_code` tells it.
    """
    for cause in _CAUSES:
        error = cause(ended)
        if error is not None:
            return error
    return None


def _permission(ended: Ended) -> KernelprofError | None:
    if "ERR_NVGPUCTRPERM" not in ended.text and "INSUFFICIENT_PRIVILEGES" not in ended.text:
        return None
    return MissingToolError(
        "this user may not read the GPU's performance counters (ERR_NVGPUCTRPERM)",
        where=ended.program,
        hint=PERMISSION,
    )


def _unsupported(ended: Ended) -> KernelprofError | None:
    if re.search(r"(?i)driver (version )?is (not compatible|insufficient|too old)", ended.text):
        return MissingToolError(
            "the GPU's driver and this version of Nsight Compute do not fit together",
            where=ended.errors(),
            hint="install the driver that its release notes name or a newer one, or the Nsight "
            "Compute of the CUDA version that nvidia-smi shows; where another profiler or DCGM "
            "uses the counters, ncu says the same: stop that first",
        )
    if re.search(r"(?i)profiling is not supported on|unsupported ?gpu", ended.text):
        return MissingToolError(
            "this version of Nsight Compute does not support this GPU",
            where=ended.errors() or ended.program,
            hint="'ncu --list-chips' lists what it supports: Volta and newer need a version that "
            "knows the chip, and GPUs before Volta are supported by no current version",
        )
    return None


_BUSY: Final = re.compile(
    r"(?i)LibraryNotLoaded|driver resource was unavailable|nsight-compute-lock|InterprocessLock"
    r"|another (instance|tool|profiler)|already (attached|being profiled|profiled by)"
    r"|profiler is already"
)


def _busy(ended: Ended) -> KernelprofError | None:
    if not _BUSY.search(ended.text):
        return None
    return ProfilerError(
        "another profiler or debugger holds the GPU's counters or the program",
        where=ended.errors() or ended.program,
        hint="end other ncu, nsys, CUPTI, compute-sanitizer and cuda-gdb runs, and pause DCGM's "
        "(dcgmi profile --pause); start the program itself after --, not a profiler that starts "
        "it; a lock file of another user, /tmp/nsight-compute-lock, may have to be removed",
    )


def _unknown_metric(ended: Ended) -> KernelprofError | None:
    match = re.search(r"Failed to find metric (\S+)", ended.text)
    if match is None:
        return None
    return UsageError(
        f"ncu has no metric {match[1]} on this GPU",
        where=ended.program,
        hint="'ncu --query-metrics' lists what there is; 'kernelprof presets' lists ready sets",
    )


def _no_program(ended: Ended) -> KernelprofError | None:
    match = re.search(r"'(.*?)' does not exist or is not an executable", ended.text)
    if match is None:
        return None
    return InputError(
        "there is no such program, or it cannot be executed",
        where=match[1],
        hint="name it with its folder (./app); a script needs its interpreter: -- python train.py",
    )


_REFUSED: Final = re.compile(
    r"unrecognised option|argument for option|the argument \(|did not match any section"
    r"|cannot be specified|cannot be used|requires --"
)


def _refused(ended: Ended) -> KernelprofError | None:
    if ended.has_report or not _REFUSED.search(ended.text) or "Connected to" in ended.text:
        return None
    return UsageError(
        "ncu does not take an option that it was given",
        where=ended.errors() or ended.program,
        hint="correct the option; one that this version of ncu does not know needs a newer one",
    )


def _no_room(ended: Ended) -> KernelprofError | None:
    text = "\n".join((ended.text, *ended.printed))
    match = re.search(r"(?i)no space left on device|disk quota exceeded|file too large", text)
    if match is None or (ended.has_report and ended.code == 0):
        return None
    return StorageError(
        f"ncu could not write its report: {match[0]}",
        where=ended.program,
        hint="free some space, or write to another place with -o",
    )


def _not_writable(ended: Ended) -> KernelprofError | None:
    if not re.search(r"Unable to write to file|cannot be used as the output log", ended.text):
        return None
    return ProfilerError(
        "ncu could not write its report",
        where=ended.errors(),
        hint="write to a folder that you may write to; ncu started with sudo writes as root",
    )


def _kernel_failed(ended: Ended) -> KernelprofError | None:
    match = re.search(r"An error was reported by the driver:\s*(?:==ERROR==\s*)?(.*)", ended.text)
    if match is None:
        return None
    return ProgramError(
        f"a kernel failed while it was profiled: {match[1].strip() or 'error of the driver'}",
        where=ended.program,
        hint="run the program alone, and under 'compute-sanitizer' to find the access at fault"
        + ended.last_lines(),
    )


def _program_failed(ended: Ended) -> KernelprofError | None:
    code = ended.program_code
    if code is None or ended.has_report:
        return None
    if "Failed to profile" in ended.text:
        return ProfilerError(
            "ncu gave up at a kernel",
            where=ended.errors(),
            hint="run it with fewer metrics (--preset speed-of-light) or launches (--launch-count "
            "1), and see whether the program ends well without ncu" + ended.last_lines(),
        )
    return ProgramError(
        f"the program failed with exit code {code} before a kernel was profiled",
        where=ended.program,
        hint="run it without kernelprof first; its exit code and its messages are its own"
        + ended.last_lines(),
    )


def _nothing(ended: Ended) -> KernelprofError | None:
    if "No kernels were profiled" not in ended.text or ended.has_report:
        return None
    kernels = re.findall(
        r"^\d+\. (.+)$", ended.text.partition("Available Kernels:")[2], re.MULTILINE
    )
    if kernels:
        more = len(kernels) - _MOST_KERNELS
        listing = ", ".join(kernels[:_MOST_KERNELS]) + (f" and {more} more" if more > 0 else "")
        return InputError(
            "no launch passed the filters, so that no kernel was profiled",
            where=ended.program,
            hint=f"the program launches: {listing}",
        )
    if "NVTX" in ended.text or ended.filtered:
        return InputError(
            "no launch passed the filters, so that no kernel was profiled",
            where=ended.program,
            hint="try it without --kernel, --launch-skip and --nvtx-include; a push/pop range is "
            'written with a slash after its name: --nvtx-include "step/"',
        )
    if ended.has_gpu is False:
        return MissingToolError(
            "no kernel was profiled, and this machine shows no GPU",
            where=ended.program,
            hint="run it on a machine with an NVIDIA GPU; 'kernelprof doctor' says what is missing",
        )
    return InputError(
        "the program ended without launching a kernel, so that none was profiled",
        where=ended.program,
        hint="see whether the program uses the GPU at all (its own output, CUDA_VISIBLE_DEVICES); "
        "one that hands its work to a process that was already running is not seen by ncu"
        + ended.last_lines(),
    )


def _other(ended: Ended) -> KernelprofError | None:
    if ended.has_report and (ended.code == 0 or ended.program_code is not None):
        return None
    wrote = "did not complete its report" if ended.has_report else "wrote no report"
    return ProfilerError(
        f"ncu ended with exit code {ended.code} and {wrote}",
        where=ended.errors() or ended.program,
        hint="run the command below by hand to see all that it says; 'kernelprof doctor' checks "
        f"the machine{ended.last_lines()}\n{ended.command}",
    )


_CAUSES: Final[tuple[Callable[[Ended], KernelprofError | None], ...]] = (
    _permission, _busy, _unsupported, _unknown_metric, _no_program, _refused, _no_room,
    _not_writable, _kernel_failed, _program_failed, _nothing, _other,
)  # fmt: skip
