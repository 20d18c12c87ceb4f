"""What a change under review would put in place of policy and baseline: read, not believed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.comparison.gate.policy import PROJECT, Policy, load_policy
from kernelprof.comparison.gate.proposed import (
    Missing,
    attempt,
    baseline_findings,
    policy_findings,
)
from kernelprof.errors import UsageError
from kernelprof.model.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.model.gate import Finding
    from kernelprof.results import PathLike, Side


@dataclass(frozen=True, slots=True)
class Proposal:
    """The two files, ``None`` for what is not proposed; ``accepted`` where they are to judge.

    ``side`` reads a side of a comparison.
    """

    side: Callable[[Side], Snapshot]
    baseline: PathLike | None
    policy: PathLike | None
    accepted: bool = False

    def trusted(self, baseline: Side) -> Snapshot:
        """The side that is not the change's; one without kernels where there is none yet."""
        if self.baseline is None or not isinstance(baseline, str | os.PathLike):
            return self.side(baseline)
        first = _is_there(self.baseline) and not _is_there(baseline)
        return Snapshot(os.fspath(baseline)) if first else self.side(baseline)

    def findings(self, trusted: Snapshot, rules: Policy) -> tuple[Finding, ...]:
        """What differs from the trusted two. Raises :class:`UsageError` if nothing is proposed."""
        if self.accepted and self.baseline is None and self.policy is None:
            raise UsageError(
                "there is nothing to accept",
                hint="name what the change proposes: --proposed-baseline, --proposed-policy",
            )
        found: list[Finding] = []
        if (policy := self.policy) is not None:
            proposed = attempt(lambda: _policy(policy))
            found += policy_findings(rules, proposed, accepted=self.accepted)
        if (baseline := self.baseline) is not None:
            held = attempt(lambda: self.side(baseline)) if _is_there(baseline) else Missing()
            found += baseline_findings(trusted, held, accepted=self.accepted)
        return tuple(found)

    def chosen(self, trusted: Snapshot, rules: Policy) -> tuple[Snapshot, Policy]:
        """What judges: the trusted two, unless the proposed ones are accepted."""
        if not self.accepted:
            return trusted, rules
        baseline = trusted if self.baseline is None else self.side(self.baseline)
        if self.policy is None:
            return baseline, rules
        policy = _policy(self.policy)
        if isinstance(policy, Missing):
            raise UsageError(
                "the policy that is accepted does not exist",
                where=os.fspath(self.policy),
                hint="to judge without one, leave out --policy and --proposed-policy",
            )
        return baseline, policy


def _is_there(path: PathLike) -> bool:
    """Whether there is anything, if only a link to nowhere, which is to be refused as such."""
    return os.path.lexists(path)


def _policy(path: PathLike) -> Policy | Missing:
    """A project's settings need not be there; a policy that is nothing else does."""
    if _is_there(path):
        return load_policy(path)
    return Policy() if Path(path).name == PROJECT else Missing()
