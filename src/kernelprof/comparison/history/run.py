"""A history from a folder or from the commits of a baseline, as a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.comparison.history.commits import committed
from kernelprof.comparison.history.folder import DEPTH, Folder, utc
from kernelprof.comparison.history.rows import Wanted, build_history
from kernelprof.comparison.history.store import Store, place_of
from kernelprof.errors import InputError, UsageError
from kernelprof.model.history import HistoryOrigin
from kernelprof.model.kernel_name import name_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kernelprof.model.history import History

    Say = Callable[[str], object]

MOST_ROWS: Final = 200
_MOST_WARNINGS: Final = 10
_MOST_NAMES: Final = 3


def _silent(_: str) -> None:
    """Nobody listens."""


def wanted(kernel: str | None = None, since: str | None = None, limit: int = MOST_ROWS) -> Wanted:
    """Which rows are asked for: by an expression for names, a date, and how many (0: all)."""
    pattern = None if kernel is None else name_pattern(kernel)
    try:
        date = None if since is None else utc(since)
    except InputError as error:
        raise UsageError(f"--since: {error}", hint="write it as 2026-11-21") from error
    return Wanted(pattern, date, limit or None)


def history(
    place: Path,
    rows: Wanted | None = None,
    *,
    git: bool = False,
    cached: bool = True,
    progress: Say = _silent,
    warn: Say = _silent,
    note: Say = _silent,
) -> History:
    """The history of a folder, or with ``git`` of the committed versions of a baseline file.

    ``warn`` gets a line for what cannot be read, ``note`` one for what is left out on purpose and
    ``progress`` one for each file. ``cached`` keeps what was worked out in the user's cache.
    """
    rows = rows or wanted()
    with Store(place_of(place.expanduser()) if cached else None) as store:
        if git:
            found = _of_commits(place, rows, store, warn)
        else:
            found = _of_folder(place, rows, store, progress=progress, warn=warn, note=note)
    if not found.kernels:
        raise InputError(
            "no row is left", where=str(place), hint="name another --kernel or --since"
        )
    return found


def _of_commits(file: Path, rows: Wanted, store: Store, warn: Say) -> History:
    if file.expanduser().is_dir():
        raise UsageError(
            "--git reads the versions of one file, and this is a folder",
            where=str(file),
            hint="name a baseline file, or leave --git out",
        )
    found = committed(file, rows.limit)
    _warn_of(found.unread, warn)
    if not found.moments:
        raise InputError(
            f"none of the {len(found.unread)} committed versions is a baseline",
            where=str(file),
            hint="name a file that 'kernelprof baseline save' wrote",
        )
    origin = HistoryOrigin.GIT
    return build_history(str(file), origin, found.moments, rows, store, notes=found.notes)


def _of_folder(
    folder: Path, rows: Wanted, store: Store, *, progress: Say, warn: Say, note: Say
) -> History:
    place = folder.expanduser()
    if not place.is_dir():
        raise InputError(
            "there is no such folder" if not place.exists() else "this is a file, not a folder",
            where=str(folder),
            hint="name a folder of captures or baselines; for the committed versions of a "
            "baseline file add --git",
        )
    looked = Folder(place.absolute())
    moments = looked.moments(store, progress)
    _warn_of(looked.unread, warn)
    if looked.found.undated:
        note(_undated(looked))
    if not moments:
        raise InputError(
            _nothing(looked),
            where=str(folder),
            hint="make captures with 'kernelprof profile ... -o DIR', or baselines with "
            "'kernelprof baseline save'",
        )
    return build_history(str(folder), HistoryOrigin.FOLDER, moments, rows, store)


def _nothing(looked: Folder) -> str:
    tried = len(looked.found.captures) + len(looked.found.baselines)
    if tried:
        return f"none of its {tried} captures and baselines can be read"
    return (
        "there is no capture directory (with a manifest.json) and no baseline (.json) in it, "
        f"{DEPTH} folders deep"
    )


def _warn_of(unread: Sequence[tuple[str, str]], warn: Say) -> None:
    for name, why in unread[:_MOST_WARNINGS]:
        warn(f"{name} is left out: {why}")
    if len(unread) > _MOST_WARNINGS:
        warn(f"and {len(unread) - _MOST_WARNINGS} more are left out")


def _undated(looked: Folder) -> str:
    """What could be diagnosed and has no place in a history."""
    undated = looked.found.undated
    names = ", ".join(looked.name(path) for path in undated[:_MOST_NAMES])
    more = f" and {len(undated) - _MOST_NAMES} more" if len(undated) > _MOST_NAMES else ""
    files = "1 file" if len(undated) == 1 else f"{len(undated)} files"
    return f"{files} left out, neither a capture directory nor a baseline: {names}{more}"
