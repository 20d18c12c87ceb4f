"""Some blocks of a launch, run side by side.

Each warp's threads are where they are; of all places where some thread can go on, the lowest in the
code goes first. A straight piece of code is carried out for all warps there at once. What a warp
does once on a GPU it does once here: threads of a warp that meet at a convergence barrier go on
together (BSSY, BSYNC).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.predict.machine.barriers import ConvergenceBarriers
from kernelprof.predict.machine.context import (
    LANES,
    NEVER,
    NOTHING,
    Context,
    File,
    Gathered,
    NotKnownError,
    guard_of,
    predicate,
    whole,
)
from kernelprof.predict.machine.memory import Constants, OutsideError, PrivateMemory
from kernelprof.predict.machine.operations import operations
from kernelprof.predict.machine.uses import MEMORY
from kernelprof.predict.sass.operands import Barrier, Immediate, Label, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.predict.counts import Counters
    from kernelprof.predict.machine.context import Array
    from kernelprof.predict.machine.launch import Launch
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.needed import Needed
    from kernelprof.predict.sass.program import Block

    End = Callable[["Context", "_Piece"], None]

_PATIENCE: Final = 512
"""Pieces of code after which those who wait behind a loop get their turn: they may be what it
waits for."""


class DeadlockError(KernelprofError):
    """No thread can go on, and not all have ended."""


class EndlessError(KernelprofError):
    """More was carried out than a limit allows."""


@dataclass
class State:
    """Registers of all warps."""

    registers: File = field(default_factory=lambda: File(NOTHING))
    predicates: File = field(default_factory=lambda: File(NEVER))
    uniform: File = field(default_factory=lambda: File(NOTHING))
    uniform_predicates: File = field(default_factory=lambda: File(NEVER))


@dataclass(frozen=True)
class _Piece:
    """A straight piece of code, made ready to be carried out."""

    block: Block
    steps: tuple[tuple[Instruction, Step], ...]
    end: End | None


class Machine:
    """Blocks of one launch. ``numbers`` says which of the grid's, in the order that x runs fastest.

    Raises :class:`NotKnownError`, :class:`OutsideError`, :class:`DeadlockError` and
    :class:`EndlessError`.
    """

    def __init__(
        self,
        launch: Launch,
        numbers: Sequence[int],
        counters: Counters,
        needed: Needed | None = None,
    ) -> None:
        self.launch = launch
        self.program = launch.program
        self.numbers = np.asarray(numbers, np.int64)
        self.counters = counters
        self.memory = launch.memory
        self.constants = Constants(launch.constants)
        self._needed = needed
        self._unused = frozenset() if needed is None else needed.unused
        threads = math.prod(launch.block)
        self.warps_of_block = -(-threads // LANES)
        self.warps = len(self.numbers) * self.warps_of_block
        self.every_row = np.arange(self.warps)
        self._block_row = np.repeat(np.arange(len(self.numbers)), self.warps_of_block)[:, None]
        self._thread_row = np.arange(self.warps * LANES).reshape(self.warps, LANES)
        self.shared = PrivateMemory(len(self.numbers), launch.shared_bytes, "shared memory")
        self.local = PrivateMemory(self.warps * LANES, launch.local_bytes, "local memory")
        self.state = State()
        self.barriers = ConvergenceBarriers(self.warps)
        self.alive = self._thread_of_block() < threads
        self._pending: dict[int, Array] = {0: self.alive.copy()}
        self._at_block_barrier: dict[tuple[int, int, int | None], Array] = {}
        self._pieces: dict[int, _Piece] = {}
        self._specials: dict[str, Array | None] = {}
        self.now: Instruction | None = None
        self._turn = 0
        counters.begin(self)

    # What operations ask for.

    def is_unused(self, i: Instruction) -> bool:
        """Whether nothing depends on the values that an access moves."""
        return i.address in self._unused

    def block_of(self, c: Context) -> Array:
        """The block of each warp, as one column."""
        return self._block_row if c.rows is None else self._block_row[c.rows]

    def thread_of(self, c: Context) -> Array:
        """The number of each thread among all that run."""
        return self._thread_row if c.rows is None else self._thread_row[c.rows]

    def special(self, name: str, c: Context) -> Array | None:
        """A special register for the warps of a context; ``None`` where it is not known."""
        if name not in self._specials:
            self._specials[name] = self._special(name)
        values = self._specials[name]
        if values is None or c.rows is None or values.shape[0] == 1:
            return values
        return values[c.rows]

    def _thread_of_block(self) -> Array:
        """The number of each thread in its block."""
        inside = np.arange(self.warps_of_block * LANES).reshape(self.warps_of_block, LANES)
        return np.tile(inside, (len(self.numbers), 1))

    def _special(self, name: str) -> Array | None:
        kind, _, axis = name.removeprefix("SR_").partition(".")
        if kind == "TID" and axis:
            x, y, _ = self.launch.block
            thread = self._thread_of_block()
            values = {"X": thread % x, "Y": thread // x % y, "Z": thread // (x * y)}[axis]
            return _compact(values.astype(np.uint32))
        if kind == "CTAID" and axis:
            x, y, _ = self.launch.grid
            number = self.numbers[self._block_row[:, 0]][:, None]
            values = {"X": number % x, "Y": number // x % y, "Z": number // (x * y)}[axis]
            return _compact(values.astype(np.uint32))
        lanes = np.arange(LANES, dtype=np.uint64)
        masks = {
            "LANEID": lanes,
            "EQMASK": np.uint64(1) << lanes,
            "LTMASK": (np.uint64(1) << lanes) - np.uint64(1),
            "LEMASK": (np.uint64(2) << lanes) - np.uint64(1),
            "GTMASK": 0xFFFFFFFF ^ ((np.uint64(2) << lanes) - np.uint64(1)),
            "GEMASK": 0xFFFFFFFF ^ ((np.uint64(1) << lanes) - np.uint64(1)),
        }
        if kind in masks:
            return masks[kind].astype(np.uint32)[None, :]
        if kind == "CgaCtaId":
            return None if self.launch.cluster else NOTHING
        if kind in ("SWINHI", "SWINLO"):
            return np.full((1, 1), self.launch.shared_window >> 32, np.uint32)
        return None

    # Running.

    def run(self, limit: int | None = None) -> None:
        """Run to the end of all threads; ``limit`` is of warp instructions."""
        with np.errstate(all="ignore"):
            while self._pending:
                self.step()
                if limit is not None and self.counters.executed > limit:
                    raise EndlessError(f"the kernel carried out more than {limit} instructions")
        if self.barriers.waiting or self._at_block_barrier:
            raise DeadlockError("threads wait for others that never come")

    def step(self) -> None:
        """Carry out one piece of code."""
        at = self._next()
        self._carry_out(at, self._pending.pop(at))

    def _next(self) -> int:
        """Where to go on: the lowest address, and now and then another's turn."""
        self._turn += 1
        if self._turn % _PATIENCE == 0 and len(self._pending) > 1:
            return list(self._pending)[self._turn // _PATIENCE % len(self._pending)]
        return min(self._pending)

    def _carry_out(self, at: int, lanes: Array) -> None:
        piece = self._pieces.get(at) or self._prepared(at)
        everywhere = bool(lanes.all())
        rows: Array | None = None
        mask: Array | None = None
        if not everywhere:
            some = lanes.any(axis=1)
            rows = None if some.all() else np.flatnonzero(some)
            mask = lanes if rows is None else lanes[rows]
        c = Context(self, rows, mask)
        self.counters.piece(c, piece.block)
        try:
            for self.now, step in piece.steps:
                step(c)
            self.now = piece.block.end
            if piece.end is None:
                self.go(c, piece.block.follows, lanes)
            else:
                piece.end(c, piece)
        except OutsideError as error:
            raise self.explained(error, c) from error
        if not everywhere:
            self._write_back(c)

    def explained(self, error: OutsideError, c: Context) -> KernelprofError:
        """The error with instruction, line and thread."""
        error.instruction = self.now  # type: ignore[attr-defined]
        del c
        return error

    def go(self, c: Context, to: int, lanes: Array | None) -> None:
        """Have threads go on at an address; ``lanes`` are of all warps, or of a context's."""
        if lanes is None:
            lanes = self.spread(c, c.mask)
        found = self._pending.get(to)
        self._pending[to] = lanes if found is None else found | lanes

    def spread(self, c: Context, mask: Array | None) -> Array:
        """Lanes of a context as lanes of all warps."""
        if c.rows is None:
            return np.ones((self.warps, LANES), np.bool_) if mask is None else mask
        found = np.zeros((self.warps, LANES), np.bool_)
        found[c.rows] = True if mask is None else mask
        return found

    def _write_back(self, c: Context) -> None:
        state = self.state
        for gathered, per_warp in ((c.r, False), (c.p, False), (c.u, True), (c.q, True)):
            if not isinstance(gathered, Gathered):
                continue
            for index, value in gathered.written():
                gathered.file[index] = self._merged(gathered.file[index], value, c, per_warp)
        del state

    def _merged(self, old: Array, new: Array, c: Context, per_warp: bool) -> Array:
        whole_rows = per_warp or c.mask is None or bool(c.mask.all())
        if whole_rows and old.shape[1] == 1 and new.shape[1] == 1:
            total = np.broadcast_to(old, (self.warps, 1)).copy()
            total[slice(None) if c.rows is None else c.rows] = new
            return total
        total = np.broadcast_to(old, (self.warps, LANES)).copy()
        which = slice(None) if c.rows is None else c.rows
        total[which] = new if whole_rows else np.where(c.mask, new, total[which])  # type: ignore[arg-type]
        return total

    # Ways to go on.

    def _prepared(self, at: int) -> _Piece:
        block = self.program.blocks.get(at)
        if block is None:
            raise KernelprofError(f"there is no code at {at:#x}")
        table = operations()
        steps = []
        for each in block.body:
            if self._is_skipped(block, each):
                continue
            found = table.get(each.opcode)
            if each.guard is not None:
                steps.append((each, self._noting(each)))
            steps.append((each, _unknown(each) if found is None else _made(found, each)))
        end = None if block.end is None else self._end(block.end, block)
        piece = self._pieces[at] = _Piece(block, tuple(steps), end)
        return piece

    def _is_skipped(self, block: Block, i: Instruction) -> bool:
        """Whether nothing that counts depends on what an instruction does."""
        if self._needed is None or i.opcode in MEMORY:
            return False
        return self.program.base(block.function) + i.address not in self._needed.instructions

    def _noting(self, i: Instruction) -> Step:
        """Tell the counters for which threads a guard holds."""
        guard = guard_of(i)

        def step(c: Context) -> None:
            held = guard(c)
            if held is not None:
                self.counters.predicated(c, i, held)

        return step

    def _end(self, i: Instruction, block: Block) -> End:
        makers = {
            "BRA": self._branch,
            "BRX": self._branch_by_table,
            "EXIT": self._exit,
            "KILL": self._exit,
            "BSYNC": self._meet,
            "BREAK": self._break,
            "WARPSYNC": self._sync_warp,
            "BAR": self._block_barrier,
            "CALL": self._branch,
            "RET": self._return,
        }
        maker = makers.get(i.opcode)
        if maker is None:
            return _unknown_end(i)
        try:
            return maker(i, block)
        except (TypeError, NotKnownError, ValueError, IndexError):
            return _unknown_end(i)

    def _divided(self, c: Context, taken: Array) -> tuple[Array | None, Array | None]:
        """Lanes of all warps that go one way and the other; ``None``: there are none."""
        if taken.shape == (1, 1):
            here = self.spread(c, c.mask)
            return (here, None) if taken[0, 0] else (None, here)
        yes = c.every(taken) if c.mask is None else c.mask & taken
        no = ~yes if c.mask is None else c.mask & ~taken
        return (
            self.spread(c, yes) if yes.any() else None,
            self.spread(c, no) if no.any() else None,
        )

    def _branch(self, i: Instruction, block: Block) -> End:
        label = i.operands[-1]
        if not isinstance(label, Label):
            raise NotKnownError(i)
        target = self.program.target(block.function, label)
        if target is None:
            return _unknown_end(i)
        guard = guard_of(i)
        if i.has("DIV"):
            return self._branch_if_divergent(i, target)
        if i.has("CONV"):
            return _unknown_end(i)
        extra = [predicate(each) for each in i.operands[:-1] if isinstance(each, Predicate)]
        others = [each for each in i.operands[:-1] if not isinstance(each, Predicate)]
        if others:
            raise NotKnownError(i)

        def end(c: Context, piece: _Piece) -> None:
            taken = guard(c)
            for each in extra:
                taken = each(c) if taken is None else taken & each(c)
            if taken is None:
                self.go(c, target, None)
                return
            self.counters.branch(c, i, taken)
            yes, no = self._divided(c, taken)
            if yes is not None:
                self.go(c, target, yes)
            if no is not None:
                self.go(c, piece.block.follows, no)

        return end

    def _branch_if_divergent(self, i: Instruction, target: int) -> End:
        """To the long way around, if not all threads of a mask are here."""
        wanted = whole(i.operands[0])
        lanes = np.arange(LANES, dtype=np.uint32)

        def end(c: Context, piece: _Piece) -> None:
            mask = (np.broadcast_to(wanted(c), (c.warps, 1)) >> lanes & 1).astype(np.bool_)
            here = c.every(np.ones((1, 1), np.bool_)) if c.mask is None else c.mask
            alive = self.alive if c.rows is None else self.alive[c.rows]
            apart = ((mask & alive) != here).any(axis=1, keepdims=True)
            yes, no = self._divided(c, apart)
            if yes is not None:
                self.go(c, target, yes)
            if no is not None:
                self.go(c, piece.block.follows, no)

        return end

    def _branch_by_table(self, i: Instruction, block: Block) -> End:
        """To an address that a register holds, from behind the instruction."""
        register, *rest = i.operands
        offset = sum(int(each.text, 0) for each in rest if isinstance(each, Immediate))
        read, guard = whole(register), guard_of(i)

        def end(c: Context, piece: _Piece) -> None:
            goals = c.every(read(c).view(np.int32).astype(np.int64) + offset + block.follows)
            active = guard(c)
            here = c.every(np.ones((1, 1), np.bool_)) if c.mask is None else c.mask
            if active is not None:
                stay = here & ~active
                if stay.any():
                    self.go(c, piece.block.follows, self.spread(c, stay))
                here = here & active
            self._scatter(c, goals, here)

        return end

    def _scatter(self, c: Context, goals: Array, here: Array) -> None:
        for goal in np.unique(goals[here]):
            self.go(c, int(goal), self.spread(c, here & (goals == goal)))

    def _return(self, i: Instruction, block: Block) -> End:
        """To an address in a register: in its function, or anywhere."""
        register = i.operands[0]
        if not isinstance(register, Register) or i.guard is not None:
            raise NotKnownError(i)
        read = whole(register)
        base = self.program.base(block.function) if i.has("REL") else 0

        def end(c: Context, piece: _Piece) -> None:
            del piece
            here = c.every(np.ones((1, 1), np.bool_)) if c.mask is None else c.mask
            self._scatter(c, c.every(read(c).astype(np.int64) + base), here)

        return end

    def _exit(self, i: Instruction, block: Block) -> End:
        del block
        guard = guard_of(i)
        extra = [predicate(each) for each in i.operands if isinstance(each, Predicate)]

        def end(c: Context, piece: _Piece) -> None:
            ending = guard(c)
            for each in extra:
                ending = each(c) if ending is None else ending & each(c)
            yes: Array | None
            if ending is None:
                yes, no = self.spread(c, c.mask), None
            else:
                yes, no = self._divided(c, ending)
            if yes is not None:
                self.alive = self.alive & ~yes
                self._release()
            if no is not None:
                self.go(c, piece.block.follows, no)

        return end

    def _meet(self, i: Instruction, block: Block) -> End:
        del block
        (barrier,) = (each for each in i.operands if isinstance(each, Barrier))
        guard = guard_of(i)

        def end(c: Context, piece: _Piece) -> None:
            here = guard(c)
            yes, no = (self.spread(c, c.mask), None) if here is None else self._divided(c, here)
            if no is not None:
                self.go(c, piece.block.follows, no)
            if yes is None:
                return
            members = self.barriers.members(barrier.index, c)
            mine = c.mask
            if here is None and (
                bool(members.all()) if mine is None else bool((members == mine).all())
            ):
                self.go(c, piece.block.follows, yes)
                return
            self.barriers.wait(barrier.index, piece.block.follows, yes)
            self._release()

        return end

    def _break(self, i: Instruction, block: Block) -> End:
        del block
        (barrier,) = (each for each in i.operands if isinstance(each, Barrier))
        guard = guard_of(i)
        extra = [predicate(each) for each in i.operands if isinstance(each, Predicate)]

        def end(c: Context, piece: _Piece) -> None:
            leaving = guard(c)
            for each in extra:
                leaving = each(c) if leaving is None else leaving & each(c)
            lanes = self.spread(c, c.active(leaving))
            self.barriers.leave(barrier.index, lanes)
            self.go(c, piece.block.follows, None)
            self._release()

        return end

    def _sync_warp(self, i: Instruction, block: Block) -> End:
        """Wait for the threads of a mask, or for all of the warp."""
        lanes = np.arange(LANES, dtype=np.uint32)
        if i.has("COLLECTIVE") or i.guard is not None:
            raise NotKnownError(i)
        read = None if i.has("ALL") else whole(i.operands[0])
        index = -1 - block.follows

        def end(c: Context, piece: _Piece) -> None:
            mine = self.spread(c, c.mask)
            alive = self.alive if c.rows is None else self.alive[c.rows]
            members = alive
            if read is not None:
                wanted = np.broadcast_to(read(c), (c.warps, LANES if read(c).shape[1] > 1 else 1))
                mask = wanted if wanted.shape[1] == 1 else _first_of(wanted, c.mask)
                members = (mask >> lanes & 1).astype(np.bool_) & alive
            here = c.every(np.ones((1, 1), np.bool_)) if c.mask is None else c.mask
            if bool((members == here).all()):
                self.go(c, piece.block.follows, mine)
                return
            self.barriers.set_members(index, c, members)
            self.barriers.wait(index, piece.block.follows, mine)
            self._release()

        return end

    def _block_barrier(self, i: Instruction, block: Block) -> End:
        """All threads of a block, or as many as the instruction says."""
        del block
        if not i.has("SYNC", "ARV") or i.guard is not None:
            raise NotKnownError(i)
        number = i.operands[0]
        if not isinstance(number, Immediate):
            raise NotKnownError(i)
        count = None
        if len(i.operands) > 1:
            if not isinstance(i.operands[1], Immediate):
                raise NotKnownError(i)
            count = i.operands[1].bits
        arrives_only = i.has("ARV")

        def end(c: Context, piece: _Piece) -> None:
            lanes = self.spread(c, c.mask)
            behind = piece.block.follows
            if arrives_only:
                raise NotKnownError(i)
            if count is None and c.mask is None and c.rows is None:
                self.go(c, behind, lanes)
                return
            key = (number.bits, behind, count)
            found = self._at_block_barrier.get(key)
            self._at_block_barrier[key] = lanes if found is None else found | lanes
            self._release()

        return end

    def _release(self) -> None:
        """Have threads go on for which those that they wait for have come, or are gone."""
        for behind, lanes in self.barriers.released(self.alive):
            found = self._pending.get(behind)
            self._pending[behind] = lanes if found is None else found | lanes
        if not self._at_block_barrier:
            return
        blocks = len(self.numbers)
        for number in {key[0] for key in self._at_block_barrier}:
            keys = [key for key in self._at_block_barrier if key[0] == number]
            arrived = np.sum(
                [self._at_block_barrier[k].reshape(blocks, -1).sum(axis=1) for k in keys], axis=0
            )
            count = keys[0][2]
            needed = self.alive.reshape(blocks, -1).sum(axis=1) if count is None else count
            ready = np.repeat((arrived >= needed) & (arrived > 0), self.warps_of_block)[:, None]
            if not ready.any():
                continue
            for key in keys:
                lanes = self._at_block_barrier[key]
                going = lanes & ready
                if going.any():
                    found = self._pending.get(key[1])
                    self._pending[key[1]] = going if found is None else found | going
                    left = lanes & ~ready
                    if left.any():
                        self._at_block_barrier[key] = left
                    else:
                        del self._at_block_barrier[key]


def _made(found: Callable[[Instruction], Step], i: Instruction) -> Step:
    """What carries out an instruction, or says that this form of it is not known, once it is met."""
    try:
        return found(i)
    except (TypeError, ValueError, IndexError, StopIteration, NotKnownError):
        return _unknown(i)


def _unknown(i: Instruction) -> Step:
    def step(_: Context) -> None:
        raise NotKnownError(i)

    return step


def _unknown_end(i: Instruction) -> End:
    def end(_: Context, __: _Piece) -> None:
        raise NotKnownError(i)

    return end


def _first_of(values: Array, mask: Array | None) -> Array:
    lane = np.zeros(len(values), np.int64) if mask is None else mask.argmax(axis=1)
    return values[np.arange(len(values)), lane][:, None]


def _compact(values: Array) -> Array:
    """The same in one row or column, where all are alike."""
    if (values == values[:1]).all():
        values = values[:1]
    if (values == values[:, :1]).all():
        values = values[:, :1]
    return values.copy()
