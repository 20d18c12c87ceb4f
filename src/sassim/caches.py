"""What caches serve of the sectors that a kernel asks for, and what comes from device memory.

L1 is worked out from the recorded streams of a few blocks, as many of which share it as are
resident on an SM. What L2 serves follows from footprints: each sector of an array comes from device
memory once, and again where more is accessed between two uses than L2 holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from sassim.cache_reuse import LINE_SECTORS, carry_first_use, find_first_uses, find_hits
from sassim.counters.counters import BULK, READS
from sassim.counters.transactions import SECTOR
from sassim.counters.waves import Wave, count_wave
from sassim.interpreter.lanes import distinct
from sassim.scattered import ScatteredCost, cost_of_access, find_scattered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sassim.counters.counters import AccessCounters
    from sassim.counters.footprints import Touched
    from sassim.counters.launch_counters import LaunchCounters
    from sassim.gpu import GpuModel
    from sassim.residency import GridResidency
    from sassim.sass.listing import Instruction
    from sassim.scattered import ScatteredArray

_LINE: Final = SECTOR * LINE_SECTORS
_SM_STRIDE: Final = 1 << 48
"""Between the numbers of one sector that different SMs ask for."""
_SMALL_LOCAL: Final = 0.05
"""Share of local memory's sectors that miss L1 where all of it fits: what is touched first."""
_ALONE: Final = 4
"""Sectors of a request that miss or hit apart from each other, at most."""
_L2_DIRTY_BYTES: Final = 16 << 20
"""Bytes of what was written last that L2 of an H200 still holds when a kernel ends: 9 to 25 MB in
its captures."""
_READ_APART: Final = 0.8
"""Part of the sectors that several blocks read of which the reads lie far apart in time."""
_WRITE_COST: Final = 1.25
"""What a sector that is written costs against one that is read (captures of the H200, by their
share of writes)."""
_MERGED: Final = 0.2
"""Part of the sectors that several blocks request by bulk loads at the same time which L2 delivers
once for SMs beside each other: the median of 11 of 22 captures of an H200, drawn by lot; it is 0.24
in the others, and 0.05 to 0.76 in all."""
_ATOMIC_SECTORS: Final = 1.5
"""Sectors of L2 that an atomic takes for each thread at one address (our captures)."""


@dataclass(frozen=True, slots=True)
class MissShares:
    """Shares of an instruction's accesses that L1 does not serve."""

    sectors: float
    requests: float
    """With hits of sectors that are in flight."""
    far: float
    """Share of these requests that wait for device memory."""
    dram_cost: float
    """What device memory does for each of these sectors, in sectors of a stream that it reads."""


@dataclass(frozen=True, slots=True)
class SectorEstimate:
    """Sectors, and the interval in which they lie."""

    value: float
    low: float
    high: float

    def __add__(self, other: SectorEstimate) -> SectorEstimate:
        return SectorEstimate(
            self.value + other.value, self.low + other.low, self.high + other.high
        )

    def scaled(self, factor: float) -> SectorEstimate:
        """So many times as much."""
        return SectorEstimate(self.value * factor, self.low * factor, self.high * factor)


