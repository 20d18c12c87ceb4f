"""instruction-fetch: warps wait for instructions."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice

NOTABLE = rules.Threshold(
    "share of warp time",
    0.20,
    "share",
    "Nsight Compute 2025.3, rule CPIStall: reports stalls of 30 % of warp time or more; "
    "stall_no_instruction takes at most 8 % in tests/captures/gemm_series.full.raw.csv",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    waiting = context.units.warps.stall_share("no_instruction")
    return rules.stall_finding(
        context,
        context.gains.by_latency(waiting, NOTABLE.value),
        "no_instruction",
        "waiting for instructions",
        waiting,
        notable=NOTABLE,
    )


RULE = rules.Rule(
    slug="instruction-fetch",
    title="Instruction fetch",
    order=100,
    subsystem=rules.Subsystem.INSTRUCTIONS,
    headline=rules.Headline(
        plain="Warps wait for instruction fetch: the code exceeds the instruction caches.",
        numbered="Warps spend {x} of their time waiting for instruction fetch: the code exceeds "
        "the instruction caches.",
        metric="stall_no_instruction",
    ),
    detects="Warps wait because their next instruction is not in the instruction caches.",
    matters="If the hot code does not fit in the instruction cache, it is fetched again and "
    "again, and warps stall meanwhile. Long jumps can also stall warps.",
    example="A loop unrolled into 300 KB of code. Unrolled by 8, the loop fits in the cache.",
    fixes=(
        Advice("Unroll less: #pragma unroll 8 instead of full unrolling."),
        Advice("Move rare paths out of the hot loop, into __noinline__ functions."),
        Advice("Split a kernel that does many things."),
    ),
    wrong_when="Very short kernels always stall on instruction fetch, since their code is not yet "
    "in the cache.",
    references=("Nsight Compute, Warp State Statistics: Stall No Instruction",),
    requires=("stall_no_instruction",),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
