"""Predicted values beside measured ones, and how many of them are as near as they should be."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.model.capture import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.predict.kernels import Kernel
    from benchmarks.predict.outcomes import Outcome, Value

    from kernelprof.model.capture import Capture

_ROUNDED: Final = {"threads_per_instruction": 0.005}
"""By how much ``ncu`` rounds what it prints; other values come with all digits that count."""
_NOISE: Final = 1e-4
"""Of a value: by how much counters of the same launch differ from run to run."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One value of one kernel, predicted and measured."""

    name: str
    predicted: Value
    measured: float

    @property
    def off(self) -> float:
        """How far the prediction is off, as a part of what was measured."""
        if self.measured == 0:
            return 0.0 if self.predicted.value == 0 else float("inf")
        return abs(self.predicted.value / self.measured - 1)

    def near(self, within: float) -> bool:
        """Whether it is off by no more than a part of what was measured, or than its rounding."""
        rounding = _ROUNDED.get(self.name, 0.0)
        return self.off <= within or abs(self.predicted.value - self.measured) <= rounding

    @property
    def counted(self) -> bool:
        """Whether it is counted, or of the compiler, and of no model of caches or time."""
        return self.name in COUNTED or self.predicted.origin == "compiler"

    @property
    def held(self) -> bool:
        """Whether the interval holds what was measured."""
        room = max(_ROUNDED.get(self.name, 0.0), _NOISE * abs(self.measured))
        return self.predicted.low - room <= self.measured <= self.predicted.high + room


@dataclass(frozen=True)
class Beside:
    """A kernel with its prediction and its measurement, as far as there are both."""

    kernel: Kernel
    outcome: Outcome
    capture: Capture | None

    @cached_property
    def compared(self) -> tuple[Compared, ...]:
        """All values that were predicted and measured, and are not nothing in both."""
        if self.capture is None:
            return ()
        facts = Facts(self.capture)
        found = []
        for name, value in self.outcome.values.items():
            measured = float(facts.values(name)[0]) if name in load_metrics() else np.nan
            if not np.isnan(measured) and (measured or value.value):
                found.append(Compared(name, value, measured))
        return tuple(found)

    def of(self, names: frozenset[str]) -> tuple[Compared, ...]:
        """Those of some names."""
        return tuple(each for each in self.compared if each.name in names)


@dataclass(frozen=True, slots=True)
class Goal:
    """Values of which a share of the kernels has to have all as near as ``within``."""

    title: str
    names: frozenset[str]
    within: float
    share: float


GOALS: Final = (
    Goal(
        "requests, sectors and ideals within 1 %",
        frozenset(
            (
                *("global_load_requests", "global_load_sectors", "global_store_requests"),
                *("global_store_sectors", "global_atomic_requests", "global_reduction_requests"),
                *("global_sectors", "global_sectors_ideal", "local_sectors"),
            )
        ),
        0.01,
        0.96,
    ),
    Goal(
        "wavefronts of shared memory, and their ideal, within 1 %",
        frozenset(("shared_wavefronts", "shared_wavefronts_ideal")),
        0.01,
        0.92,
    ),
    Goal("threads per instruction within 1 %", frozenset(("threads_per_instruction",)), 0.01, 0.92),
    Goal("instructions within 5 %", frozenset(("instructions",)), 0.05, 0.75),
    Goal("theoretical occupancy", frozenset(("theoretical_occupancy",)), 0.001, 0.98),
)

COUNTED: Final = frozenset().union(
    *(goal.names for goal in GOALS),
    (f"tma_{each}" for each in ("loads", "load_sectors", "store_sectors", "reduction_sectors")),
    ("local_load_sectors", "local_store_sectors"),
)
"""What the sample of blocks counts; all else that is predicted is of models of caches and time, and
its interval is that of the time alone."""

HELD: Final = 0.95
"""The share of all predicted values whose interval has to hold what was measured."""
MEDIAN_S: Final = 2.0
MOST_S: Final = 20.0
MOST_BYTES: Final = 1 << 30


@dataclass(frozen=True)
class Report:
    """Everything that the report says."""

    rows: tuple[Beside, ...]
    missing: tuple[Kernel, ...] = field(default=())
    """Kernels that were not predicted as they are now."""

    @cached_property
    def ran(self) -> tuple[Beside, ...]:
        """Kernels with values: their result is that of their reference."""
        return tuple(row for row in self.rows if row.outcome.values)

    @cached_property
    def known(self) -> tuple[Beside, ...]:
        """Those of them that were measured as they are now."""
        return tuple(row for row in self.ran if row.capture is not None)

    def reached(self, goal: Goal) -> tuple[list[Beside], list[Beside]]:
        """Kernels that have all values of a goal as near as they should be, and the others."""
        return divided(
            (row for row in self.known if row.of(goal.names)),
            lambda row: all(each.near(goal.within) for each in row.of(goal.names)),
        )

    def values(self) -> Iterator[tuple[Beside, Compared]]:
        """All values that were predicted, beside the compiler's."""
        for row in self.known:
            for each in row.compared:
                if each.predicted.origin == Origin.PREDICTED:
                    yield row, each


def divided(
    rows: Iterator[Beside], holds: Callable[[Beside], bool]
) -> tuple[list[Beside], list[Beside]]:
    """Rows of which something holds, and the others."""
    parts: tuple[list[Beside], list[Beside]] = ([], [])
    for row in rows:
        parts[not holds(row)].append(row)
    return parts


def beside(kernels: Sequence[Kernel], outcomes: Mapping[str, Outcome]) -> Report:
    """All kernels with an outcome beside their measurements."""
    rows = [
        Beside(each, outcomes[each.name], each.measured())
        for each in kernels
        if each.name in outcomes
    ]
    return Report(tuple(rows), tuple(each for each in kernels if each.name not in outcomes))
