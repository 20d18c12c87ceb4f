"""Values that a metric can have, and what metrics of one launch imply about each other.

:data:`BOUNDS` are ranges of units. :data:`RELATIONS` are sums, products and bounds that always
hold: where one fails, either the values count as missing (``clears``), or the launch is judged with
low confidence and the contradiction is named. :data:`RULED_OUT` holds counters of Hopper and later
that other metrics show to be zero where a capture lacks them.

Limits were read off 1,246 different launches: those of ``tests/captures``, of the corpus and of
public reports of other GPUs. A comment has the range that was seen there; limits are wider.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain, starmap
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.architectures import COMMON, THREADS_ISSUED
from kernelprof.analysis.metrics.groups import BULK_COPIES, STALLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kernelprof.analysis.metrics.interval import BoolArray, FloatArray

    Values = Callable[[str], FloatArray]
    """A metric by its canonical name, NaN where it is missing."""

PERCENT_MARGIN: Final = 110.0
"""Largest percentage taken for real. Passes of one launch differ by a few percent; the largest in
our captures is 103.1 % (a maximum over SMs); a value beyond this is broken."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A range that every metric of a unit keeps (``unit`` of ``None``: any unit)."""

    unit: str | None
    low: float
    high: float
    reason: str


SMALLEST: Final = 1e-15
"""Smaller values are broken, or zero: one event in a launch of 1,000 s, in a cycle of one of 1,000
SMs at 3 GHz, is 3e-16 or 3e-14 %."""

