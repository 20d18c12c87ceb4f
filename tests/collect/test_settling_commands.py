"""The command of a verdict, run against the stand-in, collects what was missing where it was."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from kernelprof.analysis.ncu_command import target_words
from kernelprof.analysis.verdict import diagnose
from kernelprof.model.capture import Capture
from kernelprof.sources import read_capture


@pytest.mark.parametrize(
    "capture",
    [
        pytest.param(
            "gemm_series.eight-metrics.raw.csv",
            marks=pytest.mark.exhaustive("runs 26 programs, each under the stand-in"),
        ),
        "degraded/degraded_stdoutmix_dramonly.csv",
    ],
)
def test_a_command_collects_what_is_missing_of_its_own_launches(
    capture, captures, run_ncu, programs
) -> None:
    asked = [k for k in diagnose(read_capture(captures / capture)).kernels if k.verdict.command]
    assert asked
    for kernel in asked:
        command = shlex.split(kernel.verdict.command or "")
        done = run_ncu(command)
        assert done.returncode == 0, done.stdout
        collected = read_capture(programs / command[command.index("--log-file") + 1])
        shapes = {(launch.kernel, launch.grid, launch.block) for launch in collected.launches}
        if capture.startswith("gemm_series"):
            assert (kernel.name, kernel.grid, kernel.block) in shapes
        assert {m.ncu_name for m in kernel.verdict.missing} <= set(collected.columns)


UNNAMED = Capture((), {})
TAKEN = (
    (UNNAMED, "-- ./app args..."),
    (replace(UNNAMED, application="/opt/app"), "-- /opt/app"),
    (replace(UNNAMED, application="/usr/bin/python3.12"), "-- /usr/bin/python3.12 script args..."),
    (
        replace(UNNAMED, application="/usr/bin/python3.12", program=("python3", "a b.py", "-n")),
        "-- python3 'a b.py' -n",
    ),
    (replace(UNNAMED, application="k.cu", options=("--size", "n=9")), "k.cu --size n=9"),
    (
        replace(UNNAMED, application="k.cu", options=("--flags", "-lm -O1"), program=("9", "-x")),
        "k.cu --flags '-lm -O1' -- 9 -x",
    ),
)


@pytest.mark.parametrize(("capture", "words"), TAKEN)
def test_the_same_is_measured_again(capture: Capture, words: str) -> None:
    assert shlex.join(target_words(capture)) == words
