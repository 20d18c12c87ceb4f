"""Branches, calls, returns, and the end of threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.control_flow import ending
from sassim.interpreter.lanes import ballot, distinct
from sassim.interpreter.operand_access import (
    expect_count,
    operand_at,
    pair,
    read_guard,
    read_predicate,
    read_u32,
    whole_number,
)
from sassim.sass.operands import Constant, Immediate, Label, Predicate, Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.control_flow import End
    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand
    from sassim.sass.program import BasicBlock, Program


def read_condition(i: Instruction) -> Callable[[ExecutionContext], Array | None]:
    """The guard, and the predicates among the operands; ``None`` where there are none."""
    guard = read_guard(i)
    extra = [read_predicate(i, each) for each in i.operands if isinstance(each, Predicate)]
    if not extra:
        return guard

    def execute(c: ExecutionContext) -> Array | None:
        predicate = guard(c)
        for each in extra:
            predicate = each(c) if predicate is None else predicate & each(c)
        return predicate

    return execute


@ending("BRA", "JMP")
def _branch(i: Instruction, block: BasicBlock, program: Program) -> End:
    label = operand_at(i, -1)
    if not isinstance(label, Label):
        raise NotKnownError(i)
    target = program.target(block.function, label)
    if target is None:
        raise NotKnownError(i)
    if i.has("DIV", "CONV"):
        return _branch_uniformly(i, block, target)
    if any(not isinstance(each, Predicate) for each in i.operands[:-1]):
        raise NotKnownError(i)
    condition, goal, any_does = read_condition(i), target, i.has("ANY")

    def end(c: ExecutionContext) -> None:
        predicate = condition(c)
        if predicate is None:
            c.resume(goal)
            return
        if any_does:
            predicate = np.asarray((c.active_lanes & predicate).any(axis=1, keepdims=True))
        c.observer.on_branch(c, i, predicate)
        split_threads(c, predicate, goal, block.follows)

    return end


def split_threads(c: ExecutionContext, predicate: Array, goal: int, behind: int) -> None:
    """Have lanes for which something holds go one way, and the rest the other."""
    yes, no = c.split(predicate)
    if yes is not None:
        c.blocks.resume(goal, yes)
    if no is not None:
        c.blocks.resume(behind, no)


def _branch_uniformly(i: Instruction, block: BasicBlock, target: int) -> End:
    """To the long way around, if not all threads of a mask are here and want to be (DIV).

    Or to the short way, if they are (CONV). A thread whose guard is false is there, and does not
    want to be: all that are here go the long way then.
    """
    masks = [read_u32(i, each) for each in i.operands if isinstance(each, Register | Immediate)]
    wanted = masks[0] if masks else read_u32(i, Immediate("0xffffffff"))
    condition, together = read_condition(i), i.has("CONV")

    def end(c: ExecutionContext) -> None:
        predicate = condition(c)
        willing = c.active_lanes if predicate is None else c.active_lanes & predicate
        missing = wanted(c) & ballot(c.alive) & ~ballot(willing)
        alone = (missing != 0).any(axis=1, keepdims=True)
        split_threads(c, alone ^ together, target, block.follows)

    return end


@ending("BRX", "JMX", "BRXU", "JMXU")
def _branch_by_register(i: Instruction, block: BasicBlock, program: Program) -> End:
    """Branch to an address in a register: absolute, or relative to the next instruction."""
    registers = [each for each in i.operands if isinstance(each, Register)]
    (register,) = expect_count(i, registers[:1], 1)
    offset = sum(whole_number(i, each) for each in i.operands if isinstance(each, Immediate))
    absolute = i.opcode.startswith("JM")
    base = program.base(block.function) if absolute else block.follows
    goal, condition = address_in(i, register), read_condition(i)

    def end(c: ExecutionContext) -> None:
        _jump_or_go_on(c, condition(c), c.broadcast(goal(c)) + (offset + base), block.follows)

    return end


def address_in(i: Instruction, operand: int | Operand) -> Callable[[ExecutionContext], Array]:
    """An address of code, or a distance, of 32 bits; of 64 where the high half is one of code."""
    operand = operand_at(i, operand)
    low = read_u32(i, operand)
    if isinstance(operand, Constant) or not isinstance(operand, Register):
        return lambda c: low(c).view(np.int32).astype(np.int64)
    high = read_u32(i, Register(operand.index + 1, operand.uniform))

    def read(c: ExecutionContext) -> Array:
        return pair(low(c), high(c)).view(np.int64)

    return read


def resume_each(c: ExecutionContext, goals: Array, here: Array) -> None:
    """Have lanes go on, each at its own address."""
    for goal in distinct(goals[here]):
        c.resume(int(goal), here & (goals == goal))


@ending("CALL")
def _call(i: Instruction, block: BasicBlock, program: Program) -> End:
    """The code before has put the address to return to into registers."""
    registers = [each for each in i.operands if isinstance(each, Register | Constant)]
    label = next((each for each in i.operands if isinstance(each, Label)), None)
    condition = read_condition(i)
    if not registers:
        if label is None:
            raise NotKnownError(i)
        target = program.target(block.function, label)
        name = label.name

        def jump(c: ExecutionContext) -> None:
            predicate = condition(c)
            goal = c.blocks.launch.system.get(name) if target is None else target
            if goal is None:
                raise NotKnownError(i, "calls a function that is not in the code")
            if predicate is None:
                c.resume(goal)
            else:
                split_threads(c, predicate, goal, block.follows)

        return jump
    return _jump_to_address(i, block, program, registers[0])


@ending("RET")
def _return(i: Instruction, block: BasicBlock, program: Program) -> End:
    return _jump_to_address(i, block, program, 0)


def _jump_to_address(
    i: Instruction, block: BasicBlock, program: Program, operand: int | Operand
) -> End:
    """Branch to an address in a register: relative to its function, or absolute."""
    goal_of, condition = address_in(i, operand), read_condition(i)
    base = program.base(block.function) if i.has("REL") else 0

    def end(c: ExecutionContext) -> None:
        _jump_or_go_on(c, condition(c), c.broadcast(goal_of(c) + base), block.follows)

    return end


def _jump_or_go_on(c: ExecutionContext, predicate: Array | None, goals: Array, behind: int) -> None:
    """Have lanes for which something holds go on at their own addresses, the rest behind."""
    here = c.active_lanes
    if predicate is not None:
        if (stay := here & ~predicate).any():
            c.resume(behind, stay)
        here = here & predicate
    resume_each(c, goals, here)


@ending("EXIT", "KILL")
def _exit(i: Instruction, block: BasicBlock, program: Program) -> End:
    del program
    condition = read_condition(i)

    def end(c: ExecutionContext) -> None:
        predicate = condition(c)
        yes, no = (c.lanes, None) if predicate is None else c.split(predicate)
        if yes is not None:
            c.blocks.end(yes)
        if no is not None:
            c.blocks.resume(block.follows, no)

    return end
