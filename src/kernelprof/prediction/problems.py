"""What keeps a kernel from being predicted."""

from __future__ import annotations

from typing import Final

from kernelprof.errors import ExitCode, KernelprofError

_ON_A_GPU: Final = "diagnose it on a machine with a GPU and ncu: nothing of it is guessed"


class NotRunnableError(KernelprofError):
    """A kernel that only a GPU can run, or that is not known well enough here."""

    exit_code = ExitCode.ENVIRONMENT

    def __init__(
        self, what: str, *, where: str | None = None, hint: str | None = _ON_A_GPU
    ) -> None:
        super().__init__(what, where=where, hint=hint)
