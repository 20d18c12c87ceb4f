"""The gate and its baselines from files to results; whoever calls decides where results go."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelprof.comparison.compare import compare
from kernelprof.comparison.gate.baseline import read_baseline
from kernelprof.comparison.gate.changes import Consent, accepted, baseline_of, calibrated, updated
from kernelprof.comparison.gate.judge import judge
from kernelprof.comparison.gate.policy import load_policy, policy_here, policy_of
from kernelprof.errors import UsageError
from kernelprof.tools import ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.comparison.gate.baseline import Baseline
    from kernelprof.model.gate import GateResult
    from kernelprof.model.snapshot import Snapshot


def gate(
    baseline: Snapshot,
    candidate: Snapshot,
    policy: str | os.PathLike[str] | Mapping[str, Any] | None = None,
) -> GateResult:
    """Judge a candidate against a baseline.

    ``policy`` is a TOML file or its content; without it the ``pyproject.toml`` here counts, if it
    has a policy.
    """
    if isinstance(policy, Mapping):
        rules = policy_of(policy)
    else:
        rules = load_policy(policy_here() if policy is None else Path(policy))
    return judge(compare(baseline, candidate), rules)


def save(capture: Snapshot) -> Baseline:
    """A new baseline of a capture. Refuses an inconclusive or a wrong kernel."""
    return baseline_of(capture, _now())


def update(
    file: Path, candidate: Snapshot, policy: str | os.PathLike[str] | None = None
) -> tuple[GateResult, Baseline | None]:
    """What the gate says, and the candidate in place of the baseline if it passes."""
    old = read_baseline(file)
    result = gate(old.snapshot(str(file)), candidate, policy)
    return result, None if result.exit_code else updated(old, candidate, _now())


def accept(
    file: Path,
    candidate: Snapshot,
    reason: str,
    *,
    kernels: Sequence[str] = (),
    by: str | None = None,
) -> Baseline:
    """The baseline with a candidate that the gate may stop, and who accepted it, when and why.

    ``kernels`` are whole names, none for all of them; ``by`` is whom ``git`` knows otherwise.
    """
    if not reason.strip():
        raise UsageError("--reason is empty", hint="say why, for those who read it in a year")
    consent = Consent(by or _who(), reason.strip(), _now())
    return accepted(read_baseline(file), candidate, kernels, consent)


def calibrate(file: Path, captures: Sequence[Snapshot]) -> tuple[Baseline, tuple[str, ...]]:
    """The baseline with its noise, by captures of the same code; and kernels in too few of them."""
    return calibrated(read_baseline(file), captures)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _who() -> str:
    """The committer's name as git has it, else the user's."""
    answer = ask("git", "config", "user.name")
    return (answer.stdout.strip() if answer else "") or _user()


def _user() -> str:
    """The name of whoever is logged in; a container may know none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
