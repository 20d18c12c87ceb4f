"""async-pipeline-stalls: tensor cores wait for copies, barriers or an epilogue."""

from __future__ import annotations

import math

from kernelprof.analysis import rules
from kernelprof.analysis.advice import Advice, Condition, LaunchValues, when
from kernelprof.analysis.advice.lines import WARP_GROUPS
from kernelprof.analysis.metrics.groups import PRACTICAL_CEILING, TENSOR_WORK
from kernelprof.model.numbers import number

FULL = rules.Threshold(
    "tensor pipe of a full pipeline",
    PRACTICAL_CEILING["pipe"],
    "share of peak",
    "tests/captures/bf16 (H200): 98.1 % while SMs have work in the fastest product; rungs at 58 to "
    "72 % gained 1.2x and more by other copies and barriers, those at 88 % 1.06x",
)


def evaluate(context: rules.RuleContext) -> rules.RuleFinding:
    units, pipeline = context.units, context.pipeline
    stalls = pipeline.stalls
    return rules.RuleFinding(
        gain=pipeline.room.where(pipeline.not_full, 1.0).at_least(
            context.gains.by_latency(pipeline.late_copies).where(
                pipeline.is_fed_by_bulk_copies, 1.0
            )
        ),
        gain_reason="tensor cores that are busy all the time, or copies that nobody waits for, "
        "until another unit is full",
        evidence=lambda: (
            rules.percent("tensor_pipe", "tensor pipe", units.pipe("tensor_pipe"), "<", FULL),
            rules.percent(
                "stall_long_scoreboard",
                "warp time waiting for copies",
                stalls.copies,
                formula="long_scoreboard (waits at mbarriers among it) / cycles per instruction",
            ),
            rules.percent(
                "stall_barrier",
                "warp time waiting for products and at barriers",
                stalls.products,
                formula="(barrier, gmma, full queues) / cycles per instruction",
            ),
            rules.percent(
                "stall_wait",
                "warp time in instructions and fences between them",
                stalls.around,
                formula="(wait, short_scoreboard, membar, issue) / cycles per instruction",
            ),
            rules.percent(
                "stall_lg_throttle",
                "warp time waiting to store results",
                stalls.stores,
                formula="(lg_throttle + drain) / cycles per instruction",
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
    """Return which part of the pipeline it is, with the share of warps' time that says so."""
    launch, pipeline = context.launch(row), context.pipeline
    stalls, fences = pipeline.stalls, launch.stall("membar")
    late = _late(launch)
    shares = (stalls.around, stalls.stores, stalls.products, pipeline.tensor)
    around, stores, products, tensor = map(launch.exact, shares)
    others = [each for each in (NOTABLE, around, stores, products - tensor) if not math.isnan(each)]
    if pipeline.is_fed_by_bulk_copies.sure[row]:
        part = _copies(2 * _stages(launch), late)
    elif late >= max(others):
        part = _tiles(_stages(launch), late)
    elif fences >= NOTABLE:
        part = f"barriers that cost: warps wait {_percent(fences)} of their time at fences"
    elif products - tensor >= NOTABLE:
        part = (
            "barriers that all warps meet at, or products one by one: warps wait for them "
            f"{_percent(products)} of their time, and the tensor cores are {_percent(tensor)} busy "
            "(the compiler says by its warning C7510 where it serializes wgmma)"
        )
    elif stores >= max(others):
        part = f"an exposed epilogue: warps wait {_percent(stores)} of their time to store"
    elif around >= NOTABLE:
        part = (
            f"barriers and instructions between the products: warps spend {_percent(around)} of "
            "their time on them"
        )
    else:
        return None
    return f"It is {part}."


def _tiles(stages: float, late: float) -> str:
    waits = f"warps wait for tiles {_percent(late)} of their time"
    if math.isnan(stages):
        return f"the copies: {waits}"
    room = f"a block's shared memory has room for {number(round(stages, 1))} pairs of tiles"
    if stages < FEW_STAGES:
        return f"too few stages: {waits}, and {room}"
    return f"a slow producer: {waits}, although {room}"


def _copies(held: float, late: float) -> str:
    room = ""
    if not math.isnan(held):
        room = f", and shared memory has room for {number(round(held))} at a time"
    return f"the copies: warps wait for them {_percent(late)} of their time{room}"


def _percent(share: float) -> str:
    return f"{number(100 * share)} %"


def _late(launch: LaunchValues) -> float:
    return launch.exact(launch.pipeline.late_copies)


def _stages(launch: LaunchValues) -> float:
    return launch.exact(launch.pipeline.stages)


_LATE = Condition(
    "warps wait for tiles a twentieth of their time, beside a producer",
    lambda launch: _late(launch) >= NOTABLE,
)
_OF_PAIRS = Condition(
    "tiles are the operands of products, and shared memory has room for a pair",
    lambda launch: _stages(launch) >= 1.0 and launch["tensor_pipe"] >= 100 * TENSOR_WORK,
)
RULE = rules.Rule(
    slug="async-pipeline-stalls",
    title="Stalls of an asynchronous pipeline",
    order=205,
    subsystem=rules.Subsystem.WAITING,
    headline=rules.Headline(
        plain="Copies and computation hardly overlap: while data is on its way, or a barrier or an "
        "epilogue holds up the next step, the arithmetic waits."
    ),
    detects="Matrix products of wgmma, or fed by asynchronous copies (cp.async, TMA), whose tensor "
    "cores are not full while no other unit is: warps wait for tiles, at barriers, for products "
    "one by one, or to write results. And other kernels that wait for bulk copies.",
    matters="Such kernels hide latency by what is under way, not by many warps: one block on an SM "
    "is by design. A cycle in which no product is under way is lost, and no unit shows it.",
    example="One stage: copy a tile, wait, multiply, wait, copy the next. A ring of four stages "
    "with a producer warp keeps copies and products under way all the time.",
    fixes=(
        Advice(
            "Start copies earlier, into more stages: warps wait for tiles, and shared memory has "
            "room for {x} pairs of them.",
            when=_LATE & _OF_PAIRS,
            number=lambda launch: round(_stages(launch), 1),
        ),
        Advice(
            "Start copies earlier, into more buffers: warps wait for them {x} % of their time.",
            when=_LATE,
            unless=_OF_PAIRS,
            number=lambda launch: 100 * _late(launch),
        ),
        Advice(
            "Use larger tiles (128x256 by two consumer warp groups, registers moved to them by "
            "setmaxnreg): each byte that is copied is used more often.",
            when=Condition(
                "a block has up to two warp groups", lambda launch: launch["block_size"] <= 256
            )
            & WARP_GROUPS,
        ),
        when(
            "warps spend a twentieth of their time at fences",
            lambda launch: launch.stall("membar") >= NOTABLE,
            "Take fences out of the loop (fence.proxy, acquire and release for a cluster): warps "
            "spend {x} % of their time at them.",
            number=lambda launch: 100 * launch.stall("membar"),
        ),
        when(
            "warps wait to store results, and no TMA does it",
            lambda launch: (
                launch.stall("lg_throttle", "drain") >= 0.02 and launch["tma_store_sectors"] == 0
            ),
            "Store results by TMA from shared memory, while the next tile is multiplied: warps "
            "wait {x} % of their time to store them.",
            number=lambda launch: 100 * launch.stall("lg_throttle", "drain"),
        ),
        when(
            "there are two waves or more",
            lambda launch: launch["waves_per_sm"] >= 2,
            "Let blocks stay for several tiles (persistent), in an order that suits L2, so that "
            "the copies of the next one start while results are written: the grid has {x} waves.",
            number=lambda launch: launch["waves_per_sm"],
        ),
        Advice(
            "Make barriers lean: one thread of a warp group arrives, mbarriers in PTX instead of "
            "cuda::barrier; keep a product under way while the next tile is waited for."
        ),
    ),
    wrong_when="With several blocks on an SM one multiplies while another waits, and waits say "
    "little; the idle tensor cores remain. A product that is too small to fill the GPU is "
    "small-grid, and L2 or device memory near their limit are named themselves.",
    references=(
        "PTX ISA, Asynchronous Warpgroup Level Matrix Instructions; mbarrier",
        "CUDA C++ Programming Guide, Asynchronous Data Copies using the Tensor Memory Accelerator",
    ),
    requires=("tensor_pipe", "stall_long_scoreboard", "stall_barrier"),
    thresholds=(FULL,),
    evaluate=evaluate,
    detail=detail,
)
