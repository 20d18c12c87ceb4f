"""What single values of a launch say by themselves, whatever else its capture lacks.

A capture of a few metrics seldom decides what limits a kernel, and still shows that stores touch
eight times the sectors that they need. Each finding is a function of this file: from what is known
of one launch to a sentence, or to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.architectures import COMMON, FLOPS_OF_FMA, fp32_lanes
from kernelprof.analysis.metrics.catalogue import names_read
from kernelprof.analysis.metrics.groups import BULK_COPIES, SM_PIPES
from kernelprof.analysis.metrics.waste import WIDEST_REQUEST_SECTORS
from kernelprof.model.capture import OWN_COLUMNS
from kernelprof.model.diagnosis import MetricFinding
from kernelprof.model.numbers import factor, number, quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.analysis.metrics.facts import Facts

    ValueOf = Callable[[str], float | None]

SECTORS_OF_FOUR_BYTES: Final = 4.0
"""Sectors of a request of 32 neighbouring 4-byte values: 128 bytes, by 32."""
NOTABLE: Final = 1.25
"""Ratio to the ideal from which an access is worth a sentence; the boundary checks of block tiles
make 1.1 (``strided_read`` of ``tests/captures/gemm_series.full.raw.csv``)."""
NOTABLE_SHARE: Final = 0.10
BUSY: Final = 60.0
"""Percent of a peak; Nsight Compute's SOLBottleneck rule (2025.3) looks at units from here on."""
SAME: Final = 0.5
"""Percent of a peak; closer values are of one unit."""
FEW_THREADS: Final = 28.0
LOW_OCCUPANCY: Final = 25.0
UNIFORM: Final = 99.5
MOST_VALUES: Final = 3
DESCRIPTIVE: Final = (
    "device__", "launch__", "profiler__", "c2clink__", "numa__", "nvlink__", "pcie__", OWN_COLUMNS
)  # fmt: skip
"""What describes the GPU and the launch, and how both were measured."""


def list_findings(facts: Facts, row: int) -> tuple[MetricFinding, ...]:
    """Return what the known values of a launch say, the most telling first."""

    def value_of(name: str) -> float | None:
        if not facts.has(name)[row]:
            return None
        return float(facts.values(name)[row])

    results = [each for find in _ALL for each in find(value_of)]
    results += _arithmetic(value_of, fp32_lanes(facts.capture.launches[row].compute_capability))
    results = results or list(_no_waste(value_of)) or list(_values(facts, row))
    return tuple(sorted(results, key=lambda each: -each.weight))


def _no_waste(value_of: ValueOf) -> Iterator[MetricFinding]:
    for name, text in (
        ("global_sectors", "Global accesses touch the sectors that their bytes need, within 10 %."),
        (
            "shared_wavefronts",
            "Shared memory takes the wavefronts that its accesses need, within 10 %.",
        ),
    ):
        if value_of(name) and value_of(f"{name}_ideal") is not None:
            yield MetricFinding(text, name, None, 0.0)
    if value_of("local_sectors") == 0:
        yield MetricFinding("Nothing goes through local memory.", "local_sectors", None, 0.0)


def _values(facts: Facts, row: int) -> Iterator[MetricFinding]:
    """What there is, where nothing can be said of it.

    Of a raw page only what a diagnosis reads of it: it may have thousands of other columns.
    """
    read = names_read() if facts.capture.page == "raw" else None
    there = [
        (name, column.values[row], column.unit)
        for name, column in facts.capture.columns.items()
        if not name.startswith(DESCRIPTIVE) and (read is None or name in read)
    ]
    values = [each for each in there if each[1] == each[1]][:MOST_VALUES]
    if not values:
        yield MetricFinding("There is no counter of this launch in the capture.", "", None, 0.0)
    for name, value, unit in values:
        text = f"{name} is {quantity(float(value), unit)}, which by itself points to nothing."
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
            against = f"{factor(ratio)} what their bytes need"
        elif each > WIDEST_REQUEST_SECTORS * NOTABLE:
            ratio = each / SECTORS_OF_FOUR_BYTES
            against = (
                f"{factor(ratio)} what 4-byte values side by side need, and "
                f"{factor(each / WIDEST_REQUEST_SECTORS)} what 16-byte ones do"
            )
        elif each > SECTORS_OF_FOUR_BYTES * NOTABLE:
            ratio = each / SECTORS_OF_FOUR_BYTES
            against = f"{factor(ratio)} what 4-byte values side by side need; 16-byte ones need 16"
        else:
            continue
        if ratio < NOTABLE:
            continue
        text = f"Global {kind}s touch {number(each)} sectors per request, {against}."
        yield MetricFinding(text, f"global_{kind}_sectors", "uncoalesced-global-access", ratio)


