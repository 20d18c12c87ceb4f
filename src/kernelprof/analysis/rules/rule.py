"""What a rule is: documentation, thresholds, the metrics it wants, and one function.

A rule is one file of this folder that defines ``RULE``. Discovery, the metrics that a capture asks
for, ``kernelprof explain`` and the pages in ``reports/rules.md`` all derive from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.interval import Interval
    from kernelprof.analysis.metrics.machine import Machine
    from kernelprof.analysis.metrics.parallelism import Parallelism
    from kernelprof.analysis.metrics.reported import Reported
    from kernelprof.analysis.metrics.waiting import Waiting
    from kernelprof.analysis.metrics.waste import Waste
    from kernelprof.model.capture import Origin


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number that a rule compares with: its unit and where it comes from."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Docs:
    """A rule's page: what it detects, why that matters, and when it is wrong."""

    detects: str
    matters: str
    example: str
    fixes: tuple[str, ...]
    wrong_when: str
    references: tuple[str, ...]


class Scene:
    """All that a rule may look at, for all launches of a capture."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    @cached_property
    def reported(self) -> Reported:
        from kernelprof.analysis.metrics.reported import Reported

        return Reported(self.facts)

    @cached_property
    def machine(self) -> Machine:
        from kernelprof.analysis.metrics.machine import Machine

        return Machine(self.facts, self.reported)

    @cached_property
    def parallelism(self) -> Parallelism:
        from kernelprof.analysis.metrics.parallelism import Parallelism

        return Parallelism(self.facts, self.machine)

    @cached_property
    def waiting(self) -> Waiting:
        from kernelprof.analysis.metrics.waiting import Waiting

        return Waiting(self.facts, self.machine, self.waste, self.parallelism)

    @cached_property
    def waste(self) -> Waste:
        from kernelprof.analysis.metrics.waste import Waste

        return Waste(self.facts, self.reported)


@dataclass(frozen=True, slots=True)
class Shown:
    """A fact for the evidence: an interval in its display unit, and what it is compared with."""

    metric: str
    label: str
    value: Interval
    unit: str
    op: str = "="
    threshold: float | None = None
    source: Origin | None = None


@dataclass(frozen=True)
class Finding:
    """What a rule says about every launch.

    ``gain`` is the factor of run time that removing this bottleneck brings at most; 1 where it is
    not there. ``saturation`` is given by rules about a unit whose work may all be needed: where
    such a rule wins with its unit near the ceiling the verdict is ``at-limit``.
    """

    gain: Interval
    evidence: tuple[Shown, ...] = ()
    saturation: Interval | None = None
    gain_reason: str = ""


@dataclass(frozen=True)
class Rule:
    """One bottleneck. ``order`` settles exact ties: the lower one is named first."""

    slug: str
    title: str
    order: int
    docs: Docs
    requires: tuple[str, ...]
    uses: tuple[str, ...]
    evaluate: Callable[[Scene], Finding]
    thresholds: tuple[Threshold, ...] = ()
    detail: Callable[[Scene, int], str | None] | None = field(default=None)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Every canonical metric that the rule may look at, the required ones first."""
        return tuple(dict.fromkeys((*self.requires, *self.uses)))

    def threshold(self, name: str) -> float:
        return next(t.value for t in self.thresholds if t.name == name)
