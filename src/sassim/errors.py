"""Errors that the simulator raises, beside the faults of kernels (:mod:`sassim.faults`)."""

from __future__ import annotations


class SassimError(Exception):
    """A cubin, a launch or an instruction that cannot be simulated: what, where, and what to do."""

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint


class DisassemblerError(SassimError):
    """``nvdisasm`` is missing, or cannot disassemble a cubin."""


class CubinError(SassimError):
    """A file is no cubin, or has no such kernel."""


class ArgumentError(SassimError):
    """The arguments of a launch are not the parameters of the kernel."""
