"""Moves: between registers, from constants and special registers, and between threads and warp."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.arrays import EVERYONE, NOTHING, ballot, first_of
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operation
from kernelprof.predict.machine.specials import UNKNOWN
from kernelprof.predict.machine.values import (
    guard_of,
    predicate,
    put,
    put_predicate,
    put_wide,
    whole,
    wide_whole,
)
from kernelprof.sass.operands import (
    Barrier,
    Constant,
    Immediate,
    Label,
    Other,
    Predicate,
    Register,
    Special,
)

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.operations import Step
    from kernelprof.predict.machine.values import Read, Write
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.sass.operands import Operand


@operation("MOV", "UMOV")
def _move(i: Instruction) -> Step:
    guard, result = guard_of(i), put(i.operands[0])
    source = i.operands[1]
    if i.has("64"):
        read, wide = wide_whole(source), put_wide(i.operands[0])
        return lambda c: wide(c, read(c), guard(c))
    if i.modifiers:
        raise NotKnownError(i)
    if isinstance(source, Other):
        return _address_of_code(i, source)
    a = whole(source)
    if isinstance(source, Register):
        return lambda c: result(c, a(c).copy(), guard(c))
    return lambda c: result(c, a(c), guard(c))


def _address_of_code(i: Instruction, source: Other) -> Step:
    """Half of the address of a place in the code, which the linker fills in."""
    guard, result = guard_of(i), put(i.operands[0])

    def work(c: Context) -> None:
        value = c.blocks.program.relocated(source.text)
        if value is None:
            raise NotKnownError(i)
        result(c, np.full((1, 1), value, np.uint32), guard(c))

    return work


@operation("LEPC")
def _address_of_label(i: Instruction) -> Step:
    """The address of a place in the code; without one, that of the instruction itself."""
    guard, result = guard_of(i), put_wide(i.operands[0])
    label = i.operands[1] if len(i.operands) > 1 else None
    if not isinstance(label, Label | None):
        raise NotKnownError(i)

    def work(c: Context) -> None:
        program = c.blocks.program
        address = program.addresses[id(i)] if label is None else program.place(label.name)
        result(c, np.full((1, 1), address, np.uint64), guard(c))

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
    if source.register is None and i.width >= 32:

        def load(c: Context) -> None:
            active = guard(c)
            for word, result in enumerate(results):
                result(c, c.blocks.constants.word(bank, offset + 4 * word), active)

        return load
    at = whole(source.register) if source.register is not None else lambda _: NOTHING
    narrow, is_signed = min(i.width, 32) // 8, i.has("S8", "S16")

    def gather(c: Context) -> None:
        active = guard(c)
        where = at(c).view(np.int32) + np.int32(offset)
        taking = c.active(active)
        c.counters.constant(c, i, where, taking)
        for word, result in enumerate(results):
            value = c.blocks.constants.gather(bank, where + 4 * word, narrow, taking)
            if is_signed:
                kind = np.dtype(f"int{8 * narrow}")
                value = value.astype(kind).astype(np.int32).view(np.uint32)
            result(c, value, active)

    return gather


_TIMER: Final = "SR_GLOBALTIMER"
_WAITING: Final = re.compile(r"(^|/)cuda/(std/)?__(atomic|barrier|chrono|semaphore|thread)")
"""Headers of libcu++ that look at the time to say how long a thread sleeps until it asks again:
no time passes here, and it need not sleep."""


@operation("S2R", "S2UR", "CS2R", "CS2UR", modifiers="32")
def _special(i: Instruction) -> Step:
    source = i.operands[1]
    if not isinstance(source, Special):
        raise NotKnownError(i)
    guard, result = guard_of(i), put(i.operands[0])
    second = put(i.operands[0], 1) if i.opcode.startswith("CS") and not i.has("32") else None
    name = source.name

    waits = name.startswith(_TIMER) and any(_WAITING.search(each.file) for each in i.lines)
    unknown = next((what for start, what in UNKNOWN.items() if name[3:].startswith(start)), name)

    def work(c: Context) -> None:
        active = guard(c)
        values = NOTHING if name == "SRZ" or waits else c.blocks.special(name)
        if values is None:
            raise NotKnownError(i, f"reads {unknown}, which is not known without a GPU")
        result(c, c.of_warps(values).copy(), active)
        if second is not None:
            second(c, NOTHING, active)

    return work


@operation("R2UR")
def _to_uniform(i: Instruction) -> Step:
    """What the first thread that takes part has; a predicate says who has something else.

    With ``OR``, or who had something else of what was compared before.
    """
    target, source = i.operands[-2], i.operands[-1]
    a, guard, result = whole(source), guard_of(i), put(target)
    flags = [each for each in i.operands[:-2] if isinstance(each, Predicate)]
    writes = [(put_predicate(each), predicate(each)) for each in flags]

    def work(c: Context) -> None:
        values, active = a(c), guard(c)
        taking = c.active(active)
        value = first_of(values, taking)
        some: Array | None = None
        if active is not None and taking is not None:
            some = np.asarray(taking.any(axis=1, keepdims=True))
        result(c, value, some)
        for write, before in writes:
            differs = values != value
            write(c, differs | before(c) if i.has("OR") else differs, active)

    return work


_PREDICATES: Final = 7
_BYTE: Final = 8


@operation("P2R")
def _predicates_to_register(i: Instruction) -> Step:
    """Predicates become bits of a byte; the rest of it, and other bytes, are those of a register.

    A mask says which bits are predicates; of a byte (``B1``) the bits begin there.
    """
    file, a_operand, mask = i.operands[1:4]
    shift = _byte_of(i, i.modifiers)
    if not isinstance(mask, Immediate) or not isinstance(file, Other) or file.text != "PR":
        raise NotKnownError(i)
    a, wanted = whole(a_operand), mask.bits
    guard, result = guard_of(i), put(i.operands[0])
    kept = np.uint32(~(wanted << shift) & 0xFFFFFFFF)

    def work(c: Context) -> None:
        value = a(c) & kept
        for index in range(_PREDICATES):
            if wanted >> index & 1:
                value = value | c.p[index].astype(np.uint32) << np.uint32(index + shift)
        result(c, value, guard(c))

    return work


def _byte_of(i: Instruction, names: tuple[str, ...]) -> int:
    """Where a byte named so begins: ``B1``."""
    if not names:
        return 0
    if len(names) != 1 or names[0] not in ("B0", "B1", "B2", "B3"):
        raise NotKnownError(i)
    return _BYTE * int(names[0][1])


@operation("R2P")
def _register_to_predicates(i: Instruction) -> Step:
    file, a_operand, mask = i.operands[:3]
    if not isinstance(mask, Immediate) or not isinstance(a_operand, Register) or i.modifiers:
        raise NotKnownError(i)
    if not isinstance(file, Other) or file.text != "PR":
        raise NotKnownError(i)
    shift = np.uint32(_byte_of(i, (a_operand.part,) if a_operand.part else ()))
    a = whole(Register(a_operand.index, a_operand.uniform))
    guard = guard_of(i)
    results = [
        (np.uint32(n), put_predicate(Predicate(n)))
        for n in range(_PREDICATES)
        if mask.bits >> n & 1
    ]

    def work(c: Context) -> None:
        value, active = a(c) >> shift, guard(c)
        for index, result in results:
            result(c, (value >> index & np.uint32(1)).astype(np.bool_), active)

    return work


@operation("BSSY")
def _set_up_meeting(i: Instruction) -> Step:
    """The threads that are here will meet at the BSYNC of the same barrier."""
    (barrier,) = (each for each in i.operands if isinstance(each, Barrier))
    guard = guard_of(i)

    def work(c: Context) -> None:
        lanes = c.active(guard(c))
        masks = np.asarray(EVERYONE if lanes is None else ballot(lanes))
        c.blocks.meetings.set_masks(barrier.index, c.where, lanes, masks)

    return work


@operation("BMOV")
def _barrier_move(i: Instruction) -> Step:
    """Who is to meet at a convergence barrier: to a register or another barrier, and back."""
    target, source = i.operands[:2]
    guard, clears = guard_of(i), i.has("CLEAR")
    masks, keep = _masks_of(source), _masks_to(target)

    def move(c: Context) -> None:
        active = guard(c)
        keep(c, masks(c), active)
        if clears and isinstance(source, Barrier):
            c.blocks.meetings.set_masks(source.index, c.where, c.active(active), NOTHING)

    return move


def _masks_of(operand: Operand) -> Read:
    """Masks of threads: those that are to meet at a barrier, or numbers."""
    if not isinstance(operand, Barrier):
        return whole(operand)
    return lambda c: c.blocks.meetings.masks(operand.index, c.where).copy()


def _masks_to(operand: Operand) -> Write:
    """Where masks go: to a barrier or a register."""
    if not isinstance(operand, Barrier):
        return put(operand)

    def keep(c: Context, masks: Array, active: Array | None) -> None:
        c.blocks.meetings.set_masks(operand.index, c.where, c.active(active), masks)

    return keep


@operation(
    "NOP", "YIELD", "NANOSLEEP", "DEPBAR", "LDGDEPBAR", "UTMACMDFLUSH", "MEMBAR", "ERRBAR",
    "CGAERRBAR", "CCTL", "FENCE", "USETMAXREG", "PREEXIT", "ACQBULK", "PMTRIG", "CCTLL",
)  # fmt: skip
def _nothing(i: Instruction) -> Step:
    """What orders memory or waits: everything is done in order here."""
    del i
    return lambda _: None
