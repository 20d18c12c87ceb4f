"""What the process that launches a kernel found out: its stages, its error, its times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelprof.errors import ExitCode, KernelprofError
from kernelprof.model.manifest import CompilerWarning, CorrectnessFacts, TimingFacts
from kernelprof.model.records import build, read_object, to_json
from kernelprof.model.specification import NO_REFERENCE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelprof.launch.specification.spec import LaunchSpec


CONFIDENCE = 0.95
INTERNAL_ERROR = 70


class LaunchError(KernelprofError):
    """A kernel that cannot be built, launched or trusted; with the child's exit code."""

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        hint: str | None = None,
        exit_code: ExitCode = ExitCode.BAD_INPUT,
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.exit_code = exit_code


def refuse_shared_memory(static: int, dynamic: int, most: int, gpu: str, where: str) -> None:
    """Refuse a launch whose blocks take more bytes of shared memory than ``gpu`` has for one."""
    if static + dynamic > most:
        raise LaunchError(
            f"a block needs {static + dynamic} bytes of shared memory ({static} static, {dynamic} "
            f"dynamic), but {gpu} allows only {most} per block",
            where=where,
            hint="use smaller tiles or fewer buffers",
        )


class WrongResultError(LaunchError):
    """A kernel whose result differs from its reference."""


@dataclass(frozen=True, slots=True)
class DriverResources:
    """Resources of a thread or block, by the driver.

    ``local_bytes`` are spills and arrays indexed at run time; ``most_threads`` is the largest
    block that registers and launch bounds allow; spills are bytes of a thread by ``ptxas``,
    ``None`` where it reports none.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    constant_bytes: int
    most_threads: int
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class CheckedOutput:
    """The error of one output at the check sizes."""

    output: str
    error: float
    tolerance: float


def correctness_facts(
    spec: LaunchSpec, checked: Sequence[CheckedOutput]
) -> CorrectnessFacts | None:
    """The outcome of a check that was passed; ``None`` where the specification asks for none."""
    if spec.reference == NO_REFERENCE:
        return None
    return CorrectnessFacts(
        passed=True,
        reference=spec.reference,
        largest_error=max((each.error for each in checked), default=None),
        tolerance=spec.tolerance,
        sizes=spec.check_sizes,
    )


@dataclass(slots=True)
class Trial:
    """The stages that a kernel passed, until one failed."""

    gpu: str | None = None
    arch: str | None = None
    compiler: str | None = None
    options: tuple[str, ...] = ()
    resources: DriverResources | None = None
    compiler_warnings: tuple[CompilerWarning, ...] = ()
    checked: tuple[CheckedOutput, ...] = ()
    times_ns: tuple[float, ...] = ()
    error: dict[str, Any] | None = None

    def fail(self, error: KernelprofError, code: int | None = None) -> None:
        """Store the error that ended it; ``code`` replaces the error's exit code."""
        self.error = {
            "what": error.what,
            "where": error.where,
            "hint": error.hint,
            "exit_code": int(error.exit_code) if code is None else code,
        }

    def raise_error(self) -> None:
        """Raise the stored error, if any."""
        if self.error is not None:
            error = dict(self.error)
            if error["exit_code"] == INTERNAL_ERROR:
                raise RuntimeError(f"{error['what']}\n{error['hint']}")
            raise LaunchError(
                error["what"],
                where=error["where"],
                hint=error["hint"],
                exit_code=ExitCode(error["exit_code"]),
            )

    def write(self, path: Path) -> None:
        """Write it to the file that the parent process reads."""
        path.write_text(to_json(self), encoding="utf-8")


def read_trial(path: Path) -> Trial | None:
    """Read the trial of a child process; ``None`` where it is missing or incomplete."""
    try:
        return build(Trial, read_object(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


def timing_facts(
    times_ns: Sequence[float],
    *,
    warm_up: int,
    flops: float | None = None,
    min_bytes: float | None = None,
) -> TimingFacts:
    """Summarise times of launches in nanoseconds.

    The interval of the median is from order statistics, which assume no distribution; five
    launches and fewer have none at 95 %.
    """
    import numpy as np
    from scipy import stats

    times = np.asarray(times_ns, dtype=np.float64)
    test = stats.quantile_test(times, q=float(np.median(times)), p=0.5)
    interval: Any = test.confidence_interval(confidence_level=CONFIDENCE)
    return TimingFacts(
        launches=len(times),
        warm_up=warm_up,
        median_ns=float(np.median(times)),
        low_ns=float(times.min()),
        high_ns=float(times.max()),
        confidence_low_ns=None if math.isnan(interval.low) else float(interval.low),
        confidence_high_ns=None if math.isnan(interval.high) else float(interval.high),
        times_ns=tuple(float(each) for each in times),
        flops=flops,
        min_bytes=min_bytes,
    )
