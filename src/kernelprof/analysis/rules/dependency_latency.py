"""dependency-latency: nothing is near its limit and warps wait for their own arithmetic."""

from __future__ import annotations

from kernelprof.analysis.advice import Advice, Condition
from kernelprof.analysis.advice.conditions import LOW_OCCUPANCY
from kernelprof.analysis.advice.lines import INTEGER_DIVISION
from kernelprof.analysis.rules import (
    Docs,
    Finding,
    Headline,
    Place,
    Rule,
    RuleContext,
    Threshold,
    busiest_unit,
    percent,
)

NOTABLE = Threshold(
    "share of warp time",
    0.30,
    "share",
    "Nsight Compute 2025.3, rule CPIStall: a stall that takes 30 % of a warp's time",
)


def evaluate(context: RuleContext) -> Finding:
    machine = context.machine
    waiting = (
        machine.warps.stall_share("wait", "branch_resolving", "dispatch_stall", "misc")
        + machine.warps.stall_share("short_scoreboard") * (1.0 - context.waste.bank_conflicts)
    ).at_most(1.0)
    return Finding(
        gain=context.gains.beside_more_warps(waiting, NOTABLE.value).where(
            ~context.pipeline.by_design, 1.0
        ),
        gain_reason="warps that no longer wait like this, until the busiest unit is full",
        evidence=(
            percent(
                "stall_wait",
                "warp time waiting for its own results",
                waiting,
                ">",
                NOTABLE,
                formula="(wait, short_scoreboard, branches) / cycles per instruction",
            ),
            percent("issue_slots", "issue slots used", machine.issue),
            busiest_unit(context),
        ),
    )


WAITED_FOR = 10.0
"""Percent of the special-function pipe from which waiting for results is waiting for it."""


RULE = Rule(
    slug="dependency-latency",
    title="Dependency latency",
    order=120,
    place=Place.WAITING,
    headline=Headline(
        plain="Warps wait for the results of their own previous instructions.",
        numbered="Warps spend {x} of their time waiting for the results of their own previous "
        "instructions.",
        metric="stall_wait",
    ),
    docs=Docs(
        detects="Warps that wait for the result of their own last instructions, arithmetic or "
        "shared memory, while no unit is near its limit.",
        matters="An FMA takes about 4 cycles before its result can be used. One chain of "
        "dependent operations and few warps leave most issue slots empty.",
        example="acc = acc * x + y in one chain; four independent accumulators issue "
        "four times the work in the same time.",
        fixes=(
            Advice(
                "Use several independent accumulators.",
                unless=Condition(
                    "warps wait longer for shared memory or special functions",
                    lambda seen: seen["stall_short_scoreboard"] > seen["stall_wait"],
                ),
            ),
            Advice("Let each thread compute more than one output."),
            Advice(
                "Run more warps: SMs hold {x} % of those that fit.",
                when=LOW_OCCUPANCY,
                number=lambda seen: seen.occupancy,
            ),
            Advice(
                "Keep what is passed on in registers (warp shuffles, register tiles): warps wait "
                "for shared memory longer than for arithmetic.",
                when=Condition(
                    "warps wait for shared memory longer than for arithmetic",
                    lambda seen: (
                        seen["stall_short_scoreboard"] > seen["stall_wait"]
                        and seen["xu_pipe"] < WAITED_FOR
                        and seen.shared_memory > 0
                    ),
                ),
            ),
            Advice(
                "Take special functions and divisions out of the chain: their pipe is {x} % busy, "
                "and warps wait for its results.",
                when=Condition(
                    "warps wait for results of special functions longer than for arithmetic",
                    lambda seen: (
                        seen["stall_short_scoreboard"] > seen["stall_wait"]
                        and seen["xu_pipe"] >= WAITED_FOR
                        and seen.arithmetic[0] > 0
                    ),
                ),
                number=lambda seen: seen["xu_pipe"],
            ),
            INTEGER_DIVISION,
        ),
        wrong_when="With many warps a scheduler fixed latencies are hidden; then another limit "
        "shows first.",
        references=("Nsight Compute, Warp State Statistics: Stall Wait, Stall Short Scoreboard",),
    ),
    requires=("stall_wait", "stall_short_scoreboard"),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
