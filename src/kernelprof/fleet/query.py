"""The usual questions to a store, each as a table.

A **series** is repeated measurements of one kernel on one GPU, with one name, one set of sizes and
defines and, where it is no kernel of a source, one launch configuration. Recorded captures that
stand in for measurements are never in one series with those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

from kernelprof.comparison.times import LEAST_FLOOR, time_change
from kernelprof.errors import UsageError
from kernelprof.fleet.columns import SERIES, UNITS
from kernelprof.fleet.database import query_store, require_duckdb, run_sql
from kernelprof.fleet.results import Heading
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.diagnosis import Confidence, Status, Verdict
from kernelprof.model.kernel_name import name_pattern
from kernelprof.model.snapshot import EVENTS, KernelSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from kernelprof.fleet.database import StoreConnection
    from kernelprof.fleet.results import FleetTable
    from kernelprof.fleet.store import FleetStore

    Point = dict[str, Any]
    Row = tuple[Any, ...]
    Answer = tuple[list[Row], list[str]]


def series_sql(called: str) -> str:
    """The SQL of what is the same in all measurements of a series, under a name."""
    config = "case when kind = 'source' then null else concat_ws(' ', grid, block) end"
    return f"struct_pack({', '.join(SERIES)}, config := {config}) as {called}"


def find_outdated(store: StoreConnection) -> frozenset[str]:
    """Files whose code or launch is not that of the newest measurement of their series.

    Of a capture nothing newer can be measured, and a recorded one stands for itself.
    """
    rows = store.rows(
        f"""
        with stored as (
          select {series_sql("series")}, file, max(struct_pack(created, round)) as moment,
            struct_pack(code := any_value(code),
              launches := list_sort(list(distinct concat_ws(' ', grid, block)))) as what
          from kernels where kind <> 'capture' and not recorded group by series, file),
        compared as (
          select file, what, arg_max(what, moment) over (partition by series) as newest
          from stored)
        select distinct file from compared where what is distinct from newest
        """
    )
    return frozenset(file for (file,) in rows)


@dataclass(frozen=True, slots=True)
class QueryFilters:
    """A regular expression, a part of a GPU's name, a day in UTC, and most rows (0: all)."""

    kernel: str | None = None
    gpu: str | None = None
    since: str | None = None
    limit: int = 20

    def sql(self, *, dated: bool = True) -> tuple[str, list[Any]]:
        """More conditions for a query over kernels, and their values."""
        conditions, values = [], []
        if self.kernel is not None:
            conditions.append("and regexp_matches(kernel, ?)")
            values.append(self.kernel)
        if self.gpu is not None:
            conditions.append("and contains(lower(gpu), lower(?))")
            values.append(self.gpu)
        if self.since is not None and dated:
            conditions.append("and created >= ?::timestamp")
            values.append(f"{self.since}")
        return " ".join(conditions), values

    def limited(self, rows: list[Row], what: str) -> tuple[list[Row], list[str]]:
        """As many rows as are wanted, and what is reported where those are not all."""
        if not self.limit or len(rows) <= self.limit:
            return rows, []
        note = f"The first {self.limit:,} of {len(rows):,} {what}; --limit 0 shows all."
        return rows[: self.limit], [note]


_AT_ONCE: Final = 20
"""Series whose files are opened at a time; each then takes 20 ms."""

_POINT: Final = (
    "struct_pack(created, time_ns, timed_by, ncu, clock_control, commit, launches, file, "
    "verdict := coalesce(bottleneck, status))"
)
_MOMENT: Final = "struct_pack(created, round)"


