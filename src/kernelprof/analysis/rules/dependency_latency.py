"""dependency-latency: no unit is near its limit, and warps wait for their own results."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, unless, when
from kernelprof.analysis.advice.lines import INTEGER_DIVISION, LOW_OCCUPANCY

NOTABLE = rules.Threshold(
    "share of warp time",
    0.30,
    "share",
    "Nsight Compute 2025.3, rule CPIStall: reports stalls of 30 % of warp time or more",
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
        "waiting for earlier instructions of the same warp",
        waiting,
        notable=NOTABLE,
        formula="(wait + short_scoreboard + branch_resolving + dispatch_stall + misc) / "
        "cycles per instruction, excluding bank conflicts",
    )


WAITED_FOR = 10.0
"""Percent of the XU pipe from which waits for results are waits for that pipe."""


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
    detects="Warps wait for the results of their own previous arithmetic or shared-memory "
    "instructions, while no unit is near its limit.",
    matters="An FMA result is available after about 4 cycles. With one chain of dependent "
    "operations and few warps, most issue slots stay empty.",
    example="acc = acc * x + y is one dependency chain. Four independent accumulators do four "
    "times the work in the same time.",
    fixes=(
        INTEGER_DIVISION,
        unless(
            "warps mostly wait for shared memory or special functions",
            lambda launch: launch["stall_short_scoreboard"] > launch["stall_wait"],
            "Use several independent accumulators.",
        ),
        Advice("Compute more than one output per thread."),
        Advice(
            "Increase occupancy.",
            when=LOW_OCCUPANCY,
            number=lambda launch: launch.occupancy,
            measured="It is {x} %.",
        ),
        when(
            "warps mostly wait for shared memory",
            lambda launch: (
                launch["stall_short_scoreboard"] > launch["stall_wait"]
                and launch["xu_pipe"] < WAITED_FOR
                and launch.shared_memory > 0
            ),
            "Pass values through registers (warp shuffles, register tiles) instead of shared "
            "memory, whose latency is higher than that of arithmetic.",
        ),
        when(
            "warps mostly wait for special functions",
            lambda launch: (
                launch["stall_short_scoreboard"] > launch["stall_wait"]
                and launch["xu_pipe"] >= WAITED_FOR
                and launch.arithmetic[0] > 0
            ),
            "Move special functions and divisions off the dependency chain.",
            number=lambda launch: launch["xu_pipe"],
            measured="The XU pipe is {x} % busy, and warps wait for its results.",
        ),
    ),
    wrong_when="With enough warps per scheduler, fixed latencies are hidden, and fixing "
    "another bottleneck gains more.",
    references=("Nsight Compute, Warp State Statistics: Stall Wait, Stall Short Scoreboard",),
    requires=("stall_wait", "stall_short_scoreboard"),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
