"""barrier-stalls: warps wait for each other at barriers."""

from __future__ import annotations

from kernelprof.analysis.advice import Advice, Condition
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
    0.10,
    "share",
    "capture tests/captures/gemm_series.full.raw.csv: removing the extra barrier of "
    "gemm_tiled<16, 0, 1> with 13 % brought 1.11x",
)


def evaluate(context: RuleContext) -> Finding:
    machine = context.machine
    waiting = machine.warps.stall_share("barrier")
    # Where the unit that counts arrivals is the busiest of all, fewer barriers relieve it.
    unit = machine.saturations["adu_pipe"]
    beside = machine.others("adu_pipe", "sm")
    relief = (unit / beside.at_least(1e-3)).at_least(1.0).at_most(1.0 / (1.0 - waiting))
    relief = relief.where(machine.is_near_limit("adu_pipe") & (unit > beside), 1.0)
    return Finding(
        # A warp that waits for its wgmma counts as one that waits at a barrier.
        gain=context.gains.by_latency(waiting, NOTABLE.value)
        .at_least(relief)
        .where(~(context.pipeline.by_design | context.pipeline.uses_wgmma), 1.0),
        gain_reason="warps that no longer wait like this, until the busiest unit is full",
        evidence=(
            percent(
                "stall_barrier",
                "warp time at barriers",
                waiting,
                ">",
                NOTABLE,
                formula="stall_barrier / cycles per instruction",
            ),
            percent("issue_slots", "issue slots used", machine.issue),
            busiest_unit(context),
        ),
    )


RULE = Rule(
    slug="barrier-stalls",
    title="Barrier stalls",
    order=90,
    place=Place.WAITING,
    headline=Headline(
        plain="Warps wait at barriers for the slower warps of their block.",
        numbered="Warps spend {x} of their time waiting at barriers for other warps of their "
        "block.",
        metric="stall_barrier",
    ),
    docs=Docs(
        detects="Warps that spend much of their time at __syncthreads or another barrier of "
        "their block.",
        matters="A barrier lasts as long as the slowest warp needs to reach it; the others "
        "issue nothing meanwhile.",
        example="A barrier in the innermost loop of a tiled GEMM; one before and one after the "
        "tile are enough (1.11x on an H200).",
        fixes=(
            Advice("Remove barriers that no data passes through."),
            Advice("Use __syncwarp or smaller groups where only a warp shares data."),
            Advice(
                "Overlap phases: double buffering, cp.async, warp specialization.",
                when=Condition(
                    "warps wait for memory a tenth of the time as well",
                    lambda seen: seen.stall("long_scoreboard") >= 0.1,
                ),
            ),
            Advice(
                "Use smaller blocks than {x} threads, so that another block runs while one waits.",
                when=Condition(
                    "a block has 256 threads or more", lambda seen: seen["block_size"] >= 256
                ),
                number=lambda seen: seen["block_size"],
            ),
            Advice(
                "Let all threads work between two barriers: on average {x} of 32 do.",
                when=Condition(
                    "not all threads of a warp take part",
                    lambda seen: seen["threads_per_instruction"] < 29.0,
                ),
                number=lambda seen: seen["threads_per_instruction"],
            ),
        ),
        wrong_when="Barriers also collect imbalance between warps: if one warp does all the "
        "work between two barriers, the cause is the distribution of that work.",
        references=(
            "Nsight Compute, Warp State Statistics: Stall Barrier",
            "CUDA C++ Best Practices Guide, Thread and Block Heuristics",
        ),
    ),
    requires=("stall_barrier",),
    thresholds=(NOTABLE,),
    evaluate=evaluate,
)
