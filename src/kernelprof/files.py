"""Reading files that somebody else may have made: plain files of bounded size, and nothing else.

A pipe that nobody writes, a device without an end and a link that leads elsewhere are refused
without waiting for them. What is refused is an :class:`OSError` whose ``strerror`` says why, like
that of a file which is not there: whoever reads a file has a message for those already.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from io import BufferedReader

SOURCES: Final = (".cu", ".cuh", ".h", ".hpp")
"""Suffixes of what is built and launched, or predicted, instead of read."""
MEGABYTE: Final = 1 << 20
LARGEST_CAPTURE_FILE: Final = 512 * MEGABYTE
"""Bytes of a compressed file in a capture directory; a million launches take 200 million."""
LARGEST_JSON: Final = 64 * MEGABYTE
"""Bytes of a manifest, a baseline or a result; a baseline of a thousand kernels has ten million."""
LARGEST_TOML: Final = MEGABYTE
"""Bytes of a policy or a specification; the longest that is known has ten thousand."""
WRITER_WAIT_S: Final = 5.0
"""Seconds that a pipe may have no writer: who starts both may start us first."""

_STEP: Final = 4 * MEGABYTE
_POLL_S: Final = 0.05
_DESCRIPTORS: Final = ("/dev/fd/", "/proc/self/fd/")


_allowed: tuple[Path, ...] | None = None
"""The only folders that this process reads files of users from; ``None`` for all."""


def allow_only(folders: Iterable[Path]) -> None:
    """From here on this process reads no file outside of these folders, whoever names it.

    Links count by where they lead. Files outside are taken not to exist.
    """
    global _allowed  # noqa: PLW0603 (of the process, like a working directory)
    _allowed = tuple(each.resolve() for each in folders)


def narrowed(folders: Iterable[Path]) -> list[Path]:
    """The folders that lie inside of the allowed ones."""
    return [each for each in folders if _is_allowed(each)]


def _is_allowed(path: str | os.PathLike[str]) -> bool:
    if _allowed is None:
        return True
    target = Path(os.path.realpath(path))
    return any(target.is_relative_to(each) for each in _allowed)


def _refuse_outside(path: Path) -> None:
    if not _is_allowed(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether this is a folder; not where nobody may look."""
    return stat.S_ISDIR(_mode(path))


def is_plain(path: str | os.PathLike[str]) -> bool:
    """Whether this is a plain file, or a link to one; not where nobody may look."""
    return stat.S_ISREG(_mode(path))


def _mode(path: str | os.PathLike[str]) -> int:
    try:
        return Path(path).stat().st_mode if _is_allowed(path) else 0
    except (OSError, ValueError):
        return 0


def read_bytes(path: Path, most: int, *, inside: Path | None = None, typed: bool = False) -> bytes:
    """The bytes of a plain file that has ``most`` of them at most.

    With ``inside``, the folder that it belongs to, a link that leads out of that is refused. A
    path that was ``typed`` may also be a descriptor of ours, as ``<(command)`` is one.
    Raises :class:`OSError`, and nothing else.
    """
    with _opened(path, inside, typed=typed) as file:
        chunks = []
        size = 0
        while chunk := file.read(min(_STEP, most + 1 - size)):
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                raise OSError(errno.EFBIG, f"it is larger than {size_in_words(most)}")
    return b"".join(chunks)


def read_text(path: Path, most: int, *, inside: Path | None = None, typed: bool = False) -> str:
    """The text of a plain file in UTF-8, as :func:`read_bytes`.

    Raises :class:`UnicodeDecodeError` as well.
    """
    return read_bytes(path, most, inside=inside, typed=typed).decode("utf-8")


def refuse_special(path: Path) -> None:
    """Raise :class:`OSError` for anything but a plain file, before somebody else opens it."""
    _refuse_outside(path)
    _refuse_special(path.stat().st_mode)


def sha256(path: Path) -> str:
    """The hash of a plain file of any size, in hexadecimal. Raises :class:`OSError`."""
    import hashlib

    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_private(status: os.stat_result) -> bool:
    """Whether this user owns a file or folder, and nobody else can write to it."""
    owner = getattr(os, "getuid", lambda: status.st_uid)()
    return status.st_uid == owner and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def size_in_words(size: int) -> str:
    """A limit in bytes as a message has it."""
    if size >= MEGABYTE:
        return f"{size // MEGABYTE:,} MiB"
    return f"{size:,} bytes"


@contextmanager
def stream(path: Path) -> Iterator[tuple[Callable[[int], bytes], bool]]:
    """What reads a file that the user named, and whether it is a plain one.

    That may be a pipe, as ``<(zcat capture.csv.gz)`` is one. One that nobody writes within
    :data:`WRITER_WAIT_S` is refused; one that has a writer is waited for, like standard input.
    """
    if not stat.S_ISFIFO(_mode(path)):
        with _opened(path, typed=True) as file:
            yield file.read, is_plain(path) and not _is_given(path)
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        begun = _first(descriptor, 0.0 if _is_given(path) else WRITER_WAIT_S)
        os.set_blocking(descriptor, True)

        def read(size: int) -> bytes:
            nonlocal begun
            data, begun = begun[:size], begun[size:]
            return data + file.read(size - len(data))

        yield read, False


def _first(descriptor: int, wait_s: float) -> bytes:
    """The first bytes of a pipe; none where it has a writer that has not written yet.

    One that may not be waited for was written already, if only with nothing.
    """
    end = time.monotonic() + wait_s
    while True:
        try:
            begun = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return b""
        if begun or not wait_s:
            return begun
        if time.monotonic() > end:
            raise OSError(errno.EPIPE, "it is a pipe without a writer")
        time.sleep(_POLL_S)


def _is_given(path: Path) -> bool:
    """Whether a path is a descriptor that this process was given, as by ``<(command)``.

    Nobody but who started us can put anything there. A file of a stranger may name one as well,
    and then it is not read: it may be a terminal.
    """
    name = str(path)
    return name == "/dev/stdin" or name.startswith(_DESCRIPTORS)


def _opened(path: Path, inside: Path | None = None, *, typed: bool = False) -> BufferedReader:
    """A plain file, open; it is looked at before that as well, since opening a pipe waits."""
    try:
        _refuse_outside(path)
        target = path.resolve(strict=True) if inside is not None else path
        if inside is not None and not target.is_relative_to(inside.resolve()):
            raise OSError(errno.ELOOP, "it is a link to a path outside the folder")
        given = typed and _is_given(path)
        if not given:
            _refuse_special(target.stat().st_mode)
        flags = os.O_RDONLY | (0 if given else getattr(os, "O_NONBLOCK", 0))
        # A descriptor of a link that was put there meanwhile would not be what was looked at.
        flags |= getattr(os, "O_NOFOLLOW", 0) if inside is not None else 0
        descriptor = os.open(target, flags | getattr(os, "O_BINARY", 0))
    except ValueError as error:
        raise OSError(errno.EINVAL, "this is not a valid file name") from error
    except RuntimeError as error:  # Path.resolve before Python 3.13
        raise OSError(errno.ELOOP, "it is a link to itself") from error
    file = os.fdopen(descriptor, "rb")
    try:
        if not given:
            _refuse_special(os.fstat(descriptor).st_mode)
    except OSError:
        file.close()
        raise
    return file


def _refuse_special(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file")
