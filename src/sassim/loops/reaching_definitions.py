"""Reaching definitions: which instructions a register's value can come from, as sets of bits.

A definition is an instruction and a register that it writes; it has a bit of integers that stand
for sets. What a call or a return leaves in registers is not looked into: it defines all of them.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from sassim.loops.backward_slice import successors
from sassim.opcodes import opcodes_with_flow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sassim.interpreter.def_use import DefUse
    from sassim.sass.listing import Instruction
    from sassim.sass.program import BasicBlock, Program

UNINITIALIZED: Final = -1
"""Stands for the address of a definition where a register has none."""
_CALLS: Final = opcodes_with_flow("call", "return", "indirect", "indirect-uniform")
_REGISTERS: Final = frozenset(
    f"{prefix}{n}"
    for prefix, most in (("R", 256), ("UR", 256), ("P", 8), ("UP", 8))
    for n in range(most)
)


class ReachingDefinitions:
    """The definitions of registers at the beginnings of basic blocks that can be reached."""

    def __init__(self, program: Program, effects: Mapping[int, DefUse]) -> None:
        self._addresses: list[int] = []
        """Of each definition: that of the instruction."""
        self._of_register: dict[str, int] = {}
        names = _REGISTERS.union(*(each.written for each in effects.values()))
        entry = self._define(dict.fromkeys(names, UNINITIALIZED))
        blocks = program.blocks.items()
        written = {start: _last_writes(block, effects, program) for start, block in blocks}
        generated = {start: self._define(last) for start, last in written.items()}
        retained = {
            start: ~sum(self._of_register[name] for name in last) for start, last in written.items()
        }
        self._at_begin = _solve(successors(program), generated, retained, entry)

    @property
    def blocks(self) -> list[int]:
        """The basic blocks that can be reached, by address."""
        return sorted(self._at_begin)

    def at(self, start: int, name: str) -> frozenset[int]:
        """Return the addresses that define a register at the beginning of a basic block."""
        left = self._at_begin[start] & self._of_register.get(name, 0)
        addresses = set() if name in self._of_register else {UNINITIALIZED}
        while left:
            lowest = left & -left
            addresses.add(self._addresses[lowest.bit_length() - 1])
            left ^= lowest
        return frozenset(addresses)

    def _define(self, addresses: Mapping[str, int]) -> int:
        """Return the bits of new definitions, each a register's."""
        bits = 0
        for name, address in addresses.items():
            bit = 1 << len(self._addresses)
            self._addresses.append(address)
            self._of_register[name] = self._of_register.get(name, 0) | bit
            bits |= bit
        return bits


def written_by(i: Instruction, effects: DefUse) -> Collection[str]:
    """Return the registers that an instruction defines."""
    return _REGISTERS if i.opcode in _CALLS else effects.written


def _last_writes(
    block: BasicBlock, effects: Mapping[int, DefUse], program: Program
) -> dict[str, int]:
    base = program.base(block.function)
    last: dict[str, int] = {}
    for i in block.instructions:
        address = base + i.address
        last |= dict.fromkeys(written_by(i, effects[address]), address)
    return last


def _solve(
    follow: Mapping[int, Sequence[int]],
    generated: Mapping[int, int],
    retained: Mapping[int, int],
    entry: int,
) -> dict[int, int]:
    """Return the definitions at the beginning of each basic block that the first one leads to."""
    at_begin = {0: entry}
    # In the order of addresses, so that most blocks come after those that lead to them.
    worklist, listed = [0], {0}
    while worklist:
        start = heappop(worklist)
        listed.discard(start)
        behind = at_begin[start] & retained[start] | generated[start]
        for each in follow[start]:
            before = at_begin.get(each)
            now = behind if before is None else before | behind
            if now != before:
                at_begin[each] = now
                if each not in listed:
                    listed.add(each)
                    heappush(worklist, each)
    return at_begin
