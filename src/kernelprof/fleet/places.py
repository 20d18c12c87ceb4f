"""Where a store is: a folder, or an object store by ``fsspec``.

A file appears under its name when it is complete, and is never changed: in a folder by renaming, in
an object store because that is how it stores.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from kernelprof.errors import ExitCode, InputError, KernelprofError
from kernelprof.fleet.optional import package

if TYPE_CHECKING:
    from collections.abc import Sequence

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StoreError(KernelprofError):
    """What was measured cannot be stored: the environment lacks the room or the permission."""

    exit_code = ExitCode.ENVIRONMENT


class Place(Protocol):
    """Names with slashes, and the bytes under them."""

    shown: str
    local: bool
    """Whether files can be opened by their paths."""

    def names(self, below: str, ending: str) -> list[str]:
        """The names below a folder, in their order; hidden ones are left out."""

    def path(self, name: str) -> str:
        """What opens a name: a path, or a URL."""

    def read(self, name: str) -> bytes:
        """The bytes under a name."""

    def write(self, name: str, data: bytes, *, sync: bool = True) -> None:
        """Store bytes under a name, completely or not at all.

        Without ``sync`` a power cut may take them, or leave a part.
        """


def place_of(where: str) -> Place:
    """The place that a folder or a URL such as ``s3://bucket/fleet`` names."""
    return Objects(where) if "://" in where else Folder(Path(where))


class Folder:
    """A folder of a file system."""

    local = True

    def __init__(self, root: Path) -> None:
        self.root = root.expanduser()
        self.shown = str(root)

    def names(self, below: str, ending: str) -> list[str]:
        """Walks over the folders below; what cannot be read is an error."""
        found: list[str] = []

        def refuse(error: OSError) -> None:
            if not isinstance(error, FileNotFoundError):
                raise _refused(error, error.filename or self.shown) from error

        top = self.root / below
        for place, folders, names in os.walk(top, onerror=refuse):
            folders[:] = [each for each in folders if not each.startswith(".")]
            inner = Path(place).relative_to(self.root).as_posix()
            found += [
                f"{inner}/{name}"
                for name in names
                if name.endswith(ending) and not name.startswith(".")
            ]
        return sorted(found)

    def path(self, name: str) -> str:
        """An absolute path; that of no name ends with a slash."""
        return f"{self.root.absolute()}/{name}"

    def read(self, name: str) -> bytes:
        """The whole file."""
        try:
            return (self.root / name).read_bytes()
        except OSError as error:
            raise InputError(
                f"a file of the store cannot be read: {error.strerror or error}",
                where=self.path(name),
            ) from error

    def write(self, name: str, data: bytes, *, sync: bool = True) -> None:
        """Written beside, brought to the disk, and renamed."""
        final = self.root / name
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
            except BaseException:
                with contextlib.suppress(OSError):
                    draft.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise _refused(error, str(final)) from error


class Objects:
    """What ``fsspec`` opens: object stores, memory, archives."""

    local = False

    def __init__(self, url: str) -> None:
        fsspec = package("fsspec", "a store that is no folder")
        self.shown = url
        try:
            self.filesystem, root = fsspec.core.url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise InputError(
                f"this store cannot be opened: {error}",
                where=url,
                hint="install the package of fsspec for it, such as s3fs, or name a folder",
            ) from error
        self.root: str = root.rstrip("/")
        self.scheme = url.partition("://")[0]

    def names(self, below: str, ending: str) -> list[str]:
        """Lists all that is below."""
        try:
            found: Sequence[str] = self.filesystem.find(f"{self.root}/{below}")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _refused(error, self.shown) from error
        inner = [each.removeprefix(f"{self.root}/") for each in found]
        return sorted(
            each
            for each in inner
            if each.endswith(ending) and not each.rpartition("/")[2].startswith(".")
        )

    def path(self, name: str) -> str:
        """A URL."""
        return f"{self.scheme}://{self.root}/{name}"

    def read(self, name: str) -> bytes:
        """The whole object."""
        try:
            data: bytes = self.filesystem.cat_file(f"{self.root}/{name}")
        except OSError as error:
            raise InputError(
                f"a file of the store cannot be read: {error}", where=self.path(name)
            ) from error
        return data

    def write(self, name: str, data: bytes, *, sync: bool = True) -> None:
        """Put as one object."""
        del sync  # the store answers when it has it
        target = f"{self.root}/{name}"
        try:
            self.filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
            self.filesystem.pipe_file(target, data)
        except OSError as error:
            raise _refused(error, self.path(name)) from error


def _refused(error: OSError, where: str) -> KernelprofError:
    reason: Any = error.strerror or str(error)
    room = error.errno in _NO_ROOM
    return StoreError(
        f"the store cannot be used: {reason}",
        where=where,
        hint="free some space, and run it again: what is stored is not measured again"
        if room
        else "name a place that you may read and write",
    )
