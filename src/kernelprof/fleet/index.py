"""What questions ask of every file of a store, kept together in the user's cache folder.

To open thousands of files takes seconds, and each is as it was when it appeared: what was read of
one is kept in a **part**, a Parquet file beside the names of the files that it is of. New files
make a new part, and many parts one. The folder may be deleted at any time; where it cannot be used,
files are read each time.
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
from kernelprof.fleet.records import LIGHT, SCHEMA_VERSION
from kernelprof.locks import held

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from kernelprof.fleet.store import Damaged, Store

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
    known: set[str] = set()
    for each in folder.glob(f"*{_NAMES}"):
        known.update(each.read_text(encoding="utf-8").splitlines())
    new = [each for each in names if each not in known]
    damaged: tuple[Damaged, ...] = ()
    if new:
        damaged = _add(connection, store, new, folder)
    found = sorted(folder.glob(f"*{_PART}"))
    if len(found) > _MOST_PARTS:
        _unite(connection, found, set(names), folder)
        found = sorted(folder.glob(f"*{_PART}"))
    return [str(each) for each in found], damaged


def _add(connection: Any, store: Store, new: Sequence[str], folder: Path) -> tuple[Damaged, ...]:
    """A part of files; those that cannot be read are left out, and looked at again next time."""
    duckdb = package("duckdb", "asking a store")
    whole = list(new)
    damaged: tuple[Damaged, ...] = ()
    try:
        _write(connection, store, whole, folder)
    except duckdb.Error:
        whole, damaged = store.check_all(new)
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
    final.with_suffix(_NAMES).write_text("\n".join(names), encoding="utf-8")


def _unite(connection: Any, found: Sequence[Path], names: set[str], folder: Path) -> None:
    """One part instead of many; files that are gone are in it no more."""
    draft = folder / f".{secrets.token_hex(8)}"
    try:
        connection.execute(
            f"copy (select * from read_parquet(?)) to '{_quoted(draft)}' "
            "(format parquet, compression zstd)",
            [[str(each) for each in found]],
        )
        known: set[str] = set()
        for each in found:
            known.update(each.with_suffix(_NAMES).read_text(encoding="utf-8").splitlines())
        _settle(draft, sorted(known & names) or sorted(known))
    finally:
        draft.unlink(missing_ok=True)
    for each in found:
        each.with_suffix(_NAMES).unlink(missing_ok=True)
        each.unlink(missing_ok=True)


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
