"""instruction-fetch: warps wait for instructions."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice

NOTABLE = rules.Threshold(
    "share of warp time",
    0.20,
    "share",
    "Nsight Compute 2025.3, rule CPIStall names a stall from 30 % of the warp's time; 0.5 % to 4 % "
    "in every kernel of tests/captures/gemm_series.full.raw.csv",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    waiting = context.units.warps.stall_share("no_instruction")
    return rules.stall_finding(
        context,
        context.gains.by_latency(waiting, NOTABLE.value),
        "no_instruction",
        "warp time waiting for instructions",
        waiting,
        notable=NOTABLE,
    )


RULE = rules.Rule(
    slug="instruction-fetch",
    title="Instruction fetch",
    order=100,
    subsystem=rules.Subsystem.INSTRUCTIONS,
    headline=rules.Headline(
        plain="Warps wait for their next instructions: the code is too long for the instruction "
        "caches.",
        numbered="Warps spend {x} of their time waiting for their next instruction: the code is "
        "too long for the instruction caches.",
        metric="stall_no_instruction",
    ),
    detects="Warps that wait because their next instruction is not in the instruction caches.",
    matters="Straight-line code that is longer than the instruction cache is fetched anew by every "
    "warp, and jumps across it stall.",
    example="A loop unrolled into 300 KB of code; unrolling by 8 instead keeps the loop in the "
    "cache.",
    fixes=(
        Advice("Unroll less: #pragma unroll 8 instead of full."),
        Advice("Keep rare paths out of the hot loop, in __noinline__ functions."),
        Advice("Split a kernel that does many things."),
    ),
    wrong_when="Very short kernels always show some of it, since their code is cold.",
    references=("Nsight Compute, Warp State Statistics: Stall No Instruction",),
    requires=("stall_no_instruction",),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
