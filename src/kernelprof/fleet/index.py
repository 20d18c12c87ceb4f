"""What questions ask of every file of a store, kept together in the user's cache folder.

To open thousands of files takes seconds, and each is as it was when it appeared: what was read of
one is kept in a **part**, a Parquet file beside the names of the files that it is of. New files
make a new part, and many parts one. The folder may be deleted at any time; what is damaged there is
made again, and where it cannot be used, files are read each time.
"""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import KernelprofError
from kernelprof.fleet.optional import package
from kernelprof.fleet.records import LIGHT, SCHEMA_VERSION, schema
from kernelprof.fleet.store import Damaged
from kernelprof.locks import held

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from kernelprof.fleet.store import Store

_WAIT_S: Final = 10.0
_MOST_PARTS: Final = 12
_NAMES: Final = ".names"
_PART: Final = ".parquet"


@contextmanager
def parts(
    connection: Any, store: Store, names: Sequence[str], *, cached: bool
) -> Iterator[tuple[list[str], tuple[Damaged, ...]]]:
    """Parquet files that together have the light columns of these files, and each file's name.

    They are there until the context ends; what they have of other files is to be left out. Also
    gives what is damaged among the files.
    """
    found = None
    if cached:
        with suppress(OSError, KernelprofError):
            folder = _folder(store)
            folder.mkdir(parents=True, exist_ok=True)
            with held(folder / "index", _WAIT_S):
                found = _updated(connection, store, names, folder)
    if found is not None:
        yield found
        return
    with tempfile.TemporaryDirectory(prefix="kernelprof-") as name:
        yield _updated(connection, store, names, Path(name))


def _folder(store: Store) -> Path:
    from platformdirs import user_cache_path

    columns = ",".join(LIGHT)
    text = f"{SCHEMA_VERSION}\n{columns}\n{store.place.path('')}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
    return user_cache_path("kernelprof", appauthor=False) / "fleet" / digest[:32]


def _updated(
    connection: Any, store: Store, names: Sequence[str], folder: Path
) -> tuple[list[str], tuple[Damaged, ...]]:
    """The parts of a folder, after what was not in them yet."""
    known = {name for each in _whole(folder).values() for name in each}
    new = [each for each in names if each not in known]
    damaged: tuple[Damaged, ...] = ()
    if new:
        damaged = _add(connection, store, new, folder)
    found = _whole(folder)
    if len(found) > _MOST_PARTS:
        _unite(connection, found, set(names), folder)
        found = _whole(folder)
    return [str(each) for each in sorted(found)], damaged


def _whole(folder: Path) -> dict[Path, list[str]]:
    """The parts of a folder with their names; what has lost a part of itself is taken away."""
    found: dict[Path, list[str]] = {}
    for each in {path.with_suffix("") for path in folder.glob("[!.]*")}:
        part, names = each.with_suffix(_PART), each.with_suffix(_NAMES)
        try:
            *listed, count = names.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            listed, count = [], ""
        if count == str(len(listed)) and part.is_file():
            found[part] = listed
        else:
            _remove(part)
    return found


def _remove(part: Path) -> None:
    part.with_suffix(_NAMES).unlink(missing_ok=True)
    part.unlink(missing_ok=True)


def mend(store: Store) -> bool:
    """Take away the parts that cannot be read to their end; whether there was one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    mended = False
    with suppress(OSError, KernelprofError):
        folder = _folder(store)
        with held(folder / "index", _WAIT_S):
            for part in _whole(folder):
                try:
                    pq.ParquetFile(part).read(use_threads=False)
                except (OSError, ValueError, pa.ArrowException):
                    _remove(part)
                    mended = True
    return mended


def unreadable(
    connection: Any, store: Store, names: Iterable[str]
) -> tuple[list[str], tuple[Damaged, ...]]:
    """These files, one by one: the whole ones, and those that cannot be read, with why."""
    duckdb = package("duckdb", "asking a store")
    whole, damaged = store.check_all(names)
    readable = []
    for name in whole:
        path = store.place.path(name)
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


def _add(connection: Any, store: Store, new: Sequence[str], folder: Path) -> tuple[Damaged, ...]:
    """A part of files; those that cannot be read are left out, and looked at again next time."""
    duckdb = package("duckdb", "asking a store")
    whole = list(new)
    damaged: tuple[Damaged, ...] = ()
    # An object store has checksums of its own, and would send each file once more.
    if store.place.local:
        whole, damaged = store.check_all(new)
    try:
        if whole:
            _write(connection, store, whole, folder)
    except duckdb.Error:
        whole, damaged = unreadable(connection, store, new)
        if whole:
            _write(connection, store, whole, folder)
    return damaged


def _write(connection: Any, store: Store, names: Sequence[str], folder: Path) -> None:
    """A part; its names come last, so that one without names is no part."""
    root = store.place.path("")
    draft = folder / f".{secrets.token_hex(8)}"
    try:
        connection.execute(
            f"copy (select {', '.join(LIGHT)}, filename[{len(root) + 1}:] as file "
            "from read_parquet(?, hive_partitioning = false, filename = true)) "
            f"to '{_quoted(draft)}' (format parquet, compression zstd)",
            [[store.place.path(each) for each in names]],
        )
        _settle(draft, names)
    finally:
        draft.unlink(missing_ok=True)


def _settle(draft: Path, names: Collection[str]) -> None:
    final = draft.with_name(f"{draft.name.removeprefix('.')}{_PART}")
    draft.rename(final)
    # The last line tells that none is missing.
    text = "\n".join([*names, str(len(names))])
    final.with_suffix(_NAMES).write_text(text, encoding="utf-8")


def _unite(
    connection: Any, found: Mapping[Path, Sequence[str]], names: set[str], folder: Path
) -> None:
    """One part instead of many; files that are gone are in it no more."""
    draft = folder / f".{secrets.token_hex(8)}"
    try:
        connection.execute(
            f"copy (select * from read_parquet(?)) to '{_quoted(draft)}' "
            "(format parquet, compression zstd)",
            [[str(each) for each in found]],
        )
        known = {name for each in found.values() for name in each}
        _settle(draft, sorted(known & names) or sorted(known))
    finally:
        draft.unlink(missing_ok=True)
    for each in found:
        _remove(each)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
