"""Bounds from the rules that ship with Nsight Compute, as a details page shows their messages.

A details page lacks most counters, but Nsight Compute's own rules evaluated them. A rule that ran
without a message bounds what it evaluates; a message bounds it from both sides. All of this is used
only on a details page and only where the capture has no counter, and a verdict that needs it is
never given with high confidence.

The bounds were read off two captures that have both pages, ``gemm_series`` and ``validation`` in
``tests/captures`` (Nsight Compute 2025.3.1); a test repeats that.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.analysis.metrics.catalogue import SPILLING_REQUESTS
from kernelprof.analysis.metrics.interval import Interval
from kernelprof.model.capture import SECTIONS_COLUMN, SPOKEN_COLUMN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.interval import BoolArray, FloatArray


SILENT_SHARE = 0.05
"""Largest share of excess sectors, extra wavefronts or local sectors that goes unmentioned. In our
captures none does; the smallest that is mentioned is 3.7 %."""

SILENT_STALL_SHARE = 0.30
"""Rule CPIStall names every stall that takes 30 % of a warp's time or more."""

STALLS_JUDGED_BELOW = 0.80
"""... in kernels that issue in fewer than 80 % of the cycles."""

UNDERUTILIZED_PIPE = 0.20
"""Rule HighPipeUtilization calls all pipes under-utilized where the busiest is below 20 %."""

JUDGED_PIPES = frozenset({"alu_pipe", "fma_pipe", "fp64_pipe", "tensor_pipe"})
"""Pipes that this rule looks at: it calls ``sfu_bound`` under-utilized with XU at 99.5 %."""

WASTE = frozenset({"SourceCounters", "WarpStateStats"})
"""Sections with needless sectors and wavefronts, and with waits."""
EXPLAINING = WASTE | {"MemoryWorkloadAnalysis"}
"""Sections that no small set has."""

ROUNDING = 0.006
"""The rules print whole percents of the FP32 and FP64 peak, and tenths for pipes."""

LOCAL_PATTERN = tuple(
    f"smsp__sass_average_data_bytes_per_sector_mem_local_op_{op}.ratio" for op in ("ld", "st")
)


class _Names:
    """Names of what has something to say of each launch, ``;`` between them in its cell."""

    def __init__(self, cells: Sequence[str | None], count: int) -> None:
        positions = {"": 0}
        codes = [positions.setdefault(cell or "", len(positions)) for cell in cells]
        self._codes = np.array(codes or [0] * count, dtype=np.intp)
        self._distinct = [frozenset(cell.split(";")) - {""} for cell in positions]

    def where(self, holds: Callable[[frozenset[str]], bool]) -> BoolArray:
        """Return the launches of whose names something holds."""
        return np.array([holds(names) for names in self._distinct], dtype=np.bool_)[self._codes]


