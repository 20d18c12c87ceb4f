"""l2-bandwidth: L2 is the busiest unit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition
from kernelprof.analysis.advice.lines import BULK_LOADS, FUSE, NO_CLUSTERS, passes, since
from kernelprof.analysis.metrics import groups

NEAR_LIMIT = rules.near_limit(
    "a plain copy fills device memory (83 %) with these L2 stages at 54 %"
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
        gain_reason="the busiest unit other than L2",
        evidence=lambda: (
            rules.l2_stage(context, ">", NEAR_LIMIT),
            rules.dram_utilization(context),
            rules.measured(context, "l2_hit_rate", "L2 hit rate"),
            rules.percent(
                "global_sectors",
                "needless share of L2 traffic",
                waste.needless_part_of_l2,
                formula="excess and local sectors / all sectors that reach L2",
            ),
        ),
    )


RULE = rules.Rule(
    slug="l2-bandwidth",
    title="L2 bandwidth",
    order=160,
    subsystem=rules.Subsystem.L2,
    headline=rules.Headline(
        plain="The L2 cache is what everything else waits for: it moves too much data.",
        numbered="The L2 cache is what everything else waits for: it is {x} busy with moving data.",
        metric="l2_throughput",
        at_limit="The L2 cache moves data as fast as it can",
    ),
    detects="Traffic between the SMs and L2, or inside L2, that fills it while device memory has "
    "room.",
    matters="L2 is shared by all SMs. Data that every SM reads again passes it again, although "
    "device memory delivers it once.",
    example="A table of 20 MB that every block streams through with L1 bypassed; tiling so that a "
    "block uses what it has read keeps it in L1 or shared memory.",
    fixes=(
        Advice(
            "Tile for L1 or shared memory so that a block reuses what it has loaded.",
            unless=BULK_LOADS,
        ),
        Advice(
            "Use larger tiles: a block of 128x256 outputs uses each byte 2.7 times as often as one "
            "of 64x64.",
            when=BULK_LOADS,
        ),
        Advice(
            "Load tiles that blocks share once for a cluster (TMA multicast).",
            when=BULK_LOADS & NO_CLUSTERS,
        ),
        Advice(
            "Let L1 keep what a block shares: its hit rate is {x} % (do not load with __ldcg, "
            "volatile or atomics what does not change).",
            when=Condition(
                "loads hit in L1 hardly ever, and use twice what device memory delivers",
                lambda launch: launch["l1_hit_rate"] < 5.0 and passes(launch) >= 2.0,
            ),
            unless=BULK_LOADS,
            number=lambda launch: launch["l1_hit_rate"],
        ),
        Advice(
            "Use thread block clusters and distributed shared memory.",
            when=since(9, 0, "thread block clusters"),
            unless=BULK_LOADS,
        ),
    ),
    caller=(FUSE,),
    wrong_when="In a pure stream every byte passes L2 once and the combined L2 percentage can "
    "stand above that of device memory: this rule looks at tags, data and links one by one, and "
    "compares with device memory.",
    references=("Nsight Compute, Memory Workload Analysis: L2 Cache",),
    requires=groups.L2_STAGES,
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
