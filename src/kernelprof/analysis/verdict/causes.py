"""Every cause that pays, in the order in which it pays, and what limits the kernel then.

The first is the verdict. After its fix the launch is projected (``projection``), the rules judge
what is left, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.advice.lines import TILED_ARITHMETIC
from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.rules import RuleContext, load_rules
from kernelprof.analysis.verdict.estimates import expected_gain
from kernelprof.analysis.verdict.projection import ProjectedFacts, project
from kernelprof.analysis.verdict.ranking import AT_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kernelprof.analysis.metrics.interval import BoolArray, FloatArray
    from kernelprof.analysis.rules import RuleFinding
    from kernelprof.model.capture import Capture

    Findings = Mapping[str, RuleFinding]

MOST: Final = 3
"""Causes that are named."""
LEAST_AFTER: Final[Mapping[str, float]] = {
    "uncoalesced-global-access": 1.2,
    "shared-bank-conflicts": 1.2,
    "local-memory-traffic": 1.2,
    "atomic-contention": 1.2,
    "warp-divergence": 1.2,
    "small-grid": 1.2,
    "workload-imbalance": 1.2,
    "low-occupancy": 1.2,
    "constant-cache": 1.2,
    "fp64-throughput": 1.2,
    "barrier-stalls": 1.2,
    "instruction-fetch": 1.2,
    "l1-throughput": 1.5,
    "shared-memory-throughput": 1.5,
    "sfu-throughput": 1.5,
    "memory-latency": 1.7,
    "dependency-latency": 1.7,
    "instruction-issue": 1.7,
}
"""Gain after the causes before it from which a rule names a further one; others name none.

