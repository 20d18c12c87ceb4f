"""Barriers in shared memory, and copies that they wait for: SYNCS, ARRIVES, UBLKCP, STAS.

A copy is there at once, so that a barrier never waits for one that was begun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.arrays import LANES, first_of
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.faults import AccessError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.operations.atomics import give_back
from kernelprof.predict.machine.operations.meeting import Meeting
from kernelprof.predict.machine.operations.memory import (
    address_in,
    count,
    everyone,
    values_of,
)
from kernelprof.predict.machine.operations.spaces import (
    GLOBAL,
    SHARED,
    Part,
    address_of,
    load,
    parts_of,
    placed,
    store,
)
from kernelprof.predict.machine.phases import came, came_before_hopper
from kernelprof.predict.machine.values import guard_of, put, put_predicate, whole
from kernelprof.sass.operands import ZERO, Address, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.machine.values import Read
    from kernelprof.predict.sass.listing import Instruction

_BARRIER_BYTES: Final = 8
_UNIT_BYTES: Final = 16
"""What the size of a bulk copy is counted in."""
_SIZE_MASK: Final = 0xFFFF
_COUNTS: Final = {"A1T0": (1, 0), "A0T1": (0, 1), "A0TR": (0, 0)}
"""Threads that come, and transactions that are to come, by modifier."""


def change(
    c: Context,
    i: Instruction,
    parts: list[Part],
    given: Array,
    how: Callable[[Array, Array], Array],
) -> Array:
    """Have the threads of some parts come to barriers one after the other; what each found."""
    count(c, i, "barrier", parts, _BARRIER_BYTES)
    old = np.zeros((c.warps, LANES), np.uint64)
    for part in parts:
        lanes = everyone(c, part.taking)
        meeting = Meeting(c, part, lanes)
        old = np.where(lanes, meeting.carry_out(given, how, "ARRIVE", returns=True), old)
    c.blocks.phases.come()
    c.blocks.release()
    return old


@operation("SYNCS", modifiers="ARRIVE EXCH PHASECHK CCTL IV 64 TRANS64 A1T0 A0T1 A0TR RED TRYWAIT")
def _barrier(i: Instruction) -> Step:
    if i.has("CCTL"):
        return lambda _: None
    if i.has("EXCH"):
        return _set(i)
    if i.has("PHASECHK"):
        return _test(i)
    return _arrive(i)


def _set(i: Instruction) -> Step:
    """A barrier gets its first value."""
    place, operand = address_in(i)
    at, guard = address_of(i, operand, wide=False), guard_of(i)
    read = values_of(i, i.operands[place + 1], _BARRIER_BYTES)
    target = i.operands[0]
    if not i.has("64") or not isinstance(target, Register) or target.index != ZERO:
        raise NotKnownError(i)

    def work(c: Context) -> None:
        taking = everyone(c, c.active(guard(c)))
        parts = parts_of(SHARED, c, at(c), taking)
        count(c, i, "barrier", parts, _BARRIER_BYTES)
        store(c, parts, read(c), _BARRIER_BYTES)
        c.blocks.release()

    return work


def _arrive(i: Instruction) -> Step:
    """Threads come: each of those that take part, or none with more to wait for."""
    place, operand = address_in(i)
    at, guard = address_of(i, operand, wide=False), guard_of(i)
    named = [_COUNTS[each] for each in i.modifiers if each in _COUNTS]
    threads, transactions = named[0] if named else (1, 0)
    expected = whole(i.operands[place + 1])
    target = i.operands[0]
    results = [put(target, n) for n in range(2)]
    returns = isinstance(target, Register) and target.index != ZERO
    how = came(threads)

    def work(c: Context) -> None:
        active = guard(c)
        taking = everyone(c, c.active(active))
        if not taking.any():
            return
        coming = c.every(expected(c)).astype(np.uint64) + np.uint64(transactions)
        old = change(c, i, parts_of(SHARED, c, at(c), taking), coming, how)
        if returns:
            give_back(c, results, old, active)

    return work


def phase_of(i: Instruction) -> tuple[Read, Read]:
    """The address of the barrier that an instruction asks, and the phase that it asks for."""
    place, operand = address_in(i)
    state = whole(i.operands[place + 1])
    return address_of(i, operand, wide=False), lambda c: state(c) >> np.uint32(31)


def upper_word(c: Context, addresses: Array) -> Array:
    """Where the upper word of barriers lies in the shared memory of all blocks."""
    at, piece = placed(c, c.every(addresses), None)
    found: Array = at + piece * c.blocks.shared.size + 4
    return found


def _test(i: Instruction) -> Step:
    """Whether a phase has ended."""
    at, phase = phase_of(i)
    flag, guard = put_predicate(i.operands[0]), guard_of(i)

    def work(c: Context) -> None:
        ended = c.blocks.phases.ended(upper_word(c, at(c)), phase(c))
        flag(c, ended, guard(c))

    return work


@operation("ARRIVES", modifiers="LDGSTSBAR 64 TRANSCNT ARVCNT")
def _copies_arrived(i: Instruction) -> Step:
    """All copies that a thread has begun (``cp.async``) are there: it comes, or one is there."""
    _, operand = address_in(i)
    at, guard = address_of(i, operand, wide=False), guard_of(i)
    waits = i.has("TRANSCNT")
    how = came(0 if waits else 1) if waits or i.has("ARVCNT") else came_before_hopper

    def work(c: Context) -> None:
        taking = everyone(c, c.active(guard(c)))
        if taking.any():
            given = np.full((c.warps, LANES), -1 if waits else 0, np.int64).view(np.uint64)
            change(c, i, parts_of(SHARED, c, at(c), taking), given, how)

    return work


@operation("UBLKCP", modifiers="S G")
def _copy_in_bulk(i: Instruction) -> Step:
    """``cp.async.bulk``: a warp copies so many bytes, to or from shared memory.

    The address in shared memory that is copied to has its barrier in the next register.
    """
    to, source = (each for each in i.operands if isinstance(each, Address))
    guard, inward = guard_of(i), i.modifiers == ("S", "G")
    units = whole(i.operands[2])
    outside, inside = (source, to) if inward else (to, source)
    far, near = address_of(i, _both(outside), wide=True), address_of(i, inside, wide=False)
    barrier = _next(i, to) if inward else None

    def work(c: Context) -> None:
        taking = everyone(c, c.active(guard(c)))
        warps: Array = np.any(taking, axis=1)
        if not warps.any():
            return
        sizes = (first_of(units(c), taking).astype(np.int64) & _SIZE_MASK) * _UNIT_BYTES
        first = np.zeros_like(taking)
        first[np.arange(c.warps), taking.argmax(axis=1)] = warps
        c.counters.bulk(c, i, far(c), near(c), sizes, taking=warps, inward=inward)
        if not c.is_unused(i):
            _move(c, far(c), near(c), sizes, first, inward=inward)
        if barrier is not None:
            less = c.every(np.negative(sizes).view(np.uint64))
            change(c, i, parts_of(SHARED, c, barrier(c).astype(np.int64), first), less, came(0))

    return work


def _both(operand: Address) -> Address:
    """An address of 64 bits, which takes two registers."""
    uniform = operand.uniform
    if uniform is None or operand.register is not None:
        return operand
    return Address(None, Register(uniform.index, uniform=True, part="64"), operand.offset)


def _next(i: Instruction, operand: Address) -> Read:
    """The address in the register behind that of another."""
    if operand.uniform is None or operand.register is not None:
        raise NotKnownError(i)
    return whole(Register(operand.uniform.index + 1, uniform=True))


def _move(c: Context, far: Array, near: Array, sizes: Array, first: Array, *, inward: bool) -> None:
    """Copy as many units at a time as a warp has lanes; one by one where that cannot be done.

    That is the thread's own fault, which is then told of it.
    """
    whole, at_once = int(sizes.max(initial=0)), LANES * _UNIT_BYTES
    taking = first.any(axis=1, keepdims=True)
    far, near = first_of(far, first), first_of(near, first).astype(np.int64)
    for begin in range(0, whole, at_once):
        steps = begin + np.arange(0, at_once, _UNIT_BYTES)
        try:
            _copy(c, far + steps, near + steps, taking & (steps < sizes), inward=inward)
        except AccessError:
            for step in range(begin, min(begin + at_once, whole), _UNIT_BYTES):
                _copy(c, far + step, near + step, first & (step < sizes), inward=inward)


def _copy(c: Context, far: Array, near: Array, lanes: Array, *, inward: bool) -> None:
    """A unit for each of these lanes."""
    there = [Part(GLOBAL, c.every(far), lanes)]
    here = parts_of(SHARED, c, c.every(near), lanes)
    source, target = (there, here) if inward else (here, there)
    store(c, target, load(c, source, _UNIT_BYTES), _UNIT_BYTES)


@operation("STAS", modifiers="64 128")
def _store_and_tell(i: Instruction) -> Step:
    """``st.async``: to shared memory of the cluster; its barrier is in the next register."""
    place, operand = address_in(i)
    size, guard = i.width // 8, guard_of(i)
    if not isinstance(operand, Address) or operand.register is None or operand.offset:
        raise NotKnownError(i)
    at, bar = (whole(Register(operand.register.index + n)) for n in range(2))
    read = values_of(i, i.operands[place + 1], size)

    def work(c: Context) -> None:
        taking = everyone(c, c.active(guard(c)))
        if not taking.any():
            return
        parts = parts_of(SHARED, c, at(c).astype(np.int64), taking)
        count(c, i, "store", parts, size)
        store(c, parts, read(c), size)
        less = np.full((c.warps, LANES), 2**64 - size, np.uint64)
        change(c, i, parts_of(SHARED, c, bar(c).astype(np.int64), taking), less, came(0))

    return work
