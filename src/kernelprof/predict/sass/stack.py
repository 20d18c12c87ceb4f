"""Whether code takes more of the stack than its cubin says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.sass.operands import ZERO, Constant, Label, Register

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.predict.sass.listing import Function, Instruction

_POINTER: Final = 1
"""The register that holds the end of the stack."""


def grows(functions: Iterable[Function]) -> bool:
    """Whether a function calls itself, calls by address, or takes so much as it finds out."""
    calls: dict[str, set[str]] = {}
    for function in functions:
        starts = {at: name for name, at in function.labels.items() if not name.startswith(".L")}
        inside = function.name
        for i in function.instructions:
            inside = starts.get(i.address, inside)
            if i.opcode == "CALL":
                if any(isinstance(each, Register | Constant) for each in i.operands):
                    return True
                calls.setdefault(inside, set()).update(
                    each.name for each in i.operands if isinstance(each, Label)
                )
            if _moves_stack(i):
                return True
    return any(_reaches(calls, name, name) for name in calls)


def _moves_stack(i: Instruction) -> bool:
    """Whether it moves the end of the stack by what a register says."""
    if not i.operands or i.operands[0] != Register(_POINTER):
        return False
    return any(
        isinstance(each, Register) and each.index not in (_POINTER, ZERO) for each in i.operands[1:]
    )


def _reaches(calls: dict[str, set[str]], start: str, goal: str) -> bool:
    seen: set[str] = set()
    waiting = list(calls.get(start, ()))
    while waiting:
        name = waiting.pop()
        if name == goal:
            return True
        if name not in seen:
            seen.add(name)
            waiting += calls.get(name, ())
    return False
