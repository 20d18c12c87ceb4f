"""Work that a process of its own does while this one goes on."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar

from kernelprof.launch.processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

T = TypeVar("T")


class WorkerProcess(Generic[T]):
    """Work that a fork of this process does while the context goes on, where that is safe.

    It is not with one processor, nor where this process has threads, whose locks a fork would find
    as they are (a notebook, a server). Then the work is done before the context is entered. Where
    the fork fails it is done again in this process, so that an error is that of this one, with all
    that caused it. What is left of the work ends with the context.
    """

    def __init__(self, task: Callable[[], T], *, here: bool = False) -> None:
        """``here`` has it done in this process."""
        self._task = task
        self._results: list[T] = []
        self._error: Exception | None = None
        self._process: Any = None
        if here or not _can_fork():
            return
        context = multiprocessing.get_context("fork")
        self._answers, sending = context.Pipe(duplex=False)
        process = context.Process(target=_send, args=(sending, task), daemon=True)
        try:
            with warnings.catch_warnings():
                # Python counts the threads of libraries as well, which are asleep.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
        except OSError:  # there may be no more processes
            self._answers.close()
        else:
            self._process = process
        finally:
            sending.close()

    def __enter__(self) -> Self:
        if self._process is None:
            self.result()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._answers.close()

    def refuse_failed(self) -> None:
        """Raise the error of work that failed by now."""
        if self._process is not None and not self._results and self._answers.poll():
            self.result()

    def result(self) -> T:
        """What the work gives; raises what it raises."""
        if self._error is not None:
            raise self._error
        if not self._results:
            try:
                self._results.append(self._received())
            except Exception as error:
                self._error = error
                raise
        return self._results[0]

    def _received(self) -> T:
        if self._process is not None:
            try:
                result: T = self._answers.recv()
            except EOFError:
                pass
            else:
                return result
        return self._task()


_WITH_THREADS: Final = frozenset(("cupy", "jax", "tensorflow", "torch"))
"""Modules whose libraries have threads that Python does not count, and wait for them in a fork."""


def _can_fork() -> bool:
    if not sys.platform.startswith("linux") or threading.active_count() > 1:
        return False
    if multiprocessing.current_process().daemon or not _WITH_THREADS.isdisjoint(sys.modules):
        return False
    return len(os.sched_getaffinity(0)) > 1


def _send(to: Connection, task: Callable[[], object]) -> None:
    """Send what the work gives, and nothing where it fails; then end without another word."""
    gc.disable()  # to look for cycles would copy all of the parent's objects
    end_with_parent(signal.SIGKILL)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    try:
        to.send(task())
        sys.stdout.flush()  # a reference may have printed
        sys.stderr.flush()
    finally:
        os._exit(0)
