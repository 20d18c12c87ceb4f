"""Launches of one kernel with one launch configuration and one verdict are one entry.

They are put together after each was judged on its own: averaging first would hide a launch that
behaves differently.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.model.diagnosis import Spread

if TYPE_CHECKING:
    import numpy.typing as npt

    from kernelprof.model.capture import Capture, Launch
    from kernelprof.verdict.choose import Choice

    FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of the capture that form one entry, and the row that stands for them."""

    rows: tuple[int, ...]
    representative: int
    duration: Spread | None
    share: float | None
    mixed: bool
    """Whether other launches of the same configuration have another verdict."""


def group_launches(capture: Capture, choice: Choice, durations: FloatArray) -> list[Group]:
    """Entries, the ones that took most time first (capture order where durations are missing)."""
    by_key: dict[tuple[tuple[object, ...], tuple[object, ...]], list[int]] = {}
    verdicts: dict[tuple[object, ...], set[object]] = {}
    for row, launch in enumerate(capture.launches):
        decided = bool(choice.decided[row])
        answer = (decided, int(choice.winner[row]) if decided else -1, bool(choice.at_limit[row]))
        configuration = _configuration(launch)
        by_key.setdefault((configuration, answer), []).append(row)
        verdicts.setdefault(configuration, set()).add(answer)
    total = float(durations.sum())
    groups = []
    for (configuration, _), rows in by_key.items():
        times = durations[rows]
        known = not np.isnan(times).any()
        spread = (
            Spread(float(np.median(times)), float(times.min()), float(times.max()))
            if known
            else None
        )
        share = float(times.sum()) / total if known and total > 0 else None
        groups.append(
            Group(
                rows=tuple(rows),
                representative=_middle(rows, times),
                duration=spread,
                share=share,
                mixed=len(verdicts[configuration]) > 1,
            )
        )
    return sorted(groups, key=lambda g: (-(g.share or 0.0), g.rows[0]))


def _configuration(launch: Launch) -> tuple[object, ...]:
    return (launch.kernel, launch.grid, launch.block, launch.device, launch.compute_capability)


def _middle(rows: list[int], times: FloatArray) -> int:
    """The launch with the median duration: a real one, so that its evidence belongs together."""
    if np.isnan(times).any():
        return rows[0]
    return rows[int(np.argsort(times, kind="stable")[(len(rows) - 1) // 2])]
