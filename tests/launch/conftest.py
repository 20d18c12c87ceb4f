"""Kernels and specifications that the tests of this folder share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kernelprof.launch.inference.proposal import infer_specification
from kernelprof.launch.source import SpecBlock
from kernelprof.launch.specification.reader import load_spec, read_spec

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
    path.parent.mkdir(parents=True, exist_ok=True)
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
def init(tmp_path: Path) -> Callable[..., LaunchSpec]:
    """Write a source, initialise it without a blank, and load what was written."""

    def run(source: str, **options: Any) -> LaunchSpec:
        path = tmp_path / "kernel.cu"
        path.write_text(source)
        made = infer_specification(path, **options).draft()
        path.write_text(made.text)
        assert made.unfilled == ()
        assert made.text.endswith(source)
        return load_spec(path)

    return run


def check_facts(spec: LaunchSpec, sizes: str, expected: str) -> None:
    """Check facts such as ``grid=7x1x1 x=7x1000 x.fill=random`` of a launch at sizes."""
    given = dict(each.split("=") for each in sizes.split())
    launch = spec.resolve({**spec.sizes, **{name: int(size) for name, size in given.items()}})
    facts: dict[str, object] = {**spec.sizes, **spec.compile.defines}
    facts |= {"kernel": spec.kernel.replace(" ", ""), "reference": spec.reference}
    facts |= {key: getattr(launch, key) for key in ("shared_bytes", "flops", "min_bytes")}
    arrays = launch.arrays
    shapes = {name: each.shape for name, each in arrays.items()}
    for name, shape in {"grid": launch.grid, "block": launch.block, **shapes}.items():
        facts[name] = "x".join(map(str, shape))
    for each in spec.arguments:
        value = None if each.value is None else each.value.text
        own = {"type": each.type, "fill": each.fill, "output": each.output, "value": value}
        facts |= {f"{each.name}.{key}": fact for key, fact in own.items()}
    facts |= {f"{name}.limit": each.limit for name, each in arrays.items()}
    wanted = dict(each.split("=") for each in expected.split())
    assert {key: str(facts[key]) for key in wanted} == wanted


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], LaunchSpec]:
    """Read a specification from its TOML text."""
    return lambda toml: read_spec(SpecBlock(toml, tmp_path / "kernel.toml"))
