"""Runs commands in forked processes, each with limits, and says what came of them."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

ALLOWED = {0, 1, 2, 3, 4, 130}
MOST_BYTES = 1 << 30
LIMIT_S = 20
_PRELOADED = 192 << 20
"""Bytes of a process that has imported everything; what a copy has beyond that is its parent's."""
_ADDRESSES = 6 << 30
"""Bytes of addresses that a process may take: a guard for this machine, libraries reserve some."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended; ``code`` is negative for a signal."""

    code: int
    peak_bytes: int
    seconds: float
    stderr: str

    @property
    def wrong(self) -> str:
        """What may not be; empty if all is well."""
        if self.code == -signal.SIGALRM:
            return f"it took more than {LIMIT_S} s"
        if self.code not in ALLOWED:
            return f"exit code {self.code}"
        if "Traceback" in self.stderr or "internal error" in self.stderr:
            return "a traceback"
        if self.peak_bytes > MOST_BYTES:
            return f"{self.peak_bytes >> 20} MiB"
        return ""


@cache
def preload() -> None:
    """Import all that commands import, once: each process is a copy of this one."""
    import kernelprof

    for found in walk_packages(kernelprof.__path__, "kernelprof."):
        if not found.name.endswith("__main__"):
            import_module(found.name)
    for name in ("scipy.stats", "pyarrow.csv", "rich.table", "tree_sitter_cuda"):
        import_module(name)


def run(command: tuple[str, ...], folder: Path) -> Outcome:
    """Run a command in a folder, in a process that is a copy of this one."""
    preload()
    begun, inherited = time.monotonic(), max(_resident() - _PRELOADED, 0)
    errors = folder.parent / "stderr"
    child = os.fork()
    if child == 0:
        _be(command, folder, errors)
    _, status, used = os.wait4(child, 0)
    return Outcome(
        os.waitstatus_to_exitcode(status),
        used.ru_maxrss * 1024 - inherited,
        time.monotonic() - begun,
        errors.read_text(encoding="utf-8", errors="replace"),
    )


def _resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * resource.getpagesize()


def _be(command: tuple[str, ...], folder: Path, errors: Path) -> None:
    """The child: never returns."""
    code = 70
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LIMIT_S)
        resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
        faulthandler.disable()
        os.chdir(folder)
        out = os.open(os.devnull, os.O_RDWR)
        said = os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for number, opened in ((0, out), (1, out), (2, said)):
            os.dup2(opened, number)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        from kernelprof.cli.main import main

        code = main(list(command))
        sys.stdout.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
