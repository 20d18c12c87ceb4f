"""Signals that end us, noticed where it is safe to stop: so that nothing is left half done."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType, TracebackType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Terminated(BaseException):
    """Something other than Ctrl-C asked us to end; ``code`` is what a shell then expects.

    No :class:`KeyboardInterrupt`: the parser of the command line takes those for Ctrl-C.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


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
            for name in _NAMES:
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
