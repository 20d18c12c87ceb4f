"""Work that a kernel need not do: excess sectors, extra wavefronts, local traffic, idle threads.

Each is a share between 0 (none) and 1, as an interval per launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.architectures import COMMON
from kernelprof.analysis.metrics.facts import Quantities, quantity
from kernelprof.analysis.metrics.groups import BULK_COPIES, NOTABLE_WASTE
from kernelprof.analysis.metrics.interval import Interval, Truth
from kernelprof.analysis.metrics.relations import without_shared_memory

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.interval import BoolArray, FloatArray
    from kernelprof.analysis.metrics.shipped_rules import ShippedRules

WARP_SIZE = float(COMMON.warp_size)
SECTOR_BYTES = float(COMMON.sector_bytes)
WIDEST_REQUEST_SECTORS = 16.0
"""Sectors of the widest useful request: 32 threads of 16 bytes are 512 bytes, 16 sectors. Bulk
copies count as so many requests as would have moved the same."""
MEASURED_CONFLICT_SLACK = 0.15
"""Part of the measured bank-conflict share that may come from arbitration and not from addresses:
``gemm_tiled<32>`` in ``tests/captures/gemm_series.full.raw.csv`` counts 14 % conflicts in its
shared stores although its addresses have none."""

BUSY_L1 = 0.8
"""Nsight Compute's SOLBottleneck rule (2025.3) calls a unit above 80 % of its peak the limit."""


