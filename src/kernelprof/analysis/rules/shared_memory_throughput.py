"""shared-memory-throughput: shared-memory accesses without conflicts fill their pipe."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, when
from kernelprof.analysis.advice.lines import NO_SHARED_MEMORY, SHARED_MEMORY, TILED_ARITHMETIC
from kernelprof.analysis.metrics import groups

NEAR_LIMIT = rules.near_limit(
    "gemm_tiled kernels in tests/captures/gemm_series.full.raw.csv reach 82 % to 94 % L1 throughput"
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
        effect=rules.less_work("mio_throttle", "short_scoreboard", unit="l1"),
        gain_reason="the utilization of the busiest unit other than the shared-memory path",
        evidence=lambda: (
            rules.percent("l1_throughput", "L1 data-stage utilization", units.l1, ">", NEAR_LIMIT),
            rules.percent(
                "shared_wavefronts_share",
                "shared-memory share of L1 wavefronts",
                waste.shared_part_of_l1,
                ">",
                0.5,
                formula="shared-memory wavefronts / all L1 wavefronts",
                phrase="{x} of L1 wavefronts are for shared memory",
            ),
            rules.percent(
                "shared_wavefronts",
                "shared-memory wavefronts caused by bank conflicts",
                waste.bank_conflicts,
                formula="1 - ideal / actual shared-memory wavefronts",
                phrase="{x} of shared-memory wavefronts are caused by bank conflicts",
            ),
            rules.percent(
                "stall_mio_throttle",
                "warp time spent waiting for the MIO queue",
                waits,
                formula="stall_mio_throttle / cycles per instruction, excluding waits caused by "
                "bank conflicts",
                phrase="{x} of warp time spent waiting for the MIO queue",
            ),
        ),
    )


RULE = rules.Rule(
    slug="shared-memory-throughput",
    title="Shared-memory throughput",
    order=140,
    subsystem=rules.Subsystem.SHARED,
    headline=rules.Headline(
        plain="Shared-memory throughput limits the kernel, which reuses loaded values too little.",
        numbered="Shared-memory throughput ({x} of peak) limits the kernel, which reuses loaded "
        "values too little.",
        metric="l1_throughput",
        at_limit="The data path of shared memory is close to its practical peak",
    ),
    detects="Shared-memory accesses without notable bank conflicts saturate the shared-memory "
    "pipe.",
    matters="An SM has a single L1 data stage, which serves one warp access (4 bytes per thread) "
    "per cycle. In that cycle, the four schedulers can issue four FMAs. With two loads per FMA, "
    "arithmetic is never the bottleneck.",
    example="With a shared-memory tile and one output per thread, a thread reads two values per "
    "FMA. With an 8x8 register tile, it reads 16 values for 64 FMAs.",
    fixes=(
        when(
            "at least 5 % of the instructions are floating-point arithmetic",
            lambda launch: launch.arithmetic[0] >= TILED_ARITHMETIC,
            "Use register tiles: compute 4x4 or 8x8 outputs per thread.",
        ),
        Advice(
            "Use wider accesses: a float4 read loads four values in one instruction.",
            unless=NO_SHARED_MEMORY,
            situation=f"If {SHARED_MEMORY.words}",
        ),
        Advice(
            "Use warp shuffles to read values from neighbouring threads.",
            unless=NO_SHARED_MEMORY,
            situation=f"If {SHARED_MEMORY.words}",
        ),
        Advice(
            "Shuffle less: warp shuffles also use the shared-memory path. Combine values within a "
            "thread first.",
            when=NO_SHARED_MEMORY,
        ),
    ),
    wrong_when="If there are bank conflicts, the problem is the addresses, not the number of "
    "accesses: see shared-bank-conflicts.",
    references=(
        "Nsight Compute, Memory Workload Analysis: Shared Memory",
        "siboehm, How to Optimize a CUDA Matmul Kernel, kernels 3 to 5",
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
