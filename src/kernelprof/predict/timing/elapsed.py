"""How many cycles a launch takes: a few blocks on one SM, scaled to all blocks on all SMs."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.counts.patterns import SECTOR
from kernelprof.predict.timing.code import code
from kernelprof.predict.timing.multiprocessor import CODE_SEGMENTS, Multiprocessor, Rates
from kernelprof.predict.timing.steps import steps

if TYPE_CHECKING:
    from kernelprof.predict.caches import Misses
    from kernelprof.predict.counts.counted import Counted
    from kernelprof.predict.device import Device
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.residence import Residence
    from kernelprof.predict.timing.multiprocessor import Run

_INSTRUCTIONS: Final = 120_000
"""Instructions of warps that are run: a fifth of a second."""
_LAUNCH_NS: Final = 1_000.0
"""What a launch takes beside its blocks."""
_DRAM_CEILING: Final = 0.92
"""Share of the peak of device memory that reads reach (captures of the H200: 90 to 93 %)."""
_WRITE_COST: Final = 1.25
"""What a sector that is written costs against one that is read (the same captures, by their share
of writes)."""
_L2_SECTORS: Final = 166.0 / 96.0
"""Sectors that a slice of L2 gives to SMs per cycle of an SM: 16.9 million in 117,478 cycles are
85 % of 96 slices (``neighbour-mean-float-rows``, ``lts__lts2xbar_cycles_active``)."""
_PARTIAL: Final = 0.25
TURN: Final = 1.49
"""Cycles of an SM between two atomics on one sector (``edge-octants-global-bins``: 517,000 in
768,251 cycles)."""
_CODE_SECTORS: Final = 0.08
"""Sectors of code that an SM gets from L2 per cycle (``experts-compiled-in``: 2.5 bytes)."""
_MOST_SLOTS: Final = 1 << 16


@dataclass(frozen=True)
class Elapsed:
    """``cycles`` of an SM from the launch's begin to its end, and what warps did meanwhile."""

    cycles: float
    active: float
    """Cycles in which an average SM has blocks."""
    run: Run


def elapsed(
    counted: Counted, cubin: bytes, device: Device, residence: Residence, misses: Misses
) -> Elapsed:
    """Run the recorded blocks, as many at once as are resident, and scale to the grid."""
    made = code(counted, cubin, device.architecture, misses)
    resident, of_sm = residence.blocks, residence.blocks_of_sm
    waves = 2 if of_sm >= 2 * resident else 1
    recorded = len(counted.tally.recorded)
    whole = steps(counted.tally.trace, made, _INSTRUCTIONS * recorded // (waves * resident) + 1)
    of_block = max(1.0, whole.run / max(whole.blocks, 1))
    blocks = min(of_sm, max(resident * waves, int(_INSTRUCTIONS / of_block)))
    blocks = min(of_sm, max(blocks // resident, 1) * resident) if of_sm > blocks else blocks
    held = max(1, int(CODE_SEGMENTS * whole.kept))
    given = rates(device, residence, misses, made.bytes_executed, held)
    work = counted.tally.of_blocks(counted.instructions()).astype(np.float64)
    order = _ordinary_first(counted, work)
    run = Multiprocessor(whole.ordered(order), given).run(blocks, resident)
    even = _all_blocks(run, resident, of_sm) * run.whole
    share, uneven = _balance(counted, residence, work, order[np.arange(blocks) % recorded])
    launch = _LAUNCH_NS * device.clock_hz * 1e-9
    cycles = even * share * uneven + launch
    return Elapsed(
        cycles=cycles,
        active=even * share * residence.grid / (of_sm * device.sms),
        run=run,
    )


def _all_blocks(run: Run, resident: int, of_sm: int) -> float:
    """Cycles until all blocks of an SM have ended, from those of some."""
    ends = sorted(run.ends)
    left = of_sm - run.blocks
    if left <= 0:
        return run.cycles
    # While others begin in the place of those that end, blocks end at an even rate.
    steady = run.blocks - resident
    if steady > 0:
        return run.cycles + left * ends[steady - 1] / steady
    mean = sum(sum(each) for each in run.durations.values()) / run.blocks
    return run.cycles + left * mean / resident


def rates(
    device: Device, residence: Residence, misses: Misses, code_bytes: int, code_segments: int
) -> Rates:
    """What an SM gets of L2 and device memory while all that have blocks ask for it."""
    slices = device.l2_slices or 96
    l2 = slices * _L2_SECTORS / residence.sms
    dram = device.dram_bytes_per_cycle * _DRAM_CEILING / SECTOR / residence.sms
    fits = code_bytes <= CODE_SEGMENTS * 1024
    return Rates(
        l2_sectors=min(2.0, l2),
        l2_partial_sectors=min(2.0, l2 * _PARTIAL),
        dram_sectors=min(2.0, dram),
        written_far=_WRITE_COST * misses.written.value / max(misses.stored.value, 1.0),
        turn=TURN * residence.sms,
        halves=(device.architecture.fp32_lanes or 0) >= 128,
        code_sectors=0.0 if fits else _CODE_SECTORS,
        code_segments=code_segments,
    )


def _ordinary_first(counted: Counted, work: Array) -> Array:
    """Places of the recorded blocks among them, those first whose work is nearest to the mean."""
    far = np.abs(np.log((work + 1.0) / (work.mean() + 1.0)))
    return np.argsort(far[counted.tally.recorded], kind="stable")


def _balance(
    counted: Counted, residence: Residence, work: Array, run: Array
) -> tuple[float, float]:
    """The work of an average block against those that were ``run``, and how unevenly it lies.

    The second is how much longer the last SM takes than the average one, where blocks go to the SM
    that is free first.
    """
    mean = counted.sample.total(work)[0] / residence.grid
    share = mean / max(float(work[counted.tally.recorded[run]].mean()), 1.0)
    if float(work.max()) <= float(work.min()) * 1.02:
        return share, 1.0
    blocks = _by_number(counted, work)
    slots = residence.sms * residence.blocks
    if len(blocks) > _MOST_SLOTS or len(blocks) <= 1:
        return share, 1.0
    ends = [0.0] * min(slots, len(blocks))
    heapq.heapify(ends)
    for each in blocks.tolist():
        heapq.heapreplace(ends, ends[0] + each)
    longest = max(ends)
    even = blocks.mean() * math.ceil(len(blocks) / len(ends))
    return share, max(1.0, longest / even)


def _by_number(counted: Counted, work: Array) -> Array:
    """The work of every block of the grid, as that of the nearest one that was run."""
    numbers = counted.sample.blocks
    order = np.argsort(numbers)
    known = numbers[order]
    middles = (known[1:] + known[:-1]) / 2
    every = math.prod(counted.launch.grid)
    found: Array = work[order][np.searchsorted(middles, np.arange(every))]
    return found
