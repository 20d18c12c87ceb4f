"""Each failure of ``ncu`` is told from the others, and answered with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelprof.collect.failures import (
    NcuOutcome,
    NoLaunchError,
    ProfilerError,
    ProgramError,
    StorageError,
    explain_failure,
)
from kernelprof.errors import ExitCode, InputError, MissingToolError, UsageError

BEHAVIOUR = Path(__file__).parents[1] / "captures" / "ncu_behaviour"


def _recorded(name: str, *, has_report: bool = False) -> NcuOutcome:
    """How a run ended that was recorded with the real ``ncu``."""
    text = (BEHAVIOUR / f"{name}.txt").read_text(encoding="utf-8")
    head, _, rest = text.partition("--- stdout\n")
    stdout, _, stderr = rest.partition("--- stderr\n")
    return NcuOutcome(
        code=int(head.split("exit code:")[1]),
        log_lines=tuple(line for line in stdout.splitlines() if not line.startswith('"')),
        printed=tuple(stderr.splitlines()),
        command="ncu --metrics x ./fixture",
        program="./fixture",
        has_report=has_report,
    )


def _said(*lines: str, code: int = 1) -> NcuOutcome:
    return NcuOutcome(
        code=code, log_lines=lines, command="ncu --metrics x ./app 1", program="./app 1"
    )


RECORDED = {
    "clock-control-wrong": (UsageError, "rejects an option", "correct the option"),
    "filter-matches-nothing-report": (
        NoLaunchError,
        "no launch matches the filters",
        "the program launches: rounds, scale, strided",
    ),
    "no-cuda-program": (InputError, "without launching a kernel", "CUDA_VISIBLE_DEVICES"),
    "no-gpu-visible": (
        ProgramError,
        "failed with exit code 3 before a kernel",
        "no CUDA-capable device is detected",
    ),
    "no-program": (InputError, "no such program", "give the program's path"),
    "output-not-writable": (ProfilerError, "could not write its report", "writable by the user"),
    "program-fails": (ProgramError, "failed with exit code 7", "fixture: asked to fail"),
    "kernel-faults": (
        ProgramError,
        "a kernel failed while it was profiled: LaunchFailed",
        "comput",
    ),
    "unknown-option": (UsageError, "rejects an option", "newer"),
    "unknown-section": (UsageError, "rejects an option", "newer"),
    "quiet": (UsageError, "rejects an option", "correct"),
    "interrupted": (ProfilerError, "exit code 124", "ncu --metrics x ./fixture"),
    "output-exists": (ProfilerError, "exit code 1", "by hand"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_what_was_recorded(name: str) -> None:
    kind, what, hint = RECORDED[name]
    error = explain_failure(_recorded(name))
    assert type(error) is kind
    assert what in error.what
    assert error.hint is not None
    assert hint in error.hint
    assert error.where


def test_a_report_is_no_failure_though_the_program_failed_after_it() -> None:
    ended = _recorded("program-fails-late-report", has_report=True)
    assert explain_failure(ended) is None
    assert ended.program_code == 7
    assert explain_failure(_recorded("replay-application", has_report=True)) is None


DOCUMENTED = [
    (
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU"
        " Performance Counters on the target device 0. For instructions on enabling permissions"
        " and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM",
        MissingToolError,
        ["has no permission to read the GPU's performance counters"],
        ["CAP_SYS_ADMIN", "--cap-add=SYS_ADMIN", "NVreg_RestrictProfilingToAdminUsers=0"],
    ),
    (
        "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer"
        " --list-chips option.",
        MissingToolError,
        ["does not support this GPU"],
        ["--list-chips"],
    ),
    (
        "==ERROR== Cuda driver is not compatible with Nsight Compute.",
        MissingToolError,
        ["driver and this version of Nsight Compute are incompatible"],
        ["install the driver", "DCGM"],
    ),
    (
        "==ERROR== LibraryNotLoaded",
        ProfilerError,
        ["another profiler or debugger"],
        ["nsys", "dcgmi profile --pause"],
    ),
    (
        "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no"
        " other tool (like DCGM) is concurrently collecting profiling data.",
        ProfilerError,
        ["another profiler or debugger"],
        ["dcgmi profile --pause"],
    ),
    (
        "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this"
        " process has write permissions on the named file.",
        ProfilerError,
        ["another profiler or debugger"],
        ["/tmp/nsight-compute-lock"],
    ),
    (
        "==ERROR== Failed to find metric regex:^sm__nosuch",
        UsageError,
        ["no metric regex:^sm__nosuch"],
        ["--query-metrics"],
    ),
    (
        "==ERROR== Failed to write: No space left on device",
        StorageError,
        ["No space left on device"],
        ["free some space"],
    ),
]


@pytest.mark.parametrize(("line", "kind", "what", "hints"), DOCUMENTED)
def test_what_the_documentation_says(line, kind, what, hints) -> None:
    error = explain_failure(_said("==PROF== Connected to process 1 (/x)", line))
    assert type(error) is kind
    assert [part for part in what if part not in error.what] == []
    assert [hint for hint in hints if hint not in (error.hint or "")] == []
    codes = {UsageError: ExitCode.BAD_INPUT}
    assert error.exit_code == codes.get(kind, ExitCode.ENVIRONMENT)


def test_the_errors_of_the_driver_that_mean_another_profiler_are_not_the_kernels() -> None:
    driver = "==ERROR== An error was reported by the driver:"
    assert type(explain_failure(_said(driver, "==ERROR== LibraryNotLoaded"))) is ProfilerError
    incompatible = "==ERROR== Cuda driver is not compatible with Nsight Compute."
    assert type(explain_failure(_said(driver, incompatible))) is MissingToolError


def test_nothing_profiled_without_a_gpu_is_the_environments() -> None:
    ended = NcuOutcome(
        0, ("==WARNING== No kernels were profiled.",), program="./app", has_gpu=False
    )
    error = explain_failure(ended)
    assert type(error) is MissingToolError
    assert "no GPU is visible" in error.what


def test_nothing_profiled_with_a_range_names_the_slash() -> None:
    ended = NcuOutcome(
        0, ("==WARNING== No kernels were profiled.",), program="./app", filtered=True
    )
    error = explain_failure(ended)
    assert type(error) is NoLaunchError
    assert "--nvtx-include" in (error.hint or "")


def test_ncu_gave_up_at_a_kernel() -> None:
    error = explain_failure(
        _said(
            "==ERROR== Unknown Error on device 0.",
            '==ERROR== Failed to profile "scale" in process 5',
            "==ERROR== The application returned an error code (9).",
            code=9,
        )
    )
    assert type(error) is ProfilerError
    assert "failed while it profiled a kernel" in error.what


def test_a_full_disk_is_seen_in_what_the_program_printed() -> None:
    ended = NcuOutcome(1, (), ("OSError: [Errno 27] File too large",), program="./app")
    assert type(explain_failure(ended)) is StorageError


def test_a_report_that_ncu_did_not_complete_is_no_capture() -> None:
    cut = NcuOutcome(1, (), ("OSError: [Errno 28] No space left on device",), has_report=True)
    assert type(explain_failure(cut)) is StorageError
    assert (
        type(explain_failure(NcuOutcome(-9, (), has_report=True, program="./app"))) is ProfilerError
    )
