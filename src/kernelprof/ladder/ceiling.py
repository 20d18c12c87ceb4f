"""The ceiling: cuBLAS through CuPy, in a process of its own that is asked for times.

``python -m kernelprof.ladder.ceiling --precision bfloat16 --layout nt --fill normal`` answers
questions (:mod:`kernelprof.launch.processes`): what it is and how exact, and the times of so many
products. It stays while the rungs are measured, so that both can be timed in turns; it is no part
of their process, whose context a kernel that faults takes with it.

FP32: CuPy takes ``cublasGemmEx`` with ``CUBLAS_COMPUTE_32F`` for a product of float32 matrices, and
TF32 only if ``$CUPY_TF32`` says so (``cupy/_core/_routines_linalg.pyx``). That, cuBLAS's own
switches and a look at the error make sure that the ceiling is one of FP32 and not of tensor cores.
BF16: NumPy and CuPy have no such type, so its bits lie in uint16 and ``cublasGemmEx`` is called
with their addresses.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any, Final, get_args

from kernelprof.errors import ExitCode, KernelprofError
from kernelprof.installation import install_command
from kernelprof.ladder.product import (
    Fill,
    Layout,
    PrecisionName,
    Product,
    count_flops,
    count_least_bytes,
)
from kernelprof.launch import processes
from kernelprof.launch.processes import TimeLimitError
from kernelprof.launch.run.prepare import last_lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from kernelprof.ladder.results import CublasCeiling
    from kernelprof.launch.processes import Interrupts

WARM_UP: Final = 5
MEASURED: Final = 20
CHECKED_SIZE: Final = 512

SWITCHES: Final = ("CUPY_TF32", "NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION")
"""Variables that let FP32 products run on tensor cores, unless they are 0."""

_LIMIT_S: Final = 300.0
"""For a question: matrices are drawn and copied before the first one of a size."""
_OTHER_CUPY: Final = "https://docs.cupy.dev/en/stable/install.html"


class CeilingError(KernelprofError):
    """cuBLAS could not be measured; the rungs can."""

    exit_code = ExitCode.ENVIRONMENT


class Cublas:
    """A worker that times cuBLAS on square matrices; raises :class:`CeilingError`."""

    def __init__(self, product: Product, interrupts: Interrupts) -> None:
        self._product = product
        words = ("--precision", product.precision, "--layout", product.layout)
        command = [sys.executable, "-P", "-m", "kernelprof.ladder.ceiling", *words]
        self._child = processes.RequestWorker([*command, "--fill", product.fill], interrupts)

    def __enter__(self) -> Cublas:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End its process."""
        self._child.__exit__(kind, error, trace)

    def ceiling(self, size: int) -> CublasCeiling:
        """What it is, how exact, and its times at a size, alone."""
        facts = self._ask({"what": "facts"})
        check_error(float(facts["relative_error"]), self._product)
        self.times(size, WARM_UP)
        return read_ceiling({**facts, "times_ns": self.times(size, MEASURED)}, size, self._product)

    def times(self, size: int, count: int) -> Sequence[float]:
        """Times of so many products in nanoseconds; an untimed one comes before them."""
        answer = self._ask({"what": "times", "size": size, "count": count})
        return [float(each) for each in answer["times_ns"]]

    def _ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = self._child.request(question, _LIMIT_S)
        except processes.WorkerEndedError as error:
            hint = f"check that this CuPy supports this CUDA version{last_lines(error.printed)}"
            answer = {"error": "the CuPy process ended without a result", "hint": hint}
        except TimeLimitError as error:
            answer = {"error": error.what, "hint": "stop other work on the GPU and try again"}
        if "error" in answer:
            raise CeilingError(
                f"cuBLAS was not measured: {answer['error']}",
                where="CuPy",
                hint=answer.get("hint")
                or f"to install CuPy for CUDA 13: {install_command('ladder')}\n"
                f"for other versions of CUDA: {_OTHER_CUPY}",
            )
        return answer


def check_error(error: float, product: Product) -> None:
    """Refuse a product that is not of its precision with :class:`CeilingError`."""
    about = product.about
    if error < about.most_error:
        return
    raise CeilingError(
        f"cuBLAS did not compute in {about.short}: its relative error is {error:.1e}",
        where="CuPy",
        hint=f"in {about.short}, the error would be below {about.most_error:g}: check whether "
        "TF32 is enabled on this machine"
        if product.precision == "float32"
        else f"in {about.short} with FP32 accumulation, the error would be below "
        f"{about.most_error:g}",
    )


def read_ceiling(answer: Mapping[str, Any], size: int, product: Product) -> CublasCeiling:
    """The ceiling from what the child process answered."""
    from kernelprof.ladder.results import CublasCeiling
    from kernelprof.launch.run.trial import timing_facts

    return CublasCeiling(
        timing=timing_facts(
            answer["times_ns"],
            warm_up=WARM_UP,
            flops=count_flops(size),
            min_bytes=count_least_bytes(product, size),
        ),
        relative_error=float(answer["relative_error"]),
        device=answer.get("device"),
        cupy=answer.get("cupy"),
        cuda_runtime=answer.get("cuda_runtime"),
        cublas=answer.get("cublas"),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Answer questions until there are no more; an error is an answer, and the end."""
    parser = argparse.ArgumentParser(prog="python -m kernelprof.ladder.ceiling")
    parser.add_argument("--precision", choices=get_args(PrecisionName), required=True)
    parser.add_argument("--layout", choices=get_args(Layout), required=True)
    parser.add_argument("--fill", choices=get_args(Fill), required=True)
    given = parser.parse_args(arguments)
    try:
        _answer(Product(given.precision, given.layout, given.fill))
    except ImportError as error:
        processes.send_response({"error": f"CuPy is not installed here ({error})"})
    except KernelprofError as error:
        processes.send_response({"error": error.what, "hint": error.hint})
    except Exception as error:  # CuPy raises many kinds; the parent process tells of each
        processes.send_response({"error": f"{type(error).__name__}: {error}"})
    else:
        return 0
    return int(ExitCode.ENVIRONMENT)


def _answer(product: Product) -> None:
    for name in SWITCHES:
        os.environ[name] = "0"
    from kernelprof.ladder.cublas import CublasProducts

    products = CublasProducts(importlib.import_module("cupy"), product)

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        if question["what"] == "facts":
            return {"relative_error": products.relative_error(CHECKED_SIZE), **products.versions()}
        return {"times_ns": products.times_ns(question["size"], question["count"])}

    processes.serve_requests(answer)


if __name__ == "__main__":
    sys.exit(main())
