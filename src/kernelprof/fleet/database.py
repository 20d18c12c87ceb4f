"""DuckDB over the files of a store, read-only, with an index in the user's cache folder.

Opening thousands of files takes seconds, and files never change: the light columns of each are
kept in a **part**, a Parquet file beside the names of the files that it is of. New files make a new
part, and many parts one. The folder may be deleted at any time; damaged parts are made again, and
where the folder cannot be used, files are read each time.
"""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kernelprof.errors import InputError, KernelprofError, UsageError
from kernelprof.fleet.columns import HEAVY, LIGHT, SCHEMA_VERSION, schema
from kernelprof.fleet.store import Damaged, package
from kernelprof.locks import held

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from kernelprof.fleet.store import FleetStore

_T = TypeVar("_T")

_WAIT_S: Final = 10.0
_MOST_PARTS: Final = 12
_NAMES: Final = ".names"
_PART: Final = ".parquet"


@contextmanager
def parts(
    connection: Any, store: FleetStore, names: Sequence[str], *, cached: bool
) -> Iterator[tuple[list[str], tuple[Damaged, ...]]]:
    """Yield Parquet files with the light columns of these files, and what of those is damaged.

    They exist until the context ends, and may hold other files as well.
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
) -> tuple[list[str], tuple[Damaged, ...]]:
    indexed = {name for each in _complete_parts(folder).values() for name in each}
    new = [each for each in names if each not in indexed]
    damaged: tuple[Damaged, ...] = ()
    if new:
        damaged = _add_part(connection, store, new, folder)
    parts = _complete_parts(folder)
    if len(parts) > _MOST_PARTS:
        indexed = {name for each in parts.values() for name in each}
        present = sorted(indexed & set(names)) or sorted(indexed)
        query = "select * from read_parquet(?)"
        _write_part(connection, folder, query, [str(each) for each in parts], present)
        for each in parts:
            _remove(each)
        parts = _complete_parts(folder)
    return [str(each) for each in sorted(parts)], damaged


def _complete_parts(folder: Path) -> dict[Path, list[str]]:
    complete: dict[Path, list[str]] = {}
    for each in {path.with_suffix("") for path in folder.glob("[!.]*")}:
        parquet, names = each.with_suffix(_PART), each.with_suffix(_NAMES)
        try:
            *listed, count = names.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            listed, count = [], ""
        if count == str(len(listed)) and parquet.is_file():
            complete[parquet] = listed
        else:
            _remove(parquet)
    return complete


def _remove(parquet: Path) -> None:
    parquet.with_suffix(_NAMES).unlink(missing_ok=True)
    parquet.unlink(missing_ok=True)


def remove_damaged_parts(store: FleetStore) -> bool:
    """Take away the parts that cannot be read to their end; whether there was one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    mended = False
    with suppress(OSError, KernelprofError):
        folder = _folder(store)
        with held(folder / "index", _WAIT_S):
            for parquet in _complete_parts(folder):
                try:
                    pq.ParquetFile(parquet).read(use_threads=False)
                except (OSError, ValueError, pa.ArrowException):
                    _remove(parquet)
                    mended = True
    return mended


def unreadable(
    connection: Any, store: FleetStore, names: Iterable[str]
) -> tuple[list[str], tuple[Damaged, ...]]:
    """These files, one by one: the whole ones, and those that cannot be read, with why."""
    duckdb = package("duckdb", "asking a store")
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
            why = (str(error).splitlines() or [type(error).__name__])[0]
            damaged = (*damaged, Damaged(path, f"DuckDB cannot read it ({why})"))
    connection.execute("drop table if exists probe")
    return readable, damaged


def _add_part(
    connection: Any, store: FleetStore, new: Sequence[str], folder: Path
) -> tuple[Damaged, ...]:
    # Files that cannot be read are left out, and checked again next time.
    duckdb = package("duckdb", "asking a store")
    whole = list(new)
    damaged: tuple[Damaged, ...] = ()
    # An object store has checksums of its own, and would send each file once more.
    if store.backend.local:
        whole, damaged = store.check_all(new)
    query = (
        f"select {', '.join(LIGHT)}, filename[{len(store.backend.path('')) + 1}:] as file "
        "from read_parquet(?, hive_partitioning = false, filename = true)"
    )

    def write() -> None:
        if whole:
            paths = [store.backend.path(each) for each in whole]
            _write_part(connection, folder, query, paths, whole)

    try:
        write()
    except duckdb.Error:
        whole, damaged = unreadable(connection, store, new)
        write()
    return damaged


def _write_part(
    connection: Any, folder: Path, query: str, files: Sequence[str], names: Collection[str]
) -> None:
    name = secrets.token_hex(8)
    draft, final = folder / f".{name}", folder / f"{name}{_PART}"
    try:
        connection.execute(
            f"copy ({query}) to '{_quote_path(draft)}' (format parquet, compression zstd)",
            [[*files]],
        )
        draft.rename(final)
        # A part without names is none, and the last line shows that none is missing.
        text = "\n".join([*names, str(len(names))])
        final.with_suffix(_NAMES).write_text(text, encoding="utf-8")
    finally:
        draft.unlink(missing_ok=True)


