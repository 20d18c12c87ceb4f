"""fp32-throughput: the FP32 pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, LaunchValues, when
from kernelprof.analysis.advice.lines import is_library_kernel
from kernelprof.model.library_kernel import KernelRole

NEAR_LIMIT = rules.near_limit(
    "fma_bound in tests/captures/gemm_series.full.raw.csv uses 80 % of the pipe and 93 % of the "
    "issue slots"
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
            rules.percent(
                "fma_pipe", "FP32 pipe utilization", units.pipe("fma_pipe"), ">", NEAR_LIMIT
            ),
            rules.issue_slots(context, ">", NEAR_LIMIT),
            rules.percent(
                "ffma_rate",
                "instructions that are floating-point arithmetic",
                units.arithmetic_share,
                formula="floating-point instructions / issued instructions",
                phrase="{x} of instructions are floating-point arithmetic",
            ),
        ),
        effect=lambda gain: rules.Effect(
            units={"arithmetic": 1.0 / gain},
            instructions=1.0 / gain,
            waits=("math_pipe_throttle", "not_selected"),
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
        plain="FP32 arithmetic limits the kernel: the FP32 pipe is the busiest unit of the GPU.",
        at_limit="The FP32 pipe is close to its practical peak",
    ),
    detects="FP32 instructions (FFMA, FADD, FMUL) saturate their pipe, and most issue slots go to "
    "arithmetic.",
    matters="The kernel runs at the GPU's peak for this precision. It gets faster only with less "
    "arithmetic, or if another pipe executes part of the arithmetic.",
    example="A register-tiled GEMM near the FP32 peak. Tensor cores with TF32 or BF16 are several "
    "times as fast.",
    fixes=(
        Advice("Reduce the arithmetic: precompute, simplify, or use a lower-order approximation."),
        when(
            "most arithmetic is FMA and the tensor cores are idle",
            lambda launch: (
                launch["ffma_rate"] >= 3 * launch.rates("fadd", "fmul") and _idle_tensor(launch)
            ),
            "Use tensor cores (TF32, BF16, FP16) if the kernel computes matrix products and the "
            "accuracy allows.",
        ),
        Advice(
            "Use packed half2 arithmetic if the accuracy allows.",
            unless=Condition(
                "the kernel already computes in FP16",
                # Moves of constants count as well: a few thousandths in FP32 code.
                lambda launch: launch.rates("hfma", "hmul") >= 0.1 * launch.rates(*_FP32) > 0,
            ),
        ),
        when(
            "many multiplications and additions are not fused",
            lambda launch: (
                min(launch["fmul_rate"], launch["fadd_rate"]) >= 0.1 * launch.rates(*_FP32) > 0
            ),
            "Fuse multiplications with additions into FMA.",
            number=lambda launch: 100 * launch["fmul_rate"] / launch.rates(*_FP32),
            measured="{x} % of the FP32 instructions are separate multiplications.",
        ),
    ),
    caller=(
        Advice(
            "Enable TF32 or BF16 if the accuracy allows: "
            'torch.set_float32_matmul_precision("high"), CUBLAS_COMPUTE_32F_FAST_TF32.',
            when=is_library_kernel(KernelRole.PRODUCT)
            & Condition("the tensor cores are idle", _idle_tensor),
        ),
    ),
    wrong_when="Integer multiply-add (IMAD) uses only FMA heavy, one half of the FP32 pipe. If "
    "the utilization of FMA heavy clearly exceeds that of the whole pipe, integer arithmetic is "
    "the bottleneck.",
    references=("Nsight Compute, Compute Workload Analysis: FMA pipe",),
    requires=("fma_pipe",),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
