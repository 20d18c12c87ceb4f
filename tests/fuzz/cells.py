"""Single values of captures multiplied: no other verdict may follow with high confidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.verdict import diagnose
from kernelprof.model.diagnosis import Confidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Verdict

C = TypeVar("C", bound="Capture")
FACTORS = (0.0, 1e-300, 10.0, 1000.0, 1e12)


@dataclass(frozen=True)
class Flip:
    """A launch that got another verdict with high confidence."""

    row: int
    column: str
    factor: float
    before: Verdict
    after: Verdict


def verdicts(capture: Capture) -> dict[int, Verdict]:
    """The verdict of each launch."""
    return {row: each.verdict for each in diagnose(capture).kernels for row in each.rows}


def columns_read(capture: Capture) -> list[str]:
    """The columns of a capture that a rule can read."""
    names = {name for each in load_metrics().values() for name in each.all_ncu_names()}
    return sorted(names & capture.columns.keys())


def find_flips(capture: Capture, columns: Iterable[str]) -> tuple[int, list[Flip]]:
    """How many values of these columns were multiplied, and what flipped."""
    before = verdicts(capture)
    tried, flips = 0, list[Flip]()
    for name in columns:
        for factor in FACTORS:
            tried += len(before)
            flips += _flips(capture, before, name, factor)
    return tried, flips


def scaled(capture: C, name: str, factor: float) -> C:
    """The capture with a column multiplied."""
    column = capture.columns[name]
    changed = replace(column, values=column.values * factor)
    return replace(capture, columns={**capture.columns, name: changed})


def _flips(
    capture: Capture, before: dict[int, Verdict], name: str, factor: float
) -> Iterator[Flip]:
    # Launches are judged each by its own values: all rows at once are as many single cells.
    for row, after in verdicts(scaled(capture, name, factor)).items():
        if after.confidence is Confidence.HIGH and after.answer != before[row].answer:
            yield Flip(row, name, factor, before[row], after)
