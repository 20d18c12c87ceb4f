"""From a capture to a diagnosis; pure, and for all launches at once.

Every launch is judged on its own; those of one kernel with one launch configuration and one verdict
are then one entry. Averaging first would hide a launch that behaves differently.
"""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.advice.lines import advise
from kernelprof.analysis.findings import findings
from kernelprof.analysis.ncu_command import NextStep
from kernelprof.analysis.rules import Finding, RuleContext, registry
from kernelprof.analysis.verdict.cases import weighed
from kernelprof.analysis.verdict.estimate import estimates, interval
from kernelprof.analysis.verdict.grouping import Group, Outcomes, group_launches
from kernelprof.analysis.verdict.places import placed
from kernelprof.analysis.verdict.ranking import LEAST_GAIN, Judgement, Ranking, grade, judge
from kernelprof.model.capture import DEVICE_NAME, Launches, Origin
from kernelprof.model.diagnosis import (
    Candidate,
    Confidence,
    Diagnosis,
    Evidence,
    KernelDiagnosis,
    Status,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from kernelprof.analysis.metrics.facts import Doubt, Facts
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Finding as FoundValue

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]
    IntArray = npt.NDArray[np.intp]

BLOCK: Final = 14336
"""Launches that are judged together; their intermediate values take 110 MB."""

LARGEST_GAIN = 100.0
"""Estimates beyond this say no more than "far from any limit"."""

MOST_CANDIDATES = 4

NARROWED = "narrowed by what other metrics allow"
"""How a value came about that the capture does not have under the name of its row."""

COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


def diagnose(
    capture: Capture, *, preset: str | None = None, progress: Callable[[int], object] | None = None
) -> Diagnosis:
    """Judge every launch of a capture.

    ``preset`` names the metric set that the commands for what is missing collect; without one they
    collect just what is missing. ``progress`` is called with the number of launches judged
    since its last call.
    """
    launches = Launches.of(capture.launches)
    outcomes, judged = judge_launches(capture, progress=progress)
    groups = group_launches(launches, outcomes)
    # Evidence is for the few launches that stand for the others.
    rows = [group.representative for group in groups]
    if judged is None:
        judged, rows = judge(capture.rows(rows)), list(range(len(rows)))
    next_step = NextStep(judged.context.facts, preset, launches)
    ids = np.array(launches.ids, dtype=object)
    kernels = tuple(
        _kernel(judged, next_step, group, row, tuple(ids[list(group.rows)].tolist()))
        for row, group in zip(rows, groups, strict=True)
    )
    return Diagnosis(
        kernels=placed(kernels, capture.code) if capture.code else kernels,
        origin=capture.origin,
        preset=preset,
        warnings=(*capture.warnings, *_doubts(outcomes, len(capture))),
    )


def _kernel(
    judged: Judgement, next_step: NextStep, group: Group, row: int, ids: tuple[str, ...]
) -> KernelDiagnosis:
    """``row`` is that of the group's representative among the launches that were ``judged``."""
    capture = judged.context.facts.capture
    launch = capture.launches[row]
    said = _inconclusive if judged.status(row) is Status.INCONCLUSIVE else _decided
    verdict = said(judged, next_step, group, row)
    if verdict.missing and (tool := next_step.tool(row)):
        verdict = replace(verdict, notes=(*verdict.notes, tool))
    return KernelDiagnosis(
        rows=group.rows,
        ids=ids,
        name=launch.kernel,
        grid=launch.grid,
        block=launch.block,
        device=_device(capture, row),
        compute_capability=launch.compute_capability,
        duration_ns=group.duration,
        share=group.share,
        verdict=verdict,
    )


