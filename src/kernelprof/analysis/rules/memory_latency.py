"""memory-latency: nothing is near its limit and warps wait for global memory."""

from __future__ import annotations

from kernelprof.analysis.advice import Advice
from kernelprof.analysis.advice.conditions import LOW_OCCUPANCY, SCATTERED, SHARED_MEMORY
from kernelprof.analysis.advice.lines import (
    INTEGER_DIVISION,
    KEEP_WHAT_IS_READ,
    RESTRICT,
    WIDER_LOADS,
    WIDER_STORES,
)
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
        machine.warps.stall_share("long_scoreboard", "drain", "tex_throttle")
        * context.waiting.plain_part
    )
    return Finding(
        gain=context.gains.beside_more_warps(waiting, NOTABLE.value).where(
            ~(context.pipeline.by_design | context.pipeline.copies_in_bulk), 1.0
        ),
        gain_reason="warps that no longer wait like this, until the busiest unit is full",
        evidence=(
            percent(
                "stall_long_scoreboard",
                "warp time waiting for global memory",
                waiting,
                ">",
                NOTABLE,
                formula="(long_scoreboard + drain) / cycles per instruction, plain accesses",
            ),
            percent("issue_slots", "issue slots used", machine.issue),
            busiest_unit(context),
        ),
    )


RULE = Rule(
    slug="memory-latency",
    title="Memory latency",
    order=110,
    place=Place.WAITING,
    headline=Headline(
        plain="Warps wait for data from memory, although memory could deliver more at a time.",
        numbered="Warps spend {x} of their time waiting for data from memory, although memory "
        "could deliver more at a time.",
        metric="stall_long_scoreboard",
    ),
    docs=Docs(
        detects="Warps that wait for data from L2 or device memory while neither is near its "
        "limit: too few bytes are in flight.",
        matters="By Little's law bandwidth is bytes in flight over latency. On an H200 about 40"
        " KB per SM must be in flight to fill device memory.",
        example="sum += a[i] in a loop loads one value per iteration; loading four independent "
        "values before the first use keeps four times as many bytes in flight.",
        fixes=(
            Advice(
                "Issue several independent loads before the first use: unroll the loop, or let "
                "each thread take several items."
            ),
            WIDER_LOADS,
            Advice(
                "Raise occupancy: SMs hold {x} % of the warps that fit.",
                when=LOW_OCCUPANCY,
                number=lambda seen: seen.occupancy,
            ),
            Advice(
                "Prefetch the next tile while this one is used: cp.async, double buffering.",
                when=SHARED_MEMORY,
            ),
            Advice(
                "Where an address depends on a load before it (lists, trees, indices), change the "
                "data structure: loads use {x} bytes of each sector.",
                when=SCATTERED,
                number=lambda seen: seen.used("load"),
            ),
            KEEP_WHAT_IS_READ,
            RESTRICT,
            INTEGER_DIVISION,
            WIDER_STORES,
        ),
        wrong_when="Waiting for memory while a memory unit is saturated is not latency: the "
        "unit is named then. Waiting for uncoalesced, local or atomic accesses goes "
        "to those names.",
        references=(
            "Nsight Compute, Warp State Statistics: Stall Long Scoreboard",
            "Volkov, Understanding Latency Hiding on GPUs, 2016",
        ),
    ),
    requires=("stall_long_scoreboard",),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
