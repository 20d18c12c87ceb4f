"""Children of tests, however the tests themselves were started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Meanwhile no signal that ends a program is ignored, here or in children started here.

    A background job is born with SIGINT ignored, and one under ``nohup`` with SIGHUP, and hands
    that on: what a test then interrupts would run on.
    """
    before: dict[int, Any] = {}
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            usual = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
            before[number] = signal.signal(number, usual)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A child that can be interrupted, and that does not outlive a test which fails."""
    with interruptible():
        process = subprocess.Popen(command, **options)
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def wait_for_file(file: Path, process: subprocess.Popen[Any]) -> None:
    """Wait until a process has made a file, for a minute at most."""
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)


def read_terminal(descriptor: int) -> bytes:
    """All that a child wrote to its terminal, whose other end this is; it is closed then."""
    printed = b""
    with contextlib.suppress(OSError):  # the child has closed its end
        while chunk := os.read(descriptor, 65536):
            printed += chunk
    os.close(descriptor)
    return printed
