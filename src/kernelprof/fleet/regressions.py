"""What got slower, and since when: series whose newest times differ from those before.

SQL finds the series whose newest median is longer at all; whether the difference is larger than the
noise and significant is decided by the rule of ``kernelprof compare``.
"""

from __future__ import annotations

from dataclasses import dataclass
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

MOST_TRIED: Final = 400
"""Series that are looked at closely, those first that lost most time: each takes some ms."""

_POINT: Final = (
    "struct_pack(created, time_ns, timed_by, ncu, clock_control, commit, launches, "
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


def regressed(found: Questions, filters: Filters) -> tuple[list[Regression], int]:
    """The regressions, what lost most time first, and how many were slower without being one.

    Compared are the newest measurement and the last one before ``since``; the first one of all
    where there is none before.
    """
    where, values = filters.sql(dated=False)
    start = "null" if filters.since is None else "?::timestamp"
    if filters.since is not None:
        values = [*values, f"{filters.since}", f"{filters.since}"]
    candidates = found.rows(
        f"""
        with points as (
          select {series("series")}, {_MOMENT} as moment, {_POINT} as point, created
          from kernels where time_ns is not null {where}),
        ends as (
          select series, arg_max(point, moment) as last,
            coalesce(arg_max(point, moment) filter (created < {start}),
              arg_min(point, moment)) as first,
            max(created) as newest
          from points group by series)
        select series, first, last from ends
        where last.time_ns > first.time_ns * {1 + LEAST_FLOOR}
          and last.created > first.created
          {"and newest >= " + start if filters.since is not None else ""}
        order by (last.time_ns - first.time_ns) * last.launches desc
        """,
        values,
    )
    slower = []
    for who, first, last in candidates[:MOST_TRIED]:
        times = [_times(found, who, each["created"]) for each in (first, last)]
        before, after = (
            _snapshot(who, point, taken) for point, taken in zip((first, last), times, strict=True)
        )
        change = time_change(before, after, _apart(first, last))
        if change.outcome is TimeOutcome.SLOWER and change.ratio is not None:
            begun, commit = _since(found, who, first, last)
            slower.append(
                Regression(
                    kernel=who["kernel"],
                    name=who["name"],
                    parameters=" ".join(
                        each for each in (who["sizes"], who["defines"]) if each != "{}"
                    ),
                    gpu=who["gpu"],
                    before_ns=first["time_ns"],
                    after_ns=last["time_ns"],
                    ratio=change.ratio,
                    since=begun,
                    commit=commit,
                    verdict_before=first["verdict"],
                    verdict_after=last["verdict"],
                    newest=last["created"],
                    lost_ns=(last["time_ns"] - first["time_ns"]) * last["launches"],
                )
            )
    return slower, len(candidates) - len(slower)


def _apart(first: dict[str, Any], last: dict[str, Any]) -> str | None:
    """Why two times cannot be compared; ``None`` where they can."""
    for key, what in (("timed_by", "timed by"), ("clock_control", "clock control")):
        if first[key] != last[key]:
            return f"{what} {first[key]} then and {last[key]} now"
    if first["timed_by"] != EVENTS and first["ncu"] != last["ncu"]:
        return f"Nsight Compute {first['ncu']} then and {last['ncu']} now"
    return None


_OF_SERIES: Final = """
kernels where gpu = $gpu and name = $name and kernel = $kernel and sizes = $sizes
  and defines = $defines and side is not distinct from $side and time_ns is not null
  and (kind = 'source' or concat_ws(' ', grid, block) is not distinct from $config)
"""


def _times(found: Questions, who: dict[str, Any], created: datetime) -> tuple[float, ...]:
    """The times of single launches of one measurement."""
    rows = found.connection.execute(
        f"select times_ns from {_OF_SERIES} and created = $created limit 1",
        {**who, "created": created},
    ).fetchall()
    return tuple(rows[0][0] or ()) if rows else ()


def _snapshot(
    who: dict[str, Any], point: dict[str, Any], times: tuple[float, ...]
) -> KernelSnapshot:
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
    found: Questions, who: dict[str, Any], first: dict[str, Any], last: dict[str, Any]
) -> tuple[datetime, str | None]:
    """The first measurement after the last one that was nearer to the time before than to now."""
    middle = (first["time_ns"] * last["time_ns"]) ** 0.5
    rows = found.connection.execute(
        f"""
        select created, time_ns, commit from {_OF_SERIES}
        and created >= $first and created <= $last order by created desc, round desc
        """,
        {**who, "first": first["created"], "last": last["created"]},
    ).fetchall()
    begun = (last["created"], last["commit"])
    for created, time_ns, commit in rows:
        if time_ns < middle:
            break
        begun = (created, commit)
    return begun
