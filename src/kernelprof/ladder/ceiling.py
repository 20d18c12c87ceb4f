"""The ceiling: cuBLAS SGEMM through CuPy, in a process of its own.

``python -m kernelprof.ladder.ceiling --size N`` prints one JSON object. CuPy takes ``cublasGemmEx``
with ``CUBLAS_COMPUTE_32F`` for a product of float32 matrices, and TF32 only if ``$CUPY_TF32`` says
so (``cupy/_core/_routines_linalg.pyx``). That, cuBLAS's own switches and a look at the error make
sure that the ceiling is one of FP32 and not of tensor cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import ExitCode, KernelprofError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.ladder.results import Ceiling
    from kernelprof.launch.processes import Interrupts

WARM_UP: Final = 5
MEASURED: Final = 20
CHECKED_SIZE: Final = 512
FP32_ERROR: Final = 1e-5
"""Largest relative error of FP32 at the checked size; it makes about 2e-7, and TF32 some 3e-4."""

SWITCHES: Final = ("CUPY_TF32", "NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION")
"""Variables that let FP32 products run on tensor cores, unless they are 0."""

_LIMIT_S = 300.0


class CeilingError(KernelprofError):
    """cuBLAS could not be measured; the rungs can."""

    exit_code = ExitCode.ENVIRONMENT


def measured_ceiling(size: int, interrupts: Interrupts) -> Ceiling:
    """cuBLAS on two square matrices, measured in a child process."""
    from kernelprof.launch import processes

    words = ["--size", str(size), "--warmup", str(WARM_UP), "--measured", str(MEASURED)]
    command = [sys.executable, "-P", "-m", "kernelprof.ladder.ceiling", *words]
    done = processes.run(command, interrupts, time_limit=_LIMIT_S, keep_all=True)
    return read_ceiling(done.printed, size)


def read_ceiling(printed: bytes, size: int) -> Ceiling:
    """What the child process printed; :class:`CeilingError` where it could not measure."""
    from kernelprof.ladder.results import Ceiling
    from kernelprof.launch.trial import timing_facts

    found = _last_object(printed)
    if found is None or "error" in found:
        raise CeilingError(
            f"cuBLAS was not measured: {found['error']}"
            if found
            else "cuBLAS was not measured: the process that does it ended without an answer",
            where="CuPy",
            hint="pip install 'kernelprof[ladder]' brings CuPy for CUDA 13; other CUDA versions "
            "have packages of their own (https://docs.cupy.dev/en/stable/install.html)",
        )
    error = float(found["relative_error"])
    if not error < FP32_ERROR:
        raise CeilingError(
            f"cuBLAS did not compute in FP32: its relative error is {error:.1e}",
            where="CuPy",
            hint=f"FP32 makes less than {FP32_ERROR:g}; see what turns TF32 on here",
        )
    return Ceiling(
        timing=timing_facts(
            found["times_ns"],
            warm_up=int(found["warm_up"]),
            flops=2.0 * size**3,
            min_bytes=12.0 * size**2,
        ),
        relative_error=error,
        device=found.get("device"),
        cupy=found.get("cupy"),
        cuda_runtime=found.get("cuda_runtime"),
        cublas=found.get("cublas"),
    )


def _last_object(printed: bytes) -> dict[str, Any] | None:
    """The last line that is the answer; libraries may have printed before and after it."""
    for line in reversed(printed.decode("utf-8", "replace").splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and ("error" in found or "times_ns" in found):
            return found
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(prog="python -m kernelprof.ladder.ceiling")
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--warmup", type=int, default=WARM_UP)
    parser.add_argument("--measured", type=int, default=MEASURED)
    asked = parser.parse_args(arguments)
    try:
        found = _measure(asked.size, asked.warmup, asked.measured)
    except ImportError as error:
        found = {"error": f"CuPy is not installed here ({error})"}
    except Exception as error:  # CuPy raises many kinds; the parent process tells of each
        found = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(found) + "\n")
    return int(ExitCode.ENVIRONMENT) if "error" in found else 0


def _measure(size: int, warm_up: int, measured: int) -> dict[str, Any]:
    """Times of single products, each between two events; nothing waits between them."""
    for name in SWITCHES:
        os.environ[name] = "0"
    import numpy as np

    cupy: Any = __import__("cupy")
    generator = np.random.default_rng(0)

    def matrix(extent: int) -> Any:
        values = generator.random((extent, extent), dtype=np.float32)
        return cupy.asarray(values * np.float32(2) - np.float32(1))

    a, b = matrix(CHECKED_SIZE), matrix(CHECKED_SIZE)
    got = cupy.matmul(a, b).get()
    want = a.get().astype(np.float64) @ b.get().astype(np.float64)
    error = float(np.linalg.norm(got - want) / np.linalg.norm(want))

    a, b = matrix(size), matrix(size)
    c = cupy.empty((size, size), dtype=np.float32)
    events = [(cupy.cuda.Event(), cupy.cuda.Event()) for _ in range(measured)]
    for _ in range(warm_up):
        cupy.matmul(a, b, out=c)
    for begin, end in events:
        begin.record()
        cupy.matmul(a, b, out=c)
        end.record()
    cupy.cuda.get_current_stream().synchronize()
    times = [cupy.cuda.get_elapsed_time(begin, end) * 1e6 for begin, end in events]
    return {
        "times_ns": [round(each, 1) for each in times],
        "warm_up": warm_up,
        "relative_error": error,
        "device": _told(lambda: str(cupy.cuda.runtime.getDeviceProperties(0)["name"], "utf-8")),
        "cupy": cupy.__version__,
        "cuda_runtime": _told(lambda: _dotted(cupy.cuda.get_local_runtime_version(), 1000, 10)),
        "cublas": _told(_cublas_version),
    }


def _cublas_version() -> str:
    from importlib import import_module

    cublas = import_module("cupy_backends.cuda.libs.cublas")
    handle = import_module("cupy.cuda.device").get_cublas_handle()
    return _dotted(cublas.getVersion(handle), 10000, 100, 1)


def _dotted(version: int, *places: int) -> str:
    """``13000`` as ``13.0``, by what each part is multiplied with."""
    parts = []
    for place in places:
        part, version = divmod(int(version), place)
        parts.append(str(part))
    return ".".join(parts)


def _told(ask: Callable[[], str]) -> str | None:
    """A version, ``None`` where this CuPy does not tell it: no reason to measure nothing."""
    try:
        return ask()
    except Exception:  # an attribute, a library or a symbol is missing, each with its own error
        return None


if __name__ == "__main__":
    sys.exit(main())