def _regressions(store: StoreConnection, filters: QueryFilters) -> Answer:
    # The largest loss of time first. The newest measurement is compared with the last one before
    # `since`, or with the first. The statistics of a comparison load for as long as DuckDB reads.
    Thread(target=import_module, args=("scipy.stats",), daemon=True).start()
    where, values = filters.sql(dated=False)
    store.connection.execute(
        f"""
        create or replace temp table points as
        select {series_sql("series")}, hash(series) as id, created, round, {_POINT} as point
        from kernels where time_ns is not null {where}
        """,
        values,
    )
    start = "null" if filters.since is None else f"timestamp '{filters.since}'"
    candidates = store.rows(
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
    slower: list[Row] = []
    tried = 0
    for (series, first, last), times in _with_times(store, candidates):
        if filters.limit and len(slower) >= filters.limit:
            break
        tried += 1
        before, after = (
            _snapshot(series, point, times.get((series["id"], point["file"]), ()))
            for point in (first, last)
        )
        change = time_change(before, after, _incomparable(first, last))
        if change.outcome is TimeOutcome.SLOWER and change.ratio is not None:
            slower.append(_regression(store, series, first, last, change.ratio))
    notes = []
    if within := tried - len(slower):
        notes.append(
            f"{within:,} more kernels took longer, but the difference is not significant or the "
            "times cannot be compared."
        )
    if others := len(candidates) - tried:
        notes.append(
            f"{others:,} more kernels took longer and were not analyzed; --limit 0 analyzes all."
        )
    return slower, notes


def _with_times(
    store: StoreConnection, candidates: list[Row]
) -> Iterator[tuple[Row, dict[tuple[int, str], tuple[float, ...]]]]:
    # Each candidate with the times of its series, by series and file
    for at in range(0, len(candidates), _AT_ONCE):
        some = candidates[at : at + _AT_ONCE]
        files = sorted({store.root + each["file"] for _, *ends in some for each in ends})
        rows = store.rows(
            f"select {series_sql('series')}, hash(series), filename, times_ns "
            "from read_parquet(?, hive_partitioning = false, filename = true)",
            [files],
        )
        times = {
            (id_, file.removeprefix(store.root)): tuple(each or ()) for _, id_, file, each in rows
        }
        for candidate in some:
            yield candidate, times


def _regression(
    store: StoreConnection, series: Point, first: Point, last: Point, ratio: float
) -> Row:
    begun, commit = _find_start(store, series, first, last)
    return (
        series["kernel"],
        series["name"],
        " ".join(each for each in (series["sizes"], series["defines"]) if each != "{}"),
        series["gpu"],
        first["time_ns"],
        last["time_ns"],
        ratio,
        begun,
        commit,
        first["verdict"],
        last["verdict"],
        last["created"],
        series["recorded"] or None,
    )


def _incomparable(first: Point, last: Point) -> str | None:
    for key, what in (("timed_by", "timing method"), ("clock_control", "clock control")):
        if first[key] != last[key]:
            return f"{what} changed from {first[key]} to {last[key]}"
    if first["timed_by"] != EVENTS and first["ncu"] != last["ncu"]:
        return f"Nsight Compute changed from {first['ncu']} to {last['ncu']}"
    return None


def _snapshot(series: Point, point: Point, times: tuple[float, ...]) -> KernelSnapshot:
    events = point["timed_by"] == EVENTS
    return KernelSnapshot(
        name=series["kernel"],
        grid=None,
        block=None,
        launches=point["launches"],
        verdict=Verdict(Status.INCONCLUSIVE, None, Confidence.LOW),
        events_ns=times if events else (),
        profiled_ns=() if events else times,
        median_ns=point["time_ns"],
    )


def _find_start(
    store: StoreConnection, series: Point, first: Point, last: Point
) -> tuple[datetime, str | None]:
    # The first measurement after the last one that was nearer to the time before than to now
    middle = (first["time_ns"] * last["time_ns"]) ** 0.5
    rows = store.rows(
        """
        select created, point.time_ns, point.commit from points
        where id = ? and created between ? and ? order by created desc, round desc
        """,
        [series["id"], first["created"], last["created"]],
    )
    begun = (last["created"], last["commit"])
    for created, time_ns, commit in rows:
        if time_ns < middle:
            break
        begun = (created, commit)
    return begun


def ask(
    store: FleetStore, question: str, filters: QueryFilters, *, cached: bool = True
) -> FleetTable:
    """The answer to one of :data:`QUESTIONS`; :class:`UsageError` for any other."""
    chosen = QUESTIONS.get(question)
    if chosen is None:
        raise UsageError(
            f"no question is called {question!r}",
            hint=f"available: {', '.join(QUESTIONS)}; use --sql for any other question",
        )
    filters = _check_filters(filters)

    def answer(connection: StoreConnection) -> FleetTable:
        rows, notes = chosen.answer(connection, filters)
        return connection.table(question, chosen.title, chosen.columns, rows, notes)

    return query_store(store, answer, cached=cached)


def _check_filters(filters: QueryFilters) -> QueryFilters:
    if filters.kernel is not None:
        name_pattern(filters.kernel)
        _check_pattern(filters.kernel)
    if filters.since is None:
        return filters
    try:
        return replace(filters, since=date.fromisoformat(filters.since).isoformat())
    except ValueError as error:
        raise UsageError(
            f"--since {filters.since!r} is not a date", hint="for example --since 2026-11-21"
        ) from error


def _check_pattern(kernel: str) -> None:
    # DuckDB knows fewer expressions than Python
    duckdb = require_duckdb()
    with duckdb.connect() as connection:
        try:
            connection.execute("select regexp_matches('', ?)", [kernel]).fetchall()
        except duckdb.Error as error:
            raise UsageError(
                f"DuckDB does not support the pattern --kernel {kernel!r}: {error}",
                hint="write the pattern without lookahead, lookbehind and backreferences",
            ) from error


def ask_sql(store: FleetStore, sql: str, limit: int, *, cached: bool = True) -> FleetTable:
    """The answer to a query in SQL, of which ``limit`` rows are kept, 0 for all."""

    def answer(connection: StoreConnection) -> FleetTable:
        names, every_row = run_sql(connection, sql)
        rows, notes = QueryFilters(limit=limit).limited(every_row, "rows")
        columns = tuple(map(Heading, names))
        return connection.table("sql", "Query result", columns, rows, notes)

    return query_store(store, answer, cached=cached)


def _potential(store: StoreConnection, filters: QueryFilters) -> Answer:
    where, values = filters.sql()
    rows = store.rows(
        f"""
        with newest as (
          select {series_sql("series")}, arg_max(
            struct_pack(kernel, name, sizes, defines, gpu, created, time_ns, launches, status,
              bottleneck, confidence, gain, recorded),
            (created, round)) as n
          from kernels where time_ns is not null {where} group by all)
        select n.kernel, n.name, {_PARAMETERS.format(of="n.")}, n.gpu, n.created,
          n.time_ns * n.launches as total,
          coalesce(n.bottleneck, n.status), n.confidence, n.gain,
          n.time_ns * n.launches * (1 - 1 / n.gain) as saved, {_RECORDED.format(of="n.")}
        from newest order by saved desc nulls last, total desc
        """,
        values,
    )
    return filters.limited(rows, "kernels")


def _sweep(store: StoreConnection, filters: QueryFilters) -> Answer:
    where, values = filters.sql()
    rows = store.rows(
        f"""
        with newest as (
          select gpu, name, kernel, sizes, defines, recorded,
            arg_max(time_ns, (created, round)) as time_ns, max(created) as created,
            arg_max(status, (created, round)) as status,
            arg_max(bottleneck, (created, round)) as bottleneck
          from kernels where time_ns is not null and kind = 'source' {where} group by all),
        ranked as (
          select *, row_number() over best as place, count(*) over whole as variants,
            max(time_ns) over whole as slowest,
            lead(defines) over best as second, lead(time_ns) over best as second_ns
          from newest
          window whole as (partition by gpu, name, sizes, recorded),
            best as (partition by gpu, name, sizes, recorded order by time_ns))
        select kernel, name, sizes, gpu, variants, defines, time_ns,
          coalesce(bottleneck, status), slowest / time_ns, second, second_ns / time_ns, created,
          {_RECORDED.format(of="")}
        from ranked where place = 1 and variants > 1 order by gpu, name, sizes, recorded
        """,
        values,
    )
    return filters.limited(rows, "sweeps")


_PARAMETERS: Final = (
    "trim(case when {of}sizes = '{{}}' then '' else {of}sizes end || ' ' || "
    "case when {of}defines = '{{}}' then '' else {of}defines end)"
)
_RECORDED: Final = "case when {of}recorded then true end"
"""True of recorded captures; of measurements nothing, so that their tables lack the column."""


@dataclass(frozen=True, slots=True)
class _Question:
    title: str
    columns: tuple[Heading, ...]
    answer: Callable[[StoreConnection, QueryFilters], Answer]


def _heading(column: str, title: str) -> Heading:
    return Heading(column, UNITS[column], title)


_KERNEL: Final = (_heading("kernel", "Kernel"), _heading("name", "Source"))
_WHO: Final = (
    *_KERNEL,
    Heading("parameters", title="Sizes and defines"),
    _heading("gpu", "GPU"),
)
_RECORDED_HEADING: Final = _heading("recorded", "Recorded")

QUESTIONS: Final = {
    "regressions": _Question(
        "What got slower, and since when",
        (
            *_WHO,
            Heading("before_ns", "ns", "Before"),
            Heading("after_ns", "ns", "Now"),
            Heading("ratio", "factor", "Slowdown"),
            Heading("since", "date", "Since"),
            _heading("commit", "Commit"),
            Heading("verdict_before", title="Verdict before"),
            Heading("verdict", title="Verdict now"),
            Heading("newest", "date", "Newest"),
            _RECORDED_HEADING,
        ),
        _regressions,
    ),
    "potential": _Question(
        "Time that could be saved, by kernel",
        (
            *_WHO,
            _heading("created", "Newest"),
            Heading("total_ns", "ns", "Time of all launches"),
            Heading("verdict", title="Verdict"),
            _heading("confidence", "Confidence"),
            _heading("gain", "Estimated gain"),
            Heading("saved_ns", "ns", "Could save"),
            _RECORDED_HEADING,
        ),
        _potential,
    ),
    "sweep": _Question(
        "The fastest defines of each sweep",
        (
            *_KERNEL,
            _heading("sizes", "Sizes"),
            _heading("gpu", "GPU"),
            Heading("variants", title="Variants"),
            _heading("defines", "Fastest"),
            _heading("time_ns", "Time"),
            Heading("verdict", title="Verdict"),
            Heading("slowest", "factor", "Slowest / fastest"),
            Heading("second", "json", "Second fastest"),
            Heading("second_takes", "factor", "Second / fastest"),
            _heading("created", "Newest"),
            _RECORDED_HEADING,
        ),
        _sweep,
    ),
}
