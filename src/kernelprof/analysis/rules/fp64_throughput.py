"""fp64-throughput: the FP64 pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, when
from kernelprof.analysis.advice.lines import uses_fp32, uses_fp64

NEAR_LIMIT = rules.near_limit(
    "the kernel fp64_bound in tests/captures/gemm_series.full.raw.csv uses 98 % of the pipe's peak"
)

RULE = rules.Rule(
    slug="fp64-throughput",
    title="FP64 throughput",
    order=190,
    subsystem=rules.Subsystem.PIPES,
    headline=rules.Headline(
        plain="FP64 arithmetic limits the kernel: the FP64 pipe is the busiest unit of the GPU.",
        numbered="FP64 arithmetic limits the kernel: the FP64 pipe is {x} busy.",
        metric="fp64_pipe",
        at_limit="The FP64 pipe is close to its practical peak",
    ),
    detects="FP64 instructions saturate their pipe, while memory and issue slots have headroom.",
    matters="A100, H100 and B200 run FP64 at half the FP32 rate. Most other GPUs run FP64 at 1/32 "
    "or 1/64 of the FP32 rate: a few double constants can then dominate the run time.",
    example="x * 0.5 instead of x * 0.5f turns a float expression into FP64.",
    fixes=(
        when(
            "the kernel also computes in FP32, or converts between FP32 and FP64",
            lambda launch: uses_fp64(launch) and (uses_fp32(launch) or launch.converts_doubles),
            "Look for double constants in float expressions (x * 0.5, pow(x, 2.0)): the kernel "
            "computes in both precisions.",
        ),
        Advice("Use float if the accuracy allows, and double only for accumulation."),
        when(
            "the GPU has FP64 tensor cores and most FP64 arithmetic is FMA",
            lambda launch: (
                launch.compute_capability in {(8, 0), (9, 0), (10, 0)}
                and launch["dfma_rate"] >= launch.rates("dadd", "dmul")
            ),
            "Use the FP64 tensor cores (DMMA) for matrix products.",
        ),
    ),
    caller=(Advice("Pass float data if the accuracy allows."),),
    wrong_when="The verdict can look wrong on GPUs with few FP64 lanes, where even a small share "
    "of FP64 instructions saturates the pipe. The rule uses the pipe's utilization, not the "
    "instruction count.",
    references=(
        "Nsight Compute, Compute Workload Analysis: FP64 pipe",
        "CUDA C++ Programming Guide, Arithmetic Instructions: throughput table",
    ),
    requires=("fp64_pipe",),
    thresholds=(NEAR_LIMIT,),
    evaluate=rules.pipe_evaluation("fp64_pipe", "FP64 pipe utilization", NEAR_LIMIT),
)
