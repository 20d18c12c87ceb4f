"""What a capture made with a small set shows all the same: the bottleneck that it points to.

A set such as ``basic`` holds no count of sectors, stalls or wavefronts, so no rule can be certain
of a launch. Some of its values point to one bottleneck all the same: in our captures with the full
set, launches with the same values turned out to be that one nearly always
(``python -m benchmarks.reduced`` counts them). A lead is followed only where nothing is there that
could tell otherwise, and its verdict has low confidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.groups import SM_PIPES
from kernelprof.analysis.metrics.waste import WIDEST_REQUEST_SECTORS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from kernelprof.analysis.rules import RuleContext

    BoolArray = npt.NDArray[np.bool_]

ACCESSES: Final = (
    "global_load_sectors",
    "global_store_sectors",
    "global_load_requests",
    "global_store_requests",
    "local_sectors",
    "local_load_sectors",
    "local_store_sectors",
    "l2_sectors_from_l1",
    "shared_wavefronts_share",
)
"""Counts of accesses, which no set below ``full`` collects."""
WAITS: Final = (
    "warp_cycles_per_instruction",
    "stall_long_scoreboard",
    "stall_short_scoreboard",
    "stall_wait",
    "stall_barrier",
    "stall_lg_throttle",
    "stall_mio_throttle",
)
UNITS: Final = (
    "memory_throughput",
    "dram_throughput",
    "l1_throughput",
    "l1_throughput_active",
    "l2_throughput",
    "issue_slots",
    "issue_slots_active",
)
BASIC: Final = (*ACCESSES, *WAITS, "global_sectors", "threads_per_instruction", "instructions")
"""What the set ``basic`` does not collect: with any of it, the rules decide."""

FULL: Final = 0.80
"""Of 60 launches with device memory at 80 % of its peak or more, 54 were at this limit. In the
other six it was full as well, with sectors of which each thread used little."""
IDLE: Final = 0.60
"""Nsight Compute's SOLBottleneck rule (2025.3): below 60 % of every peak a kernel waits."""
SHORT_NS: Final = 20_000.0
CERTAIN_EXCESS: Final = 0.3
QUIET: Final = 40.0
TINY_BLOCK: Final = 4.0
FEW_WAVES: Final = 2.0


@dataclass(frozen=True, slots=True)
class Lead:
    """A bottleneck that few values point to; ``reason`` says which.

    It is followed where none of the metrics ``without`` is known.
    """

    bottleneck: str
    holds: Callable[[RuleContext], BoolArray]
    reason: str
    without: tuple[str, ...] = BASIC
    at_limit: bool = False


def _idle(context: RuleContext) -> BoolArray:
    facts = context.facts
    parts = [facts.values(name) for name in ("sm_throughput", "memory_throughput")]
    idle: BoolArray = np.logical_and.reduce([part < 100 * IDLE for part in parts])
    return idle


def _small(context: RuleContext) -> BoolArray:
    """Known to have fewer blocks than the GPU has SMs."""
    facts = context.facts
    small: BoolArray = facts.values("grid_size") < facts.values("sm_count")
    return small


def _fewer_blocks_than_sms(context: RuleContext) -> BoolArray:
    return _small(context) & _idle(context)


def _under_half_a_wave(context: RuleContext) -> BoolArray:
    """Not where each SM has a block that may wait for bulk copies: that is enough by design."""
    few: BoolArray = context.facts.values("waves_per_sm") < 0.5
    enough = context.pipeline.copies_in_bulk.maybe & ~_small(context)
    return few & _idle(context) & ~enough


def _short(context: RuleContext) -> BoolArray:
    facts = context.facts
    short: BoolArray = facts.values("duration") < SHORT_NS
    return short & (facts.values("waves_per_sm") < FEW_WAVES) & _idle(context)


def _full_dram(context: RuleContext) -> BoolArray:
    full: BoolArray = context.facts.values("dram_throughput") >= 100 * FULL
    return full


