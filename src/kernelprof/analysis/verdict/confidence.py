"""How sure a verdict is: from its margin and from how complete its evidence is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.analysis.metrics.catalogue import chip_of
from kernelprof.analysis.metrics.groups import FALLBACKS
from kernelprof.analysis.metrics.machine import NEAR_LIMIT
from kernelprof.analysis.verdict.choose import AT_LIMIT
from kernelprof.model.capture import Origin
from kernelprof.model.diagnosis import Confidence

if TYPE_CHECKING:
    from kernelprof.analysis.rules import Rule, Scene
    from kernelprof.analysis.verdict.choose import Choice

SHORT_LAUNCH_NS = 10_000.0
"""Below this a launch is a few thousand cycles: timers tick in 32 ns, and every pass of a replay
starts cold, so that counters of different passes do not belong to the same run."""

CLEAR_MARGIN = 1.25
"""Ratio of the first gain to the second from which the order does not hang on the estimates."""


CLEAR_LATENCY_GAIN = 2.0
"""Gain from which one cause of waiting stands out. In ``tests/captures/validation`` the launches
without a busy unit that were called something else than expected were all estimated below 1.7x."""


NARROW = 1.05
"""Ratio of the most to the least that a gain can be, whatever the missing metrics hold, up to which
their absence changes nothing that is said."""


@dataclass(frozen=True, slots=True)
class Grade:
    """A confidence and the reasons that it is not higher."""

    confidence: Confidence
    reasons: tuple[str, ...]


def grade(scene: Scene, choice: Choice, rule: Rule, row: int) -> Grade:
    """Grade the decided verdict of one launch.

    Each weakness takes a step off ``high``; two or more end at ``low``.
    """
    facts = scene.facts
    reasons: list[str] = []
    capability = facts.capture.launches[row].compute_capability
    absent = [
        name
        for name in rule.metrics
        if name not in FALLBACKS
        and not facts.has(name)[row]
        and facts.metric_exists(name, capability)
    ]
    winner = choice.winner[row]
    open_ = choice.high[winner, row] > choice.low[winner, row] * NARROW
    required = any(name in absent for name in rule.requires)
    if absent and (open_ or required):
        reasons.append(f"{len(absent)} of the rule's metrics are not in the capture")
    if required:
        reasons.append("one that the rule is built on is among them")
    if any(facts.source(name, row) is Origin.REPORTED for name in rule.requires):
        reasons.append("part of the evidence is read from a sentence of Nsight Compute's rules")
    duration = facts.values("duration")[row]
    if not facts.has("duration")[row]:
        reasons.append("the capture has no duration")
    elif duration < SHORT_LAUNCH_NS:
        reasons.append("the launch is shorter than 10 us, where counters are coarse")
    if chip_of(capability) is None:
        reasons.append("the GPU's architecture is not one that the thresholds were tried on")
    if any(doubt.rows[row] and doubt.metric in rule.metrics for doubt in facts.doubts):
        reasons.append("a metric that the rule uses had a value that cannot be")
    if not choice.at_limit[row]:
        reasons += _margin(scene, choice, row)
    steps = (Confidence.HIGH, Confidence.MEDIUM, Confidence.LOW)
    return Grade(steps[min(len(reasons), 2)], tuple(reasons))


def _margin(scene: Scene, choice: Choice, row: int) -> list[str]:
    first = choice.low[choice.winner[row], row]
    others = sorted(
        (choice.high[r, row], choice.rules[r])
        for r in range(len(choice.rules))
        if r != choice.winner[row]
    )
    second, name = others[-1]
    near = choice.runners_up(row)
    if near:
        return [f"{choice.rules[near[0]]} is within the uncertainty of the estimate"]
    if second * CLEAR_MARGIN > first:
        return [f"{name} is not far behind"]
    top = scene.machine.top.low[row]
    if top < NEAR_LIMIT and first < CLEAR_LATENCY_GAIN:
        return ["no unit is near its limit, and several causes together would give such a gain"]
    if NEAR_LIMIT <= top < AT_LIMIT:
        return ["the busiest unit is neither clearly full nor clearly idle"]
    return []
