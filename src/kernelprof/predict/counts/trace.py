"""The order in which warps of a few blocks carried out the pieces of the code.

Pieces of all blocks that run side by side stand in one list, each with the group of warps that
carried it out. A stretch that repeats stands there once, with how often it follows itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.sass.listing import Instruction

ALL: Final = 0
"""The group of all warps that are recorded."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A stretch of a trace, from one place to another, that was carried out ``times`` more."""

    start: int
    end: int
    times: int


@dataclass(frozen=True, slots=True)
class Watched:
    """An access as it was carried out once, in a turn of a loop.

    Most addresses lie as far from those of another access for all lanes of a warp: they are kept as
    that one's, ``start``, with what is added to them, ``moved`` by warp.
    """

    instruction: Instruction
    space: str
    kind: str
    start: Array
    moved: Array
    taking: Array | None
    rows: Array | None

    @property
    def addresses(self) -> Array:
        """The addresses by warp and lane."""
        return self.start + self.moved


@dataclass
class Trace:
    """What the recorded warps carried out.

    ``rows`` are the numbers of these warps among all that ran, in the order of their blocks.
    """

    rows: Array
    warps_of_block: int
    pieces: list[int] = field(default_factory=list)
    """Addresses of pieces in the order in which they were carried out."""
    groups: list[int] = field(default_factory=list)
    """For each the group of warps that did, a place in :attr:`members`."""
    repeats: list[Repeat] = field(default_factory=list)
    members: list[Array] = field(default_factory=list)
    """Places in :attr:`rows` of the warps of each group."""
    _known: dict[bytes, int] = field(default_factory=dict)
    _place: Array | None = None

    def __post_init__(self) -> None:
        self.members.append(np.arange(len(self.rows)))

    def add(self, piece: int, rows: Array | None) -> None:
        """A piece was carried out by warps; ``None``: by all."""
        self.pieces.append(piece)
        self.groups.append(ALL if rows is None else self._group(rows))

    def _group(self, rows: Array) -> int:
        if self._place is None:
            self._place = np.full(int(self.rows.max(initial=-1)) + 1, -1)
            self._place[self.rows] = np.arange(len(self.rows))
        inside = rows[rows < len(self._place)]
        places = self._place[inside]
        mine = places[places >= 0]
        key = mine.tobytes()
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self.members)
            self.members.append(mine)
        return found

    def __len__(self) -> int:
        return len(self.pieces)

    def shorten(self, length: int) -> None:
        """Forget what was added since it had this length."""
        del self.pieces[length:], self.groups[length:]

    def same(self, first: int, second: int, third: int) -> bool:
        """Whether the stretches from the first place to the second, and on to the third, agree."""
        return (
            second - first == third - second
            and self.pieces[first:second] == self.pieces[second:third]
            and self.groups[first:second] == self.groups[second:third]
        )
