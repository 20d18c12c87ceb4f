"""What an instruction works on: registers and predicates of some warps, and who takes part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.predict.machine.arrays import ALWAYS, LANES, as_slice

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.blocks import Blocks, File
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block


class NotKnownError(KernelprofError):
    """An instruction, or a form of one, that cannot be carried out; its result is not guessed."""

    def __init__(self, instruction: Instruction, why: str = "is not known here") -> None:
        super().__init__(f"the instruction {instruction.text!r} {why}")
        self.instruction = instruction


class Counters:
    """What running some blocks is counted as. This one counts nothing but what was carried out."""

    def __init__(self) -> None:
        self.executed = 0

    def begin(self, blocks: Blocks) -> None:
        """Blocks begin to run."""

    def piece(self, c: Context, block: Block) -> None:
        """A straight piece of code is carried out."""
        self.executed += c.warps * (len(block.body) + (block.end is not None))

    def predicated(self, c: Context, i: Instruction, guard: Array) -> None:
        """An instruction is carried out by those threads for which its guard holds."""

    def branch(self, c: Context, i: Instruction, taken: Array) -> None:
        """A branch is taken by some threads."""

    def constant(self, c: Context, i: Instruction, offsets: Array, taking: Array | None) -> None:
        """Constant memory is read at offsets that may differ between lanes."""

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
        """Memory is read or written: ``size`` bytes by each lane that takes part (``None``: all).

        ``space`` is global, shared or local. ``kind`` is load, store, copy (``cp.async``), atomic,
        reduction, count (adds one for each thread), compare (compare-and-swap), or matrix: then
        each lane that takes part gives the address of a row of 16 bytes of a matrix of 8 by 8
        (``ldmatrix``, ``stmatrix``), 8 lanes after each other those of one matrix; or barrier
        (``mbarrier``). Shared memory of another block is the space cluster.
        """

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
        """Warps that take part copy bytes from global to shared memory, or back (``inward``).

        Addresses and sizes are columns, or one for all.
        """

    def stored(
        self, c: Context, addresses: Array, values: Array, *, taking: Array | None, size: int
    ) -> None:
        """Lanes have written their values to shared memory, those of copies and atomics as well."""

    def arrived(self, i: Instruction, lanes: Array) -> None:
        """Threads, of all warps, have come to a barrier of their block."""

    def ordered(self, c: Context, i: Instruction) -> None:
        """Threads order their accesses, or wait, beside the barriers of their block."""

    def end(self) -> None:
        """All threads have ended."""


class Gathered(dict[int, "Array"]):
    """Registers of some warps out of a file, taken when they are first read."""

    def __init__(self, file: File, rows: slice | Array) -> None:
        super().__init__()
        self.file = file
        self.rows = rows
        self.taken: dict[int, Array] = {}

    def __missing__(self, index: int) -> Array:
        whole = self.file[index]
        found = whole if whole.shape[0] == 1 else whole[self.rows]
        self[index] = self.taken[index] = found
        return found

    def written(self) -> list[tuple[int, Array]]:
        """The registers that hold something else now."""
        taken = self.taken
        return [(index, value) for index, value in self.items() if value is not taken.get(index)]


class Context:
    """Some warps at the same instruction.

    ``rows`` are their numbers, ``None`` where they are all; ``mask`` the lanes that take part, as
    an array of warps by 32, ``None`` where all do.
    """

    __slots__ = (
        "blocks",
        "counters",
        "lanes",
        "mask",
        "p",
        "q",
        "r",
        "rows",
        "u",
        "warps",
        "where",
    )

    def __init__(self, blocks: Blocks, counters: Counters, lanes: Array) -> None:
        """``lanes`` are those of all warps that take part."""
        self.blocks = blocks
        self.counters = counters
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
        self.r = Gathered(blocks.registers, self.where)
        self.p = Gathered(blocks.predicates, self.where)
        self.u = Gathered(blocks.uniform, self.where)
        self.q = Gathered(blocks.uniform_predicates, self.where)

    @property
    def here(self) -> Array:
        """The lanes that take part, as warps by 32."""
        return self.every(ALWAYS) if self.mask is None else self.mask

    @property
    def alive(self) -> Array:
        """The lanes whose threads have not ended, as warps by 32."""
        return self.blocks.alive[self.where]

    def active(self, guard: Array | None) -> Array | None:
        """The lanes that carry out an instruction, as warps by 32; ``None``: all."""
        if guard is None:
            return self.mask
        if self.mask is None:
            return np.broadcast_to(guard, (self.warps, LANES))
        return self.mask & guard

    def every(self, values: Array) -> Array:
        """Values for every lane, as warps by 32."""
        return np.broadcast_to(values, (self.warps, LANES))

    def of_warps(self, values: Array) -> Array:
        """The rows of these warps, out of an array of all warps or of one row for all."""
        return values if values.shape[0] == 1 else values[self.where]

    def spread(self, lanes: Array | None) -> Array:
        """Lanes of these warps (``None``: those that take part) as lanes of all warps."""
        if lanes is None:
            return self.lanes
        if self.rows is None:
            return lanes
        found = np.zeros(self.lanes.shape, np.bool_)
        found[self.where] = lanes
        return found

    def go(self, to: int, lanes: Array | None = None) -> None:
        """Have lanes of these warps (``None``: those that take part) go on at an address."""
        self.blocks.go(to, self.spread(lanes))

    def divided(self, taken: Array) -> tuple[Array | None, Array | None]:
        """Lanes of all warps for which something holds, and the rest; ``None``: there are none."""
        if taken.shape == (1, 1):
            return (self.lanes, None) if taken[0, 0] else (None, self.lanes)
        yes = self.here & taken
        no = self.here & ~taken
        return (
            self.spread(yes) if yes.any() else None,
            self.spread(no) if no.any() else None,
        )

    def is_unused(self, i: Instruction) -> bool:
        """Whether nothing depends on the values that an access moves."""
        return id(i) in self.blocks.unused

    def keep(self) -> None:
        """Write back the registers of these warps where they are not all, or not with all lanes."""
        for gathered in (self.r, self.p, self.u, self.q):
            if isinstance(gathered, Gathered):
                mask = self.mask if gathered is self.r or gathered is self.p else None
                for index, value in gathered.written():
                    gathered.file[index] = self._merged(gathered.file[index], value, mask)

    def _merged(self, old: Array, new: Array, mask: Array | None) -> Array:
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
