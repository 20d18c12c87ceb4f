"""What an instruction works on, the warps with their registers, and what is reported of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sassim.errors import SassimError
from sassim.interpreter.lanes import ALWAYS, LANES, as_slice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sassim.interpreter.lanes import Array
    from sassim.interpreter.mbarriers import PhaseEvents
    from sassim.interpreter.state import RegisterFile, ResidentBlocks
    from sassim.sass.listing import Instruction
    from sassim.sass.program import BasicBlock

    Execute = Callable[["ExecutionContext"], None]


class NotKnownError(SassimError):
    """An instruction, or a form of one, that cannot be carried out; its result is not guessed."""

    def __init__(self, instruction: Instruction, why: str = "is unknown") -> None:
        super().__init__(f"the instruction {instruction.text!r} {why}")
        self.instruction = instruction


@dataclass(frozen=True, slots=True)
class Access:
    """Warps read or write memory: ``size`` bytes by each active lane.

    ``addresses`` are bytes, of shape (warps or 1, lanes or 1); ``active`` is the active mask, of
    shape (warps, lanes), ``None`` where all lanes are active. ``space`` is global, shared or local,
    or cluster: shared memory of another block. ``kind`` is load, store, copy (``cp.async``),
    atomic, reduction, count (adds one for each thread), compare (compare-and-swap), barrier
    (``mbarrier``), or matrix (``ldmatrix``, ``stmatrix``): each active lane gives the address of a
    row of 16 bytes, 8 lanes in a row those of one matrix of 8 by 8.
    """

    context: ExecutionContext
    instruction: Instruction
    space: str
    kind: str
    addresses: Array
    active: Array | None
    size: int

    @property
    def lanes(self) -> Array:
        """The active mask as an array of shape (warps, lanes)."""
        if self.active is not None:
            return self.active
        return np.ones((self.context.warps, LANES), np.bool_)


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """Warps copy bytes from global to shared memory, or back (``cp.async.bulk``, tensor maps).

    Addresses and sizes have a row for each warp, or one for all, and a column for each stretch of
    bytes. ``kind`` is load, store or reduction.
    """

    context: ExecutionContext
    instruction: Instruction
    global_addresses: Array
    sizes: Array
    warps: Array
    """Whether each warp of the context copies."""
    kind: str
    times: Array | None = None
    """How many blocks of a cluster each warp copies to; ``None``: one."""


@dataclass(frozen=True, slots=True)
class SharedStore:
    """Lanes have written their values to shared memory, those of copies and atomics as well."""

    context: ExecutionContext
    addresses: Array
    values: Array
    active: Array | None
    size: int


class Observer:
    """Takes events of the interpreter; this one counts only executed instructions of warps."""

    def __init__(self) -> None:
        self.executed = 0

    def wrap(self, i: Instruction, step: Execute) -> Execute:  # noqa: ARG002
        """Return what is done in place of a step that executes an instruction."""
        return step

    def on_start(self, blocks: ResidentBlocks) -> None:
        """Blocks start to run."""

    def on_basic_block(self, c: ExecutionContext, block: BasicBlock) -> None:
        """Warps execute a basic block once."""
        self.executed += c.warps * (len(block.body) + (block.end is not None))

    def on_guard(self, c: ExecutionContext, i: Instruction, guard: Array) -> None:
        """An instruction is executed by those threads for which its guard holds."""

    def on_branch(self, c: ExecutionContext, i: Instruction, predicate: Array) -> None:
        """Some threads take a branch."""

    def on_constant_load(
        self, c: ExecutionContext, i: Instruction, offsets: Array, active: Array | None
    ) -> None:
        """Constant memory is read at offsets that may differ between lanes."""

    def on_access(self, access: Access) -> None:
        """Memory is read or written."""

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        """Bytes are copied in bulk."""

    def on_shared_store(self, store: SharedStore) -> None:
        """Shared memory was written."""

    def on_arrival(self, i: Instruction, lanes: Array) -> None:
        """Threads, of all warps, arrive at a barrier of their block."""

    def on_phases(
        self, c: ExecutionContext, arrivals: Sequence[PhaseEvents], waits: PhaseEvents | None
    ) -> None:
        """Warps come to barriers in shared memory, by one instruction, or wait for their phases."""

    def on_fence(self, c: ExecutionContext, i: Instruction) -> None:
        """Threads order their accesses, or wait, beside the barriers of their block."""

    def on_end(self) -> None:
        """All threads have ended."""


class ObserverGroup(Observer):
    """Passes each event on to several observers."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        super().__init__()
        self._observers = observers

    def on_start(self, blocks: ResidentBlocks) -> None:
        for observer in self._observers:
            observer.on_start(blocks)

    def on_basic_block(self, c: ExecutionContext, block: BasicBlock) -> None:
        for observer in self._observers:
            observer.on_basic_block(c, block)

    def on_access(self, access: Access) -> None:
        for observer in self._observers:
            observer.on_access(access)

    def on_bulk_copy(self, copy: BulkCopy) -> None:
        for observer in self._observers:
            observer.on_bulk_copy(copy)

    def on_shared_store(self, store: SharedStore) -> None:
        for observer in self._observers:
            observer.on_shared_store(store)

    def on_arrival(self, i: Instruction, lanes: Array) -> None:
        for observer in self._observers:
            observer.on_arrival(i, lanes)

    def on_phases(
        self, c: ExecutionContext, arrivals: Sequence[PhaseEvents], waits: PhaseEvents | None
    ) -> None:
        for observer in self._observers:
            observer.on_phases(c, arrivals, waits)

    def on_fence(self, c: ExecutionContext, i: Instruction) -> None:
        for observer in self._observers:
            observer.on_fence(c, i)

    def on_end(self) -> None:
        for observer in self._observers:
            observer.on_end()


