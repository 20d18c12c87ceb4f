"""Child processes: run to their end, or answering requests line by line; always ended with us.

Each is in a session of its own, so that all that it starts can be ended with it. Signals are
noticed where it is safe to stop, so that nothing is left half done.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn

from kernelprof.errors import InputError, MissingToolError, Terminated
from kernelprof.tools import check_allowed
from kernelprof.worker import python_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType


POLL_S = 0.05
GRACE_S = 5.0
"""How long processes may take to end by themselves before they are killed."""
LAST_WORDS_S = 30.0
"""How long a profiler may take to write what it has, once its program was ended."""
_PROFILERS = ("ncu", "nv-nsight-cu")
"""Names of processes that belong to the profiler and not to the program."""
_INTERRUPTS = ("SIGINT", "SIGTERM", "SIGHUP")
_CHUNK = _RETAINED_BYTES = 1 << 16


_SUPERVISE: Final = "from kernelprof.launch.processes import supervise; supervise(sys.argv[1:])"
_NOT_STARTED: Final = b"\0"
_SET_CHILD_SUBREAPER: Final = 36
"""``PR_SET_CHILD_SUBREAPER`` of Linux's prctl(2)."""


class Interrupts:
    """Remembers Ctrl-C and termination signals, for :meth:`check` to raise.

    An exception from a signal handler could strike between the start of a process and the
    statement that stores it.
    """

    def __init__(self) -> None:
        self._came: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        """Take over the signals that nobody told us to ignore."""
        if threading.current_thread() is threading.main_thread():
            for name in _INTERRUPTS:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._remember)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if error is None:
            self.check()

    def check(self) -> None:
        """Raise the interrupt that was received, if any."""
        if self._came is None:
            return
        if self._came == signal.SIGINT:
            raise KeyboardInterrupt
        raise Terminated(self._came)

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self._came = number


class TimeLimitError(InputError):
    """The program did not end in the time that it was given."""


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended; ``cut`` is whether its children were ended at the program's limit."""

    code: int
    printed: bytes
    seconds: float
    cut: bool = False


def run(
    command: Sequence[str],
    interrupts: Interrupts,
    *,
    time_limit: float | None = None,
    program_limit: float | None = None,
    keep_all: bool = False,
    poll: Callable[[], None] | None = None,
    into: Path | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    given: Path | None = None,
    alone: bool = False,
) -> ProcessResult:
    """Run a command to its end without a terminal, with ``given`` as its input.

    ``poll`` is called a few times a second. On an interrupt, the time limit or an error its
    whole process tree is ended. After ``program_limit`` seconds only its children are: a
    profiler then writes its results. The last output is returned, all of it with ``keep_all``;
    with ``into`` it goes to that file. ``alone`` ends children that outlive it, on Linux also those
    that left its session and lost their parents.
    """
    check_allowed(command[0])
    supervised = alone and sys.platform == "linux"
    start, cut = time.monotonic(), False
    with (
        contextlib.nullcontext(subprocess.PIPE) if into is None else into.open("wb") as output,
        contextlib.nullcontext(subprocess.DEVNULL) if given is None else given.open("rb") as stdin,
    ):
        words = python_command(_SUPERVISE, *command) if supervised else command
        process = _start(words, stdin, output, folder, environment)
    drain = None if process.stdout is None else _Drain(process.stdout, keep_all=keep_all)
    try:
        while process.poll() is None:
            interrupts.check()
            if poll is not None:
                poll()
            if time_limit is not None and time.monotonic() - start > time_limit:
                raise TimeLimitError(
                    f"the program was still running after {time_limit:g} s and was killed",
                    where=" ".join(command[-3:]),
                    hint="increase --time-limit if you set it, or give the program less work; "
                    "profiling runs each kernel several times, so select fewer launches with "
                    "--kernel and --launch-count",
                )
            if program_limit is not None and time.monotonic() - start > program_limit:
                end_children(process.pid, _PROFILERS)
                program_limit, cut = None, True
                time_limit = time_limit or time.monotonic() - start + LAST_WORDS_S
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL_S)
    except BaseException:
        end(process)
        raise
    if alone:
        end(process)
    if poll is not None:
        poll()
    printed = b"" if drain is None else drain.read_all()
    if supervised and printed.startswith(_NOT_STARTED):
        raise _start_error(command[0], printed.removeprefix(_NOT_STARTED).decode())
    return ProcessResult(process.returncode, printed, time.monotonic() - start, cut)


