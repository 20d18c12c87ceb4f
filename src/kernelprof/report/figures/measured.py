"""One look at a capture that every section of a report shares: plain numbers by launch.

Facts and what follows from them are worked out once for all launches; a section then asks for one
launch. What is not known is ``None``, and no number here is ever NaN or infinite.
"""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.metrics.traffic import traffic_at
from kernelprof.analysis.rules import RuleContext

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from kernelprof.analysis.metrics.catalogue import Metric
    from kernelprof.analysis.metrics.interval import Interval
    from kernelprof.analysis.metrics.traffic import Traffic
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import KernelDiagnosis

    FloatArray = npt.NDArray[np.float64]

UNITS: Final[Mapping[str, str]] = {
    "issue": "instruction issue",
    "l1": "L1 and shared memory",
    "l2": "L2",
    "dram": "device memory",
    "alu_pipe": "the integer and logic pipe (ALU)",
    "fma_pipe": "the FP32 pipe (FMA)",
    "fp64_pipe": "the FP64 pipe",
    "xu_pipe": "the special-function pipe (XU)",
    "tensor_pipe": "the tensor cores",
}
"""Units of the GPU in words, by the names that :class:`Machine` has for them."""


ABSURD: Final = 1e30
"""No counter gets there; a file that was damaged may hold such numbers."""

LEAST_UTILIZATION: Final = 0.05
"""Below this the rounding of the utilization makes what follows from it worthless: Nsight Compute
prints two decimals of a percentage."""

TENSOR_COLUMN: Final = re.compile(r"sm__ops_path_tensor_op_")
_TENSOR_RATE: Final = re.compile(r"(sm__ops_path_tensor_op_[a-z0-9_]+\.sum)\.per_second")


class Numbers(Protocol):
    """What sections ask of a launch: :class:`Measured` has those of a capture.

    Medians of a kernel, of which no launch is known any more, are a single row.
    """

    least_utilization: float
    """The least use of a unit from which its limit is worked out, 0 to 1."""

    def value(self, name: str, row: int) -> float | None:
        """A metric by its canonical name."""

    def raw(self, ncu_name: str, row: int) -> float | None:
        """A column by its ``ncu`` name."""

    def share(self, name: str, row: int) -> float | None:
        """A percentage as a share, 0 to 1."""

    def compute_capability(self, row: int) -> tuple[int, int] | None:
        """The architecture that it ran on."""

    def traffic(self, row: int) -> Traffic:
        """Bytes at every level of the memory."""

    @property
    def tensor_columns(self) -> tuple[str, ...]:
        """Columns that count floating-point operations of the tensor cores, without their end."""


class Measured:
    """The numbers of a capture, by launch."""

    least_utilization = LEAST_UTILIZATION

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.facts = Facts(capture)
        self.context = RuleContext(self.facts)
        self._values: dict[str, FloatArray] = {}
        self._traffic: dict[int, Traffic] = {}

    def value(self, name: str, row: int) -> float | None:
        """A metric by its canonical name, as the capture has it."""
        values = self._values.get(name)
        if values is None:
            given = self.facts.values(name)
            values = self._values[name] = np.where(np.abs(given) < ABSURD, given, np.nan)
        number = values.item(row)
        return None if math.isnan(number) else number

    def raw(self, ncu_name: str, row: int) -> float | None:
        """A column by its ``ncu`` name."""
        column = self.capture.columns.get(ncu_name)
        return None if column is None else finite(column.values.item(row))

    def share(self, name: str, row: int) -> float | None:
        """A percentage as a share; counters of several passes can be slightly above the whole."""
        value = self.value(name, row)
        return None if value is None else clip(value / 100.0)

    def known(self, interval: Interval, row: int) -> float | None:
        """A quantity that several metrics give, where they give one number."""
        low, high = interval.low.item(row), interval.high.item(row)
        return finite(low) if low == high else None

    def compute_capability(self, row: int) -> tuple[int, int] | None:
        """The architecture that a launch ran on."""
        return self.capture.launches[row].compute_capability

    def traffic(self, row: int) -> Traffic:
        """Bytes at every level of the memory."""
        found = self._traffic.get(row)
        if found is None:
            found = self._traffic[row] = traffic_at(self.facts, row)
        return found

    @cached_property
    def units(self) -> Mapping[str, Interval]:
        """Utilization of every unit against its peak, 0 to 1."""
        machine = self.context.machine
        found = {"issue": machine.issue, "l1": machine.l1, "l2": machine.l2, "dram": machine.dram}
        return {name: found[name] if name in found else machine.pipe(name) for name in UNITS}

    def busiest(self, row: int) -> tuple[str, float] | None:
        """The unit with the highest utilization; ``None`` where one that is not known could be."""
        known = {
            name: clip(share)
            for name, interval in self.units.items()
            if (share := self.known(interval, row)) is not None
        }
        if not known:
            return None
        name = max(known, key=known.__getitem__)
        others = (each.high.item(row) for unit, each in self.units.items() if unit not in known)
        return None if any(high > known[name] for high in others) else (name, known[name])

    @cached_property
    def by_ncu_name(self) -> Mapping[str, Metric]:
        """The catalogue's metrics by each of their ``ncu`` names."""
        return {name: each for each in catalogue().values() for name in each.all_ncu_names()}

    @cached_property
    def tensor_columns(self) -> tuple[str, ...]:
        """Columns that count floating-point operations of the tensor cores, without their end."""
        found = (_TENSOR_RATE.fullmatch(name) for name in self.capture.columns)
        return tuple(each[1] for each in found if each and "_src_int" not in each[1])

    def representative(self, kernel: KernelDiagnosis) -> int:
        """The launch whose numbers stand for a kernel: the one with the median duration.

        It is the launch that the evidence of the verdict is from.
        """
        rows = kernel.rows
        if len(rows) == 1:
            return rows[0]
        times = self.facts.values("duration")[list(rows)]
        if np.isnan(times).any():
            return rows[0]
        return rows[int(np.argsort(times, kind="stable")[(len(rows) - 1) // 2])]


def capability(numbers: Numbers, row: int) -> str | None:
    """``9.0``."""
    found = numbers.compute_capability(row)
    return None if found is None else f"{found[0]}.{found[1]}"


def clip(share: float) -> float:
    """A share between 0 and 1."""
    return min(max(share, 0.0), 1.0)


def finite(value: float | np.float64 | None) -> float | None:
    """A number that a counter can have: sums and products of it are finite as well."""
    if value is None:
        return None
    number = float(value)
    return number if abs(number) < ABSURD else None
