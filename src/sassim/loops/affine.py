"""Affine steps of numbers from one loop iteration to the next, and for how long they hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sassim.counters.trace import RecordedAccess
    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction

    Registers = Mapping[tuple[str, int], Array]
    """Registers by their file (R, UR, P, UP) and number."""

_WORD: Final = 1 << 32
FAR: Final = 1 << 40
"""More iterations than any loop has."""


@dataclass(frozen=True, slots=True)
class TrackedComparison:
    """Integers that an instruction compares, or a sum whose carry it gives, and zero."""

    instruction: Instruction
    sides: tuple[Array, Array]
    mask: Array | None
    """The active mask."""
    carries: bool

    @property
    def signed(self) -> bool:
        """Whether the numbers are signed."""
        return not self.carries and not self.instruction.has("U32")

    @property
    def numbers(self) -> tuple[Array, Array]:
        """Both sides as signed or unsigned numbers, as the instruction reads them."""
        kind: Any = np.int32 if self.signed else np.uint32
        one, other = (each.view(kind).astype(np.int64) for each in self.sides)
        return one, other


def arrays_equal(one: Array, other: Array) -> bool:
    """Whether arrays are equal."""
    return one is other or (one.shape == other.shape and bool((one == other).all()))


def affine_steps(
    first: Registers, second: Registers, third: Registers, lanes: Array
) -> Registers | None:
    """Return the step of each register that changes; ``None`` where steps differ.

    Predicates may not change at all.
    """
    steps = {}
    warps = lanes.any(axis=1, keepdims=True)
    for key in third:
        mine = warps if key[0] in ("UR", "UP") else lanes
        if key[0] in ("P", "UP"):
            differs = (first[key] != second[key]) | (second[key] != third[key])
            if differs.any() and (differs & mine).any():
                return None
            continue
        step, again = second[key] - first[key], third[key] - second[key]
        differs = step != again
        if differs.any() and (differs & mine).any():
            return None
        if again.any():
            steps[key] = again.view(np.int32).astype(np.int64)
    return steps


def address_strides(
    earlier: Sequence[RecordedAccess], later: Sequence[RecordedAccess]
) -> list[Array] | None:
    """Return the step of each warp's addresses; ``None`` where lanes of a warp differ."""
    strides = []
    if len(earlier) != len(later):
        return None
    for one, other in zip(earlier, later, strict=True):
        if one.instruction is not other.instruction or one.start.shape != other.start.shape:
            return None
        if one.start is other.start:
            strides.append(other.moved - one.moved)
            continue
        moved = other.addresses - one.addresses
        if other.active is not None:
            by_lane = np.broadcast_to(moved, other.active.shape)
            lane = other.active.argmax(axis=1)
            stride = by_lane[np.arange(len(by_lane)), lane][:, None]
            apart = (by_lane != stride) & other.active
        else:
            stride = moved[:, :1]
            apart = moved != stride
        if apart.any():
            return None
        strides.append(stride)
    return strides


def comparison_drifts(
    earlier: Sequence[TrackedComparison], later: Sequence[TrackedComparison]
) -> list[tuple[Array, Array]] | None:
    """Return the steps of both sides of comparisons; ``None`` where others are compared."""
    if len(earlier) != len(later):
        return None
    drifts = []
    for one, other in zip(earlier, later, strict=True):
        if one.instruction is not other.instruction:
            return None
        a, b = (
            (new - old).view(np.int32).astype(np.int64)
            for old, new in zip(one.sides, other.sides, strict=True)
        )
        drifts.append((a, b))
    return drifts


def iterations_until_change(
    comparisons: Sequence[TrackedComparison], drifts: Sequence[tuple[Array, Array]]
) -> int:
    """Return iterations until a comparison gives another result, or a side overflows."""
    least = FAR
    for each, (one, other) in zip(comparisons, drifts, strict=True):
        left, right = each.numbers
        iterations: Array = np.full((1, 1), FAR)
        if not each.carries:
            iterations = _first_change(each.instruction, left - right, one - other)
        low, high = (-_WORD // 2, _WORD // 2 - 1) if each.signed else (0, _WORD - 1)
        for side, drift in ((left, one), (right, other)):
            iterations = np.minimum(iterations, _iterations_within(side, drift, low, high))
        if each.mask is not None:
            iterations = np.where(each.mask, iterations, FAR)
        least = min(least, int(iterations.min()))
    return least


def _first_change(i: Instruction, apart: Array, drift: Array) -> Array:
    """Return the first iteration at which numbers compare differently, from their distance."""
    by = np.where(drift == 0, 1, np.abs(drift))
    # Mirrored so that numbers increase.
    at = np.where(drift < 0, -apart, apart)
    reached = -(at // by)
    """Iterations until they are equal, or have passed each other."""
    if i.has("EQ", "NE"):
        iterations = np.where(at == 0, 1, np.where((at < 0) & (at % by == 0), reached, FAR))
    else:
        # Whether being equal is on the side that they come from.
        stays = i.has("LE", "GT") == (drift > 0)
        passed = np.where(stays & (at % by == 0), reached + 1, reached)
        iterations = np.where(np.where(stays, at > 0, at >= 0), FAR, passed)
    first: Array = np.where(drift == 0, FAR, iterations)
    return first


def _iterations_within(value: Array, drift: Array, low: int, high: int) -> Array:
    """Return iterations for which a number stays between two others."""
    space = np.where(drift > 0, high - value, value - low)
    iterations: Array = np.where(drift == 0, FAR, space // np.maximum(np.abs(drift), 1))
    return iterations


def iterations_until_overflow(held: Registers, steps: Registers, lanes: Array, period: int) -> int:
    """Return periods until a register overflows 32 bits."""
    most = _WORD
    for key, step in steps.items():
        far = np.abs(step) * period
        value = held[key].astype(np.int64)
        space = np.where(step > 0, _WORD - 1 - value, value) // np.maximum(far, 1)
        space = np.where(step == 0, _WORD, space)
        mine = lanes.any(axis=1, keepdims=True) if key[0] == "UR" else lanes
        most = min(most, int(np.where(mine, space, _WORD).min()))
    return most


def match_prediction(
    seen: Sequence[RecordedAccess],
    earlier: Sequence[RecordedAccess],
    strides: Sequence[Array],
    ahead: int,
) -> bool:
    """Whether accesses have the addresses that strides predict, so many iterations ahead."""
    if len(seen) != len(earlier):
        return False
    for now, then, stride in zip(seen, earlier, strides, strict=True):
        wrong = now.addresses != then.addresses + stride * ahead
        if wrong.any() and (now.active is None or (wrong & now.active).any()):
            return False
    return True


def power_of_two(steps: Array) -> int:
    """Return the largest power of two that divides all of some numbers, not all zero."""
    bits = int(np.bitwise_or.reduce(steps, axis=None))
    return bits & -bits


def have_advanced(
    before: Registers, now: Registers, steps: Registers, times: int, lanes: Array
) -> bool:
    """Whether registers changed by exactly so many steps."""
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


def same_waiting_threads(
    one: tuple[dict[Any, Array], ...], other: tuple[dict[Any, Array], ...]
) -> bool:
    """Whether the same threads wait for the same."""
    return all(
        here.keys() == there.keys() and all(arrays_equal(here[key], there[key]) for key in here)
        for here, there in zip(one, other, strict=True)
    )
