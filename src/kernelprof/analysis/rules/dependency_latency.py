"""dependency-latency: nothing is near its limit and warps wait for their own arithmetic."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, unless, when
from kernelprof.analysis.advice.lines import INTEGER_DIVISION, LOW_OCCUPANCY

NOTABLE = rules.Threshold(
    "share of warp time",
    0.30,
    "share",
    "Nsight Compute 2025.3, rule CPIStall: a stall that takes 30 % of a warp's time",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units = context.units
    waiting = (
        units.warps.stall_share("wait", "branch_resolving", "dispatch_stall", "misc")
        + units.warps.stall_share("short_scoreboard") * (1.0 - context.waste.bank_conflicts)
    ).at_most(1.0)
    gain = context.gains.by_latency_with_full_slots(waiting, NOTABLE.value)
    return rules.stall_finding(
        context,
        gain.where(~context.pipeline.by_design, 1.0),
        "wait",
        "warp time waiting for its own results",
        waiting,
        notable=NOTABLE,
        formula="(wait, short_scoreboard, branches) / cycles per instruction",
    )


WAITED_FOR = 10.0
"""Percent of the special-function pipe from which waiting for results is waiting for it."""


RULE = rules.Rule(
    slug="dependency-latency",
    title="Dependency latency",
    order=120,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="Warps wait for the results of their own previous instructions.",
        numbered="Warps spend {x} of their time waiting for the results of their own previous "
        "instructions.",
        metric="stall_wait",
    ),
    detects="Warps that wait for the result of their own last instructions, arithmetic or shared "
    "memory, while no unit is near its limit.",
    matters="An FMA takes about 4 cycles before its result can be used. One chain of dependent "
    "operations and few warps leave most issue slots empty.",
    example="acc = acc * x + y in one chain; four independent accumulators issue four times the "
    "work in the same time.",
    fixes=(
        unless(
            "warps wait longer for shared memory or special functions",
            lambda launch: launch["stall_short_scoreboard"] > launch["stall_wait"],
            "Use several independent accumulators.",
        ),
        Advice("Let each thread compute more than one output."),
        Advice(
            "Run more warps: SMs hold {x} % of those that fit.",
            when=LOW_OCCUPANCY,
            number=lambda launch: launch.occupancy,
        ),
        when(
            "warps wait for shared memory longer than for arithmetic",
            lambda launch: (
                launch["stall_short_scoreboard"] > launch["stall_wait"]
                and launch["xu_pipe"] < WAITED_FOR
                and launch.shared_memory > 0
            ),
            "Keep what is passed on in registers (warp shuffles, register tiles): warps wait for "
            "shared memory longer than for arithmetic.",
        ),
        when(
            "warps wait for results of special functions longer than for arithmetic",
            lambda launch: (
                launch["stall_short_scoreboard"] > launch["stall_wait"]
                and launch["xu_pipe"] >= WAITED_FOR
                and launch.arithmetic[0] > 0
            ),
            "Take special functions and divisions out of the chain: their pipe is {x} % busy, and "
            "warps wait for its results.",
            number=lambda launch: launch["xu_pipe"],
        ),
        INTEGER_DIVISION,
    ),
    wrong_when="With many warps a scheduler fixed latencies are hidden; then another limit shows "
    "first.",
    references=("Nsight Compute, Warp State Statistics: Stall Wait, Stall Short Scoreboard",),
    requires=("stall_wait", "stall_short_scoreboard"),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
