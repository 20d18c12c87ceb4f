"""sfu-throughput: the special-function unit is the limit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, when
from kernelprof.analysis.advice.lines import BUSY_XU, INTEGER_DIVISION, uses_fp32, uses_fp64

NEAR_LIMIT = rules.near_limit(
    "the kernel sfu_bound in tests/captures/gemm_series.full.raw.csv uses 99.5 % of the pipe's peak"
)


def _explain_needless(context: rules.RuleContext, row: int) -> str | None:
    if context.units.converts_doubles.sure[row]:
        return "In this kernel, conversions between float and double saturate the pipe."
    guarded = context.units.guards_functions.sure[row]
    text = "In this kernel, precise divisions and square roots saturate the pipe."
    return text if guarded else None


RULE = rules.Rule(
    slug="sfu-throughput",
    title="Special-function throughput",
    order=210,
    subsystem=rules.Subsystem.PIPES,
    headline=rules.Headline(
        plain="Special functions such as sine, exponential and square root limit the kernel: their "
        "pipe (XU) is the busiest unit.",
        numbered="Special functions such as sine, exponential and square root limit the kernel: "
        "their pipe (XU) is {x} busy.",
        metric="xu_pipe",
        at_limit="The pipe for special functions (XU) is close to its practical peak",
    ),
    detects="Special functions (sine, exponential, logarithm, reciprocal square root) and type "
    "conversions saturate the XU pipe.",
    matters="An SM executes 16 special functions or conversions per cycle, but 128 FMAs: one XU "
    "instruction in eight saturates the XU pipe.",
    example="Chained __sinf calls, exp in softmax, or conversions between integer and float in "
    "image code.",
    fixes=(
        INTEGER_DIVISION,
        when(
            "the kernel computes in FP64",
            uses_fp64,
            "Write literals as 0.5f, and convert once: conversions between float and double use "
            "the XU pipe.",
        ),
        when(
            "divisions and square roots are precise (guarded by a branch to a slow path)",
            lambda launch: launch.guards_functions,
            "Use __fdividef and rsqrtf, or compile with -prec-div=false -prec-sqrt=false, if the "
            "accuracy allows.",
        ),
        when(
            "the kernel computes in FP32 and the FMA pipe is less than half busy",
            lambda launch: uses_fp32(launch) and launch["fma_pipe"] < 50.0,
            "Compute some of the functions with polynomials on the FMA pipe.",
            number=lambda launch: launch["fma_pipe"],
            measured="The FMA pipe is {x} % busy.",
        ),
        when(
            "the kernel computes in FP32",
            uses_fp32,
            "Use exp2f with a scaled argument, or half2 functions (two results per call).",
        ),
        Advice(
            "Move conversions and divisions out of inner loops, and multiply by the reciprocal.",
            unless=BUSY_XU,
        ),
    ),
    wrong_when="The limit may be integer division or modulo: both use the XU pipe, for the initial "
    "reciprocal.",
    references=(
        "Nsight Compute, Compute Workload Analysis: XU pipe",
        "CUDA C++ Programming Guide, Arithmetic Instructions: throughput table",
    ),
    requires=("xu_pipe",),
    thresholds=(NEAR_LIMIT,),
    evaluate=rules.pipe_evaluation("xu_pipe", "XU pipe utilization", NEAR_LIMIT),
    detail=_explain_needless,
)
