"""warp-divergence: few threads of each issued warp do work."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, when
from kernelprof.analysis.advice.lines import INTEGER_DIVISION
from kernelprof.analysis.metrics import groups

FULL_WARPS = rules.Threshold(
    "threads an instruction",
    24.0,
    "thread",
    "Nsight Compute 2025.3, rule ThreadDivergence reports below 32 at any size; three quarters of "
    "a warp keeps boundary checks of block tiles out (29.9 in strided_read of "
    "tests/captures/gemm_series.full.raw.csv)",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, waste = context.units, context.waste
    idle = waste.idle_threads
    busy = 1.0 - idle
    unit = units.saturations
    remaining = units.busiest(
        units.busiest_except("sm", "issue", *groups.SM_PIPES),
        *(unit[name] * busy for name in ("issue", *groups.SM_PIPES)),
    )
    memory = units.warps.stall_share("long_scoreboard", "lg_throttle", "drain", "tex_throttle")
    gain = context.gains.by_waste(idle, remaining, idle * (1.0 - memory))
    return rules.RuleFinding(
        # One thread of a block starts its copies, and one of a warp group its products.
        gain=gain.where(~context.pipeline.by_design, 1.0),
        gain_reason="instructions that full warps would save",
        evidence=lambda: (
            rules.measured(
                context,
                "threads_per_instruction",
                "active threads per instruction",
                "<",
                FULL_WARPS.value,
            ),
            rules.issue_slots(context),
        ),
    )


RULE = rules.Rule(
    slug="warp-divergence",
    title="Warp divergence",
    order=50,
    subsystem=rules.Subsystem.INSTRUCTIONS,
    headline=rules.Headline(
        plain="Threads of a warp take different paths, so many of them wait while the others work.",
        numbered="Threads of a warp take different paths, so on average only {x} of 32 work at a "
        "time.",
        metric="threads_per_instruction",
        unit="thread",
    ),
    detects="Instructions that are issued for a warp of which only some threads take part, because "
    "branches or loop lengths differ between its threads.",
    matters="A warp issues every path that any of its threads takes. With eight paths of equal "
    "length the SM issues eight times the instructions for the same work.",
    example="switch (threadIdx.x % 8) runs all eight cases for every warp; switch (blockIdx.x % 8) "
    "runs one.",
    fixes=(
        Advice("Sort or bin the work so that the threads of a warp take the same path."),
        Advice("Let the branch depend on the warp or block, not on the lane."),
        when(
            "12 of 32 threads or more take part, as at branches with two sides",
            lambda launch: launch["threads_per_instruction"] >= 12.0,
            "Replace short branches by arithmetic that all threads do.",
        ),
        when(
            "fewer than 12 threads of a warp take part",
            lambda launch: launch["threads_per_instruction"] < 12.0,
            "Give long-running items a whole warp each: {x} of 32 threads work on average.",
            number=lambda launch: launch["threads_per_instruction"],
        ),
        INTEGER_DIVISION,
    ),
    caller=(Advice("Pass work in an order in which neighbours are alike: sort or bin it."),),
    wrong_when="Threads that are switched off by a predicate for one instruction (bounds checks) "
    "do not lengthen a path. Blocks of fewer than 32 threads show the same counter.",
    references=(
        "CUDA C++ Best Practices Guide, Branching and Divergence",
        "Nsight Compute, Warp State Statistics: Avg. Active Threads Per Warp",
    ),
    requires=("threads_per_instruction",),
    thresholds=(FULL_WARPS,),
    evaluate=evaluate,
)
