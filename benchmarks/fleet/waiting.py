"""What processes wait for, as /proc tells: the system call of each thread, and its file."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Final, Self

_PERIOD_S: Final = 0.02
_CALLS: Final = {
    "0": "read", "1": "write", "7": "poll", "16": "ioctl", "35": "nanosleep", "61": "wait4",
    "72": "fcntl", "73": "flock", "202": "futex", "230": "clock_nanosleep", "232": "epoll_wait",
    "271": "ppoll", "281": "epoll_pwait", "running": "running",
}  # fmt: skip
"""Numbers of system calls of Linux on x86-64."""
_ON_A_FILE: Final = {"read", "write", "ioctl", "fcntl", "flock"}


class Watch:
    """While it is entered: counts in which calls the threads of programs with these names are.

    ``seen`` has (program, call, file) with how often it was seen; ``locks`` the files that someone
    holds a lock on, ``waits`` those that someone waits for one of.
    """

    def __init__(self, *programs: str) -> None:
        self.programs = programs
        self.seen: Counter[tuple[str, str, str]] = Counter()
        self.locks: Counter[str] = Counter()
        self.waits: Counter[str] = Counter()
        self.samples = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Begin to look."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Look no more."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_PERIOD_S):
            self.samples += 1
            inodes: dict[str, str] = {}
            for process in Path("/proc").glob("[0-9]*"):
                self._look(process, inodes)
            self._look_at_locks(inodes)

    def _look(self, process: Path, inodes: dict[str, str]) -> None:
        try:
            name = (process / "comm").read_text().strip()
            if not any(each in name for each in self.programs):
                return
            for link in (process / "fd").iterdir():
                target = link.readlink()
                if target.is_absolute() and not str(target).startswith("/dev"):
                    inodes[str(link.stat().st_ino)] = str(target)
            for task in (process / "task").iterdir():
                words = (task / "syscall").read_text().split()
                call = _CALLS.get(words[0], words[0])
                file = ""
                if call in _ON_A_FILE and len(words) > 1:
                    file = str((process / "fd" / str(int(words[1], 16))).readlink())
                    if call == "ioctl":
                        file += f" {words[2]}"
                self.seen[name, call, file] += 1
        except (OSError, ValueError, IndexError):
            return  # it ended meanwhile

    def _look_at_locks(self, inodes: dict[str, str]) -> None:
        try:
            lines = Path("/proc/locks").read_text().splitlines()
        except OSError:
            return
        for line in lines:
            words = line.split()
            waits = "->" in words
            inode = next((each for each in words if each.count(":") == 2), "").rpartition(":")[2]
            if inode in inodes:
                (self.waits if waits else self.locks)[inodes[inode]] += 1
