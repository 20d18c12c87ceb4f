"""Functions of the system that device code calls: ``vprintf``, ``__assertfail``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.errors import SassimError
from sassim.faults import TrapError
from sassim.interpreter.control_flow.branches import resume_each
from sassim.interpreter.lanes import distinct
from sassim.interpreter.operand_access import pair

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array

_FIRST_ARGUMENT: Final = 4
"""A call's arguments lie in registers from here on, those of 64 bits in two; so does its result."""
_RETURN: Final = 20
"""The registers that hold the address to return to."""
READ_BY_SYSTEM_CALLS: Final = frozenset(
    f"R{n}" for n in (*range(_FIRST_ARGUMENT, _FIRST_ARGUMENT + 6), _RETURN, _RETURN + 1)
)
"""Registers that the functions here read: three arguments at most, and where to return."""
_CONVERSION: Final = re.compile(r"%(?:%|[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?[hlLjzt]*([a-zA-Z]))")


def system_call(name: str, c: ExecutionContext) -> None:
    """Carry out a function of the system and return from it."""
    function = _FUNCTIONS.get(name)
    if function is None:
        raise SassimError(f"the kernel calls {name}, which needs a GPU")
    function(c)
    resume_each(c, c.broadcast(_argument(c, _RETURN)), c.active_lanes)


def _argument(c: ExecutionContext, register: int) -> Array:
    return pair(c.r[register], c.r[register + 1]).view(np.int64)


def _print(c: ExecutionContext) -> None:
    """``printf``: what it prints is dropped. It gives the number of arguments.

    (CUDA C++ Programming Guide, "Formatted Output".)
    """
    formats = c.broadcast(_argument(c, _FIRST_ARGUMENT))
    lengths = np.zeros(formats.shape, np.uint32)
    for address in distinct(formats[c.active_lanes]):
        lengths[formats == address] = _count_arguments(c.blocks.memory.text(int(address)))
    c.r[_FIRST_ARGUMENT] = lengths


def _count_arguments(text: str) -> int:
    conversions = [match for match in _CONVERSION.finditer(text) if match[3]]
    return len(conversions) + sum(match.group(1, 2).count("*") for match in conversions)


def _assert(c: ExecutionContext) -> None:
    """``assert``: message, file, line and function."""
    row, lane = np.argwhere(c.active_lanes)[0]
    message, file, line = (
        int(c.broadcast(_argument(c, _FIRST_ARGUMENT + 2 * n))[row, lane]) for n in range(3)
    )
    text, path = c.blocks.memory.text(message), c.blocks.memory.text(file)
    error = TrapError(
        f"the assertion '{text}' does not hold (line {line & 0xFFFFFFFF} of {path})",
        np.argwhere(c.active_lanes),
    )
    behind = int(c.broadcast(_argument(c, _RETURN))[row, lane])
    callers = (each.end for each in c.blocks.program.blocks.values() if each.follows == behind)
    error.instruction = next(callers, None)
    raise error


_FUNCTIONS: Final[dict[str, Callable[[ExecutionContext], None]]] = {
    "vprintf": _print,
    "__assertfail": _assert,
}
