"""Some blocks of a launch that run side by side: their registers and memory, and who is where."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.predict.machine.arrays import LANES, NEVER, NOTHING, compact
from kernelprof.predict.machine.barriers import BlockBarriers, Meetings
from kernelprof.predict.machine.clusters import Clusters
from kernelprof.predict.machine.constants import Constants
from kernelprof.predict.machine.faults import Place
from kernelprof.predict.machine.memory import PrivateMemory
from kernelprof.predict.machine.phases import Phases
from kernelprof.predict.machine.places import Places
from kernelprof.predict.machine.specials import along, special

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.machine.launch import Launch


class File(dict[int, "Array"]):
    """Registers by index; one that was not written yet reads as the initial value.

    No two registers may hold the same array: threads that are apart write into them.
    """

    def __init__(self, initial: Array) -> None:
        super().__init__()
        self.initial = initial

    def __missing__(self, index: int) -> Array:
        return self.initial


class Blocks:
    """Registers, predicates, memory and places of all threads of some blocks."""

    def __init__(self, launch: Launch, numbers: Sequence[int] | Array) -> None:
        self.launch = launch
        self.program = launch.program
        self.numbers: Final = np.asarray(numbers, np.int64)
        """Which blocks of the grid, in the order that x runs fastest."""
        self.threads = math.prod(launch.block)
        self.warps_of_block = -(-self.threads // LANES)
        self.warps = len(self.numbers) * self.warps_of_block

        self.registers = File(NOTHING)
        self.predicates = File(NEVER)
        self.uniform = File(NOTHING)
        self.uniform_predicates = File(NEVER)

        self.memory = launch.memory
        self.constants = Constants(launch.constants, launch.unknown)
        self.shared = PrivateMemory(
            len(self.numbers), launch.shared_bytes, "shared", launch.reserved_shared
        )
        self.local = PrivateMemory(self.warps * LANES, launch.local_bytes, "local")
        self.clusters = Clusters(launch, self.numbers)

        self.block_row = np.repeat(np.arange(len(self.numbers)), self.warps_of_block)[:, None]
        """The block of each warp, counted from the first that runs, as one column."""
        self.thread_row = np.arange(self.warps * LANES).reshape(self.warps, LANES)
        """The number of each thread among all that run."""
        inside = np.arange(self.warps_of_block * LANES).reshape(self.warps_of_block, LANES)
        self.thread_of_block = np.tile(inside, (len(self.numbers), 1))
        """The number of each thread in its block."""

        self.alive = self.thread_of_block < self.threads
        self.places = Places()
        """Threads that can go on."""
        self.places.add(0, self.alive.copy())
        self.meetings = Meetings(self.warps)
        self.block_barriers = BlockBarriers(len(self.numbers), self.warps_of_block)
        self.phases = Phases(self.shared)
        self.goals = np.zeros((self.warps, LANES), np.int64)
        """Where each thread goes on behind what it does together with others (ENDCOLLECTIVE)."""
        self.unused: frozenset[int] = frozenset()
        """Accesses whose values nothing depends on, by the identity of the instruction."""
        self.assumes: frozenset[str] = frozenset()
        """Kinds of memory where nothing may be read that one of these was to store."""
        self._specials: dict[str, Array | None] = {}

    def assume(self, spaces: frozenset[str]) -> None:
        """Have memory of some kinds see to it that nothing is read that was not stored there."""
        self.assumes = spaces
        for space, memory in (("shared", self.shared), ("local", self.local)):
            if space in spaces:
                memory.written = np.zeros(len(memory.data), np.uint8)
        self.memory.note("global" in spaces)

    def special(self, name: str) -> Array | None:
        """A special register of all warps; ``None`` where it is not known without a GPU."""
        if name not in self._specials:
            found = special(name, self.launch, self.thread_of_block, self.block_numbers)
            self._specials[name] = None if found is None else compact(found.astype(np.uint32))
        return self._specials[name]

    @property
    def block_numbers(self) -> Array:
        """The number in the grid of each warp's block, as one column."""
        return self.numbers[self.block_row[:, 0]][:, None]

    def place(self, warp: int, lane: int) -> Place:
        """The thread of the grid that one of a warp is."""
        thread, block = self.thread_of_block[warp, lane], self.block_numbers[warp, 0]
        x, y, z = (int(along(axis, thread, self.launch.block)) for axis in "XYZ")
        a, b, c = (int(along(axis, block, self.launch.grid)) for axis in "XYZ")
        return Place((a, b, c), (x, y, z))

    def set_goals(self, lanes: Array, goal: int) -> None:
        """Say where threads go on behind ENDCOLLECTIVE."""
        self.goals[lanes] = goal

    def go(self, to: int, lanes: Array) -> None:
        """Have threads go on at an address; ``lanes`` are of all warps."""
        self.places.add(to, lanes)

    def end(self, lanes: Array) -> None:
        """Threads that have ended."""
        self.alive = self.alive & ~lanes
        self.release()

    def release(self) -> None:
        """Have threads go on for which those that they wait for have come, or are gone."""
        for waiting in (self.meetings, self.block_barriers, self.clusters, self.phases):
            for to, lanes in waiting.released(self.alive):
                self.go(to, lanes)
