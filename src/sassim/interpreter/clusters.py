"""Clusters: blocks that reach each other's shared memory, and wait for each other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.errors import SassimError
from sassim.interpreter.lanes import LANES

if TYPE_CHECKING:
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.launch import KernelLaunch

RANK_SHIFT: Final = 24
"""An address in shared memory has the rank of its block in the cluster above these bits, as code
for clusters puts it together (``mapa``)."""
OFFSET_MASK: Final = (1 << RANK_SHIFT) - 1


class Clusters:
    """Which blocks are one cluster, and who of them waits at its barrier."""

    def __init__(self, launch: KernelLaunch, numbers: Array) -> None:
        self.size = 1 if launch.cluster is None else math.prod(launch.cluster)
        rank = launch.rank_in_cluster(numbers)
        self.rank = rank
        """Of each block that runs, its rank in its cluster."""
        cluster = launch.cluster_of(numbers)
        names, first = np.unique(cluster, return_inverse=True)
        self.rows = np.full((len(names), self.size), -1)
        self.rows[first, rank] = np.arange(len(numbers))
        self.index = first
        """Of each block that runs, its cluster's place in ``rows``."""
        self._warps_of_block = -(-math.prod(launch.block) // LANES)
        self._arrived = np.zeros((len(numbers) * self._warps_of_block, LANES), np.int64)
        """How often each thread has come to the barrier of its cluster."""
        self.waiting: dict[int, Array] = {}
        """Threads that wait there, by the address at which they go on."""

    def owner(self, addresses: Array, blocks: Array, active: Array | None) -> Array:
        """The block whose shared memory addresses lie in, for lanes of blocks."""
        rank = np.clip(addresses >> RANK_SHIFT, 0, self.size - 1)
        owners: Array = self.rows[self.index[blocks], rank]
        away = owners < 0 if active is None else active & (owners < 0)
        if away.any():
            raise SassimError(
                "a block reads shared memory of a block that does not run concurrently"
            )
        return owners

    def arrive(self, lanes: Array) -> None:
        """Threads that have come to the barrier of their cluster and go on."""
        self._arrived += lanes

    def wait(self, behind: int, lanes: Array) -> None:
        """Threads that wait at the barrier of their cluster."""
        waiting = self.waiting.get(behind)
        self.waiting[behind] = lanes if waiting is None else waiting | lanes

    def released(self, alive: Array) -> list[tuple[int, Array]]:
        """Threads that can go on, with the address at which they do: all have come as often."""
        if not self.waiting:
            return []
        often = np.where(alive, self._arrived, np.iinfo(np.int64).max)
        least = np.full(len(self.rows), np.iinfo(np.int64).max)
        np.minimum.at(least, self.index, often.reshape(len(self.index), -1).min(axis=1))
        complete = self._arrived <= np.repeat(least[self.index], self._warps_of_block)[:, None]
        ready = []
        for behind, lanes in list(self.waiting.items()):
            going = lanes & complete
            if going.any():
                ready.append((behind, going))
                self.waiting[behind] = lanes & ~going
                if not self.waiting[behind].any():
                    del self.waiting[behind]
        return ready
