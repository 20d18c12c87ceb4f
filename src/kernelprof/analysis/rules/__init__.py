"""The bottlenecks, one file each, and what a rule is made of.

A rule is a file of this folder that defines ``RULE``: documentation, thresholds, the metrics it
wants, and one function. It is found by being there. The metrics that a capture asks for,
``kernelprof explain`` and the pages in ``reports/rules.md`` all derive from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.advice import Seen
from kernelprof.analysis.metrics.catalogue import preset

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelprof.analysis.advice import Advice
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.highest import Named
    from kernelprof.analysis.metrics.interval import Interval, Truth


class Place(StrEnum):
    """Where on the GPU a bottleneck is: a path of the memory, or what the SMs do."""

    DRAM = "device memory"
    L2 = "L2"
    L1 = "L1"
    SHARED = "shared memory"
    PIPES = "arithmetic"
    INSTRUCTIONS = "instructions"
    WAITING = "waiting"
    """No unit is near its limit: too little is under way at once."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number that a rule compares with: its unit and where it comes from."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Docs:
    """A rule's page: what it detects, why that matters, what to do, and when it is wrong.

    ``fixes`` is for who can change the kernel. ``caller`` is for who calls that of a library, which
    :data:`~kernelprof.analysis.advice.lines.CALLER` has more lines for.
    """

    detects: str
    matters: str
    example: str
    fixes: tuple[Advice, ...]
    wrong_when: str
    references: tuple[str, ...]
    caller: tuple[Advice, ...] = ()


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict in one sentence for people who have never seen a profiler.

    ``numbered`` has a number of the evidence in place of ``{x}``, that of the fact ``metric`` in
    this ``unit``; ``plain`` does without. ``at_limit`` begins the sentence for a unit that does
    needed work as fast as it can. Where the number is ``compared``, it is given only where a fact
    is past its threshold.
    """

    plain: str
    numbered: str = ""
    metric: str = ""
    unit: str = "%"
    at_limit: str = ""
    compared: bool = False


class RuleContext:
    """All that a rule may look at, for all launches of a capture."""

    def __init__(self, facts: Facts) -> None:
        # These need numpy, which listing and explaining rules do without.
        from kernelprof.analysis.metrics.gains import Gains, Waiting
        from kernelprof.analysis.metrics.machine import Machine
        from kernelprof.analysis.metrics.pipelines import Pipeline
        from kernelprof.analysis.metrics.reported import Reported
        from kernelprof.analysis.metrics.waste import Waste

        self.facts = facts
        reported = Reported(facts)
        self.machine = Machine(facts, reported)
        self.waste = Waste(facts, reported)
        self.waiting = Waiting(facts, self.machine, self.waste)
        self.pipeline = Pipeline(facts, self.machine)
        self.gains = Gains(facts, self.machine, self.pipeline)

    def seen(self, row: int) -> Seen:
        """One launch, for the conditions of advice."""
        return Seen(self.facts, self.machine, self.pipeline, row)


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """A fact for the evidence: an interval in its display unit, and what it is compared with.

    Without a ``formula`` it is the value of its ``metric`` (of one for each launch, where they
    differ); with one it is worked out from that and others.
    """

    metric: str | Named
    label: str | Named
    value: Interval
    unit: str
    op: str = "="
    threshold: float | None = None
    formula: str = ""


@dataclass(frozen=True)
class Finding:
    """What a rule says about every launch.

    ``gain`` is the factor of run time that removing this bottleneck brings at most; 1 where it is
    not there. ``saturation`` is given by rules about a unit whose work may all be needed: where
    such a rule wins with its unit near the ceiling the verdict is ``at-limit``.
    """

    gain: Interval
    evidence: tuple[EvidenceItem, ...] = ()
    saturation: Interval | None = None
    gain_reason: str = ""
    overrules: Truth | None = None
    """Where this is so for certain, no other rule counts."""
    promise: Interval | None = None
    """What is said of the gain where it is less than what rules are compared by."""


@dataclass(frozen=True)
class Rule:
    """One bottleneck. ``order`` settles exact ties: the lower one is named first.

    A capture without one of the metrics that a rule ``requires`` lowers the confidence in it. What
    else it looks at is found out by running it.
    ``detail`` adds a sentence about one launch.
    """

    slug: str
    title: str
    order: int
    place: Place
    headline: Headline
    docs: Docs
    requires: tuple[str, ...]
    evaluate: Callable[[RuleContext], Finding]
    thresholds: tuple[Threshold, ...] = ()
    detail: Callable[[RuleContext, int], str | None] | None = None

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Every canonical metric that the rule may look at, those it requires first."""
        order = {metric.name: at for at, metric in enumerate(preset("triage").metrics)}
        others = sorted(self.reads(), key=lambda name: order.get(name, len(order)))
        return tuple(dict.fromkeys((*self.requires, *others)))

    def reads(self) -> tuple[str, ...]:
        """What the rule looks at, found out by running it on a launch without any metric."""
        from kernelprof.analysis.metrics.facts import Facts
        from kernelprof.model.capture import Capture, Launch

        facts = Facts(Capture((Launch("0", "kernel"),), {}))
        context = RuleContext(facts)
        self.evaluate(context)
        if self.detail is not None:
            self.detail(context, 0)
        return tuple(facts.read)


