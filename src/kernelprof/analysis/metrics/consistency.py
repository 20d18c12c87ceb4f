"""What metrics of one launch say of each other: sums, products and bounds that always hold.

A value that breaks one of them is wrong, or another one is, so the launch is judged with low
confidence and the contradiction is named. Each limit was read off 1,246 different launches: those
of ``tests/captures``, of the corpus and of public reports of other GPUs. The range that was seen
there stands beside it; limits are wider.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.architectures import EVERY
from kernelprof.analysis.metrics.ceilings import THREADS_ISSUED
from kernelprof.analysis.metrics.groups import STALLS

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]


RARE_STATES: Final = 3
"""Warp states that versions of ``ncu`` leave out; none of them was ever long."""


@dataclass(frozen=True, slots=True)
class Consistency:
    """A relation between metrics; ``broken`` tells where it fails (missing values never do)."""

    metrics: tuple[str, ...]
    broken: Callable[..., BoolArray]
    reason: str


def _differ(one: FloatArray, other: FloatArray, part: float, least: float) -> BoolArray:
    """Where two values of one quantity differ by more than a part of the larger, and ``least``."""
    far: BoolArray = np.abs(one - other) > part * np.maximum(one, other) + least
    return far


def _issue(
    slots: FloatArray, instructions: FloatArray, sms: FloatArray, cycles: FloatArray
) -> BoolArray:
    """0.998 to 1.02 of each other."""
    return _differ(slots, 100.0 * instructions / (EVERY.schedulers * sms * cycles), 0.1, 0.5)


def _little(cycles: FloatArray, issue: FloatArray, warps: FloatArray) -> BoolArray:
    """Little's law: 0.993 to 1.03 of each other."""
    return _differ(cycles * issue / 100.0, warps, 0.1, 0.02)


def _stalls(cycles: FloatArray, duration: FloatArray, *stalls: FloatArray) -> BoolArray:
    """0.95 to 1.08 from 5 us on, up to 1.38 below; what is missing counts as nothing."""
    table = np.vstack(stalls)
    total = np.nansum(table, axis=0)
    settled = duration >= 5_000.0
    above = total > np.where(settled, 1.15, 1.5) * cycles + 0.5
    complete = np.isnan(table).sum(axis=0) <= RARE_STATES
    outside: BoolArray = above | (settled & complete & (total < 0.85 * cycles - 0.5))
    return outside


def _clock(cycles: FloatArray, duration: FloatArray, clock: FloatArray) -> BoolArray:
    """0.99 to 1.02 of each other."""
    return _differ(cycles, duration * clock * 1e-9, 0.1, 100.0)


def _waves(waves: FloatArray, grid: FloatArray, sms: FloatArray, *limits: FloatArray) -> BoolArray:
    """1 to 1.32 of each other; small ones are rounded to 0."""
    return _differ(waves, grid / (sms * np.minimum.reduce(limits)), 0.5, 0.02)


def _occupancy(theoretical: FloatArray, block: FloatArray, *limits: FloatArray) -> BoolArray:
    """1 to 2, by the warps that an SM of the architecture holds."""
    warps = np.minimum.reduce(limits) * np.ceil(block / EVERY.warp_size)
    least = 100.0 * warps / EVERY.warps_per_sm
    outside: BoolArray = (theoretical < 0.9 * least) | (theoretical > 2.2 * least)
    return outside


def _bandwidth(
    rate: FloatArray, read: FloatArray, written: FloatArray, duration: FloatArray
) -> BoolArray:
    """0.89 to 1.17 of each other: passes of one launch differ."""
    return _differ(rate, (read + written) / (duration * 1e-9), 0.4, 1e9)


def _rates(
    fused: FloatArray, add: FloatArray, multiply: FloatArray, slots: FloatArray, sms: FloatArray
) -> BoolArray:
    """At most 0.987 of what the issue slots allow."""
    most = sms * THREADS_ISSUED * slots / 100.0
    above: BoolArray = fused + add + multiply > 1.15 * most + 1.0
    return above


def _halves(rate: FloatArray, slots: FloatArray, sms: FloatArray) -> BoolArray:
    """As FP32, two at a time."""
    above: BoolArray = rate > 2.3 * sms * THREADS_ISSUED * slots / 100.0 + 1.0
    return above


def _sectors(needed: FloatArray, *moved: FloatArray) -> BoolArray:
    """At most 3.67 times those that loads and stores moved, where atomics move others."""
    loaded, stored, atomics, reductions = moved
    above: BoolArray = needed > 4.5 * (loaded + stored) + 32.0 * (atomics + reductions) + 10_000.0
    return above


