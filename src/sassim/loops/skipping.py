"""Count long loops without executing every iteration.

Iterations whose state changes only by affine steps (an index, an address) take the same path until
a comparison of such numbers gives another result, and that iteration can be computed. So a few
iterations are executed and counted, the registers advance to the last iteration that is like them,
and that one is executed as well. If its addresses and comparisons are as predicted, and its counts
are the same, the counts of the iterations between are added. Sectors and banks of an address repeat
after some steps, so whole periods are skipped.

:mod:`sassim.loops.induction` checks that only sums produce these numbers, so that what holds at the
ends holds between.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sassim.counters.trace import Repeat
from sassim.errors import SassimError
from sassim.interpreter.context import NotKnownError
from sassim.interpreter.interpreter import Interpreter
from sassim.interpreter.operand_access import read_u32
from sassim.loops.affine import (
    TrackedComparison,
    address_strides,
    affine_steps,
    arrays_equal,
    comparison_drifts,
    have_advanced,
    iterations_until_change,
    iterations_until_overflow,
    match_prediction,
    power_of_two,
    same_waiting_threads,
)
from sassim.loops.induction import (
    InductionAnalysis,
    carry_is_seen,
    has_carry,
    is_comparison,
    is_sign_test,
    loop_headers,
)
from sassim.loops.recording import (
    AccessRecorder,
    ArrayPool,
    changes_since,
    position_independent,
    restore_counts,
    save_counts,
)
from sassim.opcodes import STORES
from sassim.sass.operands import ZERO, Register

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sassim.counters.counters import BlockCounters
    from sassim.counters.trace import RecordedAccess
    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.launch import KernelLaunch
    from sassim.interpreter.operations import Step
    from sassim.interpreter.slices import BackwardSlice
    from sassim.loops.affine import Registers
    from sassim.sass.listing import Instruction

_FIRST_TRY: Final = 4
"""Iterations of a loop after which a skip is tried."""
_NEXT_TRY: Final = 3
"""Factor of iterations before the next try."""
_TOGETHER: Final = 4
"""Iterations that may be alike only as a group, at most: the stages of a ring buffer."""
_LONGEST: Final = 128
"""Bytes after which the sectors, lines and banks of an address repeat."""
_NOTHING: Final = Register(ZERO)
_FILES: Final = {"R": "registers", "UR": "uniform", "P": "predicates", "UP": "uniform_predicates"}


@dataclass
class Iteration:
    """What is executed from one visit of a loop header to the next."""

    blocks: list[tuple[int, Array]] = field(default_factory=list)
    """Addresses of basic blocks, each with the active threads."""
    accesses: list[RecordedAccess] = field(default_factory=list)
    comparisons: list[TrackedComparison] = field(default_factory=list)
    iterations: int = 1


def joined(iterations: Sequence[Iteration]) -> Iteration:
    """Return consecutive iterations as one."""
    whole = Iteration()
    for each in iterations:
        whole.blocks += each.blocks
        whole.accesses += each.accesses
        whole.comparisons += each.comparisons
    whole.iterations = len(iterations)
    return whole


def same_path(one: Iteration, other: Iteration) -> bool:
    """Whether the same threads execute the same basic blocks."""
    return len(one.blocks) == len(other.blocks) and all(
        here == there and arrays_equal(lanes, others)
        for (here, lanes), (there, others) in zip(one.blocks, other.blocks, strict=True)
    )


@dataclass
class _HeaderVisits:
    """A running loop: the threads that returned to its header, and how often."""

    lanes: Array
    count: int = 0
    next_try: int = _FIRST_TRY


@dataclass(frozen=True)
class _IterationGroup:
    """Iterations of a loop that are alike, as last executed, and their affine steps."""

    at: int
    """The address of the loop header."""
    lanes: Array
    """The threads in the loop."""
    size: int
    """Iterations of the group."""
    iteration: Iteration
    steps: Registers
    """Step of each register, as signed integers."""
    strides: Sequence[Array]
    """For each access the step of each warp's addresses."""
    until: int
    """The first of the following groups that takes another path."""

    @property
    def period(self) -> int:
        """Groups after which sectors and banks repeat."""
        step = _LONGEST
        for each in self.strides:
            step = int(np.gcd.reduce(each.reshape(-1), initial=step))
        return _LONGEST // step


