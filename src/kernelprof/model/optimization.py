"""What came of proposals for a kernel: plain values that every output reads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from kernelprof.model.diagnosis import Verdict
    from kernelprof.model.gate import Outcome


class Basis(StrEnum):
    """What decided whether a proposal is kept."""

    MEASURED = "measured"
    """Times and counters of this machine's GPU."""
    RECORDED = "recorded"
    """Those of captures that ship with the package."""
    PREDICTED = "predicted"
    """What the machine code counts; no time was measured."""


class Decision(StrEnum):
    """What became of a proposal."""

    ACCEPTED = "kept"
    NOT_BETTER = "not better"
    WRONG = "wrong"
    """It does not compile, gives a wrong result, faults or never ends."""
    UNDECIDED = "undecided"
    """It could not be measured or predicted here, or the gate is inconclusive."""
    REFUSED = "refused"
    """It changes what it is judged by."""
    FAILED = "failed"
    """The command failed, took too long, or left no source."""
    NOTHING = "nothing"
    """The command left the source as it was."""


class Ended(StrEnum):
    """Why no more proposals were asked for."""

    AT_LIMIT = "at its limit"
    ROUNDS = "rounds"
    BUDGET = "budget"
    NOTHING = "nothing proposed"
    TAMPERED = "files changed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One proposal.

    ``reason`` says in a sentence why it was decided so. ``gate`` is the gate's outcome where it was
    asked, ``ratio`` the time after over that before where both were measured, ``verdict`` that of
    the proposed kernel. ``diff`` is against the source that the command was given, ``printed`` the
    last that it printed.
    """

    number: int
    decision: Decision
    reason: str
    seconds: float
    gate: Outcome | None = None
    ratio: float | None = None
    verdict: Verdict | None = None
    diff: str = ""
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Optimization:
    """What was tried for one kernel, and the best source of it.

    ``first`` and ``last`` are the verdicts of the kernel as it was and as it is now, ``diff`` what
    lies between, and ``text`` the best source. ``limit`` is the number that ended it, of rounds or
    of seconds. ``notes`` qualify what was checked. ``changed`` are files of the kernel that
    something else changed meanwhile, and ``saved`` a folder that has them as they were.
    """

    kind: ClassVar[str] = "optimization"

    source: str
    command: str
    basis: Basis
    ended: Ended
    attempts: tuple[Attempt, ...]
    first: Verdict
    last: Verdict
    text: str
    original: str
    diff: str
    seconds: float
    limit: float | None = None
    notes: tuple[str, ...] = ()
    applied: bool = False
    changed: tuple[str, ...] = ()
    saved: str = ""

    @property
    def accepted(self) -> tuple[Attempt, ...]:
        """The proposals that are in the best source."""
        return tuple(each for each in self.attempts if each.decision is Decision.ACCEPTED)

    @property
    def ratio(self) -> float | None:
        """The time of the best over that of the original; ``None`` where none was measured."""
        ratios = [each.ratio for each in self.accepted if each.ratio is not None]
        if not ratios or len(ratios) < len(self.accepted):
            return None
        return math.prod(ratios)
