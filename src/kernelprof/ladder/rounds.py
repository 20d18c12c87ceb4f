"""A rung and cuBLAS timed in turns, so that both meet the same clock.

What a GPU does in a second follows its clock, which follows its temperature and its power: two
kernels that are timed minutes apart differ by more than those that are worth telling apart. Each
round times some launches of one and then some of the other, the next round the other way around;
the ratio is taken round by round.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.ladder.product import flops, least_bytes
from kernelprof.model.manifest import TimingFacts  # noqa: TC001 (a record's types are read)

if TYPE_CHECKING:
    from kernelprof.ladder.product import Product

ROUNDS: Final = 9
"""An odd number, so that the median round is one that was measured."""
FEWEST_ROUNDS: Final = 3
LAUNCHES: Final = 20
_ROW_NS: Final = 100e6
"""How long the launches of one side in one round should take, so that the clock does not drift far
inside of it."""
_ALL_NS: Final = 5e9
"""How long all rounds should take: a kernel of a second gets fewer of them."""

Times = Callable[[int], Sequence[float]]
"""Times of so many launches, in nanoseconds; an untimed launch comes before them."""


class Round(NamedTuple):
    """Medians of one round, in nanoseconds."""

    rung_ns: float
    ceiling_ns: float


@dataclass(frozen=True, slots=True)
class Beside:
    """A rung and cuBLAS at one size, from the same rounds."""

    size: int
    timing: TimingFacts
    ceiling: TimingFacts
    rounds: tuple[Round, ...] = field(default=())


class Ratio(NamedTuple):
    """What part of cuBLAS' speed a rung has: the median of the rounds, the lowest, the highest."""

    median: float
    low: float
    high: float


def ratio_of(beside: Beside) -> Ratio:
    """The rung's speed over that of cuBLAS, from each round's own two medians."""
    found = [each.ceiling_ns / each.rung_ns for each in beside.rounds]
    return Ratio(statistics.median(found), min(found), max(found))


def in_turns(rung: Times, ceiling: Times, size: int, product: Product) -> Beside:
    """Time both in rounds; how many launches a round has follows from one launch of each."""
    from kernelprof.launch.trial import timing_facts

    sides = (rung, ceiling)
    first = [statistics.median(each(1)) for each in sides]
    counts = [_launches(each) for each in first]
    rounds = _rounds([(count + 1) * each for count, each in zip(counts, first, strict=True)])
    rows: tuple[list[Sequence[float]], list[Sequence[float]]] = ([], [])
    for number in range(rounds):
        for side in (0, 1) if number % 2 else (1, 0):
            rows[side].append(sides[side](counts[side]))
    timings = [
        timing_facts(
            [time for row in each for time in row],
            warm_up=rounds + 2,  # one before each row, and the two that told how many a row has
            flops=flops(size),
            min_bytes=least_bytes(product, size),
        )
        for each in rows
    ]
    medians = zip(*(map(statistics.median, each) for each in rows), strict=True)
    # The rounds say of cuBLAS what its single launches would.
    beside = replace(timings[1], times_ns=())
    return Beside(size, timings[0], beside, tuple(Round(*each) for each in medians))


def _launches(one_ns: float) -> int:
    return max(1, min(LAUNCHES, int(_ROW_NS / one_ns)))


def _rounds(rows_ns: Sequence[float]) -> int:
    possible = int(_ALL_NS / sum(rows_ns))
    return max(FEWEST_ROUNDS, min(ROUNDS, possible - 1 + possible % 2))
