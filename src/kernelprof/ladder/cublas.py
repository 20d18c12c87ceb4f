"""Products of cuBLAS by way of CuPy: their error, their times. Only the child process has CuPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.launch.check.arrays import decode, encode
from kernelprof.launch.run.device import DELAY, FIRST_DELAY_NS

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from kernelprof.ladder.product import Product

# library_types.h and cublas_api.h; CuPy names some of them, and not in every version.
_CUDA_R_16BF: Final = 14
_CUBLAS_COMPUTE_32F: Final = 68
_CUBLAS_GEMM_DEFAULT: Final = -1
_CUBLAS_OP_N: Final = 0
_CUBLAS_OP_T: Final = 1
_TRIES: Final = 4


class CublasProducts:
    """Square matrices on the GPU and their product; ``cupy`` is the module."""

    def __init__(self, cupy: Any, product: Product) -> None:
        self._cupy = cupy
        self._product = product
        self._generator = np.random.default_rng(0)
        self._size = 0
        self._matrices: tuple[Any, ...] = ()
        self._delay: Any = None
        self._factors = np.ones(1, np.float32), np.zeros(1, np.float32)

    def relative_error(self, size: int) -> float:
        """How far a product is off, by the 2-norm, against float64 over the rounded inputs."""
        a, b, c = self._at(size)
        self._multiply(a, b, c)
        left, right, got = (decode(each.get(), self._product.precision) for each in (a, b, c))
        want = left @ (right.T if self._product.layout == "nt" else right)
        return float(np.linalg.norm(got - want) / np.linalg.norm(want))

    def times_ns(self, size: int, count: int) -> list[float]:
        """Time single products between two events, as rungs are timed, while the GPU waits."""
        matrices = self._at(size)
        times: list[float] = []
        delay_ns = FIRST_DELAY_NS
        for _ in range(_TRIES):
            times += self._row(matrices, count - len(times), delay_ns)
            delay_ns *= 4
            if len(times) >= count:
                return times
        raise RuntimeError("the CPU launches the kernels too slowly to keep the GPU busy")

    def _row(self, matrices: tuple[Any, ...], count: int, delay_ns: int) -> list[float]:
        cuda = self._cupy.cuda
        pairs = []
        self._wait(delay_ns)
        self._multiply(*matrices)
        for _ in range(count):
            begin, end = cuda.Event(), cuda.Event()
            begin.record()
            self._multiply(*matrices)
            end.record()
            if not begin.done:
                pairs.append((begin, end))
        cuda.get_current_stream().synchronize()
        return [round(cuda.get_elapsed_time(*pair) * 1e6, 1) for pair in pairs]

    def _wait(self, delay_ns: int) -> None:
        if self._delay is None:
            module = self._cupy.cuda.Module()
            module.load(DELAY.encode() + b"\0")
            self._delay = module.get_function("delay")
        self._delay((1,), (1,), (np.uint64(delay_ns),))

    def _at(self, size: int) -> tuple[Any, ...]:
        # A, B and room for C of a size; those of the size before are given back
        if size != self._size:
            self._matrices = ()
            a, b = self._matrix(size), self._matrix(size)
            self._matrices = (a, b, self._cupy.empty((size, size), dtype=a.dtype))
            self._size = size
        return self._matrices

    def _matrix(self, size: int) -> Any:
        # One that is drawn as the rungs' inputs are; BF16 lies in uint16
        values: npt.NDArray[np.float32]
        if self._product.fill == "normal":
            values = self._generator.standard_normal((size, size), dtype=np.float32)
        else:
            values = self._generator.random((size, size), dtype=np.float32)
            values = values * np.float32(2) - np.float32(1)
        return self._cupy.asarray(encode(values, self._product.precision))

    def _multiply(self, a: Any, b: Any, c: Any) -> None:
        transposed = self._product.layout == "nt"
        if self._product.precision == "float32":
            self._cupy.matmul(a, b.T if transposed else b, out=c)
            return
        # cuBLAS counts columns first: what it sees are the transposed matrices, C^T = B^T * A^T.
        size, cuda = a.shape[0], self._cupy.cuda
        alpha, beta = self._factors
        # fmt: off
        cuda.cublas.gemmEx(
            cuda.get_cublas_handle(), _CUBLAS_OP_T if transposed else _CUBLAS_OP_N, _CUBLAS_OP_N,
            size, size, size, alpha.ctypes.data,
            b.data.ptr, _CUDA_R_16BF, size,
            a.data.ptr, _CUDA_R_16BF, size, beta.ctypes.data,
            c.data.ptr, _CUDA_R_16BF, size, _CUBLAS_COMPUTE_32F, _CUBLAS_GEMM_DEFAULT,
        )
        # fmt: on

    def versions(self) -> dict[str, str | None]:
        """Of what was used, as far as this CuPy tells them."""
        cuda = self._cupy.cuda
        return {
            "device": _version_or_none(
                lambda: str(cuda.runtime.getDeviceProperties(0)["name"], "utf-8")
            ),
            "cupy": self._cupy.__version__,
            "cuda_runtime": _version_or_none(
                lambda: _dotted(cuda.get_local_runtime_version(), 1000, 10)
            ),
            "cublas": _version_or_none(
                lambda: _dotted(cuda.cublas.getVersion(cuda.get_cublas_handle()), 10000, 100, 1)
            ),
        }


def _dotted(version: int, *places: int) -> str:
    parts = []
    for factor in places:
        digits, version = divmod(int(version), factor)
        parts.append(str(digits))
    return ".".join(parts)


def _version_or_none(ask: Callable[[], str]) -> str | None:
    # A version, `None` where this CuPy does not tell it: no reason to measure nothing
    try:
        return ask()
    except Exception:  # an attribute, a library or a symbol is missing, each with its own error
        return None
