"""Moves: between registers, from constants and special registers, and between threads and warp."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.lanes import EVERYONE, NOTHING, ballot, first_of
from sassim.interpreter.operand_access import (
    immediate_bits,
    only_operand,
    operand_at,
    read_guard,
    read_predicate,
    read_u32,
    read_u64,
    write_predicate,
    write_u32,
    write_u64,
)
from sassim.interpreter.operations import operation
from sassim.interpreter.special_registers import UNKNOWN
from sassim.sass.operands import (
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
    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.operand_access import Read, Write
    from sassim.interpreter.operations import Step
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand


@operation("MOV", "UMOV")
def _move(i: Instruction) -> Step:
    guard, result = read_guard(i), write_u32(i, 0)
    source = operand_at(i, 1)
    if i.has("64"):
        read, wide = read_u64(i, source), write_u64(i, 0)
        return lambda c: wide(c, read(c), guard(c))
    if i.modifiers:
        raise NotKnownError(i)
    if isinstance(source, Other):
        return _address_of_code(i, source)
    a = read_u32(i, source)
    if isinstance(source, Register):
        return lambda c: result(c, a(c).copy(), guard(c))
    return lambda c: result(c, a(c), guard(c))


def _address_of_code(i: Instruction, source: Other) -> Step:
    """Half of the address of a place in the code, which the linker fills in."""
    guard, result = read_guard(i), write_u32(i, 0)

    def execute(c: ExecutionContext) -> None:
        value = c.blocks.program.relocated(source.text)
        if value is None:
            raise NotKnownError(i)
        result(c, np.full((1, 1), value, np.uint32), guard(c))

    return execute


@operation("LEPC")
def _address_of_label(i: Instruction) -> Step:
    """The address of a place in the code; without one, that of the instruction itself."""
    guard, result = read_guard(i), write_u64(i, 0)
    label = i.operands[1] if len(i.operands) > 1 else None
    if not isinstance(label, Label | None):
        raise NotKnownError(i)

    def execute(c: ExecutionContext) -> None:
        program = c.blocks.program
        address = program.addresses[id(i)] if label is None else program.place(label.name)
        result(c, np.full((1, 1), address, np.uint64), guard(c))

    return execute


@operation("LDC", "ULDC", "LDCU")
def _load_constant(i: Instruction) -> Step:
    source = operand_at(i, 1)
    if not isinstance(source, Constant):
        raise NotKnownError(i)
    words = max(1, i.width // 32)
    results = [write_u32(i, 0, word) for word in range(words)]
    guard = read_guard(i)
    bank, offset = source.bank, source.offset
    if source.register is None and i.width >= 32:

        def load(c: ExecutionContext) -> None:
            active = guard(c)
            for word, result in enumerate(results):
                result(c, c.blocks.constants.word(bank, offset + 4 * word), active)

        return load
    at = read_u32(i, source.register) if source.register is not None else lambda _: NOTHING
    narrow, is_signed = min(i.width, 32) // 8, i.has("S8", "S16")

    def gather(c: ExecutionContext) -> None:
        active = guard(c)
        where = at(c).view(np.int32) + np.int32(offset)
        active_mask = c.active_mask(active)
        c.observer.on_constant_load(c, i, where, active_mask)
        for word, result in enumerate(results):
            value = c.blocks.constants.gather(bank, where + 4 * word, narrow, active_mask)
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
    source = operand_at(i, 1)
    if not isinstance(source, Special):
        raise NotKnownError(i)
    guard, result = read_guard(i), write_u32(i, 0)
    second = write_u32(i, 0, 1) if i.opcode.startswith("CS") and not i.has("32") else None
    name = source.name

    waits = name.startswith(_TIMER) and any(_WAITING.search(each.file) for each in i.lines)
    unknown = next((what for start, what in UNKNOWN.items() if name[3:].startswith(start)), name)

    def execute(c: ExecutionContext) -> None:
        active = guard(c)
        values = NOTHING if name == "SRZ" or waits else c.blocks.special_register(name)
        if values is None:
            raise NotKnownError(i, f"reads {unknown}, which only a GPU provides")
        result(c, c.select_warps(values).copy(), active)
        if second is not None:
            second(c, NOTHING, active)

    return execute


@operation("R2UR")
def _to_uniform(i: Instruction) -> Step:
    """What the first thread that takes part has; a predicate says who has something else.

    With ``OR``, or who had something else of what was compared before.
    """
    a, guard, result = read_u32(i, -1), read_guard(i), write_u32(i, -2)
    flags = [each for each in i.operands[:-2] if isinstance(each, Predicate)]
    writes = [(write_predicate(i, each), read_predicate(i, each)) for each in flags]

    def execute(c: ExecutionContext) -> None:
        values, active = a(c), guard(c)
        active_mask = c.active_mask(active)
        value = first_of(values, active_mask)
        some: Array | None = None
        if active is not None and active_mask is not None:
            some = np.asarray(active_mask.any(axis=1, keepdims=True))
        result(c, value, some)
        for write, before in writes:
            differs = values != value
            write(c, differs | before(c) if i.has("OR") else differs, active)

    return execute


_PREDICATES: Final = 7
_BYTE: Final = 8


@operation("P2R")
def _predicates_to_register(i: Instruction) -> Step:
    """Predicates become bits of a byte; the rest of it, and other bytes, are those of a register.

    A mask says which bits are predicates; of a byte (``B1``) the bits begin there.
    """
    file, a_operand, mask = (operand_at(i, n) for n in range(1, 4))
    shift = _shift_of_byte(i, i.modifiers)
    if not isinstance(mask, Immediate) or not isinstance(file, Other) or file.text != "PR":
        raise NotKnownError(i)
    a, wanted = read_u32(i, a_operand), immediate_bits(i, mask)
    guard, result = read_guard(i), write_u32(i, 0)
    unchanged = np.uint32(~(wanted << shift) & 0xFFFFFFFF)

    def execute(c: ExecutionContext) -> None:
        value = a(c) & unchanged
        for index in range(_PREDICATES):
            if wanted >> index & 1:
                value = value | c.p[index].astype(np.uint32) << np.uint32(index + shift)
        result(c, value, guard(c))

    return execute


def _shift_of_byte(i: Instruction, names: tuple[str, ...]) -> int:
    """Where a byte named so begins: ``B1``."""
    if not names:
        return 0
    if len(names) != 1 or names[0] not in ("B0", "B1", "B2", "B3"):
        raise NotKnownError(i)
    return _BYTE * int(names[0][1])


@operation("R2P")
def _register_to_predicates(i: Instruction) -> Step:
    file, a_operand, mask = (operand_at(i, n) for n in range(3))
    if not isinstance(mask, Immediate) or not isinstance(a_operand, Register) or i.modifiers:
        raise NotKnownError(i)
    if not isinstance(file, Other) or file.text != "PR":
        raise NotKnownError(i)
    shift = np.uint32(_shift_of_byte(i, (a_operand.part,) if a_operand.part else ()))
    a = read_u32(i, Register(a_operand.index, a_operand.uniform))
    guard, wanted = read_guard(i), immediate_bits(i, mask)
    results = [
        (np.uint32(n), write_predicate(i, Predicate(n)))
        for n in range(_PREDICATES)
        if wanted >> n & 1
    ]

    def execute(c: ExecutionContext) -> None:
        value, active = a(c) >> shift, guard(c)
        for index, result in results:
            result(c, (value >> index & np.uint32(1)).astype(np.bool_), active)

    return execute


@operation("BSSY")
def _set_up_convergence_barrier(i: Instruction) -> Step:
    """The active threads reconverge at the BSYNC of the same barrier."""
    barrier = only_operand(i, Barrier)
    guard = read_guard(i)

    def execute(c: ExecutionContext) -> None:
        lanes = c.active_mask(guard(c))
        masks = np.asarray(EVERYONE if lanes is None else ballot(lanes))
        c.blocks.convergence_barriers.set_masks(barrier.index, c.where, lanes, masks)

    return execute


@operation("BMOV")
def _barrier_move(i: Instruction) -> Step:
    """Move the mask of a convergence barrier to a register or another barrier, and back."""
    target, source = operand_at(i, 0), operand_at(i, 1)
    guard, clears = read_guard(i), i.has("CLEAR")
    masks, keep = _read_masks(i, source), _write_masks(i, target)

    def move(c: ExecutionContext) -> None:
        active = guard(c)
        keep(c, masks(c), active)
        if clears and isinstance(source, Barrier):
            c.blocks.convergence_barriers.set_masks(
                source.index, c.where, c.active_mask(active), NOTHING
            )

    return move


def _read_masks(i: Instruction, operand: Operand) -> Read:
    """Read the mask of a convergence barrier, or of a register."""
    if not isinstance(operand, Barrier):
        return read_u32(i, operand)
    return lambda c: c.blocks.convergence_barriers.masks(operand.index, c.where).copy()


def _write_masks(i: Instruction, operand: Operand) -> Write:
    """Write a mask to a convergence barrier, or to a register."""
    if not isinstance(operand, Barrier):
        return write_u32(i, operand)

    def keep(c: ExecutionContext, masks: Array, active: Array | None) -> None:
        c.blocks.convergence_barriers.set_masks(
            operand.index, c.where, c.active_mask(active), masks
        )

    return keep


@operation(
    "NOP", "YIELD", "NANOSLEEP", "DEPBAR", "LDGDEPBAR", "UTMACMDFLUSH", "MEMBAR", "ERRBAR",
    "CGAERRBAR", "CCTL", "FENCE", "UTMACCTL", "UTMAPF", "PREEXIT", "ACQBULK", "PMTRIG", "CCTLL",
)  # fmt: skip
def _do_nothing(i: Instruction) -> Step:
    """What orders memory or waits: everything is done in order here."""
    del i
    return lambda _: None
