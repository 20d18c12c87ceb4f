"""How times differ, worked out once for each pair of measurements."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from kernelprof.model.comparison import TimeChange, TimeOutcome

if TYPE_CHECKING:
    from kernelprof.compare.history.store import Store
    from kernelprof.model.snapshot import KernelSnapshot


def time_changed(
    before: KernelSnapshot, after: KernelSnapshot, not_comparable: str | None, store: Store
) -> TimeChange:
    """As :func:`kernelprof.compare.times.time_change`, which takes milliseconds each time."""
    if not_comparable is not None:
        return TimeChange(TimeOutcome.NOT_COMPARABLE, reason=not_comparable)
    key = store.key(*(_decisive(kernel) for kernel in (before, after)))
    known = store.change(key)
    if known is not None:
        try:
            return _read(known)
        except (ValueError, TypeError, KeyError):
            pass  # it is not what we wrote: work it out again
    from kernelprof.compare.times import time_change

    found = time_change(before, after, None)
    store.keep_change(key, json.dumps(asdict(found)))
    return found


def _decisive(kernel: KernelSnapshot) -> tuple[object, ...]:
    """All of a kernel that a comparison of times looks at."""
    return kernel.events_ns, kernel.profiled_ns, kernel.median_ns, kernel.noise


def _read(text: str) -> TimeChange:
    values = json.loads(text)
    values["outcome"] = TimeOutcome(values["outcome"])
    old, new = values["samples"]
    values["samples"] = (int(old), int(new))
    return TimeChange(**values)
