"""A history: which measurements are of one kernel, and how each differs from the last."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.comparison.counters import counter_changes
from kernelprof.comparison.history.moments import read_commits, read_folder, to_utc
from kernelprof.comparison.history.store import HistoryCache, cache_path
from kernelprof.comparison.inputs import machine_changes, other_work
from kernelprof.comparison.times import CLIPPED, time_change
from kernelprof.errors import InputError, UsageError
from kernelprof.model.comparison import CounterChange, TimeChange, TimeOutcome
from kernelprof.model.history import (
    History,
    HistoryOrigin,
    HistoryRow,
    KernelHistory,
    MomentKind,
)
from kernelprof.model.json_types import narrowed
from kernelprof.model.kernel_name import name_pattern
from kernelprof.model.numbers import dimensions
from kernelprof.sources.ncu.folder import DEPTH

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from kernelprof.model.history import Moment
    from kernelprof.model.snapshot import Acceptance, KernelSnapshot

    Say = Callable[[str], object]
    Measurement = tuple[Moment, KernelSnapshot]


_MOST_WARNINGS: Final = 10


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Which rows are asked for: kernels by name, rows from a date on, the newest of each kernel."""

    kernels: re.Pattern[str] | None = None
    since: str | None = None
    limit: int | None = None


def wanted(kernel: str | None, since: str | None, limit: int) -> RowSelection:
    """Which rows are asked for: by an expression for names, a date, and how many (0: all)."""
    pattern = None if kernel is None else name_pattern(kernel)
    try:
        date = None if since is None else to_utc(since)
    except InputError as error:
        raise UsageError(f"--since: {error}", hint="write it as 2026-11-21") from error
    return RowSelection(pattern, date, limit or None)


def history(
    path: Path, rows: RowSelection, *, git: bool, cached: bool, progress: Say, warn: Say, note: Say
) -> History:
    """Return the history of a folder, or with ``git`` of the versions of a baseline file.

    ``warn`` gets what cannot be read, ``note`` what is left out, ``progress`` each file.
    """
    if git and path.expanduser().is_dir():
        raise UsageError(
            "--git reads the versions of one file, but this is a folder",
            where=str(path),
            hint="name a baseline file, or leave --git out",
        )
    with HistoryCache(cache_path(path.expanduser()) if cached else None) as store:
        looked = read_commits(path, rows.limit) if git else read_folder(path, store, progress)
        for name, why in looked.unread[:_MOST_WARNINGS]:
            warn(f"{name} is left out: {why}")
        if len(looked.unread) > _MOST_WARNINGS:
            warn(f"and {len(looked.unread) - _MOST_WARNINGS} more are left out")
        if looked.remark:
            note(looked.remark)
        if not looked.moments:
            raise _explain_empty(path, len(looked.unread), git=git)
        origin = HistoryOrigin.GIT if git else HistoryOrigin.FOLDER
        result = build_history(str(path), origin, looked.moments, rows, store, notes=looked.notes)
    if not result.kernels:
        raise InputError("no row matches", where=str(path), hint="change --kernel or --since")
    return result


def _explain_empty(path: Path, unread: int, *, git: bool) -> InputError:
    if git:
        return InputError(
            f"none of the {unread} committed versions is a baseline",
            where=str(path),
            hint="name a file that 'kernelprof baseline save' wrote",
        )
    return InputError(
        f"none of the {unread} captures and baselines in this folder can be read"
        if unread
        else f"there is no capture or baseline in this folder (searched {DEPTH} levels deep)",
        where=str(path),
        hint="make captures with 'kernelprof profile ... -o DIR', or baselines with "
        "'kernelprof baseline save'",
    )


def build_history(
    origin: str,
    source: HistoryOrigin,
    moments: Sequence[Moment],
    wanted: RowSelection,
    store: HistoryCache,
    *,
    notes: Sequence[str] = (),
) -> History:
    """Build the history of moments, the oldest first, without repeated versions of a baseline."""
    kernels = []
    for name, detail, measured in _split_series(moments, wanted.kernels):
        fresh = _drop_repeats(measured) if measured[0][0].commit is not None else measured
        first = sum(moment.date < (wanted.since or "") for moment, _ in fresh)
        first = max(first, len(fresh) - (wanted.limit or len(fresh)))
        rows = tuple(_make_row(fresh, at, store) for at in range(first, len(fresh)))
        if rows:
            kernels.append(KernelHistory(name, detail, rows, older=first))
    kernels.sort(key=_newest_time_ns, reverse=True)
    return History(
        origin=origin,
        source=source,
        moments=len(moments),
        baselines=sum(moment.kind is MomentKind.BASELINE for moment in moments),
        kernels=tuple(kernels),
        notes=tuple(notes),
    )


