"""Threads of a block that touch the same bytes of shared memory with no barrier between.

Between two barriers of a block its warps are in no order: where two of them touch a byte and one
writes it, the result is chance. What each warp touched, and when, is noted for each byte of shared
memory, or for as many as the shortest access of the kernel has. Not found are races of threads of
one warp, those in global memory, and those in blocks that are not looked at.

Where threads wait for each other in a way of their own (a fence, an mbarrier, the barrier of a
cluster, a barrier of some of the block's threads, a loop until a value in shared memory changes) it
counts as a barrier of the block: a race may be missed then, and none is made up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.faults import FaultLocation, RaceError
from sassim.interpreter.context import Observer
from sassim.interpreter.lanes import LANES
from sassim.interpreter.operations.address_spaces import SHARED
from sassim.opcodes import opcodes_of_category
from sassim.sanitizer.shadow_memory import is_atomic, select_rows

if TYPE_CHECKING:
    from sassim.interpreter.context import Access, BulkCopy, ExecutionContext, SharedStore
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.state import ResidentBlocks
    from sassim.sanitizer.shadow_memory import ShadowMemory
    from sassim.sass.listing import Instruction

OF_COPIES: Final = opcodes_of_category("copy-wait")
"""Opcodes by which a thread waits for its own copies, and for nobody else."""
_LANE_BITS: Final = 5


class Racecheck(Observer):
    """Looks for races of warps in those blocks that ``cells`` chooses."""

    def __init__(self, cells: ShadowMemory) -> None:
        super().__init__()
        self._cells = cells
        self._warps = cells.warps
        self._numbers: dict[int, int] = {}
        self._instructions: list[Instruction] = []
        self._shift = _LANE_BITS + cells.instructions.bit_length()

    def on_start(self, blocks: ResidentBlocks) -> None:
        """Nothing is touched yet."""
        self._running, cells = blocks, self._cells
        alone = self._warps == 1 and not cells.has_copies
        self._idle = cells.count == 0 or alone
        if self._idle:
            return
        # Who touched a cell last, by warp: time, then instruction, then lane.
        size = cells.count * self._warps
        self._reads, self._writes, self._atomics = (np.zeros(size, np.uint32) for _ in range(3))
        self._values = np.zeros((cells.slots, cells.bytes), np.uint8)
        self._time = 1
        self._since = np.full(len(cells.chosen), self._time << self._shift, np.uint32)
        # Cells that were changed since the last barrier.
        shape = len(cells.chosen), cells.of_block
        self._written, self._combined = (np.zeros(shape, np.bool_) for _ in range(2))
        blocks.block_barriers.listeners.append(self._pass_barrier)

    def on_access(self, access: Access) -> None:
        """Note a read, or an atomic operation; what else writes is noted once it has."""
        if access.space != SHARED or self._idle:
            return
        i, kind = access.instruction, access.kind
        self._now, self._is_noted = i, not (is_atomic(i) or kind == "barrier")
        if kind in ("store", "copy") or i.opcode == "STSM":
            return
        if kind == "barrier" or id(i) in self._cells.spins:
            self.on_fence(access.context, i)
            return
        slots, rows = self._cells.find_slots(access.context)
        if not len(slots):
            return
        notes, lanes = self._cells.find_notes(
            slots, rows, access.addresses, access.active, access.size
        )
        if is_atomic(i) or id(i) in self._cells.compared_loads:
            self._note(self._atomics, i, notes, lanes)
            np.put(self._combined, notes // self._warps, True, mode="clip")
        else:
            self._note(self._reads, i, notes, lanes)

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """Have what a copy in bulk writes noted once it has."""
        self._now, self._is_noted = copy.instruction, True

    def on_shared_store(self, store: SharedStore) -> None:
        """Note who wrote what."""
        if self._idle or not self._is_noted:
            return
        c, active, values = store.context, store.active, store.values
        slots, rows = self._cells.find_slots(c)
        if not len(slots):
            return
        notes, lanes = self._cells.find_notes(slots, rows, store.addresses, active, store.size)
        self.note_writes(self._now, notes, lanes)
        at = select_rows(store.addresses, rows) + slots[:, None] * self._cells.bytes
        if values.shape[:2] != (c.warps, LANES):
            values = np.broadcast_to(values, (c.warps, LANES, *values.shape[2:]))
        values = values[rows]
        if active is not None or at.shape[1] != LANES:
            at = np.broadcast_to(at, (len(slots), LANES))
            mask = c.active_lanes[rows] if active is None else active[rows]
            at, values = at[mask], values[mask]
        raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1, store.size)
        self._values.reshape(-1, store.size)[at.reshape(-1) // store.size] = raw

    def note_writes(self, i: Instruction, notes: Array, lanes: Array) -> None:
        """Note who wrote, now or by a copy that has ended now."""
        self._note(self._writes, i, notes, lanes)
        np.put(self._written, notes // self._warps, True)

    def on_fence(self, c: ExecutionContext, i: Instruction) -> None:
        """Nobody knows here whom a fence is for."""
        if self._idle or i.opcode in OF_COPIES:
            return
        slots, _ = self._cells.find_slots(c)
        blocks = np.zeros(len(self._cells.chosen), np.bool_)
        blocks[slots // self._warps] = True
        self._check_interval(blocks)

    def on_end(self) -> None:
        """Look at what was touched behind the last barrier."""
        if not self._idle:
            self._check_interval(np.ones(len(self._cells.chosen), np.bool_))

    def last_writer(self, note: int) -> FaultLocation:
        """The thread that wrote last what a note is of."""
        cell, warp = divmod(note, self._warps)
        return self._locate(cell, warp, int(self._writes[note]))

    def _pass_barrier(self, lanes: Array) -> None:
        """Nothing before a barrier races with anything behind it."""
        blocks: Array = np.any(lanes.reshape(-1, self._warps * LANES), axis=1)
        self._check_interval(blocks[self._cells.chosen])

    def _note(self, table: Array, i: Instruction, notes: Array, lanes: Array) -> None:
        number = self._numbers.get(id(i))
        if number is None:
            number = self._numbers[id(i)] = len(self._instructions)
            self._instructions.append(i)
        stamp = np.uint32((self._time << self._shift) + (number << _LANE_BITS))
        # An access outside of shared memory is reported when it is executed.
        np.put(table, notes, lanes + stamp, mode="clip")

    def _check_interval(self, blocks: Array) -> None:
        """Look at what was touched since their last barrier, in blocks that meet now."""
        if len(cells := self._take_changed(self._written, blocks)):
            self._check_writes(cells)
        if len(cells := self._take_changed(self._combined, blocks)):
            self._check_atomics(cells)
        self._time += 1
        if (self._time + 1) << self._shift > np.iinfo(np.uint32).max:
            self._restart_time()
        self._since[blocks] = self._time << self._shift

    def _take_changed(self, changed: Array, blocks: Array) -> Array:
        """Changed cells of some blocks, which are not any more."""
        if not changed.any():
            return np.zeros(0, np.int64)
        if blocks.all():
            cells = np.flatnonzero(changed)
            changed[:] = False
            return cells
        cells = np.flatnonzero(changed & blocks[:, None])
        changed[blocks] = False
        return cells

    def _restart_time(self) -> None:
        for table in (self._reads, self._writes, self._atomics, self._written, self._combined):
            table[:] = 0
        self._time = 1
        self._since[:] = 1 << self._shift

    def _touched_since_barrier(self, table: Array, cells: Array) -> Array:
        """Which warps touched cells since the last barrier of their block."""
        since = self._since[cells // self._cells.of_block][:, None]
        touched: Array = table.reshape(-1, self._warps)[cells] >= since
        return touched

    def _check_writes(self, cells: Array) -> None:
        writes = self._touched_since_barrier(self._writes, cells)
        others = self._touched_since_barrier(self._reads, cells) | self._touched_since_barrier(
            self._atomics, cells
        )
        several = (writes | others).sum(axis=1) > 1
        if not several.any():
            return
        cells, writes, others = cells[several], writes[several], others[several]
        racing = others.any(axis=1) | self._values_differ(cells, writes)
        if racing.any():
            raise self._race_error(cells[racing], self._writes)

    def _check_atomics(self, cells: Array) -> None:
        """Look at cells with atomic operations: those race with plain reads alone here."""
        reads = self._touched_since_barrier(self._reads, cells)
        several = (self._touched_since_barrier(self._atomics, cells) | reads).sum(axis=1) > 1
        racing = several & reads.any(axis=1)
        if racing.any():
            raise self._race_error(cells[racing], self._atomics)

    def _values_differ(self, cells: Array, writes: Array) -> Array:
        """Whether warps wrote different values: the same value twice does no harm."""
        block, cell = np.divmod(cells, self._cells.of_block)
        values = self._values.reshape(-1, self._warps, self._cells.of_block, self._cells.grain)
        each = values[block, :, cell]
        first = each[np.arange(len(cells)), writes.argmax(axis=1)][:, None]
        differ: Array = ((each != first).any(axis=2) & writes).any(axis=1)
        return differ

    def _race_error(self, cells: Array, changing: Array) -> RaceError:
        """The error for cells that warps race for; ``changing`` notes who changed them."""
        cell = int(cells[0])
        block, at = divmod(cell, self._cells.of_block)
        since = self._since[block]
        changed = changing.reshape(-1, self._warps)[cell]
        tables = (self._reads, self._atomics, self._writes)
        pairs = (
            (int(a), int(b), stamps)
            for stamps in (table.reshape(-1, self._warps)[cell] for table in tables)
            for a in np.flatnonzero(changed >= since)
            for b in np.flatnonzero(stamps >= since)
            if a != b
        )
        one, other, stamps = next(pairs)
        return RaceError(
            self._locate(cell, one, int(changed[one])),
            self._locate(cell, other, int(stamps[other])),
            address=at * self._cells.grain,
            size=int((cells // self._cells.of_block == block).sum()) * self._cells.grain,
        )

    def _locate(self, cell: int, warp: int, stamp: int) -> FaultLocation:
        """Who touched something, and by which instruction."""
        i = self._instructions[(stamp & (1 << self._shift) - 1) >> _LANE_BITS]
        row = self._cells.row(cell // self._cells.of_block, warp)
        return FaultLocation(i, self._running.thread_id(row, stamp & (LANES - 1)))
