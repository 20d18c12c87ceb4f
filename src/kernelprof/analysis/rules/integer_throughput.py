"""integer-throughput: an integer pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, when

NEAR_LIMIT = rules.near_limit(
    "ALU at 60 % in gemm_tiled without unrolling is overhead, not the limit"
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units = context.units
    heavy = units.saturations["fma_heavy_pipe"].where(units.multiplies_integers, 0.0)
    saturation = units.busiest(units.saturations["alu_pipe"], heavy)
    alu, multiply = units.pipe("alu_pipe"), units.pipe("fma_heavy_pipe")
    return rules.pipe_finding(
        context,
        saturation,
        saturation >= NEAR_LIMIT.value,
        units.busiest_except("sm", "alu_pipe", "fma_heavy_pipe", "fma_pipe"),
        lambda: (
            rules.percent("alu_pipe", "integer and logic pipe (ALU)", alu, ">", NEAR_LIMIT),
            rules.percent("fma_heavy_pipe", "integer multiply pipe", multiply),
            rules.issue_slots(context),
        ),
        pipe="the integer pipes",
    )


_MULTIPLIES = Condition(
    "the multiply half of the FMA pipe is busier than the ALU",
    lambda launch: launch["fma_heavy_pipe"] > launch["alu_pipe"],
)


RULE = rules.Rule(
    slug="integer-throughput",
    title="Integer throughput",
    order=145,
    subsystem=rules.Subsystem.PIPES,
    headline=rules.Headline(
        plain="Integer arithmetic keeps its units busy nearly all the time, and everything else "
        "waits.",
        at_limit="Integer arithmetic keeps its units as busy as they get",
    ),
    detects="Integer and logic instructions that fill the ALU pipe, or integer multiplications "
    "that fill their half of the FMA pipe.",
    matters="The ALU does 64 operations per cycle and SM, half of what the schedulers issue; "
    "kernels of hashes, bit tricks or index arithmetic fill it first.",
    example="A xorshift generator: shifts and exclusive-ors all go to the ALU.",
    fixes=(
        Advice(
            "Use LOP3, byte permutation and funnel shifts: one instruction for several operations.",
            unless=_MULTIPLIES,
        ),
        when(
            "the FMA pipe is half as busy as the ALU at most",
            lambda launch: launch["fma_pipe"] <= 0.5 * launch["alu_pipe"],
            "Use IMAD for adds and shifts to move work to the FMA pipe, which is {x} % busy.",
            number=lambda launch: launch["fma_pipe"],
        ),
        Advice(
            "Multiply less: 32-bit in place of 64-bit arithmetic, shifts and additions in place of "
            "multiplications by constants; division by a constant multiplies as well.",
            when=_MULTIPLIES,
        ),
        Advice("Precompute tables or indices."),
    ),
    wrong_when="In a floating-point kernel the same pipe does loop counters, comparisons and "
    "address arithmetic: there it is overhead (instruction-issue).",
    references=("Nsight Compute, Compute Workload Analysis: ALU pipe",),
    requires=("alu_pipe",),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
