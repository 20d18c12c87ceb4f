"""l2-bandwidth: L2 is the busiest unit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition
from kernelprof.analysis.advice.lines import BULK_LOADS, FUSE, NO_CLUSTERS, passes, since
from kernelprof.analysis.metrics import groups

NEAR_LIMIT = rules.near_limit(
    "a plain copy saturates DRAM at 83 %, while its busiest L2 stage is only at 54 %"
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, waste = context.units, context.waste
    full = (
        units.is_near_limit("l2")
        & (units.saturations["l2"] > units.saturations["dram"])
        & (waste.needless_part_of_l2 < groups.NOTABLE_WASTE)
        & context.pipeline.limits_copies("l2")
    )
    return rules.RuleFinding(
        gain=context.gains.by_relief(units.busiest_except("l2")).where(full, 1.0),
        saturation=units.saturations["l2"],
        gain_reason="the utilization of the busiest unit other than L2",
        effect=rules.less_work("long_scoreboard", "lg_throttle", unit="l2"),
        evidence=lambda: (
            rules.l2_stage(context, ">", NEAR_LIMIT),
            rules.dram_utilization(context),
            rules.measured(context, "l2_hit_rate", "L2 hit rate"),
            rules.percent(
                "global_sectors",
                "wasted L2 traffic",
                waste.needless_part_of_l2,
                formula="(excess + local sectors) / all sectors that reach L2",
                phrase="{x} of L2 traffic is wasted",
            ),
        ),
    )


RULE = rules.Rule(
    slug="l2-bandwidth",
    title="L2 bandwidth",
    order=160,
    subsystem=rules.Subsystem.L2,
    headline=rules.Headline(
        plain="L2 bandwidth limits the kernel: L2 is near its peak.",
        numbered="L2 bandwidth limits the kernel: L2 is at {x} of peak.",
        metric="l2_throughput",
        at_limit="L2 moves data as fast as it can",
    ),
    detects="L2 (its tags, data banks or links to the SMs) is saturated, while DRAM has headroom.",
    matters="All SMs share L2. If every SM rereads the same data, L2 delivers it each time, "
    "although DRAM delivers it only once.",
    example="Every block streams a table of 20 MB, bypassing L1. Tiling reuses the data from L1 "
    "or shared memory.",
    fixes=(
        Advice(
            "Tile for L1 or shared memory, so that a block reuses the data it loads.",
            unless=BULK_LOADS,
        ),
        Advice(
            "Use larger tiles: a block of 128x256 outputs uses each byte 2.7 times as often as one "
            "of 64x64.",
            when=BULK_LOADS,
        ),
        Advice(
            "Load tiles common to several blocks once per cluster (TMA multicast).",
            when=BULK_LOADS & NO_CLUSTERS,
        ),
        Advice(
            "Use L1 for data that the threads of a block share: do not load read-only data "
            "with __ldcg, volatile or atomics.",
            when=Condition(
                "loads bypass L1",
                lambda launch: launch["l1_hit_rate"] < 5.0 and passes(launch) >= 2.0,
            ),
            unless=BULK_LOADS,
            number=lambda launch: launch["l1_hit_rate"],
            measured="The L1 hit rate is {x} %.",
            situation="If loads bypass L1",
        ),
        Advice(
            "Use thread block clusters and distributed shared memory.",
            when=since(9, 0, "thread block clusters"),
            unless=BULK_LOADS,
        ),
    ),
    caller=(FUSE,),
    wrong_when="A streaming kernel moves every byte through L2 once, and its overall L2 "
    "utilization can exceed its DRAM utilization. The rule therefore compares each "
    "L2 stage (tags, data, links) with DRAM.",
    references=("Nsight Compute, Memory Workload Analysis: L2 Cache",),
    requires=groups.L2_STAGES,
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
