"""A child process that is asked again and again: one JSON object a line each way.

Its standard input ends with the last question, and so does it. What else it prints, a kernel's
``printf`` too, is kept as its last words.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Any, Final

from kernelprof.launch.processes import POLL_S, TimeLimitError, end, not_started

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from kernelprof.launch.processes import Interrupts

ANSWER: Final = "kernelprof-answer"
"""The key that tells an answer from anything else that a process prints."""
_WORDS_KEPT: Final = 1 << 16


class EndedError(Exception):
    """The process ended before it answered; its last words are in ``printed``."""

    def __init__(self, printed: bytes) -> None:
        super().__init__("the process ended without an answer")
        self.printed = printed


class Asked:
    """Starts a command and asks it; on leaving, the command and what it started are ended."""

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
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise not_started(command[0], error) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input: IO[bytes] = self._process.stdin
        self._output: IO[bytes] = self._process.stdout
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Asked:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process: it is polite to let it notice the end of its questions."""
        with contextlib.suppress(OSError):
            self._input.close()
        if error is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(POLL_S)
        end(self._process)

    def ask(self, question: Mapping[str, Any], time_limit: float) -> dict[str, Any]:
        """The answer to a question.

        Raises :class:`EndedError` where the process is gone, and :class:`TimeLimitError` where it
        does not answer in ``time_limit`` seconds: a late answer would be taken for that of the next
        question, so it is to be asked no more.
        """
        deadline = time.monotonic() + time_limit
        with contextlib.suppress(OSError):  # it is gone, which is noticed below
            self._input.write(json.dumps(question).encode() + b"\n")
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
                raise EndedError(bytes(self._printed))
            answer = _answer(line)
            if answer is not None:
                return answer
            self._printed += line
            del self._printed[:-_WORDS_KEPT]

    def _read(self) -> None:
        """Hand over lines, and ``None`` at the end."""
        for line in self._output:
            self._lines.put(line)
        self._lines.put(None)
        self._output.close()


def _answer(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    answer = found.get(ANSWER) if isinstance(found, dict) else None
    return answer if isinstance(answer, dict) else None


def answer_all(answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer the questions on standard input until it ends: what the child process does."""
    for line in sys.stdin:
        say(answer(json.loads(line)))


def say(answer: Mapping[str, Any]) -> None:
    """Print one answer, on a line of its own whatever was printed before."""
    sys.stdout.write("\n" + json.dumps({ANSWER: answer}) + "\n")
    sys.stdout.flush()
