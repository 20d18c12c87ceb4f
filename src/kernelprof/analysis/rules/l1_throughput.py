"""l1-throughput: well-coalesced loads fill the L1 path."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, unless
from kernelprof.analysis.advice.lines import KEEP_WHAT_IS_READ, RESTRICT, WIDER_LOADS
from kernelprof.analysis.metrics import groups

NEAR_LIMIT = rules.near_limit(
    "the two gemm_coalesced launches in tests/captures/gemm_series.full.raw.csv reach 74 % and 98 %"
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, waste = context.units, context.waste
    full = (
        units.is_near_limit("l1")
        & (waste.shared_part_of_l1 < 0.5)
        & (waste.needless_part_of_l1 < groups.NOTABLE_WASTE)
    )
    queue = (
        units.warps.stall_share("lg_throttle")
        * (1.0 - waste.needless_part_of_l1)
        * (1.0 - context.waits.atomic_part)
    )
    return rules.RuleFinding(
        gain=context.gains.by_relief(units.busiest_except("l1")).where(
            full, context.gains.by_latency(queue)
        ),
        effect=rules.less_work("lg_throttle", "long_scoreboard", unit="l1"),
        gain_reason="the utilization of the busiest unit other than L1",
        evidence=lambda: (
            rules.l1_utilization(context, ">", NEAR_LIMIT),
            rules.measured(context, "l1_hit_rate", "L1 hit rate"),
            rules.percent(
                "global_sectors",
                "wasted L1 wavefronts",
                waste.needless_part_of_l1,
                formula="(wavefronts of excess sectors, local sectors and bank conflicts) / "
                "all L1 wavefronts",
                phrase="{x} of L1 wavefronts are wasted",
            ),
            rules.percent(
                "stall_lg_throttle",
                "warp time spent waiting for the LG queue",
                queue,
                formula="stall_lg_throttle / cycles per instruction, excluding waits for wasted "
                "wavefronts and atomics",
                phrase="{x} of warp time spent waiting for the LG queue",
            ),
        ),
    )


RULE = rules.Rule(
    slug="l1-throughput",
    title="L1 throughput",
    order=130,
    subsystem=rules.Subsystem.L1,
    headline=rules.Headline(
        plain="L1 throughput limits the kernel, which loads the same data repeatedly.",
        numbered="L1 throughput ({x} of peak) limits the kernel, which loads the same data "
        "repeatedly.",
        metric="l1_throughput",
        at_limit="L1 is close to its practical peak",
    ),
    detects="Coalesced global loads, mostly hits in L1, are so numerous that they saturate the "
    "SM's load/store path.",
    matters="L1 returns at most 128 bytes per cycle per SM. A kernel with two loads per FMA spends "
    "its time loading.",
    example="If each thread of an N x N GEMM reads a row of A and a column of B from global "
    "memory, every value is loaded N times. L1 serves all of these loads.",
    fixes=(
        unless(
            "most loads miss in L1",
            lambda launch: launch["l1_hit_rate"] < 50.0,
            "Load a tile into shared memory once and reuse it.",
        ),
        Advice("Keep operands in registers: compute a tile of outputs per thread."),
        WIDER_LOADS,
        RESTRICT,
        KEEP_WHAT_IS_READ,
    ),
    wrong_when="If scattered addresses saturate L1, the verdict is uncoalesced-global-access. "
    "Shared memory uses the same path: if it has the larger share of wavefronts, the verdict is "
    "shared-memory-throughput.",
    references=(
        "Nsight Compute, Memory Workload Analysis: L1/TEX Cache",
        "CUDA C++ Programming Guide, Shared Memory: matrix multiplication",
    ),
    requires=("l1_throughput", "shared_wavefronts_share", "global_sectors", "global_sectors_ideal"),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
