"""What removing a bottleneck brings at most, as a factor of run time.

Three things bound a gain: the work that goes away, the time that warps wait for it, and the unit
that is the next to be full.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.architectures import EVERY
from kernelprof.analysis.metrics.interval import Interval, Truth

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.machine import Machine

EVENLY_BUSY = 0.9
"""Share of the launch in which the average SM has work, from which the SMs count as evenly busy."""

LOW_OCCUPANCY = 0.50
"""Occupancy up to which more warps count as a way out. ``low_occ`` and ``walk_holding<200>`` run at
6 % and 12.5 % and gain 6x and more; kernels at 75 % gain nothing."""

NEARLY_ALL = 0.85
"""Part of the waiting that is for a warp's own results from which it is no matter of occupancy. In
``cuda/pairs`` it is 98 and 99 % where a second chain per thread brought as much as was promised
(``light-curves-one-horner-chain``, ``continued-fractions-point-by-point``), and 4 to 17 % where
more warps did; at 80 % (``heat-rods-barriers-and-film``) more warps still helped."""

MANY_WAVES = 8.0
"""Waves from which start and end of the launch do not lower the achieved occupancy notably."""


class Gains:
    """Gains of the ways out of a bottleneck, each worked out once for all launches."""

    def __init__(self, facts: Facts, machine: Machine) -> None:
        self.facts = facts
        self.machine = machine

    # --- less work, less waiting ---------------------------------------------------------------

    @cached_property
    def _while_active(self) -> Interval:
        """The active share of the SMs where it is notably less than the launch, else 1."""
        return self.machine.active_share.where(self.machine.active_share < EVENLY_BUSY, 1.0)

    def by_latency(self, share: Interval, notable: float = 0.0) -> Interval:
        """Factor of run time won at most if this share of warps' waiting went away.

        A warp's cycles between two instructions shrink by the share; the busiest unit then ends the
        gain, as busy as it is while SMs have work: ``min(1 / (1 - share), active share of the SMs /
        saturation of the busiest unit)``. Near a unit's limit
        warps wait for that unit in many ways, so there only a ``notable`` share counts.
        """
        by_waiting = 1.0 / (1.0 - share).at_least(1e-3)
        full = self._while_active / self.machine.top.at_least(1e-3)
        gain = by_waiting.at_most(full).at_least(1.0)
        return gain.where(~self.machine.saturated | (share >= notable), 1.0)

    def by_relief(self, remaining: Interval) -> Interval:
        """Factor won at most if the busiest unit fell to this saturation: ``1 / remaining``."""
        return (1.0 / remaining.at_least(1e-3)).at_least(1.0)

    def by_waste(self, share: Interval, remaining: Interval, waiting: Interval) -> Interval:
        """Factor won at most if a share of needless work went away.

        Near a unit's limit the time follows the busiest unit: its saturation now over what remains.
        Away from it warps wait for the needless work, so the share of their time that they do
        bounds the gain as well.
        """
        by_relief = (self.machine.top / remaining.at_least(1e-3)).at_least(1.0)
        by_waiting = (1.0 / (1.0 - waiting).at_least(1e-3)).at_least(1.0)
        gain = by_relief.where(self.machine.saturated, by_relief.at_most(by_waiting))
        return gain.where(share > 0.0, 1.0)

    # --- a grid that fills the GPU -------------------------------------------------------------

    @cached_property
    def waves(self) -> Interval:
        """Blocks of the grid against the blocks that the GPU holds at once."""
        return self.facts.metric("waves_per_sm")

    @cached_property
    def at_least_one_wave(self) -> Truth:
        return self.waves >= 1.0

    @cached_property
    def sms_with_blocks(self) -> Interval:
        """Share of the SMs that get at least one block."""
        grid = self.facts.metric("grid_size")
        return (grid / self.facts.metric("sm_count").at_least(1.0)).at_most(1.0)

    @cached_property
    def full_waves_share(self) -> Interval:
        """Share of the block slots that equal blocks fill over all waves: ``waves / ceil``."""
        return _filled(self.waves)

    @cached_property
    def even_share(self) -> Interval:
        """Part of the launch in which an average SM has work if all blocks are equal.

        Below one wave all blocks run at once and only their number per SM differs.
        """
        per_sm = self.facts.metric("grid_size") / self.facts.metric("sm_count").at_least(1.0)
        return self.full_waves_share.where(self.at_least_one_wave, 1.0).at_most(_filled(per_sm))

    @cached_property
    def by_filling_sms(self) -> Interval:
        """Factor won at most if every SM had a block: SMs over blocks, up to the busiest unit."""
        empty = 1.0 - self.sms_with_blocks
        return self._bounded(1.0 / (1.0 - empty).at_least(1e-3))

    @cached_property
    def by_more_blocks(self) -> Interval:
        """Factor won at most if blocks filled every slot, by hiding more of warps' waiting."""
        filled = self.waves.at_most(1.0).at_least(1e-3)
        return self._bounded((1.0 / filled).at_most(1.0 / (1.0 - self.machine.warps.latency_share)))

    @cached_property
    def by_filling(self) -> Interval:
        """The larger of the two: what a grid for the whole GPU would bring."""
        return self.by_filling_sms.at_least(self.by_more_blocks)

    @cached_property
    def by_longer_launch(self) -> Interval:
        """Factor won at most if the fixed cost of the launch were spread over more work."""
        return self._bounded(1.0 / self.machine.warps.working_share.at_least(1e-2))

    @cached_property
    def by_full_waves(self) -> Interval:
        """Factor won at most if the last wave were full, as far as SMs were seen idle."""
        idle = 1.0 / self.machine.active_share.at_least(1e-3)
        tail = 1.0 / self.full_waves_share.at_least(1e-3)
        return self._bounded(tail.at_most(idle)).where(self.at_least_one_wave, 1.0)

    @cached_property
    def by_balance(self) -> Interval:
        """Factor won at most if all SMs ended together, for launches with a block for each."""
        expected = self.even_share * self.machine.warps.working_share
        idle = (expected / self.machine.active_share.at_least(1e-3)).at_least(1.0)
        return self._bounded(idle).where(self.sms_with_blocks >= 1.0, 1.0)

    # --- more warps ----------------------------------------------------------------------------

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
        work per thread does the same without room for more warps, and the wait is the name.
        """
        warps = self.machine.warps
        waits = warps.latency_share
        own = warps.stall_share("wait", "short_scoreboard", "branch_resolving", "misc")
        return waits.where(~(own > waits * NEARLY_ALL), waits - own)

    @cached_property
    def by_occupancy(self) -> Interval:
        """Factor won at most if warps filled every slot: the slots, until a unit is full."""
        slots = (1.0 / self.occupancy.at_least(1 / EVERY.warps_per_sm)).at_least(1.0)
        gain = self.by_latency(self._hidden_by_warps).at_most(slots)
        low = (self.occupancy <= LOW_OCCUPANCY) & (self.facts.metric("waves_per_sm") >= 1.0)
        return gain.where(low, 1.0)

    def beside_more_warps(self, share: Interval, notable: float) -> Interval:
        """Factor won by less waiting of a kind once more warps hide what they can.

        Latency that shows because there are few warps is the grid's or the occupancy's; only what
        full slots would not hide is left for the wait itself.
        """
        gain = self.by_latency(share, notable)
        by_warps = self.by_occupancy.at_least(self.by_filling)
        return (gain / by_warps.at_least(1.0)).at_least(1.0)

    def _bounded(self, gain: Interval) -> Interval:
        return gain.at_most(1.0 / self.machine.top.at_least(1e-3)).at_least(1.0)


def _filled(rounds: Interval) -> Interval:
    """``x / ceil(x)``: the part of its last round's slots that a number of rounds fills."""
    known = rounds.known & (rounds.low > 0) & np.isfinite(rounds.low)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(rounds.low / np.ceil(rounds.low), nan=0.0)
    return Interval(np.where(known, share, 0.0), np.where(known, share, 1.0))
