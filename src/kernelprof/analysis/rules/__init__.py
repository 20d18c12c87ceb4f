"""The bottlenecks, one file each, and what a rule is made of.

A rule is a file of this folder that defines ``RULE``: documentation, thresholds, the metrics it
wants, and one function. It is found by being there. The metrics that a capture asks for,
``kernelprof explain`` and the pages in ``reports/rules.md`` all derive from it. It applies to a
launch where its gain is above 1; one whose gain may equal another's lowers that one's confidence.
CONTRIBUTING.md lists the steps, with the tests that a new rule needs.

What a rule for a new unit of the GPU touches beside its file: the unit's metric in
``metrics/groups.py`` (``UTILIZATIONS``, ``SM_PIPES`` for a pipe of the SM) if rules are to weigh
it, its name in :data:`PARTS`, ``UnitUtilization.limited_by_unnamed_unit`` in ``metrics/units.py``,
``BLAMED`` in ``stalls/blame.py`` if it has source lines, and ``SHOWN_ONLY`` in
``metrics/catalogue.py`` if the metric was only shown so far. Captures without the metric keep their
verdicts where the rule looks at ``low_only()`` of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.advice import LaunchValues
from kernelprof.analysis.metrics.catalogue import load_metrics, preset
from kernelprof.analysis.metrics.groups import NEAR_LIMIT, SM_PIPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kernelprof.analysis.advice import Advice
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.analysis.metrics.interval import FloatArray, Interval, Truth
    from kernelprof.analysis.metrics.units import NamePerLaunch

    Factor = FloatArray | float


class Subsystem(StrEnum):
    """Where on the GPU a bottleneck is: a path of the memory, or what the SMs do."""

    DRAM = "device memory"
    L2 = "L2"
    L1 = "L1"
    SHARED = "shared memory"
    PIPES = "arithmetic"
    INSTRUCTIONS = "instructions"
    WAITING = "waiting"
    """No unit is near its limit: too little work is in flight."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number that a rule compares with: its unit and where it comes from."""

    name: str
    value: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class Headline:
    """The verdict in one sentence.

    ``numbered`` has a number of the evidence in place of ``{x}``: the value of ``metric`` in this
    ``unit``; ``plain`` has none. ``at_limit`` is the sentence for a unit that does needed work at
    its practical peak. A number that is ``compared`` appears only if a fact is past its threshold.
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
        # These need numpy, which listing rules does without.
        from kernelprof.analysis.metrics.gains import Gains, MemoryWaits
        from kernelprof.analysis.metrics.pipelines import TensorPipeline
        from kernelprof.analysis.metrics.shipped_rules import ShippedRules
        from kernelprof.analysis.metrics.units import UnitUtilization
        from kernelprof.analysis.metrics.waste import Waste

        self.facts = facts
        shipped = ShippedRules(facts)
        self.units = UnitUtilization(facts, shipped)
        self.waste = Waste(facts, shipped)
        self.waits = MemoryWaits(facts, self.units, self.waste)
        self.pipeline = TensorPipeline(facts, self.units)
        self.gains = Gains(facts, self.units, self.pipeline)

    def launch(self, row: int) -> LaunchValues:
        """Return one launch, for the conditions of advice."""
        return LaunchValues(self.facts, self.units, self.pipeline, row)


@dataclass(frozen=True, slots=True)
class EvidenceItem:
    """A fact for the evidence: an interval in its display unit, and what it is compared with.

    Without a ``formula`` it is the value of its ``metric`` (of one for each launch, where they
    differ); with one it is computed from that and others. ``phrase`` words the fact in a sentence:
    ``{x}`` is the value with its unit, ``{n}`` the number alone. By default it is label and value.
    """

    metric: str | NamePerLaunch
    label: str | NamePerLaunch
    value: Interval
    unit: str
    op: str = "="
    threshold: float | None = None
    formula: str = ""
    phrase: str = ""


@dataclass(frozen=True)
class Effect:
    """What the fix of a bottleneck leaves of a launch: factors, by launch or one for all.

    ``units`` are the work of units (names of :data:`kernelprof.analysis.verdict.projection.UNITS`),
    ``counters`` are other metrics. ``waits`` are the warp states that go away first. ``active`` is
    how much longer SMs have work in the shorter launch, ``warps`` how many more warps they hold.
    """

    units: Mapping[str, Factor] = field(default_factory=dict)
    counters: Mapping[str, Factor] = field(default_factory=dict)
    waits: tuple[str, ...] = ()
    instructions: Factor = 1.0
    warps: Factor = 1.0
    active: Factor = 1.0


@dataclass(frozen=True)
class RuleFinding:
    """The result of one rule for every launch.

    ``gain`` is the factor of run time that removing this bottleneck brings at most; 1 where it is
    not there. ``saturation`` is given by rules about a unit whose work may all be needed: where
    such a rule wins with its unit near the ceiling the verdict is ``at-limit``.
    """

    gain: Interval
    evidence: Callable[[], tuple[EvidenceItem, ...]] = tuple
    saturation: Interval | None = None
    gain_reason: str = ""
    overrules: Truth | None = None
    """Launches in which this rule wins whatever the others find (a debug build)."""
    promise: Interval | None = None
    """The gain to print where it is less than the one that rules are compared by."""
    effect: Callable[[FloatArray], Effect] = field(default=lambda _: Effect())
    """What a fix leaves that makes the launch faster by these factors."""

    @cached_property
    def evidence_items(self) -> tuple[EvidenceItem, ...]:
        """The evidence, computed for launches whose verdict shows it."""
        return self.evidence()


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One bottleneck. ``order`` settles exact ties: the lower one is named first.

    From ``detects`` to ``references`` it is the rule's page: what it finds, why that matters, what
    to do, and when it is wrong. ``fixes`` are for who can change the kernel, ``caller`` for who
    calls that of a library, which :data:`~kernelprof.analysis.advice.lines.CALLER` has more for.
    A capture without one of the metrics that a rule ``requires`` lowers the confidence in it. What
    else it looks at is found out by running it. ``detail`` adds a sentence about one launch.
    """

    slug: str
    title: str
    order: int
    subsystem: Subsystem
    headline: Headline
    detects: str
    matters: str
    example: str
    fixes: tuple[Advice, ...]
    wrong_when: str
    references: tuple[str, ...]
    caller: tuple[Advice, ...] = ()
    requires: tuple[str, ...]
    thresholds: tuple[Threshold, ...] = ()
    evaluate: Callable[[RuleContext], RuleFinding]
    detail: Callable[[RuleContext, int], str | None] | None = None

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """Every canonical metric that the rule may look at, those it requires first."""
        order = {metric.name: at for at, metric in enumerate(preset("triage").metrics)}
        others = sorted(self.reads(), key=lambda name: order.get(name, len(order)))
        return tuple(dict.fromkeys((*self.requires, *others)))

    def reads(self) -> tuple[str, ...]:
        """Return what the rule looks at, found out by running it on a launch without any metric."""
        context = _empty_context()
        context.facts.read = {}
        self.evaluate(context).evidence()
        if self.detail is not None:
            self.detail(context, 0)
        return tuple(context.facts.read)


