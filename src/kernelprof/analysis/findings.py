"""Facts that single values of a launch show, even in a capture of a few metrics.

Such a capture seldom decides what limits a kernel, but may show that stores touch eight times the
sectors that they need. Each finding is a function of this file: from the known values of one launch
to a sentence, or to nothing.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace

from kernelprof.analysis.metrics.architectures import COMMON, FLOPS_OF_FMA, fp32_lanes
from kernelprof.analysis.metrics.catalogue import (
    CONFLICTS_OF,
    COUNTERS,
    LOCAL_BYTES_OF,
    OWN_SHARED,
    PEAK_SHARE,
    TCGEN05,
    names_read,
)
from kernelprof.analysis.metrics.gpus import GIGA, MOST_OF_PEAK, fewest_sms
from kernelprof.analysis.metrics.groups import BULK_COPIES, SM_PIPES, STALLS
from kernelprof.analysis.metrics.waste import WIDEST_REQUEST_SECTORS
from kernelprof.model.capture import OWN_COLUMNS, Origin
from kernelprof.model.diagnosis import MetricFinding
from kernelprof.model.library_kernel import takes_tensor_maps
from kernelprof.model.names import sentence
from kernelprof.model.numbers import count, factor, quantity, rounded, rounded_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.gpus import Gpu

    ValueOf = Callable[[str], float | None]

SECTORS_OF_FOUR_BYTES: Final = 4.0
"""Sectors of a request of 32 neighbouring 4-byte values: 128 bytes, by 32."""
NOTABLE: Final = 1.25
"""Ratio to the ideal from which an access is worth a sentence; the boundary checks of block tiles
make 1.1 (``strided_read`` of ``tests/captures/gemm_series.full.raw.csv``)."""
NOTABLE_SHARE: Final = 0.10
BYTES_OF_SPILL: Final = 4.0
"""Of a register and thread."""
BUSY: Final = 60.0
"""Percent of a peak; Nsight Compute's SOLBottleneck rule (2025.3) looks at units from here on."""
FULL: Final = 80.0
"""Percent of a peak above which that rule calls a kernel bound by the unit."""
SAME: Final = 0.5
"""Percent of a peak; closer values are of one unit."""
MOST_TIME: Final = 0.5
FEW_THREADS: Final = 28.0
LOW_OCCUPANCY: Final = 25.0
MANY_WARPS: Final = 60.0
"""Achieved occupancy in percent."""
FULL_L1: Final = 85.0
"""Percent of the peak of L1 while SMs are active."""
UNIFORM: Final = 99.5
MOST_VALUES: Final = 3
DESCRIPTIVE: Final = (
    "device__", "launch__", "profiler__", "c2clink__", "numa__", "nvlink__", "pcie__",
    "gpu__time_duration", OWN_COLUMNS,
)  # fmt: skip
"""What describes the GPU and the launch, and how both were measured."""


def list_findings(facts: Facts, row: int) -> tuple[MetricFinding, ...]:
    """Return the findings of a launch, those of the largest weight first."""

    def value_of(name: str) -> float | None:
        if not facts.has(name)[row]:
            return None
        return float(facts.values(name)[row])

    capability = facts.capture.launches[row].compute_capability
    gpu = facts.gpu(row)
    results = [each for find in _ALL for each in find(value_of)]
    results += _loads_and_stores(facts, row)
    results += _waits(facts, row)
    results += _busy_counters(facts, row)
    results += _full_l1(facts, row, value_of)
    results += _parallelism(value_of, fewest_sms(capability) if gpu is None else gpu.sms)
    results += _few_warps(facts, row, value_of)
    results += _bandwidth(value_of, gpu)
    results += _arithmetic(value_of, fp32_lanes(capability), gpu)
    results = results or list(_no_waste(value_of)) or list(_values(facts, row))
    if any(each.weight >= FULL / BUSY for each in results if each.metric.endswith(_OVER_ELAPSED)):
        # What fills a unit over all of the run time has blocks and warps enough.
        results = [
            replace(each, bottleneck=None) if each.bottleneck in _TOO_LITTLE else each
            for each in results
        ]
    return tuple(sorted(results, key=lambda each: -each.weight))


