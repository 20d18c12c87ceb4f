"""Every rule evaluated over a capture, and what won where; before anything is put into words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelprof.metrics.facts import Facts
from kernelprof.model.diagnosis import Status
from kernelprof.rules import Scene, registry
from kernelprof.verdict.choose import LEAST_GAIN, Choice, choose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelprof.model.capture import Capture
    from kernelprof.rules import Finding, Rule


@dataclass(frozen=True)
class Judgement:
    """What each rule says about each launch of a capture, and which rule wins it."""

    scene: Scene
    findings: Mapping[str, Finding]
    choice: Choice

    def status(self, row: int) -> Status:
        """The kind of answer for one launch."""
        choice = self.choice
        if not choice.decided[row]:
            return Status.INCONCLUSIVE
        worthwhile = choice.low[choice.winner[row], row] >= LEAST_GAIN
        if choice.at_limit[row] or not worthwhile:
            return Status.AT_LIMIT
        return Status.BOTTLENECK

    def rule(self, row: int) -> Rule:
        """The rule with the largest gain in one launch."""
        return registry()[self.choice.rules[self.choice.winner[row]]]


def judge(capture: Capture) -> Judgement:
    """Evaluate all rules over all launches and compare their gains."""
    scene = Scene(Facts(capture))
    findings = {slug: rule.evaluate(scene) for slug, rule in registry().items()}
    unexplained = scene.machine.limited_by_something_else
    return Judgement(scene, findings, choose(findings, unexplained, scene.facts.substituted))