@cache
def _empty_context() -> RuleContext:
    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.model.capture import Capture, Launch

    return RuleContext(Facts(Capture((Launch("0", "kernel"),), {})))


@cache
def load_rules() -> Mapping[str, Rule]:
    """Return all rules by slug, in the order that settles exact ties."""
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
    phrase: str = "",
) -> EvidenceItem:
    """Return a fraction of one, and the one that it is compared with, in percent."""
    limit = threshold.value if isinstance(threshold, Threshold) else threshold
    shown = None if limit is None else limit * 100
    return EvidenceItem(metric, label, fraction * 100.0, "%", op, shown, formula, phrase)


def measured(
    context: RuleContext,
    metric: str,
    label: str,
    op: str = "=",
    threshold: float | None = None,
    *,
    phrase: str = "",
) -> EvidenceItem:
    """Return the value of a metric in the capture."""
    unit = "wave" if metric == "waves_per_sm" else load_metrics()[metric].unit
    value = context.facts[metric]
    return EvidenceItem(metric, label, value, unit, op, threshold, phrase=phrase)


def issue_slots(
    context: RuleContext, op: str = "=", threshold: Threshold | None = None
) -> EvidenceItem:
    """Return the share of issue slots that are used."""
    return percent(
        "issue_slots",
        "issue slots used",
        context.units.issue,
        op,
        threshold,
        phrase="{x} of issue slots used",
    )


