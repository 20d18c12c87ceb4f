"""tensor-throughput: the tensor cores are the limit."""

from __future__ import annotations

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition
from kernelprof.analysis.advice.lines import OLDER_ON_BLACKWELL, OLDER_ON_HOPPER, WARP_GROUPS, since
from kernelprof.analysis.metrics.groups import PRACTICAL_CEILING
from kernelprof.model.numbers import factor, number, quantity

NEAR_LIMIT = rules.near_limit("the same band for every pipe")

OLDER_INSTRUCTION = rules.Threshold(
    "tensor pipe by mma.sync",
    0.48,
    "share of peak",
    "capture tests/captures/bf16: bf16_cp_async_ring keeps the pipe 61 % busy and takes twice as "
    "long as cuBLAS; bf16_mma_sync, 17 % busy, waits for something else, and at 29 % "
    "sonar-beams-narrow-warp-tiles of cuda/pairs waits for shared memory (1.7x by larger tiles)",
)

LONGER = rules.Threshold(
    "tensor pipe for one product, mma.sync against wgmma",
    1.5,
    "ratio of cycles",
    "capture tests/captures/bf16 (H200, BF16, 8192 cubed): sm__pipe_tensor_op_hmma_cycles_active "
    "is 1.611e9 with mma.sync and 1.074e9 with wgmma",
)

BEST = rules.Threshold(
    "tensor pipe of the fastest kernel",
    PRACTICAL_CEILING["pipe"],
    "share of peak",
    "tests/captures/bf16 (H200, BF16): 98.1 % while SMs have work in the fastest product, 96.9 % "
    "in that of cuBLAS, at 1.59 of 1.98 GHz: power holds the clock down",
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
        gain_reason="the busiest unit other than that pipe",
        evidence=lambda: (
            rules.percent("tensor_pipe", "tensor pipe", units.pipe("tensor_pipe"), ">", NEAR_LIMIT),
            rules.percent(
                "matrix_pipe",
                "tensor pipe by mma.sync, which wgmma or tcgen05 could relieve",
                older.where(older > 0.0, float("nan")),
                ">",
                OLDER_INSTRUCTION,
                formula="tensor pipe of a kernel without wgmma and tcgen05",
            ),
            rules.issue_slots(context),
            rules.measured(context, "memory_throughput", "memory throughput"),
        ),
    )


def detail(context: rules.RuleContext, row: int) -> str | None:
    """Return the distance to what libraries reach, and what an older instruction costs."""
    facts = context.facts
    pipe = context.units.pipe("tensor_pipe")
    busy = float(pipe.low[row])
    if busy != float(pipe.high[row]) or busy <= 0.0:
        return None
    if float(context.pipeline.by_older_instructions.low[row]) > 0.0:
        shorter = number(100 * (1 - 1 / LONGER.value))
        return (
            "Its matrix products are mma.sync, an older instruction: with wgmma (Hopper) or "
            f"tcgen05 (Blackwell) the same products take {shorter} % less of the tensor cores' "
            "time. Full of mma.sync, they do about 60 % of what the GPU can."
        )
    hertz = float(facts.values("sm_clock")[row])
    clock = f" ({quantity(hertz, 'hz')} here)" if hertz > 0 else ""
    while_active = float(context.pipeline.while_active.low[row])
    left = factor(max(BEST.value / while_active, 1.0))
    return (
        f"While SMs have work they are {number(100 * while_active)} % busy. The fastest product on "
        f"an H200 comes to {number(100 * BEST.value)} %, {left} as much, and power holds the clock "
        f"of such kernels down{clock}: fewer bytes moved leave more of it to them."
    )


IDLE_TO_STORE = 0.03
"""Share of the best by which tensor cores are idle beside threads that store results: in recorded
captures of the BF16 ladder (H200) they are 94 % busy while SMs have work, and 98 % with stores by
TMA, which brought 5 % at 8192 cubed and 10 % at 4096."""

EXPOSED_STORES = Advice(
    "Store results by TMA from shared memory while the next tile is multiplied: threads store "
    "them, and tensor cores are idle {x} % of the time that SMs have work.",
    when=WARP_GROUPS
    & Condition(
        "threads store the results, and tensor cores are less busy than in the fastest product",
        lambda launch: (
            launch["tma_store_sectors"] == 0
            and launch["global_store_requests"] > 0
            and launch.exact(launch.pipeline.while_active) <= BEST.value - IDLE_TO_STORE
        ),
    ),
    number=lambda launch: 100 * (1 - launch.exact(launch.pipeline.while_active)),
)
LOWER_PRECISION = Advice(
    "Use a lower precision: FP8 instead of BF16.", when=since(8, 9, "FP8 tensor cores")
)
SPARSITY = Advice(
    "Use structured sparsity where the model allows.", when=since(8, 0, "sparse tensor cores")
)
SKIPPED_WORK = Advice("Skip work: causal masks, block sparsity.")

RULE = rules.Rule(
    slug="tensor-throughput",
    title="Tensor-core throughput",
    order=200,
    subsystem=rules.Subsystem.PIPES,
    headline=rules.Headline(
        plain="The tensor cores are what takes the time: they are the busiest part of the GPU.",
        numbered="The tensor cores are what takes the time: they are {x} busy.",
        metric="tensor_pipe",
        at_limit="The tensor cores are about as busy as they get",
    ),
    detects="Matrix instructions that keep the tensor cores busy.",
    matters="Tensor cores are the fastest arithmetic on the chip; a kernel that fills them is as "
    "fast as its precision allows.",
    example="A large BF16 matrix product from cuBLAS keeps them busy 9 cycles out of 10.",
    fixes=(
        Advice(
            "Use wgmma with operands in shared memory (128-byte swizzle, filled by TMA): the "
            "tensor cores need two thirds of the time that mma.sync takes for the same product.",
            when=OLDER_ON_HOPPER,
        ),
        Advice(
            "Use tcgen05.mma with sums in tensor memory: mma.sync reaches part of this GPU's peak.",
            when=OLDER_ON_BLACKWELL,
        ),
        EXPOSED_STORES,
        LOWER_PRECISION,
        SPARSITY,
        SKIPPED_WORK,
    ),
    caller=(LOWER_PRECISION, SPARSITY, SKIPPED_WORK),
    wrong_when="Power limits lower the clock of such kernels, so that time can move without any "
    "counter. A pipeline of asynchronous copies that leaves the tensor cores idle a quarter of the "
    "time is async-pipeline-stalls.",
    references=(
        "Nsight Compute, Compute Workload Analysis: Tensor pipe",
        "PTX ISA, Asynchronous Warpgroup Level Matrix Instructions",
    ),
    requires=("tensor_pipe",),
    thresholds=(NEAR_LIMIT, OLDER_INSTRUCTION, LONGER, BEST),
    evaluate=evaluate,
    detail=detail,
)
