"""Launches of one kernel with one launch configuration and one verdict are one entry.

They are put together after each was judged on its own: averaging first would hide a launch that
behaves differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.model.capture import Launches
from kernelprof.model.diagnosis import Spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from kernelprof.analysis.verdict.judge import Answers
    from kernelprof.model.capture import Launch

    FloatArray = npt.NDArray[np.float64]
    IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of the capture that form one entry, and the row that stands for them."""

    rows: tuple[int, ...]
    representative: int
    gain: float
    """The median of what the first rule promises for certain."""
    duration: Spread | None
    share: float | None
    mixed: bool
    """Whether other launches of the same configuration have another verdict."""


def group_launches(launches: Sequence[Launch], answers: Answers) -> list[Group]:
    """Entries, the ones that took most time first (capture order where durations are missing)."""
    configuration = Launches.of(launches).codes_by(_configuration)
    verdict = 2 * np.where(answers.decided, answers.winner + 1, 0) + answers.at_limit
    both = configuration * (int(verdict.max()) + 1) + verdict
    _, entry = np.unique(both, return_inverse=True)
    entries = np.split(np.argsort(entry, kind="stable"), np.cumsum(np.bincount(entry))[:-1])
    verdicts = np.bincount([configuration[rows[0]] for rows in entries])
    total = float(answers.duration.sum())
    groups = [
        _group(rows, answers, total, mixed=verdicts[configuration[rows[0]]] > 1) for rows in entries
    ]
    return sorted(groups, key=lambda g: (-(g.share or 0.0), g.rows[0]))


def _group(rows: IntArray, answers: Answers, total: float, *, mixed: bool) -> Group:
    times = answers.duration[rows]
    known = not np.isnan(times).any()
    return Group(
        rows=tuple(rows.tolist()),
        representative=_middle(rows, times),
        gain=_median(answers.gain[rows]),
        duration=Spread(_median(times), float(times.min()), float(times.max())) if known else None,
        share=float(times.sum()) / total if known and total > 0 else None,
        mixed=mixed,
    )


def _configuration(launch: Launch) -> tuple[object, ...]:
    return (launch.kernel, launch.grid, launch.block, launch.device, launch.compute_capability)


def _median(values: FloatArray) -> float:
    """As ``np.median``, which loads ``numpy.ma`` to look for what these values never are: NaN."""
    in_order = np.sort(values)
    return float((in_order[(len(values) - 1) // 2] + in_order[len(values) // 2]) / 2)


def _middle(rows: IntArray, times: FloatArray) -> int:
    """The launch with the median duration: a real one, so that its evidence belongs together."""
    if np.isnan(times).any():
        return int(rows[0])
    return int(rows[np.argsort(times, kind="stable")[(len(rows) - 1) // 2]])
