"""What each opcode does. A module holds a family; ``@operation`` puts a function into the table.

Such a function gets an instruction and returns what carries it out for a context: operands are
looked at once, not every time. NVIDIA publishes the opcodes' names alone; what they do was read off
code that its compiler makes of sources whose result is known, and every kernel is checked against
its reference before anything is said of it.
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

    Step = Callable[[Context], None]
    Operation = Callable[[Instruction], Step]

_TABLE: dict[str, Operation] = {}


def operation(*opcodes: str) -> Callable[[Operation], Operation]:
    """Enter a function for opcodes."""

    def enter(function: Operation) -> Operation:
        _TABLE.update(dict.fromkeys(opcodes, function))
        return function

    return enter


@cache
def operations() -> Mapping[str, Operation]:
    """All of them by opcode."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _TABLE
