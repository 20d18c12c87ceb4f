"""What a kernel does that it must not: which instruction, on which line, by which threads."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from sassim.errors import SassimError
from sassim.opcodes import find_opcode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sassim.interpreter.lanes import Array
    from sassim.sass.listing import Instruction

    Dim3 = tuple[int, int, int]

_MOST_THREADS: Final = 8
"""Threads that an error names at most."""
_KINDS: Final = {"LD": "a load", "ST": "a store", "AT": "an atomic", "RE": "an atomic"}
FOR_PHASE: Final = "for a phase of an mbarrier"
"""What threads wait for at a barrier in shared memory."""


class ThreadId(NamedTuple):
    """A thread of the grid."""

    block: Dim3
    thread: Dim3

    def __str__(self) -> str:
        return f"thread {self.thread} of block {self.block}"


class FaultLocation(NamedTuple):
    """A thread at an instruction."""

    instruction: Instruction
    place: ThreadId


class FaultError(SassimError):
    """The kernel goes wrong.

    ``lanes`` are the threads that do, as pairs of a row and a lane of those at the instruction;
    :meth:`happened` gives their place in the grid.
    """

    tool: ClassVar[str] = "memcheck"
    """The tool of ``compute-sanitizer`` that tells the same on a GPU."""

    def __init__(self, what: str, lanes: Array | None = None) -> None:
        super().__init__(what)
        self.diagnosis = what
        """The diagnosis without the place."""
        self.lanes = lanes
        self.instruction: Instruction | None = None
        self.places: tuple[ThreadId, ...] = ()
        """The first of the threads."""

    def happened(self, instruction: Instruction, places: Iterable[ThreadId]) -> None:
        """Say at which instruction, and to which threads."""
        self.instruction = instruction
        self.places = tuple(islice(places, _MOST_THREADS))
        self.what = self.sentence()
        self.args = (self.what,)
        if instruction.line is not None:
            self.where = f"{instruction.line.file}:{instruction.line.number}"

    def sentence(self) -> str:
        """What happened, and to whom."""
        return f"{self.what} ({self.places[0]})" if self.places else self.what


class AccessError(FaultError):
    """An access that may not be.

    ``addresses`` are those of its threads, each of ``size`` bytes in global, shared, local or
    constant memory, its ``space``; ``what`` begins with a verb.
    """

    def __init__(self, what: str, lanes: Array, addresses: Array, *, space: str, size: int) -> None:
        super().__init__(what, lanes)
        self.addresses = addresses
        self.space = space
        self.size = size

    def sentence(self) -> str:
        """Which access it is, of which thread, and what is wrong with it."""
        opcode = "" if self.instruction is None else self.instruction.opcode
        kind = (
            "a copy"
            if find_opcode(opcode).category == "copy"
            else _KINDS.get(opcode[:2], "an access")
        )
        whom = f" by {self.places[0]}" if self.places else ""
        return f"{kind}{whom} {self.what}"


class OutOfBoundsError(AccessError):
    """An access that leaves what the kernel was given."""


class MisalignedError(OutOfBoundsError):
    """An access to an address that its size does not divide."""


class UninitializedReadError(AccessError):
    """A read of what nothing was written to before."""

    tool = "initcheck"


class RaceError(FaultError):
    """Two threads that touch the same bytes of shared memory with no barrier between.

    ``one`` changes them. The first of them is at ``address``; the block's threads race for
    ``size``. With ``copies`` it copies them (``cp.async``), and did not wait for that.
    """

    tool = "racecheck"

    def __init__(
        self,
        one: FaultLocation,
        other: FaultLocation,
        *,
        address: int,
        size: int,
        copies: bool = False,
    ) -> None:
        super().__init__(f"races on {size} bytes of shared memory with {other.place}")
        self.one = one
        self.other = other
        self.address = address
        self.size = size
        self.copies = copies
        self.happened(one.instruction, [one.place])


class BarrierError(FaultError):
    """A barrier that threads of a warp, or of a block, do not come to together.

    ``here`` is a thread that comes, ``there`` another that waits elsewhere; or ``missing`` one that
    does not come.
    """

    tool = "synccheck"

    def __init__(
        self,
        what: str,
        here: FaultLocation,
        *,
        there: FaultLocation | None = None,
        missing: ThreadId | None = None,
    ) -> None:
        super().__init__(what)
        self.here = here
        self.there = there
        self.missing = missing
        self.happened(here.instruction, [here.place])


class TrapError(FaultError):
    """The kernel stops itself: ``__trap()``, or an assertion that does not hold."""


class BlockedThreads(NamedTuple):
    """Threads that wait, the first of them at its instruction."""

    kind: str
    threads: int
    first: FaultLocation


class DeadlockError(FaultError):
    """All threads that have not ended wait for each other."""

    tool = "synccheck"

    def __init__(self, waiting: Sequence[BlockedThreads], ended: int) -> None:
        parts = [f"{each.threads} wait {each.kind}{_format_line(each.first)}" for each in waiting]
        if ended:
            parts.append(f"{ended} have ended")
        super().__init__(f"threads wait for others that never arrive: {', '.join(parts)}")
        self.waiting = tuple(waiting)
        self.ended = ended


class WatchdogError(FaultError):
    """The kernel does not end; ``what`` has the reason."""

    tool = "synccheck"

    def __init__(self, what: str, at: FaultLocation) -> None:
        super().__init__(what)
        self.happened(at.instruction, [at.place])


def _format_line(at: FaultLocation) -> str:
    line = at.instruction.line
    return "" if line is None else f" (line {line.number})"
