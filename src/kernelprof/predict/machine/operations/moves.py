"""Moves: between registers, from constants and special registers, and between threads and warp."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.predict.machine.context import (
    LANES,
    NOTHING,
    NotKnownError,
    guard_of,
    put,
    put_predicate,
    whole,
)
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.sass.operands import (
    Barrier,
    Constant,
    Immediate,
    Other,
    Predicate,
    Register,
    Special,
)

if TYPE_CHECKING:
    from kernelprof.predict.machine.context import Array, Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.sass.listing import Instruction


@operation("MOV", "UMOV")
def _move(i: Instruction) -> Step:
    guard, result = guard_of(i), put(i.operands[0])
    source = i.operands[1]
    if isinstance(source, Other):
        return _address_of_code(i, source)
    a = whole(source)
    return lambda c: result(c, a(c).copy(), guard(c))


def _address_of_code(i: Instruction, source: Other) -> Step:
    """Half of the address of a place in the code, which the linker fills in."""
    guard, result = guard_of(i), put(i.operands[0])

    def work(c: Context) -> None:
        value = c.machine.program.relocated(source.text)
        if value is None:
            raise NotKnownError(i)
        result(c, np.full((1, 1), value, np.uint32), guard(c))

    return work


@operation("LDC", "ULDC", "LDCU")
def _load_constant(i: Instruction) -> Step:
    source = i.operands[1]
    if not isinstance(source, Constant):
        raise NotKnownError(i)
    words = max(1, i.width // 32)
    results = [put(i.operands[0], word) for word in range(words)]
    guard = guard_of(i)
    bank, offset = source.bank, source.offset
    if source.register is None:
        if i.width < 32:
            raise NotKnownError(i)

        def load(c: Context) -> None:
            active = guard(c)
            for word, result in enumerate(results):
                result(c, c.machine.constants.word(bank, offset + 4 * word), active)

        return load
    at = whole(source.register)
    narrow, is_signed = min(i.width, 32) // 8, i.has("S8", "S16")

    def gather(c: Context) -> None:
        active = guard(c)
        where = at(c).view(np.int32) + offset
        taking = c.active(active)
        c.machine.counters.constant(c, i, where, taking)
        for word, result in enumerate(results):
            value = c.machine.constants.gather(bank, where + 4 * word, narrow, taking)
            if is_signed:
                kind = np.dtype(f"int{8 * narrow}")
                value = value.astype(kind).astype(np.int32).view(np.uint32)
            result(c, value, active)

    return gather


@operation("S2R", "S2UR", "CS2R")
def _special(i: Instruction) -> Step:
    source = i.operands[1]
    if not isinstance(source, Special):
        raise NotKnownError(i)
    guard, result = guard_of(i), put(i.operands[0])
    second = put(i.operands[0], 1) if i.opcode == "CS2R" and not i.has("32") else None
    name = source.name

    def work(c: Context) -> None:
        active = guard(c)
        values = NOTHING if name == "SRZ" else c.machine.special(name, c)
        if values is None:
            raise NotKnownError(i, "reads what is not known without a GPU")
        result(c, values.copy(), active)
        if second is not None:
            second(c, NOTHING.copy(), active)

    return work


@operation("R2UR")
def _to_uniform(i: Instruction) -> Step:
    """What the first thread that takes part has."""
    target, source = i.operands[-2], i.operands[-1]
    a, guard, result = whole(source), guard_of(i), put(target)
    flags = [put_predicate(each) for each in i.operands[:-2]]

    def work(c: Context) -> None:
        values, active = a(c), guard(c)
        if i.has("OR"):
            taking = c.active(None)
            spread = values if taking is None else np.where(taking, c.every(values), 0)
            value = np.bitwise_or.reduce(spread, axis=1, keepdims=True)
            result(c, value, None)
            for flag in flags:
                flag(c, value != 0, None)
            return
        result(c, first(c, values, c.active(active)), None)

    return work


def first(c: Context, values: Array, taking: Array | None) -> Array:
    """The value of the first thread of each warp that takes part."""
    if values.shape[1] == 1:
        return values.copy()
    if taking is None:
        return values[:, :1].copy()
    lane = taking.argmax(axis=1)
    return c.every(values)[np.arange(c.warps), lane][:, None].copy()


@operation("P2R")
def _predicates_to_register(i: Instruction) -> Step:
    file, a_operand, mask = i.operands[1:4]
    if not isinstance(mask, Immediate) or not isinstance(file, Other) or i.modifiers:
        raise NotKnownError(i)
    a, wanted = whole(a_operand), mask.bits
    guard, result = guard_of(i), put(i.operands[0])

    def work(c: Context) -> None:
        value = a(c) & np.uint32(~wanted & 0xFFFFFFFF)
        for index in range(7):
            if wanted >> index & 1:
                value = value | c.p[index].astype(np.uint32) << index
        result(c, value, guard(c))

    return work


@operation("R2P")
def _register_to_predicates(i: Instruction) -> Step:
    _, a_operand, mask = i.operands[:3]
    if not isinstance(mask, Immediate) or not isinstance(a_operand, Register) or i.modifiers:
        raise NotKnownError(i)
    shift = 8 * int(a_operand.part[1]) if a_operand.part.startswith("B") else 0
    a = whole(Register(a_operand.index, a_operand.uniform))
    guard = guard_of(i)
    results = [(n, put_predicate(Predicate(n))) for n in range(7) if mask.bits >> n & 1]

    def work(c: Context) -> None:
        value, active = a(c) >> shift, guard(c)
        for index, result in results:
            result(c, (value >> index & 1).astype(np.bool_), active)

    return work


@operation("BSSY")
def _set_up_meeting(i: Instruction) -> Step:
    """The threads that are here will meet at the BSYNC of the same barrier."""
    (barrier,) = (each for each in i.operands if isinstance(each, Barrier))
    if i.guard is not None:
        raise NotKnownError(i)

    def work(c: Context) -> None:
        here = np.ones((1, 1), np.bool_) if c.mask is None else c.mask
        c.machine.barriers.set_members(barrier.index, c, here)

    return work


@operation("BMOV")
def _barrier_move(i: Instruction) -> Step:
    """A convergence barrier to a register and back: who is to meet there."""
    target, source = i.operands[:2]
    lanes = np.arange(LANES, dtype=np.uint32)
    if isinstance(source, Barrier) and isinstance(target, Register):
        result = put(target)

        def save(c: Context) -> None:
            members = c.machine.barriers.members(source.index, c)
            value = np.bitwise_or.reduce(members.astype(np.uint32) << lanes, axis=1, keepdims=True)
            result(c, np.broadcast_to(value, members.shape).copy(), None)
            if i.has("CLEAR"):
                c.machine.barriers.set_members(source.index, c, np.zeros_like(members))

        return save
    if not isinstance(target, Barrier) or not isinstance(source, Register):
        raise NotKnownError(i)
    a = whole(source)

    def restore(c: Context) -> None:
        value = first(c, a(c), c.mask)
        members = (np.broadcast_to(value, (c.warps, 1)) >> lanes & 1).astype(np.bool_)
        c.machine.barriers.set_members(target.index, c, members)

    return restore


@operation(
    "NOP", "YIELD", "NANOSLEEP", "DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR", "CGAERRBAR", "CCTL",
    "FENCE", "WARPGROUP", "USETMAXREG", "PREEXIT", "ACQBULK", "BPT",
)  # fmt: skip
def _nothing(i: Instruction) -> Step:
    """What orders memory or waits: everything is done in order here."""
    if i.opcode == "BPT" or (i.opcode == "WARPGROUP"):
        raise NotKnownError(i)
    return lambda _: None
