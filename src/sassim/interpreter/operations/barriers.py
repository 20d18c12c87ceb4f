"""Barriers in shared memory, and copies that they wait for: SYNCS, ARRIVES, UBLKCP, STAS.

A copy is there at once, so that a barrier never waits for one that was begun.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.faults import AccessError
from sassim.interpreter.context import BulkCopy, NotKnownError
from sassim.interpreter.lanes import LANES, first_of
from sassim.interpreter.mbarriers import arrive_before_hopper
from sassim.interpreter.operand_access import (
    operand_at,
    operands_of_type,
    read_guard,
    read_u32,
    write_predicate,
    write_u32,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.operations.address_spaces import (
    GLOBAL,
    SHARED,
    SpaceAccess,
    load,
    locate_shared,
    read_address,
    split_by_space,
    store,
)
from sassim.interpreter.operations.atomics import write_words
from sassim.interpreter.operations.memory import (
    address_in,
    all_lanes,
    read_values,
    report_access,
)
from sassim.interpreter.operations.same_address import AtomicUpdate
from sassim.opcodes import flagged_opcodes
from sassim.sass.operands import ZERO, Address, Register

if TYPE_CHECKING:
    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operand_access import Read
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction

_BARRIER_BYTES: Final = 8
_UNIT_BYTES: Final = 16
"""What the size of a bulk copy is counted in."""
_SIZE_MASK: Final = 0xFFFF
_ARRIVING: Final = flagged_opcodes("arrives")
_COUNTS: Final = {"A1T0": (1, 0), "A0T1": (0, 1), "A0TR": (0, 0)}
"""Threads that come, and transactions that are to come, by modifier."""


def change(
    c: ExecutionContext,
    i: Instruction,
    parts: list[SpaceAccess],
    given: Array,
    threads: int | None,
) -> Array:
    """Have the threads of some parts come to barriers one after the other; what each found.

    ``threads`` is that of :func:`arrive_together`; ``None`` before compute capability 9.0.
    """
    report_access(c, i, "barrier", parts, _BARRIER_BYTES)
    old = np.zeros((c.warps, LANES), np.uint64)
    phases = c.blocks.mbarriers
    for part in parts:
        lanes = all_lanes(c, part.active)
        if threads is None:
            update = AtomicUpdate(c, part, lanes)
            seen = update.apply(given, arrive_before_hopper, "ARRIVE", returns=True)
            old = np.where(lanes, seen, old)
            continue
        at, owner = locate_shared(c, c.broadcast(part.addresses), lanes)
        c.blocks.shared.check(at, owner, lanes, _BARRIER_BYTES)
        rows, columns = np.nonzero(lanes)
        every = (at + owner * c.blocks.shared.size)[rows, columns]
        order = np.argsort(every, kind="stable")
        rows, columns, ordered = rows[order], columns[order], every[order]
        new = np.ones(len(ordered), np.bool_)
        new[1:] = ordered[1:] != ordered[:-1]
        starts = np.flatnonzero(new)
        lengths = np.diff(starts, append=len(ordered))
        places, groups = ordered[starts], np.cumsum(new) - 1
        seen = phases.arrive(places, given[rows, columns], starts, lengths, threads)
        old[rows, columns] = seen
        pairs = np.unique(rows * len(places) + groups) if len(rows) > len(places) else rows
        groups = pairs % len(places) if pairs is not rows else groups
        warps = pairs // len(places) if pairs is not rows else rows
        phases.note(np.arange(c.blocks.warps)[c.where][warps], places[groups], groups)
    c.blocks.release()
    return old


def comes_to_phases(i: Instruction) -> bool:
    """Whether threads, or copies, come to barriers by an instruction."""
    if i.opcode not in _ARRIVING:
        return False
    # Barriers are set up and asked as well; copies to global memory complete no phase.
    return i.has("ARRIVE") if i.opcode == "SYNCS" else i.modifiers[:1] != ("G",)


@operation("SYNCS", modifiers="ARRIVE EXCH PHASECHK CCTL IV 64 TRANS64 A1T0 A0T1 A0TR RED TRYWAIT")
def _barrier(i: Instruction) -> Step:
    if i.has("CCTL"):
        return lambda _: None
    if i.has("EXCH"):
        return _set_barrier(i)
    if i.has("PHASECHK"):
        return _test_phase(i)
    return _arrive(i)


def _set_barrier(i: Instruction) -> Step:
    place, operand = address_in(i)
    at, guard = read_address(i, operand, wide=False), read_guard(i)
    read = read_values(i, operand_at(i, place + 1), _BARRIER_BYTES)
    target = operand_at(i, 0)
    if not i.has("64") or not isinstance(target, Register) or target.index != ZERO:
        raise NotKnownError(i)

    def execute(c: ExecutionContext) -> None:
        active_mask = all_lanes(c, c.active_mask(guard(c)))
        parts = split_by_space(SHARED, c, at(c), active_mask)
        report_access(c, i, "barrier", parts, _BARRIER_BYTES)
        store(c, parts, read(c), _BARRIER_BYTES)
        c.blocks.release()

    return execute


def _arrive(i: Instruction) -> Step:
    """Threads come: each of those that take part, or none with more to wait for."""
    place, operand = address_in(i)
    at, guard = read_address(i, operand, wide=False), read_guard(i)
    counts = [_COUNTS[each] for each in i.modifiers if each in _COUNTS]
    threads, transactions = counts[0] if counts else (1, 0)
    expected = read_u32(i, place + 1)
    target = operand_at(i, 0)
    results = [write_u32(i, target, n) for n in range(2)]
    returns = isinstance(target, Register) and target.index != ZERO

    def execute(c: ExecutionContext) -> None:
        active = guard(c)
        active_mask = all_lanes(c, c.active_mask(active))
        if not active_mask.any():
            return
        coming = c.broadcast(expected(c)).astype(np.uint64) + np.uint64(transactions)
        old = change(c, i, split_by_space(SHARED, c, at(c), active_mask), coming, threads)
        if returns:
            write_words(c, results, old, active)

    return execute


def phase_of(i: Instruction) -> tuple[Read, Read]:
    """The address of the barrier that an instruction asks, and the phase that it asks for."""
    place, operand = address_in(i)
    state = read_u32(i, place + 1)
    return read_address(i, operand, wide=False), lambda c: state(c) >> np.uint32(31)


def upper_word(c: ExecutionContext, addresses: Array) -> Array:
    """Where the upper word of barriers lies in the shared memory of all blocks."""
    at, owner = locate_shared(c, c.broadcast(addresses), None)
    places: Array = at + owner * c.blocks.shared.size + 4
    return places


def _test_phase(i: Instruction) -> Step:
    at, phase = phase_of(i)
    flag, guard = write_predicate(i, 0), read_guard(i)

    def execute(c: ExecutionContext) -> None:
        ended = c.blocks.mbarriers.has_ended(upper_word(c, at(c)), phase(c))
        flag(c, ended, guard(c))

    return execute


@operation("ARRIVES", modifiers="LDGSTSBAR 64 TRANSCNT ARVCNT")
def _copies_arrived(i: Instruction) -> Step:
    """All copies that a thread has begun (``cp.async``) are there: it comes, or one is there."""
    _, operand = address_in(i)
    at, guard = read_address(i, operand, wide=False), read_guard(i)
    waits = i.has("TRANSCNT")
    threads = (0 if waits else 1) if waits or i.has("ARVCNT") else None

    def execute(c: ExecutionContext) -> None:
        active_mask = all_lanes(c, c.active_mask(guard(c)))
        if active_mask.any():
            given = np.full((c.warps, LANES), -1 if waits else 0, np.int64).view(np.uint64)
            change(c, i, split_by_space(SHARED, c, at(c), active_mask), given, threads)

    return execute


@operation("UBLKCP", modifiers="S G")
def _copy_in_bulk(i: Instruction) -> Step:
    """``cp.async.bulk``: a warp copies so many bytes, to or from shared memory.

    The address in shared memory that is copied to has its barrier in the next register.
    """
    to, source = operands_of_type(i, Address, 2)
    guard, inward = read_guard(i), i.modifiers == ("S", "G")
    units = read_u32(i, 2)
    outside, inside = (source, to) if inward else (to, source)
    far, near = (
        read_address(i, widen_address(outside), wide=True),
        read_address(i, inside, wide=False),
    )
    barrier = _read_next_register(i, to) if inward else None

    def execute(c: ExecutionContext) -> None:
        active_mask = all_lanes(c, c.active_mask(guard(c)))
        warps: Array = np.any(active_mask, axis=1)
        if not warps.any():
            return
        sizes = (first_of(units(c), active_mask).astype(np.int64) & _SIZE_MASK) * _UNIT_BYTES
        first = np.zeros_like(active_mask)
        first[np.arange(c.warps), active_mask.argmax(axis=1)] = warps
        c.observer.on_bulk_copy(BulkCopy(c, i, far(c), sizes, warps, "load" if inward else "store"))
        if not c.is_value_unused(i):
            _copy_bytes(c, far(c), near(c), sizes, first, inward=inward)
        if barrier is not None:
            less = c.broadcast(np.negative(sizes).view(np.uint64))
            change(
                c,
                i,
                split_by_space(SHARED, c, barrier(c).astype(np.int64), first),
                less,
                0,
            )

    return execute


def widen_address(operand: Address) -> Address:
    """An address of 64 bits, which takes two registers."""
    uniform = operand.uniform
    if uniform is None or operand.register is not None:
        return operand
    return Address(None, Register(uniform.index, uniform=True, part="64"), operand.offset)


def _read_next_register(i: Instruction, operand: Address) -> Read:
    """The address in the register behind that of another."""
    if operand.uniform is None or operand.register is not None:
        raise NotKnownError(i)
    return read_u32(i, Register(operand.uniform.index + 1, uniform=True))


def _copy_bytes(
    c: ExecutionContext, far: Array, near: Array, sizes: Array, first: Array, *, inward: bool
) -> None:
    """Copy as many units at a time as a warp has lanes; one by one where that cannot be done.

    That is the thread's own fault, which is then told of it.
    """
    whole, at_once = int(sizes.max(initial=0)), LANES * _UNIT_BYTES
    active_mask = first.any(axis=1, keepdims=True)
    far, near = first_of(far, first), first_of(near, first).astype(np.int64)
    for begin in range(0, whole, at_once):
        steps = begin + np.arange(0, at_once, _UNIT_BYTES)
        try:
            _copy_units(c, far + steps, near + steps, active_mask & (steps < sizes), inward=inward)
        except AccessError:
            for step in range(begin, min(begin + at_once, whole), _UNIT_BYTES):
                _copy_units(c, far + step, near + step, first & (step < sizes), inward=inward)


def _copy_units(
    c: ExecutionContext, far: Array, near: Array, lanes: Array, *, inward: bool
) -> None:
    there = [SpaceAccess(GLOBAL, c.broadcast(far), lanes)]
    here = split_by_space(SHARED, c, c.broadcast(near), lanes)
    source, target = (there, here) if inward else (here, there)
    store(c, target, load(c, source, _UNIT_BYTES), _UNIT_BYTES)


@operation("STAS", modifiers="64 128")
def _store_async(i: Instruction) -> Step:
    """``st.async``: to shared memory of the cluster; its barrier is in the next register."""
    place, operand = address_in(i)
    size, guard = i.width // 8, read_guard(i)
    if not isinstance(operand, Address) or operand.register is None or operand.offset:
        raise NotKnownError(i)
    at, bar = (read_u32(i, Register(operand.register.index + n)) for n in range(2))
    read = read_values(i, operand_at(i, place + 1), size)

    def execute(c: ExecutionContext) -> None:
        active_mask = all_lanes(c, c.active_mask(guard(c)))
        if not active_mask.any():
            return
        parts = split_by_space(SHARED, c, at(c).astype(np.int64), active_mask)
        report_access(c, i, "store", parts, size)
        store(c, parts, read(c), size)
        less = np.full((c.warps, LANES), 2**64 - size, np.uint64)
        change(
            c,
            i,
            split_by_space(SHARED, c, bar(c).astype(np.int64), active_mask),
            less,
            0,
        )

    return execute
