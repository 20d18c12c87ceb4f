"""What ends a basic block: who goes on where, who waits, who is gone.

A module holds a family; ``@ending`` puts a function into the table. Such a function gets the
instruction, its basic block and the program, and returns a function that executes it for a context.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sassim.interpreter.context import ExecutionContext
    from sassim.sass.listing import Instruction
    from sassim.sass.program import BasicBlock, Program

    End = Callable[[ExecutionContext], None]
    Ending = Callable[[Instruction, BasicBlock, Program], End]

_TABLE: dict[str, Ending] = {}


def ending(*opcodes: str) -> Callable[[Ending], Ending]:
    """Enter a function for opcodes."""

    def enter(function: Ending) -> Ending:
        _TABLE.update(dict.fromkeys(opcodes, function))
        return function

    return enter


@cache
def endings() -> Mapping[str, Ending]:
    """All of them by opcode."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _TABLE