def _no_waste(value_of: ValueOf) -> Iterator[MetricFinding]:
    for name, text in (
        ("global_sectors", "Global accesses are coalesced: sectors are within 10 % of the ideal."),
        (
            "shared_wavefronts",
            "Shared memory has no notable bank conflicts: wavefronts are within 10 % of the ideal.",
        ),
    ):
        if value_of(name) and value_of(f"{name}_ideal") is not None:
            yield MetricFinding(text, name, None, 0.0)
    if value_of("local_sectors") == 0:
        yield MetricFinding("The kernel has no local-memory traffic.", "local_sectors", None, 0.0)


def _values(facts: Facts, row: int) -> Iterator[MetricFinding]:
    """Values that show nothing by themselves.

    Of a raw page only those that a diagnosis reads: it may have thousands of other columns.
    """
    read = names_read() if facts.capture.page == "raw" else None
    there = [
        (name, column.values[row], column.unit)
        for name, column in facts.capture.columns.items()
        if not name.startswith(DESCRIPTIVE) and (read is None or name in read)
    ]
    values = [each for each in there if each[1] == each[1]][:MOST_VALUES]
    if not values:
        yield MetricFinding("The capture contains no counters for this launch.", "", None, 0.0)
    for name, value, unit in values:
        text = (
            f"{name} is {quantity(float(value), unit)}; this value alone does not indicate "
            "a bottleneck."
        )
        yield MetricFinding(text, name, None, 0.0)


def _global_accesses(value_of: ValueOf) -> Iterator[MetricFinding]:
    for kind in ("load", "store"):
        sectors, requests = value_of(f"global_{kind}_sectors"), value_of(f"global_{kind}_requests")
        if not sectors or not requests:
            continue
        each = sectors / requests
        used = value_of(f"global_{kind}_bytes_per_sector")
        if used:
            ratio = COMMON.sector_bytes / used
            against = f"{factor(ratio)} the minimum for the bytes used"
        elif each > WIDEST_REQUEST_SECTORS * NOTABLE:
            ratio = each / SECTORS_OF_FOUR_BYTES
            against = (
                f"{factor(ratio)} the ideal for 4-byte elements and "
                f"{factor(each / WIDEST_REQUEST_SECTORS)} the ideal for 16-byte elements"
            )
        elif each > SECTORS_OF_FOUR_BYTES * NOTABLE:
            ratio = each / SECTORS_OF_FOUR_BYTES
            against = (
                f"{factor(ratio)} the ideal for 4-byte elements (for 16-byte elements, 16 sectors "
                "are ideal)"
            )
        else:
            continue
        if ratio < NOTABLE:
            continue
        text = f"Global {kind}s touch {rounded(each)} sectors per request, {against}."
        yield MetricFinding(text, f"global_{kind}_sectors", "uncoalesced-global-access", ratio)


def _excess_sectors(value_of: ValueOf) -> Iterator[MetricFinding]:
    bulk = sum(value_of(name) or 0.0 for name in BULK_COPIES)
    what = "global-memory sectors are wasted"
    return _excess(value_of, "global_sectors", what, "uncoalesced-global-access", bulk)


def _excess(
    value_of: ValueOf, metric: str, what: str, bottleneck: str, uncounted: float = 0.0
) -> Iterator[MetricFinding]:
    """What is beyond the ideal, where ``uncounted`` is what neither of the two counts."""
    actual, ideal = value_of(metric), value_of(f"{metric}_ideal")
    if not actual or ideal is None:
        return
    actual, ideal = actual + uncounted, ideal + uncounted
    if actual * (1 - NOTABLE_SHARE) >= ideal:
        share = rounded_quantity(100 * (1 - ideal / actual), "%")
        weight = actual / max(ideal, 1.0)
        yield MetricFinding(f"{share} of {what}.", metric, bottleneck, weight)


