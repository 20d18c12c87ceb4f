"""Whether all that the turns of a loop count by moves evenly: by the same step every turn.

A number that only sums, multiples and shifts to the left make of numbers that move evenly moves
evenly as well. A comparison of such numbers gives the same until they pass each other, and a carry
until a sum leaves its 32 bits (``counts/steps.py`` works out when that is). Whatever else is done
with a moving number (a remainder, a table, the half of it) may go on differently later, whatever
the first turns look like.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.predict.machine.uses import MEMORY, uses_of
from kernelprof.predict.sass.operands import TRUE, ZERO, Constant, Immediate, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.predict.machine.needed import Needed
    from kernelprof.predict.machine.uses import Uses
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Program

_COMPARISONS: Final = frozenset(("ISETP", "UISETP"))

_SUMS: Final = frozenset(
    (
        *("IADD3", "UIADD3", "VIADD", "UVIADD", "IMAD", "UIMAD", "LEA", "ULEA", "SHF", "USHF"),
        *("MOV", "UMOV", "R2UR", "SEL", "USEL"),
    )
)
_SIGN: Final = 31


class Evenly:
    """What is known of a program's instructions, for as long as its loops are looked at."""

    def __init__(self, program: Program, needed: Needed) -> None:
        self._program = program
        self._needed = needed
        self._uses: dict[int, Uses] = {}

    def moves(self, pieces: Iterable[int], moving: frozenset[str]) -> bool:
        """Whether turns that carry out these pieces of code go on as evenly as they began.

        ``moving`` are the registers that move evenly from the begin of one to that of the next.
        """
        now = set(moving)
        for at in pieces:
            block = self._program.blocks.get(at)
            if block is None:
                return False
            base = self._program.base(block.function)
            for i in block.body:
                address = base + i.address
                if not self._go_on(now, i, address):
                    return False
            if block.end is not None and now & _asked(self._use(block.end, base)):
                return False
        return True

    def _go_on(self, now: set[str], i: Instruction, address: int) -> bool:
        """Note what moves behind an instruction; whether it moves evenly."""
        if i.opcode in MEMORY:
            # Addresses are compared with what the steps predict; a guard has to stay.
            kept = address in self._needed.unused and _guard(i) not in now
            now -= self._use(i, address - i.address).written
            return kept
        if address not in self._needed.instructions:
            return True
        use = self._use(i, address - i.address)
        touched = _asked(use) & now
        if _guard(i) in now:
            return False
        if is_decision(i):
            now -= use.written
            return not (touched and _is_bent(i))
        if not touched:
            if not use.partial:
                now -= use.written
            return True
        now |= {name for name in use.written if not name.lstrip("U").startswith("P")}
        return _is_sum(i) and (not has_carry(i) or carry_is_seen(i))

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


def _is_sum(i: Instruction) -> bool:
    """Whether what an instruction makes of numbers that move evenly does so, too."""
    if i.opcode not in _SUMS or _is_bent(i) or not isinstance(i.operands[0], Register):
        return False
    if i.opcode in ("SHF", "USHF"):
        return i.has("L") and not i.has("W")
    return not i.has("HI") or i.has("X")
