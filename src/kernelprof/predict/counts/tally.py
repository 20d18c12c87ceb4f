"""Counts of what sampled blocks carry out: for each instruction, by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.counts.footprints import HALVES, Footprints
from kernelprof.predict.counts.patterns import (
    SECTOR,
    atomic_wavefronts,
    distinct_lines,
    ideal_sectors,
    most_alike,
    passes,
    sectors,
    shared_wavefronts,
)
from kernelprof.predict.counts.streams import Stream
from kernelprof.predict.counts.trace import Trace
from kernelprof.predict.machine.arrays import LANES
from kernelprof.predict.machine.context import Counters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.predict.counts.trace import Repeat, Watched
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.blocks import Blocks
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.memory import GlobalMemory
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block

    Mark = tuple[int, tuple[int, int]]

BULK: Final = "bulk"
"""The space of copies in bulk: between global and shared memory, past L1."""
_RECORDED_WARPS: Final = 64
"""Warps whose steps and sectors are recorded, at most: as many as an SM holds."""
_RECORDED_BLOCKS: Final = 8
_ATOMICS: Final = ("atomic", "reduction", "compare")


@dataclass
class Run:
    """How often a straight piece of code was carried out, by warp."""

    block: Block
    warps: Array
    threads: Array


@dataclass
class Accesses:
    """What one instruction asked of one kind of memory: numbers by warp, by what they count."""

    instruction: Instruction
    space: str
    kind: str
    size: int
    counts: dict[str, Array] = field(default_factory=dict)


class Tally(Counters):
    """Counts by instruction and warp of all blocks of one machine."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[int, Run] = {}
        self.accesses: dict[tuple[int, str], Accesses] = {}
        self.guarded: dict[int, Array] = {}
        self.branches: dict[int, tuple[Array, Array]] = {}
        self.warps = 0
        self.warps_of_block = 1
        self.recorded: Array
        """Places of the blocks whose steps and sectors are recorded, among those that run."""
        self.trace: Trace
        self.stream: Stream
        self.footprints: Footprints
        self._memory: GlobalMemory
        self.trying = False
        """Whether what runs now may be taken back: it leaves no marks then."""

    def begin(self, blocks: Blocks) -> None:
        """Blocks begin to run; only one machine's are counted."""
        self.warps, self.warps_of_block = blocks.warps, blocks.warps_of_block
        count = len(blocks.numbers)
        most = max(1, min(_RECORDED_BLOCKS, _RECORDED_WARPS // self.warps_of_block, count))
        chosen = np.unique(((np.arange(most) + 0.5) * count / most).astype(np.int64))
        rows = (chosen[:, None] * self.warps_of_block + np.arange(self.warps_of_block)).reshape(-1)
        self.recorded = chosen
        self.trace = Trace(rows, self.warps_of_block)
        self.stream = Stream(rows, self.warps)
        halves = np.arange(self.warps) // self.warps_of_block % HALVES
        self.footprints = Footprints(blocks.memory.buffers, halves)
        self._memory = blocks.memory

    def piece(self, c: Context, block: Block) -> None:
        """A straight piece of code is carried out once by each warp."""
        super().piece(c, block)
        self.trace.add(block.start, c.rows)
        run = self.runs.get(block.start)
        if run is None:
            nothing = np.zeros(self.warps, np.int64)
            run = self.runs[block.start] = Run(block, nothing, nothing.copy())
        _add(run.warps, c, 1)
        _add(run.threads, c, LANES if c.mask is None else c.mask.sum(axis=1))

    def predicated(self, c: Context, i: Instruction, guard: Array) -> None:
        """An instruction is carried out by those threads for which its guard holds."""
        found = self.guarded.get(i.address)
        if found is None:
            found = self.guarded[i.address] = np.zeros(self.warps, np.int64)
        if guard.shape[1] == 1:
            lanes = LANES if c.mask is None else c.mask.sum(axis=1)
            _add(found, c, guard[:, 0] * lanes)
        else:
            taking = guard if c.mask is None else guard & c.mask
            _add(found, c, taking.sum(axis=1))

    def branch(self, c: Context, i: Instruction, taken: Array) -> None:
        """A branch is taken by some threads: whether by all of those that are there, or none."""
        found = self.branches.get(i.address)
        if found is None:
            nothing = np.zeros(self.warps, np.int64)
            found = self.branches[i.address] = (nothing, nothing.copy())
        _add(found[0], c, 1)
        if taken.shape[1] == 1:
            _add(found[1], c, 1)
            return
        yes = taken if c.mask is None else taken & c.mask
        no = ~taken if c.mask is None else ~taken & c.mask
        _add(found[1], c, np.asarray(~(yes.any(axis=1) & no.any(axis=1))))

    def constant(self, c: Context, i: Instruction, offsets: Array, taking: Array | None) -> None:
        """Constant memory is read at offsets that may differ between lanes."""
        found = self._of(i, "constant", "load", 4)
        self._count(found, c, "requests", _some(taking))
        different = most_different(np.broadcast_to(offsets, (c.warps, offsets.shape[1])), taking)
        self._count(found, c, "addresses", different)

    def access(
        self,
        c: Context,
        i: Instruction,
        space: str,
        kind: str,
        addresses: Array,
        *,
        taking: Array | None,
        size: int,
    ) -> None:
        """Memory is read or written."""
        found = self._of(i, space, kind, size)
        addresses = np.broadcast_to(addresses, (c.warps, addresses.shape[1]))
        self._count(found, c, "requests", _some(taking))
        self._count(found, c, "threads", LANES if taking is None else taking.sum(axis=1))
        # Barriers in shared memory take no wavefronts (compute capability 9.0: our captures of
        # cuda/pairs/seismic-window-energies-one-buffer).
        if space == "cluster" or kind == "barrier":
            return
        if space == "shared":
            if kind in ("atomic", "count", "compare"):
                every = np.ones((c.warps, LANES), np.bool_) if taking is None else taking
                spread = np.broadcast_to(addresses, every.shape)
                self._count(found, c, "alike", most_alike(spread, every))
            if kind in ("atomic", "compare"):
                every = np.ones((c.warps, LANES), np.bool_) if taking is None else taking
                spread = np.broadcast_to(addresses, every.shape)
                wavefronts, ideal = atomic_wavefronts(spread, every)
            else:
                wavefronts, ideal = shared_wavefronts(addresses, taking, size)
            self._count(found, c, "wavefronts", wavefronts)
            self._count(found, c, "ideal", ideal)
            return
        if space == "local":
            self._count(found, c, "sectors", _local_sectors(addresses, taking, size, c.warps))
            return
        # Most accesses are counted without being carried out, which would see to that.
        self._memory.check(addresses, taking, size)
        self._count(found, c, "sectors", sectors(addresses, taking))
        self._count(found, c, "ideal", ideal_sectors(addresses, taking, size))
        self._count(found, c, "lines", distinct_lines(addresses, taking))
        self._count(found, c, "passes", passes(addresses, taking, size))
        if not self.trying:
            self.stream.add(c, i, addresses, taking)
            for written in _touches(kind):
                self.footprints.add(addresses, taking, c.rows, written=written)
        if kind in _ATOMICS:
            every = np.ones((c.warps, LANES), np.bool_) if taking is None else taking
            if not self.trying:
                self.footprints.contend(np.broadcast_to(addresses, every.shape), every, c.rows)
            self._count(
                found, c, "alike", most_alike(np.broadcast_to(addresses, every.shape), every)
            )

    def bulk(
        self,
        c: Context,
        i: Instruction,
        outside: Array,
        inside: Array,
        sizes: Array,
        *,
        taking: Array,
        inward: bool,
    ) -> None:
        """Warps copy bytes to shared memory, or from it; no access of threads."""
        del inside
        found = self._of(i, BULK, "load" if inward else "store", SECTOR)
        self._count(found, c, "requests", taking)
        touched = ((outside + sizes - 1) // SECTOR - outside // SECTOR + 1)[:, 0]
        self._count(found, c, "sectors", np.where(taking, touched, 0))

    def _of(self, i: Instruction, space: str, kind: str, size: int) -> Accesses:
        key = i.address, space
        found = self.accesses.get(key)
        if found is None:
            found = self.accesses[key] = Accesses(i, space, kind, size)
        return found

    def _count(self, found: Accesses, c: Context, name: str, values: Array | int) -> None:
        total = found.counts.get(name)
        if total is None:
            total = found.counts[name] = np.zeros(self.warps, np.int64)
        _add(total, c, values)

    def repeat(self, repeat: Repeat, moved: Iterable[tuple[Watched, Array]], further: int) -> None:
        """A stretch of the trace was left out as often as it says.

        ``moved`` are the accesses of a turn, each with how far it lies on in the next, and
        ``further`` is how many turns come after that one.
        """
        if not repeat.times:
            return
        self.trace.repeats.append(repeat)
        for each, stride in moved:
            if each.space != "global":
                continue
            for written in _touches(each.kind):
                self.footprints.stretch(
                    each.addresses, each.taking, each.rows, stride, further, written=written
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
        found: Array = values.reshape(-1, self.warps_of_block).sum(axis=1)
        return found


def most_different(offsets: Array, taking: Array | None) -> Array:
    """How many different words the lanes of each warp read."""
    return sectors((offsets.astype(np.int64) >> 2) << 5, taking)


def _local_sectors(addresses: Array, taking: Array | None, size: int, warps: int) -> Array:
    """Local memory lies word by word: 8 lanes with the same offset share a sector."""
    lanes = np.arange(LANES)[None, :] >> 3
    words = max(1, size // 4)
    total: Array = np.zeros(warps, np.int64)
    for word in range(words):
        where = ((addresses >> 2) + word) * 4 + lanes
        total = total + sectors(np.broadcast_to(where << 5, (warps, LANES)), taking)
    return total


def _touches(kind: str) -> tuple[bool, ...]:
    """Whether an access of a kind writes; both where it reads as well."""
    if kind in _ATOMICS:
        return True, False
    return (kind not in ("load", "copy"),)


def _some(taking: Array | None) -> Array | int:
    return 1 if taking is None else np.asarray(taking.any(axis=1))


def _add(total: Array, c: Context, values: Array | int) -> None:
    total[c.where] += values
