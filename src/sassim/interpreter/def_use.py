"""Find which registers an instruction accesses, by executing it once on recording registers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sassim.interpreter.context import NotKnownError
from sassim.interpreter.lanes import ALWAYS, LANES, NEVER, NOTHING
from sassim.interpreter.operand_access import read_guard
from sassim.interpreter.operations import operations
from sassim.interpreter.operations.warpgroup import product_registers
from sassim.opcodes import BULK_COPIES, MEMORY, find_opcode, opcodes_with_flow, select_opcodes
from sassim.sass.operands import TRUE, ZERO, Address, Constant, Predicate, Register

if TYPE_CHECKING:
    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction

_PHASES: Final = opcodes_with_flow("mbarrier")
"""Opcodes of barriers in shared memory, whose phases threads wait for."""
_CONTROL: Final = select_opcodes(lambda row: row.flow)
_OF_64_BITS: Final = opcodes_with_flow("indirect", "indirect-uniform", "call", "return", "mbarrier")
"""Those that read an address of code, or a barrier in memory, in pairs of registers; the others
read 32 bits."""
_WIDEST: Final = 4
"""Registers that an operand may stand for, where that is not known."""
_BOX: Final = 7
"""The same of a copy by a tensor map: an address, a barrier, five coordinates."""


@dataclass(frozen=True, slots=True)
class DefUse:
    """Registers by name: ``R4``, ``UR4``, ``P0``, ``UP0``."""

    written: frozenset[str]
    read: frozenset[str]
    """Without what addresses are made of."""
    addressing: frozenset[str]
    """What addresses are made of, and the guard."""
    partial: bool
    """Whether something of what was there before stays."""
    always: bool
    """Whether it is carried out whatever it writes."""


class _RegisterRecord(dict[int, Any]):
    def __init__(self, prefix: str, value: Array, read: set[str], written: set[str]) -> None:
        super().__init__()
        self._prefix, self._value = prefix, value
        self._read, self._written = read, written

    def __getitem__(self, index: int) -> Array:
        self._read.add(f"{self._prefix}{index}")
        return self._value

    def __setitem__(self, index: int, value: Array) -> None:
        self._written.add(f"{self._prefix}{index}")


class _EmptyBlocks:
    """Blocks that have nothing, and answer every question with it."""

    size = 1
    """There are no clusters."""

    assumes: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.block_row = np.zeros((1, 1), np.int64)
        self.thread_row = np.zeros((1, LANES), np.int64)
        self.vote_counts, self.vote_results = NOTHING, NEVER

    def special_register(self, _: str) -> Array:
        return NOTHING

    def load(self, *arguments: Any) -> Array:
        size = int(arguments[-1])
        shape = (1, LANES)
        return np.zeros(shape if size <= 4 else (*shape, size // 4), _KINDS.get(size, np.uint32))

    def word(self, *_: object) -> Array:
        return NOTHING

    gather = word

    def relocated(self, *_: object) -> int:
        return 0

    place = __getitem__ = relocated

    def __getattr__(self, name: str) -> Any:
        if name in _PARTS:
            return self
        return lambda *_, **__: None


_PARTS: Final = frozenset(
    (
        *("memory", "shared", "local", "constants", "program", "clusters"),
        *("block_barriers", "addresses"),
    )
)
_KINDS: Final[dict[int, Any]] = {1: np.uint8, 2: np.uint16, 4: np.uint32}


_NUMBER: Final = np.zeros((1, LANES), np.uint32)
_FLAG: Final = np.ones((1, LANES), np.bool_)


class _Recorder:
    """A context of one warp that records what is asked of it."""

    def __init__(self, *, unused: bool) -> None:
        self.blocks = self.observer = _EmptyBlocks()
        self.rows = self.mask = None
        self._unused = unused
        self.warps = 1
        self.read: set[str] = set()
        self.written: set[str] = set()
        self.r = _RegisterRecord("R", _NUMBER, self.read, self.written)
        self.p = _RegisterRecord("P", _FLAG, self.read, self.written)
        self.u = _RegisterRecord("UR", _NUMBER[:, :1], self.read, self.written)
        self.q = _RegisterRecord("UP", _FLAG[:, :1], self.read, self.written)

    def active_mask(self, _: Array | None) -> None:
        """All threads take part, so that nothing is left out."""

    def broadcast(self, values: Array) -> Array:
        return np.broadcast_to(values, (1, LANES))

    def select_warps(self, values: Array) -> Array:
        return values

    def is_value_unused(self, _: Instruction) -> bool:
        return self._unused

    @property
    def active_lanes(self) -> Array:
        return self.broadcast(ALWAYS)

    alive = active_lanes


def changes_phases(i: Instruction) -> bool:
    """Whether it is of a barrier in shared memory, or a copy in bulk that one is told of.

    Who waits then depends on what is in memory.
    """
    return (
        i.opcode in _PHASES or i.opcode in BULK_COPIES or (i.opcode == "ATOMS" and i.has("ARRIVE"))
    )


def find_def_use(i: Instruction) -> DefUse:
    """What an instruction reads and writes; all that its operands name where it is not known."""
    make = operations().get(i.opcode)
    guard = _registers_read_by(read_guard(i)) if i.guard is not None else set()
    partial = i.guard is not None
    if i.opcode in _CONTROL:
        wide = i.opcode in _OF_64_BITS and not (i.opcode == "SYNCS" and not i.has("EXCH"))
        operands = _operand_registers(i, 2 if wide else 1)
        results: set[str] = set()
        if i.opcode == "SYNCS" and i.has("ARRIVE"):
            # What the barrier held before, which a wait may take.
            results = _operand_registers(replace(i, operands=i.operands[:1]), 2)
            operands = _operand_registers(replace(i, operands=i.operands[1:]), 1)
            partial = partial or not results
        else:
            partial = True
        return DefUse(frozenset(results), frozenset(), frozenset(operands | guard), partial, True)
    # A bulk copy to shared memory completes a phase that threads wait for.
    if make is None or i.opcode in BULK_COPIES:
        operands = _operand_registers(i, _BOX if i.opcode in BULK_COPIES else _WIDEST)
        return DefUse(frozenset(), frozenset(), frozenset(operands | guard), True, True)
    try:
        if find_opcode(i.opcode).category == "wgmma":
            sums, more = product_registers(i)
            more |= _operand_registers(replace(i, operands=i.operands[-2:]), 0)
            return DefUse(sums, sums | more, frozenset(guard), partial, False)
        with np.errstate(all="ignore"):
            # Under a guard a register is also read to keep what it holds for other threads.
            step = make(i if i.guard is None else replace(i, guard=None))
            full = _Recorder(unused=False)
            step(full)  # type: ignore[arg-type]
            if i.opcode in MEMORY:
                lazy = _Recorder(unused=True)
                step(lazy)  # type: ignore[arg-type]
    except NotKnownError:
        operands = _operand_registers(i, _WIDEST)
        return DefUse(frozenset(), frozenset(), frozenset(operands | guard), True, True)
    written, read = frozenset(full.written), frozenset(full.read)
    if i.opcode in MEMORY:
        addressing = frozenset(lazy.read | guard)
        return DefUse(written | lazy.written, read, addressing, partial, False)
    return DefUse(written, read, frozenset(guard), partial, False)


def _registers_read_by(read: Any) -> set[str]:
    recorder = _Recorder(unused=True)
    read(recorder)
    return recorder.read


def _operand_registers(i: Instruction, registers_each: int) -> set[str]:
    """All registers that operands name, each with those behind it that belong to it."""
    names: set[str] = set()
    for each in i.operands:
        registers: list[Register | None] = []
        if isinstance(each, Register):
            registers = [each]
        elif isinstance(each, Address):
            registers = [each.register, each.uniform]
        elif isinstance(each, Constant):
            registers = [each.register]
        elif isinstance(each, Predicate) and each.index != TRUE:
            names.add(f"{'UP' if each.uniform else 'P'}{each.index}")
        for register in registers:
            if register is not None and register.index != ZERO:
                prefix = "UR" if register.uniform else "R"
                names |= {f"{prefix}{register.index + n}" for n in range(registers_each)}
    return names
