"""What ends a straight piece of code: who goes on where, who waits, who is gone.

A module holds a family; ``@ending`` puts a function into the table. Such a function gets the
instruction, the piece that it ends and the program, and returns what carries it out for a context.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelprof.predict.machine.context import Context
    from kernelprof.predict.sass.listing import Instruction
    from kernelprof.predict.sass.program import Block, Program

    End = Callable[[Context], None]
    Ending = Callable[[Instruction, Block, Program], End]

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
