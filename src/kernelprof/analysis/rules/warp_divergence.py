"""warp-divergence: few threads of each warp are active."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, when
from kernelprof.analysis.advice.lines import INTEGER_DIVISION
from kernelprof.analysis.metrics import groups

FULL_WARPS = rules.Threshold(
    "active threads per instruction",
    24.0,
    "thread",
    "Nsight Compute 2025.3, rule ThreadDivergence: reports fewer than 24 active threads, not "
    "counting those predicated off (in tests/captures, it reports 23.6 but not 24.5)",
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
        gain_reason="the number of instructions that full warps would save",
        effect=lambda _: rules.Effect(
            counters={
                "threads_per_instruction": 1.0 / busy.at_least(1e-3).middle,
                "threads_per_instruction_predicated": 1.0 / busy.at_least(1e-3).middle,
            },
            instructions=busy.middle,
            waits=("branch_resolving",),
        ),
        evidence=lambda: (
            rules.measured(
                context,
                "threads_per_instruction",
                "active threads per instruction",
                "<",
                FULL_WARPS.value,
                phrase="{n} of 32 threads active per instruction",
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
        plain="Threads of a warp take different paths, so many threads are inactive.",
        numbered="Threads of a warp take different paths: on average only {x} of 32 are active.",
        metric="threads_per_instruction",
        unit="thread",
    ),
    detects="Only some threads of a warp are active in each instruction, because branches or loop "
    "lengths differ between the threads.",
    matters="A warp executes every path that any of its threads takes. With eight paths of equal "
    "length, the SM issues eight times the instructions for the same work.",
    example="switch (threadIdx.x % 8) executes all eight cases in every warp. switch (blockIdx.x % "
    "8) executes only one case.",
    fixes=(
        INTEGER_DIVISION,
        Advice(
            "Sort or bin the work, and its data with it, so that the threads of a warp take the "
            "same path: sorted indices alone scatter the accesses."
        ),
        Advice("Branch on the warp or block index, not on the lane."),
        when(
            "at least 12 of 32 threads are active (typical of short two-way branches)",
            lambda launch: launch["threads_per_instruction"] >= 12.0,
            "Replace short branches with arithmetic that all threads execute.",
        ),
        when(
            "fewer than 12 of 32 threads are active",
            lambda launch: launch["threads_per_instruction"] < 12.0,
            "Give each long-running work item a whole warp.",
            number=lambda launch: launch["threads_per_instruction"],
            measured="On average, {x} of 32 threads are active.",
        ),
    ),
    caller=(Advice("Sort or bin the input, so that neighbouring elements take the same path."),),
    wrong_when="Threads disabled by a predicate (a bounds check) count as active: the warp "
    "executes no additional path. Blocks of fewer than 32 threads lower the number of active "
    "threads without divergence.",
    references=(
        "CUDA C++ Best Practices Guide, Branching and Divergence",
        "Nsight Compute, Warp State Statistics: Avg. Active Threads Per Warp",
    ),
    requires=("threads_per_instruction",),
    thresholds=(FULL_WARPS,),
    evaluate=evaluate,
)
