"""The ceiling: what its process prints, and that it is one of FP32."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kernelprof
from kernelprof.ladder.ceiling import CeilingError, measured_ceiling, read_ceiling
from kernelprof.launch.processes import Interrupts

GOOD = {
    "times_ns": [2_700_000.0, 2_701_000.0, 2_699_000.0],
    "warm_up": 5,
    "relative_error": 2.1e-7,
    "device": "NVIDIA H200",
    "cupy": "14.2.0",
    "cuda_runtime": "13.0",
    "cublas": "13.0.2",
}

CUPY = '''
"""Stands in for CuPy: NumPy's product, rounded as TF32 would where nobody switched that off."""

import os
import numpy

__version__ = "14.2.0"


class Array(numpy.ndarray):
    def get(self):
        return numpy.asarray(self)


def asarray(values):
    return values.view(Array)


def empty(shape, dtype):
    return numpy.empty(shape, dtype).view(Array)


def _rounded(values):
    off = all(os.environ.get(name) == "0" for name in ("CUPY_TF32", "NVIDIA_TF32_OVERRIDE"))
    return values if off else values.astype(numpy.float16).astype(numpy.float32)


def matmul(a, b, out=None):
    product = numpy.matmul(_rounded(a.get()), _rounded(b.get()))
    if out is not None:
        out[...] = product
    return product.view(Array)


class cuda:
    class Event:
        def record(self):
            pass

    class runtime:
        @staticmethod
        def getDeviceProperties(device):
            return {"name": b"Some GPU"}

    @staticmethod
    def get_current_stream():
        return type("Stream", (), {"synchronize": lambda self: None})()

    @staticmethod
    def get_elapsed_time(begin, end):
        return 0.25

    @staticmethod
    def get_local_runtime_version():
        return 13000
'''


def _printed(**changes: Any) -> bytes:
    return json.dumps({**GOOD, **changes}).encode()


def test_the_answer_is_read() -> None:
    found = read_ceiling(b"a library says hello\n" + _printed() + b"\n{}\nand goodbye\n", 4096)
    assert found.timing.median_ns == 2_700_000.0
    assert found.timing.flops == 2.0 * 4096**3
    assert (found.timing.launches, found.timing.warm_up) == (3, 5)
    assert (found.cupy, found.cuda_runtime, found.cublas) == ("14.2.0", "13.0", "13.0.2")


@pytest.mark.parametrize(
    ("printed", "what"),
    [
        (b"", "ended without an answer"),
        (b"Segmentation fault\n", "ended without an answer"),
        (b'["times_ns"]\n', "ended without an answer"),
        (b'{"error": "CuPy is not installed here"}\n', "not measured: CuPy is not installed here"),
        (_printed(relative_error=3e-4), "did not compute in FP32: its relative error is 3.0e-04"),
        (_printed(relative_error=float("nan")), "did not compute in FP32"),
    ],
)
def test_what_is_no_ceiling(printed: bytes, what: str) -> None:
    with pytest.raises(CeilingError) as caught:
        read_ceiling(printed, 4096)
    assert what in caught.value.what
    assert caught.value.hint


def _child(folder: Path, *options: str) -> dict[str, Any]:
    source = str(Path(kernelprof.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-P", "-m", "kernelprof.ladder.ceiling", "--size", "96", *options],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), source]), "CUPY_TF32": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (4 if "error" in found else 0)
    return found


def test_the_process_switches_tf32_off_and_times_each_product(tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text(CUPY, encoding="utf-8")
    found = _child(tmp_path, "--warmup", "2", "--measured", "7")
    assert found["times_ns"] == [250_000.0] * 7
    assert found["warm_up"] == 2
    assert found["relative_error"] < 1e-6
    assert (found["device"], found["cupy"]) == ("Some GPU", "14.2.0")
    assert found["cuda_runtime"] == "13.0"
    assert found["cublas"] is None  # this CuPy does not tell, and that is no reason to fail


def test_the_stand_in_would_show_tf32(tmp_path: Path) -> None:
    """Without the switches the error is that of 10 bits, which the parent process refuses."""
    switches = 'os.environ.update({"NVIDIA_TF32_OVERRIDE": "1"})\n'
    text = CUPY.replace('__version__ = "14.2.0"', switches + '__version__ = "14.2.0"')
    (tmp_path / "cupy.py").write_text(text, encoding="utf-8")
    found = _child(tmp_path)
    assert found["relative_error"] > 1e-4
    with pytest.raises(CeilingError, match="did not compute in FP32"):
        read_ceiling(json.dumps(found).encode(), 96)


def test_without_cupy_the_process_says_so(tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text("raise ImportError('no cupy')\n", encoding="utf-8")
    assert _child(tmp_path) == {"error": "CuPy is not installed here (no cupy)"}


def test_a_failure_of_cupy_is_an_answer(tmp_path: Path) -> None:
    broken = CUPY.replace("return values.view(Array)", "raise RuntimeError('no device')")
    (tmp_path / "cupy.py").write_text(broken, encoding="utf-8")
    assert _child(tmp_path) == {"error": "RuntimeError: no device"}


def test_the_child_is_found_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cupy.py").write_text(CUPY, encoding="utf-8")
    source = str(Path(kernelprof.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), source]))
    with Interrupts() as interrupts:
        found = measured_ceiling(64, interrupts)
    assert (found.timing.median_ns, found.timing.launches) == (250_000.0, 20)
