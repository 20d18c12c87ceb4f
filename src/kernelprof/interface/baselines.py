"""Baselines: what the gate holds candidates against, read, made and accepted."""

from __future__ import annotations

import getpass
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.errors import UsageError
from kernelprof.interface import side
from kernelprof.results import Capture, as_result
from kernelprof.tools import ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.comparison.gate.baseline import Baseline
    from kernelprof.comparison_results import GateResult
    from kernelprof.results import PathLike


def read(file: PathLike) -> Baseline:
    """The baseline in a file."""
    from kernelprof.comparison.gate.baseline import read_baseline

    return read_baseline(Path(file))


def text(baseline: Baseline) -> str:
    """A baseline as its file holds it."""
    from kernelprof.comparison.gate.baseline import to_text

    return to_text(baseline)


def save(capture: PathLike | Capture) -> Baseline:
    """A new baseline of a capture. Refuses an inconclusive or a wrong kernel."""
    from kernelprof.comparison.gate.changes import baseline_of

    return baseline_of(side(capture), _now())


def update(
    file: PathLike, candidate: PathLike | Capture, policy: PathLike | None = None
) -> tuple[GateResult, Baseline | None]:
    """What the gate says, and the candidate in place of the baseline if it passes."""
    from kernelprof.comparison.compare import compare
    from kernelprof.comparison.gate.changes import updated
    from kernelprof.comparison.gate.judge import judge
    from kernelprof.comparison.gate.policy import load_policy
    from kernelprof.comparison_results import GateResult

    old, new = read(file), side(candidate)
    result = judge(compare(old.snapshot(os.fspath(file)), new), load_policy(policy))
    return as_result(GateResult, result), None if result.exit_code else updated(old, new, _now())


def accept(
    file: PathLike,
    candidate: PathLike | Capture,
    reason: str,
    *,
    kernels: Sequence[str] = (),
    by: str | None = None,
) -> Baseline:
    """The baseline with a candidate that the gate may stop, and who accepted it, when and why.

    ``kernels`` are whole names, none for all of them; ``by`` is whom ``git`` knows otherwise.
    """
    from kernelprof.comparison.gate.changes import accepted
    from kernelprof.model.snapshot import Acceptance

    new = side(candidate)
    if not reason.strip():
        raise UsageError("--reason is empty", hint="say why, for those who read it in a year")
    consent = Acceptance("", _now(), by or _who(), reason.strip())
    return accepted(read(file), new, kernels, consent)


def calibrate(
    file: PathLike, captures: Sequence[PathLike | Capture]
) -> tuple[Baseline, tuple[str, ...]]:
    """The baseline with its noise, by captures of the same code; and kernels in too few of them."""
    from kernelprof.comparison.gate.changes import calibrated

    repeats = [side(each) for each in captures]
    return calibrated(read(file), repeats)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _who() -> str:
    """The committer's name as git has it, else the user's; a container may know none."""
    answer = ask("git", "config", "user.name")
    if answer and answer.stdout.strip():
        return answer.stdout.strip()
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
