"""DuckDB over the files of a store, read-only, with an index in the user's cache folder.

Opening thousands of files takes seconds, and files never change: the light columns of all of them
are kept in the **index**, one Parquet file, to which new files are added. It may be deleted at any
time; a damaged one is made again, and where the folder cannot be used, files are read each time.
"""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kernelprof.errors import InputError, KernelprofError, UsageError
from kernelprof.fleet.columns import HEAVY, LIGHT, SCHEMA_VERSION, schema
from kernelprof.fleet.records import first_line
from kernelprof.fleet.results import FleetTable
from kernelprof.fleet.store import Damaged, require_package
from kernelprof.locks import held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kernelprof.fleet.results import Heading
    from kernelprof.fleet.store import FleetStore

_T = TypeVar("_T")

_WAIT_S: Final = 10.0
_INDEX: Final = "index.parquet"


def require_duckdb() -> Any:
    """Return the module ``duckdb``; :class:`MissingToolError` where it is not installed."""
    return require_package("duckdb", "querying a store")


@contextmanager
def open_index(
    connection: Any, store: FleetStore, names: Sequence[str], *, cached: bool
) -> Iterator[tuple[str, tuple[Damaged, ...]]]:
    """Yield a file with the light columns of these files, and what of those is damaged.

    It exists until the context ends, and may hold rows of other files as well.
    """
    index = None
    if cached:
        with suppress(OSError, KernelprofError):
            folder = _folder(store)
            folder.mkdir(parents=True, exist_ok=True)
            with held(folder / "index", _WAIT_S):
                index = _update_index(connection, store, names, folder)
    if index is not None:
        yield index
        return
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as name:
        yield _update_index(connection, store, names, Path(name))


def _folder(store: FleetStore) -> Path:
    from platformdirs import user_cache_path

    columns = ",".join(LIGHT)
    text = f"{SCHEMA_VERSION}\n{columns}\n{store.backend.path('')}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    return user_cache_path("kernelprof", appauthor=False) / "fleet" / digest[:32]


def _update_index(
    connection: Any, store: FleetStore, names: Sequence[str], folder: Path
) -> tuple[str, tuple[Damaged, ...]]:
    # Files that cannot be read are left out, and checked again next time.
    duckdb = require_duckdb()
    index = folder / _INDEX
    indexed: set[str] = set()
    try:
        if index.is_file():
            rows = connection.execute("select distinct file from read_parquet(?)", [str(index)])
            indexed = {file for (file,) in rows.fetchall()}
    except duckdb.Error:
        index.unlink()
    new = whole = [each for each in names if each not in indexed]
    damaged: tuple[Damaged, ...] = ()
    # An object store has checksums of its own, and would send each file once more.
    if store.backend.local:
        whole, damaged = store.check_all(new)
    try:
        _add_to_index(connection, store, whole, index)
    except duckdb.Error:
        whole, damaged = split_readable(connection, store, new)
        _add_to_index(connection, store, whole, index)
    return str(index), damaged


def _add_to_index(connection: Any, store: FleetStore, names: Sequence[str], index: Path) -> None:
    if not names:
        return
    query = (
        f"select {', '.join(LIGHT)}, filename[{len(store.backend.path('')) + 1}:] as file "
        "from read_parquet(?, hive_partitioning = false, filename = true)"
    )
    if index.is_file():
        query = f"select * from read_parquet('{_escape(index)}') union all by name {query}"
    draft = index.with_name(f".{secrets.token_hex(8)}")
    try:
        connection.execute(
            f"copy ({query}) to '{_escape(draft)}' (format parquet, compression zstd)",
            [[store.backend.path(each) for each in names]],
        )
        draft.rename(index)
    finally:
        draft.unlink(missing_ok=True)


def remove_damaged_index(store: FleetStore) -> bool:
    """Take the index away if it cannot be read to its end; whether that was so."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with suppress(OSError, KernelprofError):
        index = _folder(store) / _INDEX
        with held(_folder(store) / "index", _WAIT_S):
            try:
                if index.is_file():
                    pq.ParquetFile(index).read(use_threads=False)
            except (OSError, ValueError, pa.ArrowException):
                index.unlink()
                return True
    return False


def split_readable(
    connection: Any, store: FleetStore, names: Iterable[str]
) -> tuple[list[str], tuple[Damaged, ...]]:
    """These files, one by one: the whole ones, and those that cannot be read, with why."""
    duckdb = require_duckdb()
    whole, damaged = store.check_all(names)
    readable = []
    for name in whole:
        path = store.backend.path(name)
        try:
            connection.execute(
                f"create or replace temp table probe as select {', '.join(schema().names)} "
                "from read_parquet(?, hive_partitioning = false)",
                [path],
            )
            readable.append(name)
        except duckdb.Error as error:
            damaged = (*damaged, Damaged(path, f"DuckDB cannot read it ({first_line(error)})"))
    connection.execute("drop table if exists probe")
    return readable, damaged


def _escape(path: object) -> str:
    return str(path).replace("'", "''")


_KERNELS: Final = (
    "create view kernels as select * from read_parquet('{}') where file in (select file from files)"
)
_ALL: Final = """
create view measurements as
select * from read_parquet([{}], hive_partitioning = false, filename = true);
create view launches as
select * exclude ({heavy}), unnest(ids) as id,
  unnest(durations_ns) as duration_ns
