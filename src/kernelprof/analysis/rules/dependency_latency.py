"""dependency-latency: nothing is near its limit and warps wait for their own arithmetic."""

from __future__ import annotations

from kernelprof.analysis.rules import Docs, Finding, Headline, Rule, RuleContext, Threshold, percent

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
        gain=context.gains.beside_more_warps(waiting, NOTABLE.value),
        gain_reason="warps that no longer wait like this, until the busiest unit is full",
        evidence=(
            percent("stall_wait", "warp time waiting for its own results", waiting, ">", NOTABLE),
            percent("issue_slots", "issue slots used", machine.issue),
            percent("sm_throughput", "busiest unit", machine.top),
        ),
    )


RULE = Rule(
    slug="dependency-latency",
    title="Dependency latency",
    order=120,
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
            "Use several independent accumulators.",
            "Let each thread compute more than one output.",
            "Run more warps if occupancy is low.",
            "Take branches and divisions out of the chain.",
        ),
        wrong_when="With many warps a scheduler fixed latencies are hidden; then another limit "
        "shows first.",
        references=("Nsight Compute, Warp State Statistics: Stall Wait, Stall Short Scoreboard",),
    ),
    requires=("stall_wait", "stall_short_scoreboard"),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
