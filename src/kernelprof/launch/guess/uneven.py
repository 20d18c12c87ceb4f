"""Check sizes that are no multiples: a bounds check that is missing shows at no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.launch.guess import amounts
from kernelprof.launch.guess.extents import STRUCTURAL, all_there

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.launch.guess.guesses import Guesses
    from kernelprof.launch.guess.reach import Bound

_MULTIPLE: Final = 32
"""A size that this does not divide is uneven already: blocks are made of whole warps."""
_LONG: Final = 1 << 10
_LESS: Final = (15, 12), (5, 4)
"""What is taken off long and short sizes: first an odd number, then one for threads with four."""


WHY: Final = "no multiples, so that a missing bounds check shows"


def values(found: Guesses) -> dict[str, tuple[int, ...]]:
    """Uneven values for each check size that decides how long an array or the grid is."""
    fixed = {name for each in found.block or () for name in each.names}
    lengths = [each.length for each in found.arrays.values() if each.length is not None]
    used = {name for each in (*lengths, *(found.grid or ())) for name in each.names}
    wanted = {}
    for name, size in found.check_sizes.items():
        if name in used - fixed and size > STRUCTURAL and size % _MULTIPLE == 0:
            wanted[name] = tuple(size - less for less in _LESS[size <= _LONG])
    return wanted


def guarded(bounds: Iterable[Bound]) -> set[str]:
    """Sizes that a thread's index is compared with."""
    ends = (each.end for each in bounds)
    return {name for end in ends for name in end.names if end == amounts.size(name)}


def where_guarded(found: Guesses) -> None:
    """Take uneven check sizes where the kernel compares an index with them; nothing is run."""
    chosen = {name: each[0] for name, each in values(found).items() if name in found.guarded}
    changed = {**found.check_sizes, **chosen}
    if all_there(found, changed):
        found.check_sizes = changed
        found.why["check"] = WHY if chosen else ""
