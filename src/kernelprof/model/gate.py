"""What the gate says: findings with codes, and an outcome for each kernel and for all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, ClassVar, Final

from kernelprof.errors import ExitCode
from kernelprof.model.json_types import JsonStruct, about, added
from kernelprof.model.waiting import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.comparison import Comparison, KernelComparison


class Outcome(StrEnum):
    """The better ones first."""

    PASS = "pass"
    INCONCLUSIVE = "inconclusive"
    REGRESSION = "regression"

    @property
    def severity(self) -> int:
        """The higher, the worse."""
        return list(Outcome).index(self)


class Code(StrEnum):
    """What a finding is about; other people's scripts filter by these."""

    SLOWER = "slower"
    FASTER = "faster"
    TIME_UNDECIDED = "time-undecided"
    TIME_UNKNOWN = "time-unknown"
    COUNTER_WORSE = "counter-worse"
    COUNTER_BETTER = "counter-better"
    COUNTER_MISSING = "counter-missing"
    NOT_COVERED = "not-covered"
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
    FEW_LAUNCHES = "few-launches"
    SAME_CODE = "same-code"
    DAMAGED_CAPTURE = "damaged-capture"
    CHECK_WEAKENED = "check-weakened"
    POLICY_CHANGED = "policy-changed"
    BASELINE_CHANGED = "baseline-changed"


PROPOSED: Final = frozenset({Code.POLICY_CHANGED, Code.BASELINE_CHANGED})
"""Findings of what the change under review would put in place of policy and baseline."""


class GateFinding(JsonStruct, frozen=True):
    """One thing that was found, and what it means for the outcome."""

    code: Annotated[Code, about("For filters in scripts; docs/gate.md lists what each code means.")]
    outcome: Outcome
    text: str
    places: Annotated[
        tuple[SourceLocation, ...],
        added("Source lines that cause the finding, changed lines first; for predictions only."),
    ] = ()


class CounterFinding(GateFinding, frozen=True, kw_only=True):
    """A finding about ``metric``, a counter of a prediction."""

    metric: str


@dataclass(frozen=True, slots=True)
class KernelResult:
    """A kernel's findings, those that decide first, and what follows from them."""

    kernel: KernelComparison
    outcome: Outcome
    findings: tuple[GateFinding, ...]

    @property
    def ignored(self) -> bool:
        """Whether the policy leaves this kernel out."""
        return any(each.code is Code.IGNORED for each in self.findings)


@dataclass(frozen=True, slots=True)
class GateResult:
    """The outcome over all kernels. ``general`` are findings of no single kernel.

    ``inconclusive_passes`` is a policy that lets an inconclusive outcome pass.
    """

    kind: ClassVar[str] = "gate"

    comparison: Comparison
    outcome: Outcome
    kernels: tuple[KernelResult, ...]
    general: tuple[GateFinding, ...] = ()
    inconclusive_passes: bool = False

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of ``kernelprof gate``."""
        if self.outcome is Outcome.REGRESSION:
            return ExitCode.REGRESSION
        if self.outcome is Outcome.INCONCLUSIVE and not self.lets_pass:
            return ExitCode.INCONCLUSIVE
        return ExitCode.DONE

    @property
    def proposed(self) -> tuple[GateFinding, ...]:
        """What the change under review would alter in the policy and the baseline."""
        return tuple(each for each in self.general if each.code in PROPOSED)

    @property
    def lets_pass(self) -> bool:
        """Whether an inconclusive outcome passes.

        No policy lets a change of itself or of the baseline pass: somebody accepts that.
        """
        stopped = any(each.outcome is not Outcome.PASS for each in self.proposed)
        return self.inconclusive_passes and not stopped

    @property
    def deciding(self) -> tuple[KernelResult, ...]:
        """The kernels that make the outcome what it is; none where all pass."""
        if self.outcome is Outcome.PASS:
            return ()
        # Where the policy fails what is inconclusive, nothing is as bad as the whole.
        worst = Outcome.INCONCLUSIVE if self.fails_inconclusive else self.outcome
        return tuple(each for each in self.kernels if each.outcome is worst)

    @property
    def fails_inconclusive(self) -> bool:
        """Whether the policy made a regression of what is only inconclusive."""
        outcomes = (worst_outcome(self.kernels), worst_outcome(self.general))
        return self.outcome is Outcome.REGRESSION and Outcome.REGRESSION not in outcomes


def worst_outcome(results: Iterable[KernelResult | GateFinding]) -> Outcome:
    """The worst outcome of kernels or findings; a pass without any."""
    outcomes = (each.outcome for each in results)
    return max(outcomes, key=lambda each: each.severity, default=Outcome.PASS)
