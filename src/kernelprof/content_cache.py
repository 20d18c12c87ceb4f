"""JSON values in the user's cache folder, by a digest of all that they follow from.

Nothing fails for want of the cache: what cannot be read is made again, and what cannot be written
is done without.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from kernelprof import files
from kernelprof.resources import data_folder
from kernelprof.version import __version__

_LARGEST_ENTRY: Final = 16 * files.MEGABYTE
_LARGEST_FOLDER: Final = 128 * files.MEGABYTE
"""A prediction takes 0.1 MB, that of a long source with its accesses 1 MB."""
_CODE: Final = frozenset((".py", ".toml", ".csv", ".h"))


@dataclass(frozen=True, slots=True)
class ContentCache:
    """Entries of one kind. Only those that this user alone can write are read."""

    kind: str

    def read(self, key: str) -> Any:
        """The value under a key; ``None`` where there is none, or it is damaged or not ours."""
        with contextlib.suppress(OSError, ValueError):
            folder = self._folder()
            if files.is_private(folder.lstat()):
                digest, _, text = _read_private(folder / key).partition(b"\n")
                if digest.decode() == hashlib.sha256(text).hexdigest():
                    return json.loads(text)
        return None

    def write(self, key: str, value: Any) -> None:
        """Store a value completely or not at all, and drop the oldest where there are too many."""
        text = json.dumps(value).encode()
        if len(text) > _LARGEST_ENTRY:
            return
        with contextlib.suppress(OSError):
            folder = self._folder()
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not files.is_private(folder.lstat()):
                return
            descriptor, draft = tempfile.mkstemp(prefix=".", dir=folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(hashlib.sha256(text).hexdigest().encode() + b"\n" + text)
                Path(draft).replace(folder / key)
            finally:
                Path(draft).unlink(missing_ok=True)
            _drop_oldest(folder)

    def _folder(self) -> Path:
        from platformdirs import user_cache_path

        return user_cache_path("kernelprof", appauthor=False) / self.kind


def _read_private(path: Path) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not files.is_private(status):
            return b""
        return file.read(_LARGEST_ENTRY + 1024)


def _drop_oldest(folder: Path) -> None:
    """Drop entries until the rest fits; drafts of runs that were killed count, too."""
    entries = []
    for each in folder.iterdir():
        with contextlib.suppress(OSError):  # another run may drop it first
            status = each.lstat()
            entries.append((status.st_mtime_ns, status.st_size, each))
    size = 0
    for _, bytes_of_entry, each in sorted(entries, reverse=True):
        size += bytes_of_entry
        if size > _LARGEST_FOLDER:
            each.unlink(missing_ok=True)


@cache
def code_version() -> str:
    """Identify this program: its version, and a hash of its code, data and presets."""
    package = Path(__file__).parent
    digest = hashlib.sha256()
    for folder in (package, package.parent / "sassim", data_folder("metric_presets")):
        for file in sorted(each for each in folder.rglob("*") if each.suffix in _CODE):
            digest.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes())
    return f"{__version__} {digest.hexdigest()}"
