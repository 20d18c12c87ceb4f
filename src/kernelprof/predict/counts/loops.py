"""A machine that counts long loops without carrying out every turn of them.

Where all that a loop's next turn depends on moves by the same step every time (an index, an
address), turns differ by these steps alone. Once a few of them have been carried out, and counted
alike, the machine moves to a later turn and carries that one out: if its addresses and what it
compares are those that the steps predict, and it goes the same way and counts the same, so do those
between, because a comparison of such numbers changes once at most (where two become equal is
worked out). What they would have counted is added. Sectors and banks of an address repeat after
some steps, so whole periods of them are left out.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.predict.counts.trace import Repeat
from kernelprof.predict.machine.machine import Machine
from kernelprof.predict.machine.uses import MEMORY
from kernelprof.predict.machine.values import whole
from kernelprof.predict.sass.operands import Constant, Label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.predict.counts.tally import Tally, Watched
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.launch import Launch
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.needed import Needed
    from kernelprof.predict.sass.program import Program

    Registers = Mapping[tuple[str, int], Array]

_FIRST_TRY: Final = 4
"""Turns of a loop after which leaving some out is tried."""
_NEXT_TRY: Final = 3
"""How many times more turns pass before the next try."""
_TOGETHER: Final = (1, 2, 3, 4)
"""Turns that may be alike only as a group: the stages of a ring, by their number."""
_LONGEST: Final = 128
"""Bytes after which the sectors, lines and banks of an address repeat."""
_WORD: Final = 1 << 32
_COMPARISONS: Final = ("ISETP", "UISETP")
_OTHER_COMPARISONS: Final = ("FSETP", "DSETP", "HSETP2", "FCHK", "R2P", "MUFU")
"""What decides by numbers of which it is not known how they move."""
_FILES: Final = {"R": "registers", "UR": "uniform", "P": "predicates", "UP": "uniform_predicates"}
_STATE: Final = (
    *_FILES.values(), "alive", "places", "meetings", "block_barriers", "clusters", "goals",
)  # fmt: skip
"""What of blocks changes where no memory is written that counts."""


@dataclass
class _Visits:
    """A loop that is under way: which threads came back to its first piece, and how often."""

    lanes: Array
    count: int = 0
    next_try: int = _FIRST_TRY


@dataclass(frozen=True, slots=True)
class Compared:
    """Whole numbers that an instruction compares, of the warps and lanes that take part."""

    instruction: Instruction
    sides: tuple[Array, Array]
    rows: Array | None
    mask: Array | None


@dataclass(frozen=True)
class _Group:
    """Turns of a loop that are alike: what they carry out, and by how much all moves."""

    pieces: int
    """Pieces of code in the group."""
    steps: Registers
    """By how much registers move, as whole numbers with a sign."""
    watched: Sequence[Watched]
    """Its accesses."""
    strides: Sequence[Array]
    """For each access, by how much each warp's addresses move."""
    compared: Sequence[Compared]
    """What it compares."""
    drifts: Sequence[tuple[Array, Array]]
    """For each comparison, by how much either side moves."""

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
        self._heads = _heads(launch.program)
        self._plain: dict[int, bool] = {}
        self._compared: list[Compared] | None = None
        self.left_out = 0
        """Turns of loops that were not carried out."""

    def step(self) -> None:
        """Carry out one piece of code, or leave out many turns of a loop before it."""
        at = self.blocks.places.lowest()
        if at in self._heads:
            lanes = self._those_at(at)
            visits = self._visits.get(at)
            if visits is None or not _same(visits.lanes, lanes):
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
        group = self._group(at, lanes)
        if group is None:
            return
        tally = self._tally
        begin = len(tally.trace)
        before = tally.saved()
        if not self._turns(at, lanes, group.pieces):
            return
        single = tally.since(before)
        if not tally.trace.same(begin - group.pieces, begin, len(tally.trace)):
            return
        period = group.period
        if any(not self._turns(at, lanes, group.pieces) for _ in range(period - 1)):
            return
        counted = tally.since(before)
        steady = tally.steady()
        for key, (_, change) in counted.items():
            if key in steady and (key not in single or (change != single[key][1] * period).any()):
                return
        alike = {key: change for key, (_, change) in single.items() if key in steady}
        times, tried = self._gallop(at, lanes, group, period, alike)
        if times == 0:
            return
        for array, change in counted.values():
            np.add(array, change * times, out=array)
        tally.trace.repeats.append(Repeat(begin, begin + group.pieces * period, times))
        for each, stride in zip(group.watched, group.strides, strict=True):
            tally.stretch(each, stride, (times + 1) * period + tried)
        self.left_out += times * period

    def _group(self, at: int, lanes: Array) -> _Group | None:
        """Turns that are alike, of those that come next; ``None`` where none are found."""
        tally = self._tally
        starts, held, seen = [len(tally.trace)], [self._held(at)], []
        for size in _TOGETHER:
            while len(starts) <= 2 * size:
                back, accesses, compared = self._watched_turns(at, lanes, None)
                seen.append((accesses, compared))
                if not back:
                    return None
                starts.append(len(tally.trace))
                held.append(self._held(at))
            last = len(starts) - 1
            first, middle = starts[last - 2 * size], starts[last - size]
            if not self._is_plain(first, starts[last]):
                return None
            if not tally.trace.same(first, middle, starts[last]):
                continue
            steps = _steps(held[last - 2 * size], held[last - size], held[last], lanes)
            earlier, later = seen[last - 2 * size : last - size], seen[last - size : last]
            accesses = [each for turn in later for each in turn[0]]
            strides = _strides([each for turn in earlier for each in turn[0]], accesses)
            compared = [each for turn in later for each in turn[1]]
            drifts = _drifts([each for turn in earlier for each in turn[1]], compared)
            if steps is not None and strides is not None and drifts is not None:
                return _Group(starts[last] - middle, steps, accesses, strides, compared, drifts)
        return None

    def _watched_turns(
        self, at: int, lanes: Array, pieces: int | None
    ) -> tuple[bool, list[Watched], list[Compared]]:
        """Like :meth:`_turns`, with what was accessed and compared on the way."""
        accesses: list[Watched] = []
        compared: list[Compared] = []
        self._tally.watched, self._compared = accesses, compared
        try:
            return self._turns(at, lanes, pieces), accesses, compared
        finally:
            self._tally.watched = self._compared = None

    def _turns(self, at: int, lanes: Array, pieces: int | None) -> bool:
        """Carry out so many pieces, or those of one turn; whether the same threads are back."""
        trace, places = self._tally.trace, self.blocks.places
        begin = len(trace)
        while places:
            super().step()
            done = len(trace) - begin
            back = bool(places) and places.lowest() == at
            if done >= pieces if pieces is not None else back:
                return back and _same(self._those_at(at), lanes)
        return False

    def _gallop(
        self, at: int, lanes: Array, group: _Group, period: int, alike: Mapping[int, Array]
    ) -> tuple[int, int]:
        """How many periods could be left out, and turns carried out to find that.

        The machine stands behind them then.
        """
        tally = self._tally
        most = _room(self._held(at), group.steps, lanes, period)
        until = _until_equal(group)
        jump, left_out, tried, grows = 1, 0, 0, True
        while jump >= 1:
            # Since the last turn that was watched: those of a period, what is left out, attempts.
            ahead = 1 + period + (left_out + jump) * period + tried
            if left_out + jump > most or ahead >= until:
                jump, grows = jump // 2, False
                continue
            state, before, place = self._state(), tally.saved(), len(tally.trace)
            executed = tally.executed
            marks = tally.stream.mark()
            self._shift(group.steps, lanes, jump * period)
            tally.trying = True
            try:
                fits, accesses, compared = self._watched_turns(at, lanes, group.pieces)
                fits = fits and _as_predicted(group, accesses, compared, ahead)
            except KernelprofError:
                fits = False
            tally.trying = False
            fits = fits and tally.trace.same(place - group.pieces, place, len(tally.trace))
            if fits:
                change = tally.since(before)
                steady = tally.steady()
                counted = {key: each for key, (_, each) in change.items() if key in steady}
                fits = counted.keys() == alike.keys() and all(
                    (counted[key] == alike[key]).all() for key in alike
                )
            if fits:
                left_out, tried = left_out + jump, tried + 1
                jump = jump * 2 if grows else jump // 2
                continue
            self._restore(state)
            tally.executed = executed
            tally.back_to(before)
            tally.trace.shorten(place)
            tally.stream.shorten(marks)
            jump, grows = jump // 2, False
        return left_out, tried

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

    def _shift(self, steps: Registers, lanes: Array, times: int) -> None:
        """Move registers on, as so many groups of turns would."""
        warps = lanes.any(axis=1, keepdims=True)
        for (prefix, index), step in steps.items():
            file = getattr(self.blocks, _FILES[prefix])
            old = file[index]
            new = (old.astype(np.int64) + step * times).astype(np.uint32)
            mine = warps if prefix == "UR" else lanes
            file[index] = new if mine.all() else np.where(mine, new, old)

    def _state(self) -> dict[str, Any]:
        return {name: copy.deepcopy(getattr(self.blocks, name)) for name in _STATE}

    def _restore(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self.blocks, name, value)

    def _is_plain(self, first: int, last: int) -> bool:
        """Whether nothing that counts depends on what pieces read from memory, or write to it."""
        return all(self._is_plain_piece(at) for at in set(self._tally.trace.pieces[first:last]))

    def _is_plain_piece(self, at: int) -> bool:
        found = self._plain.get(at)
        if found is None:
            block = self.program.blocks[at]
            found = self._plain[at] = all(
                id(each) in self.blocks.unused
                if each.opcode in MEMORY and not _is_parameter(each)
                else each.opcode not in _OTHER_COMPARISONS or self._is_skipped(each)
                for each in block.body
            )
        return found

    def _prepared(self, at: int) -> Any:
        """A piece whose comparisons can be watched."""
        piece = super()._prepared(at)
        steps = tuple((i, self._watching(i, step)) for i, step in piece.steps)
        piece = self._pieces[at] = replace(piece, steps=steps)
        return piece

    def _watching(self, i: Instruction, step: Step) -> Step:
        if i.opcode not in _COMPARISONS:
            return step
        one, other = (whole(each) for each in i.operands[2:4])

        def watched(c: Context) -> None:
            if self._compared is not None:
                sides = (one(c).view(np.int32), other(c).view(np.int32))
                self._compared.append(Compared(i, sides, c.rows, c.mask))
            step(c)

        return watched