def dram_utilization(
    context: RuleContext, op: str = "=", threshold: Threshold | None = None
) -> EvidenceItem:
    """Return the utilization of device memory."""
    return percent("dram_throughput", "DRAM throughput", context.units.dram, op, threshold)


def l1_utilization(
    context: RuleContext, op: str = "=", threshold: Threshold | None = None
) -> EvidenceItem:
    """Return the utilization of L1."""
    return percent("l1_throughput", "L1 throughput", context.units.l1, op, threshold)


PARTS: Final = {
    "dram_throughput": "DRAM",
    "l1_throughput": "L1 and shared memory",
    "l1_throughput_active": "L1 and shared memory",
    "issue_slots": "issue slots",
    "issue_slots_active": "issue slots",
    "sm_throughput": "SM",
    "memory_throughput": "memory system",
    "alu_pipe": "ALU pipe",
    "fma_pipe": "FMA pipe",
    "fma_heavy_pipe": "FMA heavy pipe",
    "fp64_pipe": "FP64 pipe",
    "xu_pipe": "XU pipe",
    "tensor_pipe": "tensor cores",
    "l2_throughput": "L2",
    "l2_tag_requests": "L2 tags",
    "l2_sectors": "L2 sectors",
    "l2_data": "L2 data",
    "l2_to_sm": "L2 link to the SMs",
    "sm_to_l2": "L2 link from the SMs",
}
"""The part of the GPU whose utilization a metric is, as printed."""


def busiest_unit(context: RuleContext) -> EvidenceItem:
    """Return the unit that is nearest to its limit, by its own metric."""
    names, values = context.units.busiest_unit
    labels = names.called(lambda each: f"busiest unit ({PARTS.get(each, each)})")
    return EvidenceItem(names, labels, values, "%")


def l2_stage(
    context: RuleContext, op: str = "=", threshold: Threshold | None = None
) -> EvidenceItem:
    """Return the busiest stage of L2: tags, data or a link to the SMs, by its own metric."""
    names, values = context.units.busiest_l2_stage
    limit = None if threshold is None else threshold.value * 100
    labels = names.called(
        lambda each: (
            "L2 throughput"
            if each == "l2_throughput"
            else f"busiest L2 stage ({PARTS.get(each, each).removeprefix('L2 ')})"
        )
    )
    return EvidenceItem(names, labels, values, "%", op, limit)


def near_limit(seen: str) -> Threshold:
    """Return the saturation from which a rule reports its unit; ``seen`` are measured captures."""
    return Threshold(
        "saturation",
        NEAR_LIMIT,
        "share of the practical ceiling",
        "Nsight Compute 2025.3, rule SOLBottleneck: a kernel is latency-bound if all units are "
        f"below 60 % of peak, and bound by any unit above 80 %; 70 % is midway; {seen}",
    )


def stall_finding(
    context: RuleContext,
    gain: Interval,
    stall: str,
    label: str,
    share: Interval,
    *,
    notable: Threshold,
    formula: str = "",
    waits: tuple[str, ...] = (),
) -> RuleFinding:
    """Return the finding of a stall that takes a share of warp time.

    ``label`` is what warps do then: "waiting at barriers". ``waits`` go away with it.
    """
    return RuleFinding(
        gain=gain,
        gain_reason="the warp time left without these stalls, and the busiest unit's headroom",
        effect=lambda _: Effect(waits=(stall, *waits)),
        evidence=lambda: (
            percent(
                f"stall_{stall}",
                f"warp time spent {label}",
                share,
                ">",
                notable,
                formula=formula or f"stall_{stall} / cycles per instruction",
                phrase=f"{{x}} of warp time spent {label}",
            ),
            issue_slots(context),
            busiest_unit(context),
        ),
    )


