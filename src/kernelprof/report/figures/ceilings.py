"""The limits of a roofline: what the chip can do in a second at the clocks of one launch.

A limit that the profiler read from the chip is ``measured``; one from a table of units an SM and
the clock of the launch is ``computed``; with the highest clock that the chip allows, or from its
attributes alone, it is ``datasheet``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.architectures import FLOPS_OF_FMA, architecture, fp32_lanes
from kernelprof.report.charts.roofline import Ceiling
from kernelprof.report.figures.measured import capability

if TYPE_CHECKING:
    from kernelprof.model.manifest import Manifest
    from kernelprof.report.figures.measured import Numbers

MEASURED: Final = "measured"
COMPUTED: Final = "computed"
DATASHEET: Final = "datasheet"

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


def flops_a_cycle(measured: Numbers, row: int, precision: str) -> tuple[float, str] | None:
    """Operations of all SMs in a cycle, and where that comes from."""
    read = _positive(measured.raw(_PEAK_COLUMNS[precision], row))
    if read is not None:
        return read, MEASURED
    lanes = fp32_lanes(capability(measured, row))
    sms = _positive(measured.value("sm_count", row))
    if lanes is None or sms is None or precision == "FP16":
        return None
    fp32 = sms * lanes * FLOPS_OF_FMA
    if precision == "FP32":
        return fp32, COMPUTED
    ratio = _positive(measured.raw(_FP64_RATIO, row))
    return None if ratio is None else (fp32 / ratio, COMPUTED)


def compute(
    measured: Numbers, row: int, precision: str, manifest: Manifest | None
) -> Ceiling | None:
    """The most operations a second that the SMs do in one precision."""
    peak = flops_a_cycle(measured, row, precision)
    clock = _sm_clock(measured, row, manifest)
    if peak is None or clock is None:
        return None
    hertz, in_launch = clock
    label = f"{precision} peak"
    if not in_launch:
        label += " at the highest clock"
    origin = peak[1] if in_launch else DATASHEET
    return Ceiling(label, "compute", peak[0] * hertz, origin)


def bandwidths(measured: Numbers, row: int) -> tuple[Ceiling, ...]:
    """The most bytes a second of L1, L2 and device memory, where they can be worked out."""
    found = (_dram(measured, row), _l2(measured, row), _l1(measured, row))
    return tuple(each for each in found if each is not None)


def _dram(measured: Numbers, row: int) -> Ceiling | None:
    value, origin = _peak(measured, row, _DRAM), MEASURED
    if value is None:
        rate = _positive(measured.value("dram_bandwidth", row))
        busy = measured.share("dram_throughput", row)
        if rate is not None and busy is not None and busy >= measured.least_utilization:
            value = rate / busy
    if value is None:
        kilohertz = _positive(measured.raw(_MEMORY_CLOCK, row))
        bits = _positive(measured.raw(_BUS_WIDTH, row))
        if kilohertz is not None and bits is not None:
            value, origin = kilohertz * 1e3 * TRANSFERS_A_CLOCK * bits / 8, DATASHEET
    return None if value is None else Ceiling("DRAM", "bandwidth", value, origin)


def _l2(measured: Numbers, row: int) -> Ceiling | None:
    value = _peak(measured, row, _L2)
    return None if value is None else Ceiling("L2", "bandwidth", value, MEASURED)


def _l1(measured: Numbers, row: int) -> Ceiling | None:
    value, origin = _peak(measured, row, _L1), MEASURED
    if value is None:
        known = architecture(capability(measured, row))
        everywhere = _product(
            None if known is None else known.l1_bytes, measured.value("sm_count", row)
        )
        value, origin = _product(everywhere, measured.value("sm_clock", row)), COMPUTED
    return None if value is None else Ceiling("L1", "bandwidth", value, origin)


def _sm_clock(measured: Numbers, row: int, manifest: Manifest | None) -> tuple[float, bool] | None:
    """The SM clock in hertz, and whether it is that of the launch."""
    own = _positive(measured.value("sm_clock", row))
    if own is None:
        cycles = _positive(measured.value("sm_cycles_elapsed", row))
        nanoseconds = _positive(measured.value("duration", row))
        own = cycles / nanoseconds * 1e9 if cycles is not None and nanoseconds is not None else None
    if own is not None:
        return own, True
    highest = None if manifest is None else _positive(manifest.gpu.max_sm_mhz)
    if highest is not None:
        return highest * 1e6, False
    kilohertz = _positive(measured.raw(_SM_CLOCK, row))
    return None if kilohertz is None else (kilohertz * 1e3, False)


def _peak(measured: Numbers, row: int, columns: tuple[str, str]) -> float | None:
    """Bytes a second, from the most in a cycle and the clock."""
    a_cycle, clock = columns
    return _product(measured.raw(a_cycle, row), measured.raw(clock, row))


def _product(first: float | None, second: float | None) -> float | None:
    first, second = _positive(first), _positive(second)
    return None if first is None or second is None else first * second


def _positive(value: float | None) -> float | None:
    """A rate of zero limits nothing: it was not measured."""
    return value if value is not None and value > 0 else None
