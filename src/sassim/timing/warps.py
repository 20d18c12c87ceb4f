"""Warps and blocks that are resident on an SM, as the model of time has them; times in cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sassim.timing.control_bits import SCOREBOARDS

if TYPE_CHECKING:
    from sassim.timing.segments import Step


class ResidentWarp:
    """A warp: where in its steps it is, and what it waits for."""

    __slots__ = (
        "_segment", "_steps", "at", "block", "board", "copied", "groups", "last", "marked", "ops",
        "scheduler", "weight",
    )  # fmt: skip

    def __init__(
        self, steps: tuple[Step, ...], scheduler: int, block: ResidentBlock, now: float
    ) -> None:
        self._steps = steps
        self._segment = 0
        self.scheduler = scheduler
        self.block = block
        self.ops, self.weight = steps[0]
        """The instructions of its segment, and how many executions each represents."""
        self.at = 0
        """Of the instruction among them."""
        self.board = [0.0] * SCOREBOARDS
        self.marked = now
        """Since when time is not yet counted."""
        self.last = ""
        """The instruction that raised a scoreboard last."""
        self.copied = now
        """When all asynchronous copies are done that it began."""
        self.groups: list[float] = []
        """The same of each group of them."""

    def take_next_step(self) -> bool:
        """Go on with the first instruction of the next segment; whether there is one."""
        self._segment += 1
        if self._segment >= len(self._steps):
            return False
        self.ops, self.weight = self._steps[self._segment]
        self.at = 0
        return True

    def raise_board(self, scoreboard: int, until: float) -> None:
        """Have a scoreboard raised until then at least."""
        self.board[scoreboard] = max(self.board[scoreboard], until)


class ResidentBlock:
    """A block: how many of its warps are left, and those at its barrier."""

    __slots__ = ("alive", "number", "started", "waiting")

    def __init__(self, number: int, alive: int, started: float) -> None:
        self.number = number
        self.alive = alive
        self.started = started
        self.waiting: list[tuple[ResidentWarp, float]] = []
