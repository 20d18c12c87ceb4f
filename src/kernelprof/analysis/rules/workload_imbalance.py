"""workload-imbalance: some SMs work long after the others have finished."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, unless, when
from kernelprof.analysis.advice.lines import FITTING_SHAPE

EVEN_SHARE = rules.Threshold(
    "SM active time",
    0.80,
    "share of the duration",
    "capture tests/captures/gemm_series.full.raw.csv: 92 % to 99 % in every kernel of 50 us or "
    "more with at least one wave of equal blocks",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    return rules.RuleFinding(
        gain=context.gains.by_balance,
        gain_reason="the run time if the same work were balanced over the SMs",
        effect=lambda gain: rules.Effect(active=context.gains.longer_active(gain)),
        evidence=lambda: (
            rules.percent(
                "sm_cycles_active",
                "SM active time (mean)",
                context.units.active_share,
                "<",
                EVEN_SHARE,
                formula="active / elapsed SM cycles",
                phrase="SMs active {x} of the time on average",
            ),
            rules.measured(context, "waves_per_sm", "waves", phrase="{n} waves"),
        ),
    )


RULE = rules.Rule(
    slug="workload-imbalance",
    title="Workload imbalance",
    order=80,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="The work is unbalanced: some SMs finish early and stay idle.",
        numbered="The work is unbalanced: SMs are active {x} of the time on average.",
        metric="sm_cycles_active",
    ),
    detects="The launch has enough blocks for every SM, but some SMs work long after the average "
    "SM has finished.",
    matters="A kernel ends with its last block. Until then, SMs without work sit idle.",
    example="Each block computes one matrix row, and a few rows contain most of the non-zeros: "
    "the SMs with these rows work while the other SMs are idle.",
    fixes=(
        Advice("Split long work items over several blocks, or give every block the same work."),
        unless(
            "all blocks start at once",
            lambda launch: launch["waves_per_sm"] <= 1,
            "Start the longest items first, or let persistent blocks take items from a queue.",
        ),
        when(
            "the grid has one to three waves",
            lambda launch: 1 < launch["waves_per_sm"] < 3,
            "Choose a grid size that fills the last wave.",
            number=lambda launch: launch["waves_per_sm"],
            measured="The grid has {x} waves.",
        ),
        when(
            "fewer than 16 of 32 threads are active",
            lambda launch: launch["threads_per_instruction"] < 16,
            "Give each long-running work item a whole warp.",
            number=lambda launch: launch["threads_per_instruction"],
            measured="On average, {x} of 32 threads are active.",
        ),
    ),
    caller=(FITTING_SHAPE,),
    wrong_when="Below one wave, the grid size is the cause: see small-grid. In launches of a few "
    "microseconds, SMs always finish at different times.",
    references=("Nsight Compute 2025.3, rule WorkloadImbalance",),
    requires=("sm_cycles_active", "sm_cycles_elapsed", "waves_per_sm"),
    thresholds=(EVEN_SHARE,),
    evaluate=evaluate,
)
