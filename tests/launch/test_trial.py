"""What a launching process says to the one that started it, and what the driver's errors mean."""

from __future__ import annotations

import json
import math

import pytest

from kernelprof.errors import ExitCode, InputError, MissingToolError
from kernelprof.launch.faults import driver_error
from kernelprof.launch.trial import CheckedOutput, LaunchError, Resources, Trial, read_trial
from kernelprof.model.manifest import CompilerWarning


@pytest.fixture
def trial() -> Trial:
    return Trial(
        gpu="NVIDIA H200",
        arch="sm_90",
        compiler="13.0.88",
        options=("-arch=sm_90", "-lineinfo"),
        resources=Resources(10, 0, 0, 0, 1024),
        compiler_warnings=(CompilerWarning("C7508", "'setmaxnreg' ignored"),),
        checked=(CheckedOutput("y", 2.8214781328473095e-08, 1e-05),),
        times_ns=(17216.0, 16896.0),
    )


def test_what_is_written_is_read_again(tmp_path, trial) -> None:
    for each in (Trial(), trial):
        each.write(tmp_path / "trial.json")
        assert read_trial(tmp_path / "trial.json") == each
    trial.fail(InputError("wrong", where="k.cu, kernel k"))
    trial.write(tmp_path / "trial.json")
    assert read_trial(tmp_path / "trial.json") == trial


def test_a_result_that_holds_nan_is_read_again(tmp_path) -> None:
    Trial(checked=(CheckedOutput("y", math.nan, 1e-5),)).write(tmp_path / "trial.json")
    found = read_trial(tmp_path / "trial.json")
    assert found is not None
    assert math.isnan(found.checked[0].error)


def test_no_file_and_half_a_file_are_no_trial(tmp_path, trial) -> None:
    path = tmp_path / "trial.json"
    assert read_trial(path) is None
    trial.write(path)
    text = path.read_text()
    for length in range(len(text) - 1):
        path.write_text(text[:length])
        assert read_trial(path) is None
    path.write_bytes(b"\xff\xfe")
    assert read_trial(path) is None


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("no", where="k.cu:3", hint="do"), ExitCode.BAD_INPUT),
        (MissingToolError("no", where="k.cu:3", hint="do"), ExitCode.ENVIRONMENT),
        (MissingToolError("no"), ExitCode.ENVIRONMENT),
    ],
)
def test_an_error_is_raised_as_it_was(tmp_path, error, code) -> None:
    trial = Trial()
    trial.raise_error()
    trial.fail(error)
    trial.write(tmp_path / "trial.json")
    assert json.loads((tmp_path / "trial.json").read_text())["error"]["exit_code"] == code.value
    found = read_trial(tmp_path / "trial.json")
    assert found is not None
    with pytest.raises(LaunchError) as caught:
        found.raise_error()
    said = caught.value
    assert (said.what, said.where, said.hint) == (error.what, error.where, error.hint)
    assert said.exit_code is code


@pytest.mark.parametrize(
    ("words", "code", "what", "hint"),
    [
        (
            "cuEventQuery failed: operation not supported on global/shared address space",
            2,
            "the kernel accessed memory that is not its own (illegal memory access)",
            "--sanitize memcheck",
        ),
        (
            "cuEventQuery failed: an illegal memory access was encountered",
            2,
            "the kernel accessed memory that is not its own (illegal memory access)",
            "--sanitize memcheck",
        ),
        (
            "cuEventQuery failed: misaligned address",
            2,
            "the kernel accessed an address that its type's size does not divide "
            "(misaligned address)",
            "--sanitize memcheck",
        ),
        (
            "cuEventQuery failed: an illegal instruction was encountered",
            2,
            "the kernel failed while it ran",
            "--sanitize memcheck",
        ),
        (
            "cuEventQuery failed: device-side assert triggered",
            2,
            "an assert in the kernel failed",
            "its message stands below",
        ),
        (
            "cuLaunchKernel failed: too many resources requested for launch",
            2,
            "a block of the kernel needs more registers or shared memory than an SM has",
            "__launch_bounds__",
        ),
        (
            "cuModuleLoadDataEx failed: no kernel image is available for execution on the device",
            2,
            "the GPU cannot run the compiled kernel",
            "[compile] flags",
        ),
        (
            "cuMemAlloc failed: out of memory",
            4,
            "the GPU has not enough memory for the kernel's arrays",
            "smaller [sizes]",
        ),
        (
            "cuInit failed: no CUDA-capable device is detected",
            4,
            "there is no GPU that CUDA can use",
            "kernelprof doctor",
        ),
        (
            "cuInit failed: CUDA driver version is insufficient for CUDA runtime version",
            4,
            "the GPU's driver does not work with this CUDA",
            "kernelprof doctor",
        ),
        (
            "cuLaunchKernel failed: invalid argument",
            2,
            "the CUDA driver refused: cuLaunchKernel failed: invalid argument",
            "block, grid, shared memory and arguments",
        ),
    ],
)
def test_the_drivers_words_are_explained(words, code, what, hint) -> None:
    found = driver_error(RuntimeError(words), "k.cu, kernel k")
    assert isinstance(found, LaunchError)
    assert (found.what, found.where, found.exit_code) == (what, "k.cu, kernel k", code)
    assert hint in (found.hint or "")
