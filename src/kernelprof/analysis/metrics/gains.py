"""What removing a bottleneck brings at most, as a factor of run time, and what memory waits for.

Three things bound a gain: the work that goes away, the time that warps wait for it, and the unit
that is the next to be full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.architectures import COMMON
from kernelprof.analysis.metrics.facts import Quantities, quantity
from kernelprof.analysis.metrics.groups import LOW_OCCUPANCY
from kernelprof.analysis.metrics.interval import Interval, Truth
from kernelprof.analysis.metrics.waste import SECTOR_BYTES

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.interval import FloatArray
    from kernelprof.analysis.metrics.pipelines import TensorPipeline
    from kernelprof.analysis.metrics.units import UnitUtilization
    from kernelprof.analysis.metrics.waste import Waste

BALANCED_SMS = 0.9
"""Share of the launch in which the average SM has work, from which the SMs count as evenly busy."""

NEARLY_ALL = 0.85
"""Part of the waiting that is for a warp's own results from which it is no matter of occupancy. In
``cuda/pairs`` it is 98 and 99 % where a second chain per thread brought as much as was promised
(``light-curves-one-horner-chain``, ``continued-fractions-point-by-point``), and 4 to 17 % where
more warps did; at 80 % (``heat-rods-barriers-and-film``) more warps still helped."""

MANY_WAVES = 8.0
"""Waves from which start and end of the launch do not lower the achieved occupancy notably."""


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

SLOWEST_L2_ATOMIC_NS = 1.5
"""Longest that an atomic on one address takes in its L2 slice, in ns: ``start-codon-each-match`` of
``cuda/pairs`` does 523,555 in 402 us on an H200 with 76 % of the slice's cycles, 0.58 ns each."""


DRAM_CYCLES = 800.0
"""SM cycles of a load that misses L2, about (H200)."""

UNEQUAL = 1.5
"""Gain from balance from which SMs are idle for a third of the launch although each has a block.
Seven launches of our corpus with half a wave or less have 1.9 or more, all planted so."""

LOADS_AT_ONCE = 4.0
"""Loads of a warp that are in flight together: as many as nvcc unrolls a loop of unknown length."""


