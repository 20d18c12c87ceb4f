"""Runs some blocks of a launch side by side.

Threads have program counters of their own; the basic block with the lowest one runs first, for all
warps there at once. What a warp executes once on a GPU it executes once here: its threads
reconverge at convergence barriers (BSSY, BSYNC).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.errors import SassimError
from sassim.faults import (
    FOR_PHASE,
    BlockedThreads,
    DeadlockError,
    FaultError,
    FaultLocation,
    ThreadId,
)
from sassim.interpreter.context import ExecutionContext, NotKnownError
from sassim.interpreter.control_flow import endings
from sassim.interpreter.control_flow.system_calls import system_call
from sassim.interpreter.operand_access import read_guard
from sassim.interpreter.operations import operations
from sassim.interpreter.operations.barriers import comes_to_phases
from sassim.interpreter.state import ResidentBlocks
from sassim.interpreter.unsupported import describe_unsupported
from sassim.opcodes import LOADS, MEMORY, flagged_opcodes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sassim.interpreter.context import Observer
    from sassim.interpreter.control_flow import End
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.launch import KernelLaunch
    from sassim.interpreter.operations import Step
    from sassim.interpreter.slices import BackwardSlice
    from sassim.sass.listing import Instruction
    from sassim.sass.program import BasicBlock

_ORDERING: Final = flagged_opcodes("orders")

_STEP_S: Final = 1e-5
_WARP_S: Final = 9e-8
"""Seconds of a step of a basic block, and what each warp adds: fitted to seven kernels of
``cuda/pairs`` in samples of 4 and 16 blocks, to within a factor of two for the long ones."""
_PHASE_S: Final = 3e-4
"""The same of an instruction that comes to barriers in shared memory (the BF16 ladder)."""

_NOW_AND_THEN: Final = 64
"""Basic blocks: a hundredth of a second, or more."""
_PATIENCE: Final = 512
"""Basic blocks after which threads behind a loop run: the loop may wait for them."""
_POLLS: Final = 32
"""Times in a row that a loop reads what other blocks store until these run instead of it."""


@dataclass(frozen=True)
class _PreparedBlock:
    block: BasicBlock
    steps: tuple[tuple[Instruction, Step], ...]
    end: End | None
    arrivals: int
    """Instructions that come to barriers in shared memory."""


class Interpreter:
    """Blocks of one launch. ``numbers`` says which of the grid's, in the order that x runs fastest.

    With ``backward_slice`` only what it holds is executed. Raises
    :class:`NotKnownError`, :class:`FaultError`, and what ``observer`` raises.
    """

    def __init__(
        self,
        launch: KernelLaunch,
        numbers: Sequence[int] | Array,
        observer: Observer,
        backward_slice: BackwardSlice | None = None,
    ) -> None:
        self.program = launch.program
        self.observer = observer
        self.blocks = ResidentBlocks(launch, numbers)
        self._backward_slice = backward_slice
        if backward_slice is not None:
            self.blocks.unused = frozenset(
                i
                for i, address in self.program.addresses.items()
                if address in backward_slice.unused
            )
            self.blocks.assume(backward_slice.assumes)
        self._prepared_blocks: dict[int, _PreparedBlock] = {}
        self._system = {address: name for name, address in launch.system.items()}
        self._now: Instruction | None = None
        self._blocks_run = 0
        self._polled = self._poll_count = 0
        self.seconds = 0.0
        """About how long it took so far: worked out, so that it is the same everywhere."""
        observer.on_start(self.blocks)

    @property
    def ran(self) -> frozenset[int]:
        """The addresses of the basic blocks that ran."""
        return frozenset(self._prepared_blocks)

    def run(self, meanwhile: Callable[[], None] | None = None) -> None:
        """Run to the end of all threads; ``meanwhile`` is called now and then."""
        blocks = self.blocks
        with np.errstate(all="ignore"):
            while blocks.program_counters or self._retry_mbarriers():
                self.step()
                if meanwhile is not None and self._blocks_run % _NOW_AND_THEN == 0:
                    meanwhile()
        if blocks.alive.any():
            raise self._find_deadlock()
        self.observer.on_end()

    def _retry_mbarriers(self) -> bool:
        """Resume threads that gave up waiting for a phase, if nobody else can run."""
        for to, lanes in self.blocks.mbarriers.give_up(self.blocks.predicates):
            self.blocks.resume(to, lanes)
        return bool(self.blocks.program_counters)

    def step(self) -> None:
        """Run one basic block: the first, and now and then another."""
        counters = self.blocks.program_counters
        self._blocks_run += 1
        at = counters.lowest()
        if self._blocks_run % _PATIENCE == 0 and len(counters) > 1:
            at = counters.pick(self._blocks_run // _PATIENCE)
        elif len(counters) > 1 and self._polls(at):
            at = counters.lowest(besides=at)
        self._execute(at, counters.pop(at))

    def _polls(self, at: int) -> bool:
        """Whether threads at an address ask again and again for what others are to store.

        Of as many basic blocks as they ran in a row they run one, until something else runs first.
        """
        if at != self._polled:
            self._polled, self._poll_count = at, 0
        self._poll_count += 1
        if self._poll_count <= _POLLS:
            return False
        block = self.program.blocks.get(at)
        asks = block is not None and any(i.has("STRONG") and i.opcode in LOADS for i in block.body)
        return asks and self._poll_count % _POLLS != 0

    def _execute(self, at: int, lanes: Array) -> None:
        c = ExecutionContext(self.blocks, self.observer, lanes)
        try:
            if at in self._system:
                system_call(self._system[at], c)
            else:
                self._execute_block(self._prepared_blocks.get(at) or self._prepare(at), c)
        except FaultError as error:
            i = error.instruction or self._now
            if i is not None and error.lanes is not None:
                error.happened(i, (self._thread_id(c, each) for each in error.lanes))
            raise
        c.write_back()

    def _execute_block(self, prepared: _PreparedBlock, c: ExecutionContext) -> None:
        self.seconds += (len(prepared.steps) + 1) * (_STEP_S + c.warps * _WARP_S)
        self.seconds += prepared.arrivals * _PHASE_S
        self.observer.on_basic_block(c, prepared.block)
        for self._now, step in prepared.steps:
            step(c)
        if prepared.end is None:
            c.resume(prepared.block.follows)
        else:
            self._now = prepared.block.end
            prepared.end(c)

    def _thread_id(self, c: ExecutionContext, pair: Array) -> ThreadId:
        row = np.arange(self.blocks.warps)[c.where][pair[0]]
        return self.blocks.thread_id(int(row), int(pair[1]))

    def _find_deadlock(self) -> DeadlockError:
        blocks = self.blocks
        blocked = [
            self._blocked_threads(kind, behind, lanes)
            for kind, barriers in (
                ("at a barrier of the block", blocks.block_barriers),
                ("for other threads of the warp", blocks.convergence_barriers),
            )
            for (_, behind), lanes in barriers.waiting.items()
        ]
        blocked += [
            self._blocked_threads(kind, behind, lanes)
            for kind, barriers in (
                ("at a barrier of the cluster", blocks.clusters),
                (FOR_PHASE, blocks.mbarriers),
            )
            for behind, lanes in barriers.waiting.items()
        ]
        ended = int((blocks.thread_of_block < blocks.threads).sum() - blocks.alive.sum())
        return DeadlockError(blocked, ended)

    def _blocked_threads(self, kind: str, behind: int, lanes: Array) -> BlockedThreads:
        """Return threads that wait; the instruction before ``behind`` ends a basic block."""
        ends = (each for each in self.program.blocks.values() if each.follows == behind)
        instruction = next(each.end for each in ends if each.end is not None)
        warp, lane = (int(each) for each in np.argwhere(lanes)[0])
        return BlockedThreads(
            kind, int(lanes.sum()), FaultLocation(instruction, self.blocks.thread_id(warp, lane))
        )

    def _prepare(self, at: int) -> _PreparedBlock:
        block = self.program.blocks.get(at)
        if block is None:
            raise SassimError(f"there is no code at {at:#x}")
        table = operations()
        steps = []
        for each in block.body:
            if self._is_skipped(each):
                continue
            operation = table.get(each.opcode)
            if each.guard is not None:
                steps.append((each, self._report_guard(each)))
            steps.append((each, self.observer.wrap(each, _decode(operation, each))))
            if comes_to_phases(each):
                steps.append((each, self._report_arrivals))
            if each.opcode in _ORDERING:
                steps.append((each, partial(self.observer.on_fence, i=each)))
        end = None if block.end is None else self._prepare_end(block.end, block)
        prepared = self._prepared_blocks[at] = _PreparedBlock(
            block, tuple(steps), end, sum(comes_to_phases(each) for each in block.body)
        )
        return prepared

    def _is_skipped(self, i: Instruction) -> bool:
        """Whether no address and no branch depends on an instruction."""
        if self._backward_slice is None or i.opcode in MEMORY:
            return False
        return self.program.addresses[id(i)] not in self._backward_slice.instructions

    def _report_arrivals(self, c: ExecutionContext) -> None:
        self.observer.on_phases(c, self.blocks.mbarriers.take_arrivals(), None)

    def _report_guard(self, i: Instruction) -> Step:
        guard = read_guard(i)

        def step(c: ExecutionContext) -> None:
            held = guard(c)
            if held is not None:
                self.observer.on_guard(c, i, held)

        return step

    def _prepare_end(self, i: Instruction, block: BasicBlock) -> End:
        maker = endings().get(i.opcode)
        if maker is None:
            return _raise_when_reached(describe_unsupported(i))
        try:
            return maker(i, block, self.program)
        except NotKnownError as error:
            return _raise_when_reached(error)


def _decode(operation: Callable[[Instruction], Step] | None, i: Instruction) -> Step:
    """Return what executes an instruction, or raises that it is unknown when it is reached."""
    if operation is None:
        return _raise_when_reached(describe_unsupported(i))
    try:
        return operation(i)
    except NotKnownError as error:
        return _raise_when_reached(error)


def _raise_when_reached(error: NotKnownError) -> Step:

    def step(_: ExecutionContext) -> None:
        raise error

    return step
