"""The backward slice of addresses and branches: only these instructions have to be executed.

Trip counts and addresses are mostly arithmetic on indices. An instruction outside the slice is
counted and not executed; a load whose value is not in the slice needs no data.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from sassim.interpreter.control_flow.system_calls import READ_BY_SYSTEM_CALLS
from sassim.interpreter.def_use import DefUse, find_def_use
from sassim.interpreter.slices import BackwardSlice
from sassim.opcodes import (
    BULK_COPIES,
    LOADS,
    MEMORY,
    STORES,
    find_opcode,
    flagged_opcodes,
    opcodes_with_flow,
    select_opcodes,
)
from sassim.sass.operands import TRUE, Label
from sassim.sass.program import calls_by_address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sassim.sass.listing import Instruction
    from sassim.sass.program import BasicBlock, Program


PROGRAMS: Final = 8
"""Of which what was found is kept, the last ones."""

Condition = tuple[str, bool]
"""A guard: the name of its predicate, and whether it is negated."""
Live = dict[str, "Condition | None"]
"""Live registers, each for threads that meet a condition; ``None``: for all."""


@lru_cache(maxsize=PROGRAMS)
def slice_program(
    program: Program, *, cautious: bool = False, stores: frozenset[int] = frozenset()
) -> BackwardSlice:
    """Return the slice of a program that its accesses and branches depend on.

    Unless ``cautious``, values in memory that the slice reads are assumed not to come from stores
    outside of it: of outputs in global memory, of words in shared memory where only a byte is read.
    The interpreter checks that; ``stores`` are addresses of those in global memory that failed.
    """
    effects = effects_of(program)
    live, in_slice, spaces = _find_slice(program, effects, stores, cautious=cautious)
    skipped = {
        address: i
        for address, i in instructions_of(program)
        if i.opcode in MEMORY and address not in in_slice
    }
    read = _find_read_spaces(program, in_slice, cautious=True)
    if not any(each.startswith("shared") for each in read):
        # Bulk copies are executed for their barriers; nobody looks at what they bring.
        skipped |= {a: i for a, i in instructions_of(program) if i.opcode in BULK_COPIES}
    elif any(i.opcode in BULK_COPIES for _, i in instructions_of(program)):
        spaces = spaces | {"global"}
    doubtful = [i for i in skipped.values() if _may_be_read_back(i, read)]
    if any(i.opcode not in _SKIPPABLE_STORES for i in doubtful):
        return slice_program(program, cautious=True)
    return BackwardSlice(
        frozenset(in_slice),
        frozenset(skipped),
        "global" in spaces,
        {start: frozenset(names) for start, names in live.items()},
        frozenset(STORES[i.opcode] for i in doubtful),
        _find_branch_atomics(program, effects, stores),
    )


def _find_slice(
    program: Program,
    effects: dict[int, DefUse],
    stores: frozenset[int],
    *,
    cautious: bool,
    addresses: bool = True,
) -> tuple[dict[int, Live], set[int], set[str]]:
    """Return live registers by basic block, the slice, and the memory that it reads.

    ``stores`` are addresses of stores in the slice. Without ``addresses`` it is that of branches.
    """
    spaces: set[str] = set()
    while True:
        live, in_slice = _solve_liveness(program, effects, spaces, stores, addresses=addresses)
        more = spaces | _find_read_spaces(program, in_slice, cautious=cautious)
        if more == spaces:
            return live, in_slice, spaces
        spaces = more


_GLOBAL_ATOMICS: Final = select_opcodes(
    lambda row: row.memory_read == row.memory_written == "global"
)
_SKIPPABLE_STORES: Final = flagged_opcodes("omittable")
"""Stores that need not be executed: the interpreter only records that it skipped them."""


def _find_branch_atomics(
    program: Program, effects: dict[int, DefUse], stores: frozenset[int]
) -> frozenset[int]:
    """Return the atomics on global memory whose result a branch depends on."""
    _, in_slice, _ = _find_slice(program, effects, stores, cautious=False, addresses=False)
    return frozenset(
        address
        for address, i in instructions_of(program)
        if address in in_slice and i.opcode in _GLOBAL_ATOMICS and not i.has("CAS")
    )


@lru_cache(maxsize=PROGRAMS)
def effects_of(program: Program) -> dict[int, DefUse]:
    """What each instruction reads and writes, by its address."""
    effects = {address: find_def_use(i) for address, i in instructions_of(program)}
    # No code here shows what functions of the system read.
    for address, i in instructions_of(program) if program.image.outside else ():
        if calls_by_address(i):
            effects[address] = replace(
                effects[address], read=effects[address].read | READ_BY_SYSTEM_CALLS
            )
    return effects


def instructions_of(program: Program) -> Iterable[tuple[int, Instruction]]:
    """Return each instruction with its address."""
    for block in program.blocks.values():
        base = program.base(block.function)
        for i in block.instructions:
            yield base + i.address, i


def _may_be_read_back(i: Instruction, spaces: set[str]) -> bool:
    """Whether the slice may read what it stores."""
    space = STORES.get(i.opcode)
    if space is None or i.opcode in BULK_COPIES:
        return False
    if find_opcode(i.opcode).writes == "generic" and spaces:
        return True
    if space == "global":
        return "written" in spaces
    return f"{space} {_granularity(i)}" in spaces


def _granularity(i: Instruction) -> str:
    """Return bytes or words: a flag in shared memory is hardly ever part of a word."""
    return "bytes" if i.width < _WORD else "words"


_WORD: Final = 32


def _find_read_spaces(program: Program, in_slice: set[int], *, cautious: bool) -> set[str]:
    spaces: set[str] = set()
    for address, i in instructions_of(program):
        if address in in_slice and find_opcode(i.opcode).category == "wgmma":
            spaces.add("shared words")
        if address not in in_slice or i.opcode not in LOADS or i.opcode in BULK_COPIES:
            continue
        space = LOADS[i.opcode]
        if space != "global":
            spaces |= {
                f"{space} {kind}"
                for kind in (("bytes", "words") if cautious else (_granularity(i),))
            }
            continue
        spaces.add(space)
        if "CONSTANT" not in i.modifiers and cautious:
            spaces.add("written")
        if find_opcode(i.opcode).reads == "generic":
            spaces |= {"shared bytes", "shared words", "local bytes", "local words", "written"}
    return spaces


def _solve_liveness(
    program: Program,
    effects: dict[int, DefUse],
    spaces: set[str],
    stores: frozenset[int],
    *,
    addresses: bool = True,
) -> tuple[dict[int, Live], set[int]]:
    """Return live registers by basic block and the slice, by a worklist over the blocks.

    ``stores`` and ``addresses`` are those of :func:`_find_slice`.
    """
    blocks = program.blocks
    after = successors(program)
    before: dict[int, list[int]] = defaultdict(list)
    for start, follow in after.items():
        for each in follow:
            before[each].append(start)
    live: dict[int, Live] = {start: {} for start in blocks}
    behind: dict[int, Live] = {start: {} for start in blocks}
    in_slice: set[int] = set()
    # From the last address, so that most blocks come after those that they lead to.
    worklist, listed = sorted(-start for start in blocks), set(blocks)
    while worklist:
        start = -heappop(worklist)
        listed.discard(start)
        block = blocks[start]
        base = program.base(block.function)
        now = dict(behind[start])
        for i in reversed(block.instructions):
            address = base + i.address
            effect = effects[address]
            if not addresses and i.opcode in MEMORY:
                effect = replace(effect, addressing=frozenset())
            writes = address in stores or _may_be_read_back(i, spaces)
            if _transfer(now, i, effect, stores=writes):
                in_slice.add(address)
        changed = now.items() - live[start].items()
        live[start] = now
        for each in before[start] if changed else ():
            for name, condition in changed:
                _mark_live(behind[each], name, condition)
            if each not in listed:
                listed.add(each)
                heappush(worklist, -each)
    return live, in_slice


def _transfer(now: Live, i: Instruction, effect: DefUse, *, stores: bool) -> bool:
    """Turn registers live behind an instruction into those before; whether it is in the slice.

    Code under one guard often writes a register and reads it: it is not live before that.
    """
    guard = _guard_condition(i)
    for name, condition in now.items():
        if condition is not None and condition[0] in effect.written:
            now[name] = None
    made = [name for name in effect.written if name in now]
    wanted = bool(made) or effect.always or stores
    if not wanted and i.opcode not in MEMORY:
        return False
    if wanted:
        for name in made:
            if not effect.partial or (guard is not None and now[name] == guard):
                del now[name]
        for name in effect.read:
            _mark_live(now, name, guard)
    for name in effect.addressing:
        _mark_live(now, name, guard)
    if guard is not None:
        now[guard[0]] = None
    return wanted


def _guard_condition(i: Instruction) -> Condition | None:
    if i.guard is None or i.guard.index == TRUE:
        return None
    return f"{'UP' if i.guard.uniform else 'P'}{i.guard.index}", i.guard.negated


def _mark_live(now: Live, name: str, condition: Condition | None) -> None:
    """Make a register live for threads that meet a condition, too."""
    previous = now.get(name, condition)
    now[name] = condition if previous == condition else None


def successors(program: Program) -> dict[int, list[int]]:
    """Return by basic block those that may run next."""
    ends = [(block, block.end) for block in program.blocks.values() if block.end is not None]
    behind_calls = [block.follows for block, end in ends if end.opcode in _CALLS]
    together = {b.follows: _branch_target(program, b) for b, end in ends if end.has("COLLECTIVE")}
    anywhere = _function_starts(program)
    follow = {}
    for start, block in program.blocks.items():
        end = block.end
        goals: list[int | None] = []
        if end is None or end.opcode not in _LEAVING or end.guard or _has_condition(end):
            goals.append(block.follows)
        if end is not None:
            goals.append(_branch_target(program, block))
            if end.opcode in _RETURNS:
                goals += behind_calls
            elif end.opcode == "ENDCOLLECTIVE":
                goals += [together[start]] if start in together else together.values()
            elif calls_by_address(end):
                goals += anywhere
            elif end.opcode in _INDIRECT:
                base = program.base(block.function)
                goals += [base + at for at in block.function.labels.values()]
        follow[start] = [each for each in dict.fromkeys(goals) if each in program.blocks]
    return follow


_INDIRECT: Final = opcodes_with_flow("indirect", "indirect-uniform")
_CALLS: Final = opcodes_with_flow("call")
_RETURNS: Final = opcodes_with_flow("return")
_LEAVING: Final = _INDIRECT | _CALLS | _RETURNS | opcodes_with_flow("exit", "jump")
"""Opcodes that never fall through, where they have no condition."""


def _has_condition(end: Instruction) -> bool:
    """Whether it has operands beside its target."""
    return find_opcode(end.opcode).flow in ("jump", "exit") and any(
        not isinstance(each, Label) for each in end.operands
    )


def _branch_target(program: Program, block: BasicBlock) -> int | None:
    """Return the address of the label that ends a basic block, if it has one."""
    end = block.end
    if end is None or calls_by_address(end):
        return None
    for each in end.operands:
        if isinstance(each, Label):
            return program.target(block.function, each)
    return None


def _function_starts(program: Program) -> list[int]:
    """Return where an indirect call may lead: functions have names of their own."""
    starts = []
    for function in program.functions:
        base = program.base(function)
        entries = [at for name, at in function.labels.items() if not name.startswith(".")]
        starts += [base, *(base + at for at in entries)]
    return starts
