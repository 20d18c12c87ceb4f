"""The errors a user can meet, each with its exit code.

One place (``kernelprof.cli.main``) turns them into a message on stderr; everything else raises.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command line; other people's scripts rely on them."""

    DONE = 0
    REGRESSION = 1
    BAD_INPUT = 2
    INCONCLUSIVE = 3
    ENVIRONMENT = 4


class KernelprofError(Exception):
    """A failure that the user can act on: what happened, where, and what to do next."""

    exit_code: ExitCode = ExitCode.BAD_INPUT

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint


class InputError(KernelprofError):
    """The input is not what the command can work with."""


class UsageError(KernelprofError):
    """The command line asks for something that does not exist or does not fit together."""


class MissingToolError(KernelprofError):
    """The machine lacks something: a GPU, ncu, a permission, an optional package."""

    exit_code = ExitCode.ENVIRONMENT


@dataclass(frozen=True, slots=True)
class ErrorFacts:
    """An error as a value, to be stored or handed to another process."""

    what: str
    where: str | None = None
    hint: str | None = None
    exit_code: int = int(ExitCode.BAD_INPUT)

    @staticmethod
    def from_exception(error: BaseException) -> ErrorFacts:
        """What an exception reports; one that is not ours reports where it came from."""
        if isinstance(error, KernelprofError):
            return ErrorFacts(error.what, error.where, error.hint, int(error.exit_code))
        last = "".join(traceback.format_exception(error)[-3:]).strip()
        what = f"{type(error).__name__}: {error}"
        return ErrorFacts(what, hint=last, exit_code=int(ExitCode.ENVIRONMENT))


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in something that goes on from there another time; ``what`` was done until then."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class Terminated(BaseException):
    """A signal other than Ctrl-C asked us to end; ``code`` is what a shell then expects.

    No :class:`KeyboardInterrupt`: the parser of the command line takes those for Ctrl-C.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number
