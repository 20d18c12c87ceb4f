"""fp32-throughput: the FP32 pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis.metrics.groups import INSTRUCTION_MIX, SPEED_OF_LIGHT
from kernelprof.analysis.rules.rule import Docs, Finding, Rule, Scene, Shown, Threshold

HEAVY_RATIO = 1.25
"""FFMA spreads evenly over both halves of the pipe (80.0 and 80.1 % in ``fma_bound``); IMAD runs on
the heavy half alone, which is then up to twice as busy as the whole."""
NEAR_LIMIT = Threshold(
    "saturation",
    0.70,
    "share of the practical ceiling",
    "Nsight Compute 2025.3, rule SOLBottleneck: below 60 % of peak latency-bound, above 80 % bound "
    "by the unit; fma_bound in tests/captures/gemm_series.full.raw.csv: pipe 80 %, issue slots"
    " 93 %",
)


def evaluate(scene: Scene) -> Finding:
    machine = scene.machine
    arithmetic = machine.arithmetic_share >= 0.5
    # FP32 instructions can fill every issue slot: where they are most of what is issued, the slots
    # are the pipe's own limit.
    saturation = machine.busiest(
        machine.saturations["fma_pipe"],
        machine.saturations["issue"]
        .at_most(machine.saturations["fma_pipe"] * 2.0)
        .where(arithmetic, 0.0),
    )
    full = (
        scene.waste.full_warps
        & (saturation >= NEAR_LIMIT.value)
        & (machine.pipe("fma_heavy_pipe") <= machine.pipe("fma_pipe") * HEAVY_RATIO)
    )
    others = machine.others("sm", "fma_pipe", "fma_heavy_pipe", "issue")
    others = others.at_least(machine.saturations["issue"].where(~arithmetic, 0.0))
    return Finding(
        gain=machine.gain_by_relief(others).where(full, 1.0),
        saturation=saturation,
        gain_reason="the busiest unit beside the FP32 pipe",
        evidence=(
            Shown(
                "fma_pipe",
                "FP32 pipe",
                machine.pipe("fma_pipe") * 100.0,
                "%",
                ">",
                NEAR_LIMIT.value * 100,
            ),
            Shown(
                "issue_slots",
                "issue slots used",
                machine.issue * 100.0,
                "%",
                ">",
                NEAR_LIMIT.value * 100,
            ),
            Shown(
                "ffma_rate",
                "of them floating-point arithmetic",
                machine.arithmetic_share * 100.0,
                "%",
            ),
        ),
    )


RULE = Rule(
    slug="fp32-throughput",
    title="FP32 throughput",
    order=180,
    docs=Docs(
        detects="FP32 instructions (FFMA, FADD, FMUL) that fill their pipe, with issue slots "
        "that mostly do arithmetic.",
        matters="The kernel runs at the arithmetic peak of the GPU for this precision: less "
        "arithmetic or another pipe is the only way on.",
        example="A register-tiled GEMM near the FP32 peak; tensor cores with TF32 or BF16 do "
        "several times as much.",
        fixes=(
            "Do less: algebra, precomputation, lower-order approximations.",
            "Use tensor cores (TF32, BF16, FP16) where the accuracy allows.",
            "Use packed half2 arithmetic.",
            "Fuse multiply and add into FMA.",
        ),
        wrong_when="Integer multiply-add (IMAD) uses half of this pipe: if that half is busier "
        "than the whole, integer arithmetic is the cause.",
        references=("Nsight Compute, Compute Workload Analysis: FMA pipe",),
    ),
    requires=("fma_pipe",),
    uses=(
        "threads_per_instruction",
        *SPEED_OF_LIGHT,
        *INSTRUCTION_MIX,
    ),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
