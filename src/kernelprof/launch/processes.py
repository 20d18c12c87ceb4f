"""Runs a program in a session of its own, so that all that it starts can be ended with it.

Signals that end us are noticed where it is safe to stop, so that nothing is left half done.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kernelprof.errors import InputError, MissingToolError, Terminated
from kernelprof.tools import check_allowed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType, TracebackType

POLL_S = 0.05
GRACE_S = 5.0
"""How long processes may take to end by themselves before they are killed."""

LAST_WORDS_S = 30.0
"""How long a profiler may take to write what it has, once its program was ended."""

_PROFILERS = ("ncu", "nv-nsight-cu")
"""Names of processes that belong to the profiler and not to the program."""

_INTERRUPTS = ("SIGINT", "SIGTERM", "SIGHUP")
_KEPT_BYTES = 1 << 16
_CHUNK = 1 << 16


class Interrupts:
    """While this is entered, Ctrl-C and the like are remembered, and raised by :meth:`check`.

    An exception out of a signal handler can strike between the start of a process and the
    statement that remembers it. Here it cannot: whoever waits calls :meth:`check` a few times a
    second, and an interrupt that came during the last steps is raised at the end.
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if error is None:
            self.check()

    def check(self) -> None:
        """Raise the interrupt that came, if one did."""
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
class Outcome:
    """How a process ended: its exit code, what it printed last, and how long it took.

    ``cut`` says that what it had started was ended by us.
    """

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
) -> Outcome:
    """Run a command to its end, without a terminal, with what is ``given`` as standard input.

    ``poll`` is called a few times a second. On an interrupt, at the time limit and on any error
    everything that the command started is ended before the exception goes on. After
    ``program_limit`` seconds only what the command itself has started is ended: a profiler then
    writes what it has. Of what is printed
    the last part is kept, with ``keep_all`` everything; with ``into`` it all goes into that file.
    It runs in ``folder`` with ``environment``, without them in our own. ``alone`` ends what it left
    behind.
    """
    check_allowed(command[0])
    start, cut = time.monotonic(), False
    with (
        contextlib.nullcontext(subprocess.PIPE) if into is None else into.open("wb") as output,
        contextlib.nullcontext(subprocess.DEVNULL) if given is None else given.open("rb") as stdin,
    ):
        try:
            process = subprocess.Popen(
                list(command),
                stdin=stdin,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise not_started(command[0], error) from error
    drain = None if process.stdout is None else _Drain(process.stdout, keep_all=keep_all)
    try:
        while process.poll() is None:
            interrupts.check()
            if poll is not None:
                poll()
            if time_limit is not None and time.monotonic() - start > time_limit:
                raise TimeLimitError(
                    f"the program was still running after {time_limit:g} s and was ended",
                    where=" ".join(command[-3:]),
                    hint="give it more time with --time-limit, or less to do; profiling runs each "
                    "kernel several times: --kernel and --launch-count choose fewer launches",
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
    printed = b"" if drain is None else drain.taken()
    return Outcome(process.returncode, printed, time.monotonic() - start, cut)


def not_started(program: str, error: OSError) -> MissingToolError:
    """The error for a program that is not there, or that may not be run."""
    return MissingToolError(
        f"{program} cannot be started: {error.strerror or error}",
        where=program,
        hint="'kernelprof doctor' says what is missing and how to get it",
    )


def end(process: subprocess.Popen[bytes], grace: float = GRACE_S) -> None:
    """End a process and everything that it started: politely at first, then for certain."""
    family = _Family(process.pid)
    family.signal(signal.SIGTERM)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        if process.poll() is not None and family.is_gone():
            return
        time.sleep(POLL_S)
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline:
        family.signal(signal.SIGKILL)
        if process.poll() is not None and family.is_gone():
            return
        time.sleep(POLL_S)


def end_children(leader: int, spared: Sequence[str] = (), grace: float = GRACE_S) -> None:
    """End what a process started, but neither itself nor what has one of these names."""
    family = _Family(leader)
    number = signal.SIGTERM
    deadline = time.monotonic() + grace
    while members := family.others(spared):
        for pid in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        if time.monotonic() > deadline:
            if number == signal.SIGKILL:
                return
            number, deadline = signal.SIGKILL, time.monotonic() + grace
        time.sleep(POLL_S)


class _Family:
    """A process with what it starts, also later, and also in sessions of their own.

    Without /proc only the process group is known.
    """

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._known: set[tuple[int, str]] = set()

    def signal(self, number: int) -> None:
        """Send a signal to all, who are looked for before the first one can end."""
        members = self._look()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader, number)
        for pid, _ in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)

    def others(self, spared: Sequence[str]) -> list[int]:
        """Who is alive beside the leader and those of these names, as the kernel has them."""
        return [
            pid
            for pid, _ in self._look()
            if pid != self._leader and not _name(pid).startswith(tuple(spared))
        ]

    def is_gone(self) -> bool:
        """Whether none is left; looked twice, as a process may be born while one looks."""
        return not self._look() and not self._look()

    def _look(self) -> set[tuple[int, str]]:
        """Who is alive: found by a parent, or by the session where the parent has ended.

        A process is told from a later one of the same number by when it started.
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
        heads = {each[0] for each in self._known if members.get(each[0], each) == each}
        heads.add(self._leader)
        found = {pid for pid in heads if pid in members}
        grown = True
        while grown:
            heads |= found
            more = {p for p in members if parents[p] in found or sessions[p] in heads} - found
            found |= more
            grown = bool(more)
        alive = {members[pid] for pid in found}
        self._known |= alive
        return alive


def _name(pid: int) -> str:
    """A process's name, of 15 characters at most; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


class _Drain:
    """Reads a pipe in the background, so that its writer never waits."""

    def __init__(self, pipe: IO[bytes], *, keep_all: bool) -> None:
        self._pipe = pipe
        self._keep_all = keep_all
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def taken(self) -> bytes:
        """What was read; a process left behind may hold the pipe open, so the wait is bounded."""
        self._thread.join(GRACE_S if not self._keep_all else None)
        return b"".join(self._parts)

    def _read(self) -> None:
        while part := os.read(self._pipe.fileno(), _CHUNK):
            self._parts.append(part)
            self._size += len(part)
            while not self._keep_all and self._size - len(self._parts[0]) > _KEPT_BYTES:
                self._size -= len(self._parts.popleft())
        self._pipe.close()
