"""memory-latency: no unit is near its limit, and warps wait for global memory."""

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
    "Nsight Compute 2025.3, rule CPIStall: reports stalls of 30 % of warp time or more",
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
        "waiting for global memory",
        waiting,
        notable=NOTABLE,
        formula="(long_scoreboard + drain + tex_throttle) / cycles per instruction, excluding "
        "waits for uncoalesced, local and atomic accesses",
        waits=("drain", "tex_throttle"),
    )


RULE = rules.Rule(
    slug="memory-latency",
    title="Memory latency",
    order=110,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="Warps wait for data from memory, although memory bandwidth is not saturated.",
        numbered="Warps spend {x} of their time waiting for data from memory, although memory "
        "bandwidth is not saturated.",
        metric="stall_long_scoreboard",
    ),
    detects="Warps wait for data from L2 or DRAM while neither is near its limit: too few bytes "
    "are in flight.",
    matters="By Little's law, bandwidth equals bytes in flight divided by latency. An H200 needs "
    "about 40 KB in flight per SM to saturate DRAM.",
    example="sum += a[i] in a loop loads one value per iteration. Loading four independent values "
    "before the first use keeps four times as many bytes in flight.",
    fixes=(
        INTEGER_DIVISION,
        Advice(
            "Issue several independent loads before the first use: unroll the loop, or process "
            "several items per thread."
        ),
        WIDER_LOADS,
        Advice(
            "Increase occupancy.",
            when=LOW_OCCUPANCY,
            number=lambda launch: launch.occupancy,
            measured="It is {x} %.",
        ),
        Advice(
            "Prefetch the next tile while the current one is used, with cp.async or double "
            "buffering.",
            when=SHARED_MEMORY,
        ),
        Advice(
            "Change the data structure if addresses depend on earlier loads (lists, trees, "
            "indices).",
            when=SCATTERED,
            number=lambda launch: launch.used("load"),
            measured="Loads use {x} of the 32 bytes of a sector.",
        ),
        KEEP_WHAT_IS_READ,
        RESTRICT,
        WIDER_STORES,
    ),
    wrong_when="If a memory unit is saturated, the verdict names that unit. Waits for "
    "uncoalesced, local or atomic accesses have their own verdicts.",
    references=(
        "Nsight Compute, Warp State Statistics: Stall Long Scoreboard",
        "Volkov, Understanding Latency Hiding on GPUs, 2016",
    ),
    requires=("stall_long_scoreboard",),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
