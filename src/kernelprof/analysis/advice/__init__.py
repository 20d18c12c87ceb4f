"""Advice on a bottleneck, each line with the condition on the launch under which it is printed.

A line without a condition fits every kernel with that bottleneck. One with ``when`` is printed
where its condition is known to hold; one with ``unless`` wherever it is not known to hold. So a
capture of few metrics gets the lines that always fit, and none that its numbers contradict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from kernelprof.model.library_kernel import library_of
from kernelprof.model.numbers import rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.interval import Interval
    from kernelprof.analysis.metrics.pipelines import TensorPipeline
    from kernelprof.analysis.metrics.units import UnitUtilization


BROADCAST_SECTORS: Final = 1.1
"""Sectors of a request, at most, where all threads of a warp read one address: one, and a tenth
for the other loads of a kernel."""


class LaunchValues:
    """What is known of one launch. What is not is NaN, so that no comparison with it holds."""

    def __init__(
        self, facts: Facts, units: UnitUtilization, pipeline: TensorPipeline, row: int
    ) -> None:
        self._facts, self._units, self.pipeline = facts, units, pipeline
        self.row = row
        launch = facts.capture.launches[row]
        self.compute_capability = launch.compute_capability
        self.library = library_of(launch.kernel)

    def __getitem__(self, metric: str) -> float:
        return float(self._facts.values(metric)[self.row])

    def raw(self, ncu_name: str) -> float:
        """Return a column that has no canonical name."""
        return float(self._facts.raw(ncu_name)[self.row])

    @property
    def arithmetic(self) -> tuple[float, float]:
        """The least and the most that floating-point work can be of all instructions, 0 to 1."""
        share = self._units.arithmetic_share
        return float(share.low[self.row]), float(share.high[self.row])

    def stall(self, *names: str) -> float:
        """Return the share of a warp's time that it waits for these reasons."""
        return self.exact(self._units.warps.stall_share(*names))

    def exact(self, interval: Interval) -> float:
        """Return the number that a quantity is in this launch."""
        low = float(interval.low[self.row])
        return low if low == interval.high[self.row] else math.nan

    @property
    def occupancy(self) -> float:
        """The percentage of warp slots that are filled, or that can be."""
        achieved = self["achieved_occupancy"]
        return self["theoretical_occupancy"] if math.isnan(achieved) else achieved

    @property
    def copied(self) -> float:
        """The sectors that bulk copies (TMA) loaded, where that is known."""
        return self.exact(self._facts["tma_load_sectors"])

    @property
    def converts_doubles(self) -> bool:
        """Whether FP64 instructions take and give FP32 values."""
        return bool(self._units.converts_doubles.sure[self.row])

    @property
    def divides_integers(self) -> bool:
        """Whether the integer work is division or remainder by values that vary."""
        return bool(self._units.divides_integers[self.row])

    @property
    def guards_functions(self) -> bool:
        """Whether most special functions are behind branches, as precise division is."""
        return bool(self._units.guards_functions.sure[self.row])

    def sectors(self, kind: str) -> float:
        """Return the sectors of a request of global loads (``load``) or stores (``store``)."""
        return _ratio(self[f"global_{kind}_sectors"], self[f"global_{kind}_requests"])

    def is_broadcast(self, kind: str) -> bool:
        """Whether the threads of a warp access the same sector."""
        return self.sectors(kind) <= BROADCAST_SECTORS

    def used(self, kind: str) -> float:
        """Return the bytes that a sector's request uses of it, 32 at most."""
        return self[f"global_{kind}_bytes_per_sector"] or math.nan

    def width(self, kind: str) -> float:
        """Return the bytes that a thread of a full warp moves with one access, at most.

        A value that several threads share counts once, so that broadcasts make it smaller.
        """
        used = self.used(kind)
        return self.sectors(kind) * (32.0 if math.isnan(used) else used) / 32.0

    @property
    def excess(self) -> float:
        """The share of the sectors of global loads and stores that the bytes did not need."""
        return 1.0 - _ratio(self["global_sectors_ideal"], self["global_sectors"])

    @property
    def shared_memory(self) -> float:
        """The bytes of shared memory of a block."""
        return self["shared_memory_static"] + self["shared_memory_dynamic"]

    def rates(self, *operations: str) -> float:
        """Return instructions of these operations per cycle, by thread."""
        return sum(self[f"{each}_rate"] for each in operations)

    @cached_property
    def block_limits(self) -> dict[str, float]:
        """How many blocks of an SM each resource allows, where all main ones are known."""
        names = ("registers", "shared_mem", "warps", "blocks")
        limits = {name: self[f"block_limit_{name}"] for name in names}
        return {} if any(math.isnan(each) for each in limits.values()) else limits

    def limited_by(self, resource: str) -> bool:
        """Return whether this resource decides how many blocks an SM holds.

        Registers and shared memory do only below what the SM itself has room for.
        """
        limits = self.block_limits
        if not limits or limits[resource] > min(limits.values()):
            return False
        room = min(limits["warps"], limits["blocks"])
        return resource in {"warps", "blocks"} or limits[resource] < room


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the counters of a launch; ``words`` follow "if" in a sentence."""

    words: str
    holds: Callable[[LaunchValues], bool]

    def __and__(self, other: Condition) -> Condition:
        return Condition(
            f"{self.words} and {other.words}",
            lambda launch: self.holds(launch) and other.holds(launch),
        )

    def __or__(self, other: Condition) -> Condition:
        return Condition(
            f"{self.words} or {other.words}",
            lambda launch: self.holds(launch) or other.holds(launch),
        )


@dataclass(frozen=True, slots=True)
class Advice:
    """One line of what to do.

    ``measured`` is a sentence about the launch, with its ``number`` in place of ``{x}``. A page
    about all kernels omits it, and groups the lines by ``situation``: by default their ``when``.
    """

    text: str
    when: Condition | None = None
    unless: Condition | None = None
    number: Callable[[LaunchValues], float] | None = None
    measured: str = ""
    situation: str | None = None

    @property
    def template(self) -> str:
        """The line with ``{x}`` in place of the number."""
        return f"{self.text} {self.measured}".rstrip()

    def text_for(self, launch: LaunchValues) -> str | None:
        """Return the line for this launch, ``None`` where it does not fit."""
        if self.when is not None and not self.when.holds(launch):
            return None
        if self.unless is not None and self.unless.holds(launch):
            return None
        if self.number is None:
            return self.template
        value = self.number(launch)
        return self.template.replace("{x}", rounded(value)) if math.isfinite(value) else None

    @property
    def heading(self) -> str:
        """The situation that the line is for; empty for the common one."""
        if self.situation is not None:
            return self.situation
        return "" if self.when is None else f"If {self.when.words}"

    @property
    def in_general(self) -> str:
        """The line below its heading on a page about all kernels."""
        if self.unless is None or self.situation is not None:
            return self.text
        return f"{self.text.removesuffix('.')} (unless {self.unless.words})."


def group_by_situation(lines: Iterable[Advice]) -> dict[str, list[str]]:
    """Return lines in general by their headings, the common situation first."""
    groups: dict[str, list[str]] = {"": []}
    for each in lines:
        groups.setdefault(each.heading, []).append(each.in_general)
    return {heading: texts for heading, texts in groups.items() if texts}


def when(
    words: str,
    holds: Callable[[LaunchValues], bool],
    text: str,
    *,
    number: Callable[[LaunchValues], float] | None = None,
    measured: str = "",
) -> Advice:
    """Return a line that is printed where a condition is known to hold."""
    return Advice(text, when=Condition(words, holds), number=number, measured=measured)


def unless(words: str, holds: Callable[[LaunchValues], bool], text: str) -> Advice:
    """Return a line that is printed where a condition is not known to hold."""
    return Advice(text, unless=Condition(words, holds))
