"""What is on an SM while it runs: warps, blocks, and the phases of their barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sassim.opcodes import ASYNC_COPY
from sassim.timing.control_bits import SCOREBOARDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sassim.timing.segments import Step


class ResidentWarp:
    """A warp: where in its steps it is, and what it waits for."""

    __slots__ = (
        "_segment", "_steps", "arrivals", "at", "block", "board", "copied", "groups", "last",
        "marked", "ops", "place", "products", "scheduler", "waits", "weight",
    )  # fmt: skip

    def __init__(
        self,
        steps: tuple[Step, ...],
        scheduler: int,
        block: ResidentBlock,
        now: float,
        *,
        place: int = 0,
        arrivals: Sequence[tuple[int, ...]] = (),
        waits: Sequence[int] = (),
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
        """Since when its time is not counted: since its segment began."""
        self.last = ""
        """The instruction that raised a scoreboard last."""
        self.copied = now
        """When all asynchronous copies are done that it began."""
        self.groups: list[float] = []
        """The same of each group of them."""
        self.products: list[float] = [now]
        """When each group of the warpgroup's products is done, the last one not yet ended."""
        self.place = place
        """Among the warps of its block."""
        self.arrivals = iter(arrivals)
        """Phases that it comes to, for each instruction that does."""
        self.waits = iter(waits)

    def take_next_step(self) -> bool:
        """Go on with the first instruction of the next segment; whether there is one."""
        self._segment += 1
        if self._segment >= len(self._steps):
            return False
        self.ops, self.weight = self._steps[self._segment]
        self.at = 0
        return True

    def note_copies(self, name: str, done: float) -> float:
        """Note a copy that is done then, or the end of a group; when that is done."""
        if name == ASYNC_COPY:
            self.copied = max(self.copied, done)
            return done
        self.groups.append(self.copied)
        return self.copied

    def raise_board(self, scoreboard: int, until: float) -> None:
        """Have a scoreboard raised until then at least."""
        self.board[scoreboard] = max(self.board[scoreboard], until)


class ResidentBlock:
    """A block: how many of its warps are left, and those at its barrier."""

    __slots__ = (
        "alive", "apart", "expected", "number", "phases", "sent", "started", "waiting",
    )  # fmt: skip

    def __init__(
        self, number: int, alive: int, started: float, expected: Mapping[int, int]
    ) -> None:
        self.number = number
        self.alive = alive
        self.started = started
        self.sent = 0.0
        """When all that it sends to L2 has left the SM."""
        self.waiting: list[tuple[ResidentWarp, float]] = []
        self.apart: dict[tuple[int, int], list[tuple[ResidentWarp, float]]] = {}
        """Warps at barriers of a part of the block."""
        self.expected = expected
        self.phases: dict[int, PhaseState] = {}


class PhaseState:
    """A phase of a barrier in shared memory."""

    __slots__ = ("ends", "left", "waiting")

    def __init__(self, left: int) -> None:
        self.left = left
        """Arrivals that are missing."""
        self.ends = 0.0
        """When the last of those that are known is there."""
        self.waiting: list[tuple[ResidentWarp, float]] = []