BOUNDS: Final = (
    Bound(None, 0.0, float("inf"), "a count, time or share cannot be negative"),
    Bound("%", 0.0, PERCENT_MARGIN, f"a percentage above {PERCENT_MARGIN:g} is invalid"),
    Bound("byte/sector", 0.0, 32.5, "a sector holds 32 bytes"),
)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between metrics; ``broken`` says where it fails (missing values never do).

    ``optional`` metrics count as nothing where a capture lacks them.
    """

    metrics: tuple[str, ...]
    broken: Callable[..., BoolArray]
    reason: str
    clears: bool = False
    optional: frozenset[str] = frozenset()


def _exceeds(
    part: str, factor: float, whole: str, margin: float, reason: str, *, clears: bool = False
) -> Relation:
    """The first metric is a part of the second: more than ``factor`` of it is too much."""
    return Relation(
        (part, whole), lambda one, all_: np.greater(one, factor * all_ + margin), reason, clears
    )


def _zero_although(
    zero: str, other: str, least: float, reason: str, *, clears: bool = False
) -> Relation:
    """The first metric is zero although the second is more than rounding can hide."""
    return Relation(
        (zero, other), lambda none, some: np.equal(none, 0) & (some > least), reason, clears
    )


def _outside(metric: str, low: float, high: float, reason: str) -> Relation:
    return Relation((metric,), lambda values: np.less(values, low) | (values > high), reason)


def _differ(one: FloatArray, other: FloatArray, part: float, least: float) -> BoolArray:
    """Where two values of one quantity differ by more than a part of the larger, and ``least``."""
    return np.greater(np.abs(one - other), part * np.maximum(one, other) + least)


RARE_STATES: Final = 3
"""Warp states that versions of ``ncu`` leave out; none of them was ever long."""


def _stalls(cycles: FloatArray, duration: FloatArray, *stalls: FloatArray) -> BoolArray:
    """0.95 to 1.08 from 5 us on, up to 1.38 below."""
    total, missing = np.zeros_like(cycles), np.zeros(len(cycles), dtype=np.intp)
    for stall in stalls:
        unknown = np.isnan(stall)
        missing += unknown
        total += np.where(unknown, 0.0, stall)
    long = duration >= 5_000.0
    above = np.greater(total, np.where(long, 1.15, 1.5) * cycles + 0.5)
    return above | (long & (missing <= RARE_STATES) & (total < 0.85 * cycles - 0.5))


def _occupancy(theoretical: FloatArray, block: FloatArray, *limits: FloatArray) -> BoolArray:
    """1 to 2, by the warps that an SM of the architecture holds."""
    warps = np.minimum.reduce(limits) * np.ceil(block / COMMON.warp_size)
    least = 100.0 * warps / COMMON.warps_per_sm
    outside: BoolArray = (theoretical < 0.9 * least) | (theoretical > 2.2 * least)
    return outside


def _fma_lite_pipe(pipe: FloatArray, heavy: FloatArray, *others: FloatArray) -> BoolArray:
    """The half of the pipe without integers: 0.64 to 2 of each other from 30 % on."""
    *rates, threads, sms = others
    lite = 2.0 * pipe - heavy
    lanes = sms * THREADS_ISSUED / 2.0
    least = 0.3 * lanes * lite / 100.0 * threads / COMMON.warp_size
    below: BoolArray = (lite >= 30.0) & (
        np.add.reduce(rates[:3]) + np.nansum(rates[3:], axis=0) < least
    )
    return below


_LIMITS: Final = (
    "block_limit_registers", "block_limit_shared_mem", "block_limit_warps", "block_limit_blocks",
)  # fmt: skip
_RATES: Final = ("ffma_rate", "fadd_rate", "fmul_rate")
_HALF_RATES: Final = ("hfma_rate", "hadd_rate", "hmul_rate")
_STALLS: Final = tuple(f"stall_{name}" for name in STALLS)
_PARTS_OF_SM: Final = (
    "alu_pipe", "fma_heavy_pipe", "fp64_pipe", "xu_pipe", "tensor_pipe", "adu_pipe", "lsu_pipe",
    "instruction_throughput",
)  # fmt: skip
_BUSY_SM: Final = "the utilization of a pipe exceeds that of the busiest part of the SM"
_TOO_MUCH_ARITHMETIC: Final = "there is more arithmetic than the issued instructions allow"
_TOO_MANY_SECTORS: Final = "more than 32 sectors per request"

_PIPES: Final = (
    "alu_pipe", "fma_pipe", "fma_heavy_pipe", "fp64_pipe", "xu_pipe", "lsu_pipe", "adu_pipe",
    "tensor_pipe", "constant_cache",
)  # fmt: skip
_SLOWEST_DRAM: Final = 2e10
"""Bytes per second: less than half of what any GPU of compute capability 7.0 or newer has."""
_CYCLES_A_WARP: Final = {
    "alu_pipe": 2.0, "fma_pipe": 1.0, "fma_heavy_pipe": 2.0, "xu_pipe": 4.0, "lsu_pipe": 4.0,
}  # fmt: skip
_SM_RATES: Final = {
    # Four schedulers issue an instruction each; 3.94 seen.
    "instructions": 4.0,
    # The load/store unit takes an instruction; 0.76 seen.
    **dict.fromkeys(
        (
            "global_load_requests", "global_store_requests", "global_atomic_requests",
            "global_reduction_requests",
        ),
        1.0,
    ),
    # L1 delivers 128 bytes; 4.45 seen, since stores and loads that miss count elsewhere as well.
    **dict.fromkeys(
        (
            "global_load_sectors", "global_store_sectors", "global_sectors", "global_sectors_ideal",
            "local_load_sectors", "local_store_sectors", "local_sectors",
        ),
        4.0,
    ),
    # A wavefront is what shared memory does in a cycle; 1.02 seen.
    **dict.fromkeys(
        (
            "shared_wavefronts", "shared_wavefronts_ideal", "shared_wavefronts_measured",
            "shared_load_wavefronts", "shared_store_wavefronts", "shared_bank_conflicts",
        ),
        1.0,
    ),
    # L2 exchanges 64 bytes with an SM; 1.59 seen, 0.07 by atomics.
    **dict.fromkeys(
        (
            "l2_sectors_from_l1", "l2_atomic_sectors", "l2_reduction_sectors", "tma_load_sectors",
            "tma_store_sectors", "tma_reduction_sectors",
        ),
        2.0,
    ),
    # 8 TB/s over 148 SMs at 1.9 GHz are 28 bytes (B200); 20.6 seen.
    **dict.fromkeys(("dram_bytes_read", "dram_bytes_written"), 30.0),
}  # fmt: skip
"""The most of each counter that an SM can add in a cycle, on average over all SMs. What was seen is
of 652 captures of 11 GPUs."""
_RATE_MARGIN: Final = 1.3
_FEW: Final = 10_000.0
"""Counts up to this are no evidence: passes of a short launch differ."""
CLOCK_HZ: Final = (2e8, 3.6e9)
"""Clocks that an SM can have; 0.58 to 2.38 GHz seen."""


def _more_than_cycles_allow(metric: str, rate: float) -> Iterator[Relation]:
    most = _RATE_MARGIN * rate
    yield Relation(
        (metric, "sm_count", "sm_cycles_elapsed"),
        lambda values, sms, cycles: np.greater(values, most * sms * cycles + _FEW),
        f"{metric} is too large for this number of SMs and cycles",
    )
    yield Relation(
        (metric, "sm_count", "duration"),
        lambda values, sms, ns: np.greater(values, most * sms * ns * 1e-9 * CLOCK_HZ[1] + _FEW),
        f"{metric} is too large for this number of SMs and this duration",
    )


RELATIONS: Final = (
    # --- values that then count as missing, whichever of them is wrong ---
    _zero_although(
        "global_sectors", "global_load_requests", 0.0,
        "there are global loads but no sectors", clears=True,
    ),
    _zero_although(
        "global_sectors_ideal", "global_sectors", 0.0,
        "the ideal sector count is zero, but the actual count is not", clears=True,
    ),
    _zero_although(
        "shared_wavefronts", "shared_load_wavefronts", 0.0,
        "there are shared-memory loads but no wavefronts", clears=True,
    ),
    _zero_although(
        "local_sectors", "local_load_sectors", 0.0,
        "there are local-memory loads but no sectors", clears=True,
    ),
    _exceeds(
        "global_reduction_requests", 1.1, "instructions", 1.0,
        "more atomics than instructions", clears=True,
    ),
    _exceeds(
        "issue_slots", 1.1, "sm_throughput", 1.0,
        "the issue slots are busier than the busiest part of the SM", clears=True,
    ),
    _exceeds(
        "fma_pipe", 1.1, "sm_throughput", 1.0,
        "the pipe is busier than the busiest part of the SM", clears=True,
    ),
    *(
        _exceeds(
            stall, 1.1, "warp_cycles_per_instruction", 1.0,
            "the stall exceeds the warp cycles per instruction", clears=True,
        )
        for stall in _STALLS
    ),
    Relation(
        ("duration",), lambda values: np.equal(values, 0),
        "the duration is zero", clears=True,
    ),
    *(
        Relation(
            (f"global_{kind}_sectors", f"global_{kind}_requests"),
            lambda sectors, requests: np.greater(sectors, 0) & (requests == 0),
            f"global {kind}s moved sectors, but there are no requests",
            clears=True,
        )
        for kind in ("load", "store")
    ),
    Relation(
        ("global_sectors", "global_sectors_ideal"), lambda actual, ideal: actual < 0.99 * ideal,
        "the actual sector count is below the ideal count", clears=True,
    ),
    Relation(
        ("shared_wavefronts", "shared_wavefronts_ideal"),
        lambda actual, ideal: actual < 0.99 * ideal,
        "the actual wavefront count is below the ideal count", clears=True,
    ),
    # --- contradictions: the values stay, and the verdict has low confidence ---
    *(_exceeds(part, 1.05, "sm_throughput", 0.5, _BUSY_SM) for part in _PARTS_OF_SM),
    _zero_although(
        "dram_throughput", "dram_bandwidth", 1e10,
        "there is DRAM traffic, but DRAM utilization is zero",
    ),
    _exceeds(
        "l1_throughput", 1.1, "memory_throughput", 9.0,
        "L1 is busier than the busiest part of the memory system",
    ),
    # 0.998 to 1.02 of each other.
    Relation(
        ("issue_slots", "instructions", "sm_count", "sm_cycles_elapsed"),
        lambda slots, instructions, sms, cycles: _differ(
            slots, 100.0 * instructions / (COMMON.schedulers * sms * cycles), 0.1, 0.5
        ),
        "the instructions do not match the issue slots used",
    ),
    # Little's law: 0.993 to 1.03 of each other.
    Relation(
        ("warp_cycles_per_instruction", "issue_slots_active", "active_warps"),
        lambda cycles, issue, warps: _differ(cycles * issue / 100.0, warps, 0.1, 0.02),
        "the active warps do not match the issue rate",
    ),
    Relation(
        ("warp_cycles_per_instruction", "duration", *_STALLS), _stalls,
        "the sum of the stall reasons does not match the warp cycles per instruction",
        optional=frozenset(_STALLS),
    ),
    # 0.99 to 1.02 of each other.
    Relation(
        ("sm_cycles_elapsed", "duration", "sm_clock"),
        lambda cycles, duration, clock: _differ(cycles, duration * clock * 1e-9, 0.1, 100.0),
        "the cycles do not match the duration and the clock",
    ),
    _zero_although(
        "l2_sectors_from_l1", "l2_to_sm", 1.0,
        "L2 sends data to the SMs, but no sectors are counted",
    ),
    # 1 to 1.32 of each other; small ones are rounded to 0.
    Relation(
        ("waves_per_sm", "grid_size", "sm_count", *_LIMITS),
        lambda waves, grid, sms, *limits: _differ(
            waves, grid / (sms * np.minimum.reduce(limits)), 0.5, 0.02
        ),
        "the grid size does not match the number of waves",
    ),
    Relation(
        ("theoretical_occupancy", "block_size", *_LIMITS), _occupancy,
        "the block limits per SM do not match the theoretical occupancy",
    ),
    _exceeds(
        "achieved_occupancy", 1.1, "theoretical_occupancy", 5.0,
        "achieved occupancy exceeds theoretical occupancy",
    ),
    # 0.89 to 1.17 of each other: passes of one launch differ.
    Relation(
        ("dram_bandwidth", "dram_bytes_read", "dram_bytes_written", "duration"),
        lambda rate, read, written, duration: _differ(
            rate, (read + written) / (duration * 1e-9), 0.25, 1e9
        ),
        "the bytes do not match the bandwidth and the duration",
    ),
    _exceeds(
        "dram_throughput", 1.05, "memory_throughput", 1.0,
        "DRAM is busier than the busiest part of the memory system",
    ),
    # At most 0.987 of what the issue slots allow.
    Relation(
        (*_RATES, "issue_slots", "sm_count"),
        lambda fused, add, multiply, slots, sms: (
            fused + add + multiply > 1.15 * (sms * THREADS_ISSUED * slots / 100.0) + 1.0
        ),
        _TOO_MUCH_ARITHMETIC,
    ),
    # The pipe is the mean of its halves: 2.006 times it at most.
    _exceeds(
        "fma_heavy_pipe", 2.2, "fma_pipe", 1.0,
        "the heavy half of the FMA pipe is more than twice as busy as the whole pipe",
    ),
    # The pipe is 0.999 times as busy at least.
    Relation(
        ("fma_pipe", *_RATES, "sm_count"),
        lambda pipe, fused, add, multiply, sms: (
            pipe < 0.9 * 100.0 * (fused + add + multiply) / (sms * THREADS_ISSUED) - 1.0
        ),
        "the FMA pipe is less busy than the arithmetic requires",
    ),
    Relation(
        (
            "fma_pipe", "fma_heavy_pipe", *_RATES, *_HALF_RATES,
            "threads_per_instruction_predicated", "sm_count",
        ),
        _fma_lite_pipe, "the FMA pipe is busier than the counted arithmetic allows",
        optional=frozenset(_HALF_RATES),
    ),
    _exceeds(
        "sm_cycles_active", 1.08, "sm_cycles_elapsed", 100.0,
        "SMs were active for longer than the launch",
    ),
    _exceeds(
        "sm_cycles_active", 1.02, "sm_cycles_active_max", 10.0,
        "the mean over SMs exceeds the maximum",
    ),
    _exceeds(
        "eligible_warps", 1.0, "active_warps", 0.05,
        "there are more eligible warps than active warps",
    ),
    _exceeds(
        "shared_wavefronts", 3.5, "shared_wavefronts_measured", 1000.0,
        "the hardware counted fewer wavefronts than the addresses require",
    ),
    Relation(
        ("shared_wavefronts", "shared_memory_static", "shared_memory_dynamic"),
        lambda wavefronts, static, dynamic: (wavefronts > 0) & (static == 0) & (dynamic == 0),
        "there are shared-memory accesses, but the kernel has no shared memory",
    ),
    # 0.69 points beyond the busiest of them at most.
    Relation(
        ("memory_throughput", "l1_throughput", "l2_throughput", "dram_throughput"),
        lambda memory, *parts: np.greater(memory, 1.05 * np.maximum.reduce(parts) + 3.0),
        "the memory system is busier than its busiest part",
    ),
    # 1.3 points apart at most.
    Relation(
        ("shared_wavefronts_share", "shared_wavefronts_measured", "sm_count", "sm_cycles_elapsed"),
        lambda share, wavefronts, sms, cycles: _differ(
            share, 100.0 * wavefronts / (sms * cycles), 0.2, 2.0
        ),
        "the shared-memory wavefronts do not match the shared-memory use of the L1 data stage",
    ),
    _zero_although(
        "l1_wavefronts", "shared_wavefronts_share", 1.0,
        "the L1 data stage has zero utilization, but shared memory uses it",
    ),
    _exceeds(
        "shared_wavefronts_share", 1.1, "l1_wavefronts", 1.0,
        "shared-memory use of the L1 data stage exceeds the stage's total utilization",
    ),
    _zero_although(
        "l1_throughput", "l1_throughput_active", 20.0,
        "L1 utilization is zero over the launch, but not over active cycles",
    ),
    _exceeds("global_load_sectors", 34.0, "global_load_requests", 0.0, _TOO_MANY_SECTORS),
    _exceeds("global_store_sectors", 34.0, "global_store_requests", 0.0, _TOO_MANY_SECTORS),
    *(
        _exceeds(f"global_{kind}_requests", 1.1, "instructions", 1.0,
                 "more requests than instructions")
        for kind in ("load", "store")
    ),
    # 0.975 sectors a request at least.
    *(
        _exceeds(f"global_{kind}_requests", 1.1, f"global_{kind}_sectors", 1000.0,
                 "more requests than sectors")
        for kind in ("load", "store")
    ),
    # A pipe is busy for one to four cycles an instruction: 1.78, 1.1, 1.83, 3.95, 3.91 seen.
    *(
        _exceeds(pipe, 1.15 * cycles, "issue_slots", 1.0,
                 "the pipe is busier than the issued instructions allow")
        for pipe, cycles in _CYCLES_A_WARP.items()
    ),
    _zero_although(
        "global_atomic_requests", "l2_atomic_sectors", 1000.0,
        "there are atomic sectors but no atomic requests",
    ),
    _zero_although("tma_load_sectors", "tma_loads", 100.0, "there are TMA loads but no sectors"),
    _zero_although("tma_loads", "tma_load_sectors", 1000.0, "there are TMA sectors but no loads"),
    _zero_although(
        "tensor_pipe", "tensor_pipe_active", 2.0,
        "tensor-core utilization is zero over the launch, but not over active cycles",
    ),
    _zero_although(
        "wgmma_pipe", "stall_gmma", 0.05,
        "warps wait for wgmma, but no wgmma instruction is executed",
    ),
    # 0 without atomics.
    Relation(
        (
            "l2_atomic_unit_hottest", "global_atomic_requests", "global_reduction_requests",
            "tma_reduction_sectors",
        ),
        lambda unit, atomics, reductions, bulk: (
            np.greater(unit, 2.0) & (atomics + reductions == 0) & ~(bulk > 0)
        ),
        "L2 executes atomics, but there are no atomic requests",
        optional=frozenset({"tma_reduction_sectors"}),
    ),
    # 1 at most without those others (0.93 with loads from other blocks of a cluster).
    Relation(
        (
            "shared_wavefronts", "shared_load_wavefronts", "shared_store_wavefronts",
            "shared_atomic_wavefronts_share", "wgmma_pipe", "async_copies",
        ),
        lambda wavefronts, loads, stores, *others: (
            np.greater(wavefronts, 2.0 * (loads + stores) + _FEW) & (np.add.reduce(others) == 0)
        ),
        "there are more shared-memory wavefronts than loads and stores can cause",
    ),
    # 2.12 points beyond the busiest of them at most; texture instructions have a pipe of their own.
    Relation(
        ("instruction_throughput", "stall_tex_throttle", "issue_slots", *_PIPES),
        lambda percent, texture, *parts: (
            np.greater(percent, np.maximum(np.maximum.reduce(parts) + 4.0, 50.0)) & (texture == 0)
        ),
        "instruction throughput exceeds the utilization of the busiest pipe",
    ),
    # Chips with this half of the pipe do FP16 there and on tensor cores; 1.0013 seen.
    Relation(
        ("fma_pipe", "tensor_pipe", "fma_heavy_pipe", "sm_count", *_RATES, *_HALF_RATES),
        lambda fma, tensor, heavy, sms, *rates: (
            fma + tensor / 2.0 < 95.0 * np.add.reduce(rates) / (sms * THREADS_ISSUED) - 1.0
        )
        & (heavy >= 0),
        "the FMA pipe and the tensor cores are less busy than the arithmetic requires",
    ),
    # 8 points beyond the busiest of them at most.
    Relation(
        ("sm_throughput", "issue_slots", "instruction_throughput", *_PIPES),
        lambda sm, *parts: np.greater(sm, 1.1 * np.maximum.reduce(parts) + 12.0),
        "the SM is busier than its busiest part",
    ),
    Relation(
        ("dram_throughput", "dram_bytes_read", "dram_bytes_written", "duration"),
        lambda percent, read, written, ns: np.greater(
            percent, 1.0 + 100.0 * (read + written) / (ns * 1e-9) / _SLOWEST_DRAM
        ),
        "DRAM is busier than its traffic allows",
    ),
    _zero_although(
        "tensor_pipe", "wgmma_pipe", 0.1,
        "there are wgmma instructions, but the tensor cores are idle",
    ),
    _outside(
        "threads_per_instruction", 0.999, 32.5, "an instruction is executed by 1 to 32 threads"
    ),
    # At most 3.67 times those that loads and stores moved, where atomics move others.
    Relation(
        (
            "global_sectors", "global_load_sectors", "global_store_sectors",
            "global_atomic_requests", "global_reduction_requests",
        ),
        lambda ideal, loaded, stored, atomics, reductions: (
            ideal > 4.5 * (loaded + stored) + 32.0 * (atomics + reductions) + 10_000.0
        ),
        "fewer sectors were moved than the addresses require",
    ),
    # As FP32, two at a time.
    Relation(
        ("hfma_rate", "issue_slots", "sm_count"),
        lambda rate, slots, sms: rate > 2.3 * sms * THREADS_ISSUED * slots / 100.0 + 1.0,
        _TOO_MUCH_ARITHMETIC,
    ),
    _zero_although(
        "shared_wavefronts_ideal", "shared_wavefronts", 1000.0,
        "the ideal wavefront count is zero, but the actual count is not",
    ),
    _zero_although(
        "global_reduction_requests", "l2_reduction_sectors", 1000.0,
        "there are reduction sectors but no reduction requests",
    ),
    _zero_although(
        "sm_cycles_active", "instructions", 0.0,
        "instructions were executed, but no SM was active",
    ),
    _zero_although(
        "achieved_occupancy", "active_warps", 0.5, "occupancy is zero, but warps are active"
    ),
    *chain.from_iterable(starmap(_more_than_cycles_allow, _SM_RATES.items())),
    Relation(
        ("sm_cycles_elapsed", "duration"),
        lambda cycles, ns: np.less(cycles, CLOCK_HZ[0] * ns * 1e-9 - _FEW)
        | (cycles > CLOCK_HZ[1] * ns * 1e-9 + _FEW),
        "cycles / duration is not a possible SM clock",
    ),
    # At most 3.94 an active cycle.
    Relation(
        ("instructions", "sm_count", "sm_cycles_active"),
        lambda issued, sms, active: np.greater(
            issued, 1.1 * COMMON.schedulers * sms * active + _FEW
        ),
        "the schedulers cannot issue this many instructions in the active cycles",
    ),
    _outside("sm_count", 1.0, 1024.0, "no GPU has this many SMs"),
    _outside("grid_size", 1.0, float("inf"), "a grid has at least one block"),
    _outside(
        "duration", 300.0, float("inf"),
        "no launch is this short (an empty kernel takes 1,100 ns)",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Doubt:
    """A value that cannot be, and in which launches: it is treated as missing.

    Where several ``metrics`` contradict each other, one of them is wrong and nobody knows which:
    they are taken as they are, and the launch is judged with low confidence.
    """

    metric: str
    reason: str
    rows: BoolArray = field(compare=False)
    metrics: tuple[str, ...] = ()

    @property
    def anywhere(self) -> Doubt:
        """The same without the launches, to count them by."""
        return replace(self, rows=np.empty(0, dtype=np.bool_))

    @property
    def names(self) -> str:
        """The metrics that it is about, for a message."""
        return ", ".join(self.metrics[:4]) or self.metric

    @property
    def claim(self) -> str:
        """The metrics that it is about and what they do, for a message."""
        if len(self.metrics) == 1:
            return f"{self.names} is impossible"
        return f"{self.names} contradict each other"


ACCOUNTED: Final = 0.99
"""Share of L2's sectors from L1 that global and local accesses can have moved, from which they are
all of them. In 555 launches on an H200 (``tests/captures``, ``recorded``) whose kernels have shared
memory and no bulk copies it is 0.999998 and more, in four with bulk copies 0.005 and less."""

SECTORS_OF_ATOMICS: Final = 1.5 * COMMON.warp_size
"""L2 sectors that an atomic of a warp takes at most: 47.4 in ``alarm-counts-by-sensor-and-plant``
of ``cuda/pairs``, the most of 78 launches with atomics on an H200."""

OPERANDS: Final = 0.25
"""Use of L1's data stage against that of the tensor pipe, below which no ``wgmma`` reads operands
from shared memory there: 0.6 to 1 in 15 kernels with ``wgmma`` of ``tests/captures`` (H200), and
0.13 at most beyond loads and stores in those with ``mma.sync``."""


def without_shared_memory(values: Values) -> BoolArray:
    """Return the launches without shared memory, one end of each bulk copy and operand."""
    none: BoolArray = (values("shared_memory_static") == 0) & (values("shared_memory_dynamic") == 0)
    return none


def without_bulk_copies(values: Values) -> BoolArray:
    """Return the launches whose accesses account for all sectors between L1 and L2."""
    with np.errstate(invalid="ignore"):
        expected = ACCOUNTED * values("l2_sectors_from_l1")
        return without_shared_memory(values) | np.greater_equal(_by_accesses(values), expected)


def without_wgmma(values: Values) -> BoolArray:
    """Return the launches whose loads and stores account for all of shared memory's traffic."""
    by_warps = values("shared_load_wavefronts") + values("shared_store_wavefronts")
    with np.errstate(invalid="ignore", divide="ignore"):
        others = 1.0 - by_warps / values("shared_wavefronts_measured")
        beyond = values("shared_wavefronts_share") * others
        none = np.less(beyond, OPERANDS * values("tensor_pipe"))
    return without_shared_memory(values) | none


def _by_accesses(values: Values) -> FloatArray:
    loads = values("global_load_sectors") + values("local_load_sectors")
    stores = values("global_store_sectors") + values("local_store_sectors")
    # Stores pass L1 even where they hit, so a hit rate saves loads only.
    hits = values("l1_hit_rate") * 0.01 * (loads + stores)
    measured = loads + stores - np.clip(hits - stores, 0.0, loads)
    # Without the counters of L1 it is what the addresses need before any cache.
    ideal = values("global_sectors") + values("local_sectors")
    atomics = values("global_atomic_requests") + values("global_reduction_requests")
    return np.where(np.isnan(measured), ideal, measured) + SECTORS_OF_ATOMICS * atomics


RULED_OUT: Final[Mapping[str, Callable[[Values], BoolArray]]] = MappingProxyType(
    {
        **dict.fromkeys((*BULK_COPIES, "tma_loads"), without_bulk_copies),
        **dict.fromkeys(("async_copies", "tcgen05_pipe"), without_shared_memory),
        "wgmma_pipe": without_wgmma,
    }
)
"""The launches in which a metric is zero if it is missing, by the metric's name."""
