"""Rows of the history: which measurements are of one kernel, and how each differs from the last."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.comparison.counters import counter_changes
from kernelprof.comparison.inputs import machine_changes, other_work
from kernelprof.comparison.times import CLIPPED, time_change
from kernelprof.model.comparison import TimeChange, TimeOutcome
from kernelprof.model.history import History, HistoryRow, KernelHistory, MomentKind
from kernelprof.model.numbers import dimensions

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Sequence

    from kernelprof.comparison.history.store import Store
    from kernelprof.model.history import HistoryOrigin, Moment
    from kernelprof.model.snapshot import Acceptance, KernelSnapshot

    Measurement = tuple[Moment, KernelSnapshot]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows are asked for: kernels by name, rows from a date on, the newest of each kernel."""

    kernels: re.Pattern[str] | None = None
    since: str | None = None
    limit: int | None = None


def build_history(
    origin: str,
    source: HistoryOrigin,
    moments: Sequence[Moment],
    wanted: Wanted,
    store: Store,
    *,
    notes: Sequence[str] = (),
) -> History:
    """The history that follows from moments, the oldest first.

    A version of a baseline that holds the same measurement as the version before gives no row.
    """
    kernels = []
    for name, detail, measured in _series(moments, wanted.kernels):
        fresh = _without_repeats(measured) if measured[0][0].commit is not None else measured
        chosen = _chosen(fresh, wanted)
        rows = tuple(_row(fresh, at, store) for at in chosen)
        if rows:
            kernels.append(KernelHistory(name, detail, rows, older=chosen[0]))
    kernels.sort(key=_weight, reverse=True)
    return History(
        origin=origin,
        source=source,
        moments=len(moments),
        baselines=sum(moment.kind is MomentKind.BASELINE for moment in moments),
        kernels=tuple(kernels),
        notes=tuple(notes),
    )


def _series(
    moments: Sequence[Moment], pattern: re.Pattern[str] | None
) -> Iterable[tuple[str, str, list[Measurement]]]:
    """The measurements of each kernel: of one name, one size, and one launch if it has several.

    Another launch of the same name and size is the same kernel launched in another way, unless a
    capture has both.
    """
    names: dict[str, list[Measurement]] = {}
    for moment in moments:
        for kernel in moment.kernels:
            if pattern is None or pattern.search(kernel.name):
                names.setdefault(kernel.name, []).append((moment, kernel))
    for name, measured in names.items():
        sizes = {_sizes(kernel) for _, kernel in measured}
        known = sorted(sizes - {""})
        for size in known if len(known) > 1 else [""]:
            # Where there is only one size, those without one have it as well.
            same = [each for each in measured if len(known) < 2 or _sizes(each[1]) == size]
            yield from _launches(name, size, same)
        rest = [each for each in measured if not _sizes(each[1])]
        if len(known) > 1 and rest:
            yield from _launches(name, "", rest)


def _launches(
    name: str, size: str, measured: list[Measurement]
) -> Iterable[tuple[str, str, list[Measurement]]]:
    together = Counter(id(moment) for moment, _ in measured)
    if max(together.values()) == 1:
        yield name, size, measured
        return
    launches: dict[str, list[Measurement]] = {}
    for moment, kernel in measured:
        launches.setdefault(_launch(kernel), []).append((moment, kernel))
    for launch, same in launches.items():
        yield name, f"{size}, {launch}" if size else launch, same


def _sizes(kernel: KernelSnapshot) -> str:
    """The sizes of a launch specification as text; empty where they are not known."""
    sizes = ((kernel.inputs and kernel.inputs.specification) or {}).get("sizes")
    if not isinstance(sizes, dict) or not sizes:
        return ""
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in sizes.items())


def _launch(kernel: KernelSnapshot) -> str:
    parts = [
        f"{word} {dimensions(value)}"
        for word, value in (("grid", kernel.grid), ("block", kernel.block))
        if value is not None
    ]
    return ", ".join(parts) or "launch unknown"


def _without_repeats(measured: Sequence[Measurement]) -> list[Measurement]:
    """Only what was measured or accepted anew; calibration measures no kernel anew."""
    found: list[Measurement] = []
    last: object = None
    for moment, kernel in measured:
        state = replace(kernel, noise=None), len(_accepted(moment, kernel))
        if state != last:
            found.append((moment, kernel))
        last = state
    return found


def _chosen(measured: Sequence[Measurement], wanted: Wanted) -> range:
    first = 0
    if wanted.since is not None:
        first = sum(moment.date < wanted.since for moment, _ in measured)
    if wanted.limit is not None:
        first = max(first, len(measured) - wanted.limit)
    return range(first, len(measured))


def _row(measured: Sequence[Measurement], at: int, store: Store) -> HistoryRow:
    moment, kernel = measured[at]
    low, high = _interval(kernel.events_ns or kernel.profiled_ns)
    row = HistoryRow(
        moment=moment,
        kernel=kernel,
        low_ns=low,
        high_ns=high,
        against=None,
        next_to=False,
        time=None,
        verdict_changed=False,
        counters=(),
        lacking=(),
        accepted=_accepted(moment, kernel),
    )
    gpu = moment.machine.gpu
    before = next((i for i in range(at - 1, -1, -1) if measured[i][0].machine.gpu == gpu), None)
    if before is None:
        return row
    against, old = measured[before]
    _, apart = machine_changes(against.machine, moment.machine)
    counters, lacking = counter_changes(old, kernel)
    return replace(
        row,
        against=against,
        next_to=before == at - 1,
        time=time_changed(old, kernel, apart or other_work(old, kernel), store),
        verdict_changed=old.verdict.answer != kernel.verdict.answer,
        counters=counters,
        lacking=lacking,
    )


def _interval(times: Sequence[float]) -> tuple[float | None, float | None]:
    if len(times) < 2:
        return None, None
    low, high = np.percentile(times, CLIPPED)
    return float(low), float(high)


def _accepted(moment: Moment, kernel: KernelSnapshot) -> tuple[Acceptance, ...]:
    """What was accepted of just this measurement, by its name and its time."""
    return tuple(
        each
        for each in moment.accepted
        if each.kernel == kernel.name and each.after_ns == kernel.median_ns
    )


def _weight(kernel: KernelHistory) -> float:
    """How much time the kernel takes by its newest row."""
    newest = kernel.rows[-1].kernel
    return (newest.median_ns or 0.0) * newest.launches


def time_changed(
    before: KernelSnapshot, after: KernelSnapshot, not_comparable: str | None, store: Store
) -> TimeChange:
    """As :func:`kernelprof.comparison.times.time_change`, which takes milliseconds each time."""
    if not_comparable is not None:
        return TimeChange(TimeOutcome.NOT_COMPARABLE, reason=not_comparable)
    decisive = [(k.events_ns, k.profiled_ns, k.median_ns, k.noise) for k in (before, after)]
    key = hashlib.sha256(repr(decisive).encode()).hexdigest()
    return store.known(TimeChange, key, "", lambda: time_change(before, after, None))