class MemoryWaits(Quantities):
    """Time that warps wait for global memory, by cause."""

    def __init__(self, facts: Facts, units: UnitUtilization, waste: Waste) -> None:
        super().__init__(facts)
        self.units = units
        self.waste = waste

    @quantity
    def memory_share(self) -> Interval:
        """Share of a warp's time that it waits for global or local memory or its queue."""
        return self.units.warps.stall_share("long_scoreboard", "lg_throttle", "drain")

    @quantity
    def atomic_part(self) -> Interval:
        """Part of the waiting that atomics cause: at least their part of the requests.

        While the memory system is idle a plain access is served within
        :data:`PLAIN_ACCESS_CYCLES`. Waiting beyond what the plain requests can have taken is the
        atomics' own.
        """
        by_requests = self.waste.atomic_part
        beyond = (1.0 - self._plain_latency).where(by_requests > 0.0, 0.0)
        idle = self.units.top <= IDLE_MEMORY
        part = by_requests.at_least(beyond.where(idle, 0.0)).at_most(1.0)
        if not self.units.shipped.has_rule_messages:
            return part
        return part.or_else(part.within_bounds(self._atomic_part_by_latency(idle)))

    def _atomic_part_by_latency(self, idle: Truth) -> Interval:
        """For a details page, which has no count of atomics: by how long warps wait.

        Warps that wait longer for an average instruction than a plain access can take, while the
        memory system is idle, wait for each other at an address. Where they wait less than a fast
        access takes there is nothing that atomics would have to explain.
        """
        waited = self.memory_share * self.units.warps.cycles_per_instruction
        details = self.units.shipped.is_details_page
        other = (self.waste.excess_sectors > 0.25).maybe | (self.waste.local_part > 0.25).maybe
        contended = details & idle.sure & ~other & (waited > PLAIN_ACCESS_CYCLES).sure
        plain = details & (waited < FAST_ACCESS_CYCLES).sure
        busy = details & (self.units.top > IDLE_MEMORY).sure
        return Interval(
            np.where(contended, 0.9, 0.0),
            np.where(plain | busy | (details & other), NO_ATOMICS, 1.0),
        )

    @quantity
    def possible_atomic_share(self) -> Interval:
        """Share of a warp's time that it waits for memory, none of it where nothing is an atomic.

        A details page has no count of atomics, but what waiting times leave open for them.
        """
        some = self.waste.atomic_part > 0.0
        return self.memory_share.where(some, 0.0) * Interval.exactly(
            np.where(self.atomic_part.high > NO_ATOMICS, 1.0, 0.0)
        )

    @quantity
    def atomic_share(self) -> Interval:
        """Share of a warp's time that it waits for atomics."""
        return self.memory_share * self.atomic_part

    @quantity
    def _plain_latency(self) -> Interval:
        """Part of the waiting that plain requests take at most if none queues for another."""
        warps = self.units.warps
        waited = self.memory_share * warps.cycles_per_instruction * self.facts["instructions"]
        longest = self.waste.plain_requests * PLAIN_ACCESS_CYCLES
        return (longest / waited.at_least(1.0)).at_most(1.0)

    @quantity
    def excess_part(self) -> Interval:
        """Part of the waiting that needless sectors cause, at most.

        Coalesced accesses wait for their latency as well. Sectors hold each other up as far as they
        keep L1, L2 or, if all came from there, device memory busy while warps wait, or where
        requests take longer than any latency.
        """
        units = self.units
        while_waiting = (units.active_share * self.memory_share).at_least(1e-3)
        sectors = self.facts["global_sectors"] * SECTOR_BYTES
        from_dram = sectors / self.waste.dram_bytes.at_least(1.0)
        busiest = units.busiest(
            units.saturations["l1"],
            units.saturations["l2"],
            units.saturations["dram"] * from_dram.at_least(1.0),
        )
        busy = busiest / while_waiting
        queued = busy.at_least(1.0 - self._plain_latency).at_most(1.0)
        queued = queued.where(busy <= IDLE_MEMORY, 1.0)
        # What is not known may be queueing.
        return self.waste.excess_sectors * queued.high_only()

    @quantity
    def plain_part(self) -> Interval:
        """Part of the waiting that neither atomics nor needless sectors nor local memory cause."""
        return (1.0 - self.atomic_part) * (1.0 - self.excess_part) * (1.0 - self.waste.local_part)

    @quantity
    def hottest_atomic_unit(self) -> Interval:
        """Utilization of the atomic unit of the busiest L2 slice; atomics on one address share it.

        Without the counter of the busiest slice the mean over all slices bounds it, and the turns
        that the launch has time for: one a sector, or a thread of each request.
        """
        facts = self.facts
        own = facts.fraction("l2_atomic_unit_hottest")
        requests = facts["global_atomic_requests"] + facts["global_reduction_requests"]
        sectors = facts["l2_atomic_sectors"] + facts["l2_reduction_sectors"]
        mean = facts.fraction("l2_atomic_unit")
        busy_ns = (requests * COMMON.warp_size).at_most(sectors.high_only()) * SLOWEST_L2_ATOMIC_NS
        one_by_one = busy_ns / facts["duration"].at_least(1.0)
        bounded = own.at_most((mean * COMMON.l2_slices).high_only()).at_most(one_by_one.high_only())
        return own.or_else(bounded.at_most(1.0))


