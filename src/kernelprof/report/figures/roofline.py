"""The roofline of a launch, or of a kernel before and after: operations a byte, and the limits."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.architectures import (
    COMMON,
    FLOPS_OF_FMA,
    architecture,
    fp32_lanes,
    tensor_fmas,
)
from kernelprof.analysis.rules import Subsystem
from kernelprof.launch.run.trial import timing_facts
from kernelprof.model.numbers import number, share
from kernelprof.report.charts.roofline import (
    COMPUTED,
    DATASHEET,
    MEASURED,
    PREDICTED,
    Ceiling,
    Point,
)
from kernelprof.report.figures.measured import Medians, Numbers, finite, positive, product
from kernelprof.report.figures.memory import WAVEFRONT, shared_wavefronts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.model.comparison import InputChange
    from kernelprof.model.manifest import Manifest, TimingFacts
    from kernelprof.model.snapshot import KernelSnapshot

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
    r"(?:op_(?P<op>[a-z]+)_)?src_(?P<src>[a-z0-9_]+?)(?:_dst_(?P<dst>[a-z0-9]+))?"
    r"(?:_sparsity_(?P<sparse>on|off))?\.sum"
)
_TENSOR_TYPES: Final = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "tf32": "tf32",
    "fp8": "float8",
    "fp4_fp6": "float6",
    "fp4_fp6_fp8": "float8",
    "fp4": "float4",
}
"""Types of operands as counters and the table of architectures name them, by the widest."""


_MOVED: Final = "A few FP16 multiply-adds are left out: compilers use these to move constants."


@dataclass(frozen=True, slots=True)
class FlopCount:
    """Operations a second in the precision that takes the kernel's arithmetic time."""

    precision: str
    rate: float
    ceiling: Ceiling | None
    others: str = ""
    """What was counted besides, in a sentence; empty where it is little."""


def count_operations(launch: Numbers, manifest: Manifest | None) -> FlopCount | None:
    """What a launch computes; ``None`` where the counters do not say.

    A rate of zero is an answer: the launch has no floating-point arithmetic.
    """
    tensor = _tensor(launch)
    rates = {name: _rate(launch, name) for name in OPERATIONS}
    measured = {name: rate for name, rate in rates.items() if rate is not None}
    if tensor is not None and tensor.rate >= max(measured.values(), default=0.0):
        return tensor
    if tensor is None and uses_tensor_cores(launch):
        return None
    working = {name: rate for name, rate in measured.items() if rate > 0}
    moved = working.pop("FP16", 0.0) if _only_moves(launch) else 0.0
    if not working:
        if len(measured) < len(OPERATIONS):
            return None
        return FlopCount("FP32", 0.0, compute(launch, "FP32", manifest), _MOVED if moved else "")
    precision = _largest(launch, working)
    total = sum(working.values())
    others = [
        f"{name} ({share(rate / total)})"
        for name, rate in working.items()
        if name != precision and rate >= NOTABLE_REST * total
    ]
    left_out = f"Operations in {' and '.join(others)} are left out." if others else ""
    peak = compute(launch, precision, manifest)
    return FlopCount(precision, working[precision], peak, left_out)


def uses_tensor_cores(launch: Numbers) -> bool:
    """Whether matrix instructions do notable work, which the counters of threads do not see."""
    busy = launch.share("tensor_pipe") or 0.0
    fp16, sms = launch.value("hfma_rate"), launch.positive("sm_count")
    if fp16 is not None and sms is not None:
        busy -= fp16 / (sms * COMMON.fp16_lanes_of_tensor_pipe)
    return busy >= TENSOR_NOTABLE


def _rate(launch: Numbers, precision: str) -> float | None:
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
    if threads is None and launch.predicted:
        threads = launch.positive("threads_per_instruction")  # predictions do not count predicates
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


