"""Several captures at a time: those that are named, and those that a folder holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from kernelprof.errors import InputError, MissingToolError
from kernelprof.model.numbers import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Found = TypeVar("Found")

_MOST_NAMES: Final = 3
_SURE: Final = (".csv", ".ncu-rep")
"""What nobody puts into a folder of captures without meaning it."""


def files_of(targets: Iterable[str]) -> list[str]:
    """The targets, with all that a folder holds in its place; for whoever shows how far it is."""
    from kernelprof.sources.ncu.folder import entries, is_folder

    return [
        str(each)
        for target in targets
        for each in (entries(Path(target)) if is_folder(target) else [target])
    ]


def each_capture(
    targets: Sequence[str],
    read: Callable[[str], Found],
    note: Callable[[str], object] = lambda _: None,
    *,
    strict: bool = False,
) -> list[Found]:
    """What ``read`` gives for each target, and for each capture in a target that is a folder.

    Files in a folder that are no capture are left out, and ``note`` gets one line for each folder
    that has some; with ``strict`` a capture directory or an export that cannot be read is an error
    all the same. Raises :class:`InputError` for a target that is no capture, and for a folder
    without any; :class:`MissingToolError` for one where only a tool is missing that reads them.
    """
    from kernelprof.sources.ncu.folder import is_folder

    found: list[Found] = []
    for target in targets:
        if is_folder(target):
            found += _in_folder(Path(target), read, note, strict=strict)
        else:
            found.append(read(target))
    return found


def _in_folder(
    folder: Path,
    read: Callable[[str], Found],
    note: Callable[[str], object],
    *,
    strict: bool,
) -> list[Found]:
    from kernelprof.sources.ncu.folder import DEPTH, entries, may_be_capture

    found: list[Found] = []
    left_out: list[str] = []
    lacking: MissingToolError | None = None
    for each in entries(folder):
        name = each.relative_to(folder).as_posix()
        if not (each.is_dir() or may_be_capture(each.name)):
            left_out.append(name)
            continue
        try:
            found.append(read(str(each)))
        except InputError as error:
            if strict and (each.is_dir() or each.name.lower().removesuffix(".gz").endswith(_SURE)):
                raise
            # A capture directory is not there by chance: what is wrong with it matters.
            left_out.append(f"{name} ({error})" if each.is_dir() else name)
        except MissingToolError as error:
            lacking = error
            left_out.append(f"{name} ({error})")
    if lacking is not None and not found:
        raise lacking
    if not found:
        others = count(len(left_out), "other file") if left_out else "nothing"
        raise InputError(
            f"there is no capture in this folder, {DEPTH} folders deep, but {others}",
            where=str(folder),
            hint="name a capture, or a folder of captures: exports and text pages of ncu, "
            "reports, directories that 'kernelprof profile' wrote",
        )
    if left_out:
        names = ", ".join(left_out[:_MOST_NAMES])
        more = len(left_out) - _MOST_NAMES
        note(
            f"{folder}: {count(len(left_out), 'file')} left out, no capture: "
            f"{names}{f' and {more} more' if more > 0 else ''}"
        )
    return found
