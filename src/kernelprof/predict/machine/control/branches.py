"""Branches, calls, returns, and the end of threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelprof.predict.machine.arrays import ballot
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.control import ending
from kernelprof.predict.machine.values import guard_of, pair, predicate, whole
from kernelprof.sass.operands import Constant, Immediate, Label, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.machine.control import End
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block, Program
    from kernelprof.sass.operands import Operand


def condition_of(i: Instruction) -> Callable[[Context], Array | None]:
    """The guard, and the predicates among the operands; ``None`` where there are none."""
    guard = guard_of(i)
    extra = [predicate(each) for each in i.operands if isinstance(each, Predicate)]
    if not extra:
        return guard

    def work(c: Context) -> Array | None:
        found = guard(c)
        for each in extra:
            found = each(c) if found is None else found & each(c)
        return found

    return work


@ending("BRA", "JMP")
def _branch(i: Instruction, block: Block, program: Program) -> End:
    label = i.operands[-1]
    if not isinstance(label, Label):
        raise NotKnownError(i)
    target = program.target(block.function, label)
    if target is None:
        raise NotKnownError(i)
    if i.has("DIV", "CONV"):
        return _branch_by_company(i, block, target)
    if any(not isinstance(each, Predicate) for each in i.operands[:-1]):
        raise NotKnownError(i)
    condition, goal, any_does = condition_of(i), target, i.has("ANY")

    def end(c: Context) -> None:
        taken = condition(c)
        if taken is None:
            c.go(goal)
            return
        if any_does:
            taken = np.asarray((c.here & taken).any(axis=1, keepdims=True))
        c.counters.branch(c, i, taken)
        part_ways(c, taken, goal, block.follows)

    return end


def part_ways(c: Context, taken: Array, goal: int, behind: int) -> None:
    """Have lanes for which something holds go one way, and the rest the other."""
    yes, no = c.divided(taken)
    if yes is not None:
        c.blocks.go(goal, yes)
    if no is not None:
        c.blocks.go(behind, no)


def _branch_by_company(i: Instruction, block: Block, target: int) -> End:
    """To the long way around, if not all threads of a mask are here and want to be (DIV).

    Or to the short way, if they are (CONV). A thread whose guard is false is there, and does not
    want to be: all that are here go the long way then.
    """
    masks = [whole(each) for each in i.operands if isinstance(each, Register | Immediate)]
    wanted = masks[0] if masks else whole(Immediate("0xffffffff"))
    condition, together = condition_of(i), i.has("CONV")

    def end(c: Context) -> None:
        taken = condition(c)
        willing = c.here if taken is None else c.here & taken
        missing = wanted(c) & ballot(c.alive) & ~ballot(willing)
        alone = (missing != 0).any(axis=1, keepdims=True)
        part_ways(c, alone ^ together, target, block.follows)

    return end


@ending("BRX", "JMX", "BRXU", "JMXU")
def _branch_by_register(i: Instruction, block: Block, program: Program) -> End:
    """To an address in a register: of the code, or counted from behind the instruction."""
    registers = [each for each in i.operands if isinstance(each, Register)]
    offset = sum(int(each.text, 0) for each in i.operands if isinstance(each, Immediate))
    absolute = i.opcode.startswith("JM")
    base = program.base(block.function) if absolute else block.follows
    goal, condition = address_in(registers[0]), condition_of(i)

    def end(c: Context) -> None:
        goals, taken = c.every(goal(c)) + (offset + base), condition(c)
        here = c.here
        if taken is not None:
            stay = here & ~taken
            if stay.any():
                c.go(block.follows, stay)
            here = here & taken
        scatter(c, goals, here)

    return end


def address_in(operand: Operand) -> Callable[[Context], Array]:
    """An address of code, or a distance, of 32 bits; of 64 where the high half is one of code."""
    low = whole(operand)
    if isinstance(operand, Constant) or not isinstance(operand, Register):
        return lambda c: low(c).view(np.int32).astype(np.int64)
    high = whole(Register(operand.index + 1, operand.uniform))

    def read(c: Context) -> Array:
        return pair(low(c), high(c)).view(np.int64)

    return read


def scatter(c: Context, goals: Array, here: Array) -> None:
    """Have lanes go on, each at its own address."""
    for goal in np.unique(goals[here]):
        c.go(int(goal), here & (goals == goal))


@ending("CALL")
def _call(i: Instruction, block: Block, program: Program) -> End:
    """The code before has put the address to return to into registers."""
    registers = [each for each in i.operands if isinstance(each, Register | Constant)]
    label = next((each for each in i.operands if isinstance(each, Label)), None)
    condition = condition_of(i)
    if not registers:
        if label is None:
            raise NotKnownError(i)
        target = program.target(block.function, label)
        name = label.name

        def jump(c: Context) -> None:
            taken = condition(c)
            goal = c.blocks.launch.system.get(name) if target is None else target
            if goal is None:
                raise NotKnownError(i, "calls what is not in the code")
            if taken is None:
                c.go(goal)
            else:
                part_ways(c, taken, goal, block.follows)

        return jump
    base = program.base(block.function) if i.has("REL") else 0
    goal_of = address_in(registers[0])

    def end(c: Context) -> None:
        taken = condition(c)
        here = c.here if taken is None else c.here & taken
        if taken is not None and (stay := c.here & ~taken).any():
            c.go(block.follows, stay)
        scatter(c, c.every(goal_of(c) + base), here)

    return end


@ending("RET")
def _return(i: Instruction, block: Block, program: Program) -> End:
    """To an address in a register: in its function, or anywhere."""
    goal_of, condition = address_in(i.operands[0]), condition_of(i)
    base = program.base(block.function) if i.has("REL") else 0

    def end(c: Context) -> None:
        taken = condition(c)
        here = c.here if taken is None else c.here & taken
        if taken is not None and (stay := c.here & ~taken).any():
            c.go(block.follows, stay)
        scatter(c, c.every(goal_of(c) + base), here)

    return end


@ending("EXIT", "KILL")
def _exit(i: Instruction, block: Block, program: Program) -> End:
    del program
    condition = condition_of(i)

    def end(c: Context) -> None:
        taken = condition(c)
        yes, no = (c.lanes, None) if taken is None else c.divided(taken)
        if yes is not None:
            c.blocks.end(yes)
        if no is not None:
            c.blocks.go(block.follows, no)

    return end
