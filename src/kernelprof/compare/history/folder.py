"""The moments of a folder, each read once."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from kernelprof.compare.history.find import find
from kernelprof.compare.history.moments import Unreadable, of_baseline, of_capture
from kernelprof.compare.history.store import state_of
from kernelprof.model.history import Moment
from kernelprof.model.records import RecordError, build, read_object

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelprof.compare.history.find import Found
    from kernelprof.compare.history.store import Store


class Folder:
    """What a folder holds, and what could not be read in it: its name and why."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: Found = find(folder)
        self.unread = [(self.name(path), why) for path, why in self.found.unread]

    def name(self, path: Path) -> str:
        """A path below the folder; the folder's own name for itself."""
        if path == self.folder:
            return self.folder.name or str(self.folder)
        return path.relative_to(self.folder).as_posix()

    def moments(
        self, store: Store, say: Callable[[str], None] = lambda _: None
    ) -> tuple[Moment, ...]:
        """All moments, the oldest first. What was read before comes out of the store."""
        paths = [*self.found.captures, *self.found.baselines]
        moments = []
        for number, path in enumerate(paths, start=1):
            origin = self.name(path)
            say(f"reading {number:,} of {len(paths):,}: {origin}")
            try:
                moments.append(_known_or_read(path, origin, store))
            except Unreadable as error:
                self.unread.append((origin, _why(error)))
        store.forget({self.name(path) for path in paths})
        return tuple(sorted(moments, key=lambda each: (each.date, each.origin)))


def _known_or_read(path: Path, origin: str, store: Store) -> Moment:
    state = state_of(path)
    text = store.moment(origin, state)
    if text is not None:
        try:
            return build(Moment, read_object(text))
        except RecordError:
            pass  # it is not what we wrote: read the file again
    if path.is_dir():
        moment = of_capture(path, origin)
    else:
        moment = of_baseline(path.read_text(encoding="utf-8"), origin)
    store.keep_moment(origin, state, json.dumps(asdict(moment)))
    return moment


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) or type(error).__name__
