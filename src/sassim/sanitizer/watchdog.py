"""Kernels that do not end: loops that come back to where they were, and those that take too long.

Threads that run again and again through the same instructions with the same registers and the same
memory never end: nothing that they do depends on anything else. Whether others change is known once
each group of threads has run. A limit catches loops that count for ever.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.faults import FaultLocation, WatchdogError
from sassim.interpreter.context import Observer

if TYPE_CHECKING:
    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.state import ResidentBlocks
    from sassim.sass.program import BasicBlock

MOST_INSTRUCTIONS: Final = 1 << 20
"""Instructions of one run, those that warps execute together counted once: 10 to 20 seconds. The
longest check of the corpus takes 640 thousand."""
_FIRST_LOOK: Final = 1 << 12
"""Basic blocks after which the state is saved first."""
_ROUND: Final = 1 << 10
"""Basic blocks after which each group of threads has run, for each group."""
_LOOKS: Final = 64
"""How often a state is compared with the noted one; loops that matter come round sooner."""


@dataclass(frozen=True)
class _State:
    """Where threads are, and all that they know."""

    block: BasicBlock
    number: int
    lanes: Array
    places: list[tuple[int, Array]]
    registers: tuple[dict[int, Array], ...]
    memory: tuple[int, ...]


class Watchdog(Observer):
    """Refuses to run for ever."""

    def __init__(self, most: int = MOST_INSTRUCTIONS) -> None:
        super().__init__()
        self._most = most

    def on_start(self, blocks: ResidentBlocks) -> None:
        """Begin to count."""
        self._blocks = blocks
        self._instructions = self._blocks_run = 0
        self._next = _FIRST_LOOK
        self._noted: _State | None = None
        self._looks = 0

    def on_basic_block(self, c: ExecutionContext, block: BasicBlock) -> None:
        """Count, and look now and then whether anything has changed."""
        self._instructions += len(block.body) + (block.end is not None)
        self._blocks_run += 1
        if self._instructions > self._most:
            what = f"the kernel did not end within {self._most} instructions"
            raise WatchdogError(what, self._first_thread(c, block))
        if self._blocks_run == self._next:
            self._next *= 2
            self._noted, self._looks = self._save_state(c, block), _LOOKS
        elif self._noted is not None and block is self._noted.block and self._looks:
            self._compare(c, self._noted, block)

    def _compare(self, c: ExecutionContext, noted: _State, block: BasicBlock) -> None:
        places = self._blocks.program_counters
        if self._blocks_run < noted.number + _ROUND * (len(places) + 1):
            return
        self._looks -= 1
        if not (
            np.array_equal(noted.lanes, c.lanes) and _same_groups(noted.places, places.groups())
        ):
            return
        registers = zip(noted.registers, self._registers(), strict=True)
        if (
            all(_same_registers(before, now) for before, now in registers)
            and noted.memory == self._memory()
        ):
            what = "the kernel never ends: a loop repeats without changing any state"
            raise WatchdogError(what, self._first_thread(c, block))

    def _save_state(self, c: ExecutionContext, block: BasicBlock) -> _State:
        return _State(
            block,
            self._blocks_run,
            c.lanes.copy(),
            [(at, lanes.copy()) for at, lanes in self._blocks.program_counters.groups()],
            tuple(map(_copy_registers, self._registers())),
            self._memory(),
        )

    def _registers(self) -> tuple[dict[int, Array], ...]:
        blocks = self._blocks
        return blocks.registers, blocks.predicates, blocks.uniform, blocks.uniform_predicates

    def _memory(self) -> tuple[int, ...]:
        blocks = self._blocks
        own = (blocks.shared.data, blocks.local.data)
        arrays = [each.data for each in blocks.memory.buffers]
        return tuple(zlib.crc32(each.data) for each in (*own, *arrays))

    def _first_thread(self, c: ExecutionContext, block: BasicBlock) -> FaultLocation:
        """Return the first thread, at the first instruction of its basic block."""
        warp, lane = (int(each) for each in np.argwhere(c.lanes)[0])
        return FaultLocation(block.instructions[0], self._blocks.thread_id(warp, lane))


def _copy_registers(arrays: dict[int, Array]) -> dict[int, Array]:
    return {index: values.copy() for index, values in arrays.items()}


def _same_groups(one: list[tuple[int, Array]], other: list[tuple[int, Array]]) -> bool:
    return len(one) == len(other) and all(
        a == b and np.array_equal(here, there)
        for (a, here), (b, there) in zip(one, other, strict=True)
    )


def _same_registers(one: dict[int, Array], other: dict[int, Array]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(values, other[index]) for index, values in one.items()
    )