def pipe_finding(
    context: RuleContext,
    saturation: Interval,
    full: Truth,
    others: Interval,
    evidence: Callable[[], tuple[EvidenceItem, ...]],
    *,
    effect: Callable[[FloatArray], Effect],
    pipe: str = "this pipe",
    metric: str = "",
) -> RuleFinding:
    """Return an arithmetic pipe as the limit: the gain is that of the busiest unit other than it.

    Where warps are not full, or divide integers, the instructions that fill a pipe are not all
    needed; ``metric`` is its canonical name where it has needless instructions of its own.
    """
    gain = context.gains.by_relief(others).where(full & context.waste.full_warps, 1.0)
    return RuleFinding(
        gain,
        evidence,
        saturation.where(~context.units.does_needless_work(metric), 0.0),
        f"the utilization of the busiest unit other than {pipe}",
        effect=effect,
    )


def less_work(*waits: str, unit: str) -> Callable[[FloatArray], Effect]:
    """Return the effect of so much less work of a unit that the launch gets faster by its gain."""
    return lambda gain: Effect(units={unit: 1.0 / gain}, waits=waits)


LEAST_LEFT: Final = 0.01
"""Part of the instructions that remains, at least, without divisions: their loads and stores."""


def fewer_integer_instructions(context: RuleContext, *waits: str) -> Callable[[FloatArray], Effect]:
    """Return the effect of fewer integer instructions, so many that launches gain as much.

    Divisions go where a launch divides integers. Other pipes keep their work.
    """
    import numpy as np

    units, divides = context.units, context.units.divides_integers

    def left(name: str, otherwise: FloatArray) -> FloatArray:
        before = (units.issue if name == "issue" else units.pipe(name)).middle
        share = 1.0 - units.by_division(name).middle / np.maximum(before, 1e-9)
        return np.where(divides, np.clip(share, LEAST_LEFT, 1.0), otherwise)

    def effect(gain: FloatArray) -> Effect:
        heavy = left("fma_heavy_pipe", 1.0 / gain)
        half, both = units.pipe("fma_heavy_pipe").middle / 2.0, units.pipe("fma_pipe").middle
        remaining: dict[str, Factor] = {
            **dict.fromkeys((*SM_PIPES, "tensor"), 1.0),
            "alu_pipe": left("alu_pipe", 1.0 / gain),
            "fma_heavy_pipe": heavy,
            "fma_pipe": np.clip(1.0 - (1.0 - heavy) * half / np.maximum(both, 1e-9), 0.0, 1.0),
            "xu_pipe": np.where(divides, 0.0, 1.0),
        }
        return Effect(remaining, {}, waits, left("issue", 1.0 / gain))

    return effect


def pipe_evaluation(
    pipe: str, label: str, limit: Threshold
) -> Callable[[RuleContext], RuleFinding]:
    """Return the function of a pipe that has no other limit than its own utilization."""

    def evaluate(context: RuleContext) -> RuleFinding:
        units = context.units
        others = units.busiest_except("sm", pipe)
        if pipe == "xu_pipe":
            # Without the conversions the FP64 instructions between them go as well.
            others = units.busiest_except("sm", pipe, "fp64_pipe").where(
                units.converts_doubles, others
            )
        return pipe_finding(
            context,
            units.saturations[pipe],
            units.is_near_limit(pipe),
            others,
            lambda: (
                percent(pipe, label, units.pipe(pipe), ">", limit),
                issue_slots(context),
                measured(context, "memory_throughput", "memory throughput"),
            ),
            effect=less_work("math_pipe_throttle", "mio_throttle", unit=pipe),
            metric=pipe,
        )

    return evaluate
