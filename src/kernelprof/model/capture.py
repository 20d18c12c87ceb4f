"""A capture in memory: one row a launch, one column a metric, numbers in canonical units.

This is the one form behind every reader. It is kept as columns, so that a rule is evaluated for all
launches at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    FloatArray = npt.NDArray[np.float64]

OWN_COLUMNS: Final = "kernelprof__"
"""Begins the names of columns that ``ncu`` has not: what the sentences of its rules say."""

SECTIONS_COLUMN: Final = f"{OWN_COLUMNS}sections"
"""Text column: identifiers of the sections and rules that have rows for a launch, ``;`` between."""

SPOKEN_COLUMN: Final = f"{OWN_COLUMNS}spoken"
"""Text column: names of the metrics that sentences about a launch give, ``;`` between."""

DEVICE_NAME: Final = "device__attribute_display_name"
"""Text column: what the driver calls the GPU."""


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
    and that ncu could not give. ``whole_seen`` is, for a part of a larger capture, :attr:`seen` of
    that one.
    """

    launches: Sequence[Launch]
    columns: Mapping[str, MetricColumn]
    text: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    origin: str = "<memory>"
    page: str = "raw"
    application: str | None = None
    clock_control: str | None = None
    warnings: tuple[str, ...] = ()
    unavailable: frozenset[str] = frozenset()
    whole_seen: frozenset[str] | None = None

    @cached_property
    def seen(self) -> frozenset[str]:
        """Sections and rules that have rows on the details page for some launch of the export."""
        if self.whole_seen is not None:
            return self.whole_seen
        cells = set(self.text.get(SECTIONS_COLUMN, ()))
        return frozenset(name for cell in cells for name in (cell or "").split(";"))

    def __len__(self) -> int:
        return len(self.launches)

    def part(self, start: int, stop: int) -> Capture:
        """A capture of the launches from ``start`` up to ``stop``; it shares their values."""
        from kernelprof.model.launches import Launches

        some = slice(start, stop)
        columns = {n: replace(each, values=each.values[some]) for n, each in self.columns.items()}
        text = {name: cells[some] for name, cells in self.text.items()}
        launches = Launches.of(self.launches)[some]
        return replace(self, launches=launches, columns=columns, text=text, whole_seen=self.seen)

    def rows(self, rows: Sequence[int]) -> Capture:
        """A capture of some of the launches, in the given order."""
        from kernelprof.model.launches import Launches

        at = list(rows)
        return replace(
            self,
            launches=Launches.of(self.launches).take(at),
            columns={n: replace(each, values=each.values[at]) for n, each in self.columns.items()},
            text={name: tuple(cells[row] for row in at) for name, cells in self.text.items()},
            whole_seen=self.seen,
        )
