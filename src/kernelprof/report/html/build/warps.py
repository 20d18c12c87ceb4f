"""Where a warp's time goes between two of its instructions, and what the largest part means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.analysis.metrics.groups import STALLS
from kernelprof.model.numbers import number, share
from kernelprof.report.html.build.measured import clip
from kernelprof.report.html.view import Share, WarpStates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.report.html.build.measured import Numbers

LEAST: Final = 0.0005
"""Shares that are shown as nothing are left out."""

REST: Final = 0.005

EXPLAINED: Final[Mapping[str, str]] = {
    "long_scoreboard": "A warp waits for data from global, local, texture or surface memory. Fewer "
    "or nearer accesses, more of them in flight at once, or more warps shorten this.",
    "short_scoreboard": "A warp waits for a result of shared memory, a special function or a "
    "dynamic branch. Fewer such instructions, or others to issue meanwhile, shorten this.",
    "lg_throttle": "The queue for global and local memory instructions is full: there are too many "
    "of them, whatever each moves. Wider loads and stores shorten this.",
    "mio_throttle": "The queue for shared memory, special functions and dynamic branches is full: "
    "there are too many such instructions. Wider or fewer shared accesses shorten this.",
    "math_pipe_throttle": "The arithmetic pipe that a warp needs is busy with other warps. This is "
    "what a kernel at the limit of its arithmetic looks like.",
    "wait": "A warp waits out the fixed latency of its own last instruction. Independent "
    "instructions in between, from unrolling for example, or more warps hide this.",
    "barrier": "A warp waits at a barrier, such as __syncthreads, for the slower warps of its "
    "block. Less work between barriers that differs, or smaller blocks, shorten this.",
    "not_selected": "A warp could issue, but the scheduler took another one: there are warps "
    "enough, and more would not help.",
    "selected": "A warp issues its instruction. This is work, not waiting.",
    "no_instruction": "A warp waits for its next instruction to be fetched, often because the code "
    "does not fit into the instruction cache, or jumps across it.",
    "branch_resolving": "A warp waits until the target of a branch is known. Fewer branches, or "
    "predicates in their place, shorten this.",
    "dispatch_stall": "A warp was selected, but the dispatcher held its instruction back because "
    "something that it needs was not free.",
    "drain": "A warp has ended and waits until its last stores have left. Many stores at the end "
    "of short kernels cause this.",
    "imc_miss": "A warp waits for a constant that was not in the constant cache.",
    "membar": "A warp waits at a memory fence until its earlier accesses are visible to others.",
    "tex_throttle": "The queue for texture instructions is full: there are too many of them.",
    "sleeping": "A warp sleeps because its code tells it to.",
    "misc": "A warp waits for a reason that has no name of its own.",
    "gmma": "A warp waits for matrix multiplications of its warp group on the tensor cores.",
}


def warp_states(measured: Numbers, row: int) -> WarpStates | None:
    """The states of one launch, the largest first; ``None`` where the capture has none."""
    cycles = {
        name: value
        for name in STALLS
        if (value := measured.value(f"stall_{name}", row)) is not None and value >= 0
    }
    total = measured.value("warp_cycles_per_instruction", row)
    if total is None or total <= 0:
        every = all(_given(measured, name, row) for name in STALLS)
        total = sum(cycles.values()) if every else 0.0
    if not cycles or total <= 0:
        return None
    ordered = sorted(cycles.items(), key=lambda each: -each[1])
    states = [
        Share(
            display(name),
            clip(value / total),
            _text(value, clip(value / total)),
            catalogue()[f"stall_{name}"].why,
        )
        for name, value in ordered
        if value / total >= LEAST
    ]
    rest = 1.0 - sum(cycles.values()) / total
    if rest >= REST:
        states.append(Share("not in the capture", rest, share(rest), "Other reasons for waiting."))
    largest, most = ordered[0]
    # Where more than the largest part is not known, something else may be the largest.
    explained = "" if rest > most / total else EXPLAINED[largest]
    return WarpStates(tuple(states), explained)


def display(name: str) -> str:
    """A state as Nsight Compute's texts call it: ``long scoreboard``."""
    return name.replace("_", " ")


def _given(measured: Numbers, name: str, row: int) -> bool:
    """Whether a state has a value, or is one that the chip does not have."""
    if measured.value(f"stall_{name}", row) is not None:
        return True
    capability = measured.compute_capability(row)
    return catalogue()[f"stall_{name}"].is_zero_on(capability)


def _text(cycles: float, part: float) -> str:
    return f"{share(part)}, {number(cycles)} cycles an instruction"
