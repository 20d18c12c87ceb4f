"""What was worked out about captures and their differences: a JSON file in the user's cache.

It may be deleted at any time, and nothing fails for want of it: one that cannot be read is made
again, and one that cannot be written is done without. It is replaced as a whole, so of two runs
that overlap one may have to work out again what the other found.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kernelprof import files
from kernelprof.comparison.snapshots import from_values, to_values
from kernelprof.content_cache import code_version
from kernelprof.model.records import read_object
from kernelprof.sources.capture_directory import MANIFEST

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from _typeshed import DataclassInstance

    Record = TypeVar("Record", bound=DataclassInstance)

_LARGEST: Final = 256 * files.MEGABYTE
MOST: Final = 50_000
"""Records of a kind that are kept, the newest: a difference of times takes 400 bytes."""


class HistoryCache:
    """Records by kind and key, each with the state that it is of; ``None`` is memory only."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._kinds: dict[str, dict[str, list[Any]]] = {}
        self._changed = False
        with contextlib.suppress(OSError, ValueError, LookupError):
            values = {} if path is None else read_object(files.read_text(path, _LARGEST))
            # A new version, or a rule that was changed in a checkout, judges again.
            self._kinds = values["kinds"] if values.get("maker") == code_version() else {}

    def __enter__(self) -> HistoryCache:
        """Read already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Keep what was worked out, also where the run was interrupted."""
        if self.path is None or not self._changed:
            return
        kinds = {name: dict(list(entries.items())[-MOST:]) for name, entries in self._kinds.items()}
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(
                json.dumps({"maker": code_version(), "kinds": kinds}), encoding="utf-8"
            )
            draft.replace(self.path)

    def get_or_make(
        self, kind: type[Record], key: str, state: str, make: Callable[[], Record]
    ) -> Record:
        """What was kept under a key in this state, else what ``make`` gives, which is then kept."""
        entries = self._kinds.setdefault(kind.__name__, {})
        with contextlib.suppress(LookupError, TypeError, ValueError):
            before, values = entries[key]
            if before == state:
                return from_values(kind, values)
        # The same as when it comes out of the file.
        values = json.loads(json.dumps(to_values(make())))
        entries[key] = [state, values]
        self._changed = True
        return from_values(kind, values)

    def forget(self, kind: type[DataclassInstance], keys: Collection[str]) -> None:
        """Forget what has none of these keys."""
        entries = self._kinds.get(kind.__name__, {})
        for key in entries.keys() - keys:
            del entries[key]
            self._changed = True


def cache_path(subject: Path) -> Path:
    """The file for a folder or a baseline, in the user's cache directory."""
    from platformdirs import user_cache_path

    digest = hashlib.sha256(str(subject.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    folder = user_cache_path("kernelprof", appauthor=False) / "history"
    return folder / f"{digest[:32]}.json"


def hash_state(file: Path) -> str:
    """Hash a file, or a capture directory by its manifest and the times of its files."""
    is_capture = file.is_dir()
    digest = hashlib.sha256(files.sha256(file / MANIFEST if is_capture else file).encode())
    for each in sorted(file.iterdir()) if is_capture else [file]:
        status = each.lstat()
        digest.update(repr((each.name, status.st_size, status.st_mtime_ns)).encode())
    return digest.hexdigest()
