"""Small cases of a launch that is not fully specified: their sizes, and what is seen in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.launch.inference import amounts
from kernelprof.launch.inference.extents import has_positive_extents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kernelprof.launch.inference.amounts import SizeExpr
    from kernelprof.launch.inference.evidence import GuessedArray, Guesses
    from kernelprof.prediction.probe import ReachedBytes

    Sizes = dict[str, int]

_SMALLEST: Final = 32
"""Sizes up to here stay as they are in all cases: they are parts of the problem."""
LIMITS: Final = (16, 4096, 8192)
"""What whole numbers stay below in the cases that tell indices from values."""
_NEAR: Final = 0.1
"""By how much what is reached may grow otherwise than in proportion to them: they are random."""


def reached_ends(
    array: GuessedArray, reached_cases: Sequence[tuple[Sizes, dict[str, ReachedBytes]]]
) -> list[tuple[Sizes, int]]:
    """The elements of an array that are reached in each case, from its first."""
    return [
        (case, -(-reached[array.name].end // array.element.bytes))
        for case, reached in reached_cases
        if array.name in reached
    ]


def steps_of(ends: Sequence[Mapping[str, ReachedBytes]]) -> dict[str, float]:
    """Bytes by which the end of what is reached of an array grows with each number.

    It has to grow in proportion: how many numbers are zero, say, also depends on their limit.
    """
    if len(ends) < len(LIMITS):
        return {}
    few, many, more = ends
    steps = {}
    for name in few.keys() & many.keys() & more.keys():
        step = (many[name].end - few[name].end) / (LIMITS[1] - LIMITS[0])
        next_step = (more[name].end - many[name].end) / (LIMITS[2] - LIMITS[1])
        if step > 0 and abs(next_step - step) <= _NEAR * step:
            steps[name] = step
    return steps


def small_cases(guesses: Guesses) -> Iterator[Sizes]:
    """The check sizes, and for each size one case in which it is half, or twice, as large."""
    yield dict(guesses.check_sizes)
    for name, value in guesses.check_sizes.items():
        half = {**guesses.check_sizes, name: value // 2}
        if value > _SMALLEST and value % 2 == 0 and has_positive_extents(guesses, half):
            yield half
        elif guesses.sizes[name] > value > 1:
            yield {**guesses.check_sizes, name: value * 2}


def factors_of(guesses: Guesses) -> list[SizeExpr]:
    """What a length may be made of: sizes, and blocks with their threads."""
    factors = [amounts.size(name) for name in guesses.check_sizes]
    for each in (*(guesses.grid or ()), *(guesses.block or ())):
        if each.constant is None and each not in factors:
            factors.append(each)
    return factors
