"""Functions of the system that device code calls: ``vprintf``, ``__assertfail``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.errors import KernelprofError
from kernelprof.predict.machine.control.branches import scatter
from kernelprof.predict.machine.faults import TrapError
from kernelprof.predict.machine.values import pair

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.context import Context

_FIRST_ARGUMENT: Final = 4
"""A call's arguments lie in registers from here on, those of 64 bits in two; so does its result."""
_RETURN: Final = 20
"""The registers that hold the address to return to."""
_CONVERSION: Final = re.compile(r"%(?:%|[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?[hlLjzt]*([a-zA-Z]))")


def system_call(name: str, c: Context) -> None:
    """Carry out a function of the system and return from it."""
    function = _FUNCTIONS.get(name)
    if function is None:
        raise KernelprofError(f"the kernel calls {name}, which runs on a GPU only")
    function(c)
    scatter(c, c.every(_argument(c, _RETURN)), c.here)


def _argument(c: Context, register: int) -> Array:
    return pair(c.r[register], c.r[register + 1]).view(np.int64)


def _print(c: Context) -> None:
    """``printf``: what it prints is dropped. It gives the number of arguments.

    (CUDA C++ Programming Guide, "Formatted Output".)
    """
    formats = c.every(_argument(c, _FIRST_ARGUMENT))
    found = np.zeros(formats.shape, np.uint32)
    for address in np.unique(formats[c.here]):
        found[formats == address] = _arguments_of(c.blocks.memory.text(int(address)))
    c.r[_FIRST_ARGUMENT] = found


def _arguments_of(text: str) -> int:
    """How many arguments a format takes."""
    taken = [match for match in _CONVERSION.finditer(text) if match[3]]
    return len(taken) + sum(match.group(1, 2).count("*") for match in taken)


def _assert(c: Context) -> None:
    """``assert``: message, file, line and function."""
    row, lane = np.argwhere(c.here)[0]
    message, file, line = (
        int(c.every(_argument(c, _FIRST_ARGUMENT + 2 * n))[row, lane]) for n in range(3)
    )
    text, path = c.blocks.memory.text(message), c.blocks.memory.text(file)
    error = TrapError(
        f"the assertion '{text}' does not hold (line {line & 0xFFFFFFFF} of {path})",
        np.argwhere(c.here),
    )
    behind = int(c.every(_argument(c, _RETURN))[row, lane])
    callers = (each.end for each in c.blocks.program.blocks.values() if each.follows == behind)
    error.instruction = next(callers, None)
    raise error


_FUNCTIONS: Final[dict[str, Callable[[Context], None]]] = {
    "vprintf": _print,
    "__assertfail": _assert,
}