from measurements;
"""
"""Of ``launches`` a row is a launch, with the profiler's time."""


@dataclass(frozen=True, slots=True)
class StoreConnection:
    """A connection with the view ``kernels``; ``warnings`` name the files that are not in it."""

    connection: Any
    shown: str
    root: str
    local: bool
    index: str
    whole: tuple[str, ...]
    warnings: tuple[str, ...]

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that a query of ours gives."""
        rows: list[tuple[Any, ...]] = self.connection.execute(sql, list(values)).fetchall()
        return rows

    def table(
        self,
        question: str,
        title: str,
        columns: tuple[Heading, ...],
        rows: Iterable[Sequence[Any]],
        notes: Iterable[str] = (),
    ) -> FleetTable:
        """Rows of DuckDB as the answer to a question, of plain values."""
        values = tuple(tuple(map(_to_json_value, row)) for row in rows)
        return FleetTable(
            question, title, columns, values, tuple(notes), store=self.shown, warnings=self.warnings
        )


def query_store(
    store: FleetStore, answer: Callable[[StoreConnection], _T], *, cached: bool = True
) -> _T:
    """Return what ``answer`` reads from a store; ``cached`` keeps the index for the next time.

    An answer that fails over damaged files is given without them, with warnings. Raises
    :class:`InputError` for a store without measurements.
    """
    duckdb = require_duckdb()
    try:
        with _connect_views(store, cached=cached) as connected:
            return answer(connected)
    except (duckdb.Error, UsageError) as error:
        if isinstance(error, UsageError) and not _may_be_damage(error.__cause__):
            raise
        with closing(_connect(store)) as connection:
            _, damaged = split_readable(connection, store, store.names())
        if not (cached and remove_damaged_index(store)) and not damaged:
            raise
    with _connect_views(store, cached=cached, damaged=damaged) as connected:
        return answer(connected)


def _may_be_damage(cause: BaseException | None) -> bool:
    # Whether a query can have failed over what it read, and not over what it says
    duckdb = require_duckdb()
    mistakes = (duckdb.ParserException, duckdb.SyntaxException, duckdb.BinderException)
    refused = (duckdb.CatalogException, duckdb.PermissionException)
    values = (duckdb.ConversionException, duckdb.OutOfRangeException)
    return isinstance(cause, duckdb.Error) and not isinstance(cause, (*mistakes, *refused, *values))


def _connect(store: FleetStore) -> Any:
    duckdb = require_duckdb()
    connection = duckdb.connect(config={"autoinstall_known_extensions": False})
    if not store.backend.local:
        connection.register_filesystem(store.backend.filesystem)  # type: ignore[attr-defined]
    return connection


@contextmanager
def _connect_views(
    store: FleetStore, *, cached: bool, damaged: Sequence[Damaged] = ()
) -> Iterator[StoreConnection]:
    names = store.names()
    if not names:
        raise InputError(
            "there is no measurement in this store",
            where=store.backend.shown,
            hint="measure kernels: kernelprof fleet run PLAN.toml",
        )
    torn = {each.file for each in damaged}
    paths = {each: store.backend.path(each) for each in names}
    sound = [each for each, path in paths.items() if path not in torn]
    with (
        closing(_connect(store)) as connection,
        open_index(connection, store, sound, cached=cached) as (index, more),
    ):
        left_out = [*store.foreign_files(), *damaged, *more]
        warnings = [f"{each.file} is left out: {each.why}" for each in left_out]
        torn |= {each.file for each in more}
        whole = {each: path for each, path in paths.items() if path not in torn}
        if not whole:
            what = "no file of this store can be read"
            raise InputError(what, where=store.backend.shown, hint="\n".join(warnings))
        connection.execute("create temp table files as select unnest(?) as file", [list(whole)])
        connection.execute(_KERNELS.format(_escape(index)))
        yield StoreConnection(
            connection,
            store.backend.shown,
            store.backend.path(""),
            store.backend.local,
            index,
            tuple(whole.values()),
            tuple(warnings),
        )


def run_sql(store: StoreConnection, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return names and rows of a user's single query, which can read the views alone.

    Raises :class:`UsageError` for anything else.
    """
    duckdb = require_duckdb()
    connection = store.connection
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _storage_error(error) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError(
            "--sql takes one query",
            hint="begin the query with SELECT or WITH; a query cannot change the store",
        )
    # Nothing but the views can be opened by what others wrote.
    files = ", ".join(f"'{_escape(each)}'" for each in store.whole)
    connection.execute(_ALL.format(files, heavy=", ".join(HEAVY)))
    if store.local:
        connection.execute("set allowed_paths = ?", [[store.index, *store.whole]])
        connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    try:
        answer = connection.execute(statements[0])
        return [each[0] for each in answer.description], answer.fetchall()
    except (duckdb.Error, ImportError) as error:  # a type that needs another package of Python
        raise _storage_error(error) from error


def _storage_error(error: Exception) -> UsageError:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return UsageError(
        "\n".join(["the query failed:", *lines]),
        hint="the views are kernels, measurements and launches; --sql 'describe kernels' lists the "
        "columns of kernels",
    )


def _to_json_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, dict):
        return {str(name): _to_json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(each) for each in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)
