"""The whole way from a capture to a diagnosis; pure, and for all launches at once."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.metrics.facts import Facts
from kernelprof.model.capture import Source
from kernelprof.model.diagnosis import (
    Candidate,
    Confidence,
    Diagnosis,
    Evidence,
    KernelDiagnosis,
    Status,
    Verdict,
)
from kernelprof.rules import Finding, Scene, registry
from kernelprof.verdict.choose import LEAST_GAIN, Choice, choose
from kernelprof.verdict.confidence import grade
from kernelprof.verdict.group import Group, group_launches
from kernelprof.verdict.needed import Needs
from kernelprof.verdict.settle import absent_metrics, deciding_metrics, settling_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import MissingMetric

LARGEST_GAIN = 100.0
"""Estimates beyond this say no more than "far from any limit"."""


COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


def diagnose(capture: Capture, *, preset: str | None = None) -> Diagnosis:
    """Judge every launch of a capture.

    ``preset`` names the metric set that the commands for what is missing collect; without one they
    collect just what is missing.
    """
    case = _Case.of(capture, preset)
    facts = case.scene.facts
    groups = group_launches(capture, case.choice, facts.values("duration"))
    return Diagnosis(
        kernels=tuple(_entry(case, group) for group in groups),
        origin=capture.origin,
        preset=preset,
        warnings=(*capture.warnings, *_doubts(facts)),
    )


@dataclass(frozen=True)
class _Case:
    """A capture with what every rule says about it, and what won where."""

    scene: Scene
    findings: Mapping[str, Finding]
    choice: Choice
    needs: Needs
    preset: str | None

    @classmethod
    def of(cls, capture: Capture, preset: str | None) -> _Case:
        scene = Scene(Facts(capture))
        findings = {slug: rule.evaluate(scene) for slug, rule in registry().items()}
        unexplained = scene.machine.limited_by_something_else
        choice = choose(findings, unexplained, scene.facts.substituted)
        return cls(scene, findings, choice, Needs(scene.facts), preset)

    def command(self, group: Group, missing: Sequence[MissingMetric]) -> str | None:
        """The command that collects what is missing; none where nothing is."""
        if not missing:
            return None
        return settling_command(self.scene.facts.capture, group.rows, missing, self.preset)


def _entry(case: _Case, group: Group) -> KernelDiagnosis:
    capture = case.scene.facts.capture
    row = group.representative
    launch = capture.launches[row]
    decided = bool(case.choice.decided[row])
    return KernelDiagnosis(
        rows=group.rows,
        ids=tuple(capture.launches[r].id for r in group.rows),
        name=launch.kernel,
        grid=launch.grid,
        block=launch.block,
        device=_device(capture, row),
        compute_capability=launch.compute_capability,
        duration_ns=group.duration,
        share=group.share,
        verdict=_decided(case, group) if decided else _inconclusive(case, group),
    )


def _decided(case: _Case, group: Group) -> Verdict:
    scene, choice, row = case.scene, case.choice, group.representative
    rule = registry()[choice.rules[choice.winner[row]]]
    finding = case.findings[rule.slug]
    gain = float(np.median(finding.gain.low[list(group.rows)]))
    full = bool(choice.at_limit[row]) or gain < LEAST_GAIN
    graded = grade(scene, choice, rule, row)
    high = graded.confidence is Confidence.HIGH
    missing = () if high else absent_metrics(scene.facts, row, rule.slug)
    notes = list(graded.reasons)
    if group.mixed:
        notes.append("launches of this kernel with the same grid and block differ: see the others")
    detail = rule.detail(scene, row) if rule.detail else None
    return Verdict(
        status=Status.AT_LIMIT if full else Status.BOTTLENECK,
        bottleneck=rule.slug,
        confidence=graded.confidence,
        gain=None if full else min(gain, LARGEST_GAIN),
        gain_reason="" if full else finding.gain_reason,
        also=_candidates(choice, [] if full else choice.runners_up(row), row),
        evidence=_evidence(scene, finding, row),
        why=" ".join(part for part in (rule.docs.detects, detail) if part),
        advice=rule.docs.fixes,
        notes=tuple(notes),
        missing=missing,
        command=case.command(group, missing),
    )


def _inconclusive(case: _Case, group: Group) -> Verdict:
    scene, choice, row = case.scene, case.choice, group.representative
    candidates = choice.candidates(row)
    slugs = [choice.rules[r] for r in candidates]
    missing = deciding_metrics(scene.facts, case.needs, row, slugs)
    known = [item for slug in slugs[:3] for item in _evidence(scene, case.findings[slug], row)]
    full_set = settling_command(scene.facts.capture, group.rows, missing, "full")
    return Verdict(
        status=Status.INCONCLUSIVE,
        bottleneck=None,
        confidence=Confidence.LOW,
        also=_candidates(choice, candidates, row),
        evidence=tuple(dict.fromkeys(known)),
        why=_why_open(slugs, bool(missing), bool(choice.unexplained[row])),
        missing=missing,
        command=case.command(group, missing) or full_set,
    )


def _why_open(slugs: list[str], missing: bool, unexplained: bool) -> str:
    if unexplained:
        return (
            "The SM's busiest part is near its limit, and it is none that the rules follow: "
            "look at the constant cache (idc__request_cycles_active), the unit for barriers and "
            "indirect branches (pipe ADU), and the uniform datapath."
        )
    if not slugs:
        return "Every counter is there, and none of them shows anything that costs notable time."
    names = ", ".join(slugs[:4]) + (f" and {len(slugs) - 4} more" if len(slugs) > 4 else "")
    if not missing:
        return f"The capture's own values contradict each other; it could be {names}."
    return f"What the capture has leaves open whether it is {names}."


def _candidates(choice: Choice, rows: list[int], launch: int) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            choice.rules[r],
            float(choice.low[r, launch]),
            float(min(choice.high[r, launch], LARGEST_GAIN)),
        )
        for r in rows
    )


def _evidence(scene: Scene, finding: Finding, row: int) -> tuple[Evidence, ...]:
    """The facts that are known, each with its threshold where it is past it.

    An interval that is not a number is no evidence, and a comparison that does not hold supports
    nothing: another fact decided then.
    """
    known = []
    for shown in finding.evidence:
        value = float(shown.value.low[row])
        if not shown.value.known[row] or not np.isfinite(value):
            continue
        holds = shown.threshold is not None and COMPARE[shown.op](value, shown.threshold)
        known.append(
            Evidence(
                metric=shown.metric,
                label=shown.label,
                value=value,
                unit=shown.unit,
                op=shown.op if holds else "=",
                threshold=shown.threshold if holds else None,
                source=shown.source or _source(scene.facts, shown.metric, row),
            )
        )
    return tuple(known)


def _source(facts: Facts, metric: str, row: int) -> Source:
    return facts.source(metric, row) if facts.has(metric)[row] else Source.DERIVED


def _device(capture: Capture, row: int) -> str | None:
    names = capture.text.get("device__attribute_display_name")
    return names[row] if names is not None else None


def _doubts(facts: Facts) -> list[str]:
    """Impossible values of metrics that a verdict can hang on; others are nobody's concern."""
    decisive = {name for rule in registry().values() for name in rule.requires}
    return [
        f"{doubt.metric}: {doubt.reason}; the value is treated as missing in "
        f"{int(doubt.rows.sum())} of {facts.count} launches"
        for doubt in facts.doubts
        if doubt.metric in decisive
    ]