def _fma(
    pipe: FloatArray, fused: FloatArray, add: FloatArray, multiply: FloatArray, sms: FloatArray
) -> BoolArray:
    """The pipe is 0.999 times as busy at least."""
    lanes = sms * THREADS_ISSUED
    below: BoolArray = pipe < 0.9 * 100.0 * (fused + add + multiply) / lanes - 1.0
    return below


def _light(pipe: FloatArray, heavy: FloatArray, *rest: FloatArray) -> BoolArray:
    """The half of the pipe that does FP32 alone: 0.64 to 2 of each other from 30 % on."""
    *rates, threads, sms = rest
    light = 2.0 * pipe - heavy
    lanes = sms * THREADS_ISSUED / 2.0
    least = 0.3 * lanes * light / 100.0 * threads / EVERY.warp_size
    below: BoolArray = (light >= 30.0) & (np.add.reduce(rates) < least)
    return below


def _above(part: float, least: float) -> Callable[[FloatArray, FloatArray], BoolArray]:
    """The first is a part of the second: more than so many times of it is too much."""

    def broken(first: FloatArray, second: FloatArray) -> BoolArray:
        above: BoolArray = first > part * second + least
        return above

    return broken


def _without_memory(wavefronts: FloatArray, static: FloatArray, dynamic: FloatArray) -> BoolArray:
    unheld: BoolArray = (wavefronts > 0) & (static == 0) & (dynamic == 0)
    return unheld


def _nothing_of(least: float) -> Callable[[FloatArray, FloatArray], BoolArray]:
    """The first is nothing although the second is more than rounding can hide."""

    def broken(first: FloatArray, second: FloatArray) -> BoolArray:
        unanswered: BoolArray = (first == 0) & (second > least)
        return unanswered

    return broken


def _no_share(
    share: FloatArray, wavefronts: FloatArray, sms: FloatArray, cycles: FloatArray
) -> BoolArray:
    unanswered: BoolArray = (share == 0) & (100.0 * wavefronts / (sms * cycles) > 0.1)
    return unanswered


def _outside(low: float, high: float) -> Callable[[FloatArray], BoolArray]:
    def broken(values: FloatArray) -> BoolArray:
        outside: BoolArray = (values < low) | (values > high)
        return outside

    return broken


_LIMITS: Final = (
    "block_limit_registers",
    "block_limit_shared_mem",
    "block_limit_warps",
    "block_limit_blocks",
)
_RATES: Final = ("ffma_rate", "fadd_rate", "fmul_rate")

_PARTS_OF_SM: Final = (
    "alu_pipe", "fma_heavy_pipe", "fp64_pipe", "xu_pipe", "tensor_pipe", "adu_pipe", "lsu_pipe",
    "instruction_throughput",
)  # fmt: skip

