"""Calls a library of others in a process of its own: with limits, and confined where possible.

NVRTC and NVIDIA's report reader parse files of strangers, and may abort, never end or take all
memory. A server process loads the library once and forks for its calls: one that dies takes neither
the caller nor the next call with it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from importlib import import_module
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kernelprof import errors, sandbox
from kernelprof.errors import KernelprofError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_START: Final = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
_PATIENCE_S: Final = 20.0
"""How much later than a call's limit its server must have answered: it may have to be loaded."""
_NEARLY: Final = 0.5
"""From this part of the memory limit on, a process that died is taken to have met it: the
allocation that failed is often as large as what was there."""
_PAGE: Final = resource.getpagesize()


class CallLimits(msgspec.Struct, array_like=True, frozen=True):
    """What one call may take."""

    seconds: float
    memory_bytes: int
    """Address space beyond what the loaded library has."""
    answer_bytes: int = 256 << 20


class WorkerError(Exception):
    """The library ended its process, or was ended at a limit; the text says which."""


class _Call(msgspec.Struct, array_like=True, frozen=True):
    given: bytes
    limits: CallLimits
    reads: tuple[str, ...]
    alone: bool


class _Answer(msgspec.Struct, array_like=True, frozen=True):
    """What a call returned, what it raised (class, message, where, hint), or how it died."""

    value: bytes = b""
    error: tuple[str, str, str | None, str | None] | None = None
    died: str = ""


