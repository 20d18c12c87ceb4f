"""Atomic operations in global, shared and generic memory.

Threads that meet at one address go one after the other, by warp and lane. A GPU's order may be
another; whole numbers do not depend on it, floating-point sums by their rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.predict.machine.arrays import LANES
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.operations.meeting import Meeting, typed
from kernelprof.predict.machine.operations.memory import (
    address_in,
    count,
    everyone,
    values_of,
    words_of,
)
from kernelprof.predict.machine.operations.packed import PACKED
from kernelprof.predict.machine.operations.spaces import (
    GLOBAL,
    parts_of,
    where,
)
from kernelprof.predict.machine.phases import came_before_hopper
from kernelprof.predict.machine.values import guard_of, put, put_predicate
from kernelprof.sass.operands import ZERO, Predicate, Register

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.machine.operations.meeting import Combine
    from kernelprof.predict.machine.operations.spaces import Part
    from kernelprof.predict.machine.values import Write
    from kernelprof.predict.sass.listing import Instruction

_COMBINE: Final[dict[str, Combine]] = {
    "ADD": np.add,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "EXCH": lambda _, new: new,
    "INC": lambda old, most: np.where(old >= most, 0, old + 1).astype(old.dtype),
    "DEC": lambda old, most: np.where((old == 0) | (old > most), most, old - 1).astype(old.dtype),
}


def _kind(i: Instruction) -> np.dtype[Any]:
    """The type of the numbers, by the modifiers."""
    if i.has("F64"):
        return np.dtype(np.float64)
    if i.has("F32"):
        return np.dtype(np.float32)
    if i.has("128"):
        raise NotKnownError(i)
    if i.has("64", "S64"):
        return np.dtype(np.int64 if i.has("S64") else np.uint64)
    return np.dtype(np.int32 if i.has("S32") else np.uint32)


def _combination(i: Instruction) -> tuple[str, Combine, np.dtype[Any]]:
    """What an atomic does, its name, and the type of the numbers that it does it with."""
    found = [each for each in i.modifiers if each in _COMBINE]
    if len(found) != 1:
        raise NotKnownError(i)
    (name,) = found
    for packed, (kind, functions) in PACKED.items():
        if i.has(packed):
            if name not in functions:
                raise NotKnownError(i)
            return packed, functions[name], np.dtype(kind)
    if i.has("F16", "BF16", "F32x4", "F16x4", "F16x8", "BF16x4", "BF16x8"):
        raise NotKnownError(i)
    return name, _COMBINE[name], _kind(i)


class _Atomic:
    """The operands of an atomic: address, what is given, and where the old value goes."""

    def __init__(self, i: Instruction, size: int) -> None:
        place, operand = address_in(i)
        self.i, self.size = i, size
        self.space, self.at = where(i, operand)
        self.sources = i.operands[place + 1 :]
        targets = [each for each in i.operands[:place] if isinstance(each, Register)]
        self.results = [put(targets[0], n) for n in range(words_of(size))] if targets else []
        self.returns = bool(targets) and targets[0].index != ZERO
        self.flags = [
            put_predicate(each) for each in i.operands[:place] if isinstance(each, Predicate)
        ]
        self.guard = guard_of(i)

    def parts(self, c: Context, active: Array | None, kind: str) -> list[Part]:
        """What is accessed, by kind of memory; nothing where no lane takes part."""
        taking = everyone(c, c.active(active))
        if not taking.any():
            return []
        found = parts_of(self.space, c, c.every(self.at(c)), taking)
        count(c, self.i, kind, found, self.size)
        return found

    def give_back(self, c: Context, old: Array, active: Array | None) -> None:
        """Write what was there to the registers."""
        give_back(c, self.results, old, active)


def give_back(c: Context, results: list[Write], old: Array, active: Array | None) -> None:
    """Write numbers of all lanes to registers in a row."""
    raw = np.ascontiguousarray(old).view(np.uint32).reshape(c.warps, LANES, -1)
    for n, result in enumerate(results):
        result(c, np.ascontiguousarray(raw[..., n]), active)


@operation("ATOMG", "ATOM", "ATOMS", "RED", "REDG")
def _atomic(i: Instruction) -> Step:
    if i.has("CAS", "CAST"):
        return _compare_and_swap(i)
    if i.has("POPC"):
        return _count(i)
    if i.has("ARRIVE"):
        return _arrive(i)
    name, combine, kind = _combination(i)
    atomic = _Atomic(i, kind.itemsize)
    given = values_of(i, atomic.sources[0], kind.itemsize)
    how = "atomic" if i.opcode.startswith("ATOM") else "reduction"
    # Half-precision sums in generic memory are carried out where it is global; the code behind
    # them takes care of the rest.
    only_global = i.opcode == "ATOM" and i.has("F16x2", "BF16x2")

    def work(c: Context) -> None:
        active = atomic.guard(c)
        parts = atomic.parts(c, active, how)
        done = np.zeros((c.warps, LANES), np.bool_)
        if not parts:
            return
        old = np.zeros((c.warps, LANES), kind)
        values = None if c.is_unused(i) else typed(given(c), kind)
        for part in parts:
            if only_global and part.space != GLOBAL:
                continue
            lanes = everyone(c, part.taking)
            done |= lanes
            if values is None:
                continue
            meeting = Meeting(c, part, lanes)
            found = meeting.carry_out(values, combine, name, returns=atomic.returns)
            old = np.where(lanes, found, old)
        if atomic.returns:
            atomic.give_back(c, old, active)
        for flag in atomic.flags:
            flag(c, done, active)

    return work


def _count(i: Instruction) -> Step:
    """``ATOMS.POPC.INC``: adds one for each thread."""
    kind = np.dtype(np.uint32)
    atomic = _Atomic(i, 4)

    def work(c: Context) -> None:
        active = atomic.guard(c)
        for part in atomic.parts(c, active, "count"):
            old = np.zeros((c.warps, LANES), kind)
            if not c.is_unused(i):
                ones = np.ones((c.warps, LANES), kind)
                meeting = Meeting(c, part, everyone(c, part.taking))
                old = meeting.carry_out(ones, np.add, "ADD", returns=atomic.returns)
            if atomic.returns:
                atomic.give_back(c, old, active)

    return work


def _arrive(i: Instruction) -> Step:
    """A thread comes to a barrier in shared memory, before compute capability 9.0."""
    kind = np.dtype(np.uint64)
    atomic = _Atomic(i, kind.itemsize)

    def work(c: Context) -> None:
        active = atomic.guard(c)
        given = np.zeros((c.warps, LANES), kind)
        for part in atomic.parts(c, active, "barrier"):
            meeting = Meeting(c, part, everyone(c, part.taking))
            old = meeting.carry_out(given, came_before_hopper, "ARRIVE", returns=True)
            if atomic.returns:
                atomic.give_back(c, old, active)

    return work


def _compare_and_swap(i: Instruction) -> Step:
    """``CAST`` gives no old value, but whether it was swapped: in a predicate, or as a number."""
    if i.has("128"):
        raise NotKnownError(i)
    kind = np.dtype(np.uint64 if i.has("64") else np.uint32)
    atomic = _Atomic(i, kind.itemsize)
    wanted, given = (values_of(i, each, kind.itemsize) for each in atomic.sources[:2])
    spins = i.has("CAST")

    def work(c: Context) -> None:
        active = atomic.guard(c)
        parts = atomic.parts(c, active, "compare")
        if not parts:
            return
        olds, news = typed(wanted(c), kind), typed(given(c), kind)
        found = np.zeros((c.warps, LANES), kind)
        for part in parts:
            lanes = everyone(c, part.taking)
            there = Meeting(c, part, lanes).compare_and_swap(olds, news)
            found = np.where(lanes, there, found)
        swapped = found == olds
        if spins:
            atomic.give_back(c, swapped.astype(kind), active)
        else:
            atomic.give_back(c, found, active)
        for flag in atomic.flags:
            flag(c, swapped, active)

    return work
