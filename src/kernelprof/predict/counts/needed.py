"""Which instructions addresses and branches depend on: what else is done need not be worked out.

How often a loop runs and where a warp's threads read is mostly arithmetic on indices. An
instruction whose result goes into neither, nor into a value in memory that does, is counted and not
carried out; a load whose value goes into neither needs no data.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.predict.machine.needed import Needed
from kernelprof.predict.machine.uses import LOADS, MEMORY, STORES, Uses, uses_of
from kernelprof.sass.operands import TRUE, Constant, Label, Register

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block, Program


Condition = tuple[str, bool]
"""A guard: the name of its predicate, and whether it is negated."""
Live = dict[str, "Condition | None"]
"""Registers whose values are needed, each for threads that meet a condition; ``None``: for all."""


def needed(
    program: Program, *, cautious: bool = False, stores: frozenset[int] = frozenset()
) -> Needed:
    """What of a program has to be carried out to count its accesses and branches.

    Unless ``cautious``, it is assumed that what is needed of the values in memory is not what the
    kernel's own stores of another kind put there: of outputs in global memory, of words in shared
    memory where only a byte is needed. The machine sees to it that this holds; ``stores`` are
    addresses of those in global memory for which it did not.
    """
    uses = {address: uses_of(i) for address, i in _all(program)}
    live, kept, spaces = _kept(program, uses, stores, cautious=cautious)
    left_out = {
        address: i for address, i in _all(program) if i.opcode in MEMORY and address not in kept
    }
    read = _spaces_read(program, kept, cautious=True)
    doubtful = [i for i in left_out.values() if _writes_into(i, read)]
    if any(i.opcode not in _FORGOTTEN for i in doubtful):
        return needed(program, cautious=True)
    return Needed(
        frozenset(kept),
        frozenset(left_out),
        "global" in spaces,
        {start: frozenset(names) for start, names in live.items()},
        frozenset(STORES[i.opcode] for i in doubtful),
        _deciding(program, uses, stores),
    )


def _kept(
    program: Program,
    uses: dict[int, Uses],
    stores: frozenset[int],
    *,
    cautious: bool,
    addresses: bool = True,
) -> tuple[dict[int, Live], set[int], set[str]]:
    """What is needed where blocks begin, the instructions that make it, and the memory they read.

    ``stores`` are addresses of some that are needed. Without ``addresses`` those for branches.
    """
    spaces: set[str] = set()
    while True:
        live, kept = _fixed_point(program, uses, spaces, stores, addresses=addresses)
        more = spaces | _spaces_read(program, kept, cautious=cautious)
        if more == spaces:
            return live, kept, spaces
        spaces = more


_FORGOTTEN: Final = frozenset(("STG", "STS", "STL", "LDGSTS"))
"""Stores that the machine notes where it leaves them out."""


def _deciding(program: Program, uses: dict[int, Uses], stores: frozenset[int]) -> frozenset[int]:
    """Atomics on global memory whose result is needed to know where threads go on."""
    _, kept, _ = _kept(program, uses, stores, cautious=False, addresses=False)
    return frozenset(
        address
        for address, i in _all(program)
        if address in kept and i.opcode in ("ATOM", "ATOMG") and not i.has("CAS")
    )


def _all(program: Program) -> Iterable[tuple[int, Instruction]]:
    for block in program.blocks.values():
        base = program.base(block.function)
        for i in block.instructions:
            yield base + i.address, i


def _writes_into(i: Instruction, spaces: set[str]) -> bool:
    """Whether what it stores may be read back for something that counts."""
    space = STORES.get(i.opcode)
    if space is None:
        return False
    if i.opcode in ("ST", "ATOM", "RED") and spaces:
        return True
    if space == "global":
        return "written" in spaces
    return f"{space} {_kind(i)}" in spaces


def _kind(i: Instruction) -> str:
    """Bytes, or words: a flag in shared memory is hardly ever part of a word."""
    return "bytes" if i.width < _WORD else "words"


_WORD: Final = 32


def _spaces_read(program: Program, kept: set[int], *, cautious: bool) -> set[str]:
    """The kinds of memory that instructions read whose results are needed."""
    found: set[str] = set()
    for address, i in _all(program):
        if address not in kept or i.opcode not in LOADS:
            continue
        space = LOADS[i.opcode]
        if space != "global":
            found |= {
                f"{space} {kind}" for kind in (("bytes", "words") if cautious else (_kind(i),))
            }
            continue
        found.add(space)
        if "CONSTANT" not in i.modifiers and cautious:
            found.add("written")
        if i.opcode in ("LD", "ATOM"):
            found |= {"shared bytes", "shared words", "local bytes", "local words", "written"}
    return found


def _fixed_point(
    program: Program,
    uses: dict[int, Uses],
    spaces: set[str],
    stores: frozenset[int],
    *,
    addresses: bool = True,
) -> tuple[dict[int, Live], set[int]]:
    """Registers that are needed where blocks begin, and the instructions that make them.

    ``stores`` are addresses of some that are needed. Without ``addresses`` those for branches.
    """
    blocks = program.blocks
    after = _successors(program)
    before: dict[int, list[int]] = defaultdict(list)
    for start, follow in after.items():
        for each in follow:
            before[each].append(start)
    live: dict[int, Live] = {start: {} for start in blocks}
    kept: set[int] = set()
    waiting = list(blocks)
    while waiting:
        start = waiting.pop()
        block = blocks[start]
        base = program.base(block.function)
        now: Live = {}
        for each in after[start]:
            for name, condition in live[each].items():
                _need(now, name, condition)
        for i in reversed(block.instructions):
            address = base + i.address
            use = uses[address]
            if not addresses and i.opcode in MEMORY:
                use = replace(use, addressing=frozenset())
            writes = address in stores or _writes_into(i, spaces)
            if _go_back(now, i, use, stores=writes):
                kept.add(address)
        if now != live[start]:
            live[start] = now
            waiting += [each for each in before[start] if each not in waiting]
    return live, kept


def _go_back(now: Live, i: Instruction, use: Uses, *, stores: bool) -> bool:
    """From what is needed behind an instruction to what is before; whether it is needed itself.

    Code under one guard often makes a value and uses it: what the register held before is needed
    for no thread then.
    """
    guard = _condition(i)
    for name, condition in now.items():
        if condition is not None and condition[0] in use.written:
            now[name] = None
    made = [name for name in use.written if name in now]
    wanted = bool(made) or use.always or stores
    if not wanted and i.opcode not in MEMORY:
        return False
    if wanted:
        for name in made:
            if not use.partial or (guard is not None and now[name] == guard):
                del now[name]
        for name in use.read:
            _need(now, name, guard)
    for name in use.addressing:
        _need(now, name, guard)
    if guard is not None:
        now[guard[0]] = None
    return wanted


def _condition(i: Instruction) -> Condition | None:
    """The guard of an instruction."""
    if i.guard is None or i.guard.index == TRUE:
        return None
    return f"{'UP' if i.guard.uniform else 'P'}{i.guard.index}", i.guard.negated


def _need(now: Live, name: str, condition: Condition | None) -> None:
    """A register is needed for threads that meet a condition, too."""
    known = now.get(name, condition)
    now[name] = condition if known == condition else None


def _successors(program: Program) -> dict[int, list[int]]:
    """The blocks that may follow each block."""
    ends = [(block, block.end) for block in program.blocks.values() if block.end is not None]
    behind_calls = [block.follows for block, end in ends if end.opcode == "CALL"]
    together = {b.follows: _label(program, b) for b, end in ends if end.has("COLLECTIVE")}
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
                goals += [together[start]] if start in together else together.values()
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