def _quote_path(path: Path) -> str:
    return str(path).replace("'", "''")


_KERNELS: Final = (
    "create view kernels as select * from read_parquet({}) where file in (select file from files)"
)
_ALL: Final = """
create view measurements as
select * from read_parquet({}, hive_partitioning = false, filename = true);
create view launches as
select * exclude ({heavy}), unnest(ids) as id,
  unnest(durations_ns) as duration_ns
from measurements;
"""
"""Of ``launches`` a row is a launch, with the profiler's time."""


class StoreConnection:
    """A connection with the view ``kernels``; ``warnings`` name the files that are not in it."""

    def __init__(
        self,
        connection: Any,
        store: FleetStore,
        parts: Sequence[str],
        whole: Sequence[str],
        warnings: Sequence[str],
    ) -> None:
        self.connection = connection
        self.root = store.backend.path("")
        self.warnings = tuple(warnings)
        self._local = store.backend.local
        self._parts = parts
        self._whole = whole

    def open_to_others(self) -> None:
        """Add the views ``measurements`` and ``launches``; nothing else can be opened then."""
        self.connection.execute(_ALL.format(_quote_list(self._whole), heavy=", ".join(HEAVY)))
        if self._local:
            self.connection.execute("set allowed_paths = ?", [[*self._parts, *self._whole]])
            self.connection.execute("set enable_external_access = false")
        self.connection.execute("set lock_configuration = true")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that a query of ours gives."""
        rows: list[tuple[Any, ...]] = self.connection.execute(sql, list(values)).fetchall()
        return rows


def query_store(
    store: FleetStore, answer: Callable[[StoreConnection], _T], *, cached: bool = True
) -> _T:
    """Return what ``answer`` reads from a store; ``cached`` keeps the index for the next time.

    An answer that fails over damaged files is given without them, with warnings. Raises
    :class:`InputError` for a store without measurements.
    """
    duckdb = package("duckdb", "asking a store")
    try:
        with _connect_views(store, cached=cached) as connected:
            return answer(connected)
    except (duckdb.Error, UsageError) as error:
        if isinstance(error, UsageError) and not _may_be_damage(error.__cause__):
            raise
        with closing(_connect(store)) as connection:
            _, damaged = unreadable(connection, store, store.names())
        if not (cached and remove_damaged_parts(store)) and not damaged:
            raise
    with _connect_views(store, cached=cached, damaged=damaged) as connected:
        return answer(connected)


def _may_be_damage(cause: BaseException | None) -> bool:
    # Whether a query can have failed over what it read, and not over what it says
    duckdb = package("duckdb", "asking a store")
    mistakes = (duckdb.ParserException, duckdb.SyntaxException, duckdb.BinderException)
    refused = (duckdb.CatalogException, duckdb.PermissionException)
    values = (duckdb.ConversionException, duckdb.OutOfRangeException)
    return isinstance(cause, duckdb.Error) and not isinstance(cause, (*mistakes, *refused, *values))


def _connect(store: FleetStore) -> Any:
    duckdb = package("duckdb", "asking a store")
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
            hint="make some: kernelprof fleet run PLAN.toml",
        )
    torn = {each.file for each in damaged}
    paths = {each: store.backend.path(each) for each in names}
    sound = [each for each, path in paths.items() if path not in torn]
    with (
        closing(_connect(store)) as connection,
        parts(connection, store, sound, cached=cached) as (index, more),
    ):
        left_out = [*store.strangers(), *damaged, *more]
        warnings = [f"{each.file} is left out: {each.why}" for each in left_out]
        torn |= {each.file for each in more}
        whole = {each: path for each, path in paths.items() if path not in torn}
        if not whole:
            what = "no file of this store can be read"
            raise InputError(what, where=store.backend.shown, hint="\n".join(warnings))
        connection.execute("create temp table files as select unnest(?) as file", [list(whole)])
        connection.execute(_KERNELS.format(_quote_list(index)))
        yield StoreConnection(connection, store, index, list(whole.values()), warnings)


def _quote_list(paths: Sequence[str]) -> str:
    quoted = ("'{}'".format(each.replace("'", "''")) for each in paths)
    return f"[{', '.join(quoted)}]"


def run_sql(store: StoreConnection, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return names and rows of a user's single query, which can read the views alone.

    Raises :class:`UsageError` for anything else.
    """
    duckdb = package("duckdb", "asking a store")
    connection = store.connection
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise _storage_error(error) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise UsageError(
            "--sql takes one query", hint="begin it with select or with; a store is never changed"
        )
    store.open_to_others()
    try:
        answer = connection.execute(statements[0])
        return [each[0] for each in answer.description], answer.fetchall()
    except duckdb.Error as error:
        raise _storage_error(error) from error


def _storage_error(error: Exception) -> UsageError:
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
