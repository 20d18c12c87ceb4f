"""Every launch judged on its own, then put together into entries.

Launches of one kernel with one launch configuration and one verdict are one entry. Averaging first
would hide a launch that behaves differently.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.verdict.ranking import judge
from kernelprof.model.capture import Launches
from kernelprof.model.diagnosis import Spread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from kernelprof.analysis.verdict.ranking import Judgement
    from kernelprof.model.capture import Capture, Launch

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]
    IntArray = npt.NDArray[np.intp]

BLOCK: Final = 14336
"""Launches that are judged together; their intermediate values take 110 MB."""


@dataclass(frozen=True)
class Outcomes:
    """What came out of judging each launch: all of it that is kept for each of them.

    ``gain`` is the certain gain of the ``winner``, a rule's position; ``duration`` is in
    nanoseconds, NaN where it is missing. ``doubts`` counts the launches in which a metric had a
    value that cannot be, by the metric and what is wrong.
    """

    winner: IntArray
    decided: BoolArray
    at_limit: BoolArray
    gain: FloatArray
    duration: FloatArray
    doubts: Mapping[tuple[str, str], int]


def judge_launches(
    capture: Capture, *, progress: Callable[[int], object] | None = None
) -> Outcomes:
    """Judge every launch; ``progress`` is called with the number done since its last call."""
    parts = []
    doubts: Counter[tuple[str, str]] = Counter()
    for start in range(0, len(capture), BLOCK):
        judged = judge(capture.part(start, start + BLOCK))
        parts.append(_outcomes(judged))
        for doubt in judged.context.facts.doubts:
            doubts[doubt.metric, doubt.reason] += int(doubt.rows.sum())
        if progress is not None:
            progress(len(parts[-1][0]))
    winner, decided, at_limit, gain, duration = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    return Outcomes(winner, decided, at_limit, gain, duration, dict(sorted(doubts.items())))


def _outcomes(
    judged: Judgement,
) -> tuple[IntArray, BoolArray, BoolArray, FloatArray, FloatArray]:
    ranking = judged.ranking
    gain = ranking.low[ranking.winner, np.arange(len(ranking.winner))]
    duration = judged.context.facts.values("duration")
    return ranking.winner, ranking.decided, ranking.at_limit, gain, duration


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


def group_launches(launches: Sequence[Launch], outcomes: Outcomes) -> list[Group]:
    """Entries, the ones that took most time first (capture order where durations are missing)."""
    configuration = Launches.of(launches).codes_by(_configuration)
    verdict = 2 * np.where(outcomes.decided, outcomes.winner + 1, 0) + outcomes.at_limit
    both = configuration * (int(verdict.max()) + 1) + verdict
    _, entry = np.unique(both, return_inverse=True)
    entries = np.split(np.argsort(entry, kind="stable"), np.cumsum(np.bincount(entry))[:-1])
    verdicts = np.bincount([configuration[rows[0]] for rows in entries])
    total = float(outcomes.duration.sum())
    groups = [
        _group(rows, outcomes, total, mixed=verdicts[configuration[rows[0]]] > 1)
        for rows in entries
    ]
    return sorted(groups, key=lambda g: (-(g.share or 0.0), g.rows[0]))


def _group(rows: IntArray, outcomes: Outcomes, total: float, *, mixed: bool) -> Group:
    times = outcomes.duration[rows]
    known = not np.isnan(times).any()
    return Group(
        rows=tuple(rows.tolist()),
        representative=_middle(rows, times),
        gain=_median(outcomes.gain[rows]),
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
