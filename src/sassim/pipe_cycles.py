"""How long a launch keeps each unit of the GPU busy: the cycles that its work takes at the least.

What an instruction takes of a pipe is in ``data/pipes.toml``; the rates of L1 and L2 are
below. All were read off the counters of our captures of an H200 (``src/kernelprof/recorded``,
``ncu`` 2025.3.1). Cycles are those of all SMs together, for L2 those of all its slices.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.caches import NOTHING, SectorEstimate
from sassim.counters.counters import BULK
from sassim.counters.transactions import SECTOR
from sassim.gpu import SCHEDULERS
from sassim.interpreter.operations.warpgroup import is_product, operand_wavefronts
from sassim.opcodes import flagged_opcodes
from sassim.timing.instruction_costs import WHOLE_SECTORS_SHARE
from sassim.timing.pipes import PipeCosts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sassim.caches import CacheMisses
    from sassim.counters.counters import AccessCounters
    from sassim.counters.launch_counters import LaunchCounters
    from sassim.gpu import GpuModel
    from sassim.interpreter.lanes import Array

_WORD: Final = 4
_SHARED: Final = flagged_opcodes("wavefront")
"""Instructions that take a wavefront of shared memory even where no thread takes part: as 15 of 16
do in ``cosine-rows-tree-in-shared-memory`` of ``cuda/pairs``."""
_ATOMICS: Final = ("atomic", "compare")
_CONSTANT_CYCLES: Final = 2.0
"""Cycles of the cache of indexed constants for each word that a warp reads
(``counter-cipher-table-in-constant-memory``, ``codon-hydropathy-code-in-constant-memory``)."""
_LINK: Final = 1.15
"""Cycles of L1's link to L2 for a sector that it passes on, one that is written in part, and one
that comes back (``low-pass-double-samples``, ``random-walks-stored-by-path``,
``cross-fade-sixteen-sectors-a-request``)."""
_LINK_IN_PART: Final = 2.0
_LINK_BACK: Final = 0.55

FLOATING: Final[Mapping[str, str]] = {
    name: f"{name.lower().removesuffix('2')}_rate" for name in sorted(flagged_opcodes("rate"))
}
"""Floating-point instructions, and the metrics that count the threads that carry them out."""


@dataclass(frozen=True, slots=True)
class L2Costs:
    """Cycles of a slice of L2 for a sector: one it gives, takes whole or in part, or exchanges with
    device memory. Least squares over 97 to 109 captures of an H200 in which the stage is 15 % busy
    or more; half of them lie within 3 % of it, for ``sm_to_l2`` within 10 %.
    """

    given: float
    stored: float
    in_part: float
    read: float = 0.0
    written: float = 0.0


_L2_STAGES: Final[Mapping[str, L2Costs]] = {
    "l2_sectors": L2Costs(given=0.373, stored=0.508, in_part=0.508, read=0.216, written=0.125),
    "l2_data": L2Costs(given=0.284, stored=0.367, in_part=0.367, read=0.592, written=0.395),
    "l2_to_sm": L2Costs(given=0.497, stored=0.430, in_part=0.430, read=0.093),
    "sm_to_l2": L2Costs(given=0.22, stored=1.25, in_part=2.4),
}


@dataclass(frozen=True)
class PipeCycles:
    """What a launch takes of each unit; see the module."""

    issue: float
    pipes: Mapping[str, float]
    """By their names in ``data/pipes.toml``."""
    constants: float
    """Of the cache of indexed constants."""
    shared: float
    """Wavefronts of shared memory and of shuffles."""
    shared_atomics: float
    wavefronts: float
    """All that L1's data stage serves."""
    requests: float
    link: SectorEstimate
    """Of the links between L1 and L2."""
    l2: Mapping[str, SectorEstimate]
    """By the names of its stages."""
    dram: SectorEstimate
    """Bytes that device memory moves."""
    products: float
    """Instructions of warpgroups' products, by warp."""
    threads: Mapping[str, float]
    """Threads that carry floating-point instructions out, by the metric that counts them."""

    def least_cycles(self, gpu: GpuModel) -> float:
        """Cycles that the launch takes at least: the busiest unit works all the time."""
        of_sms = max(
            self.issue,
            *self.pipes.values(),
            self.constants,
            self.wavefronts,
            self.requests,
            self.link.low,
        )
        of_l2 = max(each.low for each in self.l2.values()) / (gpu.l2_slices or np.inf)
        return max(of_sms / gpu.sms, of_l2, self.dram.low / gpu.dram_bytes_per_cycle)


