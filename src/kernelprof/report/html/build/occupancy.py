"""How many warps an SM can hold of a kernel, how many it held, and what limits them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import count, share
from kernelprof.report.documents.diagnosis import alternatives
from kernelprof.report.html.view import Occupancy

if TYPE_CHECKING:
    from kernelprof.report.html.build.measured import Measured

RESOURCES: Final = (
    ("registers", "block_limit_registers"),
    ("shared memory", "block_limit_shared_mem"),
    ("warp slots", "block_limit_warps"),
    ("block slots", "block_limit_blocks"),
    ("barriers", "block_limit_barriers"),
)
WARP: Final = 32
LAGGING: Final = 0.75
"""Achieved below this part of theoretical: the warps are there only part of the time."""


def occupancy(measured: Measured, row: int) -> Occupancy | None:
    """The occupancy of one launch; ``None`` where nothing of it is known."""
    theoretical = measured.share("theoretical_occupancy", row)
    achieved = measured.share("achieved_occupancy", row)
    limits = tuple(
        (resource, int(value))
        for resource, name in RESOURCES
        if (value := measured.value(name, row)) is not None and value >= 0
    )
    if theoretical is None and achieved is None and not limits:
        return None
    # A resource that the capture does not show could allow fewer blocks than those that it does.
    complete = len(limits) >= len(RESOURCES) - 1
    fewest = min((blocks for _, blocks in limits), default=0)
    limiters = tuple(name for name, blocks in limits if blocks == fewest) if complete else ()
    notes = [
        _limit(measured, row, fewest, limiters) if limiters else "",
        _lag(theoretical, achieved),
    ]
    return Occupancy(theoretical, achieved, limits, limiters, " ".join(filter(None, notes)))


def _limit(measured: Measured, row: int, blocks: int, limiters: tuple[str, ...]) -> str:
    text = f"{alternatives(limiters).capitalize()} limit an SM to {count(blocks, 'block')}"
    if limiters == ("shared memory",):
        text = text.replace("limit an", "limits an")
    threads = measured.value("block_size", row)
    if threads is None or threads <= 0:
        return f"{text}."
    return f"{text} of {count(math.ceil(threads / WARP), 'warp')}."


def _lag(theoretical: float | None, achieved: float | None) -> str:
    if theoretical is None or achieved is None or achieved >= LAGGING * theoretical:
        return ""
    return (
        f"Of the {share(theoretical)} that fit, {share(achieved)} were there on average: the grid "
        "is small, warps end early, or blocks end at different times."
    )
