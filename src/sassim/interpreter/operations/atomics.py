"""Atomic operations in global, shared and generic memory.

Threads that meet at one address go one after the other, by warp and lane. A GPU's order may be
another; whole numbers do not depend on it, floating-point sums by their rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.lanes import LANES
from sassim.interpreter.mbarriers import arrive_before_hopper
from sassim.interpreter.operand_access import (
    operand_at,
    read_guard,
    write_predicate,
    write_u32,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.address_spaces import (
    GLOBAL,
    decode_address,
    split_by_space,
)
from sassim.interpreter.operations.memory import (
    address_in,
    all_lanes,
    count_words,
    read_values,
    report_access,
)
from sassim.interpreter.operations.packed import PACKED
from sassim.interpreter.operations.same_address import AtomicUpdate, as_typed_words
from sassim.sass.operands import ZERO, Predicate, Register

if TYPE_CHECKING:
    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operand_access import Write
    from sassim.interpreter.operations import Step
    from sassim.interpreter.operations.address_spaces import SpaceAccess
    from sassim.interpreter.operations.same_address import Combine
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand

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


def _number_type(i: Instruction) -> np.dtype[Any]:
    if i.has("F64"):
        return np.dtype(np.float64)
    if i.has("F32"):
        return np.dtype(np.float32)
    if i.has("128"):
        raise NotKnownError(i)
    if i.has("64", "S64"):
        return np.dtype(np.int64 if i.has("S64") else np.uint64)
    return np.dtype(np.int32 if i.has("S32") else np.uint32)


def _decode_combination(i: Instruction) -> tuple[str, Combine, np.dtype[Any]]:
    """What an atomic does, its name, and the type of the numbers that it does it with."""
    names = [each for each in i.modifiers if each in _COMBINE]
    if len(names) != 1:
        raise NotKnownError(i)
    (name,) = names
    for packed, (kind, functions) in PACKED.items():
        if i.has(packed):
            if name not in functions:
                raise NotKnownError(i)
            return packed, functions[name], np.dtype(kind)
    if i.has("F16", "BF16", "F32x4", "F16x4", "F16x8", "BF16x4", "BF16x8"):
        raise NotKnownError(i)
    return name, _COMBINE[name], _number_type(i)


class _Atomic:
    """The operands of an atomic: address, what is given, and where the old value goes."""

    def __init__(self, i: Instruction, size: int) -> None:
        place, operand = address_in(i)
        self.i, self.size = i, size
        self.space, self.at = decode_address(i, operand)
        self._place = place
        targets = [each for each in i.operands[:place] if isinstance(each, Register)]
        self.results = (
            [write_u32(i, targets[0], n) for n in range(count_words(size))] if targets else []
        )
        self.returns = bool(targets) and targets[0].index != ZERO
        self.flags = [
            write_predicate(i, each) for each in i.operands[:place] if isinstance(each, Predicate)
        ]
        self.guard = read_guard(i)

    def source(self, number: int) -> Operand:
        """Return an operand behind the address."""
        return operand_at(self.i, self._place + 1 + number)

    def parts(self, c: ExecutionContext, active: Array | None, kind: str) -> list[SpaceAccess]:
        """What is accessed, by kind of memory; nothing where no lane takes part."""
        active_mask = all_lanes(c, c.active_mask(active))
        if not active_mask.any():
            return []
        parts = split_by_space(self.space, c, c.broadcast(self.at(c)), active_mask)
        report_access(c, self.i, kind, parts, self.size)
        return parts

    def write_words(self, c: ExecutionContext, old: Array, active: Array | None) -> None:
        """Write what was there to the registers."""
        write_words(c, self.results, old, active)


def write_words(
    c: ExecutionContext, results: list[Write], old: Array, active: Array | None
) -> None:
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
    name, combine, kind = _decode_combination(i)
    atomic = _Atomic(i, kind.itemsize)
    given = read_values(i, atomic.source(0), kind.itemsize)
    how = "atomic" if i.opcode.startswith("ATOM") else "reduction"
    # Half-precision sums in generic memory are carried out where it is global; the code behind
    # them takes care of the rest.
    only_global = i.opcode == "ATOM" and i.has("F16x2", "BF16x2")

    def execute(c: ExecutionContext) -> None:
        active = atomic.guard(c)
        parts = atomic.parts(c, active, how)
        done = np.zeros((c.warps, LANES), np.bool_)
        if not parts:
            return
        old = np.zeros((c.warps, LANES), kind)
        values = None if c.is_value_unused(i) else as_typed_words(given(c), kind)
        for part in parts:
            if only_global and part.space != GLOBAL:
                continue
            lanes = all_lanes(c, part.active)
            done |= lanes
            if values is None:
                continue
            update = AtomicUpdate(c, part, lanes)
            previous = update.apply(values, combine, name, returns=atomic.returns)
            old = np.where(lanes, previous, old)
        if atomic.returns:
            atomic.write_words(c, old, active)
        for flag in atomic.flags:
            flag(c, done, active)

    return execute


def _count(i: Instruction) -> Step:
    """``ATOMS.POPC.INC``: adds one for each thread."""
    kind = np.dtype(np.uint32)
    atomic = _Atomic(i, 4)

    def execute(c: ExecutionContext) -> None:
        active = atomic.guard(c)
        for part in atomic.parts(c, active, "count"):
            old = np.zeros((c.warps, LANES), kind)
            if not c.is_value_unused(i):
                ones = np.ones((c.warps, LANES), kind)
                update = AtomicUpdate(c, part, all_lanes(c, part.active))
                old = update.apply(ones, np.add, "ADD", returns=atomic.returns)
            if atomic.returns:
                atomic.write_words(c, old, active)

    return execute


def _arrive(i: Instruction) -> Step:
    """A thread comes to a barrier in shared memory, before compute capability 9.0."""
    kind = np.dtype(np.uint64)
    atomic = _Atomic(i, kind.itemsize)

    def execute(c: ExecutionContext) -> None:
        active = atomic.guard(c)
        given = np.zeros((c.warps, LANES), kind)
        for part in atomic.parts(c, active, "barrier"):
            update = AtomicUpdate(c, part, all_lanes(c, part.active))
            old = update.apply(given, arrive_before_hopper, "ARRIVE", returns=True)
            if atomic.returns:
                atomic.write_words(c, old, active)

    return execute


def _compare_and_swap(i: Instruction) -> Step:
    """``CAST`` gives no old value, but whether it was swapped: in a predicate, or as a number."""
    if i.has("128"):
        raise NotKnownError(i)
    kind = np.dtype(np.uint64 if i.has("64") else np.uint32)
    atomic = _Atomic(i, kind.itemsize)
    wanted, given = (read_values(i, atomic.source(n), kind.itemsize) for n in range(2))
    spins = i.has("CAST")

    def execute(c: ExecutionContext) -> None:
        active = atomic.guard(c)
        parts = atomic.parts(c, active, "compare")
        if not parts:
            return
        olds, news = as_typed_words(wanted(c), kind), as_typed_words(given(c), kind)
        previous = np.zeros((c.warps, LANES), kind)
        for part in parts:
            lanes = all_lanes(c, part.active)
            there = AtomicUpdate(c, part, lanes).compare_and_swap(olds, news)
            previous = np.where(lanes, there, previous)
        swapped = previous == olds
        if spins:
            atomic.write_words(c, swapped.astype(kind), active)
        else:
            atomic.write_words(c, previous, active)
        for flag in atomic.flags:
            flag(c, swapped, active)

    return execute