def _scattered_requests(context: RuleContext) -> BoolArray:
    """Of 33 such launches in our captures 28 were limited by this."""
    facts = context.facts
    kinds = ("load", "store")
    sectors = [facts.values(f"global_{kind}_sectors") for kind in kinds]
    requests = [facts.values(f"global_{kind}_requests") for kind in kinds]
    excess = [
        np.maximum(mine - WIDEST_REQUEST_SECTORS * asked, 0.0)
        for mine, asked in zip(sectors, requests, strict=True)
    ]
    return (sum(excess) / sum(sectors) >= CERTAIN_EXCESS) & _long_and_quiet(context)


def _long_and_quiet(context: RuleContext) -> BoolArray:
    facts = context.facts
    quiet: BoolArray = facts.values("sm_throughput") < QUIET
    return quiet & ~_small(context) & (facts.values("duration") > SHORT_NS)


def _full_pipe(name: str) -> Callable[[RuleContext], BoolArray]:
    """Of 107 launches with the SM at 80 % and idle memory, 89 were at the limit of this pipe."""

    def holds(context: RuleContext) -> BoolArray:
        facts = context.facts
        full: BoolArray = facts.values(name) >= 100 * FULL
        return full & (facts.values("memory_throughput") < 100 * IDLE)

    return holds


PIPE_RULES: Final = {
    "fma_pipe": "fp32-throughput",
    "alu_pipe": "integer-throughput",
    "fp64_pipe": "fp64-throughput",
    "xu_pipe": "sfu-throughput",
    "tensor_pipe": "tensor-throughput",
}


def _tiny_blocks(context: RuleContext) -> BoolArray:
    """By arithmetic: seven of eight lanes and more have no thread."""
    tiny: BoolArray = context.facts.values("block_size") <= TINY_BLOCK
    return tiny & ~_small(context)


LEADS: Final = (
    Lead(
        "warp-divergence",
        _tiny_blocks,
        "judged by the size of a block alone: it fills an eighth of a warp at most, so the other "
        "lanes do nothing",
    ),
    Lead(
        "small-grid",
        _fewer_blocks_than_sms,
        "judged by the size of the grid alone: it has fewer blocks than the GPU has SMs, and no "
        "unit is busy",
    ),
    Lead(
        "small-grid",
        _under_half_a_wave,
        "judged by the size of the grid alone: it fills less than half of the GPU, and no unit is "
        "busy",
    ),
    Lead(
        "small-grid",
        _short,
        "judged by the size of the launch alone: it is over within 20 us and two waves of blocks, "
        "and no unit is busy",
    ),
    Lead(
        "dram-bandwidth",
        _full_dram,
        "judged by the utilization of device memory alone: the capture does not show whether all "
        "of its traffic is needed",
        at_limit=True,
    ),
    Lead(
        "uncoalesced-global-access",
        _scattered_requests,
        "judged by the sectors per request alone: there are more than the widest request needs, "
        "and no arithmetic is busy",
        without=(*WAITS, *UNITS, *SM_PIPES),
    ),
    *(
        Lead(
            bottleneck,
            _full_pipe(pipe),
            "judged by the utilization of this pipe alone: the capture does not show how many "
            "threads of a warp take part",
            at_limit=True,
        )
        for pipe, bottleneck in PIPE_RULES.items()
    ),
)


def followed(context: RuleContext, decided: BoolArray) -> Sequence[tuple[Lead, BoolArray]]:
    """The leads, each with the launches that it decides: those that nothing else does."""
    left = ~decided & ~context.machine.reported.explains
    found = []
    for lead in LEADS:
        rows = left.copy()
        for name in lead.without:
            if not rows.any():
                break
            rows &= ~context.facts.has(name)
        if rows.any():
            with np.errstate(invalid="ignore", divide="ignore"):
                rows &= lead.holds(context)
        if rows.any():
            found.append((lead, rows))
            left &= ~rows
    return found
