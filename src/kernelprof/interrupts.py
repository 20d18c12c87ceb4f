"""Ctrl-C at any time ends the program with 130 and without a traceback.

Python raises :class:`KeyboardInterrupt` wherever it is: also while modules are imported, in the
cleaning up behind the last statement of ours, and in calls that swallow it. Only while a command
runs is something there to clean up, so only then is it raised; at all other times the process
just ends.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
    from typing import Any
else:
    # What signal is made of: the enumerations around it take longer to import than all before it.
    import _signal as signal

INTERRUPTED = 130

_raising = False
_came = False


def install() -> None:
    """Take over Ctrl-C for a process that is this program's, unless it is to be ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _unraisable


def begin() -> None:
    """From here on Ctrl-C raises :class:`KeyboardInterrupt`, once."""
    global _raising  # noqa: PLW0603 (a process has one Ctrl-C)
    _raising = True


def end() -> None:
    """From here on nothing is left to clean up: Ctrl-C ends the process; one that came does now.

    Python would let a process end by the signal after an interrupt within ``exec``, which
    dataclasses are made by, although it was caught.
    """
    global _raising  # noqa: PLW0603
    _raising = False
    if _came:
        os._exit(INTERRUPTED)


def came() -> bool:
    """Whether Ctrl-C was pressed, also where somebody made another exception of it."""
    return _came


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    global _came, _raising  # noqa: PLW0603
    _came = True
    if not _raising:
        os._exit(INTERRUPTED)
    _raising = False
    raise KeyboardInterrupt


def _unraisable(unraisable: Any) -> None:
    """An exception in a finalizer or a callback, where nobody can catch it."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        os._exit(INTERRUPTED)
    sys.__unraisablehook__(unraisable)
