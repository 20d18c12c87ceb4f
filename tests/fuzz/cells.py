"""Single values of captures multiplied: no other verdict may follow with high confidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.verdict import diagnose
from kernelprof.model.diagnosis import Confidence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Verdict

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


def find_flips(capture: Capture, columns: slice = slice(None)) -> tuple[int, list[Flip]]:
    """How many values were multiplied, and what flipped: of all columns that a rule can read."""
    names = {name for each in load_metrics().values() for name in each.all_ncu_names()}
    before = verdicts(capture)
    read = sorted(names & capture.columns.keys())[columns]
    flips = [
        flip
        for name in read
        for factor in FACTORS
        for flip in _flips(capture, before, name, factor)
    ]
    return len(read) * len(FACTORS) * len(before), flips


def _flips(
    capture: Capture, before: dict[int, Verdict], name: str, factor: float
) -> Iterator[Flip]:
    column = capture.columns[name]
    # Launches are judged each by its own values: all rows at once are as many single cells.
    changed = replace(column, values=column.values * factor)
    for row, after in verdicts(
        replace(capture, columns={**capture.columns, name: changed})
    ).items():
        if after.confidence is Confidence.HIGH and after.answer != before[row].answer:
            yield Flip(row, name, factor, before[row], after)
