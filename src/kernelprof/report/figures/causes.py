"""What changed the time of a kernel: the change by what its warps spent the time on.

A warp is in one state at any time, so the states share out the time of a side, and the differences
of these parts add up to the change, to the last nanosecond. Parts that moved against the change are
taken off the others alike, so that what is named never adds up to more than there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.report.figures.multiprocessor import IN_WORDS, warp_states

if TYPE_CHECKING:
    from kernelprof.report.figures.measured import Numbers

MOST: Final = 3
REST: Final = "everything else"
LEAST: Final = 0.05
"""Part of the change from which a cause is named."""


@dataclass(frozen=True, slots=True)
class Causes:
    """A change of the time, in nanoseconds: its largest causes, and what is left of it."""

    before_ns: float
    after_ns: float
    named: tuple[tuple[str, float], ...]
    rest_ns: float

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """All parts of the change, the rest last."""
        rest = ((REST, self.rest_ns),) if self.rest_ns else ()
        return (*self.named, *rest)


def causes(before: Numbers, after: Numbers, before_ns: float, after_ns: float) -> Causes | None:
    """The change between two sides; ``None`` where the states of warps are not known on both."""
    sides = [warp_states(each) for each in (before, after)]
    change = after_ns - before_ns
    if sides[0] is None or sides[1] is None or not change:
        return None
    old, new = ({each.name: each.share for each in side.states} for side in sides if side)
    moved = {
        name: new.get(name, 0.0) * after_ns - old.get(name, 0.0) * before_ns
        for name in {*old, *new}
    }
    along = {name: part for name, part in moved.items() if part * change > 0}
    total = sum(along.values())
    if not total:
        return None
    scale = min(change / total, 1.0)
    ordered = sorted(along.items(), key=lambda each: (-abs(each[1]), each[0]))
    named = tuple(
        (IN_WORDS.get(name, name), part * scale)
        for name, part in ordered[:MOST]
        if abs(part * scale) >= LEAST * abs(change)
    )
    return Causes(before_ns, after_ns, named, change - sum(part for _, part in named))