def compute_pipe_cycles(counters: LaunchCounters, gpu: GpuModel, misses: CacheMisses) -> PipeCycles:
    """What a launch on a device keeps busy, and for how long."""
    nothing = np.zeros(counters.block_counters.warps)
    pipes: defaultdict[str, Array] = defaultdict(nothing.copy)
    threads: defaultdict[str, Array] = defaultdict(nothing.copy)
    costs = PipeCosts(gpu)
    for i, times, of_threads in counters.executed():
        for pipe, cycles in costs.cycles_by_pipe(i):
            pipes[pipe] += times * cycles
        if i.opcode in FLOATING:
            carried_out = counters.block_counters.guarded.get(i.address, of_threads)
            threads[FLOATING[i.opcode]] += carried_out
    every = {name: counters.total(each).value for name, each in pipes.items()}
    # Either half of the FP32 pipe takes what the other has no room for.
    every["fmaheavy"] = max(every.get("fmaheavy", 0.0), every.get("fma", 0.0))
    shared, atomics, others, requests = _sum_wavefronts(counters)
    words = counters.accesses("addresses", lambda each: each.space == "constant")
    whole, in_part = _sum_stored_sectors(counters)
    return PipeCycles(
        issue=counters.total(counters.instructions()).value / SCHEDULERS,
        pipes=every,
        constants=counters.total(words).value * _CONSTANT_CYCLES,
        shared=counters.total(shared).value,
        shared_atomics=counters.total(atomics).value,
        wavefronts=counters.total(shared + others).value,
        requests=counters.total(requests).value,
        link=max(
            whole.scaled(_LINK) + in_part.scaled(_LINK_IN_PART),
            misses.loaded.scaled(_LINK_BACK),
            key=lambda each: each.value,
        ),
        l2=_compute_l2_cycles(misses, whole, in_part),
        dram=(misses.read + misses.written).scaled(SECTOR),
        products=counters.total(counters.instructions(is_product)).value,
        threads={name: counters.total(threads[name]).value for name in FLOATING.values()},
    )


def _compute_l2_cycles(
    misses: CacheMisses, whole: SectorEstimate, in_part: SectorEstimate
) -> dict[str, SectorEstimate]:
    return {
        name: misses.loaded.scaled(stage.given)
        + (whole + misses.atomics).scaled(stage.stored)
        + in_part.scaled(stage.in_part)
        + misses.read.scaled(stage.read)
        + misses.written.scaled(stage.written)
        for name, stage in _L2_STAGES.items()
    }


def product_wavefronts(counters: LaunchCounters) -> Array:
    """By warp: wavefronts of shared memory that products of warpgroups read their operands in."""
    total = np.zeros(counters.block_counters.warps)
    for i, times, _ in counters.executed():
        if is_product(i):
            total += times * operand_wavefronts(i)
    return total


def _sum_wavefronts(counters: LaunchCounters) -> tuple[Array, Array, Array, Array]:
    """By warp: wavefronts of shared memory, those of its atomics, all others, and requests to L1.

    Copies to shared memory pass by the data stage.
    """
    shared, atomics, others, requests = (np.zeros(counters.block_counters.warps) for _ in range(4))
    for i, times, _ in counters.executed():
        if i.opcode in _SHARED:
            shared += times
    shared += product_wavefronts(counters)
    for each in counters.block_counters.accesses.values():
        l1_requests = each.counts["requests"]
        if each.kind in ("copy", "barrier") or each.space in ("constant", "cluster", BULK):
            continue
        requests += l1_requests
        if each.space == "shared":
            own = each.counts["wavefronts"]
            shared += own - l1_requests if each.instruction.opcode in _SHARED else own
            if each.kind in _ATOMICS:
                atomics += own
        elif each.space == "global":
            others += each.counts["passes"]
        else:
            others += l1_requests * max(1.0, each.size / _WORD)
    return shared, atomics, others, requests


def _sum_stored_sectors(counters: LaunchCounters) -> tuple[SectorEstimate, SectorEstimate]:
    """Sectors that are stored whole, and those of which a part is."""
    whole, in_part = NOTHING, NOTHING
    for each in counters.block_counters.accesses.values():
        if each.kind not in ("store", "reduction") or each.space not in ("global", "local", BULK):
            continue
        if each.kind == "reduction" and each.space != BULK:
            continue
        total = counters.total(each.counts["sectors"])
        amount = SectorEstimate(total.value, total.low, total.high)
        if _is_partial_store(each):
            in_part += amount
        else:
            whole += amount
    return whole, in_part


def _is_partial_store(each: AccessCounters) -> bool:
    """Whether a store leaves much of its sectors as it was; local memory is written whole."""
    if each.space != "global":
        return False
    moved = float(each.counts["sectors"].sum()) * SECTOR
    return float(each.counts["threads"].sum()) * each.size < WHOLE_SECTORS_SHARE * moved
