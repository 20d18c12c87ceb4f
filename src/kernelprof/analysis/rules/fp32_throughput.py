"""fp32-throughput: the FP32 pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, LaunchValues, when
from kernelprof.analysis.advice.lines import is_library_kernel
from kernelprof.model.library_kernel import KernelRole

NEAR_LIMIT = rules.near_limit(
    "fma_bound in tests/captures/gemm_series.full.raw.csv: pipe 80 %, issue slots 93 %"
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units = context.units
    pipe, slots = units.saturations["fma_pipe"], units.saturations["issue"]
    arithmetic = units.arithmetic_share >= 0.5
    # FP32 instructions can fill every issue slot: where they are most of what is issued, the slots
    # are the pipe's own limit.
    saturation = units.busiest(pipe, slots.at_most(pipe * 2.0).where(arithmetic, 0.0))
    others = units.busiest_except("sm", "fma_pipe", "fma_heavy_pipe", "issue")
    return rules.pipe_finding(
        context,
        saturation,
        (saturation >= NEAR_LIMIT.value) & ~units.multiplies_integers,
        others.at_least(slots.where(~arithmetic, 0.0)),
        lambda: (
            rules.percent("fma_pipe", "FP32 pipe", units.pipe("fma_pipe"), ">", NEAR_LIMIT),
            rules.issue_slots(context, ">", NEAR_LIMIT),
            rules.percent(
                "ffma_rate",
                "of which floating-point arithmetic",
                units.arithmetic_share,
                formula="floating-point instructions / issued instructions",
            ),
        ),
        pipe="the FP32 pipe",
    )


_FP32 = ("ffma", "fadd", "fmul")


def _idle_tensor(launch: LaunchValues) -> bool:
    # FP16 arithmetic shares counters with the tensor pipe: a few percent are no matrix product.
    return launch["tensor_pipe"] < 10.0


RULE = rules.Rule(
    slug="fp32-throughput",
    title="FP32 throughput",
    order=180,
    subsystem=rules.Subsystem.PIPES,
    headline=rules.Headline(
        plain="FP32 arithmetic is what takes the time: its units are the busiest part of the GPU.",
        at_limit="FP32 arithmetic keeps its units about as busy as they get",
    ),
    detects="FP32 instructions (FFMA, FADD, FMUL) that fill their pipe, with issue slots that "
    "mostly do arithmetic.",
    matters="The kernel runs at the arithmetic peak of the GPU for this precision: less arithmetic "
    "or another pipe is the only way forward.",
    example="A register-tiled GEMM near the FP32 peak; tensor cores with TF32 or BF16 do several "
    "times as much.",
    fixes=(
        Advice("Do less: algebra, precomputation, lower-order approximations."),
        when(
            "multiply-adds are most of it and the tensor cores are idle",
            lambda launch: (
                launch["ffma_rate"] >= 3 * launch.rates("fadd", "fmul") and _idle_tensor(launch)
            ),
            "Use tensor cores (TF32, BF16, FP16) where the work is matrix products and the "
            "accuracy allows.",
        ),
        Advice(
            "Use packed half2 arithmetic where the accuracy allows.",
            unless=Condition(
                "it computes in FP16 already",
                # Moves of constants count as well: a few thousandths in FP32 code.
                lambda launch: launch.rates("hfma", "hmul") >= 0.1 * launch.rates(*_FP32) > 0,
            ),
        ),
        when(
            "a tenth of the FP32 instructions are single multiplications, and a tenth single "
            "additions",
            lambda launch: (
                min(launch["fmul_rate"], launch["fadd_rate"]) >= 0.1 * launch.rates(*_FP32) > 0
            ),
            "Fuse multiply and add into FMA: {x} % of the FP32 instructions are single "
            "multiplications, with additions to take them along.",
            number=lambda launch: 100 * launch["fmul_rate"] / launch.rates(*_FP32),
        ),
    ),
    caller=(
        Advice(
            "Allow TF32 or BF16 where the accuracy allows: "
            'torch.set_float32_matmul_precision("high"), CUBLAS_COMPUTE_32F_FAST_TF32.',
            when=is_library_kernel(KernelRole.PRODUCT)
            & Condition("the tensor cores are idle", _idle_tensor),
        ),
    ),
    wrong_when="Integer multiply-add (IMAD) uses half of this pipe: if that half is busier than "
    "the whole, integer arithmetic is the cause.",
    references=("Nsight Compute, Compute Workload Analysis: FMA pipe",),
    requires=("fma_pipe",),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
