"""What is wrong with a kernel by the CUDA driver's errors, and by ``compute-sanitizer``.

PyCUDA raises the driver's errors as ``cuFunction failed: the driver's words``; the words are those
of ``cuGetErrorString`` (CUDA 13.0).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kernelprof.errors import ExitCode, MissingToolError
from kernelprof.launch import processes
from kernelprof.launch.build.nvcc import real_names
from kernelprof.launch.run.trial import LaunchError
from kernelprof.tools import HOW_TO_GET_NVCC, find_in_toolkit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.launch.processes import Interrupts


ILLEGAL_ACCESS = "the kernel accessed memory outside its arrays (illegal memory access)"
MISALIGNED = "the kernel accessed a misaligned address"
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
_FINDING_CODE = 86
"""The exit code by which the tool says that it found something."""
_LIMIT_S = 1800.0
_MOST_LINES = 16
_MARK = "========="
_SUMMARY = re.compile(r"^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+)", re.MULTILINE)
_NOT_OF_THE_KERNEL = re.compile(
    r"Host Frame|Saved host backtrace|COMPUTE-SANITIZER|Target application"
)


class _Meaning(NamedTuple):
    pattern: str
    what: str
    """With the driver's words for ``{}``."""
    hint: str
    exit_code: ExitCode = ExitCode.BAD_INPUT


_SANITIZE = (
    "find the access with --sanitize memcheck; common causes: the grid covers more than the arrays "
    "and a bounds check is missing, or a shape in the launch specification is too small"
)
_MEANINGS: Sequence[_Meaning] = (
    # An H200 gives the second for an access far outside (tests/gpu/launch/outside.cu).
    _Meaning(
        "illegal memory access|not supported on global/shared address space|invalid address space",
        ILLEGAL_ACCESS,
        _SANITIZE,
    ),
    _Meaning(
        "misaligned address",
        MISALIGNED,
        "a float4 needs a 16-byte aligned address: check the row length and the offset; "
        "--sanitize memcheck reports the line",
    ),
    _Meaning(
        "illegal instruction|invalid program counter|hardware stack error"
        "|unspecified launch failure",
        "the kernel failed at run time: {}",
        "find the line with --sanitize memcheck",
    ),
    _Meaning(
        "device-side assert",
        "an assert in the kernel failed",
        "see the assert's message below, if it printed one",
    ),
    _Meaning(
        "launch timed out",
        "the kernel exceeded the driver's run-time limit for GPUs with a display",
        "use smaller [sizes]",
    ),
    _Meaning(
        "too many resources requested",
        "a block of the kernel needs more registers or shared memory than an SM has",
        "make the block smaller, or limit the registers with __launch_bounds__",
    ),
    _Meaning(
        "cluster misconfiguration",
        "the GPU cannot launch this kernel with clusters of this size",
        "use smaller clusters (up to 8 blocks are portable) or smaller blocks: all blocks of a "
        "cluster must fit on one GPC at the same time",
    ),
    _Meaning(
        "out of memory",
        "the GPU does not have enough memory for the kernel's arrays",
        "use smaller [sizes], or stop other work on the GPU",
        ExitCode.ENVIRONMENT,
    ),
    _Meaning(
        "no CUDA-capable device|invalid device ordinal",
        "there is no GPU that CUDA can use",
        "'kernelprof doctor' lists what is missing; CUDA_VISIBLE_DEVICES may hide the GPU",
        ExitCode.ENVIRONMENT,
    ),
    _Meaning(
        "driver version is insufficient|unsupported display driver",
        "the GPU's driver does not support this CUDA version",
        "install the driver that the CUDA toolkit needs; 'kernelprof doctor' shows both versions",
        ExitCode.ENVIRONMENT,
    ),
    _Meaning(
        "system not yet initialized|unknown error",
        "the CUDA driver does not work: {}",
        "check the driver's log (dmesg) and, with NVSwitch, that nvidia-fabricmanager is running",
        ExitCode.ENVIRONMENT,
    ),
    _Meaning(
        "no kernel image is available|device kernel image is invalid",
        "the GPU cannot run the compiled kernel",
        "check that the driver is new enough for the CUDA toolkit: 'kernelprof doctor' shows both "
        "versions",
    ),
    _Meaning(
        "mapping of buffer object failed|uncorrectable ECC|GPU is lost|has fallen off",
        "the GPU itself failed",
        "check the driver's log (dmesg, nvidia-smi -q)",
        ExitCode.ENVIRONMENT,
    ),
)


def driver_error(error: Exception, where: str) -> LaunchError:
    """Return the error for an error of the driver."""
    words = str(error)
    for meaning in _MEANINGS:
        if match := re.search(meaning.pattern, words):
            what = meaning.what.format(match[0])
            return LaunchError(what, where=where, hint=meaning.hint, exit_code=meaning.exit_code)
    return LaunchError(
        f"the CUDA driver reported an error: {words}",
        where=where,
        hint="check block, grid, shared memory and arguments",
    )


def run_sanitizer(
    tool: str, command: Sequence[str], where: str, interrupts: Interrupts
) -> LaunchError | None:
    """Run the command under a tool; raise a finding, return a failure without one."""
    program = find_in_toolkit("compute-sanitizer")
    if program is None:
        raise MissingToolError(
            "compute-sanitizer is not installed here",
            hint=f"it is part of the CUDA toolkit: {HOW_TO_GET_NVCC}; or leave out --sanitize",
        )
    ended = processes.run(
        [program, "--tool", tool, "--error-exitcode", str(_FINDING_CODE), *command],
        interrupts,
        time_limit=_LIMIT_S,
    )
    text = real_names(ended.printed.decode("utf-8", "replace"))
    if ended.code == _FINDING_CODE or found_something(text):
        raise LaunchError(
            f"compute-sanitizer ({tool}) reported an error in the kernel:\n{tool_findings(text)}",
            where=where,
            hint="fix this error first: until then the kernel's results are undefined",
        )
    if ended.code == 0:
        return None
    return LaunchError(
        f"compute-sanitizer ({tool}) ended with exit code {ended.code}, but reported no error:\n"
        f"{tool_findings(text)}",
        where=where,
        hint="check that the tool works by itself on this machine, or leave out --sanitize",
        exit_code=ExitCode.ENVIRONMENT,
    )


def found_something(text: str) -> bool:
    """Whether the tool's summary counts errors or hazards."""
    return any(int(count) for count in _SUMMARY.findall(text))


def tool_findings(text: str) -> str:
    """Return the tool's lines about the kernel, without those of Python and the driver."""
    lines = [
        line.removeprefix(_MARK).rstrip() for line in text.splitlines() if line.startswith(_MARK)
    ]
    shown = [line for line in lines if line.strip() and not _NOT_OF_THE_KERNEL.search(line)]
    left_out = shown[_MOST_LINES:-1]
    if left_out:
        shown = [*shown[:_MOST_LINES], f" ... ({len(left_out)} more)", shown[-1]]
    return "\n".join(shown) or text.strip()
