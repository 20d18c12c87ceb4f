"""Runs a program and writes what it took: ``launcher.py STDOUT STDERR PROGRAM [ARGUMENT ...]``.

A program starts out as its parent, and the kernel counts the parent's peak of memory as the
program's own. So this script stands between it and the benchmark, and imports next to nothing.
"""

import os
import sys
import threading
import time
from pathlib import Path

PEAK_UNIT = 1 if sys.platform == "darwin" else 1024
_EVERY_S = 0.02


def main(out: str, errors: str, *command: str) -> int:
    """Write seconds of wall time and of CPU time, peak of memory in bytes, and exit code.

    The peak is that of the largest process, or, if that is more, of all at one time, as far as it
    was seen (Linux); memory that two of them share counts twice in it.
    """
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, out, writing, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, errors, writing, 0o644),
    ]
    start = time.perf_counter()
    try:
        child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
    except OSError as error:
        sys.stderr.write(f"{error.strerror}\n")
        return 1
    watch = _Watch(child)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    peak = max(usage.ru_maxrss * PEAK_UNIT, watch.peak())
    code = os.waitstatus_to_exitcode(status)
    sys.stdout.write(f"{seconds} {usage.ru_utime + usage.ru_stime} {peak} {code}\n")
    return 0


class _Watch:
    """Adds up the memory of a process and its children, again and again."""

    def __init__(self, process: int) -> None:
        self._process = str(process)
        self._peak = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(_EVERY_S):
            self._peak = max(self._peak, _resident(self._process))

    def peak(self) -> int:
        """The most bytes that were seen; ends the watch."""
        self._ended.set()
        self._thread.join()
        return self._peak


def _resident(process: str) -> int:
    """Resident bytes of a process and of all that it started; 0 where there is no ``/proc``."""
    try:
        of = Path("/proc", process)
        found = int((of / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        for thread in (of / "task").iterdir():
            found += sum(map(_resident, (thread / "children").read_text().split()))
    except OSError:  # it has ended
        return 0
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
