"""integer-throughput: an integer pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, when
from kernelprof.analysis.advice.lines import INTEGER_DIVISION

NEAR_LIMIT = rules.near_limit(
    "the ALU utilization of 60 % in gemm_tiled without unrolling is overhead, not the bottleneck"
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units = context.units
    heavy = units.saturations["fma_heavy_pipe"].where(units.multiplies_integers, 0.0)
    saturation = units.busiest(units.saturations["alu_pipe"], heavy)
    alu, multiply = units.pipe("alu_pipe"), units.pipe("fma_heavy_pipe")
    others = units.busiest_except("sm", "alu_pipe", "fma_heavy_pipe", "fma_pipe")
    # Where issue slots are fuller, instruction-issue has the gain from the division.
    dividing = units.dividing & (saturation >= units.saturations["issue"])
    return rules.pipe_finding(
        context,
        saturation,
        saturation >= NEAR_LIMIT.value,
        units.busiest_without_division.where(dividing, others),
        lambda: (
            rules.percent("alu_pipe", "ALU pipe utilization", alu, ">", NEAR_LIMIT),
            rules.percent("fma_heavy_pipe", "integer multiply pipe utilization", multiply),
            rules.issue_slots(context),
        ),
        effect=rules.fewer_integer_instructions(context, "math_pipe_throttle", "not_selected"),
        pipe="the integer pipes",
    )


_MULTIPLIES = Condition(
    "most work is integer multiplication",
    lambda launch: launch["fma_heavy_pipe"] > launch["alu_pipe"],
)


RULE = rules.Rule(
    slug="integer-throughput",
    title="Integer throughput",
    order=145,
    subsystem=rules.Subsystem.PIPES,
    headline=rules.Headline(
        plain="Integer arithmetic limits the kernel: the integer pipe is the busiest unit of the "
        "GPU.",
        at_limit="The integer pipe is close to its practical peak",
    ),
    detects="Integer and logic instructions saturate the ALU pipe, or integer multiplications "
    "saturate the FMA heavy pipe (half of the FMA pipe).",
    matters="The ALU executes 64 operations per cycle per SM, half of what the schedulers "
    "can issue. Hashes, bit manipulation and index arithmetic saturate the ALU before they fill "
    "the issue slots.",
    example="A xorshift generator: shifts and exclusive-ors all go to the ALU.",
    fixes=(
        INTEGER_DIVISION,
        Advice(
            "Use LOP3, byte permutation and funnel shifts: each does several operations in one "
            "instruction.",
            unless=_MULTIPLIES,
        ),
        when(
            "the FMA pipe is at most half as busy as the ALU",
            lambda launch: launch["fma_pipe"] <= 0.5 * launch["alu_pipe"],
            "Use IMAD for additions and shifts, to move work to the FMA pipe.",
            number=lambda launch: launch["fma_pipe"],
            measured="The FMA pipe is {x} % busy.",
        ),
        Advice(
            "Reduce multiplications: use 32-bit instead of 64-bit arithmetic, and shifts and "
            "additions for constant factors. Division by a constant also compiles to "
            "multiplications.",
            when=_MULTIPLIES,
        ),
        Advice("Precompute tables or indices."),
    ),
    wrong_when="In a floating-point kernel, the ALU handles loop counters, comparisons and "
    "address arithmetic, which are overhead: see instruction-issue.",
    references=("Nsight Compute, Compute Workload Analysis: ALU pipe",),
    requires=("alu_pipe",),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
