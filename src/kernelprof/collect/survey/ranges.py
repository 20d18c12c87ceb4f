"""Ranges of NVTX: from what threads pushed and popped to begins and ends."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.model.trace import RANGES

if TYPE_CHECKING:
    import numpy.typing as npt

PUSH: Final = 1
POP: Final = 2
START: Final = 3
STOP: Final = 4


def paired(events: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Ranges of one process, in order of their begin.

    One that was still open when the process ended lasts to the last event.
    """
    if not len(events):
        return np.zeros(0, RANGES)
    events = events[np.argsort(events["time"], kind="stable")]
    last = int(events["time"][-1])
    open_: dict[tuple[int, int], list[int]] = defaultdict(list)
    started: dict[int, int] = {}
    rows: list[list[int]] = []
    depths: dict[int, int] = defaultdict(int)
    for time, thread, what, name, domain, number in events.tolist():
        if what == PUSH:
            open_[thread, domain].append(len(rows))
            rows.append([time, last, thread, name, domain, number, depths[thread]])
            depths[thread] += 1
        elif what == POP and open_[thread, domain]:
            rows[open_[thread, domain].pop()][1] = time
            depths[thread] -= 1
        elif what == START:
            started[number] = len(rows)
            rows.append([time, last, thread, name, domain, 0, 0])
        elif what == STOP and number in started:
            rows[started.pop(number)][1] = time
    made = np.zeros(len(rows), RANGES)
    values = np.array(rows, np.uint64).reshape(len(rows), 7)
    for column, field in enumerate(
        ("start", "end", "thread", "name", "domain", "sequence", "depth")
    ):
        made[field] = values[:, column]
    return made
