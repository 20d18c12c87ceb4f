"""fp64-throughput: the FP64 pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis.advice import Advice, Condition
from kernelprof.analysis.advice.conditions import uses_fp32, uses_fp64
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
            Advice("Use float where the accuracy allows, and double only to accumulate."),
            Advice(
                "Look for double constants and functions (0.5, sqrt) in float expressions: the "
                "kernel computes in both.",
                when=Condition(
                    "it computes in FP32 as well",
                    lambda seen: uses_fp32(seen) and uses_fp64(seen),
                ),
            ),
            Advice(
                "Use the FP64 tensor cores (DMMA) for matrix products.",
                when=Condition(
                    "the GPU has FP64 tensor cores, and most of it are multiply-adds",
                    lambda seen: (
                        seen.launch.compute_capability in {(8, 0), (9, 0), (10, 0)}
                        and seen["dfma_rate"] >= seen.rates("dadd", "dmul")
                    ),
                ),
            ),
        ),
        caller=(Advice("Pass float where the accuracy allows."),),
        wrong_when="A low share of FP64 instructions can still be the limit where the pipe is "
        "narrow: the utilization decides, not the count.",
        references=(
            "Nsight Compute, Compute Workload Analysis: FP64 pipe",
            "CUDA C++ Programming Guide, Arithmetic Instructions: throughput table",
        ),
    ),
)
