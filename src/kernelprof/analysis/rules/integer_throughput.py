"""integer-throughput: an integer pipe is the limit."""

from __future__ import annotations

from kernelprof.analysis.metrics.groups import SPEED_OF_LIGHT
from kernelprof.analysis.rules.rule import Docs, Finding, Rule, Scene, Shown, Threshold

HEAVY_RATIO = 1.25
"""As in fp32-throughput: beyond this the heavy half of the FMA pipe is busy with integers."""
NEAR_LIMIT = Threshold(
    "saturation",
    0.70,
    "share of the practical ceiling",
    "Nsight Compute 2025.3, rule SOLBottleneck: below 60 % of peak latency-bound, above 80 % bound "
    "by the unit; ALU at 60 % in gemm_tiled without unrolling is overhead, not the limit",
)


def evaluate(scene: Scene) -> Finding:
    machine = scene.machine
    heavy = machine.saturations["fma_heavy_pipe"].where(
        machine.pipe("fma_heavy_pipe") > machine.pipe("fma_pipe") * HEAVY_RATIO, 0.0
    )
    saturation = machine.busiest(machine.saturations["alu_pipe"], heavy)
    others = machine.others("sm", "alu_pipe", "fma_heavy_pipe", "fma_pipe")
    return Finding(
        gain=machine.gain_by_relief(others).where(
            (saturation >= NEAR_LIMIT.value) & scene.waste.full_warps, 1.0
        ),
        saturation=saturation,
        gain_reason="the busiest unit beside the integer pipes",
        evidence=(
            Shown(
                "alu_pipe",
                "integer and logic pipe (ALU)",
                machine.pipe("alu_pipe") * 100.0,
                "%",
                ">",
                NEAR_LIMIT.value * 100,
            ),
            Shown(
                "fma_heavy_pipe",
                "integer multiply pipe",
                machine.pipe("fma_heavy_pipe") * 100.0,
                "%",
            ),
            Shown("issue_slots", "issue slots used", machine.issue * 100.0, "%"),
        ),
    )


RULE = Rule(
    slug="integer-throughput",
    title="Integer throughput",
    order=145,
    docs=Docs(
        detects="Integer and logic instructions that fill the ALU pipe, or integer "
        "multiplications that fill their half of the FMA pipe.",
        matters="The ALU does 64 operations a cycle and SM, half of what the schedulers issue; "
        "kernels of hashes, bit tricks or index arithmetic fill it first.",
        example="A xorshift generator: shifts and exclusive-ors all go to the ALU.",
        fixes=(
            (
                "Use LOP3, byte permutation and funnel shifts: one instruction for several "
                "operations."
            ),
            "Use IMAD for adds and shifts to move work to the FMA pipe.",
            "Replace 64-bit by 32-bit arithmetic and division by multiplication.",
            "Precompute tables or indices.",
        ),
        wrong_when="In a floating-point kernel the same pipe does loop counters, comparisons "
        "and address arithmetic: there it is overhead (instruction-issue).",
        references=("Nsight Compute, Compute Workload Analysis: ALU pipe",),
    ),
    requires=("alu_pipe",),
    uses=(
        "threads_per_instruction",
        *SPEED_OF_LIGHT,
    ),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
