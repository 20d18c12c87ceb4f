"""Runs a program and writes what it took: ``launcher.py STDOUT STDERR PROGRAM [ARGUMENT ...]``.

A program starts out as its parent, and the kernel counts the parent's peak of memory as the
program's own. So this script stands between it and the benchmark, and imports next to nothing.
"""

import os
import sys
import time

PEAK_UNIT = 1 if sys.platform == "darwin" else 1024


def main(out: str, errors: str, *command: str) -> int:
    """Write seconds of wall time and of CPU time, peak of memory in bytes, and exit code."""
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
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    peak = usage.ru_maxrss * PEAK_UNIT
    code = os.waitstatus_to_exitcode(status)
    sys.stdout.write(f"{seconds} {usage.ru_utime + usage.ru_stime} {peak} {code}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
