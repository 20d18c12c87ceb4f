"""fp32-throughput: the FP32 pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis.rules import (
    Docs,
    Finding,
    Headline,
    Rule,
    RuleContext,
    near_limit,
    percent,
    pipe_finding,
)

NEAR_LIMIT = near_limit(
    "fma_bound in tests/captures/gemm_series.full.raw.csv: pipe 80 %, issue slots 93 %"
)


def evaluate(context: RuleContext) -> Finding:
    machine = context.machine
    pipe, slots = machine.saturations["fma_pipe"], machine.saturations["issue"]
    arithmetic = machine.arithmetic_share >= 0.5
    # FP32 instructions can fill every issue slot: where they are most of what is issued, the slots
    # are the pipe's own limit.
    saturation = machine.busiest(pipe, slots.at_most(pipe * 2.0).where(arithmetic, 0.0))
    others = machine.others("sm", "fma_pipe", "fma_heavy_pipe", "issue")
    return pipe_finding(
        context,
        saturation,
        (saturation >= NEAR_LIMIT.value) & ~machine.multiplies_integers,
        others.at_least(slots.where(~arithmetic, 0.0)),
        percent("fma_pipe", "FP32 pipe", machine.pipe("fma_pipe"), ">", NEAR_LIMIT),
        percent("issue_slots", "issue slots used", machine.issue, ">", NEAR_LIMIT),
        percent("ffma_rate", "of which floating-point arithmetic", machine.arithmetic_share),
        beside="the FP32 pipe",
    )


RULE = Rule(
    slug="fp32-throughput",
    title="FP32 throughput",
    order=180,
    headline=Headline(
        plain="FP32 arithmetic is what takes the time: its units are the busiest part of the GPU.",
        at_limit="FP32 arithmetic keeps its units about as busy as they get",
    ),
    docs=Docs(
        detects="FP32 instructions (FFMA, FADD, FMUL) that fill their pipe, with issue slots "
        "that mostly do arithmetic.",
        matters="The kernel runs at the arithmetic peak of the GPU for this precision: less "
        "arithmetic or another pipe is the only way forward.",
        example="A register-tiled GEMM near the FP32 peak; tensor cores with TF32 or BF16 do "
        "several times as much.",
        fixes=(
            "Do less: algebra, precomputation, lower-order approximations.",
            "Use tensor cores (TF32, BF16, FP16) where the accuracy allows.",
            "Use packed half2 arithmetic.",
            "Fuse multiply and add into FMA.",
        ),
        wrong_when="Integer multiply-add (IMAD) uses half of this pipe: if that half is busier "
        "than the whole, integer arithmetic is the cause.",
        references=("Nsight Compute, Compute Workload Analysis: FMA pipe",),
    ),
    requires=("fma_pipe",),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
