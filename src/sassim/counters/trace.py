"""The order in which warps of a few thread blocks executed basic blocks.

All thread blocks share one list, in which each basic block has the group of warps that executed it.
A stretch that repeats is stored once, with its number of repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sassim.interpreter.lanes import Array
    from sassim.interpreter.mbarriers import PhaseEvents
    from sassim.sass.listing import Instruction

ALL: Final = 0
"""The group of all warps that are recorded."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A stretch of a trace, from one place to another, that was carried out ``times`` more."""

    start: int
    end: int
    times: int


@dataclass(frozen=True, slots=True)
class RecordedAccess:
    """An access as executed in one iteration of a loop.

    Most addresses lie as far from those of another access for all lanes of a warp: they are kept as
    that one's, ``start``, with what is added to them, ``moved`` by warp.
    """

    instruction: Instruction
    space: str
    kind: str
    start: Array
    moved: Array
    active: Array | None
    rows: Array | None

    @property
    def addresses(self) -> Array:
        """The addresses by warp and lane."""
        return self.start + self.moved


@dataclass
class PhaseTrace:
    """Phases of barriers in shared memory that recorded warps came to, and waited for.

    The number of a phase has its barrier's address in the block, and how many phases of it came
    before. What a warp does to barriers of other blocks of its cluster counts as done to its own:
    all blocks are taken to do the same.
    """

    arrivals: list[list[tuple[int, ...]]]
    """By warp, for each instruction that comes to barriers: the phases."""
    waits: list[list[int]]
    """By warp, for each instruction that waits: the phase."""
    expected: list[dict[int, int]]
    """By recorded block, how often warps come to each phase."""


_PHASE_SHIFT: Final = 20
"""Phases are numbered by the place of their barrier in these lowest bits."""


@dataclass
class ExecutionTrace:
    """What the recorded warps carried out.

    ``rows`` are the numbers of these warps among all that ran, in the order of their blocks.
    """

    rows: Array
    warps_of_block: int
    blocks: list[int] = field(default_factory=list)
    """Addresses of basic blocks in the order of execution."""
    groups: list[int] = field(default_factory=list)
    """For each of :attr:`blocks` an index into :attr:`members`: the warps that executed it."""
    repeats: list[Repeat] = field(default_factory=list)
    members: list[Array] = field(default_factory=list)
    """Places in :attr:`rows` of the warps of each group."""
    phases: PhaseTrace = field(init=False)
    _group_numbers: dict[bytes, int] = field(default_factory=dict)
    _row_of_warp: Array | None = None

    def __post_init__(self) -> None:
        self.members.append(np.arange(len(self.rows)))
        count = len(self.rows)
        self.phases = PhaseTrace(
            [[] for _ in range(count)],
            [[] for _ in range(count)],
            [{} for _ in range(count // self.warps_of_block)],
        )

    def add(self, block: int, rows: Array | None) -> None:
        """Append a basic block executed by some warps; ``None``: by all."""
        self.blocks.append(block)
        self.groups.append(ALL if rows is None else self._group(rows))

    def add_phases(
        self, rows: Array, arrivals: Sequence[PhaseEvents], waits: PhaseEvents | None, size: int
    ) -> None:
        """Append what warps do to barriers by one instruction; ``rows`` execute it.

        A block has ``size`` bytes of shared memory.
        """
        if waits is not None:
            for warp, phase in self._numbered(waits, size):
                self.phases.waits[warp].append(phase)
            return
        phases: dict[int, tuple[int, ...]] = {int(each): () for each in self._recorded(rows)}
        for events in arrivals:
            for warp, phase in self._numbered(events, size):
                phases[warp] += (phase,)
                expected = self.phases.expected[warp // self.warps_of_block]
                expected[phase] = expected.get(phase, 0) + 1
        for warp, every in phases.items():
            self.phases.arrivals[warp].append(every)

    def _numbered(self, events: PhaseEvents, size: int) -> Iterator[tuple[int, int]]:
        """Places of recorded warps, and the phases."""
        index = self._index()
        recorded = events.warps < len(index)
        places = np.where(recorded, index[np.where(recorded, events.warps, 0)], -1)
        phases = events.phases << _PHASE_SHIFT | events.places % size >> 3
        mine = places >= 0
        return zip(places[mine].tolist(), phases[mine].tolist(), strict=True)

    def _index(self) -> Array:
        """By warp of all that ran its place among those that are recorded, or -1."""
        if self._row_of_warp is None:
            self._row_of_warp = np.full(int(self.rows.max(initial=-1)) + 1, -1)
            self._row_of_warp[self.rows] = np.arange(len(self.rows))
        return self._row_of_warp

    def _recorded(self, rows: Array) -> Array:
        """Places of the recorded warps among some."""
        index = self._index()
        places = index[rows[rows < len(index)]]
        mine: Array = places[places >= 0]
        return mine

    def _group(self, rows: Array) -> int:
        mine = self._recorded(rows)
        key = mine.tobytes()
        number = self._group_numbers.get(key)
        if number is None:
            number = self._group_numbers[key] = len(self.members)
            self.members.append(mine)
        return number

    def __len__(self) -> int:
        return len(self.blocks)

    def shorten(self, length: int) -> None:
        """Forget what was added since it had this length."""
        del self.blocks[length:], self.groups[length:]

    def same(self, first: int, second: int, third: int) -> bool:
        """Whether the stretches from the first place to the second, and on to the third, agree."""
        return (
            second - first == third - second
            and self.blocks[first:second] == self.blocks[second:third]
            and self.groups[first:second] == self.groups[second:third]
        )
