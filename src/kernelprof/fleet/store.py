"""The store: immutable Parquet files, one a job, by GPU and month, in a folder or by ``fsspec``.

``gpu=NVIDIA-H200/month=2026-11/KEY.WHEN-ID.parquet``: the name says what was measured, so that a
listing is enough to see what need not be measured again. ``runs/`` has a JSON file for each run. A
file appears under its name when it is complete, and holds the same from then on.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kernelprof.errors import ExitCode, InputError, KernelprofError, MissingToolError
from kernelprof.fleet import records
from kernelprof.installation import install_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelprof.fleet.records import MeasurementFile


def require_package(name: str, what: str) -> Any:
    """A package that may be missing; ``what`` it is for goes into the error."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingToolError(
            f"{what} needs the package {name.partition('.')[0]}, which is not installed here",
            where=str(error),
            hint=install_command("fleet"),
        ) from error


_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StoreError(KernelprofError):
    """What was measured cannot be stored: the environment lacks the room or the permission."""

    exit_code = ExitCode.ENVIRONMENT


class StorageBackend(ABC):
    """Names with slashes, and the bytes under them.

    ``root`` is before each name; ``local`` is whether files can be opened by their paths.
    """

    local: bool
    root: str

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def names(self, below: str, ending: str) -> list[str]:
        """The names below a folder, in their order; hidden ones are left out."""
        return sorted(
            each
            for each in self._list(below)
            if each.endswith(ending) and not each.rpartition("/")[2].startswith(".")
        )

    def path(self, name: str) -> str:
        """What opens a name: a path, or a URL; of no name it ends with a slash."""
        return f"{self.root}/{name}"

    def read(self, name: str) -> bytes:
        """The bytes under a name."""
        try:
            return self._load(name)
        except OSError as error:
            raise InputError(
                f"a file of the store cannot be read: {error.strerror or error}",
                where=self.path(name),
            ) from error

    @abstractmethod
    def _list(self, below: str) -> Iterable[str]:
        """All names below a folder; what cannot be read is an error."""

    @abstractmethod
    def _load(self, name: str) -> bytes:
        """The bytes under a name, or an :class:`OSError`."""

    @abstractmethod
    def write(self, name: str, data: bytes, *, sync: bool = True) -> None:
        """Store bytes under a name, completely or not at all; ``sync`` survives a power cut."""


