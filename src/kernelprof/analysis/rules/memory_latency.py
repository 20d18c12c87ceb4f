"""memory-latency: nothing is near its limit and warps wait for global memory."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice
from kernelprof.analysis.advice.lines import (
    INTEGER_DIVISION,
    KEEP_WHAT_IS_READ,
    LOW_OCCUPANCY,
    RESTRICT,
    SCATTERED,
    SHARED_MEMORY,
    WIDER_LOADS,
    WIDER_STORES,
)

NOTABLE = rules.Threshold(
    "share of warp time",
    0.30,
    "share",
    "Nsight Compute 2025.3, rule CPIStall: a stall that takes 30 % of a warp's time",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units = context.units
    waiting = (
        units.warps.stall_share("long_scoreboard", "drain", "tex_throttle")
        * context.waits.plain_part
    )
    gain = context.gains.by_latency_with_full_slots(waiting, NOTABLE.value)
    return rules.stall_finding(
        context,
        gain.where(~(context.pipeline.by_design | context.pipeline.is_fed_by_bulk_copies), 1.0),
        "long_scoreboard",
        "warp time waiting for global memory",
        waiting,
        notable=NOTABLE,
        formula="(long_scoreboard + drain) / cycles per instruction, plain accesses",
    )


RULE = rules.Rule(
    slug="memory-latency",
    title="Memory latency",
    order=110,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="Warps wait for data from memory, although memory could deliver more at a time.",
        numbered="Warps spend {x} of their time waiting for data from memory, although memory "
        "could deliver more at a time.",
        metric="stall_long_scoreboard",
    ),
    detects="Warps that wait for data from L2 or device memory while neither is near its limit: "
    "too few bytes are in flight.",
    matters="By Little's law bandwidth is bytes in flight over latency. On an H200 about 40 KB per "
    "SM must be in flight to fill device memory.",
    example="sum += a[i] in a loop loads one value per iteration; loading four independent values "
    "before the first use keeps four times as many bytes in flight.",
    fixes=(
        Advice(
            "Issue several independent loads before the first use: unroll the loop, or let each "
            "thread take several items."
        ),
        WIDER_LOADS,
        Advice(
            "Raise occupancy: SMs hold {x} % of the warps that fit.",
            when=LOW_OCCUPANCY,
            number=lambda launch: launch.occupancy,
        ),
        Advice(
            "Prefetch the next tile while this one is used: cp.async, double buffering.",
            when=SHARED_MEMORY,
        ),
        Advice(
            "Where an address depends on a load before it (lists, trees, indices), change the data "
            "structure: loads use {x} bytes of each sector.",
            when=SCATTERED,
            number=lambda launch: launch.used("load"),
        ),
        KEEP_WHAT_IS_READ,
        RESTRICT,
        INTEGER_DIVISION,
        WIDER_STORES,
    ),
    wrong_when="Waiting for memory while a memory unit is saturated is not latency: the unit is "
    "named then. Waiting for uncoalesced, local or atomic accesses goes to those names.",
    references=(
        "Nsight Compute, Warp State Statistics: Stall Long Scoreboard",
        "Volkov, Understanding Latency Hiding on GPUs, 2016",
    ),
    requires=("stall_long_scoreboard",),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
