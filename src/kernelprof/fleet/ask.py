"""DuckDB over the files of a store: read-only, and over whatever in it is damaged."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import InputError, UsageError
from kernelprof.fleet.index import parts
from kernelprof.fleet.optional import package

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelprof.fleet.store import Store

_KERNELS: Final = (
    "create view kernels as select * from read_parquet({}) where file in (select file from files)"
)
_ALL: Final = """
create view measurements as
select * from read_parquet({}, hive_partitioning = false, filename = true);
create view launches as
select * exclude (ids, times_ns, durations_ns, metrics, units, manifest), unnest(ids) as id,
  unnest(durations_ns) as duration_ns
from measurements;
"""
"""Of ``launches`` a row is a launch, with the profiler's time."""


class Questions:
    """A connection with views; ``warnings`` say what of the store is not in them.

    ``kernels`` has what is one value of each measured kernel. ``root`` stands before each ``file``
    in it; ``parts`` are the files that it is made of, and ``whole`` those of the store.
    """

    def __init__(
        self,
        connection: Any,
        store: Store,
        parts: Sequence[str],
        whole: Sequence[str],
        warnings: Sequence[str],
    ) -> None:
        self.connection = connection
        self.root = store.place.path("")
        self.warnings = tuple(warnings)
        self._local = store.place.local
        self._parts = parts
        self._whole = whole

    def open_to_others(self) -> None:
        """Add the views that open all files: ``measurements``, and ``launches``, a row a launch.

        From here on nothing else can be opened.
        """
        self.connection.execute(_ALL.format(_listed(self._whole)))
        if self._local:
            self.connection.execute("set allowed_paths = ?", [[*self._parts, *self._whole]])
            self.connection.execute("set enable_external_access = false")
        self.connection.execute("set lock_configuration = true")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that a query of ours gives."""
        found: list[tuple[Any, ...]] = self.connection.execute(sql, list(values)).fetchall()
        return found


@contextmanager
def questions(store: Store, *, cached: bool = True) -> Iterator[Questions]:
    """The store for questions; ``cached`` keeps what was read of its files for the next ones.

    Raises :class:`InputError` for a store without measurements.
    """
    duckdb = package("duckdb", "asking a store")
    names = store.names()
    if not names:
        raise InputError(
            "there is no measurement in this store",
            where=store.place.shown,
            hint="make some: kernelprof fleet run PLAN.toml",
        )
    connection = duckdb.connect(config={"autoinstall_known_extensions": False})
    try:
        if not store.place.local:
            connection.register_filesystem(store.place.filesystem)  # type: ignore[attr-defined]
        with parts(connection, store, names, cached=cached) as (found, damaged):
            left_out = [*store.strangers(), *damaged]
            warnings = [f"{each.file} is left out: {each.why}" for each in left_out]
            torn = {each.file for each in damaged}
            paths = {each: store.place.path(each) for each in names}
            whole = {each: path for each, path in paths.items() if path not in torn}
            if not whole:
                what = "no file of this store can be read"
                raise InputError(what, where=store.place.shown, hint="\n".join(warnings))
            connection.execute("create temp table files as select unnest(?) as file", [list(whole)])
            connection.execute(_KERNELS.format(_listed(found)))
            yield Questions(connection, store, found, list(whole.values()), warnings)
    finally:
        connection.close()


def _listed(paths: Sequence[str]) -> str:
    quoted = ("'{}'".format(each.replace("'", "''")) for each in paths)
    return f"[{', '.join(quoted)}]"


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
    found.open_to_others()
    try:
        answer = connection.execute(statements[0])
        return [each[0] for each in answer.description], answer.fetchall()
    except duckdb.Error as error:
        raise _refused(error) from error


def _refused(error: Exception) -> UsageError:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return UsageError(
        "\n".join(["the query cannot be answered:", *lines]),
        hint="the views are kernels, measurements and launches; --sql 'describe kernels' lists the "
        "columns of one",
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
