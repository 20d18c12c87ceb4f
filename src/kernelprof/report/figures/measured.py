"""One look at a capture that every section of a report shares: plain numbers by launch.

Facts and what follows from them are worked out once for all launches; a section then asks for one
launch. What is not known is ``None``, and no number here is ever NaN or infinite.
"""

from __future__ import annotations

import math
import re
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.metrics.traffic import Traffic, traffic_at, traffic_of
from kernelprof.analysis.rules import RuleContext
from kernelprof.model.capture import Capture, Origin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from kernelprof.analysis.metrics.interval import Interval
    from kernelprof.model.diagnosis import KernelDiagnosis
    from kernelprof.model.snapshot import KernelSnapshot, MeasurementSetup

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
"""Units of the GPU in words, by the names that :class:`MeasurementSetup` has for them."""


ABSURD: Final = 1e30
"""No counter gets there; a file that was damaged may hold such numbers."""

LEAST_UTILIZATION: Final = 0.05
"""Below this the rounding of the utilization makes what follows from it worthless: Nsight Compute
prints two decimals of a percentage."""

TENSOR_COLUMN: Final = re.compile(r"sm__ops_path_tensor_op_")
_TENSOR_RATE: Final = re.compile(
    r"(sm__ops_path_tensor_(?:op_[a-z0-9_]+|src_[a-z0-9_]+_sparsity_(?:on|off))\.sum)"
    r"\.per_(?:second|cycle_elapsed)"
)
"""Counters of one kind of operation. Those without ``op`` or sparsity add up several, whose peaks
differ; Hopper's FP8, Ada and RTX 50 have none with ``op``."""


class Numbers:
    """What sections ask of a launch; of the medians of a kernel there is less."""

    least_utilization = LEAST_UTILIZATION
    """The least use of a unit from which its limit is worked out, 0 to 1."""

    tensor_columns: Sequence[str] = ()
    """Columns that count floating-point operations of the tensor cores, without their end."""

    compute_capability: tuple[int, int] | None = None

    predicted = False
    """Whether they follow from machine code, and nothing was measured."""

    def value(self, name: str) -> float | None:
        """A metric by its canonical name."""
        raise NotImplementedError

    def raw(self, ncu_name: str) -> float | None:  # noqa: ARG002
        """A column by its ``ncu`` name."""
        return None

    def traffic(self) -> Traffic:
        """Bytes at every level of the memory."""
        return traffic_of(self.value, self.compute_capability)

    def positive(self, name: str) -> float | None:
        """A metric that is above zero."""
        return positive(self.value(name))

    def share(self, name: str) -> float | None:
        """A percentage as a share; counters of several passes can be slightly above the whole."""
        value = self.value(name)
        return None if value is None else clip(value / 100.0)

    @property
    def seconds(self) -> float | None:
        """The time that it took."""
        return product(self.value("duration"), 1e-9)

    @property
    def hertz(self) -> float | None:
        """The SM clock while it ran."""
        clock, seconds = self.positive("sm_clock"), self.seconds
        if clock is not None or seconds is None:
            return clock
        return product(self.value("sm_cycles_elapsed"), 1 / seconds)

    @property
    def capability(self) -> str | None:
        """``9.0``."""
        version = self.compute_capability
        return None if version is None else f"{version[0]}.{version[1]}"


class Medians(Numbers):
    """The medians of a kernel's launches; a snapshot keeps no columns of ``ncu``."""

    least_utilization = 0.005
    """Two decimals of a percentage are off by 1 % here, which cannot be seen on an axis of powers
    of ten, and there is nothing else that tells the limit: attributes of the chip are columns."""

    def __init__(self, kernel: KernelSnapshot, machine: MeasurementSetup) -> None:
        self._metrics = kernel.metrics
        major, _, minor = (machine.compute_capability or "").partition(".")
        if major.isdecimal() and minor.isdecimal():
            self.compute_capability = (int(major), int(minor))

    def value(self, name: str) -> float | None:
        return finite(self._metrics.get(name))


class LaunchFigures(Numbers):
    """The numbers of one launch."""

    def __init__(self, measured: Measured, row: int) -> None:
        self._measured, self._row = measured, row
        self.waste = measured.context.waste
        self.tensor_columns = measured.tensor_columns
        self.id = measured.capture.launches[row].id
        self.predicted = measured.is_predicted
        self.compute_capability = measured.capture.launches[row].compute_capability

    def value(self, name: str) -> float | None:
        number = self._measured.values(name).item(self._row)
        return None if math.isnan(number) else number

    def raw(self, ncu_name: str) -> float | None:
        column = self._measured.capture.columns.get(ncu_name)
        return None if column is None else finite(column.values.item(self._row))

    def traffic(self) -> Traffic:
        return traffic_at(self._measured.facts, self._row)

    def exact_value(self, interval: Interval) -> float | None:
        """A quantity that several metrics give, where they give one number."""
        low, high = interval.low.item(self._row), interval.high.item(self._row)
        return finite(low) if low == high else None

    def busiest(self) -> tuple[str, float] | None:
        """The unit with the highest utilization; ``None`` where one that is not known could be."""
        units = self._measured.units
        shares = {
            name: clip(share)
            for name, interval in units.items()
            if (share := self.exact_value(interval)) is not None
        }
        if not shares:
            return None
        name = max(shares, key=shares.__getitem__)
        others = (each.high.item(self._row) for unit, each in units.items() if unit not in shares)
        return None if any(high > shares[name] for high in others) else (name, shares[name])


class Measured:
    """The numbers of a capture."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.facts = Facts(capture)
        self.context = RuleContext(self.facts)
        self._values: dict[str, FloatArray] = {}

    def values(self, name: str) -> FloatArray:
        """A metric by its canonical name, for every launch."""
        if name not in self._values:
            given = self.facts.values(name)
            self._values[name] = np.where(np.abs(given) < ABSURD, given, np.nan)
        return self._values[name]

    @cached_property
    def units(self) -> Mapping[str, Interval]:
        """Utilization of every unit against its peak, 0 to 1."""
        units = self.context.units
        levels = {"issue": units.issue, "l1": units.l1, "l2": units.l2, "dram": units.dram}
        return {name: levels[name] if name in levels else units.pipe(name) for name in UNITS}

    @cached_property
    def is_predicted(self) -> bool:
        """Whether any metric is a prediction."""
        return any(each.source is Origin.PREDICTED for each in self.capture.columns.values())

    @cached_property
    def tensor_columns(self) -> tuple[str, ...]:
        """Columns that count floating-point operations of the tensor cores, without their end."""
        matches = (_TENSOR_RATE.fullmatch(name) for name in self.capture.columns)
        names = dict.fromkeys(each[1] for each in matches if each)
        return tuple(name for name in names if "_src_int" not in name)

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


def clip(share: float) -> float:
    """A share between 0 and 1."""
    return min(max(share, 0.0), 1.0)


def finite(value: float | np.float64 | None) -> float | None:
    """A number that a counter can have: sums and products of it are finite as well."""
    if value is None:
        return None
    number = float(value)
    return number if abs(number) < ABSURD else None


def positive(value: float | None) -> float | None:
    """A rate of zero limits nothing: it was not measured."""
    return value if value is not None and value > 0 else None


def product(first: float | None, second: float | None) -> float | None:
    """The product of two positive numbers."""
    first, second = positive(first), positive(second)
    return None if first is None or second is None else first * second
