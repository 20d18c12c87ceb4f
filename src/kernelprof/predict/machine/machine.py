"""Runs some blocks of a launch side by side.

Each warp's threads are where they are; of all places where some thread can go on, the lowest in the
code goes first. A straight piece of code is carried out for all warps there at once. What a warp
does once on a GPU it does once here: threads of a warp that meet at a convergence barrier go on
together (BSSY, BSYNC).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.predict.machine.blocks import Blocks
from kernelprof.predict.machine.context import Context, NotKnownError
from kernelprof.predict.machine.control import endings
from kernelprof.predict.machine.control.system import system_call
from kernelprof.predict.machine.faults import (
    FOR_PHASE,
    At,
    DeadlockError,
    FaultError,
    Place,
    Waiting,
)
from kernelprof.predict.machine.operations import operations
from kernelprof.predict.machine.refusals import refusal
from kernelprof.predict.machine.uses import MEMORY
from kernelprof.predict.machine.values import guard_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Counters
    from kernelprof.predict.machine.control import End
    from kernelprof.predict.machine.launch import Launch
    from kernelprof.predict.machine.needed import Needed
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block

_ORDERING: Final = frozenset(("MEMBAR", "SYNCS", "ARRIVES", "LDGDEPBAR", "DEPBAR"))
"""Opcodes by which threads order their accesses, or wait, beside barriers of their block."""

_STEP_S: Final = 1e-5
_WARP_S: Final = 9e-8
"""What a step of a piece of code takes, and what each warp adds to it: fitted to seven kernels of
``cuda/pairs`` in samples of 4 and 16 blocks, to within a factor of two for the long ones."""

_NOW_AND_THEN: Final = 64
"""Pieces of code: a hundredth of a second, or more."""
_PATIENCE: Final = 512
"""Pieces of code after which those who wait behind a loop get their turn: they may be what it
waits for."""


@dataclass(frozen=True)
class _Piece:
    """A straight piece of code, made ready to be carried out."""

    block: Block
    steps: tuple[tuple[Instruction, Step], ...]
    end: End | None


class Machine:
    """Blocks of one launch. ``numbers`` says which of the grid's, in the order that x runs fastest.

    ``needed`` says what has to be carried out to count; without it everything is. Raises
    :class:`NotKnownError`, :class:`FaultError`, and what ``counters`` raise.
    """

    def __init__(
        self,
        launch: Launch,
        numbers: Sequence[int] | Array,
        counters: Counters,
        needed: Needed | None = None,
    ) -> None:
        self.program = launch.program
        self.counters = counters
        self.blocks = Blocks(launch, numbers)
        self._needed = needed
        if needed is not None:
            self.blocks.unused = frozenset(
                i for i, address in self.program.addresses.items() if address in needed.unused
            )
            self.blocks.assume(needed.assumes)
        self._pieces: dict[int, _Piece] = {}
        self._system = {address: name for name, address in launch.system.items()}
        self._now: Instruction | None = None
        self._turn = 0
        self.seconds = 0.0
        """About how long it took so far: worked out, so that it is the same everywhere."""
        counters.begin(self.blocks)

    def run(self, meanwhile: Callable[[], None] | None = None) -> None:
        """Run to the end of all threads; ``meanwhile`` is called now and then."""
        blocks = self.blocks
        with np.errstate(all="ignore"):
            while blocks.places or self._again():
                self.step()
                if meanwhile is not None and self._turn % _NOW_AND_THEN == 0:
                    meanwhile()
        if blocks.alive.any():
            raise self._deadlock()
        self.counters.end()

    def _again(self) -> bool:
        """Let those go on that tire of waiting for a phase, where nobody else does."""
        for to, lanes in self.blocks.phases.tired(self.blocks.predicates):
            self.blocks.go(to, lanes)
        return bool(self.blocks.places)

    def step(self) -> None:
        """Carry out one piece of code: the first, and now and then another."""
        places = self.blocks.places
        self._turn += 1
        at = places.lowest()
        if self._turn % _PATIENCE == 0 and len(places) > 1:
            at = places.turn(self._turn // _PATIENCE)
        self._carry_out(at, places.take(at))

    def _carry_out(self, at: int, lanes: Array) -> None:
        c = Context(self.blocks, self.counters, lanes)
        try:
            if at in self._system:
                system_call(self._system[at], c)
            else:
                self._carry_out_piece(self._pieces.get(at) or self._prepared(at), c)
        except FaultError as error:
            i = error.instruction or self._now
            if i is not None and error.lanes is not None:
                error.happened(i, [self._place(c, each) for each in error.lanes])
            raise
        c.keep()

    def _carry_out_piece(self, piece: _Piece, c: Context) -> None:
        self.seconds += (len(piece.steps) + 1) * (_STEP_S + c.warps * _WARP_S)
        self.counters.piece(c, piece.block)
        for self._now, step in piece.steps:
            step(c)
        if piece.end is None:
            c.go(piece.block.follows)
        else:
            self._now = piece.block.end
            piece.end(c)

    def _place(self, c: Context, pair: Array) -> Place:
        """The thread of the grid that a row and a lane of a context are."""
        row = np.arange(self.blocks.warps)[c.where][pair[0]]
        return self.blocks.place(int(row), int(pair[1]))

    def _deadlock(self) -> DeadlockError:
        """Who waits where, for what never comes."""
        blocks = self.blocks
        found = [
            self._waiting(kind, behind, lanes)
            for kind, barriers in (
                ("at a barrier of the block", blocks.block_barriers),
                ("for other threads of the warp", blocks.meetings),
            )
            for (_, behind), lanes in barriers.waiting.items()
        ]
        found += [
            self._waiting(kind, behind, lanes)
            for kind, barriers in (
                ("at a barrier of the cluster", blocks.clusters),
                (FOR_PHASE, blocks.phases),
            )
            for behind, lanes in barriers.waiting.items()
        ]
        ended = int((blocks.thread_of_block < blocks.threads).sum() - blocks.alive.sum())
        return DeadlockError(found, ended)

    def _waiting(self, kind: str, behind: int, lanes: Array) -> Waiting:
        """Threads that wait to go on at an address: the instruction before it ends a piece."""
        ends = (each for each in self.program.blocks.values() if each.follows == behind)
        instruction = next(each.end for each in ends if each.end is not None)
        warp, lane = (int(each) for each in np.argwhere(lanes)[0])
        return Waiting(kind, int(lanes.sum()), At(instruction, self.blocks.place(warp, lane)))

    def _prepared(self, at: int) -> _Piece:
        block = self.program.blocks.get(at)
        if block is None:
            raise KernelprofError(f"there is no code at {at:#x}")
        table = operations()
        steps = []
        for each in block.body:
            if self._is_skipped(each):
                continue
            found = table.get(each.opcode)
            if each.guard is not None:
                steps.append((each, self._noting(each)))
            steps.append((each, _unknown(each) if found is None else _made(found, each)))
            if each.opcode in _ORDERING:
                steps.append((each, partial(self.counters.ordered, i=each)))
        end = None if block.end is None else self._end(block.end, block)
        piece = self._pieces[at] = _Piece(block, tuple(steps), end)
        return piece

    def _is_skipped(self, i: Instruction) -> bool:
        """Whether nothing that counts depends on what an instruction does."""
        if self._needed is None or i.opcode in MEMORY:
            return False
        return self.program.addresses[id(i)] not in self._needed.instructions

    def _noting(self, i: Instruction) -> Step:
        """Tell the counters for which threads a guard holds."""
        guard = guard_of(i)

        def step(c: Context) -> None:
            held = guard(c)
            if held is not None:
                self.counters.predicated(c, i, held)

        return step

    def _end(self, i: Instruction, block: Block) -> End:
        maker = endings().get(i.opcode)
        if maker is None:
            return _unknown(i)
        try:
            return maker(i, block, self.program)
        except _UNREADABLE as error:
            return _unknown(i, error)


_UNREADABLE: Final = (TypeError, ValueError, IndexError, StopIteration, NotKnownError)
"""What comes of operands or modifiers that are not known."""


def _made(found: Callable[[Instruction], Step], i: Instruction) -> Step:
    """What carries out an instruction, or says that this form is not known, once it is met."""
    try:
        return found(i)
    except _UNREADABLE as error:
        return _unknown(i, error)


def _unknown(i: Instruction, error: Exception | None = None) -> Step:
    """What says that an instruction is not known, once it is met."""
    why = error if isinstance(error, NotKnownError) else refusal(i)

    def step(_: Context) -> None:
        raise why

    return step