def _bank_conflicts(value_of: ValueOf) -> Iterator[MetricFinding]:
    conflicts = value_of("shared_bank_conflicts")
    if conflicts is None:
        what = "shared-memory wavefronts are caused by bank conflicts"
        yield from _excess(value_of, "shared_wavefronts", what, "shared-bank-conflicts")
        return
    if not conflicts:
        return
    wavefronts = value_of("shared_wavefronts_measured")
    if wavefronts is None:
        text = f"{rounded(conflicts)} shared-memory wavefronts are caused by bank conflicts."
        yield MetricFinding(text, "shared_bank_conflicts", "shared-bank-conflicts", 1.0)
    elif wavefronts and conflicts >= NOTABLE_SHARE * wavefronts:
        share = min(conflicts / wavefronts, 1.0)
        part = rounded_quantity(100 * share, "%")
        text = f"{part} of shared-memory wavefronts are caused by bank conflicts."
        weight = 1.0 / max(1.0 - share, 0.03)
        yield MetricFinding(text, "shared_bank_conflicts", "shared-bank-conflicts", weight)


def _lacks(facts: Facts, row: int, *names: str) -> bool:
    return not any(facts.has(name)[row] for name in names)


def _loads_and_stores(facts: Facts, row: int) -> Iterator[MetricFinding]:
    """What counts of loads and stores alone show, where their whole was not measured."""
    launch = facts.capture.launches[row]
    if launch.grid is None or launch.block is None:
        return
    threads = math.prod((*launch.grid, *launch.block))

    def sum_up(name: str) -> float:
        columns = (facts.capture.columns.get(name.format(each)) for each in ("ld", "st"))
        # A details page has what its rules say, rounded.
        own = (each for each in columns if each is not None and each.source is Origin.MEASURED)
        values = (float(each.values.item(row)) for each in own)
        return sum(each for each in values if each > 0)

    conflicts = sum_up(CONFLICTS_OF)
    lacks = partial(_lacks, facts, row)
    if lacks("shared_bank_conflicts", "shared_wavefronts") and conflicts >= (
        NOTABLE_SHARE * threads / COMMON.warp_size
    ):
        text = f"{rounded(conflicts)} shared-memory wavefronts are caused by bank conflicts."
        yield MetricFinding(text, CONFLICTS_OF.format("ld"), "shared-bank-conflicts", 1.0)
    moved = sum_up(LOCAL_BYTES_OF)
    if lacks("local_sectors", "local_load_sectors", "local_store_sectors") and moved >= (
        NOTABLE_SHARE * threads * BYTES_OF_SPILL
    ):
        text = (
            f"Local-memory loads and stores move {quantity(moved, 'byte')}: register "
            "spills, or arrays with run-time indices."
        )
        yield MetricFinding(text, LOCAL_BYTES_OF.format("ld"), "local-memory-traffic", 1.0)


def _local_memory(value_of: ValueOf) -> Iterator[MetricFinding]:
    sectors, others = (
        value_of(f"{space}_sectors")
        or sum(value_of(f"{space}_{kind}_sectors") or 0.0 for kind in ("load", "store"))
        for space in ("local", "global")
    )
    if not sectors:
        return
    others += sum(value_of(name) or 0.0 for name in BULK_COPIES)
    share = sectors / (sectors + others)
    if others and share >= NOTABLE_SHARE:
        text = (
            f"{rounded_quantity(100 * share, '%')} of memory sectors are for local memory: "
            "register spills, or arrays with run-time indices."
        )
        yield MetricFinding(
            text, "local_sectors", "local-memory-traffic", 1.0 / max(1.0 - share, 0.03)
        )