def _split_series(
    moments: Sequence[Moment], pattern: re.Pattern[str] | None
) -> Iterable[tuple[str, str, list[Measurement]]]:
    # The measurements of each kernel: of one name, one size, and one launch if it has several.
    # Another launch of the same name and size is the same kernel launched in another way, unless a
    # capture has both
    every = ((moment, kernel) for moment in moments for kernel in moment.kernels)
    wanted = (each for each in every if pattern is None or pattern.search(each[1].name))
    names = _group_by(wanted, lambda kernel: kernel.name)
    for name, measured in names.items():
        by_size = _group_by(measured, _format_sizes)
        if len(by_size.keys() - {""}) < 2:
            # Where there is only one size, those without one have it as well.
            by_size = {"": measured}
        for size in sorted(by_size, key=lambda size: (not size, size)):
            same = by_size[size]
            together = Counter(id(moment) for moment, _ in same)
            by_launch = (
                _group_by(same, _format_launch) if max(together.values()) > 1 else {"": same}
            )
            for launch, rows in by_launch.items():
                yield name, ", ".join(filter(None, (size, launch))), rows


def _group_by(
    measured: Iterable[Measurement], key: Callable[[KernelSnapshot], str]
) -> dict[str, list[Measurement]]:
    groups: dict[str, list[Measurement]] = {}
    for each in measured:
        groups.setdefault(key(each[1]), []).append(each)
    return groups


def _format_sizes(kernel: KernelSnapshot) -> str:
    sizes = (kernel.specification or {}).get("sizes")
    if not isinstance(sizes, dict) or not sizes:
        return ""
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in sizes.items())


def _format_launch(kernel: KernelSnapshot) -> str:
    parts = [
        f"{word} {dimensions(value)}"
        for word, value in (("grid", kernel.grid), ("block", kernel.block))
        if value is not None
    ]
    return ", ".join(parts) or "launch unknown"


def _drop_repeats(measured: Sequence[Measurement]) -> list[Measurement]:
    # Only what was measured or accepted anew; calibration measures no kernel anew
    distinct: list[Measurement] = []
    last: object = None
    for moment, kernel in measured:
        state = replace(kernel, noise=None), len(_find_acceptances(moment, kernel))
        if state != last:
            distinct.append((moment, kernel))
        last = state
    return distinct


def _make_row(measured: Sequence[Measurement], at: int, store: HistoryCache) -> HistoryRow:
    moment, kernel = measured[at]
    times = kernel.times_ns
    low, high = map(float, np.percentile(times, CLIPPED)) if len(times) > 1 else (None, None)
    row = HistoryRow(moment, kernel, low, high, _find_acceptances(moment, kernel))
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
        time=cached_time_change(old, kernel, apart or other_work(old, kernel), store),
        verdict_changed=old.verdict.answer != kernel.verdict.answer,
        counters=tuple(narrowed(CounterChange, each) for each in counters),
        lacking=lacking,
    )


def _find_acceptances(moment: Moment, kernel: KernelSnapshot) -> tuple[Acceptance, ...]:
    # What was accepted of just this measurement, by its name and its time
    return tuple(
        each
        for each in moment.accepted
        if each.kernel == kernel.name and each.after_ns == kernel.median_ns
    )


def _newest_time_ns(kernel: KernelHistory) -> float:
    newest = kernel.rows[-1].kernel
    return (newest.median_ns or 0.0) * newest.launches


def cached_time_change(
    before: KernelSnapshot, after: KernelSnapshot, not_comparable: str | None, store: HistoryCache
) -> TimeChange:
    """As :func:`kernelprof.comparison.times.time_change`, which takes milliseconds each time."""
    if not_comparable is not None:
        return TimeChange(TimeOutcome.NOT_COMPARABLE, reason=not_comparable)
    decisive = [(k.events_ns, k.profiled_ns, k.median_ns, k.noise) for k in (before, after)]
    key = hashlib.sha256(repr(decisive).encode()).hexdigest()
    return store.get_or_make(TimeChange, key, "", lambda: time_change(before, after, None))
