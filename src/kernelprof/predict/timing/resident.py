"""Warps and blocks that are resident on an SM, as the model of time has them; times in cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.predict.timing.control import SCOREBOARDS

if TYPE_CHECKING:
    from kernelprof.predict.timing.steps import Step


class Warp:
    """A warp: where in its steps it is, and what it waits for."""

    __slots__ = (
        "at", "block", "board", "copied", "groups", "last", "marked", "part", "place", "steps",
    )  # fmt: skip

    def __init__(self, steps: tuple[Step, ...], part: int, block: Block, now: float) -> None:
        self.steps = steps
        self.part = part
        self.block = block
        self.place = 0
        """Of the segment."""
        self.at = 0
        """Of the instruction in it."""
        self.board = [0.0] * SCOREBOARDS
        self.marked = now
        """Since when time is not yet counted."""
        self.last = ""
        """The instruction that raised a scoreboard last."""
        self.copied = now
        """When all asynchronous copies are done that it began."""
        self.groups: list[float] = []
        """The same of each group of them."""


class Block:
    """A block: how many of its warps are left, and those at its barrier."""

    __slots__ = ("alive", "number", "started", "waiting")

    def __init__(self, number: int, alive: int, started: float) -> None:
        self.number = number
        self.alive = alive
        self.started = started
        self.waiting: list[tuple[Warp, float]] = []
