"""small-grid: the launch has too few blocks to fill the GPU, or is too short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, unless, when
from kernelprof.analysis.advice.lines import is_library_kernel
from kernelprof.analysis.metrics import groups
from kernelprof.analysis.metrics.catalogue import has_tcgen05
from kernelprof.model.library_kernel import KernelRole

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.interval import FloatArray

ONE_WAVE = rules.Threshold(
    "waves",
    1.0,
    "wave",
    "by definition: below one wave, block slots stay empty for the whole launch",
)
SHORT_LAUNCH = rules.Threshold(
    "launch overhead",
    groups.LAUNCH_OVERHEAD_NS,
    "ns",
    "launches of one block that does almost nothing take 1,696 to 1,760 ns on an H200 under ncu "
    "2025.3.1: "
    "tests/captures/validation/frameworks_more.raw.csv.gz",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    fill = context.gains
    # One block on each SM is enough for who keeps copies under way.
    one_each = context.pipeline.is_fed_by_bulk_copies & (fill.sms_with_blocks >= 1.0)
    return rules.RuleFinding(
        gain=context.units.busiest(
            fill.by_filling_sms,
            fill.by_more_blocks.where(~one_each, 1.0),
            fill.by_full_waves,
            fill.by_longer_launch,
        ),
        gain_reason="idle SMs, empty block slots and the launch overhead",
        effect=lambda gain: _fill_gpu(context, gain),
        evidence=lambda: (
            rules.measured(
                context,
                "waves_per_sm",
                "waves",
                "<",
                ONE_WAVE.value,
                phrase="{n} waves",
            ),
            rules.measured(context, "grid_size", "blocks", phrase="{n} blocks"),
            rules.measured(context, "sm_count", "SMs", phrase="{n} SMs"),
            rules.measured(context, "duration", "duration"),
            rules.percent(
                "sm_cycles_active",
                "SM active time",
                context.units.active_share,
                formula="active / elapsed SM cycles",
                phrase="SMs active {x} of the time",
            ),
        ),
    )


def _fill_gpu(context: rules.RuleContext, gain: FloatArray) -> rules.Effect:
    """Return the effect of two full waves: idle SMs get work, and then slots get warps."""
    active = context.gains.longer_active(gain)
    missing = (1.0 / context.gains.waves.at_least(1e-6)).at_least(1.0).middle
    return rules.Effect(
        counters={"waves_per_sm": 2.0 * missing, "grid_size": 2.0 * missing},
        waits=("long_scoreboard",),
        warps=(gain / active).clip(1.0, missing),
        active=active,
    )


SHORT_NS = 20_000.0
"""Duration below which launching is a notable part of a launch: 1.7 us are 9 % of it."""

SHORT = Condition("the launch takes less than 20 us", lambda launch: launch["duration"] < SHORT_NS)
LARGE_TILES = Condition(
    "the GPU has tcgen05 and there are fewer blocks than SMs",
    lambda launch: (
        has_tcgen05(launch.compute_capability) and launch["grid_size"] < launch["sm_count"]
    ),
)

RULE = rules.Rule(
    slug="small-grid",
    title="Grid too small for the GPU",
    order=60,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="The launch is too small to keep this GPU busy.",
        numbered="The launch is too small to keep this GPU busy: its grid size is {x}.",
        metric="grid_size",
        unit="block",
        compared=True,
    ),
    detects="The launch has fewer blocks than the GPU holds at once (well below one wave), leaves "
    "much of its last wave empty, or takes only a few microseconds, mostly launch overhead.",
    matters="SMs without a block sit idle, and an SM with one block has few warps to switch "
    "between. In launches of a few microseconds, the overhead exceeds the work.",
    example="A sum computed by 4 blocks leaves 97 % of 132 SMs idle. Splitting it over 264 blocks "
    "and adding the partial sums uses the whole GPU.",
    fixes=(
        unless(
            "the grid fills the GPU",
            lambda launch: launch["waves_per_sm"] >= ONE_WAVE.value,
            "Launch more blocks, with less work per thread.",
        ),
        when(
            "there are fewer blocks than SMs, and blocks have 256 threads or more",
            lambda launch: launch["block_size"] >= 256 and launch["grid_size"] < launch["sm_count"],
            "Launch smaller blocks, and more of them.",
            number=lambda launch: launch["grid_size"],
            measured="The grid has {x} blocks of 256 threads or more.",
        ),
        when(
            "a block is smaller than a warp",
            lambda launch: launch["block_size"] < 32,
            "Use all 32 threads of a warp.",
            number=lambda launch: launch["block_size"],
            measured="Threads per block: {x}.",
        ),
        when(
            "the grid does not fill the GPU and the launch takes 20 us or more",
            lambda launch: (
                launch["waves_per_sm"] < ONE_WAVE.value and launch["duration"] >= SHORT_NS
            ),
            "Split the reduction dimension over blocks (split-K), and combine the results.",
        ),
        when(
            "the grid has one to three waves",
            lambda launch: ONE_WAVE.value < launch["waves_per_sm"] < 3,
            "Choose a grid size that fills the last wave.",
            number=lambda launch: launch["waves_per_sm"],
            measured="The grid has {x} waves.",
        ),
        Advice(
            "Batch small launches into one, or run them concurrently in streams or a CUDA graph.",
            when=SHORT,
        ),
    ),
    caller=(
        Advice(
            "Request split-K or stream-K.",
            when=is_library_kernel(KernelRole.PRODUCT) & LARGE_TILES,
            number=lambda launch: launch["grid_size"],
            measured="The grid size is {x}.",
        ),
        Advice(
            "Batch the calls: cublasGemmStridedBatchedEx, torch.bmm, or a larger batch.",
            when=is_library_kernel(KernelRole.PRODUCT),
        ),
        Advice(
            'Record short launches in a CUDA graph (torch.compile(mode="reduce-overhead")), or '
            "fuse them.",
            when=SHORT,
        ),
    ),
    wrong_when="A persistent kernel may launch one block per SM on purpose. If it keeps the "
    "SMs busy, the gain is small, and the verdict names another bottleneck.",
    references=(
        "Nsight Compute 2025.3, rule LaunchConfiguration",
        "CUDA C++ Best Practices Guide, Thread and Block Heuristics",
    ),
    requires=("waves_per_sm", "grid_size", "sm_count", "duration"),
    thresholds=(ONE_WAVE, SHORT_LAUNCH),
    evaluate=evaluate,
)
