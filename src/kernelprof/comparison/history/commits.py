"""The committed versions of one baseline file, read with ``git``."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Final

from kernelprof.comparison.history.folder import Moments, Unreadable, of_baseline
from kernelprof.errors import InputError, MissingToolError
from kernelprof.model.history import Commit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIME_LIMIT_S: Final = 120
_OPTIONS: Final = (
    *("--follow", "-z", "--name-only", "--no-show-signature"),
    *("--no-color", "--encoding=UTF-8", "--format=%x00%H%x00%h%x00%cI%x00%s%x00"),
)

Version = tuple[Commit, str, str]
"""A commit that touched the file, its date, and where the file stood in it."""


def committed(file: Path, limit: int | None) -> Moments:
    """The newest versions of a baseline file, at most ``limit``; renames are followed.

    Raises :class:`InputError` where there is no repository or no version, and
    :class:`MissingToolError` without ``git``.
    """
    folder = file.expanduser().absolute().parent
    if not folder.is_dir():
        raise InputError(
            "there is no such folder", where=str(folder), hint="name a file in a git repository"
        )
    versions = _versions(folder, file, None if limit is None else limit + 1)
    if not versions:
        raise InputError(
            "no committed version of the file is known to git",
            where=str(file),
            hint="commit it first: git add FILE && git commit",
        )
    notes = []
    shown = versions[:limit]
    if len(shown) < len(versions):
        read = "commit is" if len(shown) == 1 else f"{len(shown)} commits are"
        notes.append(f"only the newest {read} read; --limit reads more")
    elif _git(folder, "rev-parse", "--is-shallow-repository").strip() == b"true":
        notes.append("the clone is shallow: older commits are not in it (git fetch --unshallow)")
    moments, unread = [], []
    for (commit, date, path), text in zip(shown, _texts(folder, shown), strict=True):
        if text is None:
            continue  # the commit that removed it
        origin = f"{commit.short}:{path}"
        try:
            moments.append(of_baseline(text.decode("utf-8"), origin, date=date, commit=commit))
        except Unreadable as error:
            unread.append((origin, str(error)))
    moments.reverse()  # where dates are equal the order of git stays
    found = sorted(moments, key=lambda each: each.date)
    return Moments(tuple(found), tuple(unread), tuple(notes))


def _versions(folder: Path, file: Path, most: int | None) -> list[Version]:
    """The commits that touched a file, the newest first."""
    try:
        prefix = _git(folder, "rev-parse", "--show-prefix")
    except InputError as error:
        raise InputError(
            f"this is not in a git repository that can be read ({error})",
            where=str(file),
            hint="--git reads the versions of a file that is committed to one",
        ) from error
    limit = () if most is None else (f"--max-count={most}",)
    log = ("--literal-pathspecs", "log", *_OPTIONS, *limit, "--", file.name)
    tokens = iter(_git(folder, *log, may_fail=True).split(b"\0"))
    versions: list[Version] = []
    path = prefix.decode("utf-8", "surrogateescape").removesuffix("\n") + file.name
    for token in tokens:
        if token.startswith(b"\n") and versions:
            # It follows its commit. A merge has none: then it stands where it stood before.
            path = token[1:].decode("utf-8", "surrogateescape")
            versions[-1] = (*versions[-1][:2], path)
        elif token.strip():
            short, date, subject = (next(tokens, b"").decode("utf-8", "replace") for _ in range(3))
            versions.append((Commit(token.decode("ascii"), short, subject), date, path))
    return versions


def _texts(folder: Path, versions: list[Version]) -> Iterator[bytes | None]:
    """The file in each version, read by one process; ``None`` where it is not in it."""
    names = [f"{commit.sha}:{path}" for commit, _, path in versions]
    asked = [name for name in names if "\n" not in name]  # names are separated by lines
    given = "".join(f"{name}\n" for name in asked).encode("utf-8", "surrogateescape")
    answer, at = _git(folder, "cat-file", "--batch", given=given), 0
    for name in names:
        if "\n" in name:
            yield None
            continue
        end = answer.index(b"\n", at)
        words = answer[at:end].split(b" ")
        at = end + 1
        if len(words) != 3 or words[1] != b"blob" or not words[2].isdigit():
            yield None
            continue
        size = int(words[2])
        yield answer[at : at + size]
        at += size + 1


def _git(folder: Path, *arguments: str, given: bytes = b"", may_fail: bool = False) -> bytes:
    try:
        done = subprocess.run(
            ["git", "--no-pager", *arguments],
            cwd=folder,
            input=given,
            capture_output=True,
            check=False,
            timeout=TIME_LIMIT_S,
        )
    except FileNotFoundError as error:
        raise MissingToolError(
            "git is not here", hint="install git, or name a folder of captures or baselines"
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingToolError(
            f"git cannot be run: {error}", where=str(folder), hint="see what 'git log' says there"
        ) from error
    if done.returncode and not may_fail:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(
            lines[0].removeprefix("fatal: ") if lines else f"git ended with {done.returncode}",
            where=str(folder),
        )
    return done.stdout