def _is_parameter(i: Instruction) -> bool:
    """Whether it reads constant memory where its own text says: what is there never changes."""
    return i.opcode == "LDC" and all(
        each.register is None for each in i.operands if isinstance(each, Constant)
    )


def _heads(program: Program) -> frozenset[int]:
    """Pieces that branches further down lead back to."""
    found = set()
    for start, block in program.blocks.items():
        if block.end is None or block.end.opcode != "BRA":
            continue
        for each in block.end.operands:
            target = program.target(block.function, each) if isinstance(each, Label) else None
            if target is not None and target <= start:
                found.add(target)
    return frozenset(found)


def _same(one: Array, other: Array) -> bool:
    return one is other or bool((one == other).all())


def _steps(first: Registers, second: Registers, third: Registers, lanes: Array) -> Registers | None:
    """By how much registers move from one time to the next; ``None`` where they do not evenly."""
    found = {}
    warps = lanes.any(axis=1, keepdims=True)
    for key in third:
        mine = warps if key[0] in ("UR", "UP") else lanes
        if key[0] in ("P", "UP"):
            differs = (first[key] != second[key]) | (second[key] != third[key])
            if differs.any() and (differs & mine).any():
                return None
            continue
        step, again = second[key] - first[key], third[key] - second[key]
        uneven = step != again
        if uneven.any() and (uneven & mine).any():
            return None
        if again.any():
            found[key] = again.view(np.int32).astype(np.int64)
    return found