def _excess_sectors(value_of: ValueOf) -> Iterator[MetricFinding]:
    bulk = sum(value_of(name) or 0.0 for name in BULK_COPIES)
    what = "sectors of global accesses are more than their bytes need"
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
        share = number(100 * (1 - ideal / actual))
        weight = actual / max(ideal, 1.0)
        yield MetricFinding(f"{share} % of the {what}.", metric, bottleneck, weight)


def _bank_conflicts(value_of: ValueOf) -> Iterator[MetricFinding]:
    conflicts = value_of("shared_bank_conflicts")
    if conflicts is None:
        what = "wavefronts of shared memory are more than its accesses need"
        yield from _excess(value_of, "shared_wavefronts", what, "shared-bank-conflicts")
        return
    if not conflicts:
        return
    wavefronts = value_of("shared_wavefronts_measured")
    if wavefronts is None:
        text = f"{number(conflicts)} wavefronts of shared memory are bank conflicts."
        yield MetricFinding(text, "shared_bank_conflicts", "shared-bank-conflicts", 1.0)
    elif wavefronts and conflicts >= NOTABLE_SHARE * wavefronts:
        share = min(conflicts / wavefronts, 1.0)
        text = f"{number(100 * share)} % of the wavefronts of shared memory are bank conflicts."
        weight = 1.0 / max(1.0 - share, 0.03)
        yield MetricFinding(text, "shared_bank_conflicts", "shared-bank-conflicts", weight)


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
            f"{number(100 * share)} % of the sectors belong to local memory: spilled registers, or "
            "arrays indexed at run time."
        )
        yield MetricFinding(
            text, "local_sectors", "local-memory-traffic", 1.0 / max(1.0 - share, 0.03)
        )


def _divergence(value_of: ValueOf) -> Iterator[MetricFinding]:
    block = value_of("block_size")
    if block is not None and block < COMMON.warp_size:
        size = "1 thread" if block == 1 else f"{number(block)} threads"
        text = f"A block has {size}, so most of a warp's 32 lanes do nothing."
        yield MetricFinding(
            text, "block_size", "warp-divergence", COMMON.warp_size / max(block, 1.0)
        )
    threads = value_of("threads_per_instruction")
    if threads is not None and 0 < threads < FEW_THREADS:
        text = f"{number(threads)} of a warp's 32 threads take part in an average instruction."
        weight = COMMON.warp_size / threads
        yield MetricFinding(text, "threads_per_instruction", "warp-divergence", weight)
    uniform = value_of("branch_uniformity")
    if uniform is not None and uniform >= UNIFORM:
        text = "Threads of a warp stay together at all branches: divergence is not the cause."
        yield MetricFinding(text, "branch_uniformity", None, 0.1)
    if uniform is not None and uniform < 100 * (1 - NOTABLE_SHARE):
        text = f"Threads of a warp go separate ways at {number(100 - uniform)} % of the branches."
        yield MetricFinding(text, "branch_uniformity", "warp-divergence", 100 / max(uniform, 3.0))


def _busy_units(value_of: ValueOf) -> Iterator[MetricFinding]:
    there = {name: value for name in _UNITS if (value := value_of(name)) is not None}
    for name, value in there.items():
        part_named = any(abs(there.get(part, -1.0) - value) < SAME for part in _PARTS)
        if value >= BUSY and not (name == "memory_throughput" and part_named):
            text = f"{_UNITS[name][0].upper()}{_UNITS[name][1:]} is at {number(value)} % of peak."
            yield MetricFinding(text, name, _LIMITS.get(name), value / BUSY)
    whole = ("sm_throughput", "memory_throughput")
    if all(name in there for name in whole) and not any(each >= BUSY for each in there.values()):
        name = max(there, key=lambda each: there[each])
        text = (
            f"No unit is near its limit: the busiest is {_UNITS[name]}, at "
            f"{number(there[name])} % of peak. Warps wait."
        )
        yield MetricFinding(text, name, None, 0.5)


