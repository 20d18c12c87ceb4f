"""fp32-throughput: the FP32 pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis.advice import Advice, Condition, Seen
from kernelprof.analysis.advice.conditions import of
from kernelprof.analysis.rules import (
    Docs,
    Finding,
    Headline,
    Place,
    Rule,
    RuleContext,
    near_limit,
    percent,
    pipe_finding,
)
from kernelprof.model.library_kernel import Kind

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
        percent(
            "ffma_rate",
            "of which floating-point arithmetic",
            machine.arithmetic_share,
            formula="floating-point instructions / issued instructions",
        ),
        beside="the FP32 pipe",
    )


_FP32 = ("ffma", "fadd", "fmul")


def _idle_tensor(seen: Seen) -> bool:
    # FP16 arithmetic shares counters with the tensor pipe: a few percent are no matrix product.
    return seen["tensor_pipe"] < 10.0


RULE = Rule(
    slug="fp32-throughput",
    title="FP32 throughput",
    order=180,
    place=Place.PIPES,
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
            Advice("Do less: algebra, precomputation, lower-order approximations."),
            Advice(
                "Use tensor cores (TF32, BF16, FP16) where the work is matrix products and the "
                "accuracy allows.",
                when=Condition(
                    "multiply-adds are most of it and the tensor cores are idle",
                    lambda seen: (
                        seen["ffma_rate"] >= 3 * seen.rates("fadd", "fmul") and _idle_tensor(seen)
                    ),
                ),
            ),
            Advice(
                "Use packed half2 arithmetic where the accuracy allows.",
                unless=Condition(
                    "it computes in FP16 already",
                    # Moves of constants count as well: a few thousandths in FP32 code.
                    lambda seen: seen.rates("hfma", "hmul") >= 0.1 * seen.rates(*_FP32) > 0,
                ),
            ),
            Advice(
                "Fuse multiply and add into FMA: {x} % of the FP32 instructions are single "
                "multiplications, with additions to take them along.",
                when=Condition(
                    "a tenth of the FP32 instructions are single multiplications, and a tenth "
                    "single additions",
                    lambda seen: (
                        min(seen["fmul_rate"], seen["fadd_rate"]) >= 0.1 * seen.rates(*_FP32) > 0
                    ),
                ),
                number=lambda seen: 100 * seen["fmul_rate"] / seen.rates(*_FP32),
            ),
        ),
        caller=(
            Advice(
                "Allow TF32 or BF16 where the accuracy allows: "
                'torch.set_float32_matmul_precision("high"), CUBLAS_COMPUTE_32F_FAST_TF32.',
                when=of(Kind.PRODUCT) & Condition("the tensor cores are idle", _idle_tensor),
            ),
        ),
        wrong_when="Integer multiply-add (IMAD) uses half of this pipe: if that half is busier "
        "than the whole, integer arithmetic is the cause.",
        references=("Nsight Compute, Compute Workload Analysis: FMA pipe",),
    ),
    requires=("fma_pipe",),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
