"""tensor-throughput: the tensor cores are the limit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition
from kernelprof.analysis.advice.lines import OLDER_ON_BLACKWELL, OLDER_ON_HOPPER, WARP_GROUPS, since
from kernelprof.analysis.metrics.groups import PRACTICAL_CEILING
from kernelprof.model.numbers import factor, rounded_quantity

NEAR_LIMIT = rules.near_limit("SOLBottleneck uses the same thresholds for every pipe")

OLDER_INSTRUCTION = rules.Threshold(
    "tensor pipe utilization by mma.sync",
    0.48,
    "share of peak",
    "capture tests/captures/bf16: bf16_cp_async_ring keeps the pipe 61 % busy and takes twice as "
    "long as cuBLAS; bf16_mma_sync (17 %) and sonar-beams-narrow-warp-tiles of cuda/pairs (29 %) "
    "have other bottlenecks",
)

LONGER = rules.Threshold(
    "tensor pipe cycles for the same product, mma.sync / wgmma",
    1.5,
    "ratio of cycles",
    "capture tests/captures/bf16 (H200, BF16, 8192 cubed): sm__pipe_tensor_op_hmma_cycles_active "
    "is 1.611e9 with mma.sync and 1.074e9 with wgmma",
)

BEST = rules.Threshold(
    "tensor pipe utilization of the fastest kernel",
    PRACTICAL_CEILING["pipe"],
    "share of peak",
    "tests/captures/bf16 (H200, BF16): 98.1 % of active SM cycles in the fastest GEMM and 96.9 % "
    "in the cuBLAS GEMM, both power-limited to 1.59 GHz (maximum 1.98 GHz)",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, pipeline = context.units, context.pipeline
    saturation = units.saturations["tensor_pipe"]
    full = units.is_near_limit("tensor_pipe") & ~pipeline.not_full
    # One thread starts a wgmma for four warps: how many threads take part says nothing of it.
    full = full & (context.waste.full_warps | pipeline.uses_wgmma)
    by_relief = context.gains.by_relief(pipeline.others)
    older = pipeline.by_older_instructions
    newer = (LONGER.value / saturation.at_least(1e-3)).at_most(by_relief).at_least(1.0)
    newer = newer.where(older >= OLDER_INSTRUCTION.value, 1.0)
    return rules.RuleFinding(
        gain=by_relief.where(full, newer),
        saturation=saturation,
        gain_reason="the utilization of the busiest unit other than the tensor pipe",
        effect=rules.less_work("math_pipe_throttle", unit="tensor_pipe"),
        evidence=lambda: (
            rules.percent(
                "tensor_pipe", "tensor pipe utilization", units.pipe("tensor_pipe"), ">", NEAR_LIMIT
            ),
            rules.percent(
                "matrix_pipe",
                "tensor pipe utilization by mma.sync (wgmma or tcgen05 is faster)",
                older.where(older > 0.0, float("nan")),
                ">",
                OLDER_INSTRUCTION,
                formula="tensor pipe utilization of a kernel that uses neither wgmma nor tcgen05",
            ),
            rules.issue_slots(context),
            rules.measured(context, "memory_throughput", "memory throughput"),
        ),
    )


NOTABLE_DISTANCE = 1.005


def detail(context: rules.RuleContext, row: int) -> str | None:
    """Return the distance to the fastest GEMM, or the cost of mma.sync."""
    facts = context.facts
    pipe = context.units.pipe("tensor_pipe")
    busy = float(pipe.low[row])
    if busy != float(pipe.high[row]) or busy <= 0.0:
        return None
    if float(context.pipeline.by_older_instructions.low[row]) > 0.0:
        shorter = rounded_quantity(100 * (1 - 1 / LONGER.value), "%")
        return (
            "The kernel uses mma.sync, an older instruction than wgmma (Hopper) and tcgen05 "
            f"(Blackwell). On an H200, wgmma needs {shorter} less tensor-core time for the same "
            "work, and mma.sync reaches about 60 % of the peak."
        )
    hertz = float(facts.values("sm_clock")[row])
    clock = f" ({rounded_quantity(hertz, 'hz')} here)" if hertz > 0 else ""
    while_active = float(context.pipeline.while_active.low[row])
    left = BEST.value / while_active
    more = f", {factor(left)} as much" if left > NOTABLE_DISTANCE else ""
    return (
        f"The tensor cores are {rounded_quantity(100 * while_active, '%')} busy while SMs are "
        "active; the fastest GEMM on an H200 reaches "
        f"{rounded_quantity(100 * BEST.value, '%')}{more}. In tensor-bound kernels, the power "
        f"limit can lower the SM clock{clock}; moving fewer bytes saves power and raises the clock."
    )


IDLE_TO_STORE = 0.03
"""Share of the best by which tensor cores are idle beside threads that store results: in recorded
captures of the BF16 ladder (H200) they are 94 % busy while SMs have work, and 98 % with stores by
TMA, which brought 5 % at 8192 cubed and 10 % at 4096."""

EXPOSED_STORES = Advice(
    "Store results by TMA from shared memory, while the next tile is computed.",
    when=WARP_GROUPS
    & Condition(
        "results are stored without TMA",
        lambda launch: (
            launch["tma_store_sectors"] == 0
            and launch["global_store_requests"] > 0
            and launch.exact(launch.pipeline.while_active) <= BEST.value - IDLE_TO_STORE
        ),
    ),
    number=lambda launch: 100 * (1 - launch.exact(launch.pipeline.while_active)),
    measured="The tensor cores are idle for {x} % of the time that SMs are active.",
)
LOWER_PRECISION = Advice(
    "Use a lower precision: FP8 instead of BF16.", when=since(8, 9, "FP8 tensor cores")
)
FOUR_BITS = Advice(
    "Use block-scaled FP4 (NVFP4, MXFP4) if its accuracy is sufficient.",
    when=since(10, 0, "FP4 tensor cores"),
)
SPARSITY = Advice(
    "Use structured sparsity if the model allows.", when=since(8, 0, "sparse tensor cores")
)
SKIPPED_WORK = Advice("Skip tiles that need no work: causal masks, block sparsity.")

RULE = rules.Rule(
    slug="tensor-throughput",
    title="Tensor-core throughput",
    order=200,
    subsystem=rules.Subsystem.PIPES,
    headline=rules.Headline(
        plain="The tensor cores limit the kernel: they are the busiest unit of the GPU.",
        numbered="The tensor cores limit the kernel: they are {x} busy.",
        metric="tensor_pipe",
        at_limit="The tensor cores are close to their practical peak",
    ),
    detects="Matrix instructions keep the tensor cores busy.",
    matters="Tensor cores are the fastest arithmetic units on the chip. A kernel that saturates "
    "them is as fast as its precision allows.",
    example="A large BF16 GEMM of cuBLAS keeps the tensor cores busy in 9 of 10 cycles.",
    fixes=(
        Advice(
            "Use wgmma with operands in shared memory (128-byte swizzle, filled by TMA): it needs "
            "two thirds of the tensor-core time of mma.sync.",
            when=OLDER_ON_HOPPER,
        ),
        Advice(
            "Use tcgen05.mma with accumulators in tensor memory: mma.sync reaches only part of "
            "this GPU's peak.",
            when=OLDER_ON_BLACKWELL,
        ),
        EXPOSED_STORES,
        LOWER_PRECISION,
        FOUR_BITS,
        SPARSITY,
        SKIPPED_WORK,
    ),
    caller=(LOWER_PRECISION, FOUR_BITS, SPARSITY, SKIPPED_WORK),
    wrong_when="While a kernel saturates the tensor cores, the power limit can lower the SM clock, "
    "so the run time can change although no counter changes. If an asynchronous pipeline "
    "leaves the tensor cores idle part of the time, the verdict is async-pipeline-stalls.",
    references=(
        "Nsight Compute, Compute Workload Analysis: Tensor pipe",
        "PTX ISA, Asynchronous Warpgroup Level Matrix Instructions",
    ),
    requires=("tensor_pipe",),
    thresholds=(NEAR_LIMIT, OLDER_INSTRUCTION, LONGER, BEST),
    evaluate=evaluate,
    detail=detail,
)
