"""Writes capture directories, and folders of several of them: complete or not at all.

:mod:`kernelprof.sources.capture_directory` says what is in one, and reads it.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernelprof.collect.failures import StorageError
from kernelprof.errors import InputError, UsageError
from kernelprof.locks import held
from kernelprof.model.records import to_json
from kernelprof.sources.capture_directory import MANIFEST, SOURCE_FILE, is_capture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelprof.model.manifest import Manifest

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class CaptureDraft:
    """A capture directory, or a folder of several, that is being made under another name."""

    def __init__(
        self, folder: Path, final: Path | None, *, replaces: bool, whole: CaptureDraft | None = None
    ) -> None:
        self.folder = folder
        self.final = final
        self._replaces = replaces
        self._whole = whole

    def add_subfolder(self, name: str) -> CaptureDraft:
        """A capture directory in this folder; it gets its place when the folder does."""
        assert self.final is not None
        folder = self.folder / name
        folder.mkdir()
        return CaptureDraft(folder, self.final / name, replaces=False, whole=self)

    def final_path(self, name: str) -> str:
        """Where a file of the draft will stand in the end."""
        return str((self.final or self.folder) / name)

    def store(self, stem: str, number: int, text: bytes, form: str = "csv") -> tuple[str, str]:
        """Keep a raw page, samples by line or instruction, a survey; the file's name and hash."""
        name = numbered_name(stem, number, f".{form}.gz")
        packed = gzip.compress(text, 6, mtime=0)
        (self.folder / name).write_bytes(packed)
        return name, hashlib.sha256(packed).hexdigest()

    def store_source(self, source: Path, sha256: str) -> None:
        """Keep the source that was measured, if it is still that: reports show it."""
        data = source.read_bytes()
        if hashlib.sha256(data).hexdigest() == sha256:
            (self.folder / SOURCE_FILE).write_bytes(data)

    def commit(self, manifest: Manifest) -> None:
        """Complete the directory and, where it is no part of a folder, give it its name."""
        (self.folder / MANIFEST).write_text(to_json(manifest), encoding="utf-8")
        if self._whole is None:
            self.settle()

    def settle(self) -> None:
        """Give what is complete its name."""
        assert self.final is not None
        with held(self.final):
            if not self._replaces:  # somebody else's may have come meanwhile
                refuse_existing(self.final, force=False)
            before = None
            if self._replaces and self.final.is_dir():
                before = self.folder.with_name(f"{self.folder.name}.old")
                self.final.rename(before)
            try:
                self.folder.rename(self.final)
            except OSError:
                if before is not None:
                    before.rename(self.final)
                raise
            if before is not None:
                shutil.rmtree(before, ignore_errors=True)


def numbered_name(stem: str, number: int, suffix: str) -> str:
    """A file's name for the first run (0) or a later one."""
    return f"{stem}{suffix}" if number == 0 else f"{stem}.{number}{suffix}"


def refuse_existing(directory: Path, *, force: bool, several: bool = False) -> None:
    """Refuse to overwrite anything but, with ``force``, a capture or a folder of ``several``."""
    if not os.path.lexists(directory):
        return
    if directory.is_dir() and not any(directory.iterdir()):
        return
    if not force:
        raise UsageError(
            "the path already exists",
            where=str(directory),
            hint="choose another name, or use --force to replace a capture",
        )
    if several:
        replaceable = directory.is_dir() and all(
            each.name.isdecimal() and not each.is_symlink() and is_capture(each)
            for each in directory.iterdir()
        )
    else:
        replaceable = is_capture(directory)
    if not replaceable:
        kind = "folder of captures" if several else "capture"
        raise UsageError(
            f"the path already exists and is not a {kind}, so it is not replaced",
            where=str(directory),
            hint="choose another name, or remove the path yourself",
        )


@contextmanager
def draft(
    directory: Path | None, *, force: bool = False, several: bool = False
) -> Iterator[CaptureDraft]:
    """Yield a draft of ``directory``, removed if not committed; :class:`StorageError` if full."""
    folder: Path | None = None
    try:
        if directory is None:
            folder = Path(tempfile.mkdtemp(prefix="kernelprof-"))
            yield CaptureDraft(folder, None, replaces=False)
        else:
            directory = directory.expanduser().absolute()
            if "%" in str(directory):
                raise UsageError(
                    "a capture cannot be written to a path with a % in it",
                    where=str(directory),
                    hint="choose a path without %: ncu expands % in paths",
                )
            refuse_existing(directory, force=force, several=several)
            folder = directory.with_name(f".{directory.name[:200]}.{os.getpid()}.tmp")
            directory.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            yield CaptureDraft(folder, directory, replaces=force)
    except OSError as error:
        raise _cannot_store(error, directory) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _cannot_store(error: OSError, directory: Path | None) -> InputError | StorageError:
    reason = error.strerror or str(error)
    where = str(directory or tempfile.gettempdir())
    if error.errno in _NO_ROOM:
        return StorageError(
            f"the capture cannot be stored: {reason}",
            where=where,
            hint="free some space, or write elsewhere"
            + (" (-o or --keep)" if directory is not None else ": set $TMPDIR to another folder"),
        )
    return InputError(
        f"the capture cannot be stored: {reason}",
        where=where,
        hint="name a directory in a writable folder",
    )
