"""Tells the failures of ``ncu`` apart, by its exit code and its words, and says what to do.

``ncu`` ends with the program's own exit code, with 1 where it refuses to start, with 9 where it
failed at a kernel, and with 0 where it profiled nothing: the words decide. Those of 2025.3.1 are
recorded in ``tests/captures/ncu_behaviour/``; what could not be provoked there is matched by the
terms that NVIDIA's documentation gives.
"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import Final

from kernelprof.errors import ExitCode, InputError, KernelprofError, MissingToolError, UsageError
from kernelprof.model.names import first_few

PERMISSION: Final = (
    "use one of the ways that NVIDIA documents (https://developer.nvidia.com/ERR_NVGPUCTRPERM):\n"
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


class NoLaunchError(InputError):
    """No launch passed the filters."""


@dataclass(frozen=True, slots=True)
class NcuOutcome:
    """How a run of ``ncu`` ended; ``log_lines`` are its own, ``printed`` the program's last ones.

    ``filtered`` is whether options chose launches, ``cut`` whether we ended the program.
    """

    code: int
    log_lines: tuple[str, ...]
    printed: tuple[str, ...] = ()
    command: str = ""
    program: str = ""
    has_report: bool = False
    has_gpu: bool | None = None
    filtered: bool = False
    cut: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.log_lines)

    @property
    def program_code(self) -> int | None:
        """The program's exit code, where it was not 0 and ``ncu`` said so."""
        match = re.search(r"The application returned an error code \((-?\d+)\)", self.text)
        return int(match[1]) if match else None

    @property
    def where(self) -> str:
        """The lines with errors in one, without the marks; the program where there are none."""
        mark = "==ERROR=="
        lines = [
            each.removeprefix(mark).strip() for each in self.log_lines if each.startswith(mark)
        ]
        return " ".join(lines) or self.program

    def last_lines(self) -> str:
        """What the program printed last, to show below a message; empty where it was nothing."""
        lines = [f"\n  {line}" for line in self.printed if line.strip()][-_LAST_LINES:]
        return "\nthe program's last lines:" + "".join(lines) if lines else ""


_BY_WORDS: Final[tuple[tuple[str, type[KernelprofError], str, str], ...]] = (
    (
        "ERR_NVGPUCTRPERM|INSUFFICIENT_PRIVILEGES",
        MissingToolError,
        "this user has no permission to read the GPU's performance counters (ERR_NVGPUCTRPERM)",
        PERMISSION,
    ),
    (
        "(?i)LibraryNotLoaded|driver resource was unavailable|nsight-compute-lock|InterprocessLock"
        "|another (?:instance|tool|profiler)|already (?:attached|being profiled|profiled by)"
        "|profiler is already",
        ProfilerError,
        "another profiler or debugger is using the GPU's counters or is attached to the program",
        "end other ncu, nsys, CUPTI, compute-sanitizer and cuda-gdb runs, and pause DCGM (dcgmi "
        "profile --pause); put the program itself after --, not a profiler that starts it; "
        "remove /tmp/nsight-compute-lock if it belongs to another user",
    ),
    (
        "(?i)driver (?:version )?is (?:not compatible|insufficient|too old)",
        MissingToolError,
        "the GPU's driver and this version of Nsight Compute are incompatible",
        "stop other profilers and DCGM first: ncu prints the same error while they use the "
        "counters; if that does not help, install the driver named in the Nsight Compute release "
        "notes, or the Nsight Compute release for the CUDA version shown by nvidia-smi",
    ),
    (
        "(?i)profiling is not supported on|unsupported ?gpu",
        MissingToolError,
        "this version of Nsight Compute does not support this GPU",
        "'ncu --list-chips' lists the supported chips; for a newer GPU, install a newer ncu; "
        "the last version for Volta is 2025.2, for Pascal 2019.5",
    ),
    (
        r"Failed to find metric (\S+)",
        UsageError,
        "ncu has no metric {} on this GPU",
        (
            "'ncu --query-metrics' lists the metrics of this GPU; 'kernelprof presets' lists the "
            "presets"
        ),
    ),
    (
        "'(.*?)' does not exist or is not an executable",
        InputError,
        "there is no such program, or it cannot be executed: {}",
        "give the program's path (./app); start a script with its interpreter: -- python train.py",
    ),
    (
        "Unable to write to file|cannot be used as the output log",
        ProfilerError,
        "ncu could not write its report",
        "write to a folder that is writable by the user that runs ncu (under sudo: root)",
    ),
)
"""Words of ``ncu``, the error that they are, and what to do; a group's text stands for ``{}``."""

