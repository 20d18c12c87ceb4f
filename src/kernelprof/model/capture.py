"""A capture in memory: one row a launch, one column a metric, numbers in canonical units.

This is the one form behind every reader. It is kept as columns, so that a rule is evaluated for all
launches at once; :meth:`Capture.tidy` gives the long form (launch, metric, value, unit, original
unit, source) for people and for export.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    FloatArray = npt.NDArray[np.float64]


class Source(StrEnum):
    """Where a value comes from."""

    MEASURED = "measured"
    """A hardware or software counter that the profiler read."""
    DERIVED = "derived"
    """Computed from other values by the profiler or by us."""
    LAUNCH = "launch"
    """The launch configuration and the device's attributes."""
    REPORTED = "reported"
    """A number that one of Nsight Compute's own rules printed in a sentence; rounded."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Who was launched: the identity of one row of a capture.

    ``id`` is the capture's own ID; it is unique in one export but not over concatenated ones.
    ``grid`` and ``block`` are ``(x, y, z)`` in blocks and threads. ``compute_capability`` is
    ``(major, minor)``. Anything the export does not say is ``None``.
    """

    id: str
    kernel: str
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    process_id: str | None = None
    process_name: str | None = None
    host: str | None = None
    context: str | None = None
    stream: str | None = None
    device: str | None = None
    compute_capability: tuple[int, int] | None = None
    nvtx: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """One metric over all launches of a capture.

    ``values`` has one float64 a launch in ``unit``; NaN is missing, never zero.
    ``original_unit`` is the unit as the export gave it (of the first part, where parts differ).
    """

    name: str
    values: FloatArray
    unit: str
    original_unit: str
    source: Source


@dataclass(frozen=True)
class Capture:
    """All launches of one export, or of several read together.

    ``columns`` is keyed by the metric's name as ``ncu --page raw`` writes it, also for a details
    page, whose labels the reader translates. ``text`` holds the non-numeric columns (device name,
    cache configuration), ``None`` where empty. ``warnings`` are sentences for the user (a truncated
    row was left out, a metric was ``(!) n/a``). ``unavailable`` names metrics that were asked for
    and that ncu could not give.
    """

    launches: tuple[Launch, ...]
    columns: Mapping[str, MetricColumn]
    text: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    origin: str = "<memory>"
    page: str = "raw"
    application: str | None = None
    clock_control: str | None = None
    warnings: tuple[str, ...] = ()
    unavailable: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.launches)

    def tidy(self) -> pd.DataFrame:
        """The long form: one row a launch and metric that has a value."""
        import numpy as np
        import pandas as pd

        return pd.DataFrame(self._tidy_rows(np), columns=_TIDY_COLUMNS)

    def _tidy_rows(self, np: Any) -> Iterator[tuple[object, ...]]:
        for column in self.columns.values():
            for row in np.flatnonzero(~np.isnan(column.values)):
                launch = self.launches[row]
                yield (
                    int(row),
                    launch.id,
                    launch.kernel,
                    column.name,
                    float(column.values[row]),
                    column.unit,
                    column.original_unit,
                    column.source.value,
                )


_TIDY_COLUMNS = ["row", "id", "kernel", "metric", "value", "unit", "original_unit", "source"]
