"""What ``ptxas`` says of code that it compiled all the same: warnings of performance, and spills.

The texts are those of CUDA 13.0 and 13.5 (``tests/launch/ptxas``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.model.manifest import CompilerWarning
from kernelprof.model.numbers import count

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


_ERROR: Final = re.compile(r"^ptxas .*\berror *: (.*)$")
_MOST_ERRORS: Final = 5
_ONLY_ON: Final = {"wgmma": "sm_90a", "tcgen05": "sm_100a"}
"""Instructions that one set of features alone has (the PTX ISA, "Target ISA Notes" of each)."""
_REQUIRED: Final = re.compile(r"requires \.target (sm_[0-9]+[af]?) or higher")


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


def shortened(said: str) -> str:
    """What a compiler said, with the first few of many errors that ``ptxas`` has, each once."""
    seen: set[str] = set()
    lines, left = [], 0
    for line in said.splitlines():
        error = _ERROR.match(line)
        if error is None:
            lines.append(line)
        elif error[1] not in seen and len(seen) < _MOST_ERRORS:
            seen.add(error[1])
            lines.append(line)
        else:
            left += 1
    return "\n".join([*lines, *([f"and {count(left, 'more error')} of ptxas"] if left else [])])


def needed(said: str) -> str | None:
    """The architecture that instructions need by what ``ptxas`` says; ``None``: it does not say."""
    errors = "\n".join(line for line in said.splitlines() if _ERROR.match(line))
    for instruction, arch in _ONLY_ON.items():
        if f"Instruction '{instruction}." in errors:
            return arch
    found = _REQUIRED.findall(errors)
    return max(found, key=lambda arch: int(re.sub(r"\D", "", arch))) if found else None


def spills(said: str, entry: str) -> Spills | None:
    """What ``ptxas -v`` says that a kernel spills; ``None`` where it says nothing."""
    for function, stores, loads in _SPILLS.findall(said):
        if function == entry:
            return Spills(int(stores), int(loads))
    return None
