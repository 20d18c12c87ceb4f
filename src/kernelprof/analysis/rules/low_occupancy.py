"""low-occupancy: too few resident warps to hide latency, and the resource that limits them."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, when
from kernelprof.analysis.advice.lines import LARGER_BLOCKS, RESTRICT
from kernelprof.analysis.metrics import groups

LOW_OCCUPANCY = rules.Threshold(
    "theoretical occupancy",
    groups.LOW_OCCUPANCY,
    "share of warp slots",
    "capture tests/captures/gemm_series.full.raw.csv: kernel low_occ has 6 % occupancy; in kernels "
    "with 75 % or more, such as bank_conflict, more warps did not help. Register-tiled GEMMs run "
    "well at 25 %, so the rule also requires that warps wait and no unit is near its limit",
)

FULL = 99.0
"""Percent of the warp slots from which nothing of the kernel's limits them."""
LIMITS = {
    "block_limit_registers": "registers",
    "block_limit_shared_mem": "shared memory",
    "block_limit_warps": "block size",
    "block_limit_blocks": "the SM's block limit",
    "block_limit_barriers": "barriers",
}


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    return rules.RuleFinding(
        gain=context.gains.by_occupancy,
        gain_reason="the stalls that more warps would hide, and the busiest unit's headroom",
        effect=lambda _: rules.Effect(
            counters={
                "theoretical_occupancy": context.gains.more_warps.middle,
                "waves_per_sm": 1.0 / context.gains.more_warps.middle,
            },
            waits=("long_scoreboard", "wait", "short_scoreboard"),
            warps=context.gains.more_warps.middle,
        ),
        evidence=lambda: (
            rules.measured(
                context,
                "theoretical_occupancy",
                "theoretical occupancy",
                "<=",
                LOW_OCCUPANCY.value * 100,
            ),
            rules.measured(context, "achieved_occupancy", "achieved occupancy"),
            rules.measured(
                context,
                "eligible_warps",
                "eligible warps per scheduler per cycle",
                phrase="{n} eligible warps per scheduler per cycle",
            ),
            rules.percent(
                "stall_long_scoreboard",
                "warp time spent waiting",
                context.units.warps.latency_share,
                formula="stalls that more warps would hide / cycles per instruction",
                phrase="{x} of warp time spent waiting",
            ),
        ),
    )


def limiter(context: rules.RuleContext, row: int) -> str | None:
    """Return the resource that limits occupancy, with the blocks per SM that it allows."""
    blocks = {
        name: float(context.facts.values(name)[row])
        for name in LIMITS
        if context.facts.has(name)[row]
    }
    if not blocks:
        return None
    fewest = min(blocks.values())
    scarce = [LIMITS[name] for name, value in blocks.items() if value == fewest]
    plural = "" if fewest == 1 else "s"
    return f"Occupancy is limited by {' and '.join(scarce)}: {fewest:.0f} block{plural} per SM."


def _limited_by(resource: str, words: str) -> Condition:
    return Condition(words, lambda launch: launch.limited_by(resource))


RULE = rules.Rule(
    slug="low-occupancy",
    title="Low occupancy",
    order=70,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="Too few warps are resident to hide latency.",
        numbered="Too few warps are resident to hide latency: theoretical occupancy is {x}.",
        metric="theoretical_occupancy",
    ),
    detects="Registers, shared memory or the block size allow too few resident warps. Warps wait, "
    "and no unit is near its limit.",
    matters="A scheduler hides the latency of one warp by issuing instructions of another. With "
    "only one warp per scheduler, nothing is issued while that warp waits.",
    example="If blocks of 128 threads use 200 KiB of shared memory each, an SM holds only one "
    "block: 4 of 64 warps. With 32 KiB, six blocks fit.",
    fixes=(
        Advice(
            "Use fewer registers: set __launch_bounds__ (check for spills), or use smaller tiles "
            "per thread.",
            when=_limited_by("registers", "registers limit occupancy"),
        ),
        Advice(
            "Use less shared memory per block: smaller tiles, half precision, or reused buffers.",
            when=_limited_by("shared_mem", "shared memory limits occupancy"),
        ),
        LARGER_BLOCKS,
        when(
            "the grid has exactly the blocks that fit",
            lambda launch: launch["waves_per_sm"] == 1.0 and launch["theoretical_occupancy"] < FULL,
            "Launch more or larger blocks as well: room alone brings no more warps.",
        ),
        when(
            "blocks have 512 threads or more and an SM holds only one or two of them",
            lambda launch: (
                launch["block_size"] >= 512
                and bool(launch.block_limits)
                and min(launch.block_limits.values()) <= 2
            ),
            "Use smaller blocks: a few large ones leave warp slots empty.",
            number=lambda launch: launch["block_size"],
            measured="Blocks have {x} threads.",
        ),
        Advice(
            "Reduce what limits occupancy: registers, shared memory or the block size.",
            unless=Condition(
                "the limiting resource is known, or occupancy is 100 %",
                lambda launch: bool(launch.block_limits) or launch["theoretical_occupancy"] > FULL,
            ),
            situation="If the capture does not contain the occupancy limits",
        ),
        when(
            "achieved occupancy is far below theoretical",
            lambda launch: (
                launch["achieved_occupancy"] < 0.6 * launch["theoretical_occupancy"]
                and launch["waves_per_sm"] >= 4
            ),
            "Give each block more work: blocks end faster than new ones start.",
            number=lambda launch: (
                100 * launch["achieved_occupancy"] / launch["theoretical_occupancy"]
            ),
            measured="Achieved occupancy is {x} % of theoretical.",
        ),
        Advice(
            "Shorten the waits of each warp: issue more independent loads or arithmetic per thread."
        ),
        RESTRICT,
    ),
    wrong_when="Low occupancy alone is not a problem: with enough independent work per thread, a "
    "few warps saturate a unit. The verdict then names that unit.",
    references=(
        "CUDA C++ Best Practices Guide, Occupancy",
        "Volkov, Better Performance at Lower Occupancy, GTC 2010",
    ),
    requires=("theoretical_occupancy",),
    thresholds=(LOW_OCCUPANCY,),
    evaluate=evaluate,
    detail=limiter,
)
