"""The table of opcodes, ``data/opcodes.txt``, from which all sets of opcodes derive.

What the interpreter does for each is in ``interpreter/operations``, whose docstring lists the steps
to add one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FILE: Final = Path(__file__).parent / "data" / "opcodes.txt"


class Opcode(NamedTuple):
    """A row of the table; ``data/opcodes.txt`` explains its columns."""

    name: str
    category: str
    """``integer``, ``fp32``, ``mma``, ``load``, ``barrier``, ..."""
    reads: str
    writes: str
    pipes: tuple[str, ...]
    cost: str
    latency: str
    scoreboard: str
    results: str
    width: str
    flow: str
    flags: frozenset[str]
    feature: str
    kind: str

    @property
    def memory_read(self) -> str:
        """The memory that it reads; for a generic address global."""
        return "global" if self.reads == "generic" else self.reads

    @property
    def memory_written(self) -> str:
        """The memory that it writes; for a generic address global."""
        return "global" if self.writes == "generic" else self.writes

    @property
    def space(self) -> str:
        """The memory that its one address is in; empty: it has none, or two."""
        if self.reads and self.writes and self.reads != self.writes:
            return ""
        return self.reads or self.writes

    @property
    def ends_block(self) -> bool:
        """Whether a warp may go on elsewhere behind it, wait, or be fewer threads."""
        return self.flow not in ("", "mbarrier", "state")


def _row(line: str) -> Opcode:
    cells: list[Any] = [each.strip() for each in line.split("|")]
    row = Opcode(*cells)
    return row._replace(pipes=tuple(cells[4].split()), flags=frozenset(cells[11].split()))


def _table() -> dict[str, Opcode]:
    lines = [each for each in _FILE.read_text("utf-8").splitlines() if not each.startswith("#")]
    return {row.name: row for row in map(_row, lines[1:])}


OPCODES: Final[Mapping[str, Opcode]] = _table()


def find_opcode(name: str) -> Opcode:
    """Return the row of an opcode; one of which nothing is known has an empty row."""
    return OPCODES.get(name) or _row(name + "|" * (len(Opcode._fields) - 1))


def select_opcodes(condition: Callable[[Opcode], object]) -> frozenset[str]:
    """Return the names of all opcodes that meet a condition."""
    return frozenset(row.name for row in OPCODES.values() if condition(row))


def opcodes_of_category(*categories: str) -> frozenset[str]:
    """Return the names of all opcodes of these categories."""
    return select_opcodes(lambda row: row.category in categories)


def flagged_opcodes(flag: str) -> frozenset[str]:
    """Return the names of all opcodes with a flag."""
    return select_opcodes(lambda row: flag in row.flags)


def opcodes_with_flow(*flows: str) -> frozenset[str]:
    """Return the names of all opcodes that affect the order of execution in one of these ways."""
    return select_opcodes(lambda row: row.flow in flows)


LOADS: Final[Mapping[str, str]] = {
    row.name: row.memory_read for row in OPCODES.values() if row.reads
}
"""Opcodes that read memory, with which; generic addresses count as global."""
STORES: Final[Mapping[str, str]] = {
    row.name: row.memory_written for row in OPCODES.values() if row.writes
}
"""Opcodes that write memory, with which; generic addresses count as global."""
MEMORY: Final = frozenset((*LOADS, *STORES))

ASYNC_COPY: Final = "LDGSTS"
"""Copies from global to shared memory (PTX ISA, ``cp.async``)."""
BULK_COPIES: Final = opcodes_of_category("copy") - {ASYNC_COPY}
"""Copies of whole stretches of bytes, which complete phases of barriers (``cp.async.bulk``)."""
COMMIT_GROUP: Final = "LDGDEPBAR"
"""Ends a group of such copies (PTX ISA, ``cp.async.commit_group``)."""
COMMIT_STORES: Final = "UTMACMDFLUSH"
"""Ends a group of bulk copies to global memory (PTX ISA, ``cp.async.bulk.commit_group``)."""
WAIT_GROUP: Final = "DEPBAR"
"""Waits for groups of such copies (PTX ISA, ``cp.async.wait_group``)."""