class LoopInterpreter(Interpreter):
    """Runs like :class:`Interpreter`, skips iterations of long loops, and counts the same."""

    def __init__(
        self,
        launch: KernelLaunch,
        numbers: Sequence[int] | Array,
        counters: BlockCounters,
        program_slice: BackwardSlice,
    ) -> None:
        super().__init__(launch, numbers, counters, program_slice)
        self._counters = counters
        self._live = program_slice.live
        self._visits: dict[int, _HeaderVisits] = {}
        # The state of cluster barriers is not compared.
        self._headers = (
            frozenset() if self.blocks.clusters.size > 1 else loop_headers(launch.program)
        )
        self._induction = InductionAnalysis(launch.program, program_slice)
        self._recorded: Iteration | None = None
        self.skipped = 0
        """Iterations, or groups of them, that were not executed."""

    def step(self) -> None:
        """Execute one basic block, after skipping iterations where it is a loop header."""
        at = self.blocks.program_counters.lowest()
        if at in self._headers:
            lanes = self._threads_at(at)
            visits = self._visits.get(at)
            if visits is None or not arrays_equal(visits.lanes, lanes):
                visits = self._visits[at] = _HeaderVisits(lanes)
            visits.count += 1
            if visits.count >= visits.next_try:
                visits.next_try = visits.count * _NEXT_TRY
                self._skip_iterations(at, lanes)
        if self.blocks.program_counters:
            super().step()

    def _threads_at(self, at: int) -> Array:
        return next(
            lanes for address, lanes in self.blocks.program_counters.groups() if address == at
        )

    def _skip_iterations(self, at: int, lanes: Array) -> None:
        """Advance to the last iteration of the loop that is like those before it."""
        least = 1
        while (group := self._find_group(at, lanes, least)) is not None:
            if self._skip_group(group):
                return
            least = group.size + 1

    def _skip_group(self, group: _IterationGroup) -> bool:
        """Execute a period of a group and skip those like it; whether some were skipped."""
        before, begin = save_counts(self._counters), len(self._counters.trace)
        if not self._repeat_group(group):
            return False
        single = changes_since(self._counters, before)
        period = group.period
        if not all(self._repeat_group(group) for _ in range(period - 1)):
            return False
        counters = changes_since(self._counters, before)
        alike = position_independent(self._counters, single)
        whole = position_independent(self._counters, counters)
        if whole.keys() != alike.keys() or any(
            (whole[key] != alike[key] * period).any() for key in alike
        ):
            return False
        end = len(self._counters.trace)
        times, tried = self._skip_periods(group, alike)
        for array, change in counters.values():
            np.add(array, change * times, out=array)
        moved = zip(group.iteration.accesses, group.strides, strict=True)
        self._counters.repeat(Repeat(begin, end, times), moved, (times + 1) * period + tried)
        self.skipped += times * period
        return times > 0

    def _find_group(self, at: int, lanes: Array, least: int) -> _IterationGroup | None:
        """Return the next iterations that are alike, at least ``least``; ``None``: none are."""
        registers, iterations = [self._live_registers(at)], [Iteration()]
        waiting, pool = [self._waiting_threads()], ArrayPool()
        while len(iterations) <= 2 * _TOGETHER:
            iteration = self._record_iteration(at, lanes, pool)
            if iteration is None or pool.full:
                return None
            iterations.append(iteration)
            registers.append(self._live_registers(at))
            waiting.append(self._waiting_threads())
            for size in range(least, (len(iterations) - 1) // 2 + 1):
                if not same_waiting_threads(waiting[-1 - size], waiting[-1]):
                    continue
                one, other = joined(iterations[-2 * size : -size]), joined(iterations[-size:])
                steps = affine_steps(
                    registers[-1 - 2 * size], registers[-1 - size], registers[-1], lanes
                )
                group = self._match_groups(at, lanes, (one, other), steps)
                if group is not None:
                    return group
        return None

    def _match_groups(
        self,
        at: int,
        lanes: Array,
        iterations: tuple[Iteration, Iteration],
        steps: Registers | None,
    ) -> _IterationGroup | None:
        """Return two consecutive groups as one where paths agree and all changes are affine."""
        one, other = iterations
        if steps is None or not same_path(one, other):
            return None
        strides = address_strides(one.accesses, other.accesses)
        drifts = comparison_drifts(one.comparisons, other.comparisons)
        moving = {f"{prefix}{index}": power_of_two(step) for (prefix, index), step in steps.items()}
        if strides is None or drifts is None:
            return None
        if self._skips_noted_stores(other, strides) or not self._induction.is_affine(
            (start for start, _ in other.blocks), moving
        ):
            return None
        until = iterations_until_change(other.comparisons, drifts)
        group = _IterationGroup(at, lanes, other.iterations, other, steps, strides, until)
        # Two periods to execute, one to skip, one to check.
        return group if until > 2 * group.period + 2 else None

    def _skips_noted_stores(self, iteration: Iteration, strides: Sequence[Array]) -> bool:
        """Whether skipped iterations have stores whose addresses have to be noted."""
        noted = self.blocks.assumes - {"global"}
        return any(
            STORES.get(each.instruction.opcode) in noted and bool(stride.any())
            for each, stride in zip(iteration.accesses, strides, strict=True)
        )

    def _record_iteration(
        self, at: int, lanes: Array, pool: ArrayPool, blocks: int | None = None
    ) -> Iteration | None:
        """Execute so many basic blocks, or one iteration; ``None`` if other threads arrive."""
        recorded = self._recorded = Iteration()
        counters, places = self.observer, self.blocks.program_counters
        self.observer = AccessRecorder(self._counters, recorded.accesses, pool)
        try:
            while places:
                super().step()
                back = bool(places) and places.lowest() == at
                if len(recorded.blocks) >= blocks if blocks is not None else back:
                    return recorded if back and arrays_equal(self._threads_at(at), lanes) else None
        finally:
            self.observer, self._recorded = counters, None
        return None

    def _repeat_group(self, group: _IterationGroup) -> Iteration | None:
        """Execute a group of iterations; ``None`` if it takes another path."""
        iteration = self._record_iteration(
            group.at, group.lanes, ArrayPool(), len(group.iteration.blocks)
        )
        return (
            iteration if iteration is not None and same_path(iteration, group.iteration) else None
        )

    def _skip_periods(self, group: _IterationGroup, alike: Mapping[int, Array]) -> tuple[int, int]:
        """Skip as many periods as possible; return their number, and groups executed to try."""
        period = group.period
        most = iterations_until_overflow(
            self._live_registers(group.at), group.steps, group.lanes, period
        )
        skipped = tried = 0
        jump = most
        while jump >= 1:
            # Groups since the last recorded one: a period, those skipped, those tried.
            fitting = (group.until - 2 - period - tried) // period
            jump = min(jump, fitting - skipped, most - skipped)
            if jump < 1:
                break
            ahead = 1 + period + (skipped + jump) * period + tried
            if self._try_skip(group, jump * period, ahead, alike):
                skipped, tried = skipped + jump, tried + 1
            else:
                jump //= 2
        return skipped, tried

    def _try_skip(
        self, group: _IterationGroup, times: int, ahead: int, alike: Mapping[int, Array]
    ) -> bool:
        """Advance by so many groups and execute one; undo that if it is not as predicted."""
        state, before, executed = (
            self._save_state(),
            save_counts(self._counters),
            self._counters.executed,
        )
        before_skip, mark = self._live_registers(group.at), self._counters.mark()
        self._advance_registers(group, times)
        self._counters.trying = True
        try:
            iteration = self._repeat_group(group)
        except SassimError:
            iteration = None
        self._counters.trying = False
        if iteration is not None:
            now = position_independent(self._counters, changes_since(self._counters, before))
            if (
                now.keys() == alike.keys()
                and all((now[key] == alike[key]).all() for key in alike)
                and match_prediction(
                    iteration.accesses, group.iteration.accesses, group.strides, ahead
                )
                and have_advanced(
                    before_skip, self._live_registers(group.at), group.steps, times + 1, group.lanes
                )
            ):
                return True
        self._restore_state(state)
        self._counters.executed = executed
        restore_counts(self._counters, before)
        self._counters.forget(mark)
        return False

    # State.

    def _live_registers(self, at: int) -> dict[tuple[str, int], Array]:
        registers = {}
        for name in self._live.get(at, ()):
            prefix = name.rstrip("0123456789")
            index = int(name.removeprefix(prefix))
            # Diverged threads write into the array itself.
            registers[prefix, index] = getattr(self.blocks, _FILES[prefix])[index].copy()
        return registers

    def _advance_registers(self, group: _IterationGroup, times: int) -> None:
        warps = group.lanes.any(axis=1, keepdims=True)
        for (prefix, index), step in group.steps.items():
            file = getattr(self.blocks, _FILES[prefix])
            old = file[index]
            new = (old.astype(np.int64) + step * times).astype(np.uint32)
            mine = warps if prefix == "UR" else group.lanes
            file[index] = new if mine.all() else np.where(mine, new, old)

    def _waiting_threads(self) -> tuple[dict[Any, Array], ...]:
        blocks = self.blocks
        there = {(at, n): lanes for n, (at, lanes) in enumerate(blocks.program_counters.groups())}
        return there, dict(blocks.convergence_barriers.waiting), *blocks.block_barriers.standing()

    def _save_state(self) -> dict[str, Any]:
        """Return all state that changes while no memory is written that counters depend on."""
        blocks = self.blocks
        state = {name: copy.copy(getattr(blocks, name)) for name in _FILES.values()}
        for file in state.values():
            # Only an array of its own is ever written into.
            file.update({at: each.copy() for at, each in file.items() if each.flags.writeable})
        copied = (
            "program_counters",
            "convergence_barriers",
            "block_barriers",
            "collective_targets",
        )
        state.update({name: copy.deepcopy(getattr(blocks, name)) for name in copied})
        return {**state, "alive": blocks.alive}

    def _restore_state(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self.blocks, name, value)

    # Recording.

    def _execute(self, at: int, lanes: Array) -> None:
        if self._recorded is not None:
            self._recorded.blocks.append((at, lanes))
        super()._execute(at, lanes)

    def _prepare(self, at: int) -> Any:
        """Prepare a basic block so that its comparisons can be recorded."""
        start = super()._prepare(at)
        steps = tuple((i, self._record_comparison(i, step)) for i, step in start.steps)
        start = self._prepared_blocks[at] = replace(start, steps=steps)
        return start

    def _record_comparison(self, i: Instruction, step: Step) -> Step:
        """A step that notes the whole numbers that decide, or are carried from."""
        carries = has_carry(i) and carry_is_seen(i)
        if not carries and not is_comparison(i):
            return step
        sides = (i.operands[0], _NOTHING) if carries else i.operands[2:4]
        if is_sign_test(i):
            sides = (i.operands[3], _NOTHING)
        try:
            one, other = (read_u32(i, each) for each in sides)
        except NotKnownError:
            return step

        def accesses(c: ExecutionContext) -> None:
            if carries:
                step(c)
            if self._recorded is not None:
                comparison = TrackedComparison(i, (one(c), other(c)), c.mask, carries=carries)
                self._recorded.comparisons.append(comparison)
            if not carries:
                step(c)

        return accesses
