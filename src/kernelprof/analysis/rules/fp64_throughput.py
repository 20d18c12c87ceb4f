"""fp64-throughput: the FP64 pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis.rules import Docs, Headline, near_limit, pipe_rule

RULE = pipe_rule(
    slug="fp64-throughput",
    title="FP64 throughput",
    order=190,
    pipe="fp64_pipe",
    label="FP64 pipe",
    limit=near_limit("fp64_bound in tests/captures/gemm_series.full.raw.csv: 98 %"),
    headline=Headline(
        plain="FP64 arithmetic is what takes the time: its units are the busiest part of the GPU.",
        numbered="FP64 arithmetic is what takes the time: its units are {x} busy.",
        metric="fp64_pipe",
        at_limit="FP64 arithmetic keeps its units about as busy as they get",
    ),
    docs=Docs(
        detects="FP64 instructions that fill their pipe, while memory and issue slots have room.",
        matters="Data-centre GPUs do FP64 at half the FP32 rate, others at 1/32 or 1/64: there "
        "a few double constants decide the time.",
        example="x * 0.5 instead of x * 0.5f turns a float expression into FP64.",
        fixes=(
            (
                "Use float where the accuracy allows; look for double constants and functions "
                "(0.5, sqrt)."
            ),
            "Use double only to accumulate.",
            "On GPUs that have them, use FP64 tensor cores (DMMA).",
        ),
        wrong_when="A low share of FP64 instructions can still be the limit where the pipe is "
        "narrow: the utilization decides, not the count.",
        references=(
            "Nsight Compute, Compute Workload Analysis: FP64 pipe",
            "CUDA C++ Programming Guide, Arithmetic Instructions: throughput table",
        ),
    ),
)
