"""What keeps a kernel from being predicted."""

from __future__ import annotations

from kernelprof.errors import ExitCode, KernelprofError


class NotRunnableError(KernelprofError):
    """A kernel that only a GPU can run, or that is not known well enough here."""

    exit_code = ExitCode.ENVIRONMENT