class ShippedRules:
    """Bounds from the shipped rules; open where the capture is no details page."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        capture = facts.capture
        self.has_rule_messages = SECTIONS_COLUMN in capture.text
        """Whether the capture is a details page, with messages of Nsight Compute's own rules."""
        self._seen = _Names(capture.text.get(SECTIONS_COLUMN, ()), facts.count)
        self._spoken = _Names(capture.text.get(SPOKEN_COLUMN, ()), facts.count)

    def _ran(self, *names: str) -> BoolArray:
        return self._seen.where(lambda seen: seen.issuperset(names))

    @cached_property
    def has_explaining_section(self) -> BoolArray:
        """Launches whose details page has a section that says why something is busy or waits."""
        return self._seen.where(lambda seen: not seen.isdisjoint(EXPLAINING))

    @cached_property
    def tells_of_waste(self) -> BoolArray:
        """Launches whose details page has a section that says what a full unit does needlessly."""
        return self._seen.where(lambda seen: not seen.isdisjoint(WASTE))

    def _without_message(self, *metrics: str) -> BoolArray:
        """Launches of whose sentences none is about these metrics, though there are sentences."""
        return self._spoken.where(lambda spoken: bool(spoken) and spoken.isdisjoint(metrics))

    def _ran_without_message(self, rule: str) -> BoolArray:
        """Launches that a rule did not mention, where it is known to have run.

        A rule that never spoke in the whole file may not have been evaluated at all.
        """
        somewhere = self._reported_somewhere(rule)
        return self._seen.where(lambda seen: somewhere and rule not in seen)

    def _reported_somewhere(self, rule: str) -> bool:
        return rule in self.facts.capture.seen

    @cached_property
    def excess_at_most(self) -> FloatArray:
        silent = self._ran_without_message("UncoalescedGlobalAccess")
        return np.where(self._ran("SourceCounters") & silent, SILENT_SHARE, 1.0)

    @cached_property
    def conflicts_at_most(self) -> FloatArray:
        silent = self._ran_without_message("UncoalescedSharedAccess")
        return np.where(self._ran("SourceCounters") & silent, SILENT_SHARE, 1.0)

    @cached_property
    def mentions_local_memory(self) -> BoolArray:
        return self._ran("MemoryWorkloadAnalysis") & ~self._without_message(*LOCAL_PATTERN)

    @cached_property
    def local_at_most(self) -> FloatArray:
        ran = self._ran("MemoryWorkloadAnalysis", "SourceCounters")
        spills = self.facts.raw(SPILLING_REQUESTS)
        silent = self._without_message(*LOCAL_PATTERN) & self._reported_somewhere(
            "MemoryCacheAccessPattern"
        )
        return np.where(ran & silent & (spills == 0), SILENT_SHARE, 1.0)

    def stall_at_most(self, name: str) -> FloatArray:
        """Return the largest share of a warp's time that a stall without a sentence can take."""
        busy = self.facts.fraction("issue_slots_active")
        silent = self._without_message(
            f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"
        )
        judged = self._ran("WarpStateStats") & (busy < STALLS_JUDGED_BELOW).sure & silent
        judged = judged & self._reported_somewhere("CPIStall")
        return np.where(judged, SILENT_STALL_SHARE, 1.0)

    def pipe_at_most(self, name: str) -> FloatArray:
        """Return the largest utilization of a pipe, as a fraction."""
        if name not in JUDGED_PIPES:
            return np.ones(self.facts.count)
        idle = self.facts.raw("kernelprof__reported_pipes_underutilized") == 1
        highest = self.facts.raw("kernelprof__reported_highest_pipe_pct") * 0.01 + ROUNDING
        most = np.where(idle, UNDERUTILIZED_PIPE, highest)
        return np.where(np.isnan(most), 1.0, np.minimum(most, 1.0))

    @cached_property
    def shared_pipe_at_most(self) -> FloatArray:
        """Utilization of the pipe that FP64 and tensor cores share, where a sentence names it."""
        name = self.facts.capture.text.get("kernelprof__reported_highest_pipe")
        if name is None:
            return np.ones(self.facts.count)
        highest = self.facts.raw("kernelprof__reported_highest_pipe_pct") * 0.01 + ROUNDING
        return np.where(np.array([cell == "Shared" for cell in name]), highest, 1.0)

    def peak_share(self, precision: str) -> Interval:
        """Return the share of the ``fp32`` or ``fp64`` peak that the launch achieved."""
        share = self.facts.raw(f"kernelprof__reported_{precision}_peak_pct") * 0.01
        return Interval(
            np.where(np.isnan(share), 0.0, np.maximum(share - ROUNDING, 0.0)),
            np.where(np.isnan(share), 1.0, np.minimum(share + ROUNDING, 1.0)),
        )

    @cached_property
    def is_details_page(self) -> BoolArray:
        return self._ran("WarpStateStats", "SourceCounters", "MemoryWorkloadAnalysis")
