"""DuckDB over the files of a store: read-only, and over whatever in it is damaged."""

from __future__ import annotations

from contextlib import closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kernelprof.errors import InputError, UsageError
from kernelprof.fleet.index import mend, parts, unreadable
from kernelprof.fleet.optional import package

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kernelprof.fleet.store import Damaged, Store

_T = TypeVar("_T")

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


def answered(store: Store, answer: Callable[[Questions], _T], *, cached: bool = True) -> _T:
    """What is answered from a store; ``cached`` keeps what was read of its files for the next time.

    A file may be damaged where nobody has read it yet, and one that was read may be damaged since.
    Where the answer fails over that, it is given without these files, and they are told. Raises
    :class:`InputError` for a store without measurements.
    """
    duckdb = package("duckdb", "asking a store")
    try:
        with _questions(store, cached=cached) as found:
            return answer(found)
    except (duckdb.Error, UsageError) as error:
        if isinstance(error, UsageError) and not _may_be_damage(error.__cause__):
            raise
        with closing(_connected(store)) as connection:
            _, damaged = unreadable(connection, store, store.names())
        if not (cached and mend(store)) and not damaged:
            raise
    with _questions(store, cached=cached, damaged=damaged) as found:
        return answer(found)


def _may_be_damage(cause: BaseException | None) -> bool:
    """Whether a query can have failed over what it read, and not over what it says."""
    duckdb = package("duckdb", "asking a store")
    said = (duckdb.ParserException, duckdb.SyntaxException, duckdb.BinderException)
    refused = (duckdb.CatalogException, duckdb.PermissionException)
    values = (duckdb.ConversionException, duckdb.OutOfRangeException)
    return isinstance(cause, duckdb.Error) and not isinstance(cause, (*said, *refused, *values))


def _connected(store: Store) -> Any:
    duckdb = package("duckdb", "asking a store")
    connection = duckdb.connect(config={"autoinstall_known_extensions": False})
    if not store.place.local:
        connection.register_filesystem(store.place.filesystem)  # type: ignore[attr-defined]
    return connection


@contextmanager
def _questions(
    store: Store, *, cached: bool, damaged: Sequence[Damaged] = ()
) -> Iterator[Questions]:
    """The store without the files that are known to be damaged."""
    names = store.names()
    if not names:
        raise InputError(
            "there is no measurement in this store",
            where=store.place.shown,
            hint="make some: kernelprof fleet run PLAN.toml",
        )
    torn = {each.file for each in damaged}
    paths = {each: store.place.path(each) for each in names}
    sound = [each for each, path in paths.items() if path not in torn]
    with (
        closing(_connected(store)) as connection,
        parts(connection, store, sound, cached=cached) as (found, more),
    ):
        left_out = [*store.strangers(), *damaged, *more]
        warnings = [f"{each.file} is left out: {each.why}" for each in left_out]
        torn |= {each.file for each in more}
        whole = {each: path for each, path in paths.items() if path not in torn}
        if not whole:
            what = "no file of this store can be read"
            raise InputError(what, where=store.place.shown, hint="\n".join(warnings))
        connection.execute("create temp table files as select unnest(?) as file", [list(whole)])
        connection.execute(_KERNELS.format(_listed(found)))
        yield Questions(connection, store, found, list(whole.values()), warnings)


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