@cache
def registry() -> Mapping[str, Rule]:
    """All rules by slug, in the order that settles exact ties."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    rules: list[Rule] = [module.RULE for module in modules]
    return MappingProxyType({rule.slug: rule for rule in sorted(rules, key=lambda r: r.order)})


def percent(
    metric: str,
    label: str,
    fraction: Interval,
    op: str = "=",
    threshold: Threshold | float | None = None,
    *,
    formula: str = "",
) -> EvidenceItem:
    """A fraction of one, and the one that it is compared with, shown in percent."""
    limit = threshold.value if isinstance(threshold, Threshold) else threshold
    shown = None if limit is None else limit * 100
    return EvidenceItem(metric, label, fraction * 100.0, "%", op, shown, formula)


PARTS: Final = {
    "dram_throughput": "device memory",
    "l1_throughput": "L1 and shared memory",
    "l1_throughput_active": "L1 and shared memory",
    "issue_slots": "issue slots",
    "issue_slots_active": "issue slots",
    "sm_throughput": "a part of the SM",
    "memory_throughput": "a part of the memory system",
    "alu_pipe": "the integer and logic pipe",
    "fma_pipe": "the FP32 pipe",
    "fma_heavy_pipe": "the half of the FP32 pipe that multiplies integers",
    "fp64_pipe": "the FP64 pipe",
    "xu_pipe": "the special-function pipe",
    "tensor_pipe": "the tensor cores",
    "l2_throughput": "L2",
    "l2_tag_requests": "L2 tags",
    "l2_sectors": "L2 sectors",
    "l2_data": "L2 data",
    "l2_to_sm": "L2 link to the SMs",
    "sm_to_l2": "L2 link from the SMs",
}
"""What people call the part of the GPU whose utilization a metric is."""


def busiest_unit(context: RuleContext) -> EvidenceItem:
    """The unit that is nearest to its limit, by its own metric."""
    names, values = context.machine.busiest_unit
    labels = names.called(lambda each: f"busiest unit: {PARTS.get(each, each)}")
    return EvidenceItem(names, labels, values, "%")


def l2_stage(
    context: RuleContext, op: str = "=", threshold: Threshold | None = None
) -> EvidenceItem:
    """The stage of L2 that is busiest: tags, data or a link to the SMs, by its own metric."""
    names, values = context.machine.busiest_l2_stage
    limit = None if threshold is None else threshold.value * 100
    labels = names.called(
        lambda each: (
            "L2 throughput"
            if each == "l2_throughput"
            else f"busiest stage of L2: {PARTS.get(each, each).removeprefix('L2 ')}"
        )
    )
    return EvidenceItem(names, labels, values, "%", op, limit)


def near_limit(seen: str) -> Threshold:
    """The saturation from which a rule names its unit; ``seen`` is what captures show there."""
    return Threshold(
        "saturation",
        0.70,
        "share of the practical ceiling",
        "Nsight Compute 2025.3, rule SOLBottleneck: below 60 % of peak latency-bound, above 80 % "
        f"bound by the unit; {seen}",
    )


def pipe_finding(
    context: RuleContext,
    saturation: Interval,
    full: Truth,
    others: Interval,
    *evidence: EvidenceItem,
    beside: str = "that pipe",
) -> Finding:
    """An arithmetic pipe as the limit: the gain is that of the busiest unit other than it.

    Where warps are not full, the instructions that fill a pipe are not all needed.
    """
    gain = context.gains.by_relief(others).where(full & context.waste.full_warps, 1.0)
    return Finding(gain, evidence, saturation, f"the busiest unit other than {beside}")


def pipe_rule(
    slug: str,
    title: str,
    order: int,
    headline: Headline,
    docs: Docs,
    *,
    pipe: str,
    label: str,
    limit: Threshold,
) -> Rule:
    """The rule of an arithmetic pipe that has no other limit than its own utilization."""

    def evaluate(context: RuleContext) -> Finding:
        machine = context.machine
        return pipe_finding(
            context,
            machine.saturations[pipe],
            machine.is_near_limit(pipe),
            machine.others("sm", pipe),
            percent(pipe, label, machine.pipe(pipe), ">", limit),
            percent("issue_slots", "issue slots used", machine.issue),
            EvidenceItem(
                "memory_throughput",
                "memory throughput",
                context.facts.metric("memory_throughput"),
                "%",
            ),
        )

    return Rule(
        slug=slug,
        title=title,
        order=order,
        place=Place.PIPES,
        headline=headline,
        docs=docs,
        requires=(pipe,),
        thresholds=(limit,),
        evaluate=evaluate,
    )
