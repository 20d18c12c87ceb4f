"""Induction variables: registers that change by the same step in every iteration of a loop.

Sums, products and left shifts of induction variables are induction variables, and the lowest bits
of one whose step is a multiple of their power of two are invariant. A comparison of two gives the
same result until they pass each other, and a carry until a sum overflows 32 bits
(:mod:`sassim.loops.affine` computes when). Any other use of one (a remainder, a table, a half) may
differ in later iterations, whatever the first ones do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sassim.interpreter.def_use import changes_phases
from sassim.loops.backward_slice import effects_of
from sassim.opcodes import MEMORY, flagged_opcodes
from sassim.sass.operands import (
    TRUE,
    ZERO,
    Constant,
    Immediate,
    Label,
    Predicate,
    Register,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sassim.interpreter.def_use import DefUse
    from sassim.interpreter.slices import BackwardSlice
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand
    from sassim.sass.program import Program

_SUMS: Final = flagged_opcodes("affine")
_SIGN: Final = 31


def loop_headers(program: Program) -> frozenset[int]:
    """Return addresses to which back edges lead; none where the program has mbarriers."""
    if any(changes_phases(i) for block in program.blocks.values() for i in block.instructions):
        return frozenset()
    headers = set()
    for start, block in program.blocks.items():
        if block.end is None or block.end.opcode != "BRA":
            continue
        for each in block.end.operands:
            target = program.target(block.function, each) if isinstance(each, Label) else None
            if target is not None and target <= start:
                headers.add(target)
    return frozenset(headers)


class InductionAnalysis:
    """Checks whether iterations of a program's loops change registers by affine steps only."""

    def __init__(self, program: Program, program_slice: BackwardSlice) -> None:
        self._program = program
        self._slice = program_slice
        self._effects = effects_of(program)

    def is_affine(self, blocks: Iterable[int], induction_steps: Mapping[str, int]) -> bool:
        """Whether iterations over these basic blocks keep all steps constant.

        ``induction_steps`` are the induction variables at the first block, each with the largest
        power of two that divides all of its steps.
        """
        steps_now = dict(induction_steps)
        for at in blocks:
            block = self._program.blocks.get(at)
            if block is None:
                return False
            base = self._program.base(block.function)
            live = self._slice.live[at]
            steps_now = {name: step for name, step in steps_now.items() if name in live}
            for i in block.body:
                address = base + i.address
                if not self._advance(steps_now, i, address):
                    return False
            end = block.end
            if end is not None and steps_now.keys() & _inputs(self._effects[base + end.address]):
                return False
        return True

    def _advance(self, steps_now: dict[str, int], i: Instruction, address: int) -> bool:
        """Update steps behind an instruction; whether they stay constant."""
        effects = self._effects[address]
        if i.opcode == "LDC":
            _mark_invariant(steps_now, effects)
            return not _inputs(effects) & steps_now.keys()
        if i.opcode in MEMORY:
            # Addresses are compared with those predicted; a guard has to be invariant.
            _mark_invariant(steps_now, effects)
            return address in self._slice.unused and _guard(i) not in steps_now
        if address not in self._slice.instructions:
            return True
        if _guard(i) in steps_now:
            return False
        steps = [steps_now[name] for name in _inputs(effects) & steps_now.keys()]
        if is_comparison(i):
            _mark_invariant(steps_now, effects)
            return not (steps and _is_nonlinear(i))
        step = _result_step(i, steps, steps_now)
        if step == 0:
            if not effects.partial:
                _mark_invariant(steps_now, effects)
        else:
            first = _register_name(i.operands[0])
            for name in effects.written:
                if not _is_predicate(name):
                    # The high half may have any step.
                    steps_now[name] = step if name == first else 1
        return not steps or step >= 0


def _inputs(effects: DefUse) -> frozenset[str]:
    return effects.read | effects.addressing


def _guard(i: Instruction) -> str:
    if i.guard is None:
        return ""
    return f"{'UP' if i.guard.uniform else 'P'}{i.guard.index}"


