"""Baselines: what the gate holds candidates against, read, made and accepted.

What changes a baseline takes a function that writes its file: it is then read, changed and written
under one lock, so that of two that change it at a time neither loses what the other wrote. Without
the function nothing is written.
"""

from __future__ import annotations

import getpass
import os
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from kernelprof.errors import UsageError
from kernelprof.interface.changes import load_side
from kernelprof.model.diagnosis import Status
from kernelprof.results import Capture, as_result
from kernelprof.tools import ask, git_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kernelprof.collect.progress import Progress
    from kernelprof.comparison.gate.baseline import Baseline
    from kernelprof.comparison_results import GateResult
    from kernelprof.interface.changes import Say
    from kernelprof.interface.requests import BaselineOptions
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot
    from kernelprof.results import PathLike, Side

    Write = Callable[[str, Path], object]
    Keep = Callable[[Baseline], Baseline]


def read(file: PathLike) -> Baseline:
    """The baseline in a file."""
    from kernelprof.comparison.gate.baseline import read_baseline

    return read_baseline(Path(file))


def text(baseline: Baseline) -> str:
    """A baseline as its file holds it."""
    from kernelprof.comparison.gate.baseline import to_text

    return to_text(baseline)


def save(
    captures: Side,
    *,
    progress: Progress | None = None,
    warn: Say = lambda _: None,
    **options: Unpack[BaselineOptions],
) -> Baseline:
    """A new baseline of a capture, or of several runs of the same code.

    Refuses a wrong kernel, a capture that is not whole, and one that decides too little, each
    unless the policy allows it. ``warn`` gets what is wrong with the capture. With ``predict`` it
    is one of sources, a kernel each, for each of the architectures ``arch``.
    """
    from kernelprof.comparison import pairs
    from kernelprof.comparison.gate.baseline import make_baseline
    from kernelprof.comparison.gate.policy import load_policy
    from kernelprof.interface.predicted_sides import SourcePredictor

    kernels = options.get("kernels", ())
    predictor = SourcePredictor(options.get("arch"), progress, kernels)
    predicted = predictor.side(captures, predict=options.get("predict", False))
    snapshot = pairs.select_kernels(predicted or load_side(captures), kernels)
    made = make_baseline(snapshot, _now(), load_policy(options.get("policy")))
    for sentence in snapshot.warnings:
        warn(sentence)
    for kernel in made.kernels:
        if kernel.verdict.status is Status.INCONCLUSIVE and kernel.predicted is None:
            warn(
                f"{kernel.name}: its verdict is inconclusive; `gate` judges only its time and "
                "counters"
            )
    return made


@contextmanager
def _changing(file: PathLike, write: Write | None) -> Iterator[tuple[Baseline, Keep]]:
    """The baseline in a file, and what keeps another one there; nobody else has it meanwhile."""
    from kernelprof.locks import held

    def keep(made: Baseline) -> Baseline:
        if write is not None:
            write(text(made), Path(file))
        return made

    with nullcontext() if write is None else held(Path(file)):
        yield read(file), keep


def update(
    file: PathLike,
    candidate: Side,
    policy: PathLike | None = None,
    *,
    progress: Progress | None = None,
    write: Write | None = None,
) -> tuple[GateResult, Baseline | None]:
    """What the gate says, and the candidate in place of the baseline if it passes.

    Sources are predicted, for a baseline that holds predictions.
    """
    from kernelprof.comparison.compare import compare_snapshots
    from kernelprof.comparison.gate.baseline import add_kernels, update
    from kernelprof.comparison.gate.judge import judge_comparison
    from kernelprof.comparison.gate.policy import load_policy
    from kernelprof.comparison_results import GateResult

    new, limits = _candidate(file, candidate, progress), load_policy(policy)
    with _changing(file, write) as (old, keep):
        own, others = _apart(old, new, file, candidate)
        result = judge_comparison(compare_snapshots(own.snapshot(os.fspath(file)), new), limits)
        made = None
        if not result.exit_code:
            made = keep(add_kernels(update(own, new, _now(), limits), others))
    return as_result(GateResult, result), made


def accept(
    file: PathLike,
    candidate: Side,
    reason: str,
    *,
    kernels: Sequence[str] = (),
    by: str | None = None,
    progress: Progress | None = None,
    write: Write | None = None,
) -> Baseline:
    """The baseline with a candidate that the gate may stop, and who accepted it, when and why.

    ``kernels`` are whole names, none for all of them; ``by`` is whom ``git`` knows otherwise.
    Sources are predicted, for a baseline that holds predictions.
    """
    from kernelprof.comparison.gate.baseline import accept, add_kernels
    from kernelprof.model.snapshot import Acceptance

    new = _candidate(file, candidate, progress)
    if not reason.strip():
        raise UsageError("--reason is empty", hint="give a reason that still makes sense in a year")
    consent = Acceptance("", _now(), by or _who(), reason.strip())
    with _changing(file, write) as (old, keep):
        own, others = _apart(old, new, file, candidate)
        return keep(add_kernels(accept(own, new, kernels, consent), others))


def _apart(
    baseline: Baseline, new: Snapshot, file: PathLike, candidate: Side
) -> tuple[Baseline, tuple[KernelSnapshot, ...]]:
    """A baseline without kernels of sources that are not named, and these: they stay in it."""
    from kernelprof.interface import predicted_sides

    held = baseline.snapshot(os.fspath(file))
    own, others = predicted_sides.held_against(held, new, candidate)
    return replace(baseline, kernels=own.kernels), others


def _candidate(file: PathLike, candidate: Side, progress: Progress | None) -> Snapshot:
    """What is to stand in a baseline: counts of its own, also where the code is the same."""
    from kernelprof.comparison.sides import check_alike
    from kernelprof.interface.predicted_sides import SourcePredictor

    held = read(file).snapshot(os.fspath(file))
    predicted = SourcePredictor(progress=progress).candidate(held, candidate, run=True)
    if predicted is not None:
        return predicted
    measured = load_side(candidate)
    check_alike(held, measured)
    return measured


def calibrate(
    file: PathLike, captures: Sequence[PathLike | Capture], *, write: Write | None = None
) -> tuple[Baseline, tuple[str, ...]]:
    """The baseline with its noise, by captures of the same code; and kernels in too few of them."""
    from kernelprof.comparison.gate.baseline import calibrate_noise

    repeats = [load_side(each) for each in captures]
    with _changing(file, write) as (old, keep):
        made, without = calibrate_noise(old, repeats)
        return keep(made), without


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _who() -> str:
    """The committer's name as git has it, else the user's; a container may know none."""
    git = git_command(Path())
    answer = ask(*git, "config", "user.name") if git else None
    if answer and answer.stdout.strip():
        return answer.stdout.strip()
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
