"""sfu-throughput: the special-function unit is the limit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, when
from kernelprof.analysis.advice.lines import BUSY_XU, INTEGER_DIVISION, uses_fp32, uses_fp64

NEAR_LIMIT = rules.near_limit("sfu_bound in tests/captures/gemm_series.full.raw.csv: 99.5 %")

RULE = rules.Rule(
    slug="sfu-throughput",
    title="Special-function throughput",
    order=210,
    subsystem=rules.Subsystem.PIPES,
    headline=rules.Headline(
        plain="Functions such as sine, exponential and root take the time: their units are the "
        "busiest part of the GPU.",
        numbered="Functions such as sine, exponential and root take the time: their units are {x} "
        "busy.",
        metric="xu_pipe",
        at_limit="Functions such as sine, exponential and root keep their units as busy as they "
        "get",
    ),
    detects="Transcendental functions (sine, exponential, logarithm, reciprocal square root) and "
    "conversions between types that fill the XU pipe.",
    matters="An SM does 16 of these a cycle, against 128 FMAs: one in eight instructions is enough "
    "to fill it.",
    example="__sinf in a chain; exp in softmax; conversions between integer and float in image "
    "code.",
    fixes=(
        when(
            "it computes in FP32, and the FMA pipe is less than half busy",
            lambda launch: uses_fp32(launch) and launch["fma_pipe"] < 50.0,
            "Compute some of them with polynomials on the FMA pipe: it is {x} % busy.",
            number=lambda launch: launch["fma_pipe"],
        ),
        when(
            "it computes in FP32",
            uses_fp32,
            "Use exp2f with a scaled argument, or half2 versions that do two at a time.",
        ),
        when(
            "it computes in FP64 as well",
            uses_fp64,
            "Write literals as 0.5f, and convert once: conversions between float and double use "
            "this pipe.",
        ),
        Advice(
            "Take conversions and divisions out of inner loops; multiply by the reciprocal.",
            unless=BUSY_XU,
        ),
        INTEGER_DIVISION,
    ),
    wrong_when="Integer division and modulo also use this unit for their first approximation.",
    references=(
        "Nsight Compute, Compute Workload Analysis: XU pipe",
        "CUDA C++ Programming Guide, Arithmetic Instructions: throughput table",
    ),
    requires=("xu_pipe",),
    thresholds=(NEAR_LIMIT,),
    evaluate=rules.pipe_evaluation("xu_pipe", "special-function pipe (XU)", NEAR_LIMIT),
)