def _start(
    command: Sequence[str],
    stdin: int | IO[bytes],
    stdout: int | IO[bytes],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            list(command),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        raise _start_error(command[0], error.strerror or str(error)) from error


def _start_error(program: str, why: str) -> MissingToolError:
    return MissingToolError(
        f"{program} cannot be started: {why}",
        where=program,
        hint="check its path and permissions; 'kernelprof doctor' checks kernelprof's own tools",
    )


def supervise(command: Sequence[str]) -> NoReturn:
    """Run a command, adopt the orphans among its descendants, and end those that outlive it."""
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)
    for name in _INTERRUPTS:  # the family gets them, and is waited for
        signal.signal(getattr(signal, name), lambda *_: None)
    try:
        code = subprocess.call(command)
    except OSError as error:
        os.write(1, _NOT_STARTED + (error.strerror or str(error)).encode())
        sys.exit(1)
    end_children(os.getpid())
    sys.exit(code if code >= 0 else 128 - code)


def end(process: subprocess.Popen[bytes], grace: float = GRACE_S) -> None:
    """End a process and its descendants: SIGTERM, then SIGKILL."""
    family = _Family(process.pid)
    family.signal(signal.SIGTERM)
    start = time.monotonic()
    while (waited := time.monotonic() - start) < grace + GRACE_S:
        if waited >= grace:
            family.signal(signal.SIGKILL)
        if process.poll() is not None and family.is_gone():
            return
        time.sleep(POLL_S)


def end_children(leader: int, spared: Sequence[str] = (), grace: float = GRACE_S) -> None:
    """End the descendants of a process, except those with ``spared`` names."""
    family = _Family(leader)
    number = signal.SIGTERM
    deadline = time.monotonic() + grace
    while members := family.others(spared):
        for pid in members:
            _signal(os.kill, pid, number)
        if time.monotonic() > deadline:
            if number == signal.SIGKILL:
                return
            number, deadline = signal.SIGKILL, time.monotonic() + grace
        time.sleep(POLL_S)


