"""One run of programs that nobody tuned for: how long the answer takes, and how much has one.

Programs of HeCBench are run where ``KERNELPROF_HECBENCH`` names its folder ``src``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.gpu.conftest import RESULTS
from tests.gpu.test_sampling import MOST_OVERHEAD, seconds_of
from tests.gpu.test_survey import PROGRAMS, built, diagnosed

__all__ = ["built"]
pytestmark = pytest.mark.usefixtures("results")

ANSWER_S = 5.0
RUNS = 3
SAMPLED = 0.95
HECBENCH = "KERNELPROF_HECBENCH"

PYTHON = {
    "ResNet-50, training": ("torchvision", "resnet.py", "120"),
    "GPT-2, generate": ("transformers", "generate.py"),
    "torch.compile, training": ("torch", "compiled.py"),
    "encoder, training": ("torch", "encoder.py", "150"),
    "JAX, training": ("jax", "jax_step.py", "2000"),
}
CUDA = {"Jacobi": ("jacobi", "4096", "30000"), "100,000 launches": ("many", "100000")}
BENCHMARKS = {
    "bilateral": "2960 1440 0.5 0.5 300",
    "complex": "10000000 3000",
    "dct8x8": "8192 8192 2000",
    "floydwarshall": "1024 300 16",
    "gelu": "8 4096 2048 3000",
    "mandelbrot": "1000",
    "maxpool3d": "2048 2048 96 300",
    "md5hash": "1 800",
    "popcount": "16777216 3000",
    "softmax": "100000 784 0 1000",
    "stencil1d": "134217728 3000",
    "vanGenuchten": "256 256 256 3000",
}


def answered(name: str, command: list[str]) -> dict[str, Any]:
    """Run a program alone and with a survey; what is true of any is asserted here."""
    alone = statistics.median(seconds_of(command) for _ in range(RUNS))
    runs = [diagnosed(f"{name}-{each}", "--budget", "0", "--", *command) for each in range(RUNS)]
    seconds = statistics.median(each.seconds for each in runs)
    kernels: list[dict[str, Any]] = runs[-1].survey["kernels"]
    sampled = [each for each in kernels if each["sampled"]]
    row = {
        "program": name,
        "alone_s": round(alone, 2),
        "answer_s": round(seconds, 2),
        "launches": sum(each["launches"] for each in kernels),
        "sampled": round(sum(each["share"] for each in sampled), 4),
        "named": round(sum(each["share"] for each in sampled if each["sampled"]["bottleneck"]), 4),
        "limit": runs[-1].survey["answer"]["limit"],
    }
    if kept := os.environ.get(RESULTS):
        with (Path(kept) / "programs.jsonl").open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(row)}\n")
    assert row["launches"] > 0
    assert seconds <= MOST_OVERHEAD * alone + ANSWER_S
    assert row["sampled"] >= SAMPLED
    return row


@pytest.mark.parametrize("name", PYTHON)
def test_a_python_program_is_answered_in_one_run(name: str) -> None:
    needs, script, *words = PYTHON[name]
    if importlib.util.find_spec(needs) is None:
        pytest.skip(f"this Python has no {needs}")
    answered(name, [sys.executable, str(PROGRAMS / script), *words])


@pytest.mark.parametrize("name", CUDA)
def test_a_cuda_program_is_answered_in_one_run(name: str, built: Path) -> None:
    program, *words = CUDA[name]
    answered(name, [str(built / program), *words])


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_is_answered_in_one_run(name: str) -> None:
    if not (sources := os.environ.get(HECBENCH)):
        pytest.skip(f"{HECBENCH} does not name the sources of HeCBench")
    folder = Path(sources) / f"{name}-cuda"
    make = ["make", "-C", str(folder), "ARCH=sm_90"]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    answered(name, [str(folder / "main"), *BENCHMARKS[name].split()])
