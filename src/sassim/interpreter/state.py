"""State of blocks that run side by side: registers, memory, program counters, barriers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.faults import ThreadId
from sassim.interpreter.barriers import BlockBarriers, ConvergenceBarriers
from sassim.interpreter.clusters import Clusters
from sassim.interpreter.lanes import LANES, NEVER, NOTHING, compact
from sassim.interpreter.mbarriers import Mbarriers
from sassim.interpreter.memory import ConstantBanks, PrivateMemory
from sassim.interpreter.special_registers import index_along, read_special_register

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sassim.interpreter.lanes import Array
    from sassim.interpreter.launch import KernelLaunch


class RegisterFile(dict[int, "Array"]):
    """Registers by index; one that was not written yet reads as the initial value.

    No two registers may hold the same array: threads that are apart write into them.
    """

    def __init__(self, initial: Array) -> None:
        super().__init__()
        self.initial = initial

    def __missing__(self, index: int) -> Array:
        return self.initial


class ProgramCounters:
    """Threads by their program counter.

    Threads of one warp that arrive at an address apart run apart, one group after the other: as on
    a GPU they reconverge at convergence barriers alone. Groups of different warps run together.
    """

    def __init__(self) -> None:
        self._groups: dict[int, list[Array]] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, at: int, lanes: Array) -> None:
        """Add threads, as warps by 32 lanes, at an address: one group of each warp."""
        groups = self._groups.setdefault(at, [])
        for n, there in enumerate(groups):
            met = there.any(axis=1, keepdims=True) & lanes.any(axis=1, keepdims=True)
            groups[n] = there | (lanes & ~met)
            lanes = lanes & met
            if not lanes.any():
                return
        groups.append(lanes)

    def groups(self) -> list[tuple[int, Array]]:
        """Return all groups of threads, each with its address."""
        return [(at, lanes) for at, groups in self._groups.items() for lanes in groups]

    def lowest(self, besides: int | None = None) -> int:
        """Return the lowest address, or the lowest other one."""
        if besides is None:
            return min(self._groups)
        return min(each for each in self._groups if each != besides)

    def pick(self, number: int) -> int:
        """Return an address, another one for each number."""
        return list(self._groups)[number % len(self._groups)]

    def pop(self, at: int) -> Array:
        """Remove and return threads at an address: at most one group of each warp."""
        groups = self._groups[at]
        lanes = groups.pop(0)
        if not groups:
            del self._groups[at]
        return lanes


class ResidentBlocks:
    """Registers, predicates, memory and places of all threads of some blocks."""

    def __init__(self, launch: KernelLaunch, numbers: Sequence[int] | Array) -> None:
        self.launch = launch
        self.program = launch.program
        self.numbers: Final = np.asarray(numbers, np.int64)
        """Which blocks of the grid, in the order that x runs fastest."""
        self.threads = math.prod(launch.block)
        self.warps_of_block = -(-self.threads // LANES)
        self.warps = len(self.numbers) * self.warps_of_block

        self.registers = RegisterFile(NOTHING)
        self.predicates = RegisterFile(NEVER)
        self.uniform = RegisterFile(NOTHING)
        self.uniform_predicates = RegisterFile(NEVER)

        self.memory = launch.memory
        self.constants = ConstantBanks(launch.constants, launch.unknown)
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
        self.program_counters = ProgramCounters()
        """Threads that can go on."""
        self.program_counters.add(0, self.alive.copy())
        self.convergence_barriers = ConvergenceBarriers(self.warps)
        self.block_barriers = BlockBarriers(len(self.numbers), self.warps_of_block)
        self.mbarriers = Mbarriers(self.shared)
        self.collective_targets = np.zeros((self.warps, LANES), np.int64)
        """Where each thread goes on behind what it does together with others (ENDCOLLECTIVE)."""
        self.unused: frozenset[int] = frozenset()
        """Accesses whose values nothing depends on, by the identity of the instruction."""
        self.assumes: frozenset[str] = frozenset()
        """Kinds of memory where nothing may be read that one of these was to store."""
        self._special_registers: dict[str, Array | None] = {}

    def assume(self, spaces: frozenset[str]) -> None:
        """Have memory of some kinds see to it that nothing is read that was not stored there."""
        self.assumes = spaces
        for space, memory in (("shared", self.shared), ("local", self.local)):
            if space in spaces:
                memory.written = np.zeros(len(memory.data), np.uint8)
        self.memory.note("global" in spaces)

    def special_register(self, name: str) -> Array | None:
        """A special register of all warps; ``None`` where it is not known without a GPU."""
        if name not in self._special_registers:
            inside = self.thread_of_block[: self.warps_of_block]
            values = read_special_register(name, self.launch, inside, self.block_numbers)
            if values is not None:
                values = values.astype(np.uint32)
                if name.startswith("SR_TID"):
                    values = np.tile(values, (len(self.numbers), 1))
                values = compact(values)
            self._special_registers[name] = values
        return self._special_registers[name]

    @property
    def block_numbers(self) -> Array:
        """The number in the grid of each warp's block, as one column."""
        return self.numbers[self.block_row[:, 0]][:, None]

    def thread_id(self, warp: int, lane: int) -> ThreadId:
        """The thread of the grid that one of a warp is."""
        thread, block = self.thread_of_block[warp, lane], self.block_numbers[warp, 0]
        x, y, z = (int(index_along(axis, thread, self.launch.block)) for axis in "XYZ")
        a, b, c = (int(index_along(axis, block, self.launch.grid)) for axis in "XYZ")
        return ThreadId((a, b, c), (x, y, z))

    def set_collective_targets(self, lanes: Array, goal: int) -> None:
        """Say where threads go on behind ENDCOLLECTIVE."""
        self.collective_targets[lanes] = goal

    def resume(self, to: int, lanes: Array) -> None:
        """Have threads go on at an address; ``lanes`` are of all warps."""
        self.program_counters.add(to, lanes)

    def end(self, lanes: Array) -> None:
        """Threads that have ended."""
        self.alive = self.alive & ~lanes
        self.release()

    def release(self) -> None:
        """Have threads go on for which those that they wait for have come, or are gone."""
        for waiting in (
            self.convergence_barriers,
            self.block_barriers,
            self.clusters,
            self.mbarriers,
        ):
            for to, lanes in waiting.released(self.alive):
                self.resume(to, lanes)