CONSISTENCIES: Final = (
    *(
        Consistency(
            (part, "sm_throughput"),
            _above(1.05, 0.5),
            "a part is busier than the busiest part of the SM",
        )
        for part in _PARTS_OF_SM
    ),
    Consistency(
        ("dram_throughput", "dram_bandwidth"),
        _nothing_of(1e10),
        "bytes moved through idle memory",
    ),
    Consistency(
        ("l1_throughput", "memory_throughput"),
        _above(1.1, 9.0),
        "L1 is busier than the busiest part of the memory system",
    ),
    Consistency(
        ("issue_slots", "instructions", "sm_count", "sm_cycles_elapsed"),
        _issue,
        "the instructions do not fill that share of the issue slots",
    ),
    Consistency(
        ("warp_cycles_per_instruction", "issue_slots_active", "active_warps"),
        _little,
        "that many warps do not issue that often",
    ),
    Consistency(
        ("warp_cycles_per_instruction", "duration", *(f"stall_{name}" for name in STALLS)),
        _stalls,
        "the warp states take longer than all the time between two instructions",
    ),
    Consistency(
        ("sm_cycles_elapsed", "duration", "sm_clock"),
        _clock,
        "the cycles do not take that time at that clock",
    ),
    Consistency(
        ("waves_per_sm", "grid_size", "sm_count", *_LIMITS),
        _waves,
        "the blocks do not make that many waves",
    ),
    Consistency(
        ("theoretical_occupancy", "block_size", *_LIMITS),
        _occupancy,
        "the blocks on an SM do not give that occupancy",
    ),
    Consistency(
        ("achieved_occupancy", "theoretical_occupancy"),
        _above(1.1, 5.0),
        "more warps were resident than fit",
    ),
    Consistency(
        ("dram_bandwidth", "dram_bytes_read", "dram_bytes_written", "duration"),
        _bandwidth,
        "the bytes do not make that bandwidth in that time",
    ),
    Consistency(
        ("dram_throughput", "memory_throughput"),
        _above(1.05, 1.0),
        "device memory is busier than the busiest part of the memory system",
    ),
    Consistency(
        (*_RATES, "issue_slots", "sm_count"),
        _rates,
        "there is more arithmetic than issued instructions can hold",
    ),
    Consistency(
        ("fma_pipe", *_RATES, "sm_count"), _fma, "the pipe is too idle for that arithmetic"
    ),
    Consistency(
        ("fma_pipe", "fma_heavy_pipe", *_RATES, "threads_per_instruction_predicated", "sm_count"),
        _light,
        "the pipe is too busy for that arithmetic",
    ),
    Consistency(
        ("sm_cycles_active", "sm_cycles_elapsed"),
        _above(1.08, 100.0),
        "SMs were active for longer than the launch",
    ),
    Consistency(
        ("sm_cycles_active", "sm_cycles_active_max"),
        _above(1.02, 10.0),
        "the mean of the SMs is above the longest",
    ),
    Consistency(
        ("eligible_warps", "active_warps"),
        _above(1.0, 0.05),
        "more warps could issue than there are",
    ),
    Consistency(
        ("shared_wavefronts", "shared_wavefronts_measured"),
        _above(3.5, 1000.0),
        "the wavefronts that the addresses need were not counted",
    ),
    Consistency(
        ("shared_wavefronts", "shared_memory_static", "shared_memory_dynamic"),
        _without_memory,
        "there is no shared memory to access",
    ),
    Consistency(
        ("shared_wavefronts_share", "shared_wavefronts_measured", "sm_count", "sm_cycles_elapsed"),
        _no_share,
        "wavefronts were counted, and they take no time",
    ),
    Consistency(
        ("l1_wavefronts", "shared_wavefronts_share"),
        _nothing_of(1.0),
        "a part is there, and the whole is not",
    ),
    Consistency(
        ("shared_wavefronts_share", "l1_wavefronts"),
        _above(1.1, 1.0),
        "the part is above the whole",
    ),
    Consistency(
        ("l1_throughput", "l1_throughput_active"),
        _nothing_of(20.0),
        "L1 is busy while active, and never busy",
    ),
    Consistency(
        ("global_load_sectors", "global_load_requests"),
        _above(34.0, 0.0),
        "more sectors than 32 threads can ask for",
    ),
    Consistency(
        ("global_store_sectors", "global_store_requests"),
        _above(34.0, 0.0),
        "more sectors than 32 threads can ask for",
    ),
    Consistency(
        ("global_load_requests", "instructions"),
        _above(1.1, 1.0),
        "more requests than instructions",
    ),
    Consistency(
        ("threads_per_instruction",),
        _outside(0.999, 32.5),
        "an instruction is executed by 1 to 32 threads",
    ),
    Consistency(
        (
            "global_sectors",
            "global_load_sectors",
            "global_store_sectors",
            "global_atomic_requests",
            "global_reduction_requests",
        ),
        _sectors,
        "the sectors that the addresses need were not moved",
    ),
    Consistency(
        ("hfma_rate", "issue_slots", "sm_count"),
        _halves,
        "there is more arithmetic than issued instructions can hold",
    ),
    Consistency(
        ("shared_wavefronts_ideal", "shared_wavefronts"),
        _nothing_of(1000.0),
        "wavefronts are needed, and the fewest possible are none",
    ),
    Consistency(
        ("global_reduction_requests", "l2_reduction_sectors"),
        _nothing_of(1000.0),
        "sectors were reduced without a request",
    ),
    Consistency(
        ("sm_cycles_active", "instructions"), _nothing_of(0.0), "instructions ran on idle SMs"
    ),
    Consistency(
        ("achieved_occupancy", "active_warps"),
        _nothing_of(0.5),
        "there are warps, and none is resident",
    ),
    Consistency(("sm_count",), _outside(1.0, 1024.0), "no GPU has that many SMs"),
    Consistency(("grid_size",), _outside(1.0, float("inf")), "a grid has a block at least"),
    Consistency(
        ("duration",),
        _outside(300.0, float("inf")),
        "no launch is that short (a kernel that does nothing takes 1,100 ns)",
    ),
)
"""Relations that hold in every launch that was looked at."""