def _divergence(value_of: ValueOf) -> Iterator[MetricFinding]:
    block = value_of("block_size")
    if block is not None and block < COMMON.warp_size:
        size = "1 thread" if block == 1 else f"{rounded(block)} threads"
        text = f"A block has {size}: {COMMON.warp_size - block:.0f} of 32 lanes are inactive."
        yield MetricFinding(
            text, "block_size", "warp-divergence", COMMON.warp_size / max(block, 1.0)
        )
    threads = value_of("threads_per_instruction")
    if threads is not None and 0 < threads < FEW_THREADS:
        text = f"On average, {rounded(threads)} of the 32 threads of a warp are active."
        weight = COMMON.warp_size / threads
        yield MetricFinding(text, "threads_per_instruction", "warp-divergence", weight)
    uniform = value_of("branch_uniformity")
    if uniform is not None and uniform >= UNIFORM:
        text = "Branches are uniform within warps: no divergence."
        yield MetricFinding(text, "branch_uniformity", None, 0.1)
    # ncu writes 0 where a kernel has no branches.
    if uniform is not None and 0 < uniform < 100 * (1 - NOTABLE_SHARE):
        part = rounded_quantity(100 - uniform, "%")
        text = f"Threads of a warp diverge at {part} of the branches."
        yield MetricFinding(text, "branch_uniformity", "warp-divergence", 100 / max(uniform, 3.0))


def _busy_units(value_of: ValueOf) -> Iterator[MetricFinding]:
    there = {name: value for name in _UNITS if (value := value_of(name)) is not None}
    for name, value in there.items():
        part_named = any(abs(there.get(part, -1.0) - value) < SAME for part in _PARTS)
        if value >= BUSY and not (name == "memory_throughput" and part_named):
            part = rounded_quantity(value, "%")
            text = sentence(f"{_UNITS[name]} is at {part} of peak")
            yield MetricFinding(text, name, _limit_of(name, there), value / BUSY)
    whole = ("sm_throughput", "memory_throughput")
    if all(name in there for name in whole) and not any(each >= BUSY for each in there.values()):
        name = max(there, key=lambda each: there[each])
        part = rounded_quantity(there[name], "%")
        text = f"Latency-bound: no unit exceeds {part} of peak."
        # Of 56 launches with that many warps 32 waited for memory, 10 for atomics.
        full = (value_of("achieved_occupancy") or 0.0) >= MANY_WARPS
        yield MetricFinding(text, name, "memory-latency" if full else None, 0.5)


def _limit_of(unit: str, busy: Mapping[str, float]) -> str | None:
    """Return what a busy unit points to; ``busy`` is the utilization of all of them in percent.

    Of 32 launches with L2 at 80 % and DRAM at 60 to 80 %, DRAM limited 26 and L2 one.
    """
    if unit == "l2_throughput" and busy.get("dram_throughput", 0.0) >= BUSY:
        return None
    return _LIMITS.get(unit)


_UNITS: Final = {
    "dram_throughput": "DRAM",
    "l2_throughput": "L2",
    "l1_throughput_active": "L1/TEX",
    "sm_throughput": "the SM",
    "memory_throughput": "the memory system",
    "issue_slots_active": "instruction issue",
}
_PARTS: Final = ("dram_throughput", "l2_throughput", "l1_throughput_active")
_MEMORY: Final = ("memory_throughput", *_PARTS, "l1_throughput", "dram_bandwidth")
_WAITS: Final = ("warp_cycles_per_instruction", *(f"stall_{name}" for name in STALLS))
_ARITHMETIC: Final = ("issue_slots", "alu_pipe", "fma_pipe", "fp64_pipe", "xu_pipe", "tensor_pipe")
_PARTS_OF_SM: Final = ("issue_slots", "issue_slots_active", *SM_PIPES)
_LIMITS: Final = {"dram_throughput": "dram-bandwidth", "l2_throughput": "l2-bandwidth"}


def _full_l1(facts: Facts, row: int, value_of: ValueOf) -> Iterator[MetricFinding]:
    """What fills L1, where no count of accesses tells.

    Of 42 launches with L1 that full and with shared memory, that limited 36 (with bank conflicts
    16); of 17 without, uncoalesced accesses limited 12 and needed ones 4.
    """
    active, whole = value_of("l1_throughput_active"), value_of("memory_throughput")
    if active is None or whole is None or active < FULL_L1 or whole < FULL:
        return
    own = sum(float(facts.raw(name)[row]) for name in OWN_SHARED)
    if math.isnan(own):
        return
    verb = "uses" if own else "does not use"
    limit = "shared-memory-throughput" if own else "uncoalesced-global-access"
    text = f"L1 is saturated, and the kernel {verb} shared memory."
    yield MetricFinding(text, "l1_throughput_active", limit, active / BUSY)


