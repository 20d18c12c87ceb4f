"""shared-memory-throughput: shared-memory instructions are the limit, without conflicts."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, when
from kernelprof.analysis.advice.lines import NO_SHARED_MEMORY
from kernelprof.analysis.metrics import groups

NEAR_LIMIT = rules.near_limit(
    "shared tiles of tests/captures/gemm_series.full.raw.csv run at 90 % to 94 %"
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, waste = context.units, context.waste
    mostly_shared = (waste.shared_part_of_l1 >= 0.5) & (waste.bank_conflicts < groups.NOTABLE_WASTE)
    # Operands of wgmma come through shared memory: full of them, it does the tensor cores' work.
    wgmma = context.pipeline.uses_wgmma
    operands = wgmma & units.is_near_limit("tensor_pipe")
    full = units.is_near_limit("l1") & mostly_shared & ~operands
    waits = units.warps.stall_share("mio_throttle") * (1.0 - waste.bank_conflicts)
    # Special functions queue for MIO too: an idle data stage is not what fills it.
    queue = waits.where(mostly_shared & (units.saturations["l1"] >= 0.25) & ~wgmma, 0.0)
    return rules.RuleFinding(
        gain=context.gains.by_relief(units.busiest_except("l1")).where(
            full, context.gains.by_latency(queue)
        ),
        gain_reason="the busiest unit other than the shared-memory path",
        evidence=lambda: (
            rules.percent("l1_throughput", "L1 data stage", units.l1, ">", NEAR_LIMIT),
            rules.percent(
                "shared_wavefronts_share",
                "of which shared memory",
                waste.shared_part_of_l1,
                ">",
                0.5,
                formula="wavefronts of shared memory / wavefronts of L1",
            ),
            rules.percent(
                "shared_wavefronts",
                "wavefronts added by conflicts",
                waste.bank_conflicts,
                formula="1 - ideal / actual wavefronts of shared memory",
            ),
            rules.percent(
                "stall_mio_throttle",
                "warp time in the full MIO queue",
                waits,
                formula="stall_mio_throttle / cycles per instruction, without bank conflicts",
            ),
        ),
    )


RULE = rules.Rule(
    slug="shared-memory-throughput",
    title="Shared-memory throughput",
    order=140,
    subsystem=rules.Subsystem.SHARED,
    headline=rules.Headline(
        plain="The path to shared memory is full: each value that is loaded from it is used too "
        "rarely.",
        numbered="The path to shared memory is {x} busy: each value that is loaded from it is used "
        "too rarely.",
        metric="l1_throughput",
        at_limit="The path to shared memory is as busy as it gets",
    ),
    detects="Shared-memory accesses without notable bank conflicts that fill the pipe they go "
    "through.",
    matters="A warp-wide access of 4 bytes per thread takes one cycle of the SM's only data stage, "
    "as long as the four schedulers need for four FMAs. Two loads for one FMA can never be "
    "arithmetic-bound.",
    example="A shared-memory tile in which each thread computes one output reads two values for "
    "each FMA; an 8x8 register tile reads 16 for 64.",
    fixes=(
        when(
            "a twentieth of the instructions or more is floating-point work",
            lambda launch: launch.arithmetic[0] >= 0.05,
            "Register tiles: compute 4x4 or 8x8 outputs per thread.",
        ),
        Advice(
            "Wider accesses: float4 reads, one instruction for four values.",
            unless=NO_SHARED_MEMORY,
        ),
        Advice("Warp shuffles for values that neighbours hold.", unless=NO_SHARED_MEMORY),
        Advice(
            "Shuffle less: warp shuffles take this path too; combine values in a thread first.",
            when=NO_SHARED_MEMORY,
        ),
    ),
    wrong_when="With conflicts the accesses are not the limit but their addresses: "
    "shared-bank-conflicts.",
    references=(
        "Nsight Compute, Memory Workload Analysis: Shared Memory",
        "siboehm, How to Optimize a CUDA Matmul Kernel, kernel 3 to 5",
    ),
    requires=(
        "l1_throughput",
        "shared_wavefronts_share",
        "shared_wavefronts",
        "shared_wavefronts_ideal",
    ),
    thresholds=(NEAR_LIMIT,),
    evaluate=evaluate,
)
