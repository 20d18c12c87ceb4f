"""How many cycles a launch takes: a few blocks on one SM, scaled to all blocks on all SMs."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.counters.transactions import SECTOR
from sassim.timing.instruction_costs import time_code
from sassim.timing.multiprocessor import CODE_SEGMENTS, Multiprocessor, SharedUnitRates
from sassim.timing.segments import segment_warps

if TYPE_CHECKING:
    from sassim.caches import CacheMisses
    from sassim.counters.launch_counters import LaunchCounters
    from sassim.gpu import GpuModel
    from sassim.interpreter.lanes import Array
    from sassim.residency import GridResidency
    from sassim.timing.multiprocessor import SmTimes

_INSTRUCTIONS: Final = 120_000
"""Instructions of warps that are run: a fifth of a second."""
_WITH_PHASES: Final = 400_000
"""The same where warps wait for phases of barriers: a second. Parts cannot be left out there."""
_LAUNCH_NS: Final = 1_750.0
"""What a launch takes beside its blocks, with empty caches: an H200 takes 1.73 us for blocks that
do nothing, 1.82 us for blocks that store one value."""
_START_CYCLES: Final = 1.2
"""Cycles between the starts of two blocks on the GPU: 16,896 to 67,584 empty blocks start in 1.20
to 1.24 cycles each, whatever their warps (fewer than 32)."""
_DRAM_CEILING: Final = 0.92
"""Share of the peak of device memory that reads reach (captures of the H200: 90 to 93 %)."""
_L2_SECTORS: Final = 166.0 / 96.0
"""Sectors that a slice of L2 gives to SMs per cycle of an SM: 16.9 million in 117,478 cycles are
85 % of 96 slices (``neighbour-mean-float-rows``, ``lts__lts2xbar_cycles_active``)."""
_BULK_SECTORS: Final = 188.0 / 96.0
"""The same of bulk loads, as SMs receive them: 402.7 million in 2,141,809 cycles
(``12_divided_tail``), the most of the rungs of the BF16 ladder."""
_STORED_SECTORS: Final = 74.7 / 96.0
"""Whole sectors that a slice of L2 takes from SMs per cycle of an SM: 4.2 million (128 MB, stored
to 8 MB of addresses) in 56,000 cycles, 8 to 64 warps an SM (``xbar2lts_cycles_active`` 87 %)."""
ATOMIC_CYCLES: Final = 1.49
"""Cycles of an SM between two atomics in one slice of L2 (``edge-octants-global-bins``: 517,000 in
768,251 cycles)."""
_CODE_SECTORS: Final = 0.08
"""Sectors of code that an SM gets from L2 per cycle (``experts-compiled-in``: 2.5 bytes)."""
_MOST_SLOTS: Final = 1 << 16
_UNEVEN: Final = 2.0
"""How much longer the last SM takes than the average one, from which the longest block is run."""


@dataclass(frozen=True)
class ElapsedCycles:
    """``cycles`` of an SM from the launch's begin to its end, and what warps did meanwhile."""

    cycles: float
    active: float
    """Cycles in which an average SM has blocks."""
    run: SmTimes