class GatheredRegisters(dict[int, "Array"]):
    """Registers of some warps out of a file, taken when they are first read."""

    def __init__(self, file: RegisterFile, rows: slice | Array) -> None:
        super().__init__()
        self.file = file
        self.rows = rows
        self.gathered: dict[int, Array] = {}

    def __missing__(self, index: int) -> Array:
        whole = self.file[index]
        values = whole if whole.shape[0] == 1 else whole[self.rows]
        self[index] = self.gathered[index] = values
        return values

    def written(self) -> list[tuple[int, Array]]:
        """The registers that hold something else now."""
        gathered = self.gathered
        return [(index, value) for index, value in self.items() if value is not gathered.get(index)]


class ExecutionContext:
    """Some warps at the same instruction.

    ``rows`` are their numbers, ``None`` where they are all; ``mask`` the lanes that take part, as
    an array of warps by 32, ``None`` where all do.
    """

    __slots__ = (
        "blocks",
        "lanes",
        "mask",
        "observer",
        "p",
        "q",
        "r",
        "rows",
        "u",
        "warps",
        "where",
    )

    def __init__(self, blocks: ResidentBlocks, observer: Observer, lanes: Array) -> None:
        """``lanes`` are those of all warps that take part."""
        self.blocks = blocks
        self.observer = observer
        self.lanes = lanes
        self.rows: Array | None = None
        self.mask: Array | None = None
        self.where: slice | Array = slice(None)
        """The rows as an index of arrays of all warps."""
        self.warps = blocks.warps
        if lanes.all():
            self.r: dict[int, Array] = blocks.registers
            self.p: dict[int, Array] = blocks.predicates
            self.u: dict[int, Array] = blocks.uniform
            self.q: dict[int, Array] = blocks.uniform_predicates
            return
        some = lanes.any(axis=1)
        if some.all():
            self.mask = lanes
        else:
            self.rows = np.flatnonzero(some)
            self.where = as_slice(self.rows)
            self.warps = len(self.rows)
            mask = lanes[self.where]
            self.mask = None if mask.all() else mask
        self.r = GatheredRegisters(blocks.registers, self.where)
        self.p = GatheredRegisters(blocks.predicates, self.where)
        self.u = GatheredRegisters(blocks.uniform, self.where)
        self.q = GatheredRegisters(blocks.uniform_predicates, self.where)

    @property
    def active_lanes(self) -> Array:
        """The lanes that take part, as warps by 32."""
        return self.broadcast(ALWAYS) if self.mask is None else self.mask

    @property
    def alive(self) -> Array:
        """The lanes whose threads have not ended, as warps by 32."""
        return self.blocks.alive[self.where]

    def active_mask(self, guard: Array | None) -> Array | None:
        """The lanes that carry out an instruction, as warps by 32; ``None``: all."""
        if guard is None:
            return self.mask
        return self.broadcast(guard) if self.mask is None else self.mask & guard

    def broadcast(self, values: Array) -> Array:
        """Values for every lane, as warps by 32; not to be written."""
        shape = self.warps, LANES
        return values if values.shape == shape else np.broadcast_to(values, shape)

    def select_warps(self, values: Array) -> Array:
        """The rows of these warps, out of an array of all warps or of one row for all."""
        return values if values.shape[0] == 1 else values[self.where]

    def to_all_warps(self, values: Array | None) -> Array:
        """What the lanes of these warps have (``None``: taking part) as that of all warps."""
        if values is None:
            return self.lanes
        if self.rows is None:
            return values
        everywhere = np.zeros(self.lanes.shape, values.dtype)
        everywhere[self.where] = values
        return everywhere

    def resume(self, to: int, lanes: Array | None = None) -> None:
        """Have lanes of these warps (``None``: those that take part) go on at an address."""
        self.blocks.resume(to, self.to_all_warps(lanes))

    def split(self, predicate: Array) -> tuple[Array | None, Array | None]:
        """Lanes of all warps for which something holds, and the rest; ``None``: there are none."""
        if predicate.shape == (1, 1):
            return (self.lanes, None) if predicate[0, 0] else (None, self.lanes)
        yes = self.active_lanes & predicate
        no = self.active_lanes & ~predicate
        return (
            self.to_all_warps(yes) if yes.any() else None,
            self.to_all_warps(no) if no.any() else None,
        )

    def is_value_unused(self, i: Instruction) -> bool:
        """Whether nothing depends on the values that an access moves."""
        return id(i) in self.blocks.unused

    def write_back(self) -> None:
        """Write back the registers of these warps where they are not all, or not with all lanes."""
        for gathered in (self.r, self.p, self.u, self.q):
            if isinstance(gathered, GatheredRegisters):
                mask = self.mask if gathered is self.r or gathered is self.p else None
                for index, value in gathered.written():
                    gathered.file[index] = self._merge(gathered.file[index], value, mask)

    def _merge(self, old: Array, new: Array, mask: Array | None) -> Array:
        """What a register holds then: written into the array that it is, if that is its own."""
        warps = self.blocks.warps
        lanes = 1 if mask is None and old.shape[1] == 1 and new.shape[1] == 1 else LANES
        own = old.flags.owndata and old.flags.writeable
        if old.shape != (warps, lanes) or not own:
            old = np.broadcast_to(old, (warps, lanes)).copy()
        if mask is None:
            old[self.where] = new
        elif self.rows is None:
            np.copyto(old, new, where=mask)
        elif isinstance(self.where, slice):
            np.copyto(old[self.where], new, where=mask)
        else:
            old[self.where] = np.where(mask, new, old[self.where])
        return old
