"""low-occupancy: too few resident warps to hide latency, and what limits them."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, unless, when
from kernelprof.analysis.advice.lines import LARGER_BLOCKS, RESTRICT
from kernelprof.analysis.metrics import groups

LOW_OCCUPANCY = rules.Threshold(
    "theoretical occupancy",
    groups.LOW_OCCUPANCY,
    "share of warp slots",
    "capture tests/captures/gemm_series.full.raw.csv: low_occ runs at 6 %; at 75 % (bank_conflict) "
    "and above more warps brought nothing. Register-tiled GEMMs run well at 25 %, which is why the "
    "rule also asks that warps wait and no unit is near its limit",
)

FULL = 99.0
"""Percent of the warp slots from which nothing of the kernel's limits them."""
LIMITS = {
    "block_limit_registers": "registers",
    "block_limit_shared_mem": "shared memory",
    "block_limit_warps": "block size",
    "block_limit_blocks": "blocks an SM can hold",
    "block_limit_barriers": "barriers",
}


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    return rules.RuleFinding(
        gain=context.gains.by_occupancy,
        gain_reason="warps to fill every slot, until the busiest unit is full",
        evidence=lambda: (
            rules.measured(
                context,
                "theoretical_occupancy",
                "theoretical occupancy",
                "<=",
                LOW_OCCUPANCY.value * 100,
            ),
            rules.measured(context, "achieved_occupancy", "achieved occupancy"),
            rules.measured(context, "eligible_warps", "eligible warps per cycle"),
            rules.percent(
                "stall_long_scoreboard",
                "warp time spent waiting",
                context.units.warps.latency_share,
                formula="waits that more warps hide / cycles per instruction",
            ),
        ),
    )


def limiter(context: rules.RuleContext, row: int) -> str | None:
    """Return what the most scarce resource is, as blocks on an SM."""
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
    return f"Limited by {' and '.join(scarce)}: {fewest:.0f} block{plural} on an SM."


def _limited_by(resource: str, words: str) -> Condition:
    return Condition(words, lambda launch: launch.limited_by(resource))


RULE = rules.Rule(
    slug="low-occupancy",
    title="Low occupancy",
    order=70,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="Too few threads fit on the GPU at once to hide the time that each of them waits.",
        numbered="Too few threads fit on the GPU at once to hide the time that each of them waits: "
        "{x} of the places can be filled.",
        metric="theoretical_occupancy",
    ),
    detects="Too few resident warps because of the kernel's own use of registers, shared memory or "
    "block size, while warps wait and no unit is near its limit.",
    matters="A scheduler hides the wait of one warp by issuing another. With one warp per "
    "scheduler every wait is time in which nothing is issued.",
    example="A block of 128 threads with 200 KiB of shared memory leaves room for one block per "
    "SM: 4 warps of 64. With 32 KiB seven fit.",
    fixes=(
        Advice(
            "Use fewer registers: __launch_bounds__ trades them for blocks (watch for spills), "
            "smaller tiles per thread keep fewer values.",
            when=_limited_by("registers", "registers limit the blocks on an SM"),
        ),
        Advice(
            "Use less shared memory a block: smaller tiles, half precision, or one buffer after "
            "the other.",
            when=_limited_by("shared_mem", "shared memory limits the blocks on an SM"),
        ),
        LARGER_BLOCKS,
        when(
            "a block has 512 threads or more, and an SM holds one or two",
            lambda launch: (
                launch["block_size"] >= 512
                and bool(launch.block_limits)
                and min(launch.block_limits.values()) <= 2
            ),
            "Use smaller blocks: of {x} threads too few fit, and they come and go as a whole.",
            number=lambda launch: launch["block_size"],
        ),
        unless(
            "it is known which one limits, or as many warps fit as there can be",
            lambda launch: bool(launch.block_limits) or launch["theoretical_occupancy"] > FULL,
            "Cut the resource that limits: registers, shared memory, or the size of blocks.",
        ),
        when(
            "SMs hold far fewer warps than they could, with blocks waiting",
            lambda launch: (
                launch["achieved_occupancy"] < 0.6 * launch["theoretical_occupancy"]
                and launch["waves_per_sm"] >= 4
            ),
            "Let each block do more: SMs hold {x} % of the warps that they could, since blocks end "
            "sooner than new ones start.",
            number=lambda launch: (
                100 * launch["achieved_occupancy"] / launch["theoretical_occupancy"]
            ),
        ),
        Advice("Make each warp wait less: more independent loads or arithmetic per thread."),
        RESTRICT,
    ),
    wrong_when="Low occupancy by itself is not a fault: kernels with enough independent work per "
    "thread saturate a unit with a few warps. Then the busy unit is named.",
    references=(
        "CUDA C++ Best Practices Guide, Occupancy",
        "Volkov, Better Performance at Lower Occupancy, GTC 2010",
    ),
    requires=("theoretical_occupancy",),
    thresholds=(LOW_OCCUPANCY,),
    evaluate=evaluate,
    detail=limiter,
)
