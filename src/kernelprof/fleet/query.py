"""The usual questions to a store, each as a table.

A **series** is what was measured again and again: on one GPU, of one name, one kernel, one set of
sizes and defines, and, where it is no kernel of a source, of one launch configuration. Recorded
captures that stand in for measurements are never in one series with those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import UsageError
from kernelprof.fleet.ask import answered, asked, plain
from kernelprof.fleet.optional import package
from kernelprof.fleet.regressions import regressed
from kernelprof.fleet.results import FleetTable, Heading
from kernelprof.fleet.series import Filters, series
from kernelprof.model.kernel_name import name_pattern

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.fleet.ask import Questions
    from kernelprof.fleet.store import Store

    Answer = tuple[tuple[Heading, ...], list[tuple[Any, ...]], list[str]]


@dataclass(frozen=True, slots=True)
class _Question:
    title: str
    answer: Callable[[Questions, Filters], Answer]


def ask(store: Store, question: str, filters: Filters, *, cached: bool = True) -> FleetTable:
    """The answer to one of :data:`QUESTIONS`; :class:`UsageError` for any other."""
    known = QUESTIONS.get(question)
    if known is None:
        raise UsageError(
            f"there is no question {question!r}",
            hint=f"there are {', '.join(QUESTIONS)}; --sql asks any other",
        )
    filters = _checked(filters)

    def answer(found: Questions) -> FleetTable:
        columns, rows, notes = known.answer(found, filters)
        return FleetTable(
            question,
            store.place.shown,
            known.title,
            columns,
            tuple(tuple(map(plain, row)) for row in rows),
            tuple(notes),
            found.warnings,
        )

    return answered(store, answer, cached=cached)


def _checked(filters: Filters) -> Filters:
    """The same with the day as DuckDB reads it; :class:`UsageError` for what is no filter."""
    if filters.kernel is not None:
        name_pattern(filters.kernel)
        _try_pattern(filters.kernel)
    if filters.since is None:
        return filters
    try:
        return replace(filters, since=date.fromisoformat(filters.since).isoformat())
    except ValueError as error:
        raise UsageError(
            f"--since {filters.since!r} is no date", hint="for example --since 2026-11-21"
        ) from error


def _try_pattern(kernel: str) -> None:
    """DuckDB knows fewer expressions than Python."""
    duckdb = package("duckdb", "asking a store")
    with duckdb.connect() as connection:
        try:
            connection.execute("select regexp_matches('', ?)", [kernel]).fetchall()
        except duckdb.Error as error:
            raise UsageError(
                f"--kernel {kernel!r} cannot be used with a store: {error}",
                hint="write it without looking ahead or behind and without references to groups",
            ) from error


def ask_sql(store: Store, sql: str, limit: int, *, cached: bool = True) -> FleetTable:
    """The answer to a query in SQL, of which ``limit`` rows are kept, 0 for all."""

    def answer(found: Questions) -> FleetTable:
        names, rows = asked(found, sql)
        notes = []
        if limit and len(rows) > limit:
            notes.append(f"The first {limit:,} of {len(rows):,} rows; --limit 0 shows all.")
            rows = rows[:limit]
        return FleetTable(
            "sql",
            store.place.shown,
            "What the query gives",
            tuple(map(Heading, names)),
            tuple(tuple(map(plain, row)) for row in rows),
            tuple(notes),
            found.warnings,
        )

    return answered(store, answer, cached=cached)


_WHO: Final = (
    Heading("kernel", title="Kernel"),
    Heading("name", title="Of"),
    Heading("parameters", title="Sizes and defines"),
    Heading("gpu", title="GPU"),
)
_STANDS_IN: Final = Heading("recorded", title="Recorded")


def _potential(found: Questions, filters: Filters) -> Answer:
    """What removing bottlenecks could save by the newest measurement of each series."""
    where, values = filters.sql()
    rows = found.rows(
        f"""
        with newest as (
          select {series("series")}, arg_max(
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
    columns = (
        *_WHO,
        Heading("created", "date", "Newest"),
        Heading("total_ns", "ns", "Time of all launches"),
        Heading("verdict", title="Verdict"),
        Heading("confidence", title="Confidence"),
        Heading("gain", "factor", "Estimated gain"),
        Heading("saved_ns", "ns", "Could save"),
        _STANDS_IN,
    )
    return columns, filters.first(rows), filters.note(len(rows), "kernels")


def _sweep(found: Questions, filters: Filters) -> Answer:
    """The fastest defines of each kernel at each size, by the newest measurement of each."""
    where, values = filters.sql()
    rows = found.rows(
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
    columns = (
        Heading("kernel", title="Kernel"),
        Heading("name", title="Of"),
        Heading("sizes", "json", "Sizes"),
        Heading("gpu", title="GPU"),
        Heading("variants", title="Variants"),
        Heading("defines", "json", "Fastest"),
        Heading("time_ns", "ns", "Time"),
        Heading("verdict", title="Verdict"),
        Heading("slowest", "factor", "Slowest takes"),
        Heading("second", "json", "Second"),
        Heading("second_takes", "factor", "Second takes"),
        Heading("created", "date", "Newest"),
        _STANDS_IN,
    )
    return columns, filters.first(rows), filters.note(len(rows), "sweeps")


def _regressions(found: Questions, filters: Filters) -> Answer:
    """Series whose newest time is significantly longer than at the start of the window."""
    slower, within, others = regressed(found, filters)
    rows = [
        (
            each.kernel,
            each.name,
            each.parameters,
            each.gpu,
            each.before_ns,
            each.after_ns,
            each.ratio,
            each.since,
            each.commit,
            each.verdict_before,
            each.verdict_after,
            each.newest,
            each.recorded or None,
        )
        for each in slower
    ]
    columns = (
        *_WHO,
        Heading("before_ns", "ns", "Before"),
        Heading("after_ns", "ns", "Now"),
        Heading("ratio", "factor", "Takes"),
        Heading("since", "date", "Since"),
        Heading("commit", "commit", "Commit"),
        Heading("verdict_before", title="Verdict before"),
        Heading("verdict", title="Verdict now"),
        Heading("newest", "date", "Newest"),
        _STANDS_IN,
    )
    notes = []
    if within:
        notes.append(f"{within:,} more took longer, within the noise or measured otherwise.")
    if others:
        notes.append(f"{others:,} more took longer and were not looked at; --limit 0 looks at all.")
    return columns, rows, notes


_PARAMETERS: Final = (
    "trim(case when {of}sizes = '{{}}' then '' else {of}sizes end || ' ' || "
    "case when {of}defines = '{{}}' then '' else {of}defines end)"
)
_RECORDED: Final = "case when {of}recorded then true end"
"""True of recorded captures; of measurements nothing, so that their tables lack the column."""

QUESTIONS: Final = {
    "regressions": _Question("What got slower, and since when", _regressions),
    "potential": _Question("What could be saved, by kernel", _potential),
    "sweep": _Question("The fastest parameters of each sweep", _sweep),
}
