"""By how much numbers move from one turn of a loop to the next, and how far that can go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.predict.counts.trace import Watched
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.sass.listing import Instruction

    Registers = Mapping[tuple[str, int], Array]
    """Registers by their file (R, UR, P, UP) and number."""

_WORD: Final = 1 << 32
FAR: Final = 1 << 40
"""More turns than any loop has."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Whole numbers that an instruction compares, or a sum that it carries from and nothing."""

    instruction: Instruction
    sides: tuple[Array, Array]
    mask: Array | None
    """The lanes that take part."""
    carries: bool

    @property
    def signed(self) -> bool:
        """Whether the numbers are taken with a sign."""
        return not self.carries and not self.instruction.has("U32")

    @property
    def numbers(self) -> tuple[Array, Array]:
        """Both sides as the instruction takes them: with a sign or without."""
        kind: Any = np.int32 if self.signed else np.uint32
        one, other = (each.view(kind).astype(np.int64) for each in self.sides)
        return one, other


def same(one: Array, other: Array) -> bool:
    """Whether arrays hold the same."""
    return one is other or (one.shape == other.shape and bool((one == other).all()))


def steps_of(
    first: Registers, second: Registers, third: Registers, lanes: Array
) -> Registers | None:
    """By how much registers move from one time to the next; ``None`` where they do not evenly.

    Those that do not move are left out. Predicates may not change at all.
    """
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


def strides_of(earlier: Sequence[Watched], later: Sequence[Watched]) -> list[Array] | None:
    """By how much each warp's addresses move; ``None`` where lanes of a warp move apart."""
    found = []
    if len(earlier) != len(later):
        return None
    for one, other in zip(earlier, later, strict=True):
        if one.instruction is not other.instruction or one.start.shape != other.start.shape:
            return None
        if one.start is other.start:
            found.append(other.moved - one.moved)
            continue
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


def drifts_of(
    earlier: Sequence[Compared], later: Sequence[Compared]
) -> list[tuple[Array, Array]] | None:
    """By how much what is compared moves; ``None`` where other numbers are compared."""
    if len(earlier) != len(later):
        return None
    found = []
    for one, other in zip(earlier, later, strict=True):
        if one.instruction is not other.instruction:
            return None
        a, b = (
            (new - old).view(np.int32).astype(np.int64)
            for old, new in zip(one.sides, other.sides, strict=True)
        )
        found.append((a, b))
    return found


def until_changed(compared: Sequence[Compared], drifts: Sequence[tuple[Array, Array]]) -> int:
    """Turns from these on until a comparison turns out differently, or a side leaves its bits."""
    least = FAR
    for each, (one, other) in zip(compared, drifts, strict=True):
        left, right = each.numbers
        turns: Array = np.full((1, 1), FAR)
        if not each.carries:
            turns = _changes(each.instruction, left - right, one - other)
        low, high = (-_WORD // 2, _WORD // 2 - 1) if each.signed else (0, _WORD - 1)
        for side, drift in ((left, one), (right, other)):
            turns = np.minimum(turns, _turns_within(side, drift, low, high))
        if each.mask is not None:
            turns = np.where(each.mask, turns, FAR)
        least = min(least, int(turns.min()))
    return least


def _changes(i: Instruction, apart: Array, drift: Array) -> Array:
    """The first turn at which numbers compare differently, from how far they are apart."""
    by = np.where(drift == 0, 1, np.abs(drift))
    # Turned so that numbers move up.
    at = np.where(drift < 0, -apart, apart)
    reached = -(at // by)
    """Turns until they are equal, or have passed each other."""
    if i.has("EQ", "NE"):
        turns = np.where(at == 0, 1, np.where((at < 0) & (at % by == 0), reached, FAR))
    else:
        # Whether being equal is on the side that they come from.
        stays = i.has("LE", "GT") == (drift > 0)
        passed = np.where(stays & (at % by == 0), reached + 1, reached)
        turns = np.where(np.where(stays, at > 0, at >= 0), FAR, passed)
    found: Array = np.where(drift == 0, FAR, turns)
    return found


def _turns_within(value: Array, drift: Array, low: int, high: int) -> Array:
    """Turns for which a number stays between two others."""
    space = np.where(drift > 0, high - value, value - low)
    found: Array = np.where(drift == 0, FAR, space // np.maximum(np.abs(drift), 1))
    return found


def room(held: Registers, steps: Registers, lanes: Array, period: int) -> int:
    """How many periods registers can move before one of them leaves its 32 bits."""
    most = _WORD
    for key, step in steps.items():
        far = np.abs(step) * period
        value = held[key].astype(np.int64)
        space = np.where(step > 0, _WORD - 1 - value, value) // np.maximum(far, 1)
        space = np.where(step == 0, _WORD, space)
        mine = lanes.any(axis=1, keepdims=True) if key[0] == "UR" else lanes
        most = min(most, int(np.where(mine, space, _WORD).min()))
    return most


def as_predicted(
    seen: Sequence[Watched], known: Sequence[Watched], strides: Sequence[Array], ahead: int
) -> bool:
    """Whether accesses have the addresses that strides predict, so many turns ahead."""
    if len(seen) != len(known):
        return False
    for now, then, stride in zip(seen, known, strides, strict=True):
        wrong = now.addresses != then.addresses + stride * ahead
        if wrong.any() and (now.taking is None or (wrong & now.taking).any()):
            return False
    return True


def power_of_two(steps: Array) -> int:
    """The largest power of two that divides all of some numbers, which are not all nothing."""
    bits = int(np.bitwise_or.reduce(steps, axis=None))
    return bits & -bits


def moved_so(before: Registers, now: Registers, steps: Registers, times: int, lanes: Array) -> bool:
    """Whether registers hold what so many steps make of what they held."""
    warps = lanes.any(axis=1, keepdims=True)
    for key, value in now.items():
        mine = warps if key[0] in ("UR", "UP") else lanes
        expected = before[key]
        if key in steps:
            expected = (expected.astype(np.int64) + steps[key] * times).astype(np.uint32)
        wrong = value != expected
        if wrong.any() and (wrong & mine).any():
            return False
    return True


def stands_alike(one: tuple[dict[Any, Array], ...], other: tuple[dict[Any, Array], ...]) -> bool:
    """Whether the same threads wait at the same places."""
    return all(
        here.keys() == there.keys() and all(same(here[key], there[key]) for key in here)
        for here, there in zip(one, other, strict=True)
    )
