"""Whether all that the turns of a loop count by moves evenly: by the same step every turn.

A number that only sums, multiples and shifts to the left make of numbers that move evenly moves
evenly as well, and the lowest bits of one that moves by a multiple of their power of two stay. A
comparison of such numbers gives the same until they pass each other, and a carry until a sum leaves
its 32 bits (``counts/steps.py`` works out when that is). Whatever else is done with a moving number
(a remainder, a table, the half of it) may go on differently later, whatever the first turns look
like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.predict.machine.uses import MEMORY, is_of_phases, uses_of
from kernelprof.sass.operands import (
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

    from kernelprof.predict.machine.needed import Needed
    from kernelprof.predict.machine.uses import Uses
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Program
    from kernelprof.sass.operands import Operand

_COMPARISONS: Final = frozenset(("ISETP", "UISETP"))

_SUMS: Final = frozenset(
    (
        *("IADD3", "UIADD3", "VIADD", "UVIADD", "IMAD", "UIMAD", "LEA", "ULEA", "SHF", "USHF"),
        *("MOV", "UMOV", "R2UR", "SEL", "USEL"),
    )
)
_SIGN: Final = 31


def heads(program: Program) -> frozenset[int]:
    """Pieces that branches further down lead back to; none where barriers are in shared memory."""
    if any(is_of_phases(i) for block in program.blocks.values() for i in block.instructions):
        return frozenset()
    found = set()
    for start, block in program.blocks.items():
        if block.end is None or block.end.opcode != "BRA":
            continue
        for each in block.end.operands:
            target = program.target(block.function, each) if isinstance(each, Label) else None
            if target is not None and target <= start:
                found.add(target)
    return frozenset(found)


class Evenly:
    """What is known of a program's instructions, for as long as its loops are looked at."""

    def __init__(self, program: Program, needed: Needed) -> None:
        self._program = program
        self._needed = needed
        self._uses: dict[int, Uses] = {}

    def moves(self, pieces: Iterable[int], moving: Mapping[str, int]) -> bool:
        """Whether turns that carry out these pieces of code go on as evenly as they began.

        ``moving`` are the registers that move evenly from the begin of one to that of the next,
        each with the largest power of two that divides all of its steps.
        """
        now = dict(moving)
        for at in pieces:
            block = self._program.blocks.get(at)
            if block is None:
                return False
            base = self._program.base(block.function)
            live = self._needed.live[at]
            now = {name: step for name, step in now.items() if name in live}
            for i in block.body:
                address = base + i.address
                if not self._go_on(now, i, address):
                    return False
            end = block.end
            if end is not None and now.keys() & _asked(self._use(end, base)):
                return False
        return True

    def _go_on(self, now: dict[str, int], i: Instruction, address: int) -> bool:
        """Note what moves behind an instruction; whether it moves evenly."""
        use = self._use(i, address - i.address)
        if i.opcode == "LDC":
            _rest(now, use)
            return not _asked(use) & now.keys()
        if i.opcode in MEMORY:
            # Addresses are compared with what the steps predict; a guard has to stay.
            _rest(now, use)
            return address in self._needed.unused and _guard(i) not in now
        if address not in self._needed.instructions:
            return True
        if _guard(i) in now:
            return False
        steps = [now[name] for name in _asked(use) & now.keys()]
        if is_decision(i):
            _rest(now, use)
            return not (steps and _is_bent(i))
        step = _moved(i, steps, now)
        if step == 0:
            if not use.partial:
                _rest(now, use)
        else:
            first = _name(i.operands[0])
            for name in use.written:
                if not _is_predicate(name):
                    # Of a high half alone nothing is known.
                    now[name] = step if name == first else 1
        return not steps or step >= 0

    def _use(self, i: Instruction, base: int) -> Uses:
        found = self._uses.get(base + i.address)
        if found is None:
            found = self._uses[base + i.address] = uses_of(i)
        return found


def _asked(use: Uses) -> frozenset[str]:
    return use.read | use.addressing


def _guard(i: Instruction) -> str:
    if i.guard is None:
        return ""
    return f"{'UP' if i.guard.uniform else 'P'}{i.guard.index}"


