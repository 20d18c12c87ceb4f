"""Which call of the host launched what ran on the GPU."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from kernelprof.model.trace import Trace

    Array = npt.NDArray[Any]


def named(trace: Trace, pattern: str | re.Pattern[str]) -> Array:
    """The calls whose names match, as a mask."""
    expression = re.compile(pattern)
    fitting = np.array([bool(expression.match(text)) for text in trace.texts], bool)
    mask: Array = fitting[trace.calls["name"]]
    return mask


def keys(rows: Array) -> Array:
    """One number for the process and the correlation of each row."""
    wide = rows["process"].astype(np.uint64) << np.uint64(32)
    found: Array = wide | rows["correlation"].astype(np.uint64)
    return found


def launching(trace: Trace, rows: Array) -> Array:
    """For each row the position in ``trace.calls`` of the call that launched it; -1: not known.

    Where the runtime's call and the driver's below it were both recorded, it is the outer one.
    """
    calls = keys(trace.calls)
    order = np.argsort(calls, kind="stable")
    ordered = calls[order]
    wanted = keys(rows)
    at = np.searchsorted(ordered, wanted)
    there = at < len(ordered)
    there[there] = ordered[at[there]] == wanted[there]
    found = np.full(len(rows), -1, np.int64)
    found[there] = order[at[there]]
    return found
