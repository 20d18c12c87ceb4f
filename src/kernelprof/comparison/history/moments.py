"""What was measured when: the captures and baselines of a folder, the commits of a baseline."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kernelprof import files
from kernelprof.comparison.gate.baseline import from_text
from kernelprof.comparison.history.store import hash_state
from kernelprof.errors import InputError, KernelprofError, MissingToolError
from kernelprof.model.history import Commit, Moment, MomentKind
from kernelprof.model.names import first_few
from kernelprof.model.numbers import count
from kernelprof.sources.capture_directory import MANIFEST
from kernelprof.sources.ncu.folder import DEPTH, is_plain_itself, may_be_capture
from kernelprof.tools import git_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kernelprof.comparison.history.store import HistoryCache

Unreadable = (KernelprofError, OSError, ValueError, RecursionError)
"""What reading a file that is not a capture any more can raise."""

_OURS: Final = b'"kernelprof"'
_BASELINE: Final = b'"kernelprof-baseline"'
_RAW: Final = "raw.csv.gz"
_MOST_NAMES: Final = 3

TIME_LIMIT_S: Final = 120
MOST_BYTES: Final = 256 * files.MEGABYTE
"""Of all versions of a file in git; a baseline of a thousand kernels has ten million."""
_OPTIONS: Final = (
    *("--follow", "-z", "--name-only", "--no-show-signature"),
    *("--no-color", "--encoding=UTF-8", "--format=%x00%H%x00%h%x00%cI%x00%s%x00"),
)


class Version(NamedTuple):
    """A commit that touched the file, its short name and date, and the path of the file in it."""

    commit: Commit
    short: str
    date: str
    path: str


@dataclass(slots=True)
class FolderContents:
    """What a folder holds; ``undated`` diagnoses do not say when they were measured."""

    captures: list[Path] = field(default_factory=list)
    baselines: list[Path] = field(default_factory=list)
    exports: list[Path] = field(default_factory=list)
    undated: list[Path] = field(default_factory=list)
    unread: list[tuple[Path, str]] = field(default_factory=list)


def find_moments(folder: Path) -> FolderContents:
    """Search a folder, at most :data:`DEPTH` deep, without hidden entries and links.

    A link could lead elsewhere; a capture that is being written has a hidden name.
    """
    contents = FolderContents()

    def unreadable(error: OSError) -> None:
        contents.unread.append((Path(error.filename), error.strerror or str(error)))

    for directory, folders, names in os.walk(folder, onerror=unreadable):
        here = Path(directory)
        deeper = len(here.relative_to(folder).parts) < DEPTH
        paths = [here / name for name in sorted(names)]
        files = {each.name: each for each in paths if is_plain_itself(each)}
        if MANIFEST in files and (_RAW in files or _contains(files[MANIFEST], _OURS)):
            contents.captures.append(here)
            folders.clear()
            continue
        folders[:] = sorted(each for each in folders if deeper and not each.startswith("."))
        for name, file in files.items():
            if name.startswith("."):
                continue
            if may_be_capture(name):
                contents.exports.append(file)
            elif name.lower().endswith(".json") and _contains(file, _BASELINE):
                contents.baselines.append(file)
            elif name.lower().endswith(".json") and _contains(file, _OURS):
                contents.undated.append(file)
    return contents


def _contains(file: Path, word: bytes) -> bool:
    # Whether a file names us: other programs write `manifest.json` and `.json` as well
    try:
        return word in files.read_bytes(file, files.LARGEST_JSON)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class Moments:
    """Moments, the oldest first, what could not be read and why, and what was left out."""

    moments: tuple[Moment, ...]
    unread: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()
    remark: str = ""


def read_folder(
    root: Path, store: HistoryCache, progress: Callable[[str], object] = lambda _: None
) -> Moments:
    """The moments of a folder; what was read before comes out of the store."""
    folder = root.expanduser().absolute()
    if not folder.is_dir():
        raise InputError(
            "this is a file, not a folder" if folder.exists() else "there is no such folder",
            where=str(root),
            hint="name a folder of captures or baselines, or add --git to read the committed "
            "versions of a baseline file",
        )
    contents = find_moments(folder)

    def name(path: Path) -> str:
        return path.relative_to(folder).as_posix() if path != folder else folder.name or str(folder)

    unread = [(name(path), why) for path, why in contents.unread]
    left_out = [*contents.undated]
    moments: list[Moment] = []
    paths = {name(path): path for path in (*contents.captures, *contents.baselines)}
    exports = {name(path): path for path in contents.exports}
    for number, (origin, path) in enumerate({**paths, **exports}.items(), start=1):
        of_all = "" if origin in exports else f" {number:,} of {len(paths):,}:"
        progress(f"reading{of_all} {origin}")
        try:
            read = partial(_read_moment, path, origin)
            moments.append(store.get_or_make(Moment, origin, hash_state(path), read))
        except Unreadable as error:
            if origin in exports and not isinstance(error, MissingToolError):
                left_out.append(path)
            else:
                unread.append((origin, getattr(error, "strerror", None) or str(error)))
    store.forget(Moment, {**paths, **exports})
    notes: tuple[str, ...] = ()
    if undated := sum(each.origin in exports for each in moments):
        notes = (f"{count(undated, 'export')} without a date; using the file's modification date",)
    moments.sort(key=lambda each: (each.date, each.origin))
    remark = ""
    if left_out:
        remark = (
            f"{count(len(left_out), 'file')} skipped (neither capture nor baseline): "
            f"{first_few(map(name, left_out), _MOST_NAMES)}"
        )
    return Moments(tuple(moments), tuple(unread), notes, remark)


def _read_moment(path: Path, origin: str) -> Moment:
    if path.is_dir() or may_be_capture(path.name):
        return make_capture_moment(path, origin)
    return make_baseline_moment(files.read_text(path, files.LARGEST_JSON), origin)


def make_capture_moment(path: Path, origin: str) -> Moment:
    """Diagnose a capture directory, or an export at the date of its file.

    Raises one of :data:`Unreadable`.
    """
    from kernelprof.comparison.snapshots import make_snapshot
    from kernelprof.sources import read_capture
    from kernelprof.sources.capture_directory import read_manifest, read_stored

    if path.is_dir():
        manifest = read_manifest(path)
        date, capture = to_utc(manifest.created, origin), read_stored(path)
    else:
        manifest = None
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        date, capture = to_utc(changed.isoformat(), origin), read_capture(path)
    snapshot = make_snapshot(capture, manifest)
    return Moment(
        date=date,
        origin=origin,
        kind=MomentKind.CAPTURE,
        machine=snapshot.machine,
        kernels=snapshot.kernels,
    )


def make_baseline_moment(
    text: str, origin: str, *, date: str | None = None, commit: Commit | None = None
) -> Moment:
    """A baseline, at its own date unless another one is given. Raises :class:`InputError`."""
    baseline = from_text(text, origin)
    return Moment(
        date=to_utc(baseline.created if date is None else date, origin),
        origin=origin,
        kind=MomentKind.BASELINE,
        machine=baseline.machine,
        kernels=baseline.kernels,
        accepted=baseline.accepted,
        commit=commit,
    )


def to_utc(text: str, where: str | None = None) -> str:
    """A date of ISO 8601 as ``YYYY-MM-DDTHH:MM:SSZ``; without a zone it is UTC."""
    try:
        date = datetime.fromisoformat(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        moved = date.astimezone(UTC).replace(tzinfo=None)
        return f"{moved.isoformat(timespec='seconds')}Z"
    except (ValueError, OverflowError) as error:
        raise InputError(f"{text!r:.40} is not a date", where=where) from error


# The committed versions of one baseline file, read with git


def read_commits(file: Path, limit: int | None) -> Moments:
    """Read the newest versions of a baseline file, at most ``limit``; renames are followed.

    Raises :class:`InputError` without a version, :class:`MissingToolError` without ``git``.
    """
    folder = file.expanduser().absolute().parent
    if not folder.is_dir():
        raise InputError(
            "there is no such folder", where=str(folder), hint="name a file in a git repository"
        )
    versions = _list_versions(folder, file, None if limit is None else limit + 1)
    if not versions:
        raise InputError(
            "git has no committed version of the file",
            where=str(file),
            hint="commit it first: git add FILE && git commit",
        )
    notes = []
    shown = versions[:limit]
    if len(shown) < len(versions):
        read = "commit is" if len(shown) == 1 else f"{len(shown)} commits are"
        notes.append(f"only the newest {read} read; a larger --limit reads more")
    elif _run_git(folder, "rev-parse", "--is-shallow-repository").strip() == b"true":
        notes.append("the clone is shallow: run 'git fetch --unshallow' to get older commits")
    moments, unread = [], []
    for (commit, short, date, path), text in zip(shown, _read_texts(folder, shown), strict=True):
        if text is None:
            continue  # the commit that removed it
        origin = f"{short}:{path}"
        try:
            moments.append(
                make_baseline_moment(text.decode("utf-8"), origin, date=date, commit=commit)
            )
        except Unreadable as error:
            unread.append((origin, str(error)))
    moments.reverse()  # where dates are equal the order of git stays
    ordered = sorted(moments, key=lambda each: each.date)
    return Moments(tuple(ordered), tuple(unread), tuple(notes))


def _list_versions(folder: Path, file: Path, most: int | None) -> list[Version]:
    try:
        prefix = _run_git(folder, "rev-parse", "--show-prefix")
    except InputError as error:
        raise InputError(
            f"the file is not in a readable git repository ({error})",
            where=str(file),
            hint="name a file that is committed to a git repository",
        ) from error
    limit = () if most is None else (f"--max-count={most}",)
    log = ("--literal-pathspecs", "log", *_OPTIONS, *limit, "--", file.name)
    tokens = iter(_run_git(folder, *log, may_fail=True).split(b"\0"))
    versions: list[Version] = []
    path = prefix.decode("utf-8", "surrogateescape").removesuffix("\n") + file.name
    for token in tokens:
        if token.startswith(b"\n") and versions:
            # It follows its commit. A merge has none: then it stands where it stood before.
            path = token[1:].decode("utf-8", "surrogateescape")
            versions[-1] = versions[-1]._replace(path=path)
        elif token.strip():
            short, date, subject = (next(tokens, b"").decode("utf-8", "replace") for _ in range(3))
            versions.append(Version(Commit(token.decode("ascii"), subject), short, date, path))
    return versions


def _read_texts(folder: Path, versions: list[Version]) -> Iterator[bytes | None]:
    # The file in each version, read by one process; `None` where it is not in it
    names = [f"{each.commit.sha}:{each.path}" for each in versions]
    requested = [name for name in names if "\n" not in name]  # names are separated by lines
    given = "".join(f"{name}\n" for name in requested).encode("utf-8", "surrogateescape")
    sizes = _run_git(folder, "cat-file", "--batch-check=%(objecttype) %(objectsize)", given=given)
    blobs = [line.split()[1] for line in sizes.splitlines() if line.startswith(b"blob ")]
    if sum(map(int, blobs)) > MOST_BYTES:
        raise InputError(
            f"all versions of the file together exceed {files.size_in_words(MOST_BYTES)}",
            where=str(folder),
            hint="read fewer versions with a smaller --limit",
        )
    answer, at = _run_git(folder, "cat-file", "--batch", given=given), 0
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


def _run_git(folder: Path, *arguments: str, given: bytes = b"", may_fail: bool = False) -> bytes:
    git = git_command(folder)
    if git is None:
        raise MissingToolError(
            "git is not installed here",
            hint="install git, or name a folder of captures or baselines",
        )
    try:
        done = subprocess.run(
            [*git, *arguments],
            input=given,
            capture_output=True,
            check=False,
            timeout=TIME_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingToolError(
            f"git cannot be run: {error}",
            where=str(folder),
            hint="run 'git log' in that folder to find the cause",
        ) from error
    if done.returncode and not may_fail:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(
            lines[0].removeprefix("fatal: ") if lines else f"git ended with {done.returncode}",
            where=str(folder),
        )
    return done.stdout
