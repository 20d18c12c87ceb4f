"""Floating-point operations of a launch from its counters, by precision.

Counted as Nsight Compute's roofline does: a fused multiply-add is two operations, an FP16
instruction works on two values. Rates are per cycle of the SM clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.architectures import EVERY
from kernelprof.model.numbers import share
from kernelprof.report.charts.roofline import MEASURED, Ceiling
from kernelprof.report.figures.ceilings import compute, flops_a_cycle
from kernelprof.report.figures.measured import positive

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.model.manifest import Manifest
    from kernelprof.report.figures.measured import Numbers

OPERATIONS: Final[Mapping[str, tuple[tuple[str, int], ...]]] = {
    "FP32": (("ffma_rate", 2), ("fadd_rate", 1), ("fmul_rate", 1)),
    "FP64": (("dfma_rate", 2), ("dadd_rate", 1), ("dmul_rate", 1)),
    "FP16": (("hfma_rate", 4), ("hadd_rate", 2), ("hmul_rate", 2)),
}

TENSOR_NOTABLE: Final = 0.005
"""Utilization of the tensor pipe beside FP16 instructions from which matrix instructions do work of
the kernel."""

MOVES: Final = 0.15
"""Part of a launch's instructions up to which FP16 multiply-adds may be moves of constants, which
compilers write so: up to 12 % in kernels of ``tests/captures/validation`` that have no FP16 values
(``bins_global``). Kernels with FP16 values have additions or multiplications beside them."""

NOTABLE_REST: Final = 0.01
"""Part of the operations in other precisions from which they are named."""

_TENSOR_PATH: Final = re.compile(
    r"op_(?P<op>[a-z]+)_src_(?P<src>[a-z0-9]+)(?:_dst_(?P<dst>[a-z0-9]+))?"
)


_MOVED: Final = "A few FP16 multiply-adds are left out: compilers use these to move constants."


@dataclass(frozen=True, slots=True)
class Counted:
    """Operations a second in the precision that takes the kernel's arithmetic time."""

    precision: str
    rate: float
    ceiling: Ceiling | None
    others: str = ""
    """What was counted besides, in a sentence; empty where it is little."""


def count(launch: Numbers, manifest: Manifest | None) -> Counted | None:
    """What a launch computes; ``None`` where the counters do not say.

    A rate of zero is an answer: the launch has no floating-point arithmetic.
    """
    tensor = _tensor(launch)
    rates = {name: _rate(launch, name) for name in OPERATIONS}
    known = {name: rate for name, rate in rates.items() if rate is not None}
    if tensor is not None and tensor.rate >= max(known.values(), default=0.0):
        return tensor
    if tensor is None and uses_tensor_cores(launch):
        return None
    working = {name: rate for name, rate in known.items() if rate > 0}
    moved = working.pop("FP16", 0.0) if _only_moves(launch) else 0.0
    if not working:
        if len(known) < len(OPERATIONS):
            return None
        return Counted("FP32", 0.0, compute(launch, "FP32", manifest), _MOVED if moved else "")
    precision = _largest(launch, working)
    total = sum(working.values())
    others = [
        f"{name} ({share(rate / total)})"
        for name, rate in working.items()
        if name != precision and rate >= NOTABLE_REST * total
    ]
    return Counted(
        precision,
        working[precision],
        compute(launch, precision, manifest),
        f"Operations in {' and '.join(others)} are left out." if others else "",
    )


def uses_tensor_cores(launch: Numbers) -> bool:
    """Whether matrix instructions do notable work, which the counters of threads do not see."""
    busy = launch.share("tensor_pipe") or 0.0
    fp16, sms = launch.value("hfma_rate"), launch.positive("sm_count")
    if fp16 is not None and sms is not None:
        busy -= fp16 / (sms * EVERY.fp16_lanes_of_tensor_pipe)
    return max(busy, launch.share("tcgen05_pipe") or 0.0) >= TENSOR_NOTABLE


def _rate(launch: Numbers, precision: str) -> float | None:
    """Operations a second of one precision outside the tensor cores."""
    total = 0.0
    for name, weight in OPERATIONS[precision]:
        value = launch.value(name)
        if value is None or value < 0:
            return None
        total += weight * value
    return None if launch.hertz is None else total * launch.hertz


def _only_moves(launch: Numbers) -> bool:
    """Whether the FP16 instructions of a launch are so few and uniform that they move constants."""
    if any(launch.value(name) != 0 for name in ("hadd_rate", "hmul_rate")):
        return False
    return thread_shares(launch, ("hfma_rate",)).get("hfma_rate", MOVES) < MOVES


def thread_shares(launch: Numbers, rates: Iterable[str]) -> Mapping[str, float]:
    """Parts of the instructions that threads execute, for those rates whose counts are known."""
    executed = launch.positive("instructions")
    threads = launch.positive("threads_per_instruction_predicated")
    # The rates are per mean cycle of the launch over all SMs.
    cycles = launch.value("sm_cycles_elapsed")
    if launch.hertz is not None and launch.seconds is not None:
        cycles = launch.hertz * launch.seconds
    if executed is None or threads is None or cycles is None or cycles < 0:
        return {}
    return {
        rate: value * cycles / (executed * threads)
        for rate in rates
        if (value := launch.value(rate)) is not None and value >= 0
    }


def _largest(launch: Numbers, rates: Mapping[str, float]) -> str:
    """The precision that takes most of the arithmetic time; by operations where a peak lacks."""
    peaks = {name: flops_a_cycle(launch, name) for name in rates}
    times = {name: rates[name] / peak[0] for name, peak in peaks.items() if peak is not None}
    compared = times if len(times) == len(rates) else dict(rates)
    return max(compared, key=compared.__getitem__)


def _tensor(launch: Numbers) -> Counted | None:
    """Operations of the tensor cores on the path that does most; only the full set counts them."""
    rates = {name: launch.raw(f"{name}.per_second") or 0.0 for name in launch.tensor_columns}
    column = max(rates, key=rates.__getitem__, default="")
    if not column or rates[column] <= 0:
        return None
    found = _TENSOR_PATH.search(column)
    kinds = [found["src"], found["dst"]] if found else []
    kind = " to ".join(each.upper() for each in kinds if each)
    label = f"tensor cores ({kind})" if kind else "tensor cores"
    peak = positive(launch.raw(f"{column}.peak_sustained_elapsed.per_second"))
    ceiling = None if peak is None else Ceiling(f"{label} peak", "compute", peak, MEASURED)
    return Counted(label, rates[column], ceiling)
