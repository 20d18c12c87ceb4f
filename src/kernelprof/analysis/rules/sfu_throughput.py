"""sfu-throughput: the special-function unit is the limit."""

from __future__ import annotations

from kernelprof.analysis.metrics.groups import SPEED_OF_LIGHT
from kernelprof.analysis.rules.rule import Docs, Finding, Rule, Scene, Shown, Threshold

NEAR_LIMIT = Threshold(
    "saturation",
    0.70,
    "share of the practical ceiling",
    "Nsight Compute 2025.3, rule SOLBottleneck: below 60 % of peak latency-bound, above 80 % bound "
    "by the unit; sfu_bound in tests/captures/gemm_series.full.raw.csv: 99.5 %",
)


def evaluate(scene: Scene) -> Finding:
    machine = scene.machine
    pipe = machine.saturations["xu_pipe"]
    return Finding(
        gain=machine.gain_by_relief(machine.others("sm", "xu_pipe")).where(
            machine.is_near_limit("xu_pipe") & scene.waste.full_warps, 1.0
        ),
        saturation=pipe,
        gain_reason="the busiest unit beside that pipe",
        evidence=(
            Shown(
                "xu_pipe",
                "special-function pipe (XU)",
                machine.pipe("xu_pipe") * 100.0,
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
    slug="sfu-throughput",
    title="Special-function throughput",
    order=210,
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
    requires=("xu_pipe",),
    uses=(
        "threads_per_instruction",
        *SPEED_OF_LIGHT,
    ),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
