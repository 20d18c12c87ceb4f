"""instruction-issue: issue slots are full, and few of the instructions are arithmetic."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, when
from kernelprof.analysis.advice.lines import INTEGER_DIVISION, RESTRICT, WIDER_LOADS, WIDER_STORES

NEAR_LIMIT = rules.near_limit(
    "gemm_tiled without unrolling in tests/captures/gemm_series.full.raw.csv uses 87 % of the "
    "issue slots, 10 % of them for FMA, and is 1.37x faster when unrolled"
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units = context.units
    useful = units.arithmetic_share
    full = units.is_near_limit("issue") & (useful < 0.5) & context.waste.full_warps
    remaining = units.busiest(
        units.busiest_except("sm", "issue"), units.saturations["issue"] * useful
    ).replaced(units.divides_integers, units.busiest_without_division)
    return rules.RuleFinding(
        gain=context.gains.by_relief(remaining).where(full, 1.0),
        gain_reason="the utilization of the busiest unit once overhead instructions are removed",
        effect=rules.fewer_integer_instructions(context, "not_selected"),
        evidence=lambda: (
            rules.issue_slots(context, ">", NEAR_LIMIT),
            rules.percent(
                "ffma_rate",
                "instructions that are floating-point arithmetic",
                useful,
                "<",
                0.5,
                formula="floating-point instructions / issued instructions",
                phrase="{x} of instructions are floating-point arithmetic",
            ),
            rules.percent("l1_throughput", "L1 data-stage utilization", units.l1),
        ),
    )


RULE = rules.Rule(
    slug="instruction-issue",
    title="Instruction issue",
    order=150,
    subsystem=rules.Subsystem.INSTRUCTIONS,
    headline=rules.Headline(
        plain="Nearly all issue slots are used, and most instructions are not floating-point "
        "arithmetic.",
        numbered="The kernel uses {x} of the issue slots, and most instructions are not "
        "floating-point arithmetic.",
        metric="issue_slots",
        at_limit="The schedulers issue instructions about as fast as they can",
    ),
    detects="The schedulers issue an instruction in nearly every cycle, but mostly overhead: "
    "address arithmetic, loop counters, branches, moves.",
    matters="Each scheduler issues one instruction per cycle. If only one instruction in ten is "
    "an FMA, the kernel cannot exceed a tenth of the FP32 peak (a fifth on V100, T4 and A100).",
    example="An inner loop that is not unrolled spends a compare, a branch and address arithmetic "
    "on each FMA. Unrolling removes them: 1.37x faster on an H200.",
    fixes=(
        INTEGER_DIVISION,
        Advice("Unroll the inner loop (#pragma unroll), and compute several outputs per thread."),
        WIDER_LOADS,
        WIDER_STORES,
        when(
            "the ALU pipe is at least 40 % busy",
            lambda launch: launch["alu_pipe"] >= 40.0,
            "Hoist address arithmetic and loop invariants out of the loop, and use 32-bit indices.",
            number=lambda launch: launch["alu_pipe"],
            measured="The ALU pipe is {x} % busy.",
        ),
        RESTRICT,
    ),
    wrong_when="In integer kernels, integer instructions are the work, not overhead. "
    "If the integer pipe is saturated, the verdict is integer-throughput.",
    references=(
        "Nsight Compute, Compute Workload Analysis: Issue Slots Busy",
        "Nsight Compute, Instruction Statistics",
    ),
    requires=("issue_slots", "ffma_rate"),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
