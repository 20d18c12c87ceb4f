"""barrier-stalls: warps wait for each other at barriers."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, when

NOTABLE = rules.Threshold(
    "share of warp time",
    0.10,
    "share",
    "capture tests/captures/gemm_series.full.raw.csv: gemm_tiled<16, 0, 1> spends 13 % of "
    "warp time at barriers, and is 1.11x faster without its extra barrier",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units = context.units
    waiting = units.warps.stall_share("barrier")
    # Where the unit that counts arrivals is the busiest of all, fewer barriers relieve it.
    unit = units.saturations["adu_pipe"]
    others = units.busiest_except("adu_pipe", "sm")
    relief = (unit / others.at_least(1e-3)).at_least(1.0).at_most(1.0 / (1.0 - waiting))
    relief = relief.where(units.is_near_limit("adu_pipe") & (unit > others), 1.0)
    gain = context.gains.by_latency(waiting, NOTABLE.value).at_least(relief)
    # A warp that waits for its wgmma counts as one that waits at a barrier.
    gain = gain.where(~(context.pipeline.by_design | context.pipeline.uses_wgmma), 1.0)
    return rules.stall_finding(
        context, gain, "barrier", "waiting at barriers", waiting, notable=NOTABLE
    )


RULE = rules.Rule(
    slug="barrier-stalls",
    title="Barrier stalls",
    order=90,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="Warps wait at barriers for slower warps of their block.",
        numbered="Warps spend {x} of their time at barriers, waiting for other warps of their "
        "block.",
        metric="stall_barrier",
    ),
    detects="Warps spend much of their time at __syncthreads or another barrier of their block.",
    matters="A barrier lasts until the slowest warp arrives. The other warps issue nothing until "
    "then.",
    example="A tiled GEMM has a barrier in its innermost loop, although barriers before and after "
    "each tile suffice. Without the innermost barrier, it is 1.11x faster on an H200.",
    fixes=(
        Advice("Remove barriers that no data dependence requires."),
        Advice(
            "Use __syncwarp or a smaller cooperative group if only threads of one warp share the "
            "data."
        ),
        when(
            "warps also spend 10 % or more of their time waiting for global memory",
            lambda launch: launch.stall("long_scoreboard") >= 0.1,
            "Overlap loads with computation: double buffering, cp.async, warp specialization.",
        ),
        when(
            "a block has 256 threads or more",
            lambda launch: launch["block_size"] >= 256,
            "Use smaller blocks, so that one block runs while another waits.",
            number=lambda launch: launch["block_size"],
            measured="A block currently has {x} threads.",
        ),
        when(
            "not all threads of a warp are active",
            lambda launch: launch["threads_per_instruction"] < 29.0,
            "Give all threads work between two barriers.",
            number=lambda launch: launch["threads_per_instruction"],
            measured="On average, {x} of 32 threads are active.",
        ),
    ),
    wrong_when="Load imbalance between warps also appears as barrier stalls. If one warp does all "
    "the work between two barriers, distribute that work rather than remove barriers.",
    references=(
        "Nsight Compute, Warp State Statistics: Stall Barrier",
        "CUDA C++ Best Practices Guide, Thread and Block Heuristics",
    ),
    requires=("stall_barrier",),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
