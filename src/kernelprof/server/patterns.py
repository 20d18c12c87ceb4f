"""Regular expressions of clients, which may take for ever: tried in a process with a time limit."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from kernelprof.errors import UsageError
from kernelprof.worker import CallLimits, Worker, WorkerError

if TYPE_CHECKING:
    from collections.abc import Iterable

_LIMITS: Final = CallLimits(seconds=2.0, memory_bytes=256 << 20)
_WORKER: Final = Worker(__name__)


class _Search(msgspec.Struct, array_like=True, frozen=True):
    pattern: str
    names: list[str]


def check_pattern(pattern: str, names: Iterable[str]) -> None:
    """Raise :class:`UsageError` for an expression that takes too long for these names."""
    given = msgspec.msgpack.encode(_Search(pattern, list(names)))
    try:
        _WORKER.call(given, _LIMITS)
    except WorkerError as error:
        raise UsageError(
            f"the regular expression {pattern!r} cannot be used: {error}",
            hint="use the kernel's name, or an expression without nested repetitions",
        ) from error


def prepare() -> None:
    """Nothing has to be loaded."""


def answer(given: bytes) -> bytes:
    """Search all names, in the worker."""
    search = msgspec.msgpack.decode(given, type=_Search)
    try:
        pattern = re.compile(search.pattern)
    except re.error:  # whoever uses it says what is wrong
        return b""
    for name in search.names:
        pattern.search(name)
    return b""
