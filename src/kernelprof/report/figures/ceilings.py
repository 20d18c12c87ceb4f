"""The limits of a roofline: what the chip can do in a second at the clocks of one launch.

A limit that the profiler read from the chip is ``measured``; one from a table of units an SM and
the clock of the launch is ``computed``; with the highest clock that the chip allows, or from its
attributes alone, it is ``datasheet``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.architectures import (
    FLOPS_OF_FMA,
    architecture,
    fp32_lanes,
    tensor_fmas,
)
from kernelprof.report.charts.roofline import COMPUTED, DATASHEET, MEASURED, PREDICTED, Ceiling
from kernelprof.report.figures.measured import positive, product

if TYPE_CHECKING:
    from kernelprof.model.manifest import Manifest
    from kernelprof.report.figures.measured import Numbers

L1_LABEL: Final = "L1 and shared memory"
"""Both are one memory behind one data path."""

TRANSFERS_A_CLOCK: Final = 2
"""Device memory moves data on both edges of the clock that the attributes give (DDR)."""

_PEAK_COLUMNS: Final = {
    "FP32": "derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2",
    "FP64": "derived__sm__sass_thread_inst_executed_op_dfma_pred_on_x2",
    "FP16": "derived__sm__sass_thread_inst_executed_op_hfma_pred_on_x4",
}
"""Operations of the chip in a cycle, as Nsight Compute's own roofline takes them."""

_DRAM: Final = ("dram__bytes.sum.peak_sustained", "dram__cycles_elapsed.avg.per_second")
_L2: Final = (
    "derived__lts__lts2xbar_bytes.sum.peak_sustained",
    "lts__cycles_elapsed.avg.per_second",
)
_L1: Final = (
    "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum.peak_sustained",
    "l1tex__cycles_elapsed.avg.per_second",
)
"""The most bytes in a cycle of a unit, and its clock."""

_MEMORY_CLOCK: Final = "device__attribute_memory_clock_rate"
_BUS_WIDTH: Final = "device__attribute_global_memory_bus_width"
_SM_CLOCK: Final = "device__attribute_clock_rate"
_FP64_RATIO: Final = "device__attribute_single_to_double_precision_perf_ratio"

COLUMNS: Final = frozenset(
    {*_PEAK_COLUMNS.values(), *_DRAM, *_L2, *_L1, _MEMORY_CLOCK, _BUS_WIDTH, _SM_CLOCK, _FP64_RATIO}
)
"""Columns of no preset that ceilings are worked out from."""


def flops_a_cycle(launch: Numbers, precision: str) -> tuple[float, str] | None:
    """Operations of all SMs in a cycle, and where that comes from."""
    read = positive(launch.raw(_PEAK_COLUMNS[precision]))
    if read is not None:
        return read, MEASURED
    ratio = 1.0 if precision == "FP32" else positive(launch.raw(_FP64_RATIO))
    lanes = product(launch.value("sm_count"), fp32_lanes(launch.capability))
    if lanes is None or ratio is None or precision == "FP16":
        return None
    return lanes * FLOPS_OF_FMA / ratio, COMPUTED


def compute(launch: Numbers, precision: str, manifest: Manifest | None) -> Ceiling | None:
    """The most operations a second that the SMs do in one precision."""
    peak = flops_a_cycle(launch, precision)
    if peak is None:
        return None
    label = f"{precision} peak"
    if launch.hertz is not None:
        return Ceiling(label, "compute", peak[0] * launch.hertz, peak[1])
    highest = product(None if manifest is None else manifest.gpu.max_sm_mhz, 1e6)
    highest = highest or product(launch.raw(_SM_CLOCK), 1e3)
    if highest is None:
        return None
    return Ceiling(f"{label} at the highest clock", "compute", peak[0] * highest, DATASHEET)


def tensor_peak(launch: Numbers, manifest: Manifest | None) -> Ceiling | None:
    """The most operations a second of the tensor cores with the operands that a kernel reads.

    ``None`` where its launch specification names no type of them, or several.
    """
    source = None if manifest is None else manifest.source
    arguments = None if source is None else (source.specification or {}).get("arguments")
    kinds = {
        argument.get("type")
        for argument in (arguments if isinstance(arguments, list) else ())
        if isinstance(argument, dict) and "shape" in argument and not argument.get("output")
    }
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    lanes = product(tensor_fmas(launch.capability, str(kind)), launch.value("sm_count"))
    peak = product(lanes, product(launch.hertz, FLOPS_OF_FMA))
    return None if peak is None else Ceiling(f"tensor peak, {kind}", "compute", peak, COMPUTED)


def bandwidths(launch: Numbers) -> tuple[Ceiling, ...]:
    """The most bytes a second of L1, L2 and device memory, where they can be worked out."""
    own = PREDICTED if launch.predicted else MEASURED
    found: tuple[tuple[str, str, float | None], ...] = (
        ("DRAM", MEASURED, _peak(launch, _DRAM)),
        ("DRAM", own, _busy_dram(launch)),
        ("DRAM", DATASHEET, _wired_dram(launch)),
        ("L2", MEASURED, _peak(launch, _L2)),
        ("L2", own, _busy_l2(launch)),
        (L1_LABEL, MEASURED, _peak(launch, _L1)),
        (L1_LABEL, COMPUTED, _l1(launch)),
    )
    best: dict[str, Ceiling] = {}
    for label, origin, value in found:
        if value is not None:
            best.setdefault(label, Ceiling(label, "bandwidth", value, origin))
    return tuple(best.values())


def _peak(launch: Numbers, columns: tuple[str, str]) -> float | None:
    """Bytes a second, from the most in a cycle and the clock."""
    a_cycle, clock = columns
    return product(launch.raw(a_cycle), launch.raw(clock))


def _busy_dram(launch: Numbers) -> float | None:
    busy = launch.share("dram_throughput")
    if busy is None or busy < launch.least_utilization:
        return None
    return product(launch.value("dram_bandwidth"), 1 / busy)


def _busy_l2(launch: Numbers) -> float | None:
    """The rate at which this kernel's mix of accesses would fill the busiest stage of L2."""
    known = [launch.share(name) for name in ("l2_to_sm", "sm_to_l2", "l2_throughput")]
    busy = max((each for each in known if each is not None), default=None)
    if busy is None or busy < launch.least_utilization or not launch.seconds:
        return None
    return product(launch.traffic().l2, 1 / (busy * launch.seconds))


def _wired_dram(launch: Numbers) -> float | None:
    transfers = product(launch.raw(_MEMORY_CLOCK), 1e3 * TRANSFERS_A_CLOCK)
    return product(transfers, product(launch.raw(_BUS_WIDTH), 1 / 8))


def _l1(launch: Numbers) -> float | None:
    known = architecture(launch.capability)
    everywhere = product(None if known is None else known.l1_bytes, launch.value("sm_count"))
    return product(everywhere, launch.value("sm_clock"))
