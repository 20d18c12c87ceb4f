"""Which launches are one entry of a diagnosis, and which of them stands for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.model.capture import Launches
from kernelprof.model.diagnosis import Spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from kernelprof.analysis.metrics.facts import Doubt
    from kernelprof.model.capture import Launch

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]
    IntArray = npt.NDArray[np.intp]

SEVERAL_FOLD = 3.0
"""Ratio of times from which launches of one kernel are entries of their own."""
STEP = 2.0
"""Ratio of one time to the next shorter at which such launches are told apart. Launches of the same
work differ by 0.3 % at most (``tests/captures/gemm_series.same-code-13x.raw.csv``)."""
NOTABLE_NS = 5_000.0
"""Differences below this may be of the launch itself."""


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
    doubts: Mapping[Doubt, int]


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
    entries = [part for rows in entries for part in alike(rows, outcomes.duration[rows])]
    verdicts = np.bincount([configuration[rows[0]] for rows in entries])
    total = float(outcomes.duration.sum())
    groups = [
        _group(rows, outcomes, total, mixed=verdicts[configuration[rows[0]]] > 1)
        for rows in entries
    ]
    return sorted(groups, key=lambda g: (-(g.share or 0.0), g.rows[0]))


def alike(rows: IntArray, times: FloatArray) -> list[IntArray]:
    """Launches apart whose times differ several-fold: one launch cannot stand for them all.

    The same code takes longer by its data, as a scatter to few places does.
    """
    shortest, longest = times.min(), times.max()
    if not longest > max(SEVERAL_FOLD * shortest, shortest + NOTABLE_NS):
        return [rows]
    order = np.argsort(times, kind="stable")
    in_order = times[order]
    step = in_order[1:] > np.maximum(in_order[:-1] * STEP, in_order[:-1] + NOTABLE_NS)
    parts = np.split(order, np.flatnonzero(step) + 1)
    return [np.sort(rows[part]) for part in parts]


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
