"""Threads of a block that touch the same bytes of shared memory with no barrier between.

Between two barriers of a block its warps are in no order: where two of them touch a byte and one
writes it, the result is chance. What each warp touched, and when, is noted for each byte of shared
memory, or for as many as the shortest access of the kernel has. Not found are races of threads of
one warp, those in global memory, and those in blocks that are not looked at.

Where threads wait for each other in a way of their own (a fence, an mbarrier, the barrier of a
cluster, a barrier of some of the block's threads) it counts as a barrier of the block: a race may
be missed then, and none is made up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.counts.sampling import sample
from kernelprof.predict.machine.arrays import LANES
from kernelprof.predict.machine.clusters import OFFSET_MASK
from kernelprof.predict.machine.context import Counters
from kernelprof.predict.machine.faults import At, RaceError
from kernelprof.predict.machine.operations.spaces import GENERIC, SHARED, SPACES

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.blocks import Blocks
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.launch import Launch
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Program

_THREADS: Final = 4096
"""Threads in blocks that are looked at: what they touch is noted at each of their accesses."""
_CELLS: Final = 1 << 22
"""Notes that are kept at most, four bytes each; of one block there may be more."""
_LANES: Final = np.arange(LANES, dtype=np.uint32)
_LANE_BITS: Final = 5


class Races(Counters):
    """Looks for races in some of a grid's blocks: at its edges, and spread over the inside."""

    def __init__(self, launch: Launch) -> None:
        super().__init__()
        self._bytes = -(-launch.shared_bytes // 16) * 16
        self._warps = -(-math.prod(launch.block) // LANES)
        self._grain = _grain(launch.program)
        self._cells = self._bytes // self._grain
        most = min(_THREADS // (self._warps * LANES), _CELLS // max(1, self._cells * self._warps))
        self.blocks = sample(launch.grid, max(1, most)).blocks
        """Numbers of the blocks that are looked at."""
        self._known: dict[int, int] = {}
        self._instructions: list[Instruction] = []
        self._shift = _LANE_BITS + _accesses(launch.program).bit_length()

    def begin(self, blocks: Blocks) -> None:
        """Look at those of the blocks that run which are among the sampled ones."""
        self._blocks = blocks
        self._chosen = np.flatnonzero(np.isin(blocks.numbers, self.blocks))
        count = len(self._chosen)
        self._idle = count == 0 or self._warps == 1 or self._bytes == 0
        if self._idle:
            return
        warps, cells = self._warps, self._cells
        rows = (self._chosen[:, None] * warps + np.arange(warps)).reshape(-1)
        self._slot = np.full(blocks.warps, -1)
        self._slot[rows] = np.arange(len(rows))
        self._base = (np.arange(count)[:, None] * cells * warps + np.arange(warps)).reshape(-1, 1)
        # Who touched a cell last, by warp: time, then instruction, then lane.
        size = count * cells * warps
        self._reads, self._writes, self._atomics = (np.zeros(size, np.uint32) for _ in range(3))
        self._values = np.zeros((count * warps, self._bytes), np.uint8)
        self._time = 1
        self._since = np.full(count, self._time << self._shift, np.uint32)
        # Cells that were changed since the last barrier.
        self._written, self._combined = (np.zeros((count, cells), np.bool_) for _ in range(2))
        blocks.block_barriers.listeners.append(self._met)

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
        """Note a read, or an atomic operation; what else writes is noted once it has."""
        if space != SHARED or self._idle:
            return
        self._now = i
        if kind in ("store", "copy") or i.opcode == "STSM":
            return
        slots, rows = self._which(c)
        if not len(slots):
            return
        cells, lanes = self._places(slots, rows, addresses, taking, size)
        if kind in ("load", "matrix"):
            self._note(self._reads, i, cells, lanes)
        else:
            self._note(self._atomics, i, cells, lanes)
            np.put(self._combined, cells // self._warps, True, mode="clip")

    def stored(
        self, c: Context, addresses: Array, values: Array, *, taking: Array | None, size: int
    ) -> None:
        """Note who wrote what."""
        if self._idle or self._now.opcode.startswith(("ATOM", "RED")):
            return
        slots, rows = self._which(c)
        if not len(slots):
            return
        cells, lanes = self._places(slots, rows, addresses, taking, size)
        self._note(self._writes, self._now, cells, lanes)
        np.put(self._written, cells // self._warps, True)
        at = self._of_rows(addresses, rows) + slots[:, None] * self._bytes
        if values.shape[:2] != (c.warps, LANES):
            values = np.broadcast_to(values, (c.warps, LANES, *values.shape[2:]))
        values = values[rows]
        if taking is not None or at.shape[1] != LANES:
            at = np.broadcast_to(at, (len(slots), LANES))
            mask = c.here[rows] if taking is None else taking[rows]
            at, values = at[mask], values[mask]
        raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1, size)
        self._values.reshape(-1, size)[at.reshape(-1) // size] = raw

    def _met(self, lanes: Array) -> None:
        """Nothing before a barrier races with anything behind it."""
        blocks: Array = np.any(lanes.reshape(-1, self._warps * LANES), axis=1)
        self._close(blocks[self._chosen])

    def fenced(self, c: Context) -> None:
        """Nobody knows here whom a fence is for."""
        if self._idle:
            return
        slots, _ = self._which(c)
        blocks = np.zeros(len(self._chosen), np.bool_)
        blocks[slots // self._warps] = True
        self._close(blocks)

    def end(self) -> None:
        """Look at what was touched behind the last barrier."""
        if not self._idle:
            self._close(np.ones(len(self._chosen), np.bool_))

    def _which(self, c: Context) -> tuple[Array, Array | slice]:
        """The warps of a context that are looked at, and which of its rows they are."""
        slots = self._slot[c.where]
        chosen = slots >= 0
        if chosen.all():
            return slots, slice(None)
        rows = np.flatnonzero(chosen)
        return slots[rows], rows

    def _of_rows(self, values: Array, rows: Array | slice) -> Array:
        return values if values.shape[0] == 1 else values[rows]

    def _places(
        self,
        slots: Array,
        rows: Array | slice,
        addresses: Array,
        taking: Array | None,
        size: int,
    ) -> tuple[Array, Array]:
        """The notes that accesses change, and lanes: as many, or such as repeat."""
        at = self._of_rows(addresses, rows) & OFFSET_MASK
        cells = self._base[slots] + at // self._grain * self._warps
        lanes = _LANES[: cells.shape[1]]
        if taking is not None:
            mask = taking[rows]
            if cells.shape[1] == 1:
                cells = np.broadcast_to(cells, mask.shape)
            cells, lanes = cells[mask], mask.nonzero()[1].astype(np.uint32)
        count = size // self._grain
        if count > 1:
            cells = cells[..., None] + np.arange(count) * self._warps
            lanes = lanes.repeat(count)
        return cells, lanes

    def _note(self, table: Array, i: Instruction, cells: Array, lanes: Array) -> None:
        number = self._known.get(id(i))
        if number is None:
            number = self._known[id(i)] = len(self._instructions)
            self._instructions.append(i)
        stamp = np.uint32((self._time << self._shift) + (number << _LANE_BITS))
        # An access outside of shared memory is told when it is carried out.
        np.put(table, cells, lanes + stamp, mode="clip")

    def _close(self, blocks: Array) -> None:
        """Look at what was touched since their last barrier, in blocks that meet now."""
        if len(cells := self._taken(self._written, blocks)):
            self._look(cells)
        if len(cells := self._taken(self._combined, blocks)):
            self._look_at_atomics(cells)
        self._time += 1
        if (self._time + 1) << self._shift > np.iinfo(np.uint32).max:
            self._forget()
        self._since[blocks] = self._time << self._shift

    def _taken(self, changed: Array, blocks: Array) -> Array:
        """Changed cells of some blocks, which are not any more."""
        if not changed.any():
            return np.zeros(0, np.int64)
        if blocks.all():
            found = np.flatnonzero(changed)
            changed[:] = False
            return found
        found = np.flatnonzero(changed & blocks[:, None])
        changed[blocks] = False
        return found

    def _forget(self) -> None:
        """Begin to count time anew."""
        for table in (self._reads, self._writes, self._atomics, self._written, self._combined):
            table[:] = 0
        self._time = 1
        self._since[:] = 1 << self._shift

    def _touched(self, table: Array, cells: Array) -> Array:
        """Which warps touched cells since the last barrier of their block."""
        since = self._since[cells // self._cells][:, None]
        found: Array = table.reshape(-1, self._warps)[cells] >= since
        return found

    def _look(self, cells: Array) -> None:
        """Look at cells that were written."""
        writes = self._touched(self._writes, cells)
        others = self._touched(self._reads, cells) | self._touched(self._atomics, cells)
        several = (writes | others).sum(axis=1) > 1
        if not several.any():
            return
        cells, writes, others = cells[several], writes[several], others[several]
        racing = others.any(axis=1) | self._differ(cells, writes)
        if racing.any():
            raise self._race(cells[racing], self._writes)

    def _look_at_atomics(self, cells: Array) -> None:
        """Look at cells with atomic operations: those race with plain reads alone here."""
        reads = self._touched(self._reads, cells)
        several = (self._touched(self._atomics, cells) | reads).sum(axis=1) > 1
        racing = several & reads.any(axis=1)
        if racing.any():
            raise self._race(cells[racing], self._atomics)

    def _differ(self, cells: Array, writes: Array) -> Array:
        """Whether warps wrote different values: the same value twice does no harm."""
        warps = self._warps
        values = self._values.reshape(-1, warps, self._cells, self._grain)
        block, cell = cells // self._cells, cells % self._cells
        each = values[block, :, cell]
        first = each[np.arange(len(cells)), writes.argmax(axis=1)][:, None]
        found: Array = ((each != first).any(axis=2) & writes).any(axis=1)
        return found

    def _race(self, cells: Array, changing: Array) -> RaceError:
        """The error for cells that warps race for; ``changing`` notes who changed them."""
        cell = cells[:1]
        tables = (self._reads, self._atomics, self._writes)
        stamps = [table.reshape(-1, self._warps)[cell[0]] for table in tables]
        since = self._since[cell[0] // self._cells]
        changed = changing.reshape(-1, self._warps)[cell[0]]
        pairs = (
            (int(a), int(b), table)
            for table in stamps
            for a in np.flatnonzero(changed >= since)
            for b in np.flatnonzero(table >= since)
            if a != b
        )
        one, other, table = next(pairs)
        block = int(cell[0] // self._cells)
        return RaceError(
            self._at(block, one, int(changed[one])),
            self._at(block, other, int(table[other])),
            address=int(cell[0] % self._cells) * self._grain,
            size=int((cells // self._cells == block).sum()) * self._grain,
        )

    def _at(self, block: int, warp: int, stamp: int) -> At:
        """Who touched something, and by which instruction."""
        i = self._instructions[(stamp & (1 << self._shift) - 1) >> _LANE_BITS]
        row = int(self._chosen[block]) * self._warps + warp
        return At(i, self._blocks.place(row, stamp & (LANES - 1)))


def _shared(program: Program) -> list[Instruction]:
    """The instructions that may touch shared memory."""
    return [
        i
        for function in program.functions
        for i in function.instructions
        if SPACES.get(i.opcode) in (SHARED, GENERIC) or i.opcode == "LDGSTS"
    ]


def _accesses(program: Program) -> int:
    return len(_shared(program))


def _grain(program: Program) -> int:
    """Bytes of the shortest access to shared memory."""
    return min((i.width // 8 for i in _shared(program)), default=4)
