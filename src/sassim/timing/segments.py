"""What each warp of a few blocks carries out, short enough to be run in a moment.

A stretch that repeats is run once for all its times, and of a long list windows are run, spread
over it. What is run represents what is not: each segment has a weight, and times are counted by
weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.counters.trace import PhaseTrace

if TYPE_CHECKING:
    from sassim.counters.trace import ExecutionTrace
    from sassim.interpreter.lanes import Array
    from sassim.timing.instruction_costs import TimedCode, TimedInstruction

_BEGIN: Final = 0.3
"""Share of what is run that is the beginning; it fills caches and pipes."""
_END: Final = 0.2
_WINDOWS: Final = 10
_MOST_COPIES: Final = 32
"""Times that a stretch is run which repeats."""

Step = tuple["tuple[TimedInstruction, ...]", float]
"""Consecutive instructions, and how many executions they represent."""


@dataclass(frozen=True, slots=True)
class WarpSegments:
    """The steps of each warp of the recorded blocks."""

    warps: tuple[tuple[Step, ...], ...]
    warps_of_block: int
    share_run: float
    """Share of the segments of code that are run."""
    instructions: float
    """Of all these warps together, with weights."""
    phases: PhaseTrace
    """What the warps do to barriers in shared memory; in the order of their blocks."""

    @property
    def blocks(self) -> int:
        """Blocks that were recorded."""
        return len(self.warps) // self.warps_of_block

    def ordered(self, order: Array) -> WarpSegments:
        """The same with its blocks in another order."""
        size = self.warps_of_block
        rows = [at * size + n for at in order.tolist() for n in range(size)]
        own = self.phases
        phases = PhaseTrace(
            [own.arrivals[each] for each in rows],
            [own.waits[each] for each in rows],
            [own.expected[at] for at in order.tolist()],
        )
        return replace(self, warps=tuple(self.warps[each] for each in rows), phases=phases)

    @property
    def run(self) -> int:
        """Instructions of these warps that are run."""
        return sum(len(ops) for warp in self.warps for ops, _ in warp)


def segment_warps(trace: ExecutionTrace, code: TimedCode, most: int) -> WarpSegments:
    """The steps of the recorded warps; ``most`` instructions of all of them are run."""
    order, weights = _unfold_repeats(trace, code, most)
    block_addresses = [trace.blocks[each] for each in order.tolist()]
    counts = [len(code.segments[each]) for each in block_addresses]
    segments = [each for block_address in block_addresses for each in code.segments[block_address]]
    weight = np.repeat(weights, counts)
    warps = np.array([len(each) for each in trace.members])
    group = np.repeat(np.array(trace.groups, np.int64)[order], counts)
    sizes = np.array([len(each) for each in segments], np.int64) * warps[group]
    scaled = _choose_segments(sizes, weight, most, windows=not any(trace.phases.waits))
    own: list[list[Step]] = [[] for _ in trace.rows]
    for at in np.flatnonzero(scaled):
        step = segments[at], float(scaled[at])
        for warp in trace.members[group[at]]:
            own[warp].append(step)
    return WarpSegments(
        warps=tuple(map(tuple, own)),
        warps_of_block=trace.warps_of_block,
        share_run=len({id(segments[at]) for at in np.flatnonzero(scaled)})
        / max(1, len({id(each) for each in segments})),
        instructions=float((sizes * weight).sum()),
        phases=trace.phases,
    )


def _unfold_repeats(trace: ExecutionTrace, code: TimedCode, most: int) -> tuple[Array, Array]:
    """Places in the trace in the order in which they are run, each with its weight.

    What repeats is run as often as there is room for.
    """
    sizes = np.array([sum(map(len, code.segments[each])) for each in trace.blocks])
    warps = np.array([len(each) for each in trace.members])
    base = float((sizes * warps[np.array(trace.groups, np.int64)]).sum())
    copies = int(max(1, min(_MOST_COPIES, most / max(base, 1.0))))
    order: list[Array] = []
    weights: list[Array] = []
    at = 0
    # Of loops in loops the outer one is unfolded, with the weight of those inside.
    outer = [
        each
        for each in trace.repeats
        if not any(
            other is not each and other.start <= each.start and each.end <= other.end
            for other in trace.repeats
        )
    ]
    weight = np.ones(len(trace))
    for each in trace.repeats:
        weight[each.start : each.end] *= 1 + each.times
    for each in sorted(outer, key=lambda repeat: repeat.start):
        order.append(np.arange(at, each.start))
        weights.append(weight[at : each.start])
        times = min(copies, 1 + each.times)
        stretch = np.arange(each.start, each.end)
        order.append(np.tile(stretch, times))
        weights.append(np.tile(weight[stretch] / times, times))
        at = each.end
    order.append(np.arange(at, len(trace)))
    weights.append(weight[at:])
    return np.concatenate(order), np.concatenate(weights)


def _choose_segments(sizes: Array, weights: Array, most: int, *, windows: bool) -> Array:
    """The weight of each segment that is run, zero for the others.

    Without ``windows`` all that are run are at the beginning: warps that wait for phases of
    barriers need what comes to them.
    """
    total = int(sizes.sum())
    if total <= most:
        return weights
    share = most / total
    number = np.cumsum(sizes) / total
    if not windows:
        return np.where(number <= share, weights / share, 0.0)
    begin, end = number <= share * _BEGIN, number >= 1 - share * _END
    middle = ~begin & ~end
    inside = (number - share * _BEGIN) / (1 - share * (_BEGIN + _END)) * _WINDOWS % 1
    window = middle & (inside < share)
    scaled = np.where(begin | end | window, weights, 0.0)
    whole, share_run = (
        float((sizes * weights)[middle].sum()),
        float((sizes * weights)[window].sum()),
    )
    if share_run:
        scaled[window] *= whole / share_run
    return scaled
