"""A source with its own ``main``: built with the user's flags, run with the user's arguments."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

import pytest
from tests.launch.conftest import stand_in

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = "__global__ void k(float *a) { a[0] = 1; }\nint main() { k<<<1, 1>>>(nullptr); }\n"
FLAGS = ["--flags", "-I 'my include' -lcublas"]
ARGUMENTS = ["2048", "a b"]


@pytest.fixture
def built(machine: Path, gpu: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``gemm_series.cu`` on a machine with a GPU, whose ``nvcc`` hands out the program of a test.

    What it was asked for is in the file ``asked``.
    """
    del gpu
    (machine / "gemm_series.cu").write_text(SOURCE, encoding="utf-8")
    nvcc = stand_in(
        machine / "bin" / "nvcc",
        'if [ "$1" = --version ]; then echo "release 13.0, V13.0.88"; exit; fi',
        f'printf "%s\\n" "$@" > {machine}/asked',
        f'while [ "$1" != -o ]; do shift; done; cp {machine}/gemm_series "$2"',
    )
    monkeypatch.setenv("PATH", f"{nvcc.parent}:/usr/bin:/bin")
    return machine


def test_it_is_profiled_and_settled_with_its_flags_and_arguments(kernelprof, built) -> None:
    words = [*FLAGS, "--preset", "dram", "--", *ARGUMENTS]
    kernelprof("profile gemm_series.cu -o out", *words)
    asked = (built / "asked").read_text(encoding="utf-8").splitlines()
    assert "-lcublas" in asked
    manifest = json.loads((built / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["target"] == ["gemm_series.cu", *ARGUMENTS]
    assert manifest["source"]["options"] == FLAGS
    assert manifest["runs"][0]["command"][-2:] == ARGUMENTS
    kernels = kernelprof.json("diagnose out", code=3)["kernels"]
    again = ["kernelprof", "diagnose", "gemm_series.cu", *FLAGS, "--preset", "full", "--"]
    assert {each["verdict"]["command"] for each in kernels} == {shlex.join([*again, *ARGUMENTS])}


def test_what_is_given_to_a_program_alone_is_refused_for_a_source_and_the_other_way(
    built, kernelprof
) -> None:
    kernelprof(
        "profile gemm_series.cu -o out --build make",
        code=2,
        err="--build applies only to a program after --",
    )
    kernelprof(
        "profile -o out",
        *FLAGS,
        "--",
        "./gemm_series",
        code=2,
        err="--flags applies only to a .cu file",
    )
    assert not (built / "out").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--launch-skip", "1"], "--launch-skip has no effect on existing captures"),
        (
            ["--keep", "out", "--budget", "5"],
            "--keep, --budget have no effect on existing captures",
        ),
        ([], ""),
        (["--kernel", "."], ""),
    ],
)
def test_a_capture_is_measured_already(captures, machine, kernelprof, options, said) -> None:
    err = kernelprof(f"diagnose {captures}/four_gemms.full.raw.csv", *options, err=said).err
    assert ("no effect" in err) is bool(said)
    assert not (machine / "out").exists()
