"""A machine that counts long loops without carrying out every turn of them.

Where all that a loop's next turn depends on moves by the same step every time (an index, an
address), turns differ by these steps alone: they go the same way until a comparison of such
numbers turns out differently, and when that is can be worked out. So some turns are carried out
and counted, the machine moves to the last turn that is like them, and carries that one out as well:
if its addresses and what it compares are those that the steps predict, and it counts the same,
what those between would have counted is added. Sectors and banks of an address repeat after some
steps, so whole periods of them are left out.

``counts/even.py`` sees to it that nothing but sums goes into these numbers, so that what holds at
the ends holds between.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.predict.counts.even import (
    Evenly,
    carry_is_seen,
    has_carry,
    heads,
    is_decision,
    is_sign,
)
from kernelprof.predict.counts.steps import (
    Compared,
    as_predicted,
    drifts_of,
    moved_so,
    power_of_two,
    room,
    same,
    stands_alike,
    steps_of,
    strides_of,
    until_changed,
)
from kernelprof.predict.counts.trace import Repeat
from kernelprof.predict.counts.turns import Turn, joined, same_pieces
from kernelprof.predict.counts.watched import (
    Arrays,
    Watching,
    saved,
    since,
    steady,
    take_back,
)
from kernelprof.predict.machine.machine import Machine
from kernelprof.predict.machine.uses import STORES
from kernelprof.predict.machine.values import whole
from kernelprof.sass.operands import ZERO, Register

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.predict.counts.steps import Registers
    from kernelprof.predict.counts.tally import Tally
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.launch import Launch
    from kernelprof.predict.machine.needed import Needed
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction

_FIRST_TRY: Final = 4
"""Turns of a loop after which leaving some out is tried."""
_NEXT_TRY: Final = 3
"""How many times more turns pass before the next try."""
_TOGETHER: Final = 4
"""Turns that may be alike only as a group, at most: the stages of a ring, by their number."""
_LONGEST: Final = 128
"""Bytes after which the sectors, lines and banks of an address repeat."""
_NOTHING: Final = Register(ZERO)
_FILES: Final = {"R": "registers", "UR": "uniform", "P": "predicates", "UP": "uniform_predicates"}


@dataclass
class _Visits:
    """A loop that is under way: which threads came back to its first piece, and how often."""

    lanes: Array
    count: int = 0
    next_try: int = _FIRST_TRY


@dataclass(frozen=True)
class _Group:
    """Turns of a loop that are alike, as they were carried out last, and by how much all moves."""

    at: int
    """Where the loop begins."""
    lanes: Array
    """Who is in it."""
    size: int
    """How many turns it has."""
    turn: Turn
    steps: Registers
    """By how much registers move, as whole numbers with a sign."""
    strides: Sequence[Array]
    """For each access, by how much each warp's addresses move."""
    drifts: Sequence[tuple[Array, Array]]
    """For each comparison, by how much either side moves."""
    until: int
    """The first of the groups to come that goes another way."""

    @property
    def period(self) -> int:
        """Groups after which sectors and banks lie as before."""
        step = _LONGEST
        for each in self.strides:
            step = int(np.gcd.reduce(each.reshape(-1), initial=step))
        return _LONGEST // step


