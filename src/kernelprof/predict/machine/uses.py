"""Which registers an instruction reads and writes: it is carried out once on a record of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.predict.machine.arrays import ALWAYS, LANES, NOTHING
from kernelprof.predict.machine.context import NotKnownError
from kernelprof.predict.machine.operations import operations
from kernelprof.predict.machine.values import guard_of
from kernelprof.sass.operands import TRUE, ZERO, Address, Constant, Predicate, Register

if TYPE_CHECKING:
    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.sass.listing import Instruction

_PHASES: Final = ("SYNCS", "ARRIVES", "STAS")
"""Opcodes of barriers in shared memory (mbarriers), whose phases threads wait for."""
_CONTROL: Final = frozenset(
    (
        *(
            "BRA",
            "BRX",
            "BRXU",
            "JMP",
            "JMX",
            "JMXU",
            "EXIT",
            "KILL",
            "BSYNC",
            "BREAK",
            "WARPSYNC",
            "BAR",
            "CALL",
            "RET",
        ),
        *("BSSY", "BMOV", "NANOSLEEP", "BPT", "ENDCOLLECTIVE", "UCGABAR_ARV", "UCGABAR_WAIT"),
        *_PHASES,
    )
)
"""Opcodes that say who goes on where, and are always carried out."""
_OF_64_BITS: Final = frozenset(("BRX", "BRXU", "JMX", "JMXU", "CALL", "RET", *_PHASES))
"""Those that read an address of code, or a barrier in memory, in pairs of registers; the others
read 32 bits."""
_WIDEST: Final = 4
"""Registers that an operand may stand for, where that is not known."""

LOADS: Final = {
    "LDG": "global", "LD": "global", "LDS": "shared", "LDL": "local", "LDSM": "shared",
    "ATOMG": "global", "ATOM": "global", "ATOMS": "shared", "LDGSTS": "global", "LDC": "constant",
    "UBLKCP": "global",
}  # fmt: skip
"""Opcodes that read memory, by the kind of memory."""
STORES: Final = {
    "STG": "global", "ST": "global", "STS": "shared", "STL": "local", "STSM": "shared",
    "RED": "global", "REDG": "global", "ATOMG": "global", "ATOM": "global", "ATOMS": "shared",
    "LDGSTS": "shared", "UBLKCP": "shared",
}  # fmt: skip
"""Opcodes that write memory."""
MEMORY: Final = frozenset(LOADS) | frozenset(STORES)


@dataclass(frozen=True, slots=True)
class Uses:
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


class _Record(dict[int, Any]):
    """Registers that remember who asked for them."""

    def __init__(self, prefix: str, value: Array, asked: set[str], told: set[str]) -> None:
        super().__init__()
        self._prefix, self._value = prefix, value
        self._asked, self._told = asked, told

    def __getitem__(self, index: int) -> Array:
        self._asked.add(f"{self._prefix}{index}")
        return self._value

    def __setitem__(self, index: int, value: Array) -> None:
        self._told.add(f"{self._prefix}{index}")


class _Nothing:
    """Blocks that have nothing, and answer every question with it."""

    size = 1
    """There are no clusters."""

    assumes: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self.block_row = np.zeros((1, 1), np.int64)
        self.thread_row = np.zeros((1, LANES), np.int64)

    def special(self, _: str) -> Array:
        return NOTHING

    def load(self, *asked: Any) -> Array:
        size = int(asked[-1])
        shape = (1, LANES)
        return np.zeros(shape if size <= 4 else (*shape, size // 4), _KINDS.get(size, np.uint32))

    def word(self, *_: object) -> Array:
        return NOTHING

    gather = word

    def relocated(self, *_: object) -> int:
        return 0

    def __getattr__(self, name: str) -> Any:
        if name in ("memory", "shared", "local", "constants", "program", "clusters"):
            return self
        return lambda *_, **__: None


_KINDS: Final[dict[int, Any]] = {1: np.uint8, 2: np.uint16, 4: np.uint32}


class _Recorder:
    """A context of one warp that records what is asked of it."""

    def __init__(self, *, unused: bool) -> None:
        self.blocks = self.counters = _Nothing()
        self.rows = self.mask = None
        self._unused = unused
        self.warps = 1
        self.asked: set[str] = set()
        self.told: set[str] = set()
        number, flag = np.zeros((1, LANES), np.uint32), np.ones((1, LANES), np.bool_)
        self.r = _Record("R", number, self.asked, self.told)
        self.p = _Record("P", flag, self.asked, self.told)
        self.u = _Record("UR", number[:, :1], self.asked, self.told)
        self.q = _Record("UP", flag[:, :1], self.asked, self.told)

    def active(self, _: Array | None) -> None:
        """All threads take part, so that nothing is left out."""

    def every(self, values: Array) -> Array:
        return np.broadcast_to(values, (1, LANES))

    def of_warps(self, values: Array) -> Array:
        return values

    def is_unused(self, _: Instruction) -> bool:
        return self._unused

    @property
    def here(self) -> Array:
        return self.every(ALWAYS)

    alive = here


def is_of_phases(i: Instruction) -> bool:
    """Whether it is of a barrier in shared memory, or a copy in bulk that one is told of.

    Who waits then depends on what is in memory.
    """
    return i.opcode in (*_PHASES, "UBLKCP") or (i.opcode == "ATOMS" and i.has("ARRIVE"))


def uses_of(i: Instruction) -> Uses:
    """What an instruction reads and writes; all that its operands name where it is not known."""
    make = operations().get(i.opcode)
    guard = _asked_by(guard_of(i)) if i.guard is not None else set()
    partial = i.guard is not None
    if i.opcode in _CONTROL:
        named = _named(i, 2 if i.opcode in _OF_64_BITS else 1)
        return Uses(frozenset(), frozenset(), frozenset(named | guard), True, True)
    if make is None:
        named = _named(i, _WIDEST)
        return Uses(frozenset(), frozenset(), frozenset(named | guard), True, True)
    try:
        with np.errstate(all="ignore"):
            # Under a guard a register is also read to keep what it holds for other threads.
            step = make(replace(i, guard=None))
            lazy, full = _Recorder(unused=True), _Recorder(unused=False)
            step(lazy)  # type: ignore[arg-type]
            step(full)  # type: ignore[arg-type]
    except (TypeError, ValueError, IndexError, StopIteration, NotKnownError, AttributeError):
        named = _named(i, _WIDEST)
        return Uses(frozenset(), frozenset(), frozenset(named | guard), True, True)
    told = lazy.told | full.told
    if i.opcode in MEMORY:
        addressing = lazy.asked | guard
        return Uses(frozenset(told), frozenset(full.asked), frozenset(addressing), partial, False)
    asked = lazy.asked | full.asked
    return Uses(frozenset(told), frozenset(asked), frozenset(guard), partial, False)


def _asked_by(read: Any) -> set[str]:
    recorder = _Recorder(unused=True)
    read(recorder)
    return recorder.asked


def _named(i: Instruction, registers_each: int) -> set[str]:
    """All registers that operands name, each with those behind it that belong to it."""
    found: set[str] = set()
    for each in i.operands:
        registers: list[Register | None] = []
        if isinstance(each, Register):
            registers = [each]
        elif isinstance(each, Address):
            registers = [each.register, each.uniform]
        elif isinstance(each, Constant):
            registers = [each.register]
        elif isinstance(each, Predicate) and each.index != TRUE:
            found.add(f"{'UP' if each.uniform else 'P'}{each.index}")
        for register in registers:
            if register is not None and register.index != ZERO:
                prefix = "UR" if register.uniform else "R"
                found |= {f"{prefix}{register.index + n}" for n in range(registers_each)}
    return found
