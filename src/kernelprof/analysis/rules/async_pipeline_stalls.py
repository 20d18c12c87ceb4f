"""async-pipeline-stalls: tensor cores wait for copies, barriers or the epilogue."""

from __future__ import annotations

import math

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, LaunchValues, when
from kernelprof.analysis.advice.lines import NO_CLUSTERS, TCGEN05, WARP_GROUPS
from kernelprof.analysis.metrics.groups import PRACTICAL_CEILING, TENSOR_WORK
from kernelprof.model.numbers import rounded, rounded_quantity

FULL = rules.Threshold(
    "tensor pipe utilization of a full pipeline",
    PRACTICAL_CEILING["pipe"],
    "share of peak",
    "tests/captures/bf16 (H200): the fastest GEMM keeps the tensor pipe 98.1 % busy. Better "
    "pipelining sped up versions with a pipe 58 to 72 % busy by at least 1.2x, but versions with "
    "88 % by only 1.06x to 1.07x",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, pipeline = context.units, context.pipeline
    stalls = pipeline.stalls
    gain = pipeline.room.where(pipeline.not_full, 1.0).at_least(
        context.gains.by_latency(pipeline.late_copies).where(pipeline.is_fed_by_bulk_copies, 1.0)
    )
    # What blocks on empty SMs would bring is the grid's.
    return rules.RuleFinding(
        gain=(gain / context.gains.by_covering_sms).at_least(1.0),
        effect=lambda _: rules.Effect(waits=("long_scoreboard", "barrier", "gmma")),
        gain_reason="the idle time of the tensor cores (or the waits for copies) and the headroom "
        "of the other units",
        evidence=lambda: (
            rules.percent(
                "tensor_pipe", "tensor pipe utilization", units.pipe("tensor_pipe"), "<", FULL
            ),
            rules.percent(
                "stall_long_scoreboard",
                "warp time spent waiting for copies",
                stalls.copies,
                formula="long_scoreboard (includes mbarrier waits) / cycles per instruction",
                phrase="{x} of warp time spent waiting for copies",
            ),
            rules.percent(
                "stall_barrier",
                "warp time spent waiting for matrix instructions or at barriers",
                stalls.products,
                formula="(barrier + gmma + math_pipe_throttle + mio_throttle) / "
                "cycles per instruction",
                phrase="{x} of warp time spent waiting for matrix instructions or at barriers",
            ),
            rules.percent(
                "stall_wait",
                "warp time spent in non-matrix instructions and fences",
                stalls.around,
                formula="(wait + short_scoreboard + membar + branch_resolving + dispatch_stall + "
                "no_instruction + imc_miss + sleeping + selected + not_selected) / "
                "cycles per instruction",
                phrase="{x} of warp time spent in non-matrix instructions and fences",
            ),
            rules.percent(
                "stall_lg_throttle",
                "warp time spent waiting to store results",
                stalls.stores,
                formula="(lg_throttle + drain) / cycles per instruction",
                phrase="{x} of warp time spent waiting to store results",
            ),
            rules.l2_stage(context),
        ),
    )


FEW_STAGES = 2.0
"""Pairs of tiles below which no copy is under way while another pair is multiplied."""

NOTABLE = 0.05
"""Share of warps' time that is worth a line of its own, and by which products are waited for longer
than the tensor cores are busy: 0.11 where wgmma is waited for one by one and 0.15 where all warps
meet at each tile, 0 and less in others (``passage-search-product-by-product`` and
``largest-logit-meeting-at-each-tile`` of ``cuda/pairs``, H200)."""


def detail(context: rules.RuleContext, row: int) -> str | None:
    """Return which part of the pipeline stalls, with its share of warp time."""
    launch, pipeline = context.launch(row), context.pipeline
    stalls, fences = pipeline.stalls, launch.stall("membar")
    late = _late(launch)
    shares = (stalls.around, stalls.stores, stalls.products, pipeline.tensor)
    around, stores, products, tensor = map(launch.exact, shares)
    others = [each for each in (NOTABLE, around, stores, products - tensor) if not math.isnan(each)]
    if pipeline.is_fed_by_bulk_copies.sure[row]:
        return _copies(2 * _stages(launch), late)
    if late >= max(others):
        return _tiles(_stages(launch), late)
    if fences >= NOTABLE:
        return f"Expensive fences: warps spend {_percent(fences)} of their time waiting at fences."
    if products - tensor >= NOTABLE:
        return (
            "Block-wide barriers or serialized matrix instructions: warps spend "
            f"{_percent(products)} of their time waiting for them, and the tensor cores are only "
            f"{_percent(tensor)} busy. The compiler reports serialized wgmma with warning C7510."
        )
    if stores >= max(others):
        return (
            f"Exposed epilogue: warps spend {_percent(stores)} of their time waiting to store "
            "results."
        )
    text = "Non-matrix instructions and fences take "
    return f"{text}{_percent(around)} of warp time." if around >= NOTABLE else None


def _tiles(stages: float, late: float) -> str:
    waits = f"warps spend {_percent(late)} of their time waiting for tiles"
    if math.isnan(stages):
        return f"Late copies: {waits}."
    room = f"shared memory has room for {rounded(round(stages, 1))} pairs of operand tiles"
    if stages < FEW_STAGES:
        return f"Too few stages: {waits}, and {room}."
    return f"Slow producer: {waits}, although {room}."


def _copies(held: float, late: float) -> str:
    room = ""
    if not math.isnan(held):
        room = f", and shared memory has room for {rounded(round(held))} copies at a time"
    return f"Late copies: warps spend {_percent(late)} of their time waiting for copies{room}."


def _percent(share: float) -> str:
    return rounded_quantity(100 * share, "%")


def _late(launch: LaunchValues) -> float:
    return launch.exact(launch.pipeline.late_copies)


def _stages(launch: LaunchValues) -> float:
    return launch.exact(launch.pipeline.stages)


_LATE = Condition(
    "warps spend 5 % or more of their time waiting for tiles",
    lambda launch: _late(launch) >= NOTABLE,
)
_OF_PAIRS = Condition(
    "tiles are operands of matrix instructions",
    lambda launch: _stages(launch) >= 1.0 and launch["tensor_pipe"] >= 100 * TENSOR_WORK,
)
RULE = rules.Rule(
    slug="async-pipeline-stalls",
    title="Stalls of an asynchronous pipeline",
    order=205,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="Copies and computation overlap too little: arithmetic waits for data, barriers or "
        "the epilogue."
    ),
    detects="The tensor cores are idle although no other unit is saturated: warps wait for tiles, "
    "barriers, serialized matrix instructions or result stores. The rule covers "
    "kernels that use wgmma, tcgen05 or asynchronous copies (cp.async, TMA).",
    matters="These kernels hide latency with asynchronous work, not with many warps: one block per "
    "SM is normal. A cycle without a matrix instruction in flight is lost, and no utilization "
    "metric shows why.",
    example="With one stage, a kernel copies a tile, waits, multiplies, waits and copies the next. "
    "Four stages and a producer warp keep copies and matrix instructions in flight all the time.",
    fixes=(
        Advice(
            "Issue copies earlier, into more stages.",
            when=_LATE & _OF_PAIRS,
            number=lambda launch: round(_stages(launch), 1),
            measured="Warps wait for tiles; shared memory has room for {x} pairs of operand tiles.",
            situation=f"If {_LATE.words}",
        ),
        Advice(
            "Issue copies earlier, into more buffers.",
            when=_LATE,
            unless=_OF_PAIRS,
            number=lambda launch: 100 * _late(launch),
            measured="Warps spend {x} % of their time waiting for copies.",
            situation="If warps spend 5 % or more of their time waiting for copies of data other "
            "than operand tiles",
        ),
        Advice(
            "Use larger tiles, which reuse each copied byte more often: for example 128x256 with "
            "two consumer warpgroups, and setmaxnreg to give them more registers.",
            when=Condition(
                "a block has at most two warpgroups", lambda launch: launch["block_size"] <= 256
            )
            & WARP_GROUPS,
        ),
        when(
            "fences take 5 % or more of warp time",
            lambda launch: launch.stall("membar") >= NOTABLE,
            "Move fences (fence.proxy, acquire and release at cluster scope) out of the loop.",
            number=lambda launch: 100 * launch.stall("membar"),
            measured="Fences take {x} % of warp time.",
        ),
        when(
            "warps wait to store results and the kernel has no TMA stores",
            lambda launch: (
                launch.stall("lg_throttle", "drain") >= 0.02 and launch["tma_store_sectors"] == 0
            ),
            "Store results by TMA from shared memory, while the next tile is computed.",
            number=lambda launch: 100 * launch.stall("lg_throttle", "drain"),
            measured="Warps spend {x} % of their time waiting to store results.",
        ),
        when(
            "the grid has two waves or more",
            lambda launch: launch["waves_per_sm"] >= 2,
            "Use persistent blocks that compute several tiles each: copies for the next tile then "
            "overlap the epilogue. Order the tiles for reuse in L2.",
            number=lambda launch: launch["waves_per_sm"],
            measured="The grid has {x} waves.",
        ),
        Advice(
            "Keep two accumulators in tensor memory (512 columns): the epilogue reads one while "
            "the next tile accumulates into the other.",
            when=TCGEN05,
        ),
        Advice(
            "Let two blocks execute each matrix instruction together (cluster of two, "
            "cta_group::2): each block then loads only half of operand B.",
            when=TCGEN05 & NO_CLUSTERS,
        ),
        Advice(
            "Make barriers cheaper: let only one thread per warpgroup arrive, and use PTX mbarrier "
            "instead of cuda::barrier. Keep a matrix instruction in flight while waiting "
            "for the next tile."
        ),
    ),
    wrong_when="With several blocks per SM, one block computes while another waits. Stalls then "
    "mean little, but idle tensor cores still matter. If a matrix product is too "
    "small for the GPU, the verdict is small-grid. If L2 or DRAM is near its limit, the verdict "
    "names that unit.",
    references=(
        "PTX ISA, Asynchronous Warpgroup Level Matrix Instructions; mbarrier",
        "CUDA C++ Programming Guide, Asynchronous Data Copies using the Tensor Memory Accelerator",
    ),
    requires=("tensor_pipe", "stall_long_scoreboard", "stall_barrier"),
    thresholds=(FULL,),
    evaluate=evaluate,
    detail=detail,
)