def _decided(judged: Judgement, next_step: NextStep, group: Group, row: int) -> Verdict:
    context, ranking = judged.context, judged.ranking
    rule = judged.rule(row)
    finding = judged.findings[rule.slug]
    gain: float | None = min(group.gain, LARGEST_GAIN)
    if ranking.overruled[row] or (row in ranking.reasons and group.gain < LEAST_GAIN):
        gain = None
    full = judged.status(row) is Status.AT_LIMIT
    graded = weighed(grade(context, ranking, rule, row), judged, row)
    high = graded.confidence is Confidence.HIGH
    # A prediction lacks no single metric: all of it is what measuring makes sure.
    predicted = bool(judged.cases)
    missing = () if high or predicted else next_step.absent(row, rule.slug)
    command = next_step.command(row, group.rows, missing)
    if predicted and not high:
        command = next_step.full_command(row, group.rows)
    notes = list(graded.reasons)
    if group.mixed:
        notes.append("launches of this kernel with the same grid and block differ: see the others")
    seen = context.seen(row)
    if seen.library is not None:
        notes.append(f"a kernel of {seen.library.name}: the advice is for who calls it")
    detail = rule.detail(context, row) if rule.detail else None
    return Verdict(
        status=Status.AT_LIMIT if full else Status.BOTTLENECK,
        bottleneck=rule.slug,
        confidence=graded.confidence,
        gain=None if full else gain,
        gain_interval=None if full or gain is None else interval(gain),
        gain_reason=finding.gain_reason,
        next_limit=gain if full else None,
        also=_candidates(ranking, [] if full or gain is None else ranking.runners_up(row), row),
        evidence=_evidence(context, finding, row),
        why=" ".join(part for part in (rule.docs.detects, detail) if part),
        advice=advise(rule.docs.fixes, rule.docs.caller, seen, at_limit=full),
        findings=findings(context.facts, row) if row in ranking.reasons else (),
        notes=tuple(notes),
        missing=missing,
        command=command,
    )


def _inconclusive(judged: Judgement, next_step: NextStep, group: Group, row: int) -> Verdict:
    context, ranking = judged.context, judged.ranking
    seen = findings(context.facts, row)
    possible = [ranking.rules[r] for r in ranking.candidates(row)]
    likely = _likely(ranking, possible, seen, row)
    missing = next_step.deciding(row, possible)
    basis = "prediction" if judged.cases else "capture"
    known = [item for slug in likely[:3] for item in _evidence(context, judged.findings[slug], row)]
    return Verdict(
        status=Status.INCONCLUSIVE,
        bottleneck=None,
        confidence=Confidence.LOW,
        also=_candidates(ranking, [ranking.rules.index(slug) for slug in likely], row),
        evidence=tuple(dict.fromkeys(known)),
        findings=seen,
        why=_why_open(likely, bool(missing), bool(ranking.unexplained[row]), basis),
        missing=missing,
        command=next_step.command(row, group.rows, missing)
        or next_step.full_command(row, group.rows),
    )


def _likely(
    ranking: Ranking, possible: list[str], seen: Sequence[FoundValue], row: int
) -> list[str]:
    """The candidates that something speaks for, in the order of that; all, where they are few."""
    weight: dict[str | None, float] = {}
    for each in seen:
        weight[each.bottleneck] = max(weight.get(each.bottleneck, 1.0), each.weight)
    certain = {slug: float(ranking.low[ranking.rules.index(slug), row]) for slug in possible}
    backed = [slug for slug in possible if slug in weight or certain[slug] >= LEAST_GAIN]
    chosen = possible if len(possible) <= MOST_CANDIDATES else backed
    ordered = sorted(chosen, key=lambda slug: (-weight.get(slug, 0.0), -certain[slug]))
    return ordered[:MOST_CANDIDATES]


def _why_open(slugs: list[str], missing: bool, unexplained: bool, basis: str) -> str:
    if unexplained:
        return (
            "The SM's busiest part is near its limit, and no rule covers it: "
            "look at the unit for barriers and indirect branches (pipe ADU), and at the uniform "
            "datapath."
        )
    if not slugs and missing:
        return f"Nothing in the {basis} points to one bottleneck more than to another."
    if not slugs:
        return "Every counter is there, and none of them shows anything that costs notable time."
    names = ", ".join(slugs)
    if not missing:
        return f"The {basis}'s own values contradict each other; it could be {names}."
    if len(slugs) == 1:
        return f"What the {basis} has points to {names}, and does not decide it."
    return f"What the {basis} has leaves open whether it is {names}."


