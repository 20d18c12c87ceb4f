"""What got slower, and since when: series whose newest times differ from those before.

SQL finds the series whose newest median is longer at all; whether the difference is larger than the
noise and significant is decided by the rule of ``kernelprof compare``.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from kernelprof.comparison.floors import LEAST_FLOOR
from kernelprof.comparison.times import time_change
from kernelprof.fleet.series import series
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.snapshot import EVENTS, KernelSnapshot

if TYPE_CHECKING:
    from datetime import datetime

    from kernelprof.fleet.ask import Questions
    from kernelprof.fleet.series import Filters

    Record = dict[str, Any]

_AT_ONCE: Final = 20
"""Series whose files are opened at a time; each then takes 20 ms."""

_POINT: Final = (
    "struct_pack(created, time_ns, timed_by, ncu, clock_control, commit, launches, file, "
    "verdict := coalesce(bottleneck, status))"
)
_MOMENT: Final = "struct_pack(created, round)"


@dataclass(frozen=True, slots=True)
class Regression:
    """A series that got slower; times are medians of a launch, ``since`` is the first slow one."""

    kernel: str
    name: str
    parameters: str
    gpu: str
    before_ns: float
    after_ns: float
    ratio: float
    since: datetime
    commit: str | None
    verdict_before: str
    verdict_after: str
    newest: datetime
    lost_ns: float
    recorded: bool


def regressed(found: Questions, filters: Filters) -> tuple[list[Regression], int, int]:
    """The regressions, what lost most time first, as many as are wanted.

    Also how many series that took longer were looked at in vain, and how many not at all. Compared
    are the newest measurement and the last one before ``since``; the first one of all where there
    is none before.
    """
    # The statistics of a comparison load for as long as DuckDB reads.
    Thread(target=import_module, args=("scipy.stats",), daemon=True).start()
    where, values = filters.sql(dated=False)
    found.connection.execute(
        f"""
        create or replace temp table points as
        select {series("series")}, hash(series) as id, created, round, {_POINT} as point
        from kernels where time_ns is not null {where}
        """,
        values,
    )
    start = "null" if filters.since is None else f"timestamp '{filters.since}'"
    candidates = found.rows(
        f"""
        with ends as (
          select any_value(series) as series, id, arg_max(point, {_MOMENT}) as last,
            coalesce(arg_max(point, {_MOMENT}) filter (created < {start}),
              arg_min(point, {_MOMENT})) as first
          from points group by id)
        select struct_insert(series, id := id), first, last from ends
        where last.time_ns > first.time_ns * {1 + LEAST_FLOOR} and last.created > first.created
          {"" if filters.since is None else f"and last.created >= {start}"}
        order by (last.time_ns - first.time_ns) * last.launches desc
        """
    )
    slower: list[Regression] = []
    tried = 0
    for at in range(0, len(candidates), _AT_ONCE):
        if filters.limit and len(slower) >= filters.limit:
            break
        some = candidates[at : at + _AT_ONCE]
        times = _times(found, some)
        for who, first, last in some:
            if filters.limit and len(slower) >= filters.limit:
                break
            tried += 1
            before, after = (
                _snapshot(who, point, times.get(_place(who, point), ())) for point in (first, last)
            )
            change = time_change(before, after, _apart(first, last))
            if change.outcome is TimeOutcome.SLOWER and change.ratio is not None:
                slower.append(_regression(found, who, first, last, change.ratio))
    return slower, tried - len(slower), len(candidates) - tried


def _regression(
    found: Questions, who: Record, first: Record, last: Record, ratio: float
) -> Regression:
    begun, commit = _since(found, who, first, last)
    return Regression(
        kernel=who["kernel"],
        name=who["name"],
        parameters=" ".join(each for each in (who["sizes"], who["defines"]) if each != "{}"),
        gpu=who["gpu"],
        before_ns=first["time_ns"],
        after_ns=last["time_ns"],
        ratio=ratio,
        since=begun,
        commit=commit,
        verdict_before=first["verdict"],
        verdict_after=last["verdict"],
        newest=last["created"],
        lost_ns=(last["time_ns"] - first["time_ns"]) * last["launches"],
        recorded=who["recorded"],
    )


def _apart(first: Record, last: Record) -> str | None:
    """Why two times cannot be compared; ``None`` where they can."""
    for key, what in (("timed_by", "timed by"), ("clock_control", "clock control")):
        if first[key] != last[key]:
            return f"{what} {first[key]} then and {last[key]} now"
    if first["timed_by"] != EVENTS and first["ncu"] != last["ncu"]:
        return f"Nsight Compute {first['ncu']} then and {last['ncu']} now"
    return None


def _times(
    found: Questions, candidates: list[tuple[Any, ...]]
) -> dict[tuple[object, ...], tuple[float, ...]]:
    """The times of single launches, of the files that have the ends of these series."""
    files = sorted({found.root + each["file"] for _, *ends in candidates for each in ends})
    rows = found.connection.execute(
        f"select {series('series')}, filename, times_ns "
        "from read_parquet(?, hive_partitioning = false, filename = true)",
        [files],
    ).fetchall()
    return {
        _place(who, {"file": file.removeprefix(found.root)}): tuple(times or ())
        for who, file, times in rows
    }


def _place(who: Record, point: Record) -> tuple[object, ...]:
    """What finds a series in a file."""
    return (*(value for name, value in who.items() if name != "id"), point["file"])


def _snapshot(who: Record, point: Record, times: tuple[float, ...]) -> KernelSnapshot:
    events = point["timed_by"] == EVENTS
    return KernelSnapshot(
        name=who["kernel"],
        grid=None,
        block=None,
        launches=point["launches"],
        verdict=Verdict(Status.INCONCLUSIVE, None, Confidence.LOW),
        events_ns=times if events else (),
        profiled_ns=() if events else times,
        median_ns=point["time_ns"],
    )


def _since(
    found: Questions, who: Record, first: Record, last: Record
) -> tuple[datetime, str | None]:
    """The first measurement after the last one that was nearer to the time before than to now."""
    middle = (first["time_ns"] * last["time_ns"]) ** 0.5
    rows = found.rows(
        """
        select created, point.time_ns, point.commit from points
        where id = ? and created between ? and ? order by created desc, round desc
        """,
        [who["id"], first["created"], last["created"]],
    )
    begun = (last["created"], last["commit"])
    for created, time_ns, commit in rows:
        if time_ns < middle:
            break
        begun = (created, commit)
    return begun
