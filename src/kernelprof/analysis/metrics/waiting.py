"""What warps wait for in global memory, divided among its causes; shares of a warp's time."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.interval import Interval, Truth
from kernelprof.analysis.metrics.machine import EVENLY_BUSY

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.machine import Machine
    from kernelprof.analysis.metrics.parallelism import Parallelism
    from kernelprof.analysis.metrics.waste import Waste

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


class Waiting:
    """Time that warps wait for global memory, by cause."""

    def __init__(
        self, facts: Facts, machine: Machine, waste: Waste, parallelism: Parallelism
    ) -> None:
        self.facts = facts
        self.parallelism = parallelism
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
    def occupancy(self) -> Interval:
        """Share of the warp slots that the kernel can use, or does where its blocks are too short.

        Blocks that end soon after they start leave slots empty however many would fit: over many
        waves on evenly busy SMs the achieved occupancy then shows it.
        """
        facts = self.facts
        allowed = facts.fraction("theoretical_occupancy")
        achieved = facts.fraction("achieved_occupancy")
        parallel = (facts.metric("waves_per_sm") >= MANY_WAVES) & (
            facts.metric("sm_cycles_active") >= facts.metric("sm_cycles_elapsed") * EVENLY_BUSY
        )
        return allowed.at_most(achieved.where(parallel, 1.0)).at_most(1.0)

    @cached_property
    def _hidden_by_warps(self) -> Interval:
        """Share of a warp's time in waits that are for more warps to hide.

        Where a warp waits for hardly anything but its own arithmetic or shared memory, independent
        work a thread does the same without room for more warps, and the wait is the name.
        """
        warps = self.machine.warps
        waits = warps.latency_share
        own = warps.stall_share("wait", "short_scoreboard", "branch_resolving", "misc")
        return waits.where(~(own > waits * NEARLY_ALL), waits - own)

    @cached_property
    def gain_by_occupancy(self) -> Interval:
        """Factor won at most if warps filled every slot: the slots, until a unit is full."""
        slots = (1.0 / self.occupancy.at_least(1 / 64)).at_least(1.0)
        gain = self.machine.gain_by_latency(self._hidden_by_warps).at_most(slots)
        low = (self.occupancy <= LOW_OCCUPANCY) & (self.facts.metric("waves_per_sm") >= 1.0)
        return gain.where(low, 1.0)

    def gain_beside_more_warps(self, share: Interval, notable: float) -> Interval:
        """Factor won by less waiting of a kind once more warps hide what they can.

        Latency that shows because there are few warps is the grid's or the occupancy's; only what
        full slots would not hide is left for the wait itself.
        """
        gain = self.machine.gain_by_latency(share, notable)
        by_warps = self.gain_by_occupancy.at_least(self.parallelism.gain_by_filling)
        return (gain / by_warps.at_least(1.0)).at_least(1.0)


LOW_OCCUPANCY = 0.50
"""Occupancy up to which more warps count as a way out. ``low_occ`` and ``walk_holding<200>`` run at
6 % and 12.5 % and gain 6x and more; kernels at 75 % gain nothing."""

NEARLY_ALL = 0.85
"""Part of the waiting that is for a warp's own results from which it is no matter of occupancy. In
``cuda/pairs`` it is 98 and 99 % where a second chain a thread brought as much as was promised
(``light-curves-one-horner-chain``, ``continued-fractions-point-by-point``), and 4 to 17 % where
more warps did; at 80 % (``heat-rods-barriers-and-film``) more warps still helped."""

MANY_WAVES = 8.0
"""Waves from which start and end of the launch do not lower the achieved occupancy notably."""
