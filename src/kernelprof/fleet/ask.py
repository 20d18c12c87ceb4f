"""DuckDB over the files of a store: read-only, and over whatever in it is damaged."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import InputError, UsageError
from kernelprof.fleet.optional import package

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelprof.fleet.store import Store

_LAUNCHES: Final = """
create view launches as
select * exclude (ids, durations_ns, metrics, units, manifest), unnest(ids) as id,
  unnest(durations_ns) as duration_ns
from kernels
"""
"""A row a launch, by the profiler's time."""


class Questions:
    """A connection with the views ``kernels`` and ``launches``; ``warnings`` say what is not in it.

    ``folder`` is where the files are that it may open, ``None`` for an object store.
    """

    def __init__(self, connection: Any, folder: str | None, warnings: Sequence[str]) -> None:
        self.connection = connection
        self.folder = folder
        self.warnings = tuple(warnings)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that a query of ours gives."""
        found: list[tuple[Any, ...]] = self.connection.execute(sql, list(values)).fetchall()
        return found


@contextmanager
def questions(store: Store, since: str | None = None) -> Iterator[Questions]:
    """The store for questions; with ``since`` (``2026-11-21``) only months from that day's on.

    Raises :class:`InputError` for a store without measurements.
    """
    duckdb = package("duckdb", "asking a store")
    names = store.names(None if since is None else since[:7])
    if not names:
        raise InputError(
            "there is no measurement in this store" + (f" since {since}" if since else ""),
            where=store.place.shown,
            hint="make some: kernelprof fleet run PLAN.toml",
        )
    warnings = [f"{each.file} is left out: {each.why}" for each in store.strangers()]
    connection = duckdb.connect(config={"autoinstall_known_extensions": False})
    try:
        if not store.place.local:
            connection.register_filesystem(store.place.filesystem)  # type: ignore[attr-defined]
        try:
            _views(connection, store, names)
        except duckdb.Error:
            names, damaged = store.check_all(names)
            warnings += [f"{each.file} is left out: {each.why}" for each in damaged]
            if not names:
                raise InputError(
                    "no file of this store can be read", where=store.place.shown
                ) from None
            _views(connection, store, names)
        yield Questions(connection, store.place.path("") if store.place.local else None, warnings)
    finally:
        connection.close()


def _views(connection: Any, store: Store, names: Sequence[str]) -> None:
    """Make the views; an error where a file is damaged, before anybody asks."""
    connection.execute("drop view if exists launches")
    connection.execute("drop view if exists kernels")
    paths = [store.place.path(each) for each in names]
    relation = connection.read_parquet(paths, hive_partitioning=False)
    relation.create_view("kernels")
    connection.execute(_LAUNCHES)
    connection.execute(
        "select count(time_ns), min(schema_version), min(key) from kernels"
    ).fetchone()


def asked(found: Questions, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names and rows of one statement of somebody else's, which can read the views alone.

    Raises :class:`UsageError` for what is no single query, and for one that does not run.
    """
    duckdb = package("duckdb", "asking a store")
    connection = found.connection
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _refused(error) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError(
            "--sql takes one query", hint="begin it with select or with; a store is never changed"
        )
    if found.folder is not None:
        connection.execute("set allowed_directories = [?]", [found.folder])
        connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    try:
        answer = connection.execute(statements[0])
        return [each[0] for each in answer.description], answer.fetchall()
    except duckdb.Error as error:
        raise _refused(error) from error


def _refused(error: Exception) -> UsageError:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return UsageError(
        "\n".join(["the query cannot be answered:", *lines]),
        hint="the views are kernels and launches; docs/fleet.md lists their columns, and so does "
        "--sql 'describe kernels'",
    )


def plain(value: Any) -> Any:
    """A value of DuckDB as one of JSON."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
