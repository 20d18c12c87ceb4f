"""A history from a folder or from the commits of a baseline, as a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.comparison.history.moments import DEPTH, committed, read_folder, utc
from kernelprof.comparison.history.rows import Wanted, build_history
from kernelprof.comparison.history.store import Store, place_of
from kernelprof.errors import InputError, UsageError
from kernelprof.model.history import HistoryOrigin
from kernelprof.model.kernel_name import name_pattern

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kernelprof.model.history import History

    Say = Callable[[str], object]

_MOST_WARNINGS: Final = 10


def wanted(kernel: str | None, since: str | None, limit: int) -> Wanted:
    """Which rows are asked for: by an expression for names, a date, and how many (0: all)."""
    pattern = None if kernel is None else name_pattern(kernel)
    try:
        date = None if since is None else utc(since)
    except InputError as error:
        raise UsageError(f"--since: {error}", hint="write it as 2026-11-21") from error
    return Wanted(pattern, date, limit or None)


def history(
    place: Path, rows: Wanted, *, git: bool, cached: bool, progress: Say, warn: Say, note: Say
) -> History:
    """The history of a folder, or with ``git`` of the committed versions of a baseline file.

    ``warn`` gets a line for what cannot be read, ``note`` one for what is left out on purpose and
    ``progress`` one for each file. ``cached`` keeps what was worked out in the user's cache.
    """
    if git and place.expanduser().is_dir():
        raise UsageError(
            "--git reads the versions of one file, and this is a folder",
            where=str(place),
            hint="name a baseline file, or leave --git out",
        )
    with Store(place_of(place.expanduser()) if cached else None) as store:
        looked = committed(place, rows.limit) if git else read_folder(place, store, progress)
        for name, why in looked.unread[:_MOST_WARNINGS]:
            warn(f"{name} is left out: {why}")
        if len(looked.unread) > _MOST_WARNINGS:
            warn(f"and {len(looked.unread) - _MOST_WARNINGS} more are left out")
        if looked.remark:
            note(looked.remark)
        if not looked.found:
            raise _nothing(place, len(looked.unread), git=git)
        origin = HistoryOrigin.GIT if git else HistoryOrigin.FOLDER
        found = build_history(str(place), origin, looked.found, rows, store, notes=looked.notes)
    if not found.kernels:
        raise InputError(
            "no row is left", where=str(place), hint="name another --kernel or --since"
        )
    return found


def _nothing(place: Path, unread: int, *, git: bool) -> InputError:
    """Nothing was measured there, or nothing of it can be read."""
    if git:
        return InputError(
            f"none of the {unread} committed versions is a baseline",
            where=str(place),
            hint="name a file that 'kernelprof baseline save' wrote",
        )
    return InputError(
        f"none of its {unread} captures and baselines can be read"
        if unread
        else "there is no capture directory (with a manifest.json) and no baseline (.json) in it, "
        f"{DEPTH} folders deep",
        where=str(place),
        hint="make captures with 'kernelprof profile ... -o DIR', or baselines with "
        "'kernelprof baseline save'",
    )