NOTHING: Final = SectorEstimate(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class CacheMisses:
    """The accesses of a launch that miss L1, and those that miss L2."""

    by_instruction: Mapping[int, float]
    """Share of the sectors of loads that miss L1, by the identity of the instruction."""
    in_flight: Mapping[int, float]
    """The same with hits of a sector that another warp misses at the same time: they wait as long
    as the miss."""
    far_in_step: Mapping[int, float]
    """Share of these misses for which the blocks of a wave wait for device memory together."""
    local: float
    """Share of local memory's sectors that miss L1."""
    far: float
    """Share of the loads' sectors in L2 that come from device memory."""
    loaded: SectorEstimate
    """Sectors that L2 delivers."""
    stored: SectorEstimate
    """Sectors that L2 takes: stores."""
    atomics: SectorEstimate
    read: SectorEstimate
    """Sectors that device memory reads."""
    written: SectorEstimate
    serialized: float
    """Turns of the hottest slice that an atomic of a warp takes, on average over all of them."""
    hottest: SectorEstimate
    """Turns of the hottest slice in the whole launch."""
    written_far: float = 0.0
    """What device memory does for a stored sector, as in :class:`MissShares`."""
    far_in_bulk: float = 0.0
    """Share of the sectors of bulk loads that come from device memory."""
    scattered: Mapping[int, ScatteredCost] = field(default_factory=dict)
    """Of accesses in no order, by the identity of the instruction."""

    def shares_of(self, i: Instruction, each: AccessCounters) -> MissShares:
        """Return what one instruction's accesses miss."""
        scattered = self.scattered.get(id(i))
        if each.kind not in READS:
            if scattered is not None:
                return MissShares(1.0, 1.0, scattered.far, scattered.dram_cost)
            return MissShares(1.0, 1.0, 0.0, self.written_far if each.kind == "store" else 0.0)
        share = self.local if each.space == "local" else self.by_instruction.get(id(i), 1.0)
        instruction = each.counts["sectors"].sum() / max(1, each.counts["requests"].sum())
        apart = min(max(instruction, 1.0), _ALONE)
        late = max(share, self.in_flight.get(id(i), 0.0))
        waits = 1.0 - (1.0 - min(late, 1.0)) ** apart
        if scattered is not None:
            return MissShares(share, waits, scattered.far, scattered.dram_cost)
        if each.space == "local":
            return MissShares(share, waits, 0.0, 0.0)
        in_step = min(1.0, self.far_in_step.get(id(i), 0.0) * instruction)
        return MissShares(share, waits, max(self.far, in_step), self.far)


def estimate_misses(
    counters: LaunchCounters, gpu: GpuModel, residency: GridResidency
) -> CacheMisses:
    """What caches do for a launch on a device."""
    l1 = _estimate_l1(counters, residency)
    shares, unsure = l1.missed, _UNSURE if counters.block_counters.stream.length else 1.0
    local = _local_miss_share(counters, residency)
    arrays = find_scattered(counters.block_counters)
    touched = counters.block_counters.footprints.touched()
    scattered = _ScatteredAccesses(counters, gpu, arrays, shares, touched=touched)
    loaded, stored, atomics, in_bulk = NOTHING, NOTHING, NOTHING, NOTHING
    warps_at_atomics = multicast = 0.0
    for each in counters.block_counters.accesses.values():
        if each.space not in ("global", "local", BULK):
            continue
        amount = _requested(counters, each)
        if each.space == BULK:  # past L1
            if each.kind == "load":
                requested = _requested(counters, each, "requested")
                in_bulk += requested
                multicast += requested.value if requested.value < amount.value else 0.0
            else:
                stored += amount
        elif each.kind in READS:
            share = local if each.space == "local" else shares.get(id(each.instruction), 1.0)
            mine = amount.scaled(share)
            loaded += SectorEstimate(
                mine.value, mine.low * unsure, min(amount.high, mine.high / unsure)
            )
        elif each.kind == "store":
            stored += amount
        else:
            serialized = counters.total(each.counts.get("alike", each.counts["sectors"]))
            atomics += SectorEstimate(serialized.value, serialized.low, serialized.high).scaled(
                _ATOMIC_SECTORS
            )
            warps_at_atomics += counters.total(each.counts["requests"]).value
    in_order = replace(loaded, value=max(0.0, loaded.value - scattered.loaded))
    read, written = _estimate_dram_sectors(
        counters, gpu, residency, in_order, stored, touched=touched, but=arrays
    )
    on_gpu = gpu.sms * residency.blocks
    wave = count_wave(counters.launch, counters.slice, on_gpu) if in_bulk.value else Wave()
    read_in_bulk = _estimate_bulk_reads(counters, gpu, residency, in_bulk, wave)
    far = min(1.0, read.value / max(in_order.value, 1.0))
    stored_in_order = max(stored.value - scattered.stored, 1.0)
    written_far = _WRITE_COST * written.value / stored_in_order
    read += scattered.read
    written += scattered.written
    # Neighbouring SMs run blocks of one cluster, which multicast already serves together.
    merged = (in_bulk.value - multicast) * _MERGED * (1.0 - 1.0 / wave.sharing)
    loaded += SectorEstimate(in_bulk.value - merged, in_bulk.low * _UNSURE, in_bulk.high)
    read += read_in_bulk
    hottest = _estimate_hottest_slice(counters)
    return CacheMisses(
        by_instruction=shares,
        in_flight=l1.in_flight,
        far_in_step=l1.far_in_step,
        local=local,
        far=far,
        loaded=loaded,
        stored=stored,
        atomics=atomics,
        read=read,
        written=written,
        serialized=hottest.value / max(warps_at_atomics, 1.0),
        hottest=hottest,
        written_far=written_far,
        far_in_bulk=min(1.0, read_in_bulk.value / max(in_bulk.value, 1.0)),
        scattered=scattered.costs,
    )


class _ScatteredAccesses:
    """What accesses in no order ask L2 and device memory for."""

    def __init__(
        self,
        counters: LaunchCounters,
        gpu: GpuModel,
        arrays: Sequence[ScatteredArray],
        shares: Mapping[int, float],
        *,
        touched: Mapping[str, Touched],
    ) -> None:
        self.costs: dict[int, ScatteredCost] = {}
        self.loaded = self.stored = 0.0
        self.read = self.written = NOTHING
        for array in arrays:
            marked = touched[array.name]
            there = max(
                extrapolate_sectors(counters, each, marked.sectors).value
                for each in (marked.read, marked.written)
            )
            requested = [
                _requested(counters, each).scaled(shares.get(id(each.instruction), 1.0))
                for each in array.accesses
            ]
            for each, sectors in zip(array.accesses, requested, strict=True):
                cost = cost_of_access(
                    each.kind,
                    requested=sum(every.value for every in requested),
                    touched=there,
                    array=marked.sectors,
                    held=gpu.l2_bytes / 2 / SECTOR,
                    dirty=_L2_DIRTY_BYTES / SECTOR,
                )
                self._add(each, sectors, cost)

    def _add(self, each: AccessCounters, sectors: SectorEstimate, cost: ScatteredCost) -> None:
        self.costs[id(each.instruction)] = cost
        self.loaded += sectors.value if each.kind in READS else 0.0
        self.stored += sectors.value if each.kind == "store" else 0.0
        self.read += _half_or_twice(sectors, cost.read)
        self.written += _half_or_twice(sectors, cost.written)


def _requested(
    counters: LaunchCounters, each: AccessCounters, count: str = "sectors"
) -> SectorEstimate:
    total = counters.total(each.counts[count])
    return SectorEstimate(total.value, total.low, total.high)


def _half_or_twice(sectors: SectorEstimate, factor: float) -> SectorEstimate:
    """So many times as much, or half or twice of it."""
    value = sectors.value * factor
    return SectorEstimate(value, value / 2, 2.0 * sectors.high if factor else 0.0)


_UNSURE: Final = 0.5
"""Part of the predicted misses of L1 that there are at least: SMs next to each other that ask for
the same share one request, and warps do not go in step."""


class _L1Shares(NamedTuple):
    """Shares by the identity of a load, as :class:`CacheMisses` has them."""

    missed: dict[int, float]
    in_flight: dict[int, float]
    far_in_step: dict[int, float]


def _estimate_l1(counters: LaunchCounters, residency: GridResidency) -> _L1Shares:
    """What L1 does for each load."""
    shares = _L1Shares({}, {}, {})
    block_counters = counters.block_counters
    sectors, addresses = block_counters.stream.sectors, block_counters.stream.instructions
    if len(sectors) == 0:
        return shares
    recorded = len(block_counters.recorded)
    sms = max(1, round(recorded / residency.blocks))
    sm = block_counters.stream.blocks * sms // recorded
    common = _share_of_common_sectors(counters)
    cold = _cold_miss_share(common, len(distinct(sectors[sm == 0])), recorded / sms, residency)
    # Blocks on different SMs share nothing here.
    sectors = sectors + sm * _SM_STRIDE
    served = find_hits(sectors, residency.l1_bytes / _LINE * recorded / residency.blocks)
    missed = np.where(served, 0.0, 1.0)
    missed[find_first_uses(sectors)] = cold
    late = carry_first_use(missed, sectors, block_counters.stream.executions)
    # Device memory brings whole lines: the first sector of each is what is waited for.
    first = find_first_uses(sectors // LINE_SECTORS)
    for each in block_counters.accesses.values():
        if each.space != "global" or each.kind not in READS:
            continue
        if each.instruction.has("STRONG") or each.kind == "copy":
            continue
        mine = addresses == each.instruction.address
        if mine.any():
            key, count = id(each.instruction), max(float(missed[mine].sum()), 1.0)
            shares.missed[key] = float(missed[mine].mean())
            shares.in_flight[key] = float(late[mine].mean())
            in_step = common * float(first[mine].sum()) / count
            shares.far_in_step[key] = in_step / max(1.0, residency.waves)
    return shares


def _cold_miss_share(
    common: float, sectors: int, together: float, residency: GridResidency
) -> float:
    """Share of first uses that miss on an SM that ran other blocks before.

    What many blocks read (a table, weights) is there since the first of them, if it fits.
    ``sectors`` are those that so many blocks ``together`` on an SM use.
    """
    if sectors * SECTOR > residency.l1_bytes:
        return 1.0
    return 1.0 - common * (1.0 - 1.0 / max(1.0, residency.blocks_of_sm / together))


def _share_of_common_sectors(counters: LaunchCounters) -> float:
    """Share of the sectors that are read which more than one block reads."""
    run = len(counters.sample.blocks)
    if run < 2:
        return 0.0
    touched = counters.block_counters.footprints.touched().values()
    once = sum(each.read[1] for each in touched)
    apart = sum(each.read[0] * run / (-(-run // 2)) for each in touched)
    return min(1.0, max(0.0, apart - once) / max(once, 1))


def _local_miss_share(counters: LaunchCounters, residency: GridResidency) -> float:
    threads = math.prod(counters.launch.block) * residency.blocks
    held = threads * counters.launch.local_bytes
    return _SMALL_LOCAL if held <= residency.l1_bytes else 1.0 - residency.l1_bytes / held / 2


def _estimate_dram_sectors(
    counters: LaunchCounters,
    gpu: GpuModel,
    residency: GridResidency,
    loaded: SectorEstimate,
    stored: SectorEstimate,
    *,
    touched: Mapping[str, Touched],
    but: Sequence[ScatteredArray],
) -> tuple[SectorEstimate, SectorEstimate]:
    """What device memory reads and writes, ``but`` for accesses in no order."""
    reads, writes = NOTHING, NOTHING
    read_apart = {each.name for each in but if each.is_read}
    written_apart = {each.name for each in but if each.is_written}
    for name, each in touched.items():
        if name not in read_apart:
            reads += extrapolate_sectors(counters, each.read, each.sectors)
        if name not in written_apart:
            writes += extrapolate_sectors(counters, each.written, each.sectors)
    all_bytes = (reads.value + writes.value) * SECTOR
    high = max(reads.high, reads.value)
    value = reads.value
    # Each half of L2 keeps what the SMs beside it read (NVIDIA A100 whitepaper, "A100 L2 cache").
    held = gpu.l2_bytes / 2
    if all_bytes > held:
        high = max(high, loaded.high)
        again = value * _count_rereads(counters, gpu, residency)
        # What other blocks read before is gone, unless they run side by side.
        gone = max(0.0, 1.0 - held / (value * SECTOR)) * _READ_APART if value else 0.0
        value = min(max(value, again, value + (loaded.value - value) * gone), high)
    cached = min(writes.value, _L2_DIRTY_BYTES / SECTOR)
    least = max(0.0, writes.low - gpu.l2_bytes / SECTOR)
    most = max(writes.high, stored.high if all_bytes > gpu.l2_bytes else 0.0)
    return (
        SectorEstimate(value, min(reads.low, value), high),
        SectorEstimate(writes.value - cached, min(least, writes.value - cached), most),
    )


def _estimate_bulk_reads(
    counters: LaunchCounters,
    gpu: GpuModel,
    residency: GridResidency,
    in_bulk: SectorEstimate,
    wave: Wave,
) -> SectorEstimate:
    """Sectors that device memory reads for bulk loads: each once for the blocks that run at a time.

    Those of other waves are there still where L2 holds all.
    """
    if not in_bulk.value:
        return NOTHING
    least = NOTHING
    for each in counters.block_counters.bulk_footprints.touched().values():
        least += extrapolate_sectors(counters, each.read, each.sectors)
    by_waves = in_bulk.value / max(wave.reuse, 1.0)
    waves = max(1.0, residency.grid / (gpu.sms * residency.blocks))
    # What the wave before read is there still where L2 holds what both do.
    if min(least.value, by_waves / waves) * SECTOR <= gpu.l2_bytes / 2:
        return SectorEstimate(least.value, least.low, max(by_waves, least.high))
    value = max(least.value, by_waves)
    return SectorEstimate(value, min(least.low, value), max(in_bulk.high, value))


def _count_rereads(counters: LaunchCounters, gpu: GpuModel, residency: GridResidency) -> float:
    """How often a block reads the same from device memory, because L2 held it too short."""
    stream = counters.block_counters.stream
    sectors = stream.sectors
    if len(sectors) == 0:
        return 1.0
    on_gpu = min(residency.grid, residency.blocks * gpu.sms)
    lines = gpu.l2_bytes / 2 / _LINE * len(counters.block_counters.recorded) / on_gpu
    served = find_hits(sectors, lines)
    distinct = int(find_first_uses(sectors).sum())
    return max(1.0, float((~served).sum()) / max(distinct, 1))


def extrapolate_sectors(
    counters: LaunchCounters, touched: tuple[int, int], most: int
) -> SectorEstimate:
    """Sectors of an array that the whole grid touches, from those of half the sample and of all.

    They grow with the blocks as they did from the half to all, up to the whole array.
    """
    half, whole = touched
    run = len(counters.sample.blocks)
    every = math.prod(counters.launch.grid)
    if whole == 0 or counters.sample.complete:
        return SectorEstimate(whole, whole, whole)
    all_apart = min(float(most), whole * every / run)
    power = 1.0
    if half and run > 1:
        power = min(1.0, math.log(max(whole / half, 1.0)) / math.log(run / (-(-run // 2))))
    return SectorEstimate(min(all_apart, whole * (every / run) ** power), whole, all_apart)


def _estimate_hottest_slice(counters: LaunchCounters) -> SectorEstimate:
    """Turns that the slice takes that is hottest with atomics."""
    run = len(counters.sample.blocks)
    times = math.prod(counters.launch.grid) / run
    hottest = NOTHING
    for one, other in counters.block_counters.footprints.hottest():
        serialized = float(one + other)
        everywhere = serialized * times if min(one, other) * 2 >= max(one, other) else serialized
        amount = SectorEstimate(everywhere, serialized, serialized * times)
        hottest = max(hottest, amount, key=lambda each: each.value)
    return hottest
