"""What the gate says: findings with codes, and an outcome for each kernel and for all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernelprof.model.comparison import Comparison, KernelComparison


class Outcome(StrEnum):
    """The better ones first."""

    PASS = "pass"
    INCONCLUSIVE = "inconclusive"
    REGRESSION = "regression"


class Code(StrEnum):
    """Why something is told; other people's scripts filter by these."""

    SLOWER = "slower"
    FASTER = "faster"
    TIME_UNDECIDED = "time-undecided"
    TIME_UNKNOWN = "time-unknown"
    COUNTER_WORSE = "counter-worse"
    COUNTER_BETTER = "counter-better"
    COUNTER_MISSING = "counter-missing"
    OVER_BUDGET = "over-budget"
    BUDGET_UNKNOWN = "budget-unknown"
    NEW_BOTTLENECK = "new-bottleneck"
    LEFT_LIMIT = "left-limit"
    VERDICT_CHANGED = "verdict-changed"
    VERDICT_INCONCLUSIVE = "verdict-inconclusive"
    OTHER_WORK = "other-work"
    WRONG_RESULT = "wrong-result"
    VANISHED = "vanished"
    APPEARED = "appeared"
    RENAMED = "renamed"
    LAUNCHED_MORE = "launched-more"
    SEVERAL_CHANGES = "several-changes"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found, and what it means for the outcome. ``text`` is one sentence."""

    code: Code
    outcome: Outcome
    text: str


@dataclass(frozen=True, slots=True)
class KernelResult:
    """A kernel's findings, those that decide first, and what follows from them."""

    kernel: KernelComparison
    outcome: Outcome
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class GateResult:
    """The outcome over all kernels. ``general`` are findings of no single kernel."""

    comparison: Comparison
    outcome: Outcome
    kernels: tuple[KernelResult, ...]
    general: tuple[Finding, ...] = ()
    inconclusive_passes: bool = False
