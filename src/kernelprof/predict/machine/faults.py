"""What a kernel does that it must not: which instruction, on which line, by which threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof.errors import KernelprofError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.predict.machine.arrays import Array
    from kernelprof.predict.sass.listing import Instruction

    Dim3 = tuple[int, int, int]

_NAMED: Final = 8
"""Threads that an error names at most."""
_KINDS: Final = {"LD": "a load", "ST": "a store", "AT": "an atomic", "RE": "an atomic"}


class Place(NamedTuple):
    """A thread of the grid."""

    block: Dim3
    thread: Dim3

    def __str__(self) -> str:
        return f"thread {self.thread} of block {self.block}"


class FaultError(KernelprofError):
    """The kernel goes wrong.

    ``lanes`` are the threads that do, as pairs of a row and a lane of those at the instruction;
    :meth:`happened` says what that means in the grid.
    """

    def __init__(self, what: str, lanes: Array) -> None:
        super().__init__(what)
        self.lanes = lanes
        self.instruction: Instruction | None = None
        self.places: tuple[Place, ...] = ()
        """The first of the threads."""

    def happened(self, instruction: Instruction, places: Sequence[Place]) -> None:
        """Say at which instruction, and to which threads."""
        self.instruction = instruction
        self.places = tuple(places[:_NAMED])
        self.what = self.sentence()
        self.args = (self.what,)
        if instruction.line is not None:
            self.where = f"{instruction.line.file}:{instruction.line.number}"

    def sentence(self) -> str:
        """What happened, and to whom."""
        return f"{self.what} ({self.places[0]})" if self.places else self.what


class OutsideError(FaultError):
    """An access that leaves what the kernel was given, or is not aligned to its size.

    ``addresses`` are those of its threads; ``what`` begins with a verb.
    """

    def __init__(self, what: str, lanes: Array, addresses: Array) -> None:
        super().__init__(what, lanes)
        self.addresses = addresses

    def sentence(self) -> str:
        """Which access it is, of which thread, and what is wrong with it."""
        opcode = "" if self.instruction is None else self.instruction.opcode
        kind = "a copy" if opcode == "LDGSTS" else _KINDS.get(opcode[:2], "an access")
        whom = f" by {self.places[0]}" if self.places else ""
        return f"{kind}{whom} {self.what}"


class TrapError(FaultError):
    """The kernel stops itself: ``__trap()``, or an assertion that does not hold."""


class DeadlockError(KernelprofError):
    """No thread can go on, and not all have ended."""


class EndlessError(KernelprofError):
    """More was carried out than a limit allows."""
