"""What a kernel that was only sampled is likely limited by.

Samples have no sectors of global accesses, so the rules can rule out next to nothing. Some values
point to one bottleneck all the same, as the leads of a set such as ``basic`` do. They were chosen
on a random half of the captures with everything in this repository (by file) and tried on the
other: ``python -m benchmarks.reduced`` counts, for the columns of ``samples``, how often they name
what everything names. A verdict by one has low confidence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.verdict.ranking import (
    FEW_WAVES,
    FULL,
    IDLE,
    PIPE_RULES,
    SHORT_NS,
    TINY_BLOCK_THREADS,
    Lead,
    LeadValues,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.analysis.metrics.interval import BoolArray, FloatArray
    from kernelprof.analysis.rules import RuleContext

    Condition = Callable[[LeadValues, RuleContext], BoolArray]

BUSY_DRAM: Final = 0.70
"""Of 40 launches of the first half with device memory at 70 % of its peak or more, 36 were at this
limit; between 60 and 70 % none of 8."""
FILLED_WARPS: Final = 24.0
"""Threads of an instruction from which divergence is not what fills a pipe."""
BUSY_FMA: Final = 0.5
IDLE_ALU: Final = 0.4
SOME_DRAM: Final = 0.50
LONG_WAIT: Final = 0.5
"""Share of the cycles of warps that wait for memory."""
HIGH_OCCUPANCY: Final = 50.0
LOW_OCCUPANCY: Final = 30.0
FEW_CONFLICTS: Final = 0.2


def _share(values: LeadValues, stall: str) -> FloatArray:
    return values[f"stall_{stall}"] / values["warp_cycles_per_instruction"]


def _low(context: RuleContext, unit: str) -> FloatArray:
    low: FloatArray = context.units.saturations[unit].low
    return low


def _is_idle(values: LeadValues, context: RuleContext) -> BoolArray:
    caches = [values[name] / 100 for name in ("l1_wavefronts", "l1_writeback", "l2_sectors")]
    idle: BoolArray = np.less(np.fmax.reduce([context.units.top.low, *caches]), IDLE)
    return idle


def _fma(context: RuleContext) -> FloatArray:
    return np.maximum(_low(context, "fma_pipe"), _low(context, "fma_heavy_pipe"))


def _small(values: LeadValues, context: RuleContext) -> BoolArray:
    waves = values["waves_per_sm"]
    brief = (values["duration"] < SHORT_NS) & (waves < FEW_WAVES)
    return (values.small | (waves < 0.5) | brief) & _is_idle(values, context)


def _has_full_warps(values: LeadValues) -> BoolArray:
    rows: BoolArray = np.greater_equal(values["threads_per_instruction_predicated"], FILLED_WARPS)
    return rows


def _full_of_threads(unit: str) -> Condition:
    return lambda values, context: (_low(context, unit) >= FULL) & _has_full_warps(values)


def _full_fp32(values: LeadValues, context: RuleContext) -> BoolArray:
    issued = _low(context, "issue") >= FULL
    mostly = (_fma(context) >= BUSY_FMA) & (_low(context, "alu_pipe") < IDLE_ALU)
    return issued & mostly & _has_full_warps(values)


def _full_issue(values: LeadValues, context: RuleContext) -> BoolArray:
    return (_low(context, "issue") >= FULL) & (_fma(context) < BUSY_FMA) & _has_full_warps(values)


def _full_shared_memory(values: LeadValues, context: RuleContext) -> BoolArray:
    wavefronts = values["shared_wavefronts_measured"]
    cycles = values["sm_cycles_active"] * values["sm_count"]
    moved = np.fmax(values["l1_wavefronts"], values["l1_writeback"])
    return (
        (values["shared_bank_conflicts"] < FEW_CONFLICTS * wavefronts)
        & (wavefronts > cycles / 2)
        & (moved >= 100 * FULL)
        & (_low(context, "issue") < FULL)
    )


def _waits_for_memory(values: LeadValues, context: RuleContext) -> BoolArray:
    dram = _low(context, "dram")
    return (
        (_share(values, "long_scoreboard") > LONG_WAIT)
        & (dram >= SOME_DRAM)
        & (dram < BUSY_DRAM)
        & (values["achieved_occupancy"] > HIGH_OCCUPANCY)
    )


def _has_few_warps(values: LeadValues, context: RuleContext) -> BoolArray:
    return (
        (_share(values, "long_scoreboard") > LONG_WAIT)
        & _is_idle(values, context)
        & (values["achieved_occupancy"] <= LOW_OCCUPANCY)
    )


def _lead(bottleneck: str, holds: Condition, reason: str, *, at_limit: bool = False) -> Lead:
    return Lead(bottleneck, holds, f"based on samples: {reason}", without=(), at_limit=at_limit)


SAMPLED_LEADS: Final = (
    _lead(
        "warp-divergence",
        lambda values, _: (values["block_size"] <= TINY_BLOCK_THREADS) & ~values.small,
        "at most 4 of 32 lanes of a warp are active",
    ),
    _lead("small-grid", _small, "the launch is small, and no unit is busy"),
    _lead(
        "dram-bandwidth",
        lambda _, context: _low(context, "dram") >= BUSY_DRAM,
        "DRAM utilization; wasted traffic is not measured",
        at_limit=True,
    ),
    _lead(
        "tensor-throughput",
        lambda _, context: _low(context, "tensor_pipe") >= FULL,
        "utilization of the tensor pipe",
        at_limit=True,
    ),
    *(
        _lead(slug, _full_of_threads(unit), "utilization of this pipe", at_limit=True)
        for unit, slug in PIPE_RULES.items()
        if slug != "fp32-throughput"
    ),
    _lead("fp32-throughput", _full_fp32, "issue slots and the FP32 pipe are busy", at_limit=True),
    _lead(
        "instruction-issue", _full_issue, "issue slots are saturated, but no pipe is", at_limit=True
    ),
    _lead(
        "shared-memory-throughput",
        _full_shared_memory,
        "shared-memory wavefronts saturate L1, and few of them are bank conflicts",
        at_limit=True,
    ),
    _lead("memory-latency", _waits_for_memory, "warps wait for memory, and DRAM is not saturated"),
    _lead(
        "low-occupancy",
        _has_few_warps,
        "few warps are resident, they wait for memory, and no unit is busy",
    ),
)
"""The first that holds is followed."""