class _Family:
    """A process and its descendants, in other sessions, too.

    Without /proc only its group is known.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._seen: set[tuple[int, str]] = set()

    def signal(self, number: int) -> None:
        """Signal all members, which are collected before the first one can end."""
        members = self._look()
        _signal(os.killpg, self._leader, number)
        for pid, _ in members:
            _signal(os.kill, pid, number)

    def others(self, spared: Sequence[str]) -> list[int]:
        """Return living members other than the leader and those of spared names."""
        return [
            pid
            for pid, _ in self._look()
            if pid != self._leader and not _name(pid).startswith(tuple(spared))
        ]

    def is_gone(self) -> bool:
        """Whether no member is alive; checked twice, as one may start during a check."""
        return not self._look() and not self._look()

    def _look(self) -> set[tuple[int, str]]:
        """Return the living members, by parent, or by session where the parent ended.

        A start time tells a process from a later one with the same number.
        """
        parents: dict[int, int] = {}
        sessions: dict[int, int] = {}
        members: dict[int, tuple[int, str]] = {}
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                stat = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            pid, fields = int(entry.name), stat.rpartition(")")[2].split()  # from the state on
            if fields[0] in "ZX":
                continue
            members[pid] = (pid, fields[19])
            parents[pid], sessions[pid] = int(fields[1]), int(fields[3])
        # A number is not given again while it is that of a session with members. One that is
        # another process's by now is no sign of the family.
        leaders = {each[0] for each in self._seen if members.get(each[0], each) == each}
        leaders.add(self._leader)
        family: set[int] = set()
        grown = {pid for pid in members if pid in leaders or sessions[pid] in leaders}
        while grown:
            family |= grown
            leaders |= grown
            joins = {p for p in members if parents[p] in family or sessions[p] in leaders}
            grown = joins - family
        alive = {members[pid] for pid in family}
        self._seen |= alive
        return alive


def _signal(send: Callable[[int, int], None], target: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(target, number)


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


class _Drain:
    def __init__(self, pipe: IO[bytes], *, keep_all: bool) -> None:
        self._pipe = pipe
        self._keep_all = keep_all
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def read_all(self) -> bytes:
        """Return the output; the wait is bounded, as a child may hold the pipe open."""
        self._thread.join(GRACE_S if not self._keep_all else None)
        return b"".join(self._parts)

    def _read(self) -> None:
        while chunk := os.read(self._pipe.fileno(), _CHUNK):
            self._parts.append(chunk)
            self._size += len(chunk)
            while not self._keep_all and self._size - len(self._parts[0]) > _RETAINED_BYTES:
                self._size -= len(self._parts.popleft())
        self._pipe.close()


RESPONSE_KEY: Final = "kernelprof-answer"


class WorkerEndedError(Exception):
    """The process ended without a response; ``printed`` is its last output."""

    def __init__(self, printed: bytes) -> None:
        super().__init__("the process ended without a response")
        self.printed = printed


class RequestWorker:
    """A child process that answers requests; leaving the context ends it."""

    def __init__(
        self,
        command: Sequence[str],
        interrupts: Interrupts,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._interrupts = interrupts
        self._printed = bytearray()
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._command = command
        pipe = subprocess.PIPE
        self._process = _start(command, pipe, pipe, environment=environment)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self._output: IO[bytes] = self._process.stdout
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> RequestWorker:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """End the process: it is polite to let it notice the end of its questions."""
        with contextlib.suppress(OSError):
            self._input.close()
        if error is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(POLL_S)
        end(self._process)

    def request(self, message: Mapping[str, Any], time_limit: float) -> dict[str, Any]:
        """Return the response to a message.

        Raises :class:`WorkerEndedError` where the process is gone, :class:`TimeLimitError` after
        ``time_limit`` seconds. Send no request after that: it would get the late response.
        """
        deadline = time.monotonic() + time_limit
        with contextlib.suppress(OSError):  # it is gone, which is noticed below
            self._input.write(json.dumps(message).encode() + b"\n")
            self._input.flush()
        while True:
            self._interrupts.check()
            if time.monotonic() > deadline:  # also of one that prints without end
                raise TimeLimitError(
                    f"the process did not answer within {time_limit:g} s",
                    where=" ".join(self._command[-3:]),
                )
            try:
                line = self._lines.get(timeout=POLL_S)
            except queue.Empty:
                continue
            if line is None:
                self._lines.put(None)
                raise WorkerEndedError(bytes(self._printed))
            answer = _parse_response(line)
            if answer is not None:
                return answer
            self._printed += line
            del self._printed[:-_RETAINED_BYTES]

    def _read(self) -> None:
        for line in self._output:
            self._lines.put(line)
        self._lines.put(None)
        self._output.close()


def _parse_response(line: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(line)
    except ValueError:
        return None
    answer = document.get(RESPONSE_KEY) if isinstance(document, dict) else None
    return answer if isinstance(answer, dict) else None


def serve_requests(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer each request on standard input: the loop of the child process."""
    for line in sys.stdin:
        send_response(answer(json.loads(line)))


def send_response(answer: Mapping[str, Any]) -> None:
    """Print one response on a line of its own."""
    sys.stdout.write("\n" + json.dumps({RESPONSE_KEY: answer}) + "\n")
    sys.stdout.flush()


_SET_DEATH_SIGNAL: Final = 1
"""``PR_SET_PDEATHSIG`` of Linux's prctl(2)."""


def end_with_parent(number: signal.Signals) -> None:
    """Ignore Ctrl-C, and get a signal when the parent ends (Linux).

    The parent decides what to end; a killed parent could not.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, number)