def _candidates(ranking: Ranking, rows: list[int], launch: int) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            ranking.rules[r],
            float(ranking.low[r, launch]),
            float(min(ranking.high[r, launch], LARGEST_GAIN)),
        )
        for r in rows
    )


def _evidence(context: RuleContext, finding: Finding, row: int) -> tuple[Evidence, ...]:
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
        metric = shown.metric if isinstance(shown.metric, str) else shown.metric[row]
        formula = shown.formula
        if not formula and not _is_value_of(context.facts, metric, row, value):
            formula = NARROWED
        known.append(
            Evidence(
                metric=metric,
                label=shown.label if isinstance(shown.label, str) else shown.label[row],
                value=value,
                unit=shown.unit,
                op=shown.op if holds else "=",
                threshold=shown.threshold if holds else None,
                source=Origin.DERIVED if formula else context.facts.source(metric, row),
                formula=formula,
                ends=None if formula else context.facts.ends(metric, row),
            )
        )
    return tuple(known)


def _is_value_of(facts: Facts, metric: str, row: int, value: float) -> bool:
    return bool(np.isclose(facts.values(metric)[row], value, rtol=1e-6, atol=1e-9))


def _device(capture: Capture, row: int) -> str | None:
    names = capture.text.get(DEVICE_NAME)
    return names[row] if names is not None else None


def _doubts(outcomes: Outcomes, count: int) -> list[str]:
    """Contradictions, and impossible values of metrics that a verdict can hang on."""
    decisive = {name for rule in registry().values() for name in rule.requires}
    found = []
    for doubt, rows in outcomes.doubts.items():
        where = f"in {rows} of {count} launches"
        if doubt.metrics:
            found.append(f"{doubt.names} contradict each other {where}: {doubt.reason}")
        elif doubt.metric in decisive:
            what = "the value is treated as missing"
            found.append(f"{doubt.metric}: {doubt.reason}; {what} {where}")
    return found


def judge_launches(
    capture: Capture, *, progress: Callable[[int], object] | None = None
) -> tuple[Outcomes, Judgement | None]:
    """Judge every launch; ``progress`` is called with the number done since its last call.

    The judgement itself comes with it where it is one for all launches.
    """
    parts = []
    judged = None
    doubts: Counter[Doubt] = Counter()
    for start in range(0, len(capture), BLOCK):
        judged = judge(capture.part(start, start + BLOCK))
        parts.append(_outcomes(judged))
        for doubt in judged.context.facts.doubts:
            doubts[doubt.anywhere] += int(doubt.rows.sum())
        if progress is not None:
            progress(len(parts[-1][0]))
    winner, decided, at_limit, gain, duration = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    outcomes = Outcomes(
        winner,
        decided,
        at_limit,
        gain,
        duration,
        dict(sorted(doubts.items(), key=lambda each: (each[0].metric, each[0].reason))),
    )
    return outcomes, judged if len(parts) == 1 else None


def _outcomes(
    judged: Judgement,
) -> tuple[IntArray, BoolArray, BoolArray, FloatArray, FloatArray]:
    ranking = judged.ranking
    columns = np.arange(len(ranking.winner))
    bounds = ranking.low[ranking.winner, columns]
    for at, slug in enumerate(ranking.rules):
        promise = judged.findings[slug].promise
        if promise is not None:
            mine = (ranking.winner == at) & ~ranking.at_limit
            bounds = np.where(mine, np.minimum(bounds, promise.low), bounds)
    gain = estimates(judged.context.facts, bounds)
    duration = judged.context.facts.values("duration")
    return ranking.winner, ranking.decided, ranking.at_limit, gain, duration
