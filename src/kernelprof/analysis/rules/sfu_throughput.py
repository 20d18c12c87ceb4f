"""sfu-throughput: the special-function unit is the limit."""

from __future__ import annotations

from kernelprof.analysis.rules import Docs, Headline, near_limit, pipe_rule

RULE = pipe_rule(
    slug="sfu-throughput",
    title="Special-function throughput",
    order=210,
    pipe="xu_pipe",
    label="special-function pipe (XU)",
    limit=near_limit("sfu_bound in tests/captures/gemm_series.full.raw.csv: 99.5 %"),
    headline=Headline(
        plain="Functions such as sine, exponential and root take the time: their units are the "
        "busiest part of the GPU.",
        numbered="Functions such as sine, exponential and root take the time: their units are {x} "
        "busy.",
        metric="xu_pipe",
        at_limit="Functions such as sine, exponential and root keep their units as busy as they "
        "get",
    ),
    docs=Docs(
        detects="Transcendental functions (sine, exponential, logarithm, reciprocal square "
        "root) and conversions between types that fill the XU pipe.",
        matters="An SM does 16 of these a cycle, against 128 FMAs: one in eight instructions is"
        " enough to fill it.",
        example="__sinf in a chain; exp in softmax; conversions between integer and float in "
        "image code.",
        fixes=(
            "Compute some of them with polynomials on the FMA pipe.",
            "Use exp2f with a scaled argument, or half2 versions that do two at a time.",
            "Take conversions and divisions out of inner loops; multiply by the reciprocal.",
        ),
        wrong_when="Integer division and modulo also use this unit for their first approximation.",
        references=(
            "Nsight Compute, Compute Workload Analysis: XU pipe",
            "CUDA C++ Programming Guide, Arithmetic Instructions: throughput table",
        ),
    ),
)
