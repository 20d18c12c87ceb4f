"""Kernels and specifications that the tests of this folder share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kernelprof.launch.source import SpecBlock
from kernelprof.launch.specification.reader import read_spec

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelprof.launch.specification.spec import LaunchSpec

SGEMM = """\
kernel = "sgemm"
block = [16, "TILE"]
grid = ["ceil_div(N, TILE)", "ceil_div(M, 16)"]
reference = "gemm"
flops = "2 * M * N * K"
min_bytes = "4 * (M * K + K * N + M * N)"

[sizes]
M = 4096
N = 2048
K = 1024

[check]
sizes = { M = 256, N = 96 }
tolerance = 1e-4

[compile]
flags = ["--use_fast_math"]
defines = { TILE = 16, MODE = "fast" }
standard = "c++17"

[launch]
shared_bytes = "TILE * TILE * 4"
warmup = 3
measured = 7
time_limit_s = 2.5

[[arguments]]
name = "A"
type = "float32"
shape = ["M", "K"]
fill = "random"
seed = 7

[[arguments]]
name = "B"
type = "float32"
shape = ["K", "N"]

[[arguments]]
name = "C"
type = "float32"
shape = ["M", "N"]
output = true

[[arguments]]
name = "M"
type = "int32"
value = "M"
"""

KERNEL = "__global__ void sgemm(const float* A, const float* B, float* C, int M) {}\n"


def commented(toml: str) -> str:
    """A specification as it stands in a source."""
    lines = "".join(f"// {line}".rstrip() + "\n" for line in toml.splitlines())
    return f"// /// kernelprof\n{lines}// ///\n"


def stand_in(path: Path, *lines: str) -> Path:
    """A program in the place of one that is not here: lines of a shell."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


@pytest.fixture
def no_nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the CUDA toolkit."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setattr("kernelprof.tools._NVCC_PLACES", ())


@pytest.fixture
def sgemm() -> str:
    return SGEMM


@pytest.fixture
def sgemm_cu(tmp_path: Path) -> Path:
    """A source with a comment before its specification."""
    path = tmp_path / "sgemm.cu"
    path.write_text("// what it shows\n" + commented(SGEMM) + KERNEL)
    return path


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], LaunchSpec]:
    """Read a specification from its TOML text."""
    return lambda toml: read_spec(SpecBlock(toml, tmp_path / "kernel.toml"))
