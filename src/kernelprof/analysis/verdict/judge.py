"""Every rule evaluated over a capture, and what won where; before anything is put into words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.rules import RuleContext, registry
from kernelprof.analysis.verdict.choose import LEAST_GAIN, Choice, choose
from kernelprof.model.diagnosis import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from kernelprof.analysis.rules import Finding, Rule
    from kernelprof.model.capture import Capture

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]
    IntArray = npt.NDArray[np.intp]

BLOCK: Final = 14336
"""Launches that are judged together; their intermediate values take 110 MB."""


@dataclass(frozen=True)
class Judgement:
    """What each rule says about each launch of a capture, and which rule wins it."""

    context: RuleContext
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


@dataclass(frozen=True)
class Answers:
    """What came out of judging each launch: all of it that is kept for each of them.

    ``gain`` is the certain gain of the ``winner``, a rule's position; ``duration`` is in
    nanoseconds, NaN where it is missing. ``doubts`` counts the launches in which a metric had a
    value that cannot be, by the metric and what is wrong.
    """

    winner: IntArray
    decided: BoolArray
    at_limit: BoolArray
    gain: FloatArray
    duration: FloatArray
    doubts: Mapping[tuple[str, str], int]


def judge(capture: Capture) -> Judgement:
    """Evaluate all rules over all launches and compare their gains."""
    context = RuleContext(Facts(capture))
    findings = {slug: rule.evaluate(context) for slug, rule in registry().items()}
    unexplained = context.machine.limited_by_something_else
    return Judgement(context, findings, choose(findings, unexplained, context.facts.substituted))


def answer(capture: Capture, *, heard: Callable[[int], object] | None = None) -> Answers:
    """Judge every launch; ``heard`` is told how many were done since last time."""
    parts = []
    doubts: Counter[tuple[str, str]] = Counter()
    for start in range(0, len(capture), BLOCK):
        judged = judge(capture.part(start, start + BLOCK))
        parts.append(_answers(judged))
        for doubt in judged.context.facts.doubts:
            doubts[doubt.metric, doubt.reason] += int(doubt.rows.sum())
        if heard is not None:
            heard(len(parts[-1][0]))
    winner, decided, at_limit, gain, duration = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    return Answers(winner, decided, at_limit, gain, duration, dict(sorted(doubts.items())))


def _answers(
    judged: Judgement,
) -> tuple[IntArray, BoolArray, BoolArray, FloatArray, FloatArray]:
    choice = judged.choice
    gain = choice.low[choice.winner, np.arange(len(choice.winner))]
    duration = judged.context.facts.values("duration")
    return choice.winner, choice.decided, choice.at_limit, gain, duration
