"""Samples by source line: where a kernel's warps were each time the GPU looked at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of one file in one kernel, and the samples of warps at its instructions."""

    file: str
    function: str
    line: int
    samples: int


def summed(lines: Iterable[SourceLine]) -> tuple[SourceLine, ...]:
    """One entry for each file, kernel and line, in the order in which they came.

    A kernel that was launched twice has each of its lines twice.
    """
    found: dict[tuple[str, str, int], int] = {}
    for each in lines:
        place = (each.file, each.function, each.line)
        found[place] = found.get(place, 0) + each.samples
    return tuple(SourceLine(*place, samples) for place, samples in found.items())


def shares(lines: Iterable[SourceLine], file: str) -> dict[str, dict[int, float]]:
    """By kernel: lines of one file with their share of all samples of that kernel.

    Samples in other files count in the whole. A line without a sample is left out.
    """
    totals: dict[str, int] = {}
    counts: dict[str, dict[int, int]] = {}
    for each in lines:
        totals[each.function] = totals.get(each.function, 0) + each.samples
        here = counts.setdefault(each.function, {})
        if each.file == file and each.samples > 0:
            here[each.line] = here.get(each.line, 0) + each.samples
    return {
        function: {line: samples / totals[function] for line, samples in sorted(here.items())}
        for function, here in counts.items()
    }