def _few_warps(facts: Facts, row: int, value_of: ValueOf) -> Iterator[MetricFinding]:
    """Low occupancy, which is by design where one warp issues copies or matrix instructions."""
    multiplies = any(facts.raw(name)[row] > 0 for name in TCGEN05)
    by_design = multiplies or takes_tensor_maps(facts.capture.launches[row].kernel)
    names = [PEAK_SHARE.format("sm__throughput", cycles) for cycles in ("elapsed", "active")]
    busy, busiest = max((np.nan_to_num(facts.raw(each)[row]), each) for each in names)
    if multiplies and FULL <= busy <= MOST_OF_PEAK:
        text = f"The SM is at {rounded_quantity(busy, '%')} of peak in a kernel with tcgen05.mma."
        yield MetricFinding(text, busiest, "tensor-throughput", float(busy) / BUSY)
    for name in ("theoretical", "achieved"):
        occupancy = value_of(f"{name}_occupancy")
        if occupancy is not None and occupancy <= LOW_OCCUPANCY:
            text = f"{name.capitalize()} occupancy is {rounded_quantity(occupancy, '%')}"
            usual = f", which is normal for {'tcgen05' if multiplies else 'TMA'} kernels."
            text += usual if by_design else "."
            limit = "async-pipeline-stalls" if by_design else "low-occupancy"
            yield MetricFinding(text, f"{name}_occupancy", limit, 1.0)
            return


def _busy_counters(facts: Facts, row: int) -> Iterator[MetricFinding]:
    """The busiest of the counters that point to one bottleneck, as a share of its peak."""
    busiest: dict[str, tuple[float, str]] = {}
    for counter, limit in COUNTERS.items():
        for cycles in ("elapsed", "active"):
            name = PEAK_SHARE.format(counter, cycles)
            value = float(facts.raw(name)[row])
            if BUSY <= value <= MOST_OF_PEAK:
                busiest[limit] = max(busiest.get(limit, (0.0, "")), (value, name))
    if "dram-bandwidth" in busiest:
        busiest.pop("l2-bandwidth", None)  # as in _limit_of
    for limit, (value, name) in busiest.items():
        text = f"{name.split('.')[0]} is at {rounded_quantity(value, '%')} of peak."
        yield MetricFinding(text, name, limit, value / BUSY)


_OVER_ELAPSED: Final = (
    "_elapsed", "sm_throughput", "dram_throughput", "l2_throughput", "memory_throughput"
)  # fmt: skip
"""Ends of the names of metrics that are shares of all of the run time."""
_TOO_LITTLE: Final = ("small-grid", "low-occupancy")


def _idle_sm(value_of: ValueOf) -> Iterator[MetricFinding]:
    parts = {name: value for name in _PARTS_OF_SM if (value := value_of(name)) is not None}
    if value_of("sm_throughput") is not None or not parts:
        return
    name = max(parts, key=lambda each: parts[each])
    part = rounded_quantity(parts[name], "%")
    text = f"Neither the issue slots nor any measured pipe exceeds {part} of peak."
    others = any(value_of(each) is not None for each in (*_MEMORY, *_WAITS))
    if not others and parts.keys() >= set(_ARITHMETIC) and parts[name] < FULL:
        # All that is left to wait for is memory.
        yield MetricFinding(text, name, "memory-latency", 100.0 / parts[name])
    elif parts[name] < BUSY:
        yield MetricFinding(text, name, None, 0.3)


