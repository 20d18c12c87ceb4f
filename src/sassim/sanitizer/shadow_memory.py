"""The shared memory of some of a grid's blocks, cut into cells as long as the shortest access."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from sassim.counters.sampling import sample_blocks
from sassim.interpreter.clusters import OFFSET_MASK
from sassim.interpreter.context import Observer
from sassim.interpreter.def_use import find_def_use
from sassim.interpreter.lanes import LANES
from sassim.interpreter.operations.address_spaces import GENERIC, SHARED, SPACES
from sassim.opcodes import ASYNC_COPY, STORES, find_opcode
from sassim.sass.operands import Address, Label, Register

if TYPE_CHECKING:
    from sassim.interpreter.context import ExecutionContext
    from sassim.interpreter.lanes import Array
    from sassim.interpreter.launch import KernelLaunch
    from sassim.interpreter.state import ResidentBlocks
    from sassim.sass.listing import Instruction
    from sassim.sass.operands import Operand
    from sassim.sass.program import Program

_THREADS: Final = 4096
"""Threads in blocks that are looked at: what they touch is noted at each of their accesses."""
_NOTES: Final = 1 << 22
"""Notes that are kept at most, one for each cell and warp; of one block there may be more."""
_LANES: Final = np.arange(LANES, dtype=np.uint32)


class ShadowMemory(Observer):
    """The checked thread blocks, at a grid's edges and inside, and the index of their notes.

    A slot is a checked warp. Cells are numbered through all running blocks, and each has
    a note for each warp of its block.
    """

    def __init__(self, launch: KernelLaunch) -> None:
        super().__init__()
        accesses = [
            i
            for function in launch.program.functions
            for i in function.instructions
            if SPACES.get(i.opcode) in (SHARED, GENERIC) or i.opcode == ASYNC_COPY
        ]
        self.instructions = len(accesses)
        """Those that may access shared memory."""
        self.has_copies = any(i.opcode == ASYNC_COPY for i in accesses)
        self.spins = find_spins(launch.program)
        """Reads that a thread repeats until others have changed what it reads."""
        self.compared_loads = find_compared_loads(launch.program)
        """Reads that are part of an atomic operation which is a loop."""
        self.grain = min((i.width // 8 for i in accesses), default=4)
        """Bytes of a cell."""
        self.bytes = -(-launch.shared_bytes // LANES) * LANES
        self.of_block = self.bytes // self.grain
        self.warps = -(-math.prod(launch.block) // LANES)
        """Of a block."""
        most = min(_THREADS // (self.warps * LANES), _NOTES // max(1, self.of_block * self.warps))
        self.sampled = sample_blocks(launch.grid, max(1, most)).blocks
        """Numbers in the grid of the blocks that are looked at."""

    def on_start(self, blocks: ResidentBlocks) -> None:
        """Find the sampled ones among blocks that begin to run."""
        self.chosen = np.flatnonzero(np.isin(blocks.numbers, self.sampled))
        """The blocks that are looked at, among those that run."""
        warps = self.warps
        rows = (self.chosen[:, None] * warps + np.arange(warps)).reshape(-1)
        self._slot = np.full(blocks.warps, -1)
        self._slot[rows] = np.arange(len(rows))
        first = np.arange(len(self.chosen))[:, None] * self.of_block * warps
        self._first = (first + np.arange(warps)).reshape(-1, 1)

    @property
    def count(self) -> int:
        """All cells."""
        return len(self.chosen) * self.of_block

    @property
    def slots(self) -> int:
        """All warps that are looked at."""
        return len(self.chosen) * self.warps

    def find_slots(self, c: ExecutionContext) -> tuple[Array, Array | slice]:
        """The slots of a context, and which of its rows they are."""
        slots = self._slot[c.where]
        chosen = slots >= 0
        if chosen.all():
            return slots, slice(None)
        rows = np.flatnonzero(chosen)
        return slots[rows], rows

    def find_notes(
        self,
        slots: Array,
        rows: Array | slice,
        addresses: Array,
        active: Array | None,
        size: int,
    ) -> tuple[Array, Array]:
        """The notes that accesses change, and lanes: as many, or so many that they repeat."""
        at = select_rows(addresses, rows) & OFFSET_MASK
        notes = self._first[slots] + at // self.grain * self.warps
        lanes = _LANES[: notes.shape[1]]
        if active is not None:
            mask = active[rows]
            if notes.shape[1] == 1:
                notes = np.broadcast_to(notes, mask.shape)
            notes, lanes = notes[mask], mask.nonzero()[1].astype(np.uint32)
        count = size // self.grain
        if count > 1:
            notes = notes[..., None] + np.arange(count) * self.warps
            lanes = lanes.repeat(count)
        return notes, lanes

    def row(self, block: int, warp: int) -> int:
        """A warp of a block that is looked at, among all that run."""
        return int(self.chosen[block]) * self.warps + warp


def find_spins(program: Program) -> frozenset[int]:
    """Reads of one place again and again, in loops that do nothing else, by identity."""
    reads = set()
    for block in program.blocks.values():
        label = next(
            (each for each in _branch_operands(block.end) if isinstance(each, Label)), None
        )
        if label is None or program.target(block.function, label) != block.start:
            continue
        if any(i.opcode in STORES for i in block.body):
            continue
        written = frozenset[str]().union(*(find_def_use(i).written for i in block.body))
        reads |= {
            id(i)
            for i in block.body
            if SPACES.get(i.opcode) in (SHARED, GENERIC) and not _address_registers(i) & written
        }
    return frozenset(reads)


def _branch_operands(i: Instruction | None) -> tuple[Operand, ...]:
    return () if i is None or i.opcode != "BRA" else i.operands


def _address_registers(i: Instruction) -> set[str]:
    addresses = [each for each in i.operands if isinstance(each, Address)]
    registers = [each for at in addresses for each in (at.register, at.uniform)]
    return {
        f"{'UR' if each.uniform else 'R'}{each.index}" for each in registers if each is not None
    }


def find_compared_loads(program: Program) -> frozenset[int]:
    """Return the loads whose value a compare-and-swap compares, by identity.

    ``atomicAdd`` of floating-point numbers in shared memory becomes a loop: read, add, and store
    the sum if nobody was faster (``LDS``, ``FADD``, ``ATOMS.CAST.SPIN`` with the number read). The
    read is no access of its own: the loop is repeated where another thread came between.
    """
    reads = set()
    for block in program.blocks.values():
        for n, i in enumerate(block.body):
            if i.opcode == "ATOMS" and {"CAST", "SPIN"} <= set(i.modifiers):
                read = _find_compared_load(block.body[:n], i)
                if read is not None:
                    reads.add(id(read))
    return frozenset(reads)


def _find_compared_load(
    before: tuple[Instruction, ...], compare_and_swap: Instruction
) -> Instruction | None:
    """Return the load from the same address whose value is compared."""
    operands = compare_and_swap.operands
    address = next((each for each in operands if isinstance(each, Address)), None)
    after = operands[operands.index(address) + 1 :] if address is not None else ()
    compared = after[0] if after else None
    for each in reversed(before):
        if not each.operands or each.operands[0] != compared:
            continue
        same = each.opcode == "LDS" and each.operands[1] == address
        return each if same and isinstance(compared, Register) else None
    return None


def select_rows(values: Array, rows: Array | slice) -> Array:
    """Rows of values, where they are not alike in all."""
    return values if values.shape[0] == 1 else values[rows]


def is_atomic(i: Instruction) -> bool:
    """Whether an instruction reads and writes at once."""
    return find_opcode(i.opcode).category == "atomic"