class FolderBackend(StorageBackend):
    """A folder of a file system."""

    local = True

    def __init__(self, folder: str) -> None:
        super().__init__(str(Path(folder)))
        self._folder = Path(folder).expanduser().absolute()
        self.root = str(self._folder)

    def _list(self, below: str) -> Iterator[str]:
        def refuse(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                raise _storage_error(error, error.filename or self.shown) from error

        for folder, folders, names in os.walk(self._folder / below, onerror=refuse):
            folders[:] = [each for each in folders if not each.startswith(".")]
            inner = Path(folder).relative_to(self._folder).as_posix()
            yield from (f"{inner}/{name}" for name in names)

    def _load(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()

    def write(self, name: str, data: bytes, *, sync: bool = True) -> None:
        """Written beside, brought to the disk, and renamed."""
        final = self._folder / name
        draft = final.with_name(f".{final.name}.{os.getpid()}")
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            try:
                with draft.open("wb") as file:
                    file.write(data)
                    file.flush()
                    if sync:
                        os.fsync(file.fileno())
                draft.replace(final)
            finally:
                with contextlib.suppress(OSError):
                    draft.unlink(missing_ok=True)
        except OSError as error:
            raise _storage_error(error, str(final)) from error


class ObjectBackend(StorageBackend):
    """What ``fsspec`` opens: object stores, memory, archives."""

    local = False

    def __init__(self, url: str) -> None:
        super().__init__(url)
        fsspec = require_package("fsspec", "a store that is not a local folder")
        try:
            self.filesystem, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise InputError(
                f"this store cannot be opened: {error}",
                where=url,
                hint="install the fsspec package for this URL, such as s3fs, or name a folder",
            ) from error
        self._inner = root.rstrip("/")
        self.root = f"{url.partition('://')[0]}://{self._inner}"

    def _list(self, below: str) -> Iterator[str]:
        try:
            paths: list[str] = self.filesystem.find(f"{self._inner}/{below}")
        except FileNotFoundError:
            return
        except OSError as error:
            raise _storage_error(error, self.shown) from error
        yield from (each.removeprefix(f"{self._inner}/") for each in paths)

    def _load(self, name: str) -> bytes:
        data: bytes = self.filesystem.cat_file(f"{self._inner}/{name}")
        return data

    def write(self, name: str, data: bytes, *, sync: bool = True) -> None:
        """Put as one object."""
        del sync  # the store answers when it has it
        target = f"{self._inner}/{name}"
        try:
            self.filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
            self.filesystem.pipe_file(target, data)
        except OSError as error:
            raise _storage_error(error, self.path(name)) from error


def _storage_error(error: OSError, where: str) -> KernelprofError:
    reason: Any = error.strerror or str(error)
    room = error.errno in _NO_ROOM
    return StoreError(
        f"the store cannot be used: {reason}",
        where=where,
        hint="free some space, and run the plan again: stored jobs are not measured again"
        if room
        else "name a store that you can read and write",
    )


ENDING: Final = ".parquet"
RUNS: Final = "runs"
DATA: Final = "kernels"
_NAME: Final = re.compile(r"(?:^|/)gpu=[^/]+/month=\d{4}-\d\d/(?P<key>[0-9a-f]{64})\.[^/]+$")


@dataclass(frozen=True, slots=True)
class Damaged:
    """A file that is left out, and why."""

    file: str
    why: str


@dataclass
class FleetStore:
    """What was measured, in a place; nothing is read before somebody asks."""

    backend: StorageBackend
    _names_by_key: dict[str, list[str]] | None = field(default=None, repr=False)

    @staticmethod
    def at(where: str) -> FleetStore:
        """The store in a folder or under a URL such as ``s3://bucket/fleet``."""
        where = where.removeprefix("file://")
        return FleetStore(ObjectBackend(where) if "://" in where else FolderBackend(where))

    def names(self) -> list[str]:
        """List the files with measurements."""
        return sorted({each for names in self._keys().values() for each in names})

    def foreign_files(self) -> tuple[Damaged, ...]:
        """Parquet files whose name is none of ours."""
        return tuple(
            Damaged(self.backend.path(each), "its name is not the name of a stored measurement")
            for each in self.backend.names(DATA, ENDING)
            if _NAME.search(each) is None
        )

    def _keys(self) -> dict[str, list[str]]:
        if self._names_by_key is None:
            self._names_by_key = {}
            for name in self.backend.names(DATA, ENDING):
                if (match := _NAME.search(name)) is not None:
                    self._names_by_key.setdefault(match["key"], []).append(name)
        return self._names_by_key

    def find(self, key: str, *, recorded: bool = False) -> tuple[str | None, tuple[Damaged, ...]]:
        """Return the newest whole file of a key, and damaged ones; ``recorded`` if asked for."""
        damaged = []
        for name in sorted(self._keys().get(key, ()), reverse=True):
            try:
                file = self.open(name)
            except InputError as error:
                damaged.append(Damaged(self.backend.path(name), error.what))
                continue
            if recorded or not any(file.read(["recorded"]).column(0).to_pylist()):
                return name, tuple(damaged)
        return None, tuple(damaged)

    def open(self, name: str) -> Any:
        """Open a file; :class:`InputError` for one that is damaged or foreign."""
        return records.open_measurement(self.backend.read(name), self.backend.path(name))

    def check_all(self, names: Iterable[str]) -> tuple[list[str], tuple[Damaged, ...]]:
        """The whole ones of these files, and the others."""
        whole, damaged = [], []
        for name in names:
            try:
                self.open(name)
                whole.append(name)
            except InputError as error:
                damaged.append(Damaged(self.backend.path(name), error.what))
        return whole, tuple(damaged)

    def add(self, made: MeasurementFile, *, sync: bool = True) -> str:
        """Store a file; its name.

        Without ``sync`` a power cut may take it, and one of the same key and time replaces it.
        """
        gpu = re.sub(r"[^A-Za-z0-9._-]+", "-", made.gpu).strip("-.") or records.UNKNOWN
        when = made.created.astimezone(UTC)
        number = secrets.token_hex(4) if sync else made.key[:8]
        name = (
            f"{DATA}/gpu={gpu}/month={when:%Y-%m}/{made.key}.{when:%Y%m%dT%H%M%SZ}-{number}{ENDING}"
        )
        self.backend.write(name, made.data, sync=sync)
        if self._names_by_key is not None:
            self._names_by_key.setdefault(made.key, []).append(name)
        return name

    def add_run(self, facts: dict[str, Any]) -> str:
        """Store what a run did."""
        when = datetime.now(UTC)
        name = f"{RUNS}/{when:%Y%m%dT%H%M%S.%fZ}-{secrets.token_hex(4)}.json"
        text = json.dumps(facts, ensure_ascii=False, indent=1) + "\n"
        self.backend.write(name, text.encode())
        return name

    def runs(self, newest: int) -> Iterator[dict[str, Any]]:
        """What the newest runs did, the newest first; one that cannot be read is left out."""
        for name in sorted(self.backend.names(RUNS, ".json"), reverse=True)[:newest]:
            try:
                facts = json.loads(self.backend.read(name))
            except (InputError, ValueError):
                continue
            if isinstance(facts, dict):
                yield facts
