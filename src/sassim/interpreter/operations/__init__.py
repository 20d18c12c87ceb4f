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

from sassim.interpreter.context import NotKnownError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sassim.interpreter.context import ExecutionContext
    from sassim.sass.listing import Instruction

    Step = Callable[[ExecutionContext], None]
    Operation = Callable[[Instruction], Step]

_TABLE: dict[str, Operation] = {}


def operation(*opcodes: str, modifiers: str | None = None) -> Callable[[Operation], Operation]:
    """Enter a function for opcodes.

    ``modifiers`` are those that it knows, with blanks between; one that has others is not known.
    Without it the function looks for itself.
    """
    allowed = None if modifiers is None else frozenset(modifiers.split())

    def enter(function: Operation) -> Operation:
        def checked(i: Instruction) -> Step:
            if allowed is not None and not allowed.issuperset(i.modifiers):
                raise NotKnownError(i)
            return function(i)

        _TABLE.update(dict.fromkeys(opcodes, checked))
        return function

    return enter


@cache
def operations() -> Mapping[str, Operation]:
    """All of them by opcode."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return _TABLE
