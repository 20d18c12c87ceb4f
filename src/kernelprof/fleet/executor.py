"""Who runs calls: the small interface behind which are this machine's processes, or Ray.

A call is a function of a module and one argument, both of which can be pickled. Calls of a device
are made one at a time on each device, in a process that sees just that one: ``ncu`` needs it alone.
Others are made beside them, by as many workers as there are. A worker that dies takes nothing along
but its call, which is made again.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from kernelprof.errors import ExitCode, KernelprofError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.fleet.devices import Device


@dataclass(frozen=True, slots=True)
class Call:
    """``function(argument)``, on a device of this name, or wherever there is room.

    ``label`` comes back with the outcome.
    """

    function: Callable[[Any], Any]
    argument: Any
    label: Any = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call returned, or why it failed; ``deaths`` are workers that it outlived."""

    call: Call
    value: Any = None
    error: Failure | None = None
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as it travels between processes."""

    what: str
    where: str | None = None
    hint: str | None = None
    exit_code: int = ExitCode.ENVIRONMENT

    @staticmethod
    def of(error: BaseException) -> Failure:
        """What an exception says; one that is not ours says where it came from."""
        if isinstance(error, KernelprofError):
            return Failure(error.what, error.where, error.hint, int(error.exit_code))
        last = "".join(traceback.format_exception(error)[-3:]).strip()
        return Failure(f"{type(error).__name__}: {error}", hint=last)

    def raised(self) -> KernelprofError:
        """The same as an exception."""
        error = KernelprofError(self.what, where=self.where, hint=self.hint)
        error.exit_code = ExitCode(self.exit_code)
        return error


class Executor(Protocol):
    """Runs calls; entered, it has workers, and left, none of them is there any more."""

    devices: tuple[Device, ...]
    """Those that it has, one entry a GPU."""
    workers: int
    """How many calls without a device are made at a time."""
    pending: int
    """Calls that were submitted and whose outcome nobody took yet."""

    def __enter__(self) -> Self:
        """Start what runs calls."""

    def __exit__(self, *_: object) -> None:
        """End it, and with it the calls that are being made."""

    def submit(self, call: Call) -> None:
        """Have a call made, after those that were submitted before."""

    def wait(self) -> Outcome:
        """The outcome of the next call that ends; there must be one pending."""


def dead(deaths: int) -> Failure:
    """What is said of a call that killed one worker after the other."""
    return Failure(
        f"{deaths} workers died over it",
        hint="it may need more memory than there is; retries in the plan says how often to try",
    )