def _tensor(launch: Numbers) -> FlopCount | None:
    """Operations of the tensor cores on the path that does most; few sets count them."""
    rates = {name: _operations_a_second(launch, name) for name in launch.tensor_columns}
    column = max(rates, key=rates.__getitem__, default="")
    if not column or rates[column] <= 0:
        return None
    match = _TENSOR_PATH.search(column)
    kinds = [match["src"], match["dst"]] if match else []
    kind = " to ".join(each.upper().replace("_", "/") for each in kinds if each)
    sparse = " sparse" if match and match["sparse"] == "on" else ""
    label = f"tensor cores ({kind}{sparse})" if kind else "tensor cores"
    return FlopCount(label, rates[column], _tensor_ceiling(launch, column, f"{label} peak"))


def _operations_a_second(launch: Numbers, column: str) -> float:
    own = launch.raw(f"{column}.per_second")
    by_cycle = product(launch.raw(f"{column}.per_cycle_elapsed"), launch.hertz)
    return by_cycle or 0.0 if own is None else own


def _tensor_ceiling(launch: Numbers, column: str, label: str) -> Ceiling | None:
    """The peak of one kind of operation: ncu's, or by the table of architectures."""
    peak = positive(launch.raw(f"{column}.peak_sustained_elapsed.per_second"))
    if peak is not None:
        return Ceiling(label, "compute", peak, MEASURED)
    match, chip = _TENSOR_PATH.search(column), architecture(launch.capability)
    kind = _TENSOR_TYPES.get(match["src"], "") if match else ""
    if match is None or chip is None or kind in chip.geforce_fmas:
        return None  # the capture does not tell GeForce from other GPUs
    dense = product(tensor_fmas(launch.capability, kind), launch.value("sm_count"))
    if match["op"] in ("hmma", "imma"):
        dense = None if match["sparse"] == "on" else product(dense, 1 / (chip.mma_sync or 1.0))
    elif match["sparse"] == "on":
        dense = product(dense, chip.sparse_fmas)
    peak = product(dense, product(launch.hertz, FLOPS_OF_FMA))
    return None if peak is None else Ceiling(label, "compute", peak, COMPUTED)


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

_L2_STAGES: Final = ("l2_to_sm", "sm_to_l2", "l2_throughput")
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
    precision = str(kind).partition("_")[0]  # float8_e4m3
    name = "" if manifest is None else manifest.gpu.name or ""
    lanes = product(tensor_fmas(launch.capability, precision, name), launch.value("sm_count"))
    peak = product(lanes, product(launch.hertz, FLOPS_OF_FMA))
    return None if peak is None else Ceiling(f"tensor peak, {kind}", "compute", peak, COMPUTED)


def peak_bandwidths(launch: Numbers) -> tuple[Ceiling, ...]:
    """The most bytes a second of L1, L2 and device memory, where they can be worked out."""
    own = PREDICTED if launch.predicted else MEASURED
    peaks = [product(*map(launch.raw, columns)) for columns in (_DRAM, _L2, _L1)]
    transfers = product(launch.raw(_MEMORY_CLOCK), 1e3 * TRANSFERS_A_CLOCK)
    chip = architecture(launch.capability)
    l1_bytes = product(None if chip is None else chip.l1_bytes, launch.value("sm_count"))
    levels: tuple[tuple[str, str, float | None], ...] = (
        ("DRAM", MEASURED, peaks[0]),
        ("DRAM", own, _busy(launch, launch.value("dram_bandwidth"), 1.0, "dram_throughput")),
        ("DRAM", DATASHEET, product(transfers, product(launch.raw(_BUS_WIDTH), 1 / 8))),
        ("L2", MEASURED, peaks[1]),
        ("L2", own, _busy(launch, launch.traffic().l2, launch.seconds, *_L2_STAGES)),
        (L1_LABEL, MEASURED, peaks[2]),
        (L1_LABEL, COMPUTED, product(l1_bytes, launch.value("sm_clock"))),
    )
    best: dict[str, Ceiling] = {}
    for label, origin, value in levels:
        if value is not None:
            best.setdefault(label, Ceiling(label, "bandwidth", value, origin))
    return tuple(best.values())


def _busy(
    launch: Numbers, moved: float | None, seconds: float | None, *stages: str
) -> float | None:
    """The rate at which this kernel's mix of accesses would fill the busiest of these stages."""
    busy = max((each for each in map(launch.share, stages) if each is not None), default=0.0)
    if busy < launch.least_utilization or not seconds:
        return None
    return product(moved, 1 / (busy * seconds))


