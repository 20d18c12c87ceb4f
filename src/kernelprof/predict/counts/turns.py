"""Turns of a loop as they were carried out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelprof.predict.counts.steps import same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.predict.counts.steps import Compared
    from kernelprof.predict.counts.trace import Watched
    from kernelprof.predict.machine.arrays import Array


@dataclass
class Turn:
    """What was carried out from one visit of a loop's first piece to the next."""

    pieces: list[tuple[int, Array]] = field(default_factory=list)
    """Addresses of pieces, each with the threads that carried it out."""
    watched: list[Watched] = field(default_factory=list)
    compared: list[Compared] = field(default_factory=list)
    turns: int = 1


def joined(turns: Sequence[Turn]) -> Turn:
    """Turns after each other as one."""
    found = Turn()
    for each in turns:
        found.pieces += each.pieces
        found.watched += each.watched
        found.compared += each.compared
    found.turns = len(turns)
    return found


def same_pieces(one: Turn, other: Turn) -> bool:
    """Whether the same threads went the same way."""
    return len(one.pieces) == len(other.pieces) and all(
        here == there and same(lanes, others)
        for (here, lanes), (there, others) in zip(one.pieces, other.pieces, strict=True)
    )
