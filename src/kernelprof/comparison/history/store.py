"""What was worked out about captures and their differences: an SQLite file in the user's cache.

It may be deleted at any time, and nothing fails for want of it: one that cannot be read is made
again, and one that cannot be written is done without. It is written in short transactions with
SQLite's own lock, not with a write-ahead log, which does not work on network file systems, where
the homes of clusters are.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.resources import VERSION, data_folder
from kernelprof.sources.capture_directory import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from types import TracebackType

SCHEMA_VERSION: Final = 1
WAIT_S: Final = 10.0
"""How long to wait for another run that is writing."""

MOST_CHANGES: Final = 50_000
"""Differences of times that are kept, the newest; one takes 400 bytes."""

_BATCH: Final = 50
_TABLES: Final = (
    "CREATE TABLE moment (path TEXT PRIMARY KEY, state TEXT NOT NULL, maker TEXT NOT NULL, "
    "body TEXT NOT NULL)",
    "CREATE TABLE change (key TEXT PRIMARY KEY, body TEXT NOT NULL)",
)
_JUDGES: Final = ("analysis", "comparison", "data", "model", "sources")
"""Folders of our own whose code decides what a capture comes to."""

_PASSING: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
    }
)
"""Errors after which the file is as good as before."""


class Store:
    """Moments by path and state, and changes by key; ``place`` is ``None`` for memory only."""

    def __init__(self, place: Path | None) -> None:
        self.place = place
        self._maker = maker()
        self._moments: list[tuple[str, str, str, str]] = []
        self._changes: list[tuple[str, str]] = []
        self._writes = True
        self._connection = self._opened()

    def __enter__(self) -> Store:
        """Open already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Keep what was worked out, also where the run was interrupted."""
        self.flush()
        self._connection.close()

    def moment(self, path: str, state: str) -> str | None:
        """What was kept of a file, if it is in the same state and we would say the same of it."""
        return self._one(
            "SELECT body FROM moment WHERE path = ? AND state = ? AND maker = ?",
            (_text(path), state, self._maker),
        )

    def keep_moment(self, path: str, state: str, body: str) -> None:
        """Keep what a file in this state comes to."""
        self._moments.append((_text(path), state, self._maker, body))
        if len(self._moments) >= _BATCH:
            self.flush()

    def change(self, key: str) -> str | None:
        """What was kept under a key of :meth:`key`."""
        return self._one("SELECT body FROM change WHERE key = ?", (key,))

    def keep_change(self, key: str, body: str) -> None:
        """Keep a change."""
        self._changes.append((key, body))
        if len(self._changes) >= _BATCH:
            self.flush()

    def key(self, *values: object) -> str:
        """A key of values that decide about a change, and of who decided."""
        text = repr((self._maker, values))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def forget(self, kept: Collection[str]) -> None:
        """Forget files that are not there any more, and changes that are too many."""
        paths = {_text(path) for path in kept}
        if not self._writes:
            return
        try:
            known = [path for (path,) in self._connection.execute("SELECT path FROM moment")]
            gone = [(path,) for path in known if path not in paths]
            (newest,) = self._connection.execute("SELECT max(rowid) FROM change").fetchone()
            if gone or (newest or 0) > MOST_CHANGES:
                with _transaction(self._connection):
                    self._connection.executemany("DELETE FROM moment WHERE path = ?", gone)
                    self._connection.execute(
                        "DELETE FROM change WHERE rowid <= (SELECT max(rowid) FROM change) - ?",
                        (MOST_CHANGES,),
                    )
        except sqlite3.Error as error:
            self._mend(error, writing=True)

    def flush(self) -> None:
        """Write what has come together."""
        moments, self._moments = self._moments, []
        changes, self._changes = self._changes, []
        if not self._writes or not (moments or changes):
            return
        try:
            with _transaction(self._connection):
                self._connection.executemany(
                    "INSERT OR REPLACE INTO moment VALUES (?, ?, ?, ?)", moments
                )
                self._connection.executemany("INSERT OR REPLACE INTO change VALUES (?, ?)", changes)
        except sqlite3.Error as error:
            self._mend(error, writing=True)

    def _one(self, query: str, values: tuple[str, ...]) -> str | None:
        try:
            row = self._connection.execute(query, values).fetchone()
        except sqlite3.Error as error:
            self._mend(error)
            return None
        return row[0] if row is not None and isinstance(row[0], str) else None

    def _opened(self) -> sqlite3.Connection:
        if self.place is None:
            return _memory()
        try:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            return _prepared(self.place)
        except OSError:
            return _memory()
        except sqlite3.Error as error:
            return _memory() if _passes(error) else self._made_again()

    def _mend(self, error: sqlite3.Error, *, writing: bool = False) -> None:
        """Go on after an error: with a new file if this one is broken, else without it.

        Nothing is tried twice: to wait for a lock for every capture would take hours.
        """
        if _passes(error) and writing:
            self._writes = False
            return
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._connection = _memory() if _passes(error) else self._made_again()

    def _made_again(self) -> sqlite3.Connection:
        if self.place is None:
            return _memory()
        try:
            for suffix in ("", "-journal"):
                self.place.with_name(self.place.name + suffix).unlink(missing_ok=True)
            return _prepared(self.place)
        except (OSError, sqlite3.Error):
            return _memory()


def place_of(subject: Path) -> Path:
    """The file for a folder or a baseline, in the user's cache directory."""
    from platformdirs import user_cache_path

    digest = hashlib.sha256(str(subject.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    folder = user_cache_path("kernelprof", appauthor=False) / "history"
    return folder / f"{digest[:32]}.sqlite3"


@cache
def maker() -> str:
    """Who judges: our version, and a hash of the rules and of all that they rest on.

    A new version, or a rule that was changed in a checkout, diagnoses again.
    """
    package = Path(__file__).parents[2]
    found = hashlib.sha256()
    for folder in _JUDGES:
        for file in sorted((package / folder).rglob("*.py")):
            found.update(f"{file.relative_to(package).as_posix()}\0".encode())
            found.update(file.read_bytes())
    for file in sorted(data_folder("metric_presets").glob("*.toml")):
        found.update(f"{file.name}\0".encode() + file.read_bytes())
    return f"{VERSION} {found.hexdigest()}"


def state_of(file: Path) -> str:
    """A hash of a file, or of a capture directory: its manifest, and when its files were changed.

    The manifest has the hashes of the other files; one that was changed later is read again, and
    found to be damaged.
    """
    found = hashlib.sha256()
    if file.is_dir():
        found.update((file / MANIFEST).read_bytes())
        with os.scandir(file) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                known = entry.stat(follow_symlinks=False)
                found.update(repr((entry.name, known.st_size, known.st_mtime_ns)).encode())
    else:
        known = file.stat()
        found.update(repr((known.st_size, known.st_mtime_ns)).encode())
        found.update(file.read_bytes())
    return found.hexdigest()


def _prepared(place: Path) -> sqlite3.Connection:
    """An open file with our tables; those of another schema version are made anew."""
    connection = sqlite3.connect(place, timeout=WAIT_S, isolation_level=None)
    try:
        if _version(connection) != SCHEMA_VERSION:
            with _transaction(connection):
                if _version(connection) != SCHEMA_VERSION:  # nobody was quicker
                    _create(connection)
        connection.execute("SELECT path, state, maker, body FROM moment LIMIT 1")
        connection.execute("SELECT key, body FROM change LIMIT 1")
    except BaseException:
        connection.close()
        raise
    return connection


def _memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _create(connection)
    return connection


def _create(connection: sqlite3.Connection) -> None:
    for table in ("moment", "change"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _text(path: str) -> str:
    """A path as SQLite takes it: names of files need not be Unicode."""
    return path.encode("utf-8", "backslashreplace").decode()


def _passes(error: sqlite3.Error) -> bool:
    """Whether the file is as good as it was before the error."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and (code & 0xFF) in _PASSING