_UNITS: Final = {
    "dram_throughput": "device memory",
    "l2_throughput": "L2",
    "l1_throughput_active": "L1/TEX",
    "sm_throughput": "the SM's busiest part",
    "memory_throughput": "the memory system's busiest part",
    "issue_slots_active": "the issue of instructions",
}
_PARTS: Final = ("dram_throughput", "l2_throughput", "l1_throughput_active")
_PARTS_OF_SM: Final = ("issue_slots", "issue_slots_active", *SM_PIPES)
_LIMITS: Final = {"dram_throughput": "dram-bandwidth", "l2_throughput": "l2-bandwidth"}


def _idle_sm(value_of: ValueOf) -> Iterator[MetricFinding]:
    parts = {name: value for name in _PARTS_OF_SM if (value := value_of(name)) is not None}
    if value_of("sm_throughput") is None and parts and max(parts.values()) < BUSY:
        name = max(parts, key=lambda each: parts[each])
        text = (
            "No issue slot or pipe that the capture shows is near its limit: the busiest is at "
            f"{number(parts[name])} % of peak."
        )
        yield MetricFinding(text, name, None, 0.3)


def _arithmetic(value_of: ValueOf, lanes: int | None) -> Iterator[MetricFinding]:
    rates = [value_of(name) for name in ("ffma_rate", "fadd_rate", "fmul_rate")]
    sms = value_of("sm_count")
    if (
        value_of("fma_pipe") is not None
        or not (lanes and sms)
        or all(each is None for each in rates)
    ):
        return
    fused, others = rates[0] or 0.0, sum(each or 0.0 for each in rates[1:])
    share = 100.0 * (FLOPS_OF_FMA * fused + others) / (FLOPS_OF_FMA * lanes * sms)
    text = f"FP32 arithmetic runs at {number(share)} % of the GPU's peak."
    yield MetricFinding(text, "ffma_rate", "fp32-throughput" if share >= BUSY else None, 0.45)


def _bandwidth(value_of: ValueOf) -> Iterator[MetricFinding]:
    duration = value_of("duration")
    moved = [value_of(name) for name in ("dram_bytes_read", "dram_bytes_written")]
    rate = value_of("dram_bandwidth")
    there = [each for each in moved if each is not None]
    if rate is None and duration and there:
        rate = sum(there) / (duration * 1e-9)
    if value_of("dram_throughput") is not None or not rate:
        return
    what = "moves" if len(there) != 1 else "reads" if moved[0] is not None else "writes"
    text = f"Device memory {what} {quantity(rate, 'byte/s')}; compare it with your GPU's peak."
    yield MetricFinding(text, "dram_bandwidth", None, 0.4)


def _parallelism(value_of: ValueOf) -> Iterator[MetricFinding]:
    waves, blocks, sms = value_of("waves_per_sm"), value_of("grid_size"), value_of("sm_count")
    if blocks is not None and sms is not None and blocks < sms:
        text = f"The grid has {number(blocks)} blocks for {number(sms)} SMs."
        yield MetricFinding(text, "grid_size", "small-grid", sms / max(blocks, 1.0))
    elif waves is not None and waves < 1:
        text = f"The grid fills {number(100 * waves)} % of the GPU once."
        yield MetricFinding(text, "waves_per_sm", "small-grid", 1.0 / max(waves, 0.01))
    for name, words in (("theoretical", "can hold"), ("achieved", "hold")):
        occupancy = value_of(f"{name}_occupancy")
        if occupancy is not None and occupancy <= LOW_OCCUPANCY:
            text = f"SMs {words} {number(occupancy)} % of the warps that fit."
            yield MetricFinding(text, f"{name}_occupancy", "low-occupancy", 1.0)
            return


_ALL: Final = (
    _global_accesses,
    _excess_sectors,
    _bank_conflicts,
    _local_memory,
    _divergence,
    _parallelism,
    _busy_units,
    _idle_sm,
    _bandwidth,
)
