"""Sets of time: arrays of begins and ends that do not overlap, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Times = npt.NDArray[np.int64]


class Spans(NamedTuple):
    """Disjoint intervals in order, in nanoseconds."""

    start: Times
    end: Times

    @property
    def total(self) -> int:
        """Their length together."""
        return int((self.end - self.start).sum())


def spans(start: Times, end: Times) -> Spans:
    """The union of intervals, which may overlap and come in any order."""
    if not len(start):
        return Spans(np.zeros(0, np.int64), np.zeros(0, np.int64))
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    # A new one begins where all before have ended.
    first = np.concatenate([[True], start[1:] > end[:-1]])
    last = np.concatenate([first[1:], [True]])
    return Spans(start[first].astype(np.int64), end[last].astype(np.int64))


def together(*parts: Spans) -> Spans:
    """The union of several sets."""
    return spans(
        np.concatenate([each.start for each in parts]), np.concatenate([each.end for each in parts])
    )


def gaps(of: Spans) -> Spans:
    """What lies between the intervals."""
    return Spans(of.end[:-1], of.start[1:])


def common(one: Spans, other: Spans) -> Spans:
    """What is in both sets."""
    if not len(one.start) or not len(other.start):
        return Spans(one.start[:0], one.end[:0])
    # Of each interval the range of those in the other set that reach into it.
    first = np.searchsorted(other.end, one.start, side="right")
    after = np.searchsorted(other.start, one.end, side="left")
    counts = np.maximum(after - first, 0)
    mine = np.repeat(np.arange(len(one.start)), counts)
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    theirs = np.repeat(first, counts) + steps
    return Spans(
        np.maximum(one.start[mine], other.start[theirs]),
        np.minimum(one.end[mine], other.end[theirs]),
    )


def without(one: Spans, other: Spans) -> Spans:
    """What is in the first set and not in the second."""
    if not len(one.start) or not len(other.start):
        return one
    low = min(int(one.start[0]), int(other.start[0])) - 1
    high = max(int(one.end[-1]), int(other.end[-1])) + 1
    around = Spans(
        np.concatenate([[low], other.end]).astype(np.int64),
        np.concatenate([other.start, [high]]).astype(np.int64),
    )
    return common(one, around)
