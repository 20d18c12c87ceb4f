"""Reads that are a part of an atomic operation that the hardware does not have.

``atomicAdd`` of floating-point numbers in shared memory becomes a loop: read, add, and store the
sum if nobody was faster (``LDS``, ``FADD``, ``ATOMS.CAST.SPIN`` with the number read). The read is
no access of its own: the loop is gone through again where another thread came between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sassim.sass.operands import Address, Register

if TYPE_CHECKING:
    from sassim.sass.listing import Instruction
    from sassim.sass.program import Program


def reads_of_swaps(program: Program) -> frozenset[int]:
    """Return the loads whose value a compare-and-swap compares, by identity."""
    reads = set()
    for block in program.blocks.values():
        for n, i in enumerate(block.body):
            if i.opcode == "ATOMS" and {"CAST", "SPIN"} <= set(i.modifiers):
                read = _read(block.body[:n], i)
                if read is not None:
                    reads.add(id(read))
    return frozenset(reads)


def _read(before: tuple[Instruction, ...], swap: Instruction) -> Instruction | None:
    """The read from the same address whose number is compared."""
    address = next((each for each in swap.operands if isinstance(each, Address)), None)
    after = swap.operands[swap.operands.index(address) + 1 :] if address is not None else ()
    compared = after[0] if after else None
    for each in reversed(before):
        if not each.operands or each.operands[0] != compared:
            continue
        same = each.opcode == "LDS" and each.operands[1] == address
        return each if same and isinstance(compared, Register) else None
    return None
