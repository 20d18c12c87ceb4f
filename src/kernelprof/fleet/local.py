"""Calls in processes of this machine: one for each GPU, and some without."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kernelprof.errors import Terminated
from kernelprof.fleet.executor import Failure
from kernelprof.fleet.pool import Pool, WorkerDied
from kernelprof.fleet.work import use_device
from kernelprof.launch.helpers import end_with_parent
from kernelprof.launch.processes import end_children

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from types import FrameType

    from kernelprof.fleet.devices import Device
    from kernelprof.fleet.executor import Call
    from kernelprof.fleet.pool import Worker

_GRACE_S: Final = 8.0
"""What a worker gets to end what it started, before it is killed."""
_GRACE_BELOW_S: Final = 2.0
"""What compilers get for that."""


class Process:
    """A process that makes one call at a time, and sees one device, or what its maker sees."""

    def __init__(self, device: str = "") -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, device), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid or 0

    def send(self, call: Call) -> None:
        """Begin a call; :class:`WorkerDied` where the process is gone."""
        try:
            self.connection.send((call.function, call.argument))
        except OSError as error:
            raise WorkerDied from error

    def answer(self) -> tuple[Any, Failure | None]:
        """What the call gave; waits for it."""
        try:
            found: tuple[Any, Failure | None] = self.connection.recv()
        except (EOFError, OSError) as error:
            raise WorkerDied from error
        return found

    def end(self) -> None:
        """Ask it to end, and all that it started."""
        self._process.terminate()

    def join(self) -> None:
        """Wait for its end, and kill it if that takes long."""
        self._process.join(_GRACE_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self.connection.close()


class Local(Pool):
    """Without Ray: all workers are processes of this machine."""

    def _start(self, device: Device | None) -> Process:
        return Process("" if device is None else device.uuid)

    def _send(self, handle: Process, call: Call) -> None:
        handle.send(call)

    def _ready(self, busy: Sequence[Worker]) -> Sequence[Worker]:
        ready = wait([each.handle.connection for each in busy])
        return [each for each in busy if each.handle.connection in ready]

    def _answer(self, handle: Process) -> tuple[Any, Failure | None]:
        return handle.answer()

    def _gone(self, handle: Process) -> None:
        handle.join()

    def _end(self, handles: Sequence[Process]) -> None:
        for each in handles:
            each.end()
        for each in handles:
            each.join()


def _serve(connection: Connection, device: str) -> None:
    """A worker: makes one call after the other until nobody is at the other end."""
    signal.signal(signal.SIGTERM, _terminated)
    end_with_parent(signal.SIGTERM)  # a measurement would go on, and hold its GPU
    if device:
        use_device(device)
    with contextlib.suppress(EOFError, OSError, Terminated):
        while True:
            function, argument = connection.recv()
            answer: tuple[Any, Failure | None]
            try:
                answer = function(argument), None
            except Exception as error:
                answer = None, Failure.of(error)
            connection.send(answer)
    os._exit(0)


def _terminated(number: int, _frame: FrameType | None) -> NoReturn:
    """End what was started, while it can be found below us, and clean up on the way out."""
    signal.signal(number, signal.SIG_IGN)
    end_children(os.getpid(), grace=_GRACE_BELOW_S)
    raise Terminated(number)
