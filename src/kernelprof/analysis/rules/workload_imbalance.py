"""workload-imbalance: some SMs work long after the others are done."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, unless, when
from kernelprof.analysis.advice.lines import FITTING_SHAPE

EVEN_SHARE = rules.Threshold(
    "SM time with work",
    0.80,
    "share of the duration",
    "capture tests/captures/gemm_series.full.raw.csv: 92 % to 99 % in every kernel with at least "
    "one wave of equal blocks that runs longer than 50 us",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    return rules.RuleFinding(
        gain=context.gains.by_balance,
        gain_reason="the same work spread evenly over the SMs",
        evidence=lambda: (
            rules.percent(
                "sm_cycles_active",
                "SM time with work (mean)",
                context.units.active_share,
                "<",
                EVEN_SHARE,
                formula="active / elapsed cycles of the SMs",
            ),
            rules.measured(context, "waves_per_sm", "waves of blocks"),
        ),
    )


RULE = rules.Rule(
    slug="workload-imbalance",
    title="Workload imbalance",
    order=80,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="The work is spread unevenly, so parts of the GPU are done early and wait for the "
        "rest.",
        numbered="The work is spread unevenly: on average the GPU's multiprocessors have something "
        "to do for {x} of the time.",
        metric="sm_cycles_active",
    ),
    detects="A launch with enough blocks for every SM in which some SMs run on long after the "
    "average one has finished.",
    matters="A kernel ends with its last block. Time in which most SMs are empty is lost.",
    example="One block per matrix row, where a few rows hold most of the non-zeros: their SMs work "
    "while the others wait.",
    fixes=(
        Advice(
            "Split long items over several blocks, or give every block the same amount of work."
        ),
        unless(
            "all blocks start at once",
            lambda launch: launch["waves_per_sm"] <= 1,
            "Start the longest items first, or let persistent blocks take items from a queue.",
        ),
        when(
            "the grid is one to three waves",
            lambda launch: 1 < launch["waves_per_sm"] < 3,
            "Choose the grid so that its last wave is full: it has {x} waves.",
            number=lambda launch: launch["waves_per_sm"],
        ),
        when(
            "fewer than 16 threads of a warp take part",
            lambda launch: launch["threads_per_instruction"] < 16,
            "Give long-running items a whole warp each: {x} of 32 threads work on average.",
            number=lambda launch: launch["threads_per_instruction"],
        ),
    ),
    caller=(FITTING_SHAPE,),
    wrong_when="Below one wave the grid is the cause (small-grid). Launches of a few microseconds "
    "show an uneven end whatever they do.",
    references=("Nsight Compute 2025.3, rule WorkloadImbalance",),
    requires=("sm_cycles_active", "sm_cycles_elapsed", "waves_per_sm"),
    thresholds=(EVEN_SHARE,),
    evaluate=evaluate,
)
