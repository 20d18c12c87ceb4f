"""Which sizes a specification has, and their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.launch.elements import element_bytes
from kernelprof.launch.guess import amounts, extents
from kernelprof.launch.guess.configuration import read_all

if TYPE_CHECKING:
    from kernelprof.launch.guess.evidence import Evidence
    from kernelprof.launch.guess.guesses import Guesses

_MOST_BLOCKS: Final = 1 << 12
"""A number of blocks up to here is one that a program chooses, and not how much there is to do."""


def sizes(evidence: Evidence, found: Guesses) -> None:
    """All sizes that something depends on, with their values."""
    program = evidence.program
    _plain_grid(evidence, found)
    matters = {name for names in _extents(found) for name in names}
    _plain_values(evidence, found, matters)
    kept = matters | {n for text in found.values.values() for n in amounts.names_in(text)}
    named = [*found.sizes, *sorted(evidence.passed), *sorted(matters)]
    wanted = [each for each in dict.fromkeys(named) if each in kept and each not in found.defines]
    checked = dict(found.check_sizes)
    extents.defaults(wanted, found, program)
    found.sizes = {name: found.sizes[name] for name in wanted}
    for name in wanted:
        if program.get(name):
            found.why.setdefault(f"sizes.{name}", "the program's")
    extents.check_sizes(found)
    found.check_sizes |= checked


def prune(found: Guesses) -> None:
    """Drop sizes on which nothing depends any more."""
    matters = {name for names in _extents(found) for name in names}
    kept = matters | {n for text in found.values.values() for n in amounts.names_in(text)}
    found.sizes = {name: size for name, size in found.sizes.items() if name in kept}
    found.check_sizes = {name: found.check_sizes[name] for name in found.sizes}


def _plain_grid(evidence: Evidence, found: Guesses) -> None:
    """Numbers of blocks that a program names and that nothing else depends on, as they are."""
    lengths = {n for a in found.arrays.values() if a.length is not None for n in a.length.names}
    alone = {
        name: amounts.number(size)
        for name, size in evidence.known_sizes.items()
        if size <= _MOST_BLOCKS and name not in lengths | evidence.passed
    }
    if found.grid is not None:
        found.grid = read_all(found.grid, alone) or found.grid


def _plain_values(evidence: Evidence, found: Guesses, matters: set[str]) -> None:
    """Parameters that decide about no array and no grid, as the program passes them."""
    known = evidence.known_sizes
    for name, amount in evidence.given.items():
        own = amount == amounts.size(name) and name not in known
        if own or not amount.names or amount.names & matters or not amount.names <= known.keys():
            continue
        value = _as_type(amount.value(known), found.types[name])
        found.values[name] = str(value)
        found.why[f"value.{name}"] = "as the program passes it"


def _as_type(number: int, type_name: str) -> int:
    """A number as a type of whole numbers has it: C cuts off bits that it has no room for."""
    bits = 8 * element_bytes(type_name)
    number %= 1 << bits
    signed = not type_name.startswith("u") and type_name != "bool"
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def _extents(found: Guesses) -> list[set[str]]:
    """The sizes in all that decides how much there is."""
    dimensions = [*(found.block or ()), *(found.grid or ()), found.shared_bytes]
    lengths = [each for a in found.arrays.values() for each in (a.length, a.limit)]
    return [each.names for each in (*dimensions, *lengths) if each is not None]