class Waste(Quantities):
    """Shares of needless work, each worked out once for all launches."""

    def __init__(self, facts: Facts, shipped: ShippedRules) -> None:
        super().__init__(facts)
        self.shipped = shipped

    @quantity
    def bulk_sectors(self) -> Interval:
        """Sectors of bulk copies (TMA): past the load/store path, and all of them needed."""
        return self.facts.sum_of(BULK_COPIES)

    @quantity
    def _part_of_accesses(self) -> Interval:
        """Share of global sectors that loads, stores and atomics move, the others being bulk's."""
        accesses, bulk = self.facts["global_sectors"], self.bulk_sectors
        return _share(accesses, bulk).replaced(bulk.high == 0, 1.0)

    @quantity
    def excess_sectors(self) -> Interval:
        """Share of all global sectors, on whichever path, that better addresses would not move."""
        facts = self.facts
        actual = facts["global_sectors"]
        share = (1.0 - facts["global_sectors_ideal"] / actual).within(0.0, 1.0)
        share = share.replaced(actual.high == 0, 0.0)
        most = np.minimum(self._excess_at_most(), self.shipped.excess_at_most)
        share = share.or_else(share.within(self._excess_at_least(), Interval.exactly(most)))
        return share * self._part_of_accesses

    def _excess_at_least(self) -> Interval:
        """More sectors a request than the widest useful request has are excess for certain."""
        facts = self.facts
        sectors = facts["global_load_sectors"] + facts["global_store_sectors"]
        requests = facts["global_load_requests"] + facts["global_store_requests"]
        low = (1.0 - WIDEST_REQUEST_SECTORS * requests / sectors).low
        return Interval.exactly(np.where(np.isnan(low), 0.0, low))

    def _excess_at_most(self) -> FloatArray:
        """Bytes that a sector delivered were needed, so only the others can be excess.

        Only loads and stores are counted so; atomics may add excess sectors of their own.
        """
        facts = self.facts
        no_atomics = (self.atomic_part <= 0.0).sure
        used = []
        for kind in ("load", "store"):
            value = facts.values(f"global_{kind}_bytes_per_sector")
            none = facts.values(f"global_{kind}_sectors") == 0
            used.append(np.where(none | (value == 0), SECTOR_BYTES, np.nan_to_num(value, nan=0.0)))
        least = np.minimum(*used)
        return np.where(no_atomics, np.clip(1.0 - least / SECTOR_BYTES, 0.0, 1.0), 1.0)

    @quantity
    def dram_bytes(self) -> Interval:
        """Bytes that device memory read and wrote."""
        return self.facts["dram_bytes_read"] + self.facts["dram_bytes_written"]

    @quantity
    def global_part_of_dram(self) -> Interval:
        """Share of the device-memory traffic that the fewest global sectors have to be, at most 1.

        Bytes that these need are no bytes of local memory or of excess sectors.
        """
        moved = self.dram_bytes.or_else(self._bytes_by_bandwidth)
        fewest = self._fewest_sectors * SECTOR_BYTES
        return (fewest / moved.at_least(1.0)).at_most(1.0)

    @property
    def _bytes_by_bandwidth(self) -> Interval:
        return self.facts["dram_bandwidth"] * (self.facts["duration"] * 1e-9)

    @quantity
    def global_part_of_l2(self) -> Interval:
        """Share of the sectors that L1 passes on that the fewest global ones are, at most 1."""
        facts = self.facts
        sectors = facts["l2_sectors_from_l1"]
        part = (self._fewest_sectors / sectors.at_least(1.0)).at_most(1.0)
        # What device memory moved came by way of L2.
        return part.or_at_most(self.global_part_of_dram)

    @quantity
    def _fewest_sectors(self) -> Interval:
        """Global sectors that the same bytes take at best; no more than there were."""
        fewest = self.facts["global_sectors_ideal"]
        return fewest.or_at_most(self.facts["global_sectors"]) + self.bulk_sectors

    @quantity
    def useful_dram_share(self) -> Interval:
        """Share of the device-memory traffic that would stay without excess sectors.

        Sectors that a cache serves never reach device memory: where the fewest sectors already hold
        as many bytes as went there, none of that traffic is excess.
        """
        return self.global_part_of_dram.at_least(1.0 - self.excess_sectors)

    @quantity
    def useful_l2_share(self) -> Interval:
        """Share of the L2 traffic that would stay: what L1 serves never gets there.

        Where the capture has no count of that traffic, the hit rate of L1 says how much of the
        sectors can reach L2 at most.
        """
        facts = self.facts
        useful = 1.0 - self.excess_sectors
        by_count = self.global_part_of_l2
        misses = (1.0 - facts.fraction("l1_hit_rate")).at_least(1e-3)
        by_hits = (useful / misses).at_most(1.0)
        # No more excess sectors get there than there are; local memory has the others.
        excess = self.excess_sectors * (facts["global_sectors"] + self.bulk_sectors)
        others = 1.0 - excess / facts["l2_sectors_from_l1"].at_least(1.0)
        # Stores pass L1 whatever its hit rate is, so the rate bounds only what stays at most.
        return by_count.or_at_most(by_hits).at_least(useful).at_least(others.low_only())

    @quantity
    def bank_conflicts(self) -> Interval:
        """Share of shared-memory wavefronts that conflict-free addresses would not take."""
        facts = self.facts
        actual = facts["shared_wavefronts"]
        share = (1.0 - facts["shared_wavefronts_ideal"] / actual).within(0.0, 1.0)
        share = share.replaced(actual.high == 0, 0.0)
        share = share.replaced(self.no_shared_memory, 0.0)
        wavefronts = facts["shared_wavefronts_measured"]
        measured = (facts["shared_bank_conflicts"] / wavefronts).at_most(1.0)
        measured = measured.replaced(wavefronts.high == 0, 0.0)
        lower = (measured - MEASURED_CONFLICT_SLACK).low
        return share.or_else(
            share.within(
                Interval.exactly(lower),
                Interval.exactly(np.minimum(measured.high, self.shipped.conflicts_at_most)),
            )
        )

    @quantity
    def no_shared_memory(self) -> BoolArray:
        """Launches whose kernel has no shared memory at all."""
        return without_shared_memory(self.facts.values)

    @quantity
    def shared_part_of_l1(self) -> Interval:
        """Share of the L1 data stage's wavefronts that come from shared memory."""
        facts = self.facts
        stage = facts["l1_wavefronts"].or_at_most(facts["l1_throughput"])
        part = (facts["shared_wavefronts_share"] / stage).at_most(1.0)
        part = part.replaced(stage.high == 0, 0.0)
        if self.shipped.has_rule_messages:
            # Warp shuffles pass this stage as well, so this holds only with the shipped rules' word
            # that warps do not wait for the MIO queue, and where loads do hit in L1.
            quiet = self.shipped.stall_at_most("mio_throttle") < 1.0
            quiet = quiet & (facts.fraction("l1_hit_rate") >= 0.5).sure
            part = part.or_else(part.replaced(self.no_shared_memory & quiet, 0.0))
        part = part.or_else(part.at_least(self._shared_by_count(stage).low_only()))
        return part.or_else(part.within(self._shared_at_least(), 1.0))

    def _shared_by_count(self, stage: Interval) -> Interval:
        """The wavefronts of shared-memory instructions over those that L1 had time for."""
        facts = self.facts
        cycles = facts["sm_count"] * facts["sm_cycles_elapsed"]
        return (facts["shared_wavefronts"] / (stage * 0.01 * cycles)).at_most(1.0)

    def _shared_at_least(self) -> Interval:
        """Half, where L1 is busy although it holds little of what global memory asks it for.

        A busy L1 whose look-ups mostly miss is limited by the levels below it when global memory
        fills it; one that runs near its peak all the same is filled by shared memory.
        """
        facts = self.facts
        busy = (facts.fraction("l1_throughput_active") >= BUSY_L1).sure
        misses = (facts.fraction("l1_hit_rate") < 0.5).sure
        has_shared = (facts["shared_memory_static"] > 0).sure | (
            facts["shared_memory_dynamic"] > 0
        ).sure
        return Interval.exactly(np.where(busy & misses & has_shared, 0.5, 0.0))

    @quantity
    def local_part(self) -> Interval:
        """Share of local-memory sectors in all local and global sectors, on whichever path."""
        facts = self.facts
        local = facts["local_sectors"]
        loads_and_stores = facts["local_load_sectors"] + facts["local_store_sectors"]
        local = local.or_else(loads_and_stores)
        others = facts["global_sectors"] + self.bulk_sectors
        part = _share(local, others).replaced(local.high == 0, 0.0)
        return part.or_else(
            part.within(self._local_at_least(), Interval.exactly(self.shipped.local_at_most))
        )

    def _local_at_least(self) -> Interval:
        """Where a sentence speaks of local memory: bytes that global sectors cannot have moved."""
        facts = self.facts
        if not self.shipped.has_rule_messages:
            return facts.exact(0.0)
        moved = self._bytes_by_bandwidth.at_least(1.0)
        of_global = (facts["global_sectors"] + self.bulk_sectors) * SECTOR_BYTES
        least = (1.0 - of_global / moved).low
        return Interval.exactly(np.where(self.shipped.mentions_local_memory, least, 0.0))

    @quantity
    def atomic_part(self) -> Interval:
        """Share of atomics in all global memory requests, bulk reductions among them."""
        facts = self.facts
        bulk = facts["tma_reduction_sectors"] * (1 / WIDEST_REQUEST_SECTORS)
        atomics = facts["global_atomic_requests"] + facts["global_reduction_requests"] + bulk
        return _share(atomics, self.plain_requests).replaced(atomics.high == 0, 0.0)

    @quantity
    def atomic_sectors(self) -> Interval:
        """Share of the sectors of global accesses that atomics move."""
        facts = self.facts
        atomics = facts["l2_atomic_sectors"] + facts["l2_reduction_sectors"]
        return (atomics / facts["global_sectors"].at_least(1.0)).at_most(1.0)

    @quantity
    def plain_requests(self) -> Interval:
        """Requests to global memory without atomics.

        A bulk copy counts as the widest requests that would have moved the same.
        """
        facts = self.facts
        bulk = facts["tma_load_sectors"] + facts["tma_store_sectors"]
        return (
            facts["global_load_requests"]
            + facts["global_store_requests"]
            + bulk * (1 / WIDEST_REQUEST_SECTORS)
        )

    @quantity
    def needless_part_of_l1(self) -> Interval:
        """Share of the L1 data stage's work that is excess sectors, conflicts or local memory."""
        shared = self.shared_part_of_l1
        plain = (self.excess_sectors + self.local_part).at_most(1.0) * (1.0 - shared)
        return (plain + self.bank_conflicts * shared).at_most(1.0)

    @quantity
    def needless_part_of_l2(self) -> Interval:
        """Share of the L2 traffic that is excess sectors or local memory."""
        return ((1.0 - self.useful_l2_share) + self.local_part).at_most(1.0)

    @quantity
    def needless_part_of_dram(self) -> Interval:
        """Share of the device-memory traffic that is excess sectors or local memory."""
        return ((1.0 - self.useful_dram_share) + self.local_part).at_most(1.0)

    @quantity
    def full_warps(self) -> Truth:
        """Whether nearly all threads of a warp take part in its instructions.

        Where they do not, the instructions that fill a pipe or the issue slots are not all needed.
        """
        return self.idle_threads < NOTABLE_WASTE

    @quantity
    def shared_atomic_part(self) -> Interval:
        """Share of the shared-memory wavefronts that atomics take."""
        facts = self.facts
        shared = facts["shared_wavefronts_share"]
        part = (facts["shared_atomic_wavefronts_share"] / shared).at_most(1.0)
        part = part.replaced(shared.high == 0, 0.0)
        part = part.replaced(self.no_shared_memory, 0.0)
        plain = facts["shared_load_wavefronts"] + facts["shared_store_wavefronts"]
        unexplained = 1.0 - plain / facts["shared_wavefronts"]
        return part.or_at_most(unexplained)

    @quantity
    def idle_threads(self) -> Interval:
        """Share of a warp's threads that do nothing in an average instruction.

        A block of fewer threads than a warp never has more of them at work.
        """
        threads = self.facts["threads_per_instruction"].at_most(WARP_SIZE)
        return 1.0 - threads.or_at_most(self.facts["block_size"]) * (1 / WARP_SIZE)


def _share(part: Interval, others: Interval) -> Interval:
    return Interval(
        _ratio(part.low, part.low + others.high), _ratio(part.high, part.high + others.low)
    )


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    """``part / whole`` where an unbounded part over an unbounded whole is all of it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = part / whole
    return np.where(np.isinf(part), 1.0, np.nan_to_num(ratio, nan=0.0))
