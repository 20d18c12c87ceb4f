"""Whether a launch fills the GPU: blocks for every SM, evenly, and for long enough."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.interval import Interval, Truth

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.machine import Machine


class Parallelism:
    """How much of the GPU a launch uses over its duration, each worked out once."""

    def __init__(self, facts: Facts, machine: Machine) -> None:
        self.facts = facts
        self.machine = machine

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

        Below one wave all blocks run at once and only their number an SM differs.
        """
        per_sm = self.facts.metric("grid_size") / self.facts.metric("sm_count").at_least(1.0)
        return self.full_waves_share.where(self.at_least_one_wave, 1.0).at_most(_filled(per_sm))

    @cached_property
    def gain_by_filling_sms(self) -> Interval:
        """Factor won at most if every SM had a block: SMs over blocks, up to the busiest unit."""
        empty = 1.0 - self.sms_with_blocks
        return self._bounded(1.0 / (1.0 - empty).at_least(1e-3))

    @cached_property
    def gain_by_more_blocks(self) -> Interval:
        """Factor won at most if blocks filled every slot, by hiding more of warps' waiting."""
        filled = self.waves.at_most(1.0).at_least(1e-3)
        return self._bounded((1.0 / filled).at_most(1.0 / (1.0 - self.machine.warps.latency_share)))

    @cached_property
    def gain_by_filling(self) -> Interval:
        """The larger of the two: what a grid for the whole GPU would bring."""
        return self.gain_by_filling_sms.at_least(self.gain_by_more_blocks)

    @cached_property
    def gain_by_longer_launch(self) -> Interval:
        """Factor won at most if the fixed cost of the launch were spread over more work."""
        return self._bounded(1.0 / self.machine.warps.working_share.at_least(1e-2))

    @cached_property
    def gain_by_full_waves(self) -> Interval:
        """Factor won at most if the last wave were full, as far as SMs were seen idle."""
        idle = 1.0 / self.machine.active_share.at_least(1e-3)
        tail = 1.0 / self.full_waves_share.at_least(1e-3)
        return self._bounded(tail.at_most(idle)).where(self.at_least_one_wave, 1.0)

    @cached_property
    def gain_by_balance(self) -> Interval:
        """Factor won at most if all SMs ended together, for launches with a block for each."""
        expected = self.even_share * self.machine.warps.working_share
        idle = (expected / self.machine.active_share.at_least(1e-3)).at_least(1.0)
        return self._bounded(idle).where(self.sms_with_blocks >= 1.0, 1.0)

    def _bounded(self, gain: Interval) -> Interval:
        return gain.at_most(1.0 / self.machine.top.at_least(1e-3)).at_least(1.0)


def _filled(rounds: Interval) -> Interval:
    """``x / ceil(x)``: the part of its last round's slots that a number of rounds fills."""
    known = rounds.known & (rounds.low > 0) & np.isfinite(rounds.low)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(rounds.low / np.ceil(rounds.low), nan=0.0)
    return Interval(np.where(known, share, 0.0), np.where(known, share, 1.0))