class LoopingMachine(Machine):
    """Runs like :class:`Machine`, and leaves turns of long loops out; the counts are the same."""

    def __init__(
        self, launch: Launch, numbers: Sequence[int] | Array, counters: Tally, needed: Needed
    ) -> None:
        super().__init__(launch, numbers, counters, needed)
        self._tally = counters
        self._live = needed.live
        self._visits: dict[int, _Visits] = {}
        # What clusters wait for is not looked at.
        self._heads = frozenset() if self.blocks.clusters.size > 1 else heads(launch.program)
        self._evenly = Evenly(launch.program, needed)
        self._seen: Turn | None = None
        self.left_out = 0
        """Turns of loops, or groups of turns, that were not carried out."""

    def step(self) -> None:
        """Carry out one piece of code, or leave out many turns of a loop before it."""
        at = self.blocks.places.lowest()
        if at in self._heads:
            lanes = self._those_at(at)
            visits = self._visits.get(at)
            if visits is None or not same(visits.lanes, lanes):
                visits = self._visits[at] = _Visits(lanes)
            visits.count += 1
            if visits.count >= visits.next_try:
                visits.next_try = visits.count * _NEXT_TRY
                self._leave_out(at, lanes)
        if self.blocks.places:
            super().step()

    def _those_at(self, at: int) -> Array:
        """Threads that go on at an address next."""
        return next(lanes for place, lanes in self.blocks.places.groups() if place == at)

    def _leave_out(self, at: int, lanes: Array) -> None:
        """Move to a later turn of the loop that begins here, as late as all goes on alike."""
        least = 1
        while (group := self._group(at, lanes, least)) is not None:
            if self._left_out(group):
                return
            least = group.size + 1

    def _left_out(self, group: _Group) -> bool:
        """Carry out a period of a group and leave out as many as are like it; whether some were."""
        before, begin = saved(self._tally), len(self._tally.trace)
        if not self._follows(group):
            return False
        single = since(self._tally, before)
        period = group.period
        if not all(self._follows(group) for _ in range(period - 1)):
            return False
        counted = since(self._tally, before)
        alike = steady(self._tally, single)
        whole = steady(self._tally, counted)
        if whole.keys() != alike.keys() or any(
            (whole[key] != alike[key] * period).any() for key in alike
        ):
            return False
        end = len(self._tally.trace)
        times, tried = self._jump(group, alike)
        for array, change in counted.values():
            np.add(array, change * times, out=array)
        moved = zip(group.turn.watched, group.strides, strict=True)
        self._tally.repeat(Repeat(begin, end, times), moved, (times + 1) * period + tried)
        self.left_out += times * period
        return times > 0

    def _group(self, at: int, lanes: Array, least: int) -> _Group | None:
        """Turns that are alike, of those that come next, at least so many; ``None``: none are."""
        held, turns = [self._held(at)], [Turn()]
        standing, known = [self._standing()], Arrays()
        while len(turns) <= 2 * _TOGETHER:
            turn = self._turn_from(at, lanes, known)
            if turn is None or known.full:
                return None
            turns.append(turn)
            held.append(self._held(at))
            standing.append(self._standing())
            for size in range(least, (len(turns) - 1) // 2 + 1):
                if not stands_alike(standing[-1 - size], standing[-1]):
                    continue
                one, other = joined(turns[-2 * size : -size]), joined(turns[-size:])
                steps = steps_of(held[-1 - 2 * size], held[-1 - size], held[-1], lanes)
                found = self._alike(at, lanes, (one, other), steps)
                if found is not None:
                    return found
        return None

    def _alike(
        self, at: int, lanes: Array, turns: tuple[Turn, Turn], steps: Registers | None
    ) -> _Group | None:
        """Two groups of turns after each other, if they go the same way and all moves evenly."""
        one, other = turns
        if steps is None or not same_pieces(one, other):
            return None
        strides = strides_of(one.watched, other.watched)
        drifts = drifts_of(one.compared, other.compared)
        moving = {f"{prefix}{index}": power_of_two(step) for (prefix, index), step in steps.items()}
        if strides is None or drifts is None:
            return None
        if self._forgets_apart(other, strides) or not self._evenly.moves(
            (piece for piece, _ in other.pieces), moving
        ):
            return None
        until = until_changed(other.compared, drifts)
        found = _Group(at, lanes, other.turns, other, steps, strides, drifts, until)
        # Two periods to carry out, one to leave out, one to look at.
        return found if until > 2 * found.period + 2 else None

    def _forgets_apart(self, turn: Turn, strides: Sequence[Array]) -> bool:
        """Whether places are to be noted that lie between those of the turns carried out."""
        noted = self.blocks.assumes - {"global"}
        return any(
            STORES.get(each.instruction.opcode) in noted and bool(stride.any())
            for each, stride in zip(turn.watched, strides, strict=True)
        )

    def _turn_from(
        self, at: int, lanes: Array, known: Arrays, pieces: int | None = None
    ) -> Turn | None:
        """Carry out so many pieces, or those of one turn; ``None`` if then others are there."""
        seen = self._seen = Turn()
        tally, places = self.counters, self.blocks.places
        self.counters = Watching(self._tally, seen.watched, known)
        try:
            while places:
                super().step()
                back = bool(places) and places.lowest() == at
                if len(seen.pieces) >= pieces if pieces is not None else back:
                    return seen if back and same(self._those_at(at), lanes) else None
        finally:
            self.counters, self._seen = tally, None
        return None

    def _follows(self, group: _Group) -> Turn | None:
        """Carry out a group of turns; ``None`` if it goes another way."""
        turn = self._turn_from(group.at, group.lanes, Arrays(), len(group.turn.pieces))
        return turn if turn is not None and same_pieces(turn, group.turn) else None

    def _jump(self, group: _Group, alike: Mapping[int, Array]) -> tuple[int, int]:
        """How many periods could be left out, and groups carried out to find that.

        The machine stands behind them then.
        """
        period = group.period
        most = room(self._held(group.at), group.steps, group.lanes, period)
        left_out = tried = 0
        jump = most
        while jump >= 1:
            # Groups since the last that was watched: a period, what is left out, what was tried.
            fitting = (group.until - 2 - period - tried) // period
            jump = min(jump, fitting - left_out, most - left_out)
            if jump < 1:
                break
            ahead = 1 + period + (left_out + jump) * period + tried
            if self._tried(group, jump * period, ahead, alike):
                left_out, tried = left_out + jump, tried + 1
            else:
                jump //= 2
        return left_out, tried

    def _tried(self, group: _Group, times: int, ahead: int, alike: Mapping[int, Array]) -> bool:
        """Move on by so many groups and carry one out; back again if it is not as predicted."""
        state, before, executed = self._state(), saved(self._tally), self._tally.executed
        known, mark = self._held(group.at), self._tally.mark()
        self._shift(group, times)
        self._tally.trying = True
        try:
            turn = self._follows(group)
        except KernelprofError:
            turn = None
        self._tally.trying = False
        if turn is not None:
            now = steady(self._tally, since(self._tally, before))
            if (
                now.keys() == alike.keys()
                and all((now[key] == alike[key]).all() for key in alike)
                and as_predicted(turn.watched, group.turn.watched, group.strides, ahead)
                and moved_so(known, self._held(group.at), group.steps, times + 1, group.lanes)
            ):
                return True
        self._restore(state)
        self._tally.executed = executed
        take_back(self._tally, before)
        self._tally.forget(mark)
        return False

    # State.

    def _held(self, at: int) -> dict[tuple[str, int], Array]:
        """What registers hold that are needed where a piece begins."""
        found = {}
        for name in self._live.get(at, ()):
            prefix = name.rstrip("0123456789")
            index = int(name.removeprefix(prefix))
            # Threads that are apart write into the array that is there.
            found[prefix, index] = getattr(self.blocks, _FILES[prefix])[index].copy()
        return found

    def _shift(self, group: _Group, times: int) -> None:
        """Move registers on, as so many groups of turns would."""
        warps = group.lanes.any(axis=1, keepdims=True)
        for (prefix, index), step in group.steps.items():
            file = getattr(self.blocks, _FILES[prefix])
            old = file[index]
            new = (old.astype(np.int64) + step * times).astype(np.uint32)
            mine = warps if prefix == "UR" else group.lanes
            file[index] = new if mine.all() else np.where(mine, new, old)

    def _standing(self) -> tuple[dict[Any, Array], ...]:
        """Who waits where."""
        blocks = self.blocks
        there = {(at, n): lanes for n, (at, lanes) in enumerate(blocks.places.groups())}
        return there, dict(blocks.meetings.waiting), *blocks.block_barriers.standing()

    def _state(self) -> dict[str, Any]:
        """All of the blocks that changes where no memory is written that counts."""
        blocks = self.blocks
        found = {name: copy.copy(getattr(blocks, name)) for name in _FILES.values()}
        for file in found.values():
            # Only an array of its own is ever written into.
            file.update({at: each.copy() for at, each in file.items() if each.flags.writeable})
        kept = ("places", "meetings", "block_barriers", "goals")
        found.update({name: copy.deepcopy(getattr(blocks, name)) for name in kept})
        return {**found, "alive": blocks.alive}

    def _restore(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self.blocks, name, value)

    # What is looked at on the way.

    def _carry_out(self, at: int, lanes: Array) -> None:
        if self._seen is not None:
            self._seen.pieces.append((at, lanes))
        super()._carry_out(at, lanes)

    def _prepared(self, at: int) -> Any:
        """A piece whose comparisons can be watched."""
        piece = super()._prepared(at)
        steps = tuple((i, self._watching(i, step)) for i, step in piece.steps)
        piece = self._pieces[at] = replace(piece, steps=steps)
        return piece

    def _watching(self, i: Instruction, step: Step) -> Step:
        """A step that notes the whole numbers that decide, or are carried from."""
        carries = has_carry(i) and carry_is_seen(i)
        if not carries and not is_decision(i):
            return step
        sides = (i.operands[0], _NOTHING) if carries else i.operands[2:4]
        if is_sign(i):
            sides = (i.operands[3], _NOTHING)
        try:
            one, other = (whole(each) for each in sides)
        except TypeError:
            return step

        def watched(c: Context) -> None:
            if carries:
                step(c)
            if self._seen is not None:
                found = Compared(i, (one(c), other(c)), c.mask, carries=carries)
                self._seen.compared.append(found)
            if not carries:
                step(c)

        return watched