def _is_bent(i: Instruction) -> bool:
    """Whether operands are turned around at zero, or cut, or a place in a table."""
    return any(
        isinstance(each, Constant) and each.register is not None for each in i.operands
    ) or any(
        isinstance(each, Register) and (each.absolute or each.part not in ("", "64"))
        for each in i.operands
    )


def is_decision(i: Instruction) -> bool:
    """Whether what it gives changes only where whole numbers pass each other, or zero."""
    return i.opcode in _COMPARISONS or is_sign(i)


def is_sign(i: Instruction) -> bool:
    """Whether it gives the sign of its last operand in all bits."""
    return (
        i.opcode in ("SHF", "USHF")
        and i.has("R")
        and i.has("S32")
        and i.has("HI")
        and isinstance(i.operands[2], Immediate)
        and i.operands[2].bits == _SIGN
    )


def has_carry(i: Instruction) -> bool:
    """Whether it is a sum that also gives its carry."""
    return (
        i.opcode in _SUMS and isinstance(i.operands[1], Predicate) and i.operands[1].index != TRUE
    )


def carry_is_seen(i: Instruction) -> bool:
    """Whether the sum is there to be looked at: it carries where that leaves its 32 bits."""
    sum_of = i.operands[0]
    return isinstance(sum_of, Register) and sum_of.index != ZERO and not i.has("WIDE")


def _rest(now: dict[str, int], use: Uses) -> None:
    """What an instruction writes does not move."""
    for name in use.written:
        now.pop(name, None)


def _is_predicate(name: str) -> bool:
    return name.lstrip("U").startswith("P")


def _moved(i: Instruction, steps: Sequence[int], now: Mapping[str, int]) -> int:
    """A power of two that divides the steps of what an instruction makes of moving numbers.

    Nothing: it does not move. Less than nothing: perhaps not evenly.
    """
    if not steps:
        return 0
    step = min(steps)
    if _is_bent(i) or not isinstance(i.operands[0], Register):
        return -1
    if i.opcode in _SUMS and (not has_carry(i) or carry_is_seen(i)) and _is_sum(i, now):
        return step
    bits = _mask_of(i)
    if bits is not None:
        return 0 if bits < step else -1
    places = _right_by(i)
    if places is not None and step >> places:
        return step >> places
    return -1


def _is_sum(i: Instruction, now: Mapping[str, int]) -> bool:
    """Whether what an instruction makes of numbers that move evenly does so, too."""
    if i.opcode in ("SHF", "USHF"):
        return i.has("L") and not i.has("W")
    if i.opcode in ("LEA", "ULEA") and i.has("HI") and not i.has("X"):
        # The sum of a number and the high bits of another.
        return _name(i.operands[1]) not in now
    return not i.has("HI") or i.has("X")


def _mask_of(i: Instruction) -> int | None:
    """The bits of a number that it takes: 3 of ``x & 3``."""
    if i.opcode not in ("LOP3", "ULOP3") or len(i.operands) < _LOGIC_OPERANDS:
        return None
    *_, mask, nothing, table, _ = i.operands
    if not (isinstance(mask, Immediate) and isinstance(table, Immediate)):
        return None
    is_and = table.bits == _AND and isinstance(nothing, Register) and nothing.index == ZERO
    return mask.bits if is_and else None


_LOGIC_OPERANDS: Final = 6
_AND: Final = 0xC0
"""The truth table of a and b, whatever c is (PTX ISA, "lop3")."""


def _right_by(i: Instruction) -> int | None:
    """By how many bits it shifts its last operand to the right."""
    if i.opcode not in ("SHF", "USHF") or not (i.has("R") and i.has("HI")):
        return None
    low, by = i.operands[1], i.operands[2]
    if isinstance(low, Register) and low.index == ZERO and isinstance(by, Immediate):
        return by.bits
    return None


def _name(operand: Operand) -> str:
    if not isinstance(operand, Register):
        return ""
    return f"{'UR' if operand.uniform else 'R'}{operand.index}"
