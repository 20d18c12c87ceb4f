"""What warps wait for, as shares of a warp's time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.groups import STALLS
from kernelprof.analysis.metrics.interval import Interval

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.reported import Reported

LAUNCH_OVERHEAD_NS = 1_700.0
"""Time that a launch takes whatever it does, in ns: blocks that end at once take 1,696 to 1,760 ns
under ncu on the H200 (one block of ``vectorized_elementwise_kernel`` and of
``DeviceScanInitKernel`` in ``tests/captures/validation/frameworks_more.raw.csv.gz``)."""

NOT_HIDDEN_BY_WARPS = (
    "selected",
    "not_selected",
    "lg_throttle",
    "mio_throttle",
    "tex_throttle",
    "math_pipe_throttle",
    "dispatch_stall",
    "barrier",
)


class Warps:
    """Shares of a warp's time, each worked out once for all launches."""

    def __init__(self, facts: Facts, reported: Reported) -> None:
        self.facts = facts
        self.reported = reported
        self._stalls: dict[str, Interval] = {}
        self._shares: dict[tuple[str, ...], Interval] = {}

    @cached_property
    def cycles_per_instruction(self) -> Interval:
        """Cycles between two instructions of a warp."""
        facts = self.facts
        own = facts.metric("warp_cycles_per_instruction")
        own = own.or_else(
            facts.metric("active_warps") / facts.fraction("issue_slots_active").at_least(1e-6)
        )
        total = self.facts.exact(0.0)
        for name in STALLS:
            total = total + facts.metric(f"stall_{name}")
        return own.or_else(
            Interval(np.maximum(own.low, total.low), np.minimum(own.high, total.high))
        )

    @cached_property
    def working_share(self) -> Interval:
        """Part of the duration that is not the fixed cost of a launch."""
        duration = self.facts.metric("duration")
        return (1.0 - LAUNCH_OVERHEAD_NS / duration.at_least(1.0)).within(0.0, 1.0)

    def _stall(self, name: str) -> Interval:
        """Cycles per instruction that a warp waits for one reason."""
        found = self._stalls.get(name)
        if found is None:
            found = self._stalls[name] = self._one_stall(name)
        return found

    def _one_stall(self, name: str) -> Interval:
        if name == "selected":
            # The cycle in which it issues: one per instruction, by definition.
            return self.facts.metric("stall_selected").or_else(self.facts.exact(1.0))
        stall = self.facts.metric(f"stall_{name}")
        if not self.reported.speaks:
            return stall
        most = self.cycles_per_instruction * Interval.exactly(self.reported.stall_at_most(name))
        return stall.or_else(stall.at_most(most.high_only()))

    def _stalls_of(self, holds: Callable[[str], bool]) -> Interval:
        """Cycles per instruction that a warp waits for all the reasons of which something holds."""
        waits = self.facts.exact(0.0)
        for name in STALLS:
            if holds(name):
                waits = waits + self._stall(name)
        return waits

    def queue_share(self, name: str) -> Interval:
        """Share of a warp's time in one queue, from its counter and that of the cycles alone."""
        total = self.facts.metric("warp_cycles_per_instruction")
        return (self._stall(name) / total.at_least(1e-6)).at_most(1.0)

    def stall_share(self, *names: str) -> Interval:
        """Share of a warp's time that it waits for the named reasons, 0 to 1."""
        found = self._shares.get(names)
        if found is None:
            found = self._shares[names] = self._stall_share(names)
        return found

    def _stall_share(self, names: tuple[str, ...]) -> Interval:
        total = self.cycles_per_instruction.at_least(1e-6)
        share = (self._stalls_of(names.__contains__) / total).at_most(1.0)
        if not share.known.all():
            # What the other reasons do not take is the most that is left for these.
            rest = self._stalls_of(lambda name: name not in names)
            left = (1.0 - rest / total).within(0.0, 1.0)
            share = share.or_else(share.at_most(left.high_only()))
        return share * self.working_share

    @cached_property
    def latency_share(self) -> Interval:
        """Share of a warp's time in waits that more warps would hide, 0 to 1.

        Full queues, busy pipes and barriers do not get shorter with more warps; a warp that issues
        or could issue does not wait.
        """
        busy = self.facts.exact(0.0)
        for name in NOT_HIDDEN_BY_WARPS:
            busy = busy + self._stall(name)
        total = self.cycles_per_instruction.at_least(1e-6)
        share = (1.0 - busy / total).within(0.0, 1.0)
        if not share.known.all():
            waits = self._stalls_of(lambda name: name not in NOT_HIDDEN_BY_WARPS)
            seen = (waits / total).at_most(1.0)
            share = share.or_else(share.within_bounds(seen))
        return share * self.working_share
