"""dram-bandwidth: device memory is near its practical ceiling."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, unless, when
from kernelprof.analysis.advice.lines import FULL_SECTORS, FUSE, SMALLER_TYPE, uses_fp64
from kernelprof.analysis.metrics import groups

NEAR_LIMIT = rules.near_limit(
    "copy_vec4 in tests/captures/gemm_series.full.raw.csv reaches 83 % under ncu"
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, waste = context.units, context.waste
    saturation = units.saturations["dram"]
    full = (
        units.is_near_limit("dram")
        & (waste.needless_part_of_dram < groups.NOTABLE_WASTE)
        & context.pipeline.limits_copies("dram")
    )
    return rules.RuleFinding(
        gain=context.gains.by_relief(units.busiest_except("dram", "l2")).where(full, 1.0),
        saturation=saturation,
        promise=1.0 / saturation.at_least(1e-3),
        gain_reason="the utilization of the busiest unit other than DRAM and L2",
        effect=lambda gain: rules.Effect(
            units={"dram": 1.0 / gain, "l2": 1.0 / gain}, waits=("long_scoreboard", "drain")
        ),
        evidence=lambda: (
            rules.dram_utilization(context, ">", NEAR_LIMIT),
            rules.percent(
                "global_sectors",
                "wasted DRAM traffic",
                waste.needless_part_of_dram,
                formula="(excess + local sectors) / all sectors that reach DRAM",
                phrase="{x} of DRAM traffic is wasted",
            ),
            rules.measured(context, "sm_throughput", "SM throughput"),
        ),
    )


_WRITES = Condition(
    "the kernel mostly writes",
    lambda launch: (
        launch["global_load_requests"] == 0
        or launch["dram_bytes_written"] >= 2 * launch["dram_bytes_read"]
    ),
)

RULE = rules.Rule(
    slug="dram-bandwidth",
    title="Device memory bandwidth",
    order=170,
    subsystem=rules.Subsystem.DRAM,
    headline=rules.Headline(
        plain="DRAM bandwidth limits the kernel: DRAM is near its practical peak.",
        numbered="DRAM bandwidth limits the kernel: DRAM is at {x} of peak.",
        metric="dram_throughput",
        at_limit="DRAM moves data about as fast as it can",
    ),
    detects="DRAM runs near its sustainable bandwidth, and the kernel needs all of the data that "
    "it moves.",
    matters="The kernel gets faster only if it moves fewer bytes; faster arithmetic does not help.",
    example="copy, saxpy and other streaming kernels. Fusing two consecutive element-wise kernels "
    "saves one write and one read of the intermediate result.",
    fixes=(
        Advice(
            "Fuse the kernel with the previous or next kernel, so that intermediate results stay "
            "on the chip."
        ),
        when("the kernel computes in FP64", uses_fp64, "Store float instead of double."),
        unless(
            "loads are coalesced and read at most 2 bytes per thread",
            lambda launch: launch.used("load") >= FULL_SECTORS and launch.width("load") <= 2.2,
            "Use a smaller data type: half, bfloat16, int8.",
        ),
        Advice("Read each input once: tile, or keep partial results on the chip.", unless=_WRITES),
        Advice("Write less: let the consumer recompute cheap values.", when=_WRITES),
    ),
    caller=(FUSE, SMALLER_TYPE),
    wrong_when="In practice, DRAM utilization does not exceed about 90 %: a plain copy reaches "
    "4.3 of 4.8 TB/s on an H200.",
    references=(
        "Nsight Compute, Memory Workload Analysis: Device Memory",
        "Williams, Waterman, Patterson, Roofline, 2009",
    ),
    requires=("dram_throughput", "global_sectors", "global_sectors_ideal"),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
