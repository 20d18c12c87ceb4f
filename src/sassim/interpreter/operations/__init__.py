"""What each opcode does: a module holds a family, and ``@operation`` enters a function for opcodes.

Such a function decodes the operands of an instruction once. It returns a step, which computes the
result for all lanes of a context and commits it::

    @operation("BREV", "UBREV", modifiers="")
    def _reverse_bits(i: Instruction) -> Step:
        guard, value, write = read_guard(i), read_u32(i, 1), write_u32(i, 0)  # decode
        return lambda c: write(c, reverse(value(c)), guard(c))  # compute and commit

To add an opcode:

1. Give it a row in ``data/opcodes.txt``, whose head explains the columns. A new form of an opcode
   that has a row needs none: add its ``modifiers=``, or a function for it.
2. Write its function in the module of its family here. Read and write operands by
   :mod:`sassim.interpreter.operand_access`; which registers it uses is found by running it once
   (:mod:`sassim.interpreter.def_use`). An opcode that ends a basic block goes into
   :mod:`sassim.interpreter.control_flow` instead.
3. Add a row to ``tests/sassim/interpreter/test_operations.py``: registers before and after it.

Values are arrays of shape (warps or 1, lanes or 1): registers of a warp have one column. Raise
:class:`NotKnownError` for a form that is unknown, and for nothing else. NVIDIA publishes the names
of opcodes alone; what they do was read off code that its compiler makes of sources whose result is
known, and every kernel is checked against its reference before anything is reported of it.
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
