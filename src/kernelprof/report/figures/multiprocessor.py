"""What the SMs do: where a warp's time goes, how busy pipes are, what fits.

Shares run from 0 to 1 and are sorted, the largest first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.groups import STALLS
from kernelprof.model.numbers import count, share
from kernelprof.report.charts.bars import Share
from kernelprof.report.figures.measured import Numbers, clip

if TYPE_CHECKING:
    from collections.abc import Mapping


LEAST: Final = 0.0005
"""Shares that are shown as nothing are left out."""

LEAST_UNKNOWN: Final = 0.005

EXPLAINED: Final[Mapping[str, str]] = {
    "long_scoreboard": "A warp waits for data from global, local, texture or surface memory. "
    "Fewer accesses or data closer to the SM shorten the wait; more accesses in "
    "flight or more warps hide it.",
    "short_scoreboard": "A warp waits for a result from shared memory, a special function or a "
    "dynamic branch. Fewer such instructions, or independent instructions "
    "before the result is used, shorten the wait.",
    "lg_throttle": "The queue for global and local memory instructions is full: there are too "
    "many such instructions. Fewer, wider loads and stores shorten the wait.",
    "mio_throttle": "The queue for shared memory, special functions and dynamic branches is full: "
    "there are too many such instructions. Wider or fewer shared accesses shorten the wait.",
    "math_pipe_throttle": "The arithmetic pipe that a warp needs is busy with other warps. This "
    "is typical of a kernel at its arithmetic limit.",
    "wait": "A warp waits for the fixed latency of its previous instruction. More warps or "
    "independent instructions, for example from unrolling, hide this latency.",
    "barrier": "A warp waits at a barrier, such as __syncthreads, for the slower warps of its "
    "block. Balancing the work between barriers, or using smaller blocks, shortens "
    "the wait.",
    "not_selected": "A warp could issue, but the scheduler selected another: there are enough "
    "warps, and more would not help.",
    "selected": "A warp issues its instruction. This is work, not waiting.",
    "no_instruction": "A warp waits for its next instruction to be fetched, often because the "
    "code exceeds the instruction cache or jumps too far.",
    "branch_resolving": "A warp waits until the target of a branch is known. Fewer branches, or "
    "predicates instead of branches, shorten the wait.",
    "dispatch_stall": "A warp was selected, but the dispatcher delayed its instruction because a "
    "resource was busy.",
    "drain": "A warp has exited and waits until its last stores are complete. Many stores at the "
    "end of short kernels cause this.",
    "imc_miss": "A warp waits for a constant that was not in the constant cache.",
    "membar": "A warp waits at a memory fence until its earlier accesses are visible to other "
    "threads.",
    "tex_throttle": "The queue for texture instructions is full: there are too many such "
    "instructions.",
    "sleeping": "A warp sleeps because its code requests it (nanosleep).",
    "misc": "A warp waits for a reason that the hardware does not specify.",
    "gmma": "A warp waits for matrix multiplications of its warpgroup on the tensor cores.",
}


IN_WORDS: Final[Mapping[str, str]] = {
    "long scoreboard": "waiting for data from memory",
    "short scoreboard": "waiting for shared memory or special functions",
    "lg throttle": "queueing for global memory",
    "mio throttle": "queueing for shared memory",
    "math pipe throttle": "queueing for arithmetic pipes",
    "wait": "fixed latencies of instructions",
    "barrier": "waiting at barriers",
    "not selected": "ready but not selected",
    "selected": "issuing instructions",
    "no instruction": "waiting for instructions",
    "branch resolving": "waiting for branches",
    "dispatch stall": "waiting for the dispatcher",
    "drain": "draining stores",
    "imc miss": "waiting for constants",
    "membar": "waiting at memory fences",
    "tex throttle": "queueing for textures",
    "sleeping": "sleeping",
    "misc": "other reasons",
    "gmma": "waiting for tensor cores",
}
"""The states in the words of a sentence."""


@dataclass(frozen=True, slots=True)
class WarpStateShares:
    """Warp states, the largest first; ``explained`` says what the first one means."""

    states: tuple[Share, ...]
    explained: str = ""


def warp_states(launch: Numbers) -> WarpStateShares | None:
    """The states of one launch, the largest first; ``None`` where the capture has none."""
    metrics = {name: load_metrics()[f"stall_{name}"] for name in STALLS}
    values = {name: launch.value(metric.name) for name, metric in metrics.items()}
    cycles = {name: each for name, each in values.items() if each is not None and each >= 0}
    total = launch.positive("warp_cycles_per_instruction")
    lacking = [metric for name, metric in metrics.items() if values[name] is None]
    if total is None and all(each.is_zero_on(launch.compute_capability) for each in lacking):
        total = sum(cycles.values())
    if not cycles or not total:
        return None
    ordered = sorted(cycles.items(), key=lambda each: -each[1])
    states = [
        Share(name.replace("_", " "), clip(value / total), metrics[name].why)
        for name, value in ordered
        if value / total >= LEAST
    ]
    remaining = 1.0 - sum(cycles.values()) / total
    if remaining >= LEAST_UNKNOWN:
        states.append(Share("not in the capture", remaining, "Other reasons for waiting."))
    largest, most = ordered[0]
    # Where more than the largest part is not known, something else may be the largest.
    explained = "" if remaining > most / total else EXPLAINED[largest]
    return WarpStateShares(tuple(states), explained)


PIPES: Final = (
    ("alu_pipe", "ALU (integer and logic)"),
    ("fma_pipe", "FMA (FP32)"),
    ("fma_heavy_pipe", "FMA heavy (integer multiply)"),
    ("fp64_pipe", "FP64"),
    ("xu_pipe", "XU (special functions)"),
    ("tensor_pipe", "Tensor"),
    ("tcgen05_pipe", "Tensor control (tcgen05)"),
    ("tensor_memory", "Tensor memory"),
    ("tensor_operands", "Tensor operands from shared memory"),
    ("lsu_pipe", "LSU (loads and stores)"),
    ("adu_pipe", "ADU (barriers, constants)"),
    ("uniform_pipe", "Uniform datapath"),
    ("constant_cache", "Constant cache"),
)


def pipes(launch: Numbers) -> tuple[Share, ...]:
    """Utilization of every pipe that the capture shows, the busiest first."""
    shares = [
        Share(name, value, load_metrics()[metric].why)
        for metric, name in PIPES
        if (value := launch.share(metric)) is not None
    ]
    return tuple(sorted(shares, key=lambda each: -each.share))


RESOURCES: Final = (
    ("registers", "block_limit_registers"),
    ("shared memory", "block_limit_shared_mem"),
    ("warp slots", "block_limit_warps"),
    ("block slots", "block_limit_blocks"),
    ("barriers", "block_limit_barriers"),
)
_WARP: Final = 32
LAGGING: Final = 0.75
"""Achieved below this part of theoretical: the warps are there only part of the time."""


@dataclass(frozen=True, slots=True)
class OccupancyLimits:
    """Warp slots that the kernel can use and uses, and the blocks an SM that each resource allows.

    ``limits`` are blocks by resource; ``limiters`` the resources with the fewest.
    """

    theoretical: float | None
    achieved: float | None
    limits: tuple[tuple[str, int], ...] = ()
    limiters: tuple[str, ...] = ()
    note: str = ""


def occupancy(launch: Numbers) -> OccupancyLimits | None:
    """The occupancy of one launch; ``None`` where nothing of it is known."""
    theoretical = launch.share("theoretical_occupancy")
    achieved = launch.share("achieved_occupancy")
    limits = tuple(
        (resource, int(value))
        for resource, name in RESOURCES
        if (value := launch.value(name)) is not None and value >= 0
    )
    if theoretical is None and achieved is None and not limits:
        return None
    # A resource that the capture does not show could allow fewer blocks than those that it does.
    complete = len(limits) >= len(RESOURCES) - 1
    fewest = min((blocks for _, blocks in limits), default=0)
    limiters = tuple(name for name, blocks in limits if blocks == fewest) if complete else ()
    limit = _limit(launch, fewest, limiters) if limiters else ""
    note = " ".join(filter(None, (limit, _lag(theoretical, achieved))))
    return OccupancyLimits(theoretical, achieved, limits, limiters, note)


def _limit(launch: Numbers, blocks: int, limiters: tuple[str, ...]) -> str:
    names = " and ".join(filter(None, (", ".join(limiters[:-1]), limiters[-1])))
    text = f"{names.capitalize()} limit an SM to {count(blocks, 'block')}"
    if limiters == ("shared memory",):
        text = text.replace("limit an", "limits an")
    threads = launch.value("block_size")
    if threads is None or threads <= 0:
        return f"{text}."
    return f"{text} of {count(math.ceil(threads / _WARP), 'warp')}."


def _lag(theoretical: float | None, achieved: float | None) -> str:
    if theoretical is None or achieved is None or achieved >= LAGGING * theoretical:
        return ""
    return (
        f"Occupancy averaged {share(achieved)}, but {share(theoretical)} is possible: the grid "
        "is small, warps end early, or blocks end at different times."
    )
