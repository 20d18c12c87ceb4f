"""What a process of ours does first that works for another one of ours."""

from __future__ import annotations

import ctypes
import signal
import sys
from typing import Final

_SET_DEATH_SIGNAL: Final = 1
"""``PR_SET_PDEATHSIG`` of Linux's prctl(2)."""


def end_with_parent(number: signal.Signals) -> None:
    """Leave Ctrl-C to the parent, and be sent a signal where the parent ends (Linux).

    Ctrl-C reaches all processes of a terminal, and it is the parent that knows what to end when.
    Where the parent is killed, what works for it would go on.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, number)
