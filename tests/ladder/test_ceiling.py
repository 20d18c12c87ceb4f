"""The ceiling: what its process answers, and that it is one of the precision that is asked for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.few import few

import kernelprof
from kernelprof.installation import find_installation
from kernelprof.ladder.ceiling import CeilingError, Cublas, check_error, read_ceiling
from kernelprof.ladder.product import Product
from kernelprof.launch.processes import Interrupts

if TYPE_CHECKING:
    from collections.abc import Iterator

FP32 = Product()
BF16 = Product("bfloat16", "nt", "normal")

FACTS = {
    "times_ns": [2_700_000.0, 2_701_000.0, 2_699_000.0],
    "relative_error": 2.1e-7,
    "device": "NVIDIA H200",
    "cupy": "14.2.0",
    "cuda_runtime": "13.0",
    "cublas": "13.0.2",
}

CUPY = '''
"""Stands in for CuPy: NumPy's product, rounded as TF32 would where nobody switched that off.

``gemmEx`` reads and writes memory as cuBLAS does, columns first.
"""

import ctypes
import os
import numpy

__version__ = "14.2.0"
KEPT = {}


class Array(numpy.ndarray):
    def get(self):
        return numpy.asarray(self)

    @property
    def data(self):
        KEPT[self.ctypes.data] = self
        return type("Memory", (), {"ptr": self.ctypes.data})()


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


def _wide(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


class cublas:
    @staticmethod
    def getVersion(handle):
        return 130002

    @staticmethod
    def gemmEx(handle, ta, tb, m, n, k, alpha, a, at, lda, b, bt, ldb, beta, c, ct, ldc, how, algo):
        assert (at, bt, ct, how, algo) == (14, 14, 14, 68, -1)
        one, zero = (ctypes.c_float.from_address(each).value for each in (alpha, beta))
        assert (one, zero) == (1.0, 0.0)

        def columns_first(address, transposed, rows, columns, leading):
            stored = _wide(KEPT[address].get()).reshape(-1, leading).T
            found = stored.T if transposed else stored
            assert found.shape == (rows, columns)
            return found

        left = columns_first(a, ta, m, k, lda)
        right = columns_first(b, tb, k, n, ldb)
        bits = numpy.ascontiguousarray((left @ right).T, numpy.float32).view(numpy.uint32)
        KEPT[c][...] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)


class Event:
    done = False

    def record(self):
        pass


class Module:
    def load(self, text):
        assert b".entry delay" in text

    def get_function(self, name):
        assert name == "delay"
        return lambda grid, block, arguments: None


class cuda:
    Event = Event
    Module = Module
    cublas = cublas

    class runtime:
        @staticmethod
        def getDeviceProperties(device):
            return {"name": b"Some GPU"}

    @staticmethod
    def get_cublas_handle():
        return 7

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


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as found:
        yield found


@pytest.fixture
def cupy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a stand-in for CuPy, which the child process finds, on a machine with TF32 on."""
    source = str(Path(kernelprof.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), source]))
    monkeypatch.setenv("CUPY_TF32", "1")
    file = tmp_path / "cupy.py"
    file.write_text(CUPY, encoding="utf-8")
    return file


def test_the_answer_is_read() -> None:
    found = read_ceiling(FACTS, 4096, FP32)
    assert found.timing.median_ns == 2_700_000.0
    assert found.timing.flops == 2.0 * 4096**3
    assert found.timing.min_bytes == 12.0 * 4096**2
    assert (found.timing.launches, found.timing.warm_up) == (3, 5)
    assert (found.cupy, found.cuda_runtime, found.cublas) == ("14.2.0", "13.0", "13.0.2")
    assert read_ceiling(FACTS, 4096, BF16).timing.min_bytes == 6.0 * 4096**2


@pytest.mark.parametrize(
    ("error", "product", "what"),
    [
        (3e-4, FP32, "did not compute in FP32: its relative error is 3.0e-04"),
        (float("nan"), FP32, "did not compute in FP32"),
        (0.02, BF16, "did not compute in BF16: its relative error is 2.0e-02"),
    ],
)
def test_a_product_of_another_precision_is_refused(error, product, what) -> None:
    with pytest.raises(CeilingError) as caught:
        check_error(error, product)
    assert what in caught.value.what
    assert caught.value.hint