def _waits(facts: Facts, row: int) -> Iterator[MetricFinding]:
    """Waits by counts of warps, of which no rule has what it needs to decide."""
    share = float(facts.stall_share("long_scoreboard")[row])
    if not share >= MOST_TIME:
        return
    maps = takes_tensor_maps(facts.capture.launches[row].kernel)
    what, bottleneck = ("copies", "async-pipeline-stalls") if maps else ("memory", "memory-latency")
    text = f"Warps spend {rounded_quantity(100 * share, '%')} of their time waiting for {what}."
    yield MetricFinding(text, "stall_long_scoreboard", bottleneck, 1.0 / max(1.0 - share, 0.03))


def _arithmetic(value_of: ValueOf, lanes: int | None, gpu: Gpu | None) -> Iterator[MetricFinding]:
    rates = [value_of(name) for name in ("ffma_rate", "fadd_rate", "fmul_rate")]
    sms = value_of("sm_count") or (None if gpu is None else gpu.sms)
    if (
        value_of("fma_pipe") is not None
        or not (lanes and sms)
        or all(each is None for each in rates)
    ):
        return
    fused, others = rates[0] or 0.0, sum(each or 0.0 for each in rates[1:])
    share = 100.0 * (FLOPS_OF_FMA * fused + others) / (FLOPS_OF_FMA * lanes * sms)
    text = f"FP32 arithmetic runs at {rounded_quantity(share, '%')} of the GPU's peak."
    yield MetricFinding(text, "ffma_rate", "fp32-throughput" if share >= BUSY else None, 0.45)


def _bandwidth(value_of: ValueOf, gpu: Gpu | None) -> Iterator[MetricFinding]:
    duration = value_of("duration")
    moved = [value_of(name) for name in ("dram_bytes_read", "dram_bytes_written")]
    rate = value_of("dram_bandwidth")
    there = [each for each in moved if each is not None]
    if rate is None and duration and there:
        rate = sum(there) / (duration * 1e-9)
    if value_of("dram_throughput") is not None or not rate:
        return
    what = "" if len(there) != 1 else " read" if moved[0] is not None else " write"
    text = f"DRAM{what} throughput is {rounded_quantity(rate, 'byte/s')}"
    share = 0.0 if gpu is None else rate / (gpu.dram_gb_per_s * GIGA) * 100.0
    if gpu is not None and share <= MOST_OF_PEAK:
        peak = rounded_quantity(gpu.dram_gb_per_s * GIGA, "byte/s")
        text += f", {rounded_quantity(share, '%')} of the {peak} specified for {gpu.name}"
    busy = BUSY <= share <= MOST_OF_PEAK
    limit, weight = ("dram-bandwidth", share / BUSY) if busy else (None, 0.4)
    yield MetricFinding(f"{text}.", "dram_bandwidth", limit, weight)


def _parallelism(value_of: ValueOf, least_sms: float | None) -> Iterator[MetricFinding]:
    measured = any(value_of(each) is not None for each in (*_UNITS, *_PARTS_OF_SM))
    waves, blocks, sms = value_of("waves_per_sm"), value_of("grid_size"), value_of("sm_count")
    at_least = "at least " if sms is None else ""
    sms = sms or least_sms or 0.0
    if blocks is not None and blocks < sms:
        text = f"The grid has {count(round(blocks), 'block')} for {at_least}{rounded(sms)} SMs."
        yield MetricFinding(text, "grid_size", "small-grid", sms / max(blocks, 1.0))
    elif waves is not None and waves < 1:
        text = f"The grid has {rounded(waves)} waves."
        yield MetricFinding(text, "waves_per_sm", "small-grid", 1.0 / max(waves, 0.01))
    elif waves and not measured and math.ceil(waves) >= NOTABLE * waves:
        last = rounded_quantity(100 * (waves - math.floor(waves)), "%")
        text = f"The grid has {rounded(waves)} waves; the last wave is {last} full."
        yield MetricFinding(text, "waves_per_sm", "small-grid", math.ceil(waves) / waves)


_ALL: Final = (
    _global_accesses,
    _excess_sectors,
    _bank_conflicts,
    _local_memory,
    _divergence,
    _busy_units,
    _idle_sm,
)
