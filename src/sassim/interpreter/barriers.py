"""Who waits for whom: threads of a warp (BSSY, BSYNC, WARPSYNC), and threads of a block (BAR)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sassim.interpreter.lanes import EVERYONE, LANES, ballot

if TYPE_CHECKING:
    from collections.abc import Callable

    from sassim.interpreter.lanes import Array

SYNC: Final = -1
"""The barrier of all WARPSYNC: threads name those that they wait for when they come."""
COLLECTIVE: Final = -2
"""The barrier of all WARPSYNC.COLLECTIVE: who has come goes on at one place, wherever it came."""


class ConvergenceBarriers:
    """Convergence barriers of warps: whom each thread waits for, and who is there.

    A thread has its own mask for each barrier, that of those who were with it when it was set up:
    threads of a warp that are apart may use the same barrier, each group for itself.
    """

    def __init__(self, warps: int) -> None:
        self._warps = warps
        self._masks: dict[int, Array] = {}
        self.waiting: dict[tuple[int, int], Array] = {}
        """Threads that wait, as warps by 32, by barrier and the address at which they go on."""
        """Threads that WARPSYNC let go on without others of their warp that are at it."""

    def _masks_of(self, index: int) -> Array:
        """Of each thread the lanes that it waits for, as bits."""
        if index not in self._masks:
            self._masks[index] = np.zeros((self._warps, LANES), np.uint32)
        return self._masks[index]

    def masks(self, index: int, where: slice | Array) -> Array:
        """Whom the threads of some warps wait for."""
        rows: Array = self._masks_of(index)[where]
        return rows

    def set_masks(
        self, index: int, where: slice | Array, lanes: Array | None, masks: Array
    ) -> None:
        """Say whom ``lanes`` of some warps wait for (``None``: all of them)."""
        every = self._masks_of(index)
        every[where] = masks if lanes is None else np.where(lanes, masks, every[where])

    def leave(self, index: int, lanes: Array) -> None:
        """Threads, of all warps, that nobody waits for any more (BREAK)."""
        self._masks_of(index)[:] &= ballot(lanes) ^ EVERYONE

    def wait(self, index: int, behind: int, lanes: Array) -> None:
        """Threads that have come, of all warps; they go on at the address ``behind``."""
        waiting = self.waiting.get((index, behind))
        self.waiting[index, behind] = lanes if waiting is None else waiting | lanes

    def released(self, alive: Array) -> list[tuple[int, Array]]:
        """Threads that can go on, with the address at which they do, those that met each time."""
        ready = []
        for index in {index for index, _ in self.waiting}:
            here = [key for key in self.waiting if key[0] == index]
            waiting = np.logical_or.reduce([self.waiting[key] for key in here])
            for group in self._complete(index, waiting, alive):
                for key in here:
                    going = self.waiting[key] & group
                    if going.any():
                        self.waiting[key] = self.waiting[key] & ~group
                        if index != COLLECTIVE:
                            ready.append((key[1], going))
                if index == COLLECTIVE:
                    ready.append((min(here)[1], group))
            for key in here:
                if not self.waiting[key].any():
                    del self.waiting[key]
        return ready

    def _complete(self, index: int, waiting: Array, alive: Array) -> list[Array]:
        """Threads that wait and of which none is missing; at most one group of a warp each time.

        Those of a warp that wait for different threads are apart: a function that calls itself may
        be at the same barrier for the second time.
        """
        rows = np.flatnonzero(waiting.any(axis=1))
        masks = self._masks_of(index)[rows]
        there, living = waiting[rows], ballot(alive[rows])
        ready = []
        while len(rows):
            lead = masks[np.arange(len(rows)), there.argmax(axis=1)][:, None]
            group = there & (masks == lead)
            complete = (lead & living & ~ballot(group)) == 0
            if complete.any():
                lanes = np.zeros_like(waiting)
                lanes[rows] = group & complete
                ready.append(lanes)
            there = there & ~group
            some = there.any(axis=1)
            rows, masks, there, living = rows[some], masks[some], there[some], living[some]
        return ready


class BlockBarriers:
    """The barriers of blocks: who has come, and who waits."""

    def __init__(self, blocks: int, warps_of_block: int) -> None:
        self._blocks = blocks
        self._warps_of_block = warps_of_block
        self._arrived: dict[int, Array] = {}
        self._counts: dict[int, Array] = {}
        self.waiting: dict[tuple[int, int], Array] = {}
        """Threads that wait, as warps by 32, by barrier and the address at which they go on."""
        self._votes: dict[int, Array] = {}
        self.vote_counts: Array = np.zeros((blocks * warps_of_block, 1), np.uint32)
        """Of each warp: threads of its block that voted yes at its last barrier with a vote."""
        self.vote_results: Array = np.zeros((blocks * warps_of_block, 1), np.bool_)
        """Whether all did, or any, as that barrier asks."""
        self._asks_for_all: dict[int, bool] = {}
        self.listeners: list[Callable[[Array], None]] = []
        """Are told of threads, of all warps, that go on together from a barrier."""

    def met(self, lanes: Array) -> None:
        """Threads go on together."""
        for each in self.listeners:
            each(lanes)

    def standing(self) -> tuple[dict[Any, Array], dict[Any, Array]]:
        """Who waits, and how many have come to each barrier."""
        return dict(self.waiting), dict(self._arrived)

    def arrive(self, number: int, lanes: Array, count: Array | None, alive: Array) -> None:
        """Threads that have come to a barrier that needs ``count`` of them, of each warp's block.

        ``None``: all that have not ended. A warp of which all have come counts as 32 threads.
        """
        full = (lanes == alive).all(axis=1) & lanes.any(axis=1)
        come = np.where(full, LANES, lanes.sum(axis=1)).reshape(self._blocks, -1).sum(axis=1)
        self._arrived[number] = self._arrived.get(number, 0) + come
        if count is not None:
            wanted = self._counts.setdefault(number, np.zeros(self._blocks, np.int64))
            blocks = np.flatnonzero(come)
            # Warps that are elsewhere have none.
            wanted[blocks] = count.reshape(self._blocks, -1).max(axis=1)[blocks]

    def wait(self, number: int, behind: int, lanes: Array) -> None:
        """Threads that wait until enough have come."""
        waiting = self.waiting.get((number, behind))
        self.waiting[number, behind] = lanes if waiting is None else waiting | lanes

    def vote(self, number: int, yes: Array, *, asks_for_all: bool) -> None:
        """Threads that say yes at a barrier that asks whether all do, or any."""
        self._asks_for_all[number] = asks_for_all
        votes = self._votes.get(number)
        self._votes[number] = yes if votes is None else votes | yes

    def released(self, alive: Array) -> list[tuple[int, Array]]:
        """Threads that can go on, with the address at which they do."""
        ready = []
        for number in {number for number, _ in self.waiting}:
            here = [key for key in self.waiting if key[0] == number]
            waiting = np.logical_or.reduce([self.waiting[key] for key in here])
            complete = self._complete_blocks(number, waiting, alive)
            if not complete.any():
                continue
            lanes_ready = np.repeat(complete, self._warps_of_block)[:, None]
            self.met(waiting & lanes_ready)
            self._reset(number, complete, waiting)
            for key in here:
                going = self.waiting[key] & lanes_ready
                if going.any():
                    ready.append((key[1], going))
                    left = self.waiting.pop(key) & ~going
                    if left.any():
                        self.waiting[key] = left
        return ready

    def _complete_blocks(self, number: int, waiting: Array, alive: Array) -> Array:
        """Blocks in which enough threads have come, and some wait."""
        there = waiting.reshape(self._blocks, -1)
        every = (there == alive.reshape(self._blocks, -1)).all(axis=1)
        counts = self._counts.get(number)
        if counts is not None:
            every = np.where(counts > 0, self._arrived[number] >= counts, every)
        complete: Array = every & there.any(axis=1)
        return complete

    def _reset(self, number: int, ready: Array, waiting: Array) -> None:
        """Have a barrier begin anew in some blocks."""
        self._arrived[number] = np.where(ready, 0, self._arrived[number])
        if number in self._counts:
            self._counts[number][ready] = 0
        votes = self._votes.get(number)
        if votes is not None:
            lanes = np.repeat(ready, self._warps_of_block)[:, None]
            votes_cast = self._count_in_block(votes)
            least = self._count_in_block(waiting) if self._asks_for_all[number] else np.uint32(1)
            self.vote_counts = np.where(lanes, votes_cast, self.vote_counts)
            self.vote_results = np.where(lanes, votes_cast >= least, self.vote_results)
            self._votes[number] = votes & ~lanes

    def _count_in_block(self, lanes: Array) -> Array:
        """Of each warp how many lanes of its block are among some, as one column."""
        count = lanes.reshape(self._blocks, -1).sum(axis=1, dtype=np.uint32)
        return np.repeat(count, self._warps_of_block)[:, None]
