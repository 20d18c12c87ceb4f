"""Counts of what sampled blocks carry out: for each instruction, by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.counters.footprints import HALVES, Footprints
from sassim.counters.sector_stream import Stream
from sassim.counters.trace import ExecutionTrace
from sassim.counters.transactions import (
    SECTOR,
    count_atomic_wavefronts,
    count_global,
    count_lines,
    count_most_alike,
    count_sectors,
    count_shared_wavefronts,
)
from sassim.interpreter.context import Observer
from sassim.interpreter.lanes import LANES, distinct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sassim.counters.trace import RecordedAccess, Repeat
    from sassim.interpreter.context import Access, BulkCopy, ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.mbarriers import PhaseEvents
    from sassim.interpreter.memory import GlobalMemory
    from sassim.interpreter.state import ResidentBlocks
    from sassim.sass.listing import Instruction
    from sassim.sass.program import BasicBlock

    Mark = tuple[int, tuple[int, int]]

BULK: Final = "bulk"
"""The space of copies in bulk: between global and shared memory, past L1."""
_RECORDED_WARPS: Final = 64
"""Warps whose steps and sectors are recorded, at most: as many as an SM holds."""
_RECORDED_BLOCKS: Final = 8
READS: Final = ("load", "copy")
"""Kinds of accesses that only read."""
_ATOMICS: Final = ("atomic", "reduction", "compare")


@dataclass
class BasicBlockCount:
    """Executions of a basic block, by warp."""

    block: BasicBlock
    warps: Array
    threads: Array


@dataclass
class AccessCounters:
    """What one instruction asked of one kind of memory: numbers by warp, by what they count."""

    instruction: Instruction
    space: str
    kind: str
    size: int
    counts: dict[str, Array] = field(default_factory=dict)


class BlockCounters(Observer):
    """Counts by instruction and warp of all blocks of one machine."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[int, BasicBlockCount] = {}
        self.accesses: dict[tuple[int, str], AccessCounters] = {}
        self.guarded: dict[int, Array] = {}
        self.branches: dict[int, tuple[Array, Array]] = {}
        self.warps = 0
        self.warps_of_block = 1
        self.recorded: Array
        """Places of the blocks whose steps and sectors are recorded, among those that run."""
        self.trace: ExecutionTrace
        self.stream: Stream
        self.footprints: Footprints
        self.bulk_footprints: Footprints
        """The same of bulk copies."""
        self._memory: GlobalMemory
        self.trying = False
        """Whether what runs now may be taken back: it leaves no marks then."""

    def on_start(self, blocks: ResidentBlocks) -> None:
        """Reset all counters; only the blocks of one interpreter are counted."""
        self.warps, self.warps_of_block = blocks.warps, blocks.warps_of_block
        count = len(blocks.numbers)
        most = max(1, min(_RECORDED_BLOCKS, _RECORDED_WARPS // self.warps_of_block, count))
        chosen = distinct(((np.arange(most) + 0.5) * count / most).astype(np.int64))
        rows = (chosen[:, None] * self.warps_of_block + np.arange(self.warps_of_block)).reshape(-1)
        self.recorded = chosen
        self.trace = ExecutionTrace(rows, self.warps_of_block)
        self.stream = Stream(rows, self.warps, self.warps_of_block)
        halves = np.arange(self.warps) // self.warps_of_block % HALVES
        self.footprints = Footprints(blocks.memory.buffers, halves)
        self.bulk_footprints = Footprints(blocks.memory.buffers, halves)
        self._memory = blocks.memory

    def take_record(self, other: BlockCounters, places: Array) -> None:
        """Take the steps and sectors that ``other`` recorded of the blocks at these places here."""
        self.trace, self.stream, self.recorded = other.trace, other.stream, places[other.recorded]

    def on_basic_block(self, c: ExecutionContext, block: BasicBlock) -> None:
        """Count an execution by each warp."""
        super().on_basic_block(c, block)
        self.trace.add(block.start, c.rows)
        run = self.runs.get(block.start)
        if run is None:
            nothing = np.zeros(self.warps, np.int64)
            run = self.runs[block.start] = BasicBlockCount(block, nothing, nothing.copy())
        _add(run.warps, c, 1)
        _add(run.threads, c, LANES if c.mask is None else c.mask.sum(axis=1))

    def on_guard(self, c: ExecutionContext, i: Instruction, guard: Array) -> None:
        """An instruction is carried out by those threads for which its guard holds."""
        threads = self.guarded.get(i.address)
        if threads is None:
            threads = self.guarded[i.address] = np.zeros(self.warps, np.int64)
        if guard.shape[1] == 1:
            lanes = LANES if c.mask is None else c.mask.sum(axis=1)
            _add(threads, c, guard[:, 0] * lanes)
        else:
            active = guard if c.mask is None else guard & c.mask
            _add(threads, c, active.sum(axis=1))

    def on_branch(self, c: ExecutionContext, i: Instruction, predicate: Array) -> None:
        """A branch is taken by some threads: whether by all of those that are there, or none."""
        counts = self.branches.get(i.address)
        if counts is None:
            nothing = np.zeros(self.warps, np.int64)
            counts = self.branches[i.address] = (nothing, nothing.copy())
        _add(counts[0], c, 1)
        if predicate.shape[1] == 1:
            _add(counts[1], c, 1)
            return
        yes = predicate if c.mask is None else predicate & c.mask
        no = ~predicate if c.mask is None else ~predicate & c.mask
        _add(counts[1], c, np.asarray(~(yes.any(axis=1) & no.any(axis=1))))

    def on_constant_load(
        self, c: ExecutionContext, i: Instruction, offsets: Array, active: Array | None
    ) -> None:
        """Constant memory is read at offsets that may differ between lanes."""
        counters = self._counters_of(i, "constant", "load", 4)
        self._count(counters, c, "requests", _has_active_lanes(active))
        different = count_different_words(
            np.broadcast_to(offsets, (c.warps, offsets.shape[1])), active
        )
        self._count(counters, c, "addresses", different)

    def on_access(self, access: Access) -> None:
        """Count requests and threads, then what the kind of memory is asked for."""
        c, space, kind, active = access.context, access.space, access.kind, access.active
        counters = self._counters_of(access.instruction, space, kind, access.size)
        self._count(counters, c, "requests", _has_active_lanes(active))
        self._count(counters, c, "threads", LANES if active is None else active.sum(axis=1))
        # Barriers in shared memory take no wavefronts (compute capability 9.0: our captures of
        # cuda/pairs/seismic-window-energies-one-buffer).
        if space == "cluster" or kind == "barrier":
            return
        addresses = np.broadcast_to(access.addresses, (c.warps, access.addresses.shape[1]))
        if space == "shared":
            self._count_shared(counters, access, addresses)
        elif space == "local":
            sectors, lines = count_local(addresses, active, access.size, c.warps)
            self._count(counters, c, "sectors", sectors)
            self._count(counters, c, "lines", lines)
        else:
            self._count_global(counters, access, addresses)

    def _count_shared(self, counters: AccessCounters, access: Access, addresses: Array) -> None:
        c, kind = access.context, access.kind
        if kind in ("atomic", "count", "compare"):
            lanes = access.lanes
            same = count_most_alike(np.broadcast_to(addresses, lanes.shape), lanes)
            self._count(counters, c, "alike", same)
        if kind in ("atomic", "compare"):
            lanes = access.lanes
            wavefronts, ideal = count_atomic_wavefronts(
                np.broadcast_to(addresses, lanes.shape), lanes
            )
        else:
            wavefronts, ideal = count_shared_wavefronts(addresses, access.active, access.size)
        self._count(counters, c, "wavefronts", wavefronts)
        self._count(counters, c, "ideal", ideal)

    def _count_global(self, counters: AccessCounters, access: Access, addresses: Array) -> None:
        c, active, size = access.context, access.active, access.size
        # Most accesses are counted without being executed, which would check them.
        self._memory.check(addresses, active, size)
        transactions = count_global(addresses, active, size)
        self._count(counters, c, "sectors", transactions.sectors)
        self._count(counters, c, "ideal", transactions.ideal)
        self._count(counters, c, "lines", transactions.lines)
        self._count(counters, c, "passes", transactions.passes)
        if not self.trying:
            self.stream.add(c, access.instruction, addresses, active)
            for written in accesses_write(access.kind):
                self.footprints.add(addresses, active, c.rows, written=written)
        if access.kind in _ATOMICS:
            lanes = access.lanes
            by_lane = np.broadcast_to(addresses, lanes.shape)
            if not self.trying:
                self.footprints.contend(by_lane, lanes, c.rows)
            self._count(counters, c, "alike", count_most_alike(by_lane, lanes))

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """Count sectors of device memory; a copy in bulk is no access of threads."""
        c, kind = copy.context, copy.kind
        counters = self._counters_of(copy.instruction, BULK, kind, SECTOR)
        self._count(counters, c, "requests", copy.warps)
        first, last = copy.global_addresses, copy.global_addresses + copy.sizes - 1
        touched = np.where(copy.sizes > 0, last // SECTOR - first // SECTOR + 1, 0).sum(axis=1)
        times = 1 if copy.times is None else copy.times
        if kind == "load":
            # Once for all blocks that it is multicast to
            self._count(counters, c, "requested", np.where(copy.warps, touched, 0))
        self._count(counters, c, "sectors", np.where(copy.warps, touched * times, 0))
        written = kind != "load"
        footprints = self.footprints if written else self.bulk_footprints
        addresses, active = expand_sectors(first, copy.sizes * copy.warps.reshape(-1, 1))
        footprints.add(addresses, active, c.rows, written=written)

    def on_phases(
        self, c: ExecutionContext, arrivals: Sequence[PhaseEvents], waits: PhaseEvents | None
    ) -> None:
        """Record what the recorded warps do to barriers."""
        rows = np.arange(self.warps)[c.where]
        self.trace.add_phases(rows, arrivals, waits, c.blocks.shared.size)

    def _counters_of(self, i: Instruction, space: str, kind: str, size: int) -> AccessCounters:
        key = i.address, space
        counters = self.accesses.get(key)
        if counters is None:
            counters = self.accesses[key] = AccessCounters(i, space, kind, size)
        return counters

    def _count(
        self, counters: AccessCounters, c: ExecutionContext, name: str, values: Array | int
    ) -> None:
        total = counters.counts.get(name)
        if total is None:
            total = counters.counts[name] = np.zeros(self.warps, np.int64)
        _add(total, c, values)

    def repeat(
        self, repeat: Repeat, moved: Iterable[tuple[RecordedAccess, Array]], further: int
    ) -> None:
        """Count a stretch of the trace that was skipped, as often as ``repeat`` has it.

        ``moved`` are the accesses of an iteration, each with its step to the next one, and
        ``further`` is the number of iterations after it.
        """
        if not repeat.times:
            return
        self.trace.repeats.append(repeat)
        for each, stride in moved:
            if each.space != "global":
                continue
            for written in accesses_write(each.kind):
                self.footprints.stretch(
                    each.addresses, each.active, each.rows, stride, further, written=written
                )

    def mark(self) -> Mark:
        """What was recorded up to now, to come back to."""
        return len(self.trace), self.stream.mark()

    def forget(self, mark: Mark) -> None:
        """Forget what was recorded since."""
        self.trace.shorten(mark[0])
        self.stream.shorten(mark[1])

    def of_blocks(self, values: Array) -> Array:
        """Numbers by warp summed up by block."""
        sums: Array = values.reshape(-1, self.warps_of_block).sum(axis=1)
        return sums


def expand_sectors(first: Array, sizes: Array) -> tuple[Array, Array]:
    """An address in each sector of stretches of bytes, and whether it is of one of them."""
    steps = np.arange(int(sizes.max(initial=0)) // SECTOR + 2) * SECTOR
    begin, end = first & -SECTOR, first + sizes
    addresses = begin[..., None] + steps
    active = addresses < end[..., None]
    return addresses.reshape(len(first), -1), active.reshape(len(active), -1)


def count_different_words(offsets: Array, active: Array | None) -> Array:
    """How many different words the lanes of each warp read."""
    return count_sectors((offsets.astype(np.int64) >> 2) << 5, active)


def count_local(
    addresses: Array, active: Array | None, size: int, warps: int
) -> tuple[Array, Array]:
    """Return sectors and lines: local memory is interleaved by word, a line for each offset."""
    lanes = np.arange(LANES)[None, :] >> 3
    sectors: Array = np.zeros(warps, np.int64)
    lines: Array = np.zeros(warps, np.int64)
    for word in range(max(1, size // 4)):
        offset = np.broadcast_to((addresses >> 2) + word, (warps, LANES))
        sectors = sectors + count_sectors((offset * 4 + lanes) << 5, active)
        lines = lines + count_lines(offset << 7, active)
    return sectors, lines


def accesses_write(kind: str) -> tuple[bool, ...]:
    """Whether an access of a kind writes; both where it reads as well."""
    if kind in _ATOMICS:
        return True, False
    return (kind not in READS,)


def _has_active_lanes(active: Array | None) -> Array | int:
    return 1 if active is None else np.asarray(active.any(axis=1))


def _add(total: Array, c: ExecutionContext, values: Array | int) -> None:
    total[c.where] += values
