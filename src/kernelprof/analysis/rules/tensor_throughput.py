"""tensor-throughput: the tensor cores are the limit."""

from __future__ import annotations

from kernelprof.analysis.metrics.groups import SPEED_OF_LIGHT
from kernelprof.analysis.rules.rule import Docs, Finding, Rule, Scene, Shown, Threshold

NEAR_LIMIT = Threshold(
    "saturation",
    0.70,
    "share of the practical ceiling",
    "Nsight Compute 2025.3, rule SOLBottleneck: below 60 % of peak latency-bound, above 80 % bound "
    "by the unit; the same band for every pipe",
)


def evaluate(scene: Scene) -> Finding:
    machine = scene.machine
    pipe = machine.saturations["tensor_pipe"]
    return Finding(
        gain=machine.gain_by_relief(machine.others("sm", "tensor_pipe")).where(
            machine.is_near_limit("tensor_pipe") & scene.waste.full_warps, 1.0
        ),
        saturation=pipe,
        gain_reason="the busiest unit beside that pipe",
        evidence=(
            Shown(
                "tensor_pipe",
                "tensor pipe",
                machine.pipe("tensor_pipe") * 100.0,
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
    slug="tensor-throughput",
    title="Tensor-core throughput",
    order=200,
    docs=Docs(
        detects="Matrix instructions that keep the tensor cores busy.",
        matters="Tensor cores are the fastest arithmetic on the chip; a kernel that fills them "
        "is as fast as its precision allows.",
        example="A large BF16 matrix product from cuBLAS keeps them busy 9 cycles of 10.",
        fixes=(
            "Use a lower precision: FP8 instead of BF16.",
            "Use structured sparsity where the model allows.",
            "Skip work: causal masks, block sparsity.",
        ),
        wrong_when="Power limits lower the clock of such kernels, so that time can move without"
        " any counter.",
        references=("Nsight Compute, Compute Workload Analysis: Tensor pipe",),
    ),
    requires=("tensor_pipe",),
    uses=(
        "threads_per_instruction",
        *SPEED_OF_LIGHT,
    ),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
