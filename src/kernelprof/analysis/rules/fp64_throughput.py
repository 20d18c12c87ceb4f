"""fp64-throughput: the FP64 pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis.metrics.groups import SPEED_OF_LIGHT
from kernelprof.analysis.rules.rule import Docs, Finding, Rule, Scene, Shown, Threshold

NEAR_LIMIT = Threshold(
    "saturation",
    0.70,
    "share of the practical ceiling",
    "Nsight Compute 2025.3, rule SOLBottleneck: below 60 % of peak latency-bound, above 80 % bound "
    "by the unit; fp64_bound in tests/captures/gemm_series.full.raw.csv: 98 %",
)


def evaluate(scene: Scene) -> Finding:
    machine = scene.machine
    pipe = machine.saturations["fp64_pipe"]
    return Finding(
        gain=machine.gain_by_relief(machine.others("sm", "fp64_pipe")).where(
            machine.is_near_limit("fp64_pipe") & scene.waste.full_warps, 1.0
        ),
        saturation=pipe,
        gain_reason="the busiest unit beside that pipe",
        evidence=(
            Shown(
                "fp64_pipe",
                "FP64 pipe",
                machine.pipe("fp64_pipe") * 100.0,
                "%",
                ">",
                NEAR_LIMIT.value * 100,
            ),
            Shown("issue_slots", "issue slots used", machine.issue * 100.0, "%"),
            Shown(
                "memory_throughput",
                "memory throughput",
                scene.facts.metric("memory_throughput"),
                "%",
            ),
        ),
    )


RULE = Rule(
    slug="fp64-throughput",
    title="FP64 throughput",
    order=190,
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
    requires=("fp64_pipe",),
    uses=(
        "threads_per_instruction",
        *SPEED_OF_LIGHT,
    ),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
