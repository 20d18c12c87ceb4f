"""One writer at a time for a file that is read, changed and written again.

The lock is a hidden file beside it, ``.NAME.lock``, held by the operating system: it ends with its
process, however that ends, and counts for whoever may write into that folder, also for other users
and, where the file system hands locks on (NFS does), for other machines. Whoever holds it takes the
hidden file away again; only a process that is killed leaves one, which is empty of meaning.
"""

from __future__ import annotations

import errno
import os
import socket
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from kernelprof.errors import ExitCode, InputError, KernelprofError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WAIT_S: Final = 60.0
"""Seconds that a writer waits for others: each takes well below one, on a slow disk a few."""


class BusyError(KernelprofError):
    """Another process holds the file for longer than we wait."""

    exit_code = ExitCode.ENVIRONMENT


@contextmanager
def held(file: Path, wait_s: float | None = None) -> Iterator[None]:
    """Nobody else holds ``file``, or a folder, meanwhile; it need not exist.

    A device or a pipe has no lock.

    Waits ``wait_s`` seconds at most, :data:`WAIT_S` without. Raises :class:`BusyError` then, and
    :class:`InputError` where the folder cannot be written to.
    """
    from filelock import FileLock, SoftFileLock, Timeout

    target = file.expanduser()
    if target.exists() and not (target.is_file() or target.is_dir()):
        yield
        return
    target = target.resolve()
    lock_file = target.with_name(f".{target.name[:200]}.lock")
    lock = FileLock(lock_file, timeout=WAIT_S if wait_s is None else wait_s)
    try:
        if not target.parent.is_dir():  # else the folder would be made
            raise FileNotFoundError(errno.ENOENT, "there is no such folder")
        lock.acquire()
    except Timeout as error:
        raise BusyError(
            f"another process is changing this file{_holder(lock_file)}",
            where=str(file),
            hint="wait until that process ends, then try again",
        ) from error
    except OSError as error:
        raise InputError(
            f"the file cannot be locked: {error.strerror or error}",
            where=str(file),
            hint="name a file in an existing folder with write permission",
        ) from error
    # Where the file system knows no locks, the file itself is one, and not ours to touch.
    native = not isinstance(lock, SoftFileLock)
    try:
        if native:
            with suppress(OSError):
                who = f"process {os.getpid()} on {socket.gethostname()}"
                lock_file.write_text(who, encoding="utf-8")
        yield
    finally:
        if native:
            # While it is still held: whoever opened it before looks whether it has a name.
            with suppress(OSError):
                lock_file.unlink()
        lock.release()


def _holder(lock_file: Path) -> str:
    try:
        who = " ".join(lock_file.read_text(encoding="utf-8", errors="replace").split())
    except OSError:
        return ""
    return f" ({who})" if who else ""