IDEAL: Final = "ideal"
SPECIFIED: Final = "useful"
"""Operations by the launch specification, where the counters do not give them."""

_WHAT: Final = {
    "DRAM": "bytes read from and written to device memory",
    "L2": "sectors that L1 reads from or writes to L2",
    "L1": "sectors of global loads and stores and of bulk copies (TMA)",
    "shared": "wavefronts of shared memory, 128 bytes each",
}
_CALLED: Final = {"shared": "shared memory"}
_OTHER_CHIP: Final = frozenset({"GPU", "compute capability"})
_NO_COUNTERS: Final = (
    "There is no roofline: counters of floating-point instructions or bytes are missing {} the "
    "change."
)
_LEGEND: Final = "Hollow: before. Filled: after. Lines join the two points of each memory level."


@dataclass(frozen=True, slots=True)
class Roofline:
    """A launch among its limits; ``about`` are sentences on its operations, bytes and ideal."""

    points: tuple[Point, ...]
    ceilings: tuple[Ceiling, ...]
    about: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """The sentences below the chart."""
        limits = ", ".join(each.title for each in self.ceilings)
        return " ".join((*self.about, *([f"Limits: {limits}."] if limits else ())))


def roofline_figure(
    launch: Numbers,
    flop_count: FlopCount | None,
    timing: TimingFacts | None,
    manifest: Manifest | None,
    place: Subsystem | None = None,
) -> Roofline | None:
    """The chart of one launch; ``None`` where nothing of it is known.

    ``timing`` is given where the launch is of the kernel that it was measured for, and ``place``
    where a verdict says that it is held back.
    """
    flop_count = flop_count or _specified(launch, timing, manifest)
    arithmetic = None if flop_count is None else flop_count.ceiling
    ceilings = (*(() if arithmetic is None else (arithmetic,)), *peak_bandwidths(launch))
    ceilings = tuple(each._replace(limiting=_is_at(each, place)) for each in ceilings)
    points = _points(launch, flop_count)
    ideal = _ideal(points, ceilings, timing)
    if not points and not ideal:
        if flop_count is None or flop_count.rate != 0:
            return None
        none = "There is no roofline: the kernel executes no floating-point arithmetic."
        return Roofline((), (), tuple(filter(None, (none, flop_count.others))))
    about = [] if flop_count is None or not points else [*_about(flop_count, points, launch)]
    if ideal:
        about.append("The ideal point assumes the minimum operations and bytes for this problem.")
    return Roofline((*points, *ideal), ceilings, tuple(about))


def _is_at(ceiling: Ceiling, place: Subsystem | None) -> bool:
    if ceiling.kind == "compute":
        return place is Subsystem.PIPES
    return place is not None and ceiling.label in _LIMIT_OF.get(place, ())


_LIMIT_OF: Final = {
    Subsystem.DRAM: ("DRAM",),
    Subsystem.L2: ("L2",),
    Subsystem.L1: (L1_LABEL,),
    Subsystem.SHARED: (L1_LABEL,),
}


def _specified(
    launch: Numbers, timing: TimingFacts | None, manifest: Manifest | None
) -> FlopCount | None:
    if timing is None or not timing.flops or launch.seconds is None:
        return None
    tensor = uses_tensor_cores(launch)
    ceiling = tensor_peak(launch, manifest) if tensor else compute(launch, "FP32", manifest)
    return FlopCount(SPECIFIED, timing.flops / launch.seconds, ceiling)


def _points(launch: Numbers, flop_count: FlopCount | None) -> tuple[Point, ...]:
    """The launch at every level whose bytes are known; a logarithmic axis has no zero."""
    operations = product(None if flop_count is None else flop_count.rate, launch.seconds)
    if flop_count is None or operations is None:
        return ()
    traffic = launch.traffic()
    shared = product(shared_wavefronts(launch), WAVEFRONT)
    levels = {"DRAM": traffic.dram, "L2": traffic.l2, "L1": traffic.l1, "shared": shared}
    sizes = {level: size for level, value in levels.items() if (size := finite(value))}
    labels = {level: f"this kernel at {_CALLED.get(level, level)}" for level in sizes}
    return tuple(
        Point(labels[level], level, operations / size, flop_count.rate)
        for level, size in sizes.items()
        if size > 0
    )