def _strides(earlier: Sequence[Watched], later: Sequence[Watched]) -> list[Array] | None:
    """By how much each warp's addresses move; ``None`` where lanes of a warp move apart."""
    found = []
    if len(earlier) != len(later):
        return None
    for one, other in zip(earlier, later, strict=True):
        if one.instruction is not other.instruction or one.addresses.shape != other.addresses.shape:
            return None
        moved = other.addresses - one.addresses
        if other.taking is not None:
            spread = np.broadcast_to(moved, other.taking.shape)
            lane = other.taking.argmax(axis=1)
            stride = spread[np.arange(len(spread)), lane][:, None]
            apart = (spread != stride) & other.taking
        else:
            stride = moved[:, :1]
            apart = moved != stride
        if apart.any():
            return None
        found.append(stride)
    return found


def _drifts(
    earlier: Sequence[Compared], later: Sequence[Compared]
) -> list[tuple[Array, Array]] | None:
    """By how much what is compared moves; ``None`` where other numbers are compared."""
    if len(earlier) != len(later):
        return None
    found = []
    for one, other in zip(earlier, later, strict=True):
        if one.instruction is not other.instruction:
            return None
        found.append((other.sides[0] - one.sides[0], other.sides[1] - one.sides[1]))
    return found


def _as_predicted(
    group: _Group, accesses: Sequence[Watched], compared: Sequence[Compared], ahead: int
) -> bool:
    """Whether a turn, so many ahead, accesses and compares what the steps predict."""
    if len(accesses) != len(group.watched) or len(compared) != len(group.compared):
        return False
    for seen, known, stride in zip(accesses, group.watched, group.strides, strict=True):
        wrong = seen.addresses != known.addresses + stride * ahead
        if wrong.any() and (seen.taking is None or (wrong & seen.taking).any()):
            return False
    for now, then, drifts in zip(compared, group.compared, group.drifts, strict=True):
        for side, start, drift in zip(now.sides, then.sides, drifts, strict=True):
            expected = (start.astype(np.int64) + drift.astype(np.int64) * ahead).astype(np.int32)
            wrong = side != expected
            if wrong.any() and (now.mask is None or (wrong & now.mask).any()):
                return False
    return True


