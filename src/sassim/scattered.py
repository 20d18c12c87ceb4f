"""Accesses in no order, as of a hash table or a gather: what L2 holds of them, and what they cost.

Constants are of launches on an H200 whose 1.1 million threads access 16 random words each of
tables of 4 MB to 16 GB. Device memory then gives half of what it gives a stream, and L2 gets each
sector with its neighbour of the same 64 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.counters.counters import READS, accesses_write

if TYPE_CHECKING:
    from sassim.counters.counters import AccessCounters, BlockCounters
    from sassim.interpreter.lanes import Array

READ_COST: Final = 1.8
"""What a sector costs device memory against one of a stream: 34.4 million in 446 us."""
WRITE_COST: Final = 6.0
"""The same of one that is written: 17.0 million, with 25.3 million that are read, in 1,050 us."""
_PAGE_SECTORS: Final = 128
"""Steps between accesses are compared by 4 KB."""
_FEWEST: Final = 64
"""Sectors of an instruction from which their order can be told."""
_STEPS: Final = 4
"""The most frequent steps: half of the accesses of a matrix or of rows take one of these."""


@dataclass(frozen=True, slots=True)
class ScatteredCost:
    """What a sector that an access asks L2 for takes on average."""

    far: float
    """Share that waits for device memory."""
    read: float
    """Sectors that device memory reads."""
    written: float

    @property
    def dram_cost(self) -> float:
        """What device memory does for it, in sectors of a stream."""
        return self.read * READ_COST + self.written * WRITE_COST


@dataclass(frozen=True, slots=True)
class ScatteredArray:
    """An array, and the instructions whose accesses to it are in no order."""

    name: str
    accesses: tuple[AccessCounters, ...]

    @property
    def is_read(self) -> bool:
        """Whether some of them read."""
        return any(False in accesses_write(each.kind) for each in self.accesses)

    @property
    def is_written(self) -> bool:
        """Whether some of them write."""
        return any(True in accesses_write(each.kind) for each in self.accesses)


def find_scattered(counters: BlockCounters) -> tuple[ScatteredArray, ...]:
    """Arrays with accesses in no order, as the recorded blocks show it."""
    sectors, addresses = counters.stream.sectors, counters.stream.instructions
    arrays: dict[str, list[AccessCounters]] = {}
    for each in counters.accesses.values():
        if each.space != "global":
            continue
        mine = sectors[addresses == each.instruction.address]
        if len(mine) >= _FEWEST and _is_scattered(mine):
            arrays.setdefault(counters.footprints.name_of(int(np.median(mine))), []).append(each)
    return tuple(ScatteredArray(name, tuple(accesses)) for name, accesses in arrays.items())


def _is_scattered(sectors: Array) -> bool:
    _, counts = np.unique(np.abs(np.diff(sectors)) // _PAGE_SECTORS, return_counts=True)
    return float(np.sort(counts)[-_STEPS:].sum()) < (len(sectors) - 1) / 2


def cost_of_access(
    kind: str, *, requested: float, touched: float, array: int, held: float, dirty: float
) -> ScatteredCost:
    """What accesses of a kind take that request so many sectors of an array.

    ``touched`` of them are different; ``held`` stay in L2, ``dirty`` if they were written.
    """
    missed = max(0.0, 1.0 - held / max(touched, 1.0))
    if kind in READS:
        dense = min(1.0, touched / max(array, 1))
        first = min(1.0, touched / max(requested, 1.0))
        return ScatteredCost(
            far=max(missed, first * (1.0 - dense / 2)),
            read=max(2.0 * missed, first * (2.0 - dense)),
            written=0.0,
        )
    written = max(0.0, 1.0 - dirty / max(touched, 1.0))
    return ScatteredCost(
        far=0.0 if kind == "store" else missed, read=written * missed, written=written
    )