def _ideal(
    points: tuple[Point, ...], ceilings: Iterable[Ceiling], timing: TimingFacts | None
) -> tuple[Point, ...]:
    """What the problem itself needs, at the roof there or else at the measured time."""
    if timing is None or not timing.flops or not timing.min_bytes:
        return ()
    intensity = timing.flops / timing.min_bytes
    heights = {
        each.kind: each.value * (1.0 if each.kind == "compute" else intensity)
        for each in ceilings
        if each.kind == "compute" or each.label == "DRAM"
    }
    height = points[0].flop_per_second if points else 0.0
    if len(heights) == 2:
        height = min(heights.values())
    elif timing.median_ns > 0:
        height = timing.flops / (timing.median_ns * 1e-9)
    if not (0 < intensity < math.inf) or not height:
        return ()
    label = f"ideal (minimum operations and bytes): {number(intensity)} FLOP per byte"
    return (Point(label, IDEAL, intensity, height),)


def _about(flop_count: FlopCount, points: Iterable[Point], launch: Numbers) -> Iterable[str]:
    if flop_count.precision == SPECIFIED:
        yield "The operation count comes from the launch specification: no counter provides it."
    elif flop_count.precision.startswith("tensor"):
        yield f"The chart counts operations on the {flop_count.precision}."
    else:
        basis = "the machine code (predicted)" if launch.predicted else "the hardware counters"
        what = f"{flop_count.precision} operations (a fused multiply-add as two)"
        yield f"The chart counts {what}, from {basis}."
    if flop_count.others:
        yield flop_count.others
    bytes_by_level = "; ".join(f"{each.level}, {_WHAT[each.level]}" for each in points)
    yield f"Bytes by level: {bytes_by_level}."


def both_sides(
    kernels: tuple[KernelSnapshot, KernelSnapshot],
    numbers: tuple[Medians, Medians],
    machine: Iterable[InputChange],
) -> Roofline:
    """Both sides of a kernel with the way from one to the other; without points, why not."""
    if any(each.kind in _OTHER_CHIP for each in machine):
        why = "The two GPUs have different limits, so they cannot share a roofline."
        return Roofline((), (), (why,))
    before, after = map(_side, kernels, numbers)
    if before is None or after is None:
        sides = (("before", before), ("after", after))
        lacking = " and ".join(name for name, side in sides if side is None)
        return Roofline((), (), (_NO_COUNTERS.format(lacking),))
    points = tuple(_joined(before.points, after.points))
    if not points:
        why = "There is no roofline: no memory level was measured both before and after."
        return Roofline((), (), next((e.about for e in (before, after) if not e.points), (why,)))
    ideal = [each for side in (before, after) for each in side.points if each.level == IDEAL]
    if len({each.flop_per_byte for each in ideal}) == 1:
        points += (max(ideal, key=lambda each: each.flop_per_second),)
    # Each limit once, as it was after the change.
    limits = {each.label: each for each in (*before.ceilings, *after.ceilings)}
    other = (f"Before: {each}" for each in before.about if each not in after.about)
    return Roofline(points, tuple(limits.values()), (_LEGEND, *after.about, *other))


def _side(kernel: KernelSnapshot, numbers: Medians) -> Roofline | None:
    times = [each for each in kernel.events_ns or kernel.profiled_ns if (finite(each) or 0) > 0]
    timing = None
    if times:
        timing = timing_facts(times, warm_up=0, flops=kernel.flops, min_bytes=kernel.min_bytes)
    return roofline_figure(numbers, count_operations(numbers, None), timing, None)


def _joined(before: Iterable[Point], after: Iterable[Point]) -> Iterable[Point]:
    arrived = {each.level: each for each in after if each.level != IDEAL}
    for start in before:
        if start.level in arrived:
            level, end = start.level, arrived[start.level]
            yield start._replace(label=f"before, at {level}", path=level, hollow=True)
            yield end._replace(label=f"after, at {level}", path=level)