def estimate_elapsed(
    counters: LaunchCounters,
    cubin: bytes,
    gpu: GpuModel,
    residency: GridResidency,
    misses: CacheMisses,
) -> ElapsedCycles:
    """SmTimes the recorded blocks, as many at once as are resident, and scale to the grid."""
    made = time_code(counters, cubin, gpu, misses)
    resident, of_sm = residency.blocks, residency.blocks_of_sm
    waves = 2 if of_sm >= 2 * resident else 1
    recorded = len(counters.block_counters.recorded)
    trace = counters.block_counters.trace
    most = _WITH_PHASES if any(trace.phases.waits) else _INSTRUCTIONS
    whole = segment_warps(trace, made, most * recorded // (waves * resident) + 1)
    of_block = max(1.0, whole.run / max(whole.blocks, 1))
    blocks = min(of_sm, max(resident * waves, int(most / of_block)))
    blocks = min(of_sm, max(blocks // resident, 1) * resident) if of_sm > blocks else blocks
    held = max(1, int(CODE_SEGMENTS * whole.share_run))
    given = compute_rates(gpu, residency, made.bytes_executed, held)
    instructions = counters.block_counters.of_blocks(counters.instructions()).astype(np.float64)
    order = _order_by_distance_to_mean(counters, instructions)
    run = Multiprocessor(whole.ordered(order), given).run(blocks, resident)
    extrapolated = _extrapolate_cycles(run, resident, of_sm) / max(run.cycles, 1.0)
    steady_cycles = extrapolated * run.full_cycles
    share, imbalance = _measure_imbalance(
        counters, residency, instructions, order[np.arange(blocks) % recorded]
    )
    launch = _LAUNCH_NS * gpu.clock_hz * 1e-9
    cycles = steady_cycles * share * imbalance
    active = steady_cycles * share * residency.grid / (of_sm * gpu.sms)
    of_recorded = instructions[counters.block_counters.recorded]
    shortest, longest = float(instructions.min()), float(of_recorded.max())
    extra = counters.sample.total(instructions)[0] - shortest * residency.grid
    long = max(1.0, extra / max(longest - shortest, 1.0))
    has_longest = longest >= 0.9 * float(instructions.max())
    if imbalance >= _UNEVEN and long <= gpu.sms and has_longest:
        # The longest blocks end after all others, each on an SM of its own.
        one = whole.ordered(np.array([of_recorded.argmax()]))
        alone = Multiprocessor(one, given).run(1, 1).full_cycles
        cycles = max(steady_cycles * share, alone)
        active = max(active, alone * long / gpu.sms)
    return ElapsedCycles(cycles=cycles + launch, active=active, run=run)


def _extrapolate_cycles(run: SmTimes, resident: int, of_sm: int) -> float:
    """Cycles until all blocks of an SM have ended, from those of some."""
    ends = sorted(run.ends)
    left = of_sm - run.blocks
    if left <= 0:
        return run.cycles
    # While new blocks replace those that end, blocks end at a constant rate.
    steady = run.blocks - resident
    if steady > 0:
        return run.cycles + left * ends[steady - 1] / steady
    mean = sum(sum(each) for each in run.durations.values()) / run.blocks
    return run.cycles + left * mean / resident


def compute_rates(
    gpu: GpuModel,
    residency: GridResidency,
    code_bytes: int,
    code_segments: int,
) -> SharedUnitRates:
    """What an SM gets of L2 and device memory while all that have blocks ask for it."""
    slices = gpu.l2_slices or 96
    l2 = slices * _L2_SECTORS / residency.sms
    dram = gpu.dram_bytes_per_cycle * _DRAM_CEILING / SECTOR / residency.sms
    fits = code_bytes <= CODE_SEGMENTS * 1024
    return SharedUnitRates(
        l2_sectors=l2,
        bulk_sectors=min(2.0, slices * _BULK_SECTORS / residency.sms),
        dram_sectors=min(2.0, dram),
        atomic_cycles=ATOMIC_CYCLES * residency.sms,
        halves=(gpu.fp32_lanes or 0) >= 128,
        stored_sectors=min(1.0, slices * _STORED_SECTORS / residency.sms),
        start_cycles=_START_CYCLES * residency.sms,
        code_sectors=0.0 if fits else _CODE_SECTORS,
        code_segments=code_segments,
    )


def _order_by_distance_to_mean(counters: LaunchCounters, instructions: Array) -> Array:
    """Places of the recorded blocks among them, those first whose work is nearest to the mean."""
    far = np.abs(np.log((instructions + 1.0) / (instructions.mean() + 1.0)))
    return np.argsort(far[counters.block_counters.recorded], kind="stable")


def _measure_imbalance(
    counters: LaunchCounters, residency: GridResidency, instructions: Array, run: Array
) -> tuple[float, float]:
    """Return the work of an average block against those that were ``run``, and the imbalance.

    The second is how much longer the last SM takes than the average one, where blocks go to the SM
    that is free first.
    """
    mean = counters.sample.total(instructions)[0] / residency.grid
    share = mean / max(float(instructions[counters.block_counters.recorded[run]].mean()), 1.0)
    if float(instructions.max()) <= float(instructions.min()) * 1.02:
        return share, 1.0
    blocks = _work_of_all_blocks(counters, instructions)
    slots = residency.sms * residency.blocks
    if len(blocks) > _MOST_SLOTS or len(blocks) <= 1:
        return share, 1.0
    ends = [0.0] * min(slots, len(blocks))
    heapq.heapify(ends)
    for each in blocks.tolist():
        heapq.heapreplace(ends, ends[0] + each)
    longest = max(ends)
    steady_cycles = blocks.mean() * math.ceil(len(blocks) / len(ends))
    return share, max(1.0, longest / steady_cycles)


def _work_of_all_blocks(counters: LaunchCounters, instructions: Array) -> Array:
    """The work of every block of the grid, as that of the nearest one that was run."""
    numbers = counters.sample.blocks
    order = np.argsort(numbers)
    sampled = numbers[order]
    middles = (sampled[1:] + sampled[:-1]) / 2
    every = math.prod(counters.launch.grid)
    nearest: Array = instructions[order][np.searchsorted(middles, np.arange(every))]
    return nearest
