"""A kernel of a snapshot as sections of a report ask for numbers: by canonical name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.traffic import traffic_of
from kernelprof.report.html.build.measured import clip, finite

if TYPE_CHECKING:
    from kernelprof.analysis.metrics.traffic import Traffic
    from kernelprof.model.snapshot import KernelSnapshot, Machine

ROW: Final = 0
"""Medians are a single row."""


class Medians:
    """The medians of a kernel's launches; a snapshot keeps no columns of ``ncu``."""

    least_utilization = 0.005
    """Two decimals of a percentage are off by 1 % here, which cannot be seen on an axis of powers
    of ten, and there is nothing else that tells the limit: attributes of the chip are columns."""

    tensor_columns: tuple[str, ...] = ()

    def __init__(self, kernel: KernelSnapshot, machine: Machine) -> None:
        self._metrics = kernel.metrics
        self._capability = machine.compute_capability

    def value(self, name: str, row: int) -> float | None:  # noqa: ARG002
        """A metric by its canonical name."""
        return finite(self._metrics.get(name))

    def raw(self, ncu_name: str, row: int) -> float | None:  # noqa: ARG002
        """Nothing: a snapshot has canonical metrics only."""
        return None

    def share(self, name: str, row: int) -> float | None:
        """A percentage as a share, 0 to 1."""
        value = self.value(name, row)
        return None if value is None else clip(value / 100.0)

    def compute_capability(self, row: int) -> tuple[int, int] | None:  # noqa: ARG002
        """The architecture, where all launches of the capture ran on one."""
        major, _, minor = (self._capability or "").partition(".")
        return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None

    def traffic(self, row: int) -> Traffic:
        """Bytes at every level of the memory."""
        return traffic_of(lambda name: self.value(name, row))
