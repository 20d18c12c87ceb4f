"""The gate and its baselines from files to results; whoever calls decides where results go."""

from __future__ import annotations

import getpass
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kernelprof.compare.compare import compare
from kernelprof.compare.gate.baseline import read_baseline
from kernelprof.compare.gate.changes import Consent, accepted, baseline_of, calibrated, updated
from kernelprof.compare.gate.judge import judge
from kernelprof.compare.gate.policy import load_policy, policy_here
from kernelprof.compare.sides import load
from kernelprof.errors import UsageError
from kernelprof.tools import ask

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kernelprof.compare.gate.baseline import Baseline
    from kernelprof.model.gate import GateResult


def gate(baseline: str, candidate: str, policy: Path | None = None) -> GateResult:
    """Judge a candidate against a baseline, or against anything that can be compared.

    ``policy`` is a TOML file; without it the ``pyproject.toml`` here counts, if it has a policy.
    """
    rules = load_policy(policy or policy_here())
    return judge(compare(load(baseline), load(candidate)), rules)


def save(capture: str) -> Baseline:
    """A new baseline of a capture. Refuses an inconclusive or a wrong kernel."""
    return baseline_of(load(capture), _now())


def update(
    file: Path, candidate: str, policy: Path | None = None
) -> tuple[GateResult, Baseline | None]:
    """What the gate says, and the candidate in place of the baseline if it passes."""
    old, new = read_baseline(file), load(candidate)
    result = judge(compare(old.snapshot(str(file)), new), load_policy(policy or policy_here()))
    return result, None if result.exit_code else updated(old, new, _now())


def accept(
    file: Path, candidate: str, reason: str, *, kernels: Sequence[str] = (), by: str | None = None
) -> Baseline:
    """The baseline with a candidate that the gate may stop, and who accepted it, when and why.

    ``kernels`` are whole names, none for all of them; ``by`` is whom ``git`` knows otherwise.
    """
    if not reason.strip():
        raise UsageError("--reason is empty", hint="say why, for those who read it in a year")
    consent = Consent(by or _who(), reason.strip(), _now())
    return accepted(read_baseline(file), load(candidate), kernels, consent)


def calibrate(file: Path, captures: Sequence[str]) -> tuple[Baseline, tuple[str, ...]]:
    """The baseline with its noise, by captures of the same code; and kernels in too few of them."""
    return calibrated(read_baseline(file), [load(each) for each in captures])


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
