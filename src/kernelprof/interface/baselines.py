"""Baselines: what the gate holds candidates against, read, made and accepted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelprof.interface import side
from kernelprof.results import Capture, as_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.comparison.gate.baseline import Baseline
    from kernelprof.comparison_results import GateResult
    from kernelprof.results import PathLike


def read(file: PathLike, *, migrate: bool = False) -> Baseline:
    """The baseline in a file; with ``migrate`` one of an older schema as well."""
    from kernelprof.comparison.gate.baseline import read_baseline as found

    return found(Path(file), migrate=migrate)


def text(baseline: Baseline) -> str:
    """A baseline as its file holds it."""
    from kernelprof.comparison.gate.baseline import to_text

    return to_text(baseline)


def save(capture: PathLike | Capture) -> Baseline:
    """A new baseline of a capture. Refuses an inconclusive or a wrong kernel."""
    from kernelprof.comparison.gate import run

    return run.save(side(capture))


def update(
    file: PathLike, candidate: PathLike | Capture, policy: PathLike | None = None
) -> tuple[GateResult, Baseline | None]:
    """What the gate says, and the candidate in place of the baseline if it passes."""
    from kernelprof.comparison.gate import run
    from kernelprof.comparison_results import GateResult

    result, made = run.update(Path(file), side(candidate), policy)
    return as_result(GateResult, result), made


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
    from kernelprof.comparison.gate import run

    return run.accept(Path(file), side(candidate), reason, kernels=kernels, by=by)


def calibrate(
    file: PathLike, captures: Sequence[PathLike | Capture]
) -> tuple[Baseline, tuple[str, ...]]:
    """The baseline with its noise, by captures of the same code; and kernels in too few of them."""
    from kernelprof.comparison.gate import run

    return run.calibrate(Path(file), [side(each) for each in captures])