@pytest.mark.parametrize("product", [FP32, Product("float32", "nt", "normal")], ids=["nn", "nt"])
def test_the_process_switches_tf32_off_and_times_each_product(product, cupy, interrupts) -> None:
    del cupy
    with Cublas(product, interrupts) as cublas:
        found = cublas.ceiling(96)
        assert (found.timing.median_ns, found.timing.launches) == (250_000.0, 20)
        assert found.relative_error < 1e-6
        assert (found.device, found.cupy) == ("Some GPU", "14.2.0")
        assert (found.cuda_runtime, found.cublas) == ("13.0", "13.0.2")
        assert cublas.times(64, 3) == [250_000.0] * 3


@pytest.mark.parametrize("layout", few(["nn", "nt"], "nt", why="alike"))
@pytest.mark.parametrize("fill", few(["random", "normal"], "random", why="alike"))
def test_bf16_is_rounded_once_and_no_operand_lies_the_other_way(
    layout, fill, cupy, interrupts
) -> None:
    """Correct rounding of the result makes about 1.7e-3; a transposed operand some 1.4."""
    del cupy
    with Cublas(Product("bfloat16", layout, fill), interrupts) as cublas:
        found = cublas.ceiling(64)
        assert 1e-3 < found.relative_error < 2.0**-8
        assert cublas.times(32, 7) == [250_000.0] * 7


def test_operands_that_lie_the_other_way_would_show(cupy: Path, interrupts: Interrupts) -> None:
    text = CUPY.replace("found = stored.T if transposed else stored", "found = stored")
    cupy.write_text(text, encoding="utf-8")
    with (
        Cublas(BF16, interrupts) as cublas,
        pytest.raises(CeilingError, match=r"did not compute in BF16: its relative error is 1\.4"),
    ):
        cublas.ceiling(64)


def test_the_stand_in_would_show_tf32(cupy: Path, interrupts: Interrupts) -> None:
    """Without the switches the error is that of 10 bits, which is refused."""
    switches = 'os.environ.update({"NVIDIA_TF32_OVERRIDE": "1"})\n'
    text = CUPY.replace('__version__ = "14.2.0"', switches + '__version__ = "14.2.0"')
    cupy.write_text(text, encoding="utf-8")
    with (
        Cublas(FP32, interrupts) as cublas,
        pytest.raises(CeilingError, match="did not compute in FP32"),
    ):
        cublas.ceiling(96)


def test_a_version_that_is_not_told_is_no_reason_to_fail(cupy, interrupts) -> None:
    cupy.write_text(CUPY.replace("def getVersion", "def get_version"), encoding="utf-8")
    with Cublas(FP32, interrupts) as cublas:
        assert cublas.ceiling(32).cublas is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("raise ImportError('no cupy')\n", "not measured: CuPy is not installed here (no cupy)"),
        (
            CUPY.replace("return values.view(Array)", "raise RuntimeError('no device')"),
            "not measured: RuntimeError: no device",
        ),
        ("import os; os._exit(139)\n", "ended without a result"),
        ("import sys; sys.exit()\n", "ended without a result"),
        (
            CUPY.replace("done = False", "done = True"),
            "the CPU launches the kernels too slowly to keep the GPU busy",
        ),
    ],
    ids=["no CuPy", "no device", "a fault", "an exit", "a busy machine"],
)
@pytest.mark.slow("processes alike")
def test_what_is_no_ceiling(text: str, what: str, cupy: Path, interrupts: Interrupts) -> None:
    cupy.write_text(text, encoding="utf-8")
    with Cublas(FP32, interrupts) as cublas, pytest.raises(CeilingError) as caught:
        cublas.ceiling(32)
    assert what in caught.value.what
    assert caught.value.hint


def test_what_to_do_is_that_of_the_error(cupy: Path, interrupts: Interrupts) -> None:
    cupy.with_name("ml_dtypes.py").write_text("raise ImportError('none here')\n", encoding="utf-8")
    with Cublas(BF16, interrupts) as cublas, pytest.raises(CeilingError) as caught:
        cublas.ceiling(32)
    assert "ml-dtypes, which provides types that NumPy lacks" in caught.value.what
    assert find_installation().add_extra("gpu") in str(caught.value.hint)
    cupy.write_text("print('libcublas is torn', flush=True); import os; os._exit(139)\n", "utf-8")
    with Cublas(FP32, interrupts) as cublas, pytest.raises(CeilingError) as caught:
        cublas.ceiling(32)
    assert "\n  libcublas is torn" in str(caught.value.hint)
