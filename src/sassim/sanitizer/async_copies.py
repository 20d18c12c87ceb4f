"""Reads of what a copy to shared memory has not brought yet (``cp.async``).

The machine copies at once, and a GPU later: until the thread that copies waits for the group of
copies that it belongs to (``cp.async.wait_group``), nobody may read what it copies, and other
threads not before a barrier behind that. A copy counts as a write twice: when it begins, and when
it was waited for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.faults import FaultLocation, RaceError
from sassim.interpreter.context import Observer
from sassim.interpreter.lanes import distinct
from sassim.interpreter.operations.address_spaces import SHARED
from sassim.opcodes import ASYNC_COPY, COMMIT_GROUP, WAIT_GROUP, flagged_opcodes
from sassim.sass.operands import Immediate

if TYPE_CHECKING:
    from sassim.interpreter.context import Access, ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.state import ResidentBlocks
    from sassim.sanitizer.racecheck import Racecheck
    from sassim.sanitizer.shadow_memory import ShadowMemory
    from sassim.sass.listing import Instruction

_COPY_BARRIERS: Final = flagged_opcodes("copies")


@dataclass(frozen=True)
class _Copy:
    """Copies of one instruction: as many notes, slots, lanes and groups."""

    instruction: Instruction
    notes: Array
    slots: Array
    lanes: Array
    groups: Array


class AsyncCopyCheck(Observer):
    """Notes which copies each warp waits for."""

    def __init__(self, cells: ShadowMemory, races: Racecheck) -> None:
        super().__init__()
        self._cells = cells
        self._races = races

    def on_start(self, blocks: ResidentBlocks) -> None:
        """Nothing is copied yet."""
        cells = self._cells
        self._running = blocks
        self._idle = not cells.has_copies or cells.count == 0
        if self._idle:
            return
        self._group = np.zeros(cells.slots, np.int64)
        """The group that the next copy of each warp belongs to, from 1 on."""
        self._group[:] = 1
        self._ended = np.zeros(cells.slots, np.int64)
        """The last group of each warp that was waited for."""
        self._pending = np.zeros(cells.count, np.int64)
        """Of each cell the group of the copy that was not waited for yet; 0: there is none."""
        self._owner = np.zeros(cells.count, np.int64)
        """The warp that this copy is of."""
        self._under_way: list[_Copy] = []

    def on_access(self, access: Access) -> None:
        """Note a copy, and refuse to read what is still being copied."""
        i = access.instruction
        ignored = access.kind in ("store", "barrier") or i.opcode == "STSM"
        if access.space != SHARED or self._idle or ignored:
            return
        slots, rows = self._cells.find_slots(access.context)
        if not len(slots):
            return
        notes, lanes = self._cells.find_notes(
            slots, rows, access.addresses, access.active, access.size
        )
        if i.opcode == ASYNC_COPY:
            self._begin_copies(i, notes.reshape(-1), np.resize(lanes, notes.size))
        elif self._pending.any():
            self._refuse_early_read(i, notes.reshape(-1), np.resize(lanes, notes.size))

    def on_fence(self, c: ExecutionContext, i: Instruction) -> None:
        """A warp ends a group of copies, or waits until so many of its groups are left.

        A wait for an mbarrier includes the copies that arrive at it (ARRIVES).
        """
        if self._idle or i.opcode not in _COPY_BARRIERS:
            return
        slots, _ = self._cells.find_slots(c)
        if i.opcode != WAIT_GROUP:
            self._group[slots] += 1
        if i.opcode == COMMIT_GROUP:
            return
        left = next((each.bits for each in i.operands if isinstance(each, Immediate)), 0)
        self._ended[slots] = np.maximum(self._ended[slots], self._group[slots] - 1 - left)
        self._end_copies()

    def _begin_copies(self, i: Instruction, notes: Array, lanes: Array) -> None:
        cells, warp = np.divmod(notes, self._cells.warps)
        slots = cells // self._cells.of_block * self._cells.warps + warp
        groups = self._group[slots]
        inside = cells < self._cells.count
        self._pending[cells[inside]] = groups[inside]
        self._owner[cells[inside]] = slots[inside]
        self._under_way.append(_Copy(i, notes, slots, lanes, groups))

    def _end_copies(self) -> None:
        """Copies that were waited for are there."""
        left = []
        for each in self._under_way:
            ended = each.groups <= self._ended[each.slots]
            if not ended.any():
                left.append(each)
                continue
            cells = each.notes[ended] // self._cells.warps
            mine = self._pending[cells] == each.groups[ended]
            self._pending[cells[mine]] = 0
            self._races.note_writes(each.instruction, each.notes[ended], each.lanes[ended])
            if not ended.all():
                pending = ~ended
                arrays = (each.notes, each.slots, each.lanes, each.groups)
                left.append(_Copy(each.instruction, *(values[pending] for values in arrays)))
        self._under_way = left

    def _refuse_early_read(self, i: Instruction, notes: Array, lanes: Array) -> None:
        cells, warps = np.divmod(notes, self._cells.warps)
        early = self._pending[np.minimum(cells, self._cells.count - 1)] > 0
        if not early.any():
            return
        first = int(early.argmax())
        cell = int(cells[first])
        block, at = divmod(cell, self._cells.of_block)
        row = self._cells.row(block, int(warps[first]))
        owner = int(self._owner[cell]) % self._cells.warps
        raise RaceError(
            self._races.last_writer(cell * self._cells.warps + owner),
            FaultLocation(i, self._running.thread_id(row, int(lanes[first]))),
            address=at * self._cells.grain,
            size=len(distinct(cells[early & (cells // self._cells.of_block == block)]))
            * self._cells.grain,
            copies=True,
        )