class Gains(Quantities):
    """Gains of the ways out of a bottleneck, each worked out once for all launches."""

    def __init__(self, facts: Facts, units: UnitUtilization, pipeline: TensorPipeline) -> None:
        super().__init__(facts)
        self.units = units
        self.pipeline = pipeline

    # --- less work, less waiting ---------------------------------------------------------------

    @quantity
    def _while_active(self) -> Interval:
        """The active share of the SMs where it is notably less than the launch, else 1."""
        return self.units.active_share.where(self.units.active_share < BALANCED_SMS, 1.0)

    def by_latency(self, share: Interval, notable: float = 0.0) -> Interval:
        """Return the factor of run time won at most if this share of warps' waiting went away.

        A warp's cycles between two instructions shrink by the share; the busiest unit then ends the
        gain, as busy as it is while SMs have work: ``min(1 / (1 - share), active share of the SMs /
        saturation of the busiest unit)``. Near a unit's limit
        warps wait for that unit in many ways: there a share below ``notable`` gains nothing.
        """
        by_waiting = 1.0 / (1.0 - share).at_least(1e-3)
        full = self._while_active / self.units.top.at_least(1e-3)
        gain = by_waiting.at_most(full).at_least(1.0)
        return gain.where(~self.units.saturated | (share >= notable), 1.0)

    def by_relief(self, remaining: Interval) -> Interval:
        """Return the factor won at most if the busiest unit fell to this: ``1 / remaining``."""
        return (1.0 / remaining.at_least(1e-3)).at_least(1.0)

    def by_waste(self, share: Interval, remaining: Interval, waiting: Interval) -> Interval:
        """Return the factor won at most if a share of needless work went away.

        Near a unit's limit the time follows the busiest unit: its saturation now over what remains.
        Away from it warps wait for the needless work, so the share of their time that they do
        bounds the gain as well.
        """
        by_relief = (self.units.top / remaining.at_least(1e-3)).at_least(1.0)
        by_waiting = (1.0 / (1.0 - waiting).at_least(1e-3)).at_least(1.0)
        gain = by_relief.where(self.units.saturated, by_relief.at_most(by_waiting))
        return gain.where(share > 0.0, 1.0)

    @quantity
    def latency_when_coalesced(self) -> Interval:
        """Part of the launch that coalesced loads take by their latency alone.

        Little's law for each warp: loads that miss L1 over those in flight, times their latency.
        Where L1 fetches each useful sector once, its hits are the other bytes of these sectors,
        and coalesced loads all miss.
        """
        facts = self.facts
        useful = facts["global_sectors_ideal"].at_least(1.0)
        missing = (facts["l2_sectors_from_l1"] / useful).at_most(1.0)
        warps = facts["grid_size"] * (facts["block_size"] * (1 / COMMON.warp_size)).at_least(1.0)
        loads = facts["global_load_requests"] / warps.at_least(1.0)
        cycles = loads * self.waves.at_least(1.0) * (DRAM_CYCLES / LOADS_AT_ONCE)
        return missing * cycles / facts["sm_cycles_elapsed"].at_least(1.0)

    # --- a grid that fills the GPU -------------------------------------------------------------

    @quantity
    def waves(self) -> Interval:
        """Blocks of the grid against the blocks that the GPU holds at once."""
        return self.facts["waves_per_sm"]

    @quantity
    def at_least_one_wave(self) -> Truth:
        return self.waves >= 1.0

    @quantity
    def sms_with_blocks(self) -> Interval:
        """Share of the SMs that get at least one block."""
        grid = self.facts["grid_size"]
        return (grid / self.facts["sm_count"].at_least(1.0)).at_most(1.0)

    @quantity
    def full_waves_share(self) -> Interval:
        """Share of the block slots that equal blocks fill over all waves: ``waves / ceil``."""
        return _fill(self.waves)

    @quantity
    def even_share(self) -> Interval:
        """Part of the launch in which an average SM has work if all blocks are equal.

        Below one wave all blocks run at once and only their number per SM differs.
        """
        per_sm = self.facts["grid_size"] / self.facts["sm_count"].at_least(1.0)
        return self.full_waves_share.where(self.at_least_one_wave, 1.0).at_most(_fill(per_sm))

    @quantity
    def by_filling_sms(self) -> Interval:
        """Factor won at most if every SM had a block: SMs over blocks, up to the busiest unit."""
        empty = 1.0 - self.sms_with_blocks
        return self._bounded(1.0 / (1.0 - empty).at_least(1e-3))

    @quantity
    def by_covering_sms(self) -> Interval:
        """The same where a notable part of the SMs has no block; 1 elsewhere."""
        return self.by_filling_sms.where(self.sms_with_blocks < BALANCED_SMS, 1.0)

    @quantity
    def by_more_blocks(self) -> Interval:
        """Factor won at most if blocks filled every slot, by hiding more of warps' waiting.

        Slots that blocks of unequal work leave empty are a matter of balance.
        """
        fill = self.waves.at_most(1.0).at_least(1e-3)
        waits = self.units.warps.latency_share_of_blocks
        gain = self._bounded((1.0 / fill).at_most(1.0 / (1.0 - waits)))
        unequal = (self.by_balance >= UNEQUAL).sure
        return gain.replaced(unequal, 1.0)

    @quantity
    def by_filling(self) -> Interval:
        """The larger of the two: what a grid for the whole GPU would bring."""
        return self.by_filling_sms.at_least(self.by_more_blocks)

    @quantity
    def by_longer_launch(self) -> Interval:
        """Factor won at most if the fixed cost of the launch were spread over more work."""
        return self._bounded(1.0 / self.units.warps.share_after_launch_overhead.at_least(1e-2))

    @quantity
    def by_full_waves(self) -> Interval:
        """Factor won at most if the last wave were full, as far as SMs were seen idle."""
        idle = 1.0 / self.units.active_share.at_least(1e-3)
        tail = 1.0 / self.full_waves_share.at_least(1e-3)
        return self._bounded(tail.at_most(idle)).where(self.at_least_one_wave, 1.0)

    @quantity
    def by_balance(self) -> Interval:
        """Factor won at most if all SMs ended together, for launches with a block for each."""
        expected = self.even_share * self.units.warps.share_after_launch_overhead
        idle = (expected / self.units.active_share.at_least(1e-3)).at_least(1.0)
        return self._bounded(idle).where(self.sms_with_blocks >= 1.0, 1.0)

    def longer_active(self, gain: FloatArray) -> FloatArray:
        """Return by how much the part of the launch grows in which SMs have work, if all get it."""
        return np.minimum(gain, (1.0 / self.units.active_share.at_least(1e-3)).middle)

    # --- more warps ----------------------------------------------------------------------------

    @quantity
    def occupancy(self) -> Interval:
        """Share of the warp slots that the kernel can use, or does where its blocks are too short.

        Blocks that end soon after they start leave slots empty however many would fit: over many
        waves on evenly busy SMs the achieved occupancy then shows it.
        """
        facts = self.facts
        allowed = facts.fraction("theoretical_occupancy")
        achieved = facts.fraction("achieved_occupancy")
        parallel = (facts["waves_per_sm"] >= MANY_WAVES) & (
            facts["sm_cycles_active"] >= facts["sm_cycles_elapsed"] * BALANCED_SMS
        )
        return allowed.at_most(achieved.where(parallel, 1.0)).at_most(1.0)

    @quantity
    def more_warps(self) -> Interval:
        """How many times as many warps fill every slot."""
        return (1.0 / self.occupancy.at_least(1 / COMMON.warps_per_sm)).at_least(1.0)

    @quantity
    def _hidden_by_warps(self) -> Interval:
        """Share of a warp's time in waits that are for more warps to hide.

        Where a warp waits for hardly anything but its own arithmetic or shared memory, independent
        work per thread does the same without room for more warps, and the wait is the name.
        """
        warps = self.units.warps
        waits = warps.latency_share
        own = warps.stall_share("wait", "short_scoreboard", "branch_resolving", "misc")
        return waits.where(~(own > waits * NEARLY_ALL), waits - own)

    @quantity
    def by_occupancy(self) -> Interval:
        """Factor won at most if warps filled every slot: the slots, until a unit is full.

        Tiles of matrix products take the room of warps: faster ones have fewer warps.
        """
        gain = self.by_latency(self._hidden_by_warps).at_most(self.more_warps)
        low = (self.occupancy <= LOW_OCCUPANCY) & (self.facts["waves_per_sm"] >= 1.0)
        return gain.where(low & ~self.pipeline.works_on_tensor_cores, 1.0)

    def by_latency_with_full_slots(self, share: Interval, notable: float) -> Interval:
        """Return the factor won by less waiting of a kind once more warps hide what they can.

        Latency that shows because there are few warps is the grid's or the occupancy's; only what
        full slots would not hide is left for the wait itself.
        """
        gain = self.by_latency(share, notable)
        by_warps = self.by_occupancy.at_least(self.by_filling)
        return (gain / by_warps.at_least(1.0)).at_least(1.0)

    def _bounded(self, gain: Interval) -> Interval:
        return gain.at_most(1.0 / self.units.top.at_least(1e-3)).at_least(1.0)


def _fill(rounds: Interval) -> Interval:
    """``x / ceil(x)``: the part of its last round's slots that a number of rounds fills."""
    exact = rounds.is_exact & (rounds.low > 0) & np.isfinite(rounds.low)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(rounds.low / np.ceil(rounds.low), nan=0.0)
    return Interval(np.where(exact, share, 0.0), np.where(exact, share, 1.0))