def _is_nonlinear(i: Instruction) -> bool:
    """Whether an operand is an absolute value, a part of a register, or indexes a table."""
    return any(
        isinstance(each, Constant) and each.register is not None for each in i.operands
    ) or any(
        isinstance(each, Register) and (each.absolute or each.part not in ("", "64"))
        for each in i.operands
    )


def _plain_opcode(i: Instruction) -> str:
    """Return the opcode without the U of the uniform datapath."""
    return i.opcode.removeprefix("U")


def is_comparison(i: Instruction) -> bool:
    """Whether its result changes only where integers pass each other, or zero."""
    return _plain_opcode(i) == "ISETP" or is_sign_test(i)


def is_sign_test(i: Instruction) -> bool:
    """Whether it replicates the sign of its last operand."""
    return (
        _plain_opcode(i) == "SHF"
        and i.has("R")
        and i.has("S32")
        and i.has("HI")
        and isinstance(i.operands[2], Immediate)
        and i.operands[2].bits == _SIGN
    )


def has_carry(i: Instruction) -> bool:
    """Whether it is a sum with a carry out."""
    return (
        i.opcode in _SUMS and isinstance(i.operands[1], Predicate) and i.operands[1].index != TRUE
    )


def carry_is_seen(i: Instruction) -> bool:
    """Whether the sum itself is written, so that its overflow can be predicted."""
    sum_of = i.operands[0]
    return isinstance(sum_of, Register) and sum_of.index != ZERO and not i.has("WIDE")


def _mark_invariant(steps_now: dict[str, int], effects: DefUse) -> None:
    for name in effects.written:
        steps_now.pop(name, None)


def _is_predicate(name: str) -> bool:
    return name.lstrip("U").startswith("P")


def _result_step(i: Instruction, steps: Sequence[int], steps_now: Mapping[str, int]) -> int:
    """Return a power of two that divides the result's steps; 0: invariant, -1: unknown."""
    if not steps:
        return 0
    step = min(steps)
    if _is_nonlinear(i) or not isinstance(i.operands[0], Register):
        return -1
    if (
        i.opcode in _SUMS
        and (not has_carry(i) or carry_is_seen(i))
        and _is_affine_sum(i, steps_now)
    ):
        return step
    bits = _and_mask(i)
    if bits is not None:
        return 0 if bits < step else -1
    places = _right_shift(i)
    if places is not None and step >> places:
        return step >> places
    return -1


def _is_affine_sum(i: Instruction, steps_now: Mapping[str, int]) -> bool:
    """Whether the result of a sum or shift of induction variables is one."""
    if _plain_opcode(i) == "SHF":
        return i.has("L") and not i.has("W")
    if _plain_opcode(i) == "LEA" and i.has("HI") and not i.has("X"):
        # A sum with the high bits of another number.
        return _register_name(i.operands[1]) not in steps_now
    return not i.has("HI") or i.has("X")


def _and_mask(i: Instruction) -> int | None:
    """Return the mask of a bitwise and: 3 of ``x & 3``."""
    if _plain_opcode(i) != "LOP3" or len(i.operands) < _LOGIC_OPERANDS:
        return None
    *_, mask, nothing, table, _ = i.operands
    if not (isinstance(mask, Immediate) and isinstance(table, Immediate)):
        return None
    is_and = table.bits == _AND and isinstance(nothing, Register) and nothing.index == ZERO
    return mask.bits if is_and else None


_LOGIC_OPERANDS: Final = 6
_AND: Final = 0xC0
"""The truth table of a and b, whatever c is (PTX ISA, "lop3")."""


def _right_shift(i: Instruction) -> int | None:
    """Return by how many bits it shifts its last operand to the right."""
    if _plain_opcode(i) != "SHF" or not (i.has("R") and i.has("HI")):
        return None
    low, by = i.operands[1], i.operands[2]
    if isinstance(low, Register) and low.index == ZERO and isinstance(by, Immediate):
        return by.bits
    return None


def _register_name(operand: Operand) -> str:
    if not isinstance(operand, Register):
        return ""
    return f"{'UR' if operand.uniform else 'R'}{operand.index}"