_REFUSED: Final = re.compile(
    r"unrecognised option|argument for option|the argument \(|did not match any section"
    r"|cannot be specified|cannot be used|requires --"
)
_NO_ROOM: Final = re.compile("(?i)no space left on device|disk quota exceeded|file too large")
_CRASHED: Final = (128 + signal.SIGSEGV, -signal.SIGSEGV)
_WITH_JAX: Final = (
    "if the program uses JAX, set XLA_FLAGS=--xla_gpu_force_compilation_parallelism=1, since ncu "
    "crashes while XLA compiles in several threads; else "
)
_FAULT: Final = re.compile(r"An error was reported by the driver:\s*(?:==ERROR==\s*)?(.*)")


def explain_failure(ended: NcuOutcome) -> KernelprofError | None:  # noqa: PLR0911
    """Return the error of this outcome, ``None`` where there is a usable report."""
    text, where, code = ended.text, ended.where, ended.program_code
    for pattern, kind, what, hint in _BY_WORDS:
        if match := re.search(pattern, text):
            return kind(what.format(*match.groups()), where=where, hint=hint)
    if not ended.has_report and _REFUSED.search(text) and "Connected to" not in text:
        return UsageError(
            "ncu rejects an option",
            where=where,
            hint=(
                "correct the option; if this version of ncu does not support it, install a "
                "newer ncu"
            ),
        )
    full = _NO_ROOM.search("\n".join((text, *ended.printed)))
    if full and not (ended.has_report and ended.code == 0):
        return StorageError(
            f"ncu could not write its report: {full[0]}",
            where=ended.program,
            hint="free some space, or write elsewhere (-o, --keep or $TMPDIR)",
        )
    if match := _FAULT.search(text):
        return ProgramError(
            f"a kernel failed while it was profiled: {match[1].strip() or 'driver error'}",
            where=ended.program,
            hint=(
                "run the program without a profiler, then under 'compute-sanitizer' to find the "
                "faulty access"
            )
            + ended.last_lines(),
        )
    if ended.has_report and (ended.code == 0 or code is not None or ended.cut):
        return None
    if code is not None:
        return _program_failed(ended, code)
    if "No kernels were profiled" in text and not ended.has_report:
        return _nothing(ended)
    wrote = "did not complete its report" if ended.has_report else "wrote no report"
    crashed = _WITH_JAX if ended.code in _CRASHED else ""
    return ProfilerError(
        f"ncu ended with exit code {ended.code} and {wrote}",
        where=where,
        hint=f"{crashed}run the command below by hand to see its full output; 'kernelprof doctor' "
        f"checks the machine{ended.last_lines()}\n{ended.command}",
    )


def _program_failed(ended: NcuOutcome, code: int) -> KernelprofError:
    if "Failed to profile" in ended.text:
        return ProfilerError(
            "ncu failed while it profiled a kernel",
            where=ended.where,
            hint="profile fewer metrics (--preset speed-of-light) or launches (--launch-count 1), "
            "and check whether the program exits cleanly without ncu" + ended.last_lines(),
        )
    return ProgramError(
        f"the program failed with exit code {code} before a kernel was profiled",
        where=ended.program,
        hint="run the program without kernelprof first; the exit code and messages are the "
        "program's own" + ended.last_lines(),
    )


def _nothing(ended: NcuOutcome) -> KernelprofError:
    listed = ended.text.partition("Available Kernels:")[2]
    kernels = re.findall(r"^\d+\. (.+)$", listed, re.MULTILINE)
    if kernels or "NVTX" in ended.text or ended.filtered:
        return NoLaunchError(
            "no launch matches the filters",
            where=ended.program,
            hint=f"change the filters; the program launches: {first_few(kernels, _MOST_KERNELS)}"
            if kernels
            else "try again without --kernel, --launch-skip and --nvtx-include; a push/pop range "
            'is written with a slash after its name: --nvtx-include "step/"',
        )
    if ended.has_gpu is False:
        return MissingToolError(
            "no kernel was profiled, and no GPU is visible on this machine",
            where=ended.program,
            hint="run the program on a machine with an NVIDIA GPU; 'kernelprof doctor' lists "
            "what is missing",
        )
    return InputError(
        "the program ended without launching a kernel, so none was profiled",
        where=ended.program,
        hint="check that the program uses the GPU (see its output and CUDA_VISIBLE_DEVICES); "
        "ncu cannot profile processes that were already running" + ended.last_lines(),
    )
