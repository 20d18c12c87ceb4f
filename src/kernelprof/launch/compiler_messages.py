"""What ``ptxas`` says of code that it compiled all the same: warnings of performance, and spills.

The texts are those of CUDA 13.0 and 13.5 (``tests/launch/ptxas``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.model.manifest import CompilerWarning

if TYPE_CHECKING:
    from collections.abc import Collection

_WARNING: Final = re.compile(r"^ptxas (?:info|warning) *: \((C75[0-9]{2})\) (.+)$", re.MULTILINE)
"""Codes from C7500 on are of ``wgmma`` and ``setmaxnreg``: serialized, ignored, or waited for."""
_FUNCTION: Final = re.compile(r"in (?:the )?function '([^']+)'")
_SPILLS: Final = re.compile(
    r"^ptxas info *: Function properties for (\S+)\n"
    r".*?([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads",
    re.MULTILINE,
)


class Spills(NamedTuple):
    """Bytes of registers that a thread stores to local memory, and that it loads from there."""

    store_bytes: int
    load_bytes: int


def warnings(said: str, entry: str, entries: Collection[str]) -> tuple[CompilerWarning, ...]:
    """The warnings that concern one kernel of a file, in their order, each once.

    Those of the file's other kernels are left out. One of a function that kernels call, or without
    a function, may be of this one.
    """
    found = []
    for code, text in _WARNING.findall(said):
        named = _FUNCTION.search(text)
        function = None if named is None else named[1]
        if function == entry or function not in entries:
            found.append(CompilerWarning(code, " ".join(text.split()), function))
    return tuple(dict.fromkeys(found))


def spills(said: str, entry: str) -> Spills | None:
    """What ``ptxas -v`` says that a kernel spills; ``None`` where it says nothing."""
    for function, stores, loads in _SPILLS.findall(said):
        if function == entry:
            return Spills(int(stores), int(loads))
    return None
