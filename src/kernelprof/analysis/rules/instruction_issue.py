"""instruction-issue: issue slots are the limit and too few of them do the arithmetic."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, when
from kernelprof.analysis.advice.lines import INTEGER_DIVISION, RESTRICT, WIDER_LOADS, WIDER_STORES

NEAR_LIMIT = rules.near_limit(
    "gemm_tiled without unrolling in tests/captures/gemm_series.full.raw.csv: 87 % issue slots, 10 "
    "% of them FMA, and 1.37x from unrolling"
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units = context.units
    useful = units.arithmetic_share
    full = units.is_near_limit("issue") & (useful < 0.5) & context.waste.full_warps
    remaining = units.busiest(
        units.busiest_except("sm", "issue"), units.saturations["issue"] * useful
    )
    return rules.RuleFinding(
        gain=context.gains.by_relief(remaining).where(full, 1.0),
        gain_reason="the busiest unit other than the issue slots, without the overhead "
        "instructions",
        evidence=lambda: (
            rules.issue_slots(context, ">", NEAR_LIMIT),
            rules.percent(
                "ffma_rate",
                "of which floating-point arithmetic",
                useful,
                "<",
                0.5,
                formula="floating-point instructions / issued instructions",
            ),
            rules.percent("l1_throughput", "L1 data stage", units.l1),
        ),
    )


RULE = rules.Rule(
    slug="instruction-issue",
    title="Instruction issue",
    order=150,
    subsystem=rules.Subsystem.INSTRUCTIONS,
    headline=rules.Headline(
        plain="The GPU issues instructions nearly as fast as it can, and most of them are not the "
        "actual arithmetic.",
        numbered="The GPU uses {x} of its chances to issue an instruction, and most of these are "
        "not the actual arithmetic.",
        metric="issue_slots",
        at_limit="The GPU issues instructions as fast as it can",
    ),
    detects="Schedulers that issue in nearly every cycle, mostly instructions that are not the "
    "arithmetic: addresses, loop counters, branches, moves.",
    matters="Each scheduler issues one instruction a cycle. If one of ten is an FMA, the kernel "
    "cannot pass a tenth of the FP32 peak.",
    example="An inner loop that is not unrolled spends a compare, a branch and address arithmetic "
    "on each FMA; unrolled, they vanish (1.37x on an H200).",
    fixes=(
        Advice("Unroll the inner loop (#pragma unroll), and compute several outputs per thread."),
        WIDER_LOADS,
        WIDER_STORES,
        when(
            "the integer pipe is 40 % busy or more",
            lambda launch: launch["alu_pipe"] >= 40.0,
            "Hoist address arithmetic and invariant terms out of the loop, and use 32-bit indices: "
            "the integer pipe is {x} % busy.",
            number=lambda launch: launch["alu_pipe"],
        ),
        RESTRICT,
        INTEGER_DIVISION,
    ),
    wrong_when="Integer kernels compute with the same instructions that are overhead elsewhere; "
    "where the integer pipe itself is full, integer-throughput is named.",
    references=(
        "Nsight Compute, Compute Workload Analysis: Issue Slots Busy",
        "Nsight Compute, Instruction Statistics",
    ),
    requires=("issue_slots", "ffma_rate"),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