def _until_equal(group: _Group) -> int:
    """Turns after which numbers that the group compares for equality are equal."""
    least = _WORD
    for each, (one, other) in zip(group.compared, group.drifts, strict=True):
        if not each.instruction.has("EQ", "NE"):
            continue
        apart = each.sides[0].astype(np.int64) - each.sides[1]
        closing = other.astype(np.int64) - one
        turns = np.where(closing == 0, 0, apart // np.where(closing == 0, 1, closing))
        meets = (turns > 0) & (turns * closing == apart)
        if each.mask is not None:
            meets = meets & each.mask
        if meets.any():
            least = min(least, int(np.broadcast_to(turns, meets.shape)[meets].min()))
    return least


def _room(held: Registers, steps: Registers, lanes: Array, period: int) -> int:
    """How many periods registers can move before one of them leaves its 32 bits."""
    most = _WORD
    for key, step in steps.items():
        far = np.abs(step) * period
        value = held[key].astype(np.int64)
        room = np.where(step > 0, _WORD - 1 - value, value) // np.maximum(far, 1)
        room = np.where(step == 0, _WORD, room)
        mine = lanes.any(axis=1, keepdims=True) if key[0] == "UR" else lanes
        most = min(most, int(np.where(mine, room, _WORD).min()))
    return most