Needless work is named sooner than waits and units that are full of work, which are what is left.
"""
LEAST_HIDDEN: Final = 1.2
"""The same for what is in ``HIDDEN``."""
DEBUG: Final = "debug-build"
NOTABLE_COST: Final = 1.05
"""Factor of run time from which a fix that takes L1 hits away is said to make a launch slower."""
FP64: Final = "fp64-throughput"
MIXED: Final = 0.1
"""Least part of the floating-point operations of either precision in a kernel that mixes both."""
DIVISION: Final = "integer-throughput"
FUNCTIONS: Final = "sfu-throughput"
FILLS: Final = frozenset(("small-grid", "workload-imbalance"))
"""Two names for SMs without work: a finer division of the work is the fix of both."""
HIDDEN: Final = frozenset((FP64, DIVISION, FUNCTIONS))
"""Needless work that shows as another bottleneck."""
UNEVEN: Final = frozenset(("small-grid", "workload-imbalance", "warp-divergence"))
"""Causes that leave every busy warp what it does: hidden work gains the same before their fixes."""
SHOWS_AS: Final = frozenset(("dependency-latency", "instruction-issue", FUNCTIONS))
"""Where FP64 beside FP32, integer division or special functions do not fill their own unit: their
latency, their steps and their conversions."""
AVOIDABLE: Final = frozenset((FP64, FUNCTIONS))
"""Units whose work is seldom needed where something else limits the kernel first."""
REUSES: Final = frozenset(("l1-throughput", "l2-bandwidth"))
WASTES: Final = frozenset(("uncoalesced-global-access", "local-memory-traffic"))
IN_EACH_THREAD: Final[Mapping[str, str]] = {
    "long_scoreboard": "memory-latency", "wait": "dependency-latency",
}  # fmt: skip
"""What warps wait for where blocks are few, and the rule whose fix has a thread do other work
meanwhile: it hides the same waiting as more blocks."""
TILED: Final = "shared-memory-throughput"
TILE: Final = 4
"""Results that the smallest register tile gives a thread: a quarter of the threads is left."""
SAME_TIME: Final = 1.25
"""Gain that the second of two alternatives brings after the first, at most."""


@dataclass(frozen=True, slots=True)
class ProjectedCause:
    """A cause of one launch: factors of run time, alone and after those before it."""

    slug: str
    alone: float
    after: float
    alternative_to: str | None = None
    worse_alone: bool = False


@dataclass(slots=True)
class LaunchCauses:
    """All causes of a launch, and the unit that is full after their fixes."""

    causes: list[ProjectedCause]
    next_limit: str | None = None

    @property
    def combined(self) -> float:
        """The gain of all fixes together."""
        return float(np.prod([each.after for each in self.causes]))


def list_causes(
    capture: Capture,
    verdicts: Sequence[tuple[str, float] | None],
    evaluated: tuple[RuleContext, Findings] | None = None,
) -> list[LaunchCauses]:
    """List the causes of launches, each with its verdict and the gain of its fix.

    A launch without one has none. ``evaluated`` are the rules on these launches, where known.
    """
    context, findings = evaluated or _evaluate(capture)
    alone = _gains(context.facts, findings)
    original = context
    hidden = _hidden_work(context)
    result = [LaunchCauses([]) for _ in verdicts]
    current = list(verdicts)
    for _ in range(MOST):
        for launch, each, row in zip(result, current, range(len(current)), strict=True):
            if each is not None:
                launch.causes.append(_cause(original, alone, launch.causes, each, row))
        if not any(current):
            break
        gain = np.array([1.0 if each is None else each[1] for each in current])
        slugs = [None if each is None else each[0] for each in current]
        effects = [
            (np.array([each == slug for each in slugs]), findings[slug].effect(gain))
            for slug in dict.fromkeys(slugs)
            if slug is not None
        ]
        after = project(context.facts, effects, gain)
        context, findings = _evaluate(after, projected=True)
        gains = _gains(context.facts, findings)
        limits = _limits(findings, len(result))
        # Where another cause took most of the time, such work was a small part of it before.
        hidden = {slug: rows | hidden[slug] for slug, rows in _hidden_work(context).items()}
        for row, launch in enumerate(result):
            if current[row] is not None:
                launch.next_limit = limits[row]
                current[row] = _next(launch, gains, row, [s for s in hidden if hidden[s][row]])
    for row, launch in enumerate(result):
        launch.causes.extend(_in_each_thread(original, launch.causes, row))
    return result


def _in_each_thread(
    context: RuleContext, causes: Sequence[ProjectedCause], row: int
) -> Iterator[ProjectedCause]:
    """The alternative to more blocks on SMs that have some: independent work in each thread.

    It ends one kind of waiting. Callers of a library cannot give a thread more work.
    """
    fill, pipeline = context.gains, context.pipeline
    if not 0 < len(causes) < MOST or causes[0].slug != "small-grid":
        return
    by_blocks = float(fill.by_more_blocks.low[row])
    elsewhere = (fill.by_covering_sms > 1.0) | (fill.by_longer_launch >= by_blocks)
    designed = pipeline.by_design | pipeline.is_fed_by_bulk_copies
    if elsewhere.maybe[row] or designed.maybe[row] or context.facts.of_library[row]:
        return
    of_warps = context.units.warps.stall_share
    shares = {
        # Atomics on one address wait for each other, whatever a thread does meanwhile.
        "long_scoreboard": of_warps("long_scoreboard") * (1.0 - context.waits.atomic_part),
        "wait": of_warps("wait"),
    }
    slugs = {each.slug for each in causes}
    for stall, slug in IN_EACH_THREAD.items():
        most = 1.0 / max(1.0 - float(shares[stall].low[row]), 1e-3)
        alone = min(by_blocks, causes[0].alone, most)
        if slug not in slugs and alone >= causes[0].alone / SAME_TIME:
            yield ProjectedCause(slug, alone, 1.0, alternative_to="small-grid")
            return


def _cause(
    context: RuleContext,
    alone: Mapping[str, FloatArray],
    before: Sequence[ProjectedCause],
    verdict: tuple[str, float],
    row: int,
) -> ProjectedCause:
    slug, after = verdict
    only_uneven = {each.slug for each in before} <= UNEVEN and slug in HIDDEN
    if not before or only_uneven:
        return ProjectedCause(slug, after, after)
    if slug in REUSES and before[0].slug in WASTES:
        # Data that is kept on the chip moves neither well nor badly.
        first = before[0]
        return ProjectedCause(slug, first.alone, min(after, SAME_TIME), alternative_to=first.slug)
    tiled = slug == TILED and context.units.arithmetic_share.low[row] >= TILED_ARITHMETIC
    if tiled and before[0].slug == "small-grid" and TILE / after >= NOTABLE_COST:
        # Fewer threads, of which there are too few, do the work of all (parcels-through-the-surest-
        # hub of cuda/factors: 0.39 of the speed alone, 1.8x after more blocks).
        return ProjectedCause(slug, after / TILE, after, worse_alone=True)
    cost = float(context.gains.latency_when_coalesced.low[row])
    if slug == "uncoalesced-global-access" and cost >= NOTABLE_COST:
        return ProjectedCause(slug, 1.0 / cost, after, worse_alone=True)
    return ProjectedCause(slug, float(alone[slug][row]), after)


def _next(
    launch: LaunchCauses, gains: Mapping[str, FloatArray], row: int, hidden: Iterable[str]
) -> tuple[str, float] | None:
    """The rule that brings most after the causes that are known, if it is worth a name.

    ``hidden`` are needless kinds of work that show in units and waits of others.
    """
    done = {each.slug for each in launch.causes}
    if done & FILLS:
        done |= FILLS
    if "instruction-issue" in done:  # its fix is that of the division, if there is one
        done.add(DIVISION)
    left = {slug: float(gain[row]) for slug, gain in gains.items() if slug not in done}
    slug = max(left, key=lambda each: left[each])
    gain = left[slug]
    for kind in hidden:
        if slug in {*SHOWS_AS, kind} and kind not in done:
            return (kind, gain) if gain >= LEAST_HIDDEN else None
    full = slug == launch.next_limit and slug not in AVOIDABLE
    return None if full or gain < LEAST_AFTER.get(slug, np.inf) else (slug, gain)


def _hidden_work(context: RuleContext) -> dict[str, BoolArray]:
    """Launches with each kind of needless work that shows as another bottleneck."""
    units = context.units
    conversions = (units.dividing | units.converts_doubles).maybe
    return {
        FP64: _mixes_precisions(context.facts),
        DIVISION: units.divides_integers,
        FUNCTIONS: units.mostly_computes_functions.sure & ~conversions,
    }


def _evaluate(capture: Capture, *, projected: bool = False) -> tuple[RuleContext, Findings]:
    context = RuleContext((ProjectedFacts if projected else Facts)(capture))
    # How the code was compiled shows in its own counters alone.
    rules = [each for each in load_rules().values() if not (projected and each.slug == DEBUG)]
    return context, {each.slug: each.evaluate(context) for each in rules}


def _gains(facts: Facts, findings: Findings) -> dict[str, FloatArray]:
    return {slug: expected_gain(facts, each) for slug, each in findings.items()}


def _limits(findings: Findings, count: int) -> list[str | None]:
    """The rule of each launch's fullest unit, if it does needed work at its limit."""
    full = {s: each.saturation.low for s, each in findings.items() if each.saturation is not None}
    slugs, rows = list(full), np.vstack(list(full.values()))
    at = rows.argmax(axis=0)
    return [slugs[at[row]] if rows[at[row], row] >= AT_LIMIT else None for row in range(count)]


def _mixes_precisions(facts: Facts) -> BoolArray:
    """Whether kernels compute in FP64 beside FP32."""
    double, single = (
        facts.sum_of(f"{kind}{name}_rate" for name in ("fma", "add", "mul")) for kind in "df"
    )
    both = double + single
    return ((double >= both * MIXED) & (single >= both * MIXED) & (double > 0.0)).sure
