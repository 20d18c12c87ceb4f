"""How much of a stream of sectors a cache of a size serves, from the times between uses of a line.

The average footprint of a window of a stream (the different lines in it) grows with the window;
the window whose footprint fills the cache is about how far back it remembers. A use hits where the
last use of its sector is no further back (Xiang et al., "HOTL: a higher order theory of
locality", 2013, section 3; the cache is taken to be fully associative and to evict what was not
used for longest).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from sassim.interpreter.lanes import Array

LINE_SECTORS: Final = 4
"""Sectors of a line of 128 bytes: a line that is there has those of them that were asked for."""


def find_hits(sectors: Array, lines: float) -> Array:
    """Which uses of a stream of sectors a cache of so many lines serves."""
    if len(sectors) == 0:
        return np.zeros(0, np.bool_)
    memory = _find_window(sectors // LINE_SECTORS, lines)
    before = _find_previous_uses(sectors)
    served: Array = (before >= 0) & (np.arange(len(sectors)) - before <= memory)
    return served


def find_first_uses(sectors: Array) -> Array:
    """Which uses of a stream are the first of their sector."""
    return _find_previous_uses(sectors) < 0


def carry_first_use(values: Array, sectors: Array, executions: Array) -> Array:
    """For each use of a sector the value of its first use in the same execution."""
    order = np.lexsort((sectors, executions))
    first = np.ones(len(order), np.bool_)
    first[1:] = (np.diff(sectors[order]) != 0) | (np.diff(executions[order]) != 0)
    result = np.empty(len(order))
    result[order] = values[order][first][np.cumsum(first) - 1]
    return result


def _find_previous_uses(values: Array) -> Array:
    """For each use where in the stream the one before it is; -1 for the first."""
    order = np.argsort(values, kind="stable")
    same = values[order][1:] == values[order][:-1]
    last = np.full(len(values), -1)
    last[order[1:][same]] = order[:-1][same]
    return last


def _find_window(lines: Array, room: float) -> int:
    """The longest window whose average footprint is at most the room."""
    count = len(lines)
    before = _find_previous_uses(lines)
    places = np.arange(count)
    _, first = np.unique(lines, return_index=True)
    if len(first) <= room:
        return count
    _, last = np.unique(lines[::-1], return_index=True)
    # Times between uses, until the first use, and from the last use to the end: each keeps a line
    # out of the windows that fit in between.
    gaps = [(places - before)[before >= 0], first + 1, last + 1]
    sums = []
    for each in gaps:
        ordered = np.sort(each)
        tail = np.concatenate([np.cumsum(ordered[::-1])[::-1], [0]])
        sums.append((ordered, tail))

    def footprint(window: int) -> float:
        absent = 0.0
        for ordered, tail in sums:
            at = int(np.searchsorted(ordered, window, "right"))
            absent += float(tail[at]) - (len(ordered) - at) * window
        return len(first) - absent / (count - window + 1)

    low, high = 1, count
    while low < high:
        middle = (low + high + 1) // 2
        if footprint(middle) <= room:
            low = middle
        else:
            high = middle - 1
    return low
