"""Which instructions addresses and branches depend on: what else is done need not be worked out.

How often a loop runs and where a warp's threads read is mostly arithmetic on indices. An
instruction whose result goes into neither, nor into a value in memory that does, is counted and not
carried out; a load whose value goes into neither needs no data.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.predict.machine.uses import LOADS, MEMORY, STORES, Uses, uses_of
from kernelprof.predict.sass.operands import Constant, Label, Register

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block, Program


@dataclass(frozen=True, slots=True)
class Needed:
    """What has to be carried out to count."""

    instructions: frozenset[int]
    """Addresses of instructions that have to be carried out."""
    unused: frozenset[int]
    """Addresses of accesses whose values nothing depends on."""
    reads_arrays: bool
    """Whether it depends on what arrays in global memory hold."""
    live: Mapping[int, frozenset[str]]
    """Registers that are needed where a straight piece of code begins, by its address."""


def needed(program: Program) -> Needed:
    """What of a program has to be carried out to count its accesses and branches."""
    blocks = program.blocks
    uses = {
        i.address + program.base(block.function): uses_of(i)
        for block in blocks.values()
        for i in (*block.body, *((block.end,) if block.end else ()))
    }
    spaces: set[str] = set()
    while True:
        live, kept = _fixed_point(program, blocks, uses, spaces)
        more = spaces | _spaces_read(program, kept)
        if more == spaces:
            break
        spaces = more
    unused = {
        address
        for address, i in _all(program)
        if i.opcode in MEMORY and address not in kept and not _writes_into(i, spaces)
    }
    return Needed(frozenset(kept), frozenset(unused), "global" in spaces, live)


def _all(program: Program) -> Iterable[tuple[int, Instruction]]:
    for block in program.blocks.values():
        base = program.base(block.function)
        for i in (*block.body, *((block.end,) if block.end else ())):
            yield base + i.address, i


def _writes_into(i: Instruction, spaces: set[str]) -> bool:
    """Whether what it stores may be read back for something that counts."""
    space = STORES.get(i.opcode)
    if space is None:
        return False
    if i.opcode in ("ST", "ATOM", "RED") and spaces:
        return True
    return space in spaces and (space != "global" or "written" in spaces)


def _spaces_read(program: Program, kept: set[int]) -> set[str]:
    """The kinds of memory that instructions read whose results are needed."""
    found: set[str] = set()
    for address, i in _all(program):
        if address not in kept or i.opcode not in LOADS:
            continue
        found.add(LOADS[i.opcode])
        if LOADS[i.opcode] == "global" and "CONSTANT" not in i.modifiers:
            found.add("written")
        if i.opcode in ("LD", "ATOM"):
            found |= {"shared", "local", "written"}
    return found


def _fixed_point(
    program: Program, blocks: dict[int, Block], uses: dict[int, Uses], spaces: set[str]
) -> tuple[dict[int, frozenset[str]], set[int]]:
    """Registers that are needed where blocks begin, and the instructions that make them."""
    after = _successors(program)
    before: dict[int, list[int]] = defaultdict(list)
    for start, follow in after.items():
        for each in follow:
            before[each].append(start)
    live: dict[int, frozenset[str]] = dict.fromkeys(blocks, frozenset())
    kept: set[int] = set()
    waiting = list(blocks)
    while waiting:
        start = waiting.pop()
        block = blocks[start]
        base = program.base(block.function)
        now = set().union(*(live[each] for each in after[start])) if after[start] else set()
        ends = (block.end,) if block.end else ()
        for i in reversed((*block.body, *ends)):
            address = base + i.address
            use = uses[address]
            wanted = bool(use.written & now) or use.always or _writes_into(i, spaces)
            if i.opcode in MEMORY and not wanted:
                now |= use.addressing
                continue
            if not wanted:
                continue
            kept.add(address)
            if not use.partial:
                now -= use.written
            now |= use.addressing | use.read
        frozen = frozenset(now)
        if frozen != live[start]:
            live[start] = frozen
            waiting += [each for each in before[start] if each not in waiting]
    return live, kept


def _successors(program: Program) -> dict[int, list[int]]:
    """The blocks that may follow each block."""
    ends = [(block, block.end) for block in program.blocks.values() if block.end is not None]
    behind_calls = [block.follows for block, end in ends if end.opcode == "CALL"]
    together = [_label(program, block) for block, end in ends if end.has("COLLECTIVE")]
    anywhere = _starts(program)
    found = {}
    for start, block in program.blocks.items():
        end = block.end
        goals: list[int | None] = []
        if end is None or end.opcode not in _LEAVING or end.guard or _has_condition(end):
            goals.append(block.follows)
        if end is not None:
            goals.append(_label(program, block))
            if end.opcode == "RET":
                goals += behind_calls
            elif end.opcode == "ENDCOLLECTIVE":
                goals += together
            elif _calls_by_address(end):
                goals += anywhere
            elif end.opcode in _BY_TABLE:
                base = program.base(block.function)
                goals += [base + at for at in block.function.labels.values()]
        found[start] = [each for each in dict.fromkeys(goals) if each in program.blocks]
    return found


_BY_TABLE: Final = frozenset(("BRX", "BRXU", "JMX", "JMXU"))
_LEAVING: Final = frozenset(("EXIT", "RET", "BRA", "JMP", "CALL", *_BY_TABLE))
"""Opcodes behind which nothing goes on, where they have no condition."""


def _has_condition(end: Instruction) -> bool:
    """Whether it has operands beside its goal."""
    return end.opcode in {"BRA", "JMP", "EXIT"} and any(
        not isinstance(each, Label) for each in end.operands
    )


def _label(program: Program, block: Block) -> int | None:
    """The place in the code that a piece's end goes to by name."""
    end = block.end
    if end is None or _calls_by_address(end):
        return None
    for each in end.operands:
        if isinstance(each, Label):
            return program.target(block.function, each)
    return None


def _calls_by_address(end: Instruction) -> bool:
    """Whether it calls what a register says; a name beside that is where addresses count from."""
    return end.opcode == "CALL" and any(
        isinstance(each, Register | Constant) for each in end.operands
    )


def _starts(program: Program) -> list[int]:
    """Where a call by address may lead: functions have names of their own."""
    found = []
    for function in program.functions:
        base = program.base(function)
        named = [at for name, at in function.labels.items() if not name.startswith(".")]
        found += [base, *(base + at for at in named)]
    return found
