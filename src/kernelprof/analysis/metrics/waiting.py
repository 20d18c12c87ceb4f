"""What warps wait for, as shares of a warp's time, and the causes of waiting for global memory."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.architectures import EVERY
from kernelprof.analysis.metrics.groups import STALLS
from kernelprof.analysis.metrics.interval import Interval, Truth

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.machine import Machine
    from kernelprof.analysis.metrics.reported import Reported
    from kernelprof.analysis.metrics.waste import Waste

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

PLAIN_ACCESS_CYCLES = 1_500.0
"""Longest that a plain access takes, in SM cycles, while no part of the memory system is busy. A
dependent load that misses every cache and the address translation (``walk-one-warp`` in
``tests/captures/validation``, H200) takes under 1,000."""

FAST_ACCESS_CYCLES = 200.0
"""An access that hits in L2 takes longer than this, in SM cycles (H200: about 270)."""

NO_ATOMICS = 0.05
"""Part of the waiting below which a details page leaves none for atomics."""

IDLE_MEMORY = 0.5
"""Saturation of the busiest unit up to which plain accesses do not queue for bandwidth."""

SLOWEST_L2_TURN_NS = 1.5
"""Longest that an atomic on one address takes in its L2 slice, in ns: ``start-codon-each-match`` of
``cuda/pairs`` does 523,555 in 402 us on an H200 with 76 % of the slice's cycles, 0.58 ns each."""


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


class Waiting:
    """Time that warps wait for global memory, by cause."""

    def __init__(self, facts: Facts, machine: Machine, waste: Waste) -> None:
        self.facts = facts
        self.machine = machine
        self.waste = waste

    @cached_property
    def for_memory(self) -> Interval:
        """Share of a warp's time that it waits for global or local memory or its queue."""
        return self.machine.warps.stall_share("long_scoreboard", "lg_throttle", "drain")

    @cached_property
    def atomic_part(self) -> Interval:
        """Part of the waiting that atomics cause: at least their part of the requests.

        While the memory system is idle a plain access is served within
        :data:`PLAIN_ACCESS_CYCLES`. Waiting beyond what the plain requests can have taken is the
        atomics' own.
        """
        facts = self.facts
        by_requests = self.waste.atomic_part
        plain = facts.metric("global_load_requests") + facts.metric("global_store_requests")
        waited = (
            self.for_memory
            * self.machine.warps.cycles_per_instruction
            * facts.metric("instructions")
        )
        explained = (plain * PLAIN_ACCESS_CYCLES / waited.at_least(1.0)).at_most(1.0)
        beyond = (1.0 - explained).where(by_requests > 0.0, 0.0)
        idle = self.machine.top <= IDLE_MEMORY
        part = by_requests.at_least(beyond.where(idle, 0.0)).at_most(1.0)
        if not self.machine.reported.speaks:
            return part
        return part.or_else(part.within_bounds(self._atomic_part_by_latency(idle)))

    def _atomic_part_by_latency(self, idle: Truth) -> Interval:
        """For a details page, which has no count of atomics: by how long warps wait.

        Warps that wait longer for an average instruction than a plain access can take, while the
        memory system is idle, wait for each other at an address. Where they wait less than a fast
        access takes there is nothing that atomics would have to explain.
        """
        waited = self.for_memory * self.machine.warps.cycles_per_instruction
        details = self.machine.reported.is_details_page
        other = (self.waste.excess_sectors > 0.25).maybe | (self.waste.local_part > 0.25).maybe
        contended = details & idle.sure & ~other & (waited > PLAIN_ACCESS_CYCLES).sure
        plain = details & (waited < FAST_ACCESS_CYCLES).sure
        busy = details & (self.machine.top > IDLE_MEMORY).sure
        return Interval(
            np.where(contended, 0.9, 0.0),
            np.where(plain | busy | (details & other), NO_ATOMICS, 1.0),
        )

    @cached_property
    def that_atomics_can_cause(self) -> Interval:
        """Share of a warp's time that it waits for memory, none of it where nothing is an atomic.

        A details page has no count of atomics, but what waiting times leave open for them.
        """
        some = self.waste.atomic_part > 0.0
        return self.for_memory.where(some, 0.0) * Interval.exactly(
            np.where(self.atomic_part.high > NO_ATOMICS, 1.0, 0.0)
        )

    @cached_property
    def for_atomics(self) -> Interval:
        """Share of a warp's time that it waits for atomics."""
        return self.for_memory * self.atomic_part

    @cached_property
    def plain_part(self) -> Interval:
        """Part of the waiting that neither atomics nor needless sectors nor local memory cause."""
        return (
            (1.0 - self.atomic_part)
            * (1.0 - self.waste.excess_sectors)
            * (1.0 - self.waste.local_part)
        )

    @cached_property
    def hottest_atomic_unit(self) -> Interval:
        """Utilization of the atomic unit of the busiest L2 slice; atomics on one address share it.

        Without the counter of the busiest slice the mean over all slices bounds it, and the turns
        that the launch has time for: one a sector, or a thread of each request.
        """
        facts = self.facts
        own = facts.fraction("l2_atomic_unit_hottest")
        requests = facts.metric("global_atomic_requests") + facts.metric(
            "global_reduction_requests"
        )
        sectors = facts.metric("l2_atomic_sectors") + facts.metric("l2_reduction_sectors")
        mean = facts.fraction("l2_atomic_unit")
        turns = (requests * EVERY.warp_size).at_most(sectors.high_only()) * SLOWEST_L2_TURN_NS
        by_turns = turns / facts.metric("duration").at_least(1.0)
        bounded = own.at_most((mean * EVERY.l2_slices).high_only()).at_most(by_turns.high_only())
        return own.or_else(bounded.at_most(1.0))