class Worker:
    """Calls ``answer(bytes) -> bytes`` of a module elsewhere.

    The module is imported and its ``prepare()`` called once. Calls wait for each other.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def call(
        self,
        given: bytes,
        limits: CallLimits,
        reads: Sequence[Path] = (),
        *,
        alone: bool = False,
        meanwhile: Iterable[object] = (),
    ) -> bytes:
        """The module's answer; where possible the call can read ``reads`` and libraries alone.

        ``alone`` is for a call that changes the library for later ones. ``meanwhile`` is iterated
        over until the answer is there. Raises :class:`WorkerError` where the process died or met a
        limit, and the :class:`KernelprofError` of the module.
        """
        call = _Call(given, limits, tuple(str(each.absolute()) for each in reads), alone)
        with self._lock:
            try:
                answer = self._exchange(call, meanwhile)
            except BaseException:
                self.close()
                raise
        if answer.error is not None:
            name, what, where, hint = answer.error
            kind: type[KernelprofError] = getattr(errors, name)
            raise kind(what, where=where, hint=hint)
        if answer.died:
            raise WorkerError(answer.died)
        return answer.value

    def start(self) -> None:
        """Start the server process ahead of the first call."""
        with self._lock:
            self._start_server()

    def close(self) -> None:
        """End the server process, and a call that it is in."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self._server.close()

    def _exchange(self, call: _Call, meanwhile: Iterable[object]) -> _Answer:
        self._start_server()
        # A call that fails in a used process is tried again in a fresh one.
        patience = 2 * call.limits.seconds + _PATIENCE_S
        try:
            self._server.send_bytes(msgspec.msgpack.encode(call))
        except OSError as error:
            raise WorkerError("the worker process did not answer") from error
        for _ in meanwhile:
            if self._server.poll():
                break
        try:
            if not self._server.poll(patience):
                raise TimeoutError
            return msgspec.msgpack.decode(self._server.recv_bytes(), type=_Answer)
        except (OSError, EOFError) as error:
            raise WorkerError("the worker process did not answer") from error

    def _start_server(self) -> None:
        process = self._process
        if process is not None and self._owner == os.getpid() and process.poll() is None:
            return
        code = "from kernelprof.worker import serve; serve(sys.argv[1], int(sys.argv[2]))"
        self._server, theirs = Pipe()
        with theirs:
            number = theirs.fileno()
            self._process = subprocess.Popen(
                python_command(code, self._module, str(number)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[number],
                cwd="/",
                start_new_session=True,
            )
        self._owner = os.getpid()
        atexit.register(self.close)


def python_command(code: str, *words: str) -> list[str]:
    """What runs code of ours, apart from the user's modules, with ``words`` in ``sys.argv``."""
    own = sandbox.python_folders()
    paths = [each for each in sys.path if Path(each).resolve() in own]
    return [sys.executable, "-I", "-c", _START + code, json.dumps(paths), *words]


def serve(name: str, file: int) -> None:
    """Answer calls from a connection, in forked processes, until it is closed."""
    client = Connection(file)
    module = import_module(name)
    prepared: KernelprofError | None = None
    try:
        module.prepare()
    except KernelprofError as error:
        prepared = error
    child: _Child | None = None
    while True:
        try:
            call = msgspec.msgpack.decode(client.recv_bytes(), type=_Call)
        except (EOFError, OSError):
            return
        if prepared is not None:
            client.send_bytes(_encode_error(prepared))
            continue
        if child is not None and (call.alone or child.serves != (call.limits, call.reads)):
            child.end()
            child = None
        answer = None if child is None else child.answer(call)
        if answer is None or child is None:
            child = _Child(module, call)
            answer = child.answer(call)
        client.send_bytes(answer or msgspec.msgpack.encode(_Answer(died=child.died)))
        if call.alone or child.died:
            child.end()
            child = None


class _Child:
    """A process that answers calls with the same limits until one of them ends it."""

    def __init__(self, module: Any, call: _Call) -> None:
        self.serves = (call.limits, call.reads)
        self.died = ""
        self._calls, calls = Pipe()
        self._process: int | None = os.fork()
        if self._process == 0:
            try:
                self._calls.close()
                _limit(call.limits)
                sandbox.confine(map(Path, call.reads))
                while True:
                    calls.send_bytes(_answer(module, calls.recv_bytes()))
            finally:
                os._exit(1)
        calls.close()

    def answer(self, call: _Call) -> bytes | None:
        """The answer, ``None`` where the process died, for the reason in ``died``."""
        limits = call.limits
        try:
            self._calls.send_bytes(call.given)
            if self._calls.poll(limits.seconds):
                return self._calls.recv_bytes(limits.answer_bytes)
            self.died = f"it took longer than {limits.seconds:g} s"
        except EOFError:
            pass
        except OSError as error:
            if error.errno is None:  # it is not the system's: the length
                self.died = f"its output is larger than {limits.answer_bytes >> 20} MiB"
        ended = self.end()
        self.died = self.died or ended
        return None

    def end(self) -> str:
        """End the process; returns how it had ended."""
        process, self._process = self._process, None
        if process is None:
            return ""
        self._calls.close()
        if self.died:
            os.kill(process, signal.SIGKILL)
        # Without calls it ends by itself, if it did not by a signal before.
        _, status, usage = os.wait4(process, 0)
        code = os.waitstatus_to_exitcode(status)
        memory_bytes = self.serves[0].memory_bytes
        if usage.ru_maxrss << 10 > _NEARLY * memory_bytes:
            return f"it probably needed more than {memory_bytes >> 20} MiB of memory"
        if code < 0:
            return f"it was killed by {signal.Signals(-code).name}"
        return f"it ended with exit code {code}"


def _limit(limits: CallLimits) -> None:
    if sys.platform == "linux":
        mapped = int(Path("/proc/self/statm").read_bytes().split()[0]) * _PAGE
        most = mapped + limits.memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def _answer(module: Any, given: bytes) -> bytes:
    try:
        return msgspec.msgpack.encode(_Answer(module.answer(given)))
    except KernelprofError as error:
        return _encode_error(error)
    except MemoryError:
        return msgspec.msgpack.encode(_Answer(died="it ran out of memory"))


def _encode_error(error: KernelprofError) -> bytes:
    raised = (type(error).__name__, error.what, error.where, error.hint)
    return msgspec.msgpack.encode(_Answer(error=raised))
