"""From a capture to a diagnosis; pure, and for all launches at once.

Every launch is judged on its own; those of one kernel with one launch configuration and one verdict
are then one entry. Averaging first would hide a launch that behaves differently.
"""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.ncu_command import NextStep
from kernelprof.analysis.rules import Finding, RuleContext, registry
from kernelprof.analysis.verdict.ranking import Judgement, Ranking, grade, judge
from kernelprof.model.capture import DEVICE_NAME, Launches, Origin
from kernelprof.model.diagnosis import (
    Candidate,
    Confidence,
    Diagnosis,
    Evidence,
    KernelDiagnosis,
    Spread,
    Status,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from kernelprof.analysis.metrics.facts import Facts
    from kernelprof.model.capture import Capture, Launch

    FloatArray = npt.NDArray[np.float64]
    BoolArray = npt.NDArray[np.bool_]
    IntArray = npt.NDArray[np.intp]

BLOCK: Final = 14336
"""Launches that are judged together; their intermediate values take 110 MB."""

LARGEST_GAIN = 100.0
"""Estimates beyond this say no more than "far from any limit"."""

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
    outcomes = judge_launches(capture, progress=progress)
    groups = group_launches(launches, outcomes)
    # Evidence is for the few launches that stand for the others.
    shown = judge(capture.rows([group.representative for group in groups]))
    next_step = NextStep(shown.context.facts, preset, launches)
    ids = np.array(launches.ids, dtype=object)
    return Diagnosis(
        kernels=tuple(
            _kernel(shown, next_step, group, row, tuple(ids[list(group.rows)].tolist()))
            for row, group in enumerate(groups)
        ),
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
        verdict=said(judged, next_step, group, row),
    )


def _decided(judged: Judgement, next_step: NextStep, group: Group, row: int) -> Verdict:
    context, ranking = judged.context, judged.ranking
    rule = judged.rule(row)
    finding = judged.findings[rule.slug]
    gain = min(group.gain, LARGEST_GAIN)
    full = judged.status(row) is Status.AT_LIMIT
    graded = grade(context, ranking, rule, row)
    high = graded.confidence is Confidence.HIGH
    missing = () if high else next_step.absent(row, rule.slug)
    notes = list(graded.reasons)
    if group.mixed:
        notes.append("launches of this kernel with the same grid and block differ: see the others")
    detail = rule.detail(context, row) if rule.detail else None
    return Verdict(
        status=Status.AT_LIMIT if full else Status.BOTTLENECK,
        bottleneck=rule.slug,
        confidence=graded.confidence,
        gain=None if full else gain,
        gain_reason=finding.gain_reason,
        next_limit=gain if full else None,
        also=_candidates(ranking, [] if full else ranking.runners_up(row), row),
        evidence=_evidence(context, finding, row),
        why=" ".join(part for part in (rule.docs.detects, detail) if part),
        advice=rule.docs.fixes,
        notes=tuple(notes),
        missing=missing,
        command=next_step.command(row, group.rows, missing),
    )


def _inconclusive(judged: Judgement, next_step: NextStep, group: Group, row: int) -> Verdict:
    context, ranking = judged.context, judged.ranking
    candidates = ranking.candidates(row)
    slugs = [ranking.rules[r] for r in candidates]
    missing = next_step.deciding(row, slugs)
    known = [item for slug in slugs[:3] for item in _evidence(context, judged.findings[slug], row)]
    return Verdict(
        status=Status.INCONCLUSIVE,
        bottleneck=None,
        confidence=Confidence.LOW,
        also=_candidates(ranking, candidates, row),
        evidence=tuple(dict.fromkeys(known)),
        why=_why_open(slugs, bool(missing), bool(ranking.unexplained[row])),
        missing=missing,
        command=next_step.command(row, group.rows, missing)
        or next_step.full_command(row, group.rows),
    )


def _why_open(slugs: list[str], missing: bool, unexplained: bool) -> str:
    if unexplained:
        return (
            "The SM's busiest part is near its limit, and no rule covers it: "
            "look at the constant cache (idc__request_cycles_active), the unit for barriers and "
            "indirect branches (pipe ADU), and the uniform datapath."
        )
    if not slugs:
        return "Every counter is there, and none of them shows anything that costs notable time."
    names = ", ".join(slugs[:4]) + (f" and {len(slugs) - 4} more" if len(slugs) > 4 else "")
    if not missing:
        return f"The capture's own values contradict each other; it could be {names}."
    return f"What the capture has leaves open whether it is {names}."


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
        known.append(
            Evidence(
                metric=shown.metric,
                label=shown.label,
                value=value,
                unit=shown.unit,
                op=shown.op if holds else "=",
                threshold=shown.threshold if holds else None,
                source=_source(context.facts, shown.metric, row),
            )
        )
    return tuple(known)


def _source(facts: Facts, metric: str, row: int) -> Origin:
    return facts.source(metric, row) if facts.has(metric)[row] else Origin.DERIVED


def _device(capture: Capture, row: int) -> str | None:
    names = capture.text.get(DEVICE_NAME)
    return names[row] if names is not None else None


def _doubts(outcomes: Outcomes, count: int) -> list[str]:
    """Impossible values of metrics that a verdict can hang on; others are nobody's concern."""
    decisive = {name for rule in registry().values() for name in rule.requires}
    return [
        f"{metric}: {reason}; the value is treated as missing in {rows} of {count} launches"
        for (metric, reason), rows in outcomes.doubts.items()
        if metric in decisive
    ]


@dataclass(frozen=True)
class Outcomes:
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


def judge_launches(
    capture: Capture, *, progress: Callable[[int], object] | None = None
) -> Outcomes:
    """Judge every launch; ``progress`` is called with the number done since its last call."""
    parts = []
    doubts: Counter[tuple[str, str]] = Counter()
    for start in range(0, len(capture), BLOCK):
        judged = judge(capture.part(start, start + BLOCK))
        parts.append(_outcomes(judged))
        for doubt in judged.context.facts.doubts:
            doubts[doubt.metric, doubt.reason] += int(doubt.rows.sum())
        if progress is not None:
            progress(len(parts[-1][0]))
    winner, decided, at_limit, gain, duration = (
        np.concatenate(columns) for columns in zip(*parts, strict=True)
    )
    return Outcomes(winner, decided, at_limit, gain, duration, dict(sorted(doubts.items())))


def _outcomes(
    judged: Judgement,
) -> tuple[IntArray, BoolArray, BoolArray, FloatArray, FloatArray]:
    ranking = judged.ranking
    gain = ranking.low[ranking.winner, np.arange(len(ranking.winner))]
    duration = judged.context.facts.values("duration")
    return ranking.winner, ranking.decided, ranking.at_limit, gain, duration


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of the capture that form one entry, and the row that stands for them."""

    rows: tuple[int, ...]
    representative: int
    gain: float
    """The median of what the first rule promises for certain."""
    duration: Spread | None
    share: float | None
    mixed: bool
    """Whether other launches of the same configuration have another verdict."""


def group_launches(launches: Sequence[Launch], outcomes: Outcomes) -> list[Group]:
    """Entries, the ones that took most time first (capture order where durations are missing)."""
    configuration = Launches.of(launches).codes_by(_configuration)
    verdict = 2 * np.where(outcomes.decided, outcomes.winner + 1, 0) + outcomes.at_limit
    both = configuration * (int(verdict.max()) + 1) + verdict
    _, entry = np.unique(both, return_inverse=True)
    entries = np.split(np.argsort(entry, kind="stable"), np.cumsum(np.bincount(entry))[:-1])
    verdicts = np.bincount([configuration[rows[0]] for rows in entries])
    total = float(outcomes.duration.sum())
    groups = [
        _group(rows, outcomes, total, mixed=verdicts[configuration[rows[0]]] > 1)
        for rows in entries
    ]
    return sorted(groups, key=lambda g: (-(g.share or 0.0), g.rows[0]))


def _group(rows: IntArray, outcomes: Outcomes, total: float, *, mixed: bool) -> Group:
    times = outcomes.duration[rows]
    known = not np.isnan(times).any()
    return Group(
        rows=tuple(rows.tolist()),
        representative=_middle(rows, times),
        gain=_median(outcomes.gain[rows]),
        duration=Spread(_median(times), float(times.min()), float(times.max())) if known else None,
        share=float(times.sum()) / total if known and total > 0 else None,
        mixed=mixed,
    )


def _configuration(launch: Launch) -> tuple[object, ...]:
    return (launch.kernel, launch.grid, launch.block, launch.device, launch.compute_capability)


def _median(values: FloatArray) -> float:
    """As ``np.median``, which loads ``numpy.ma`` to look for what these values never are: NaN."""
    in_order = np.sort(values)
    return float((in_order[(len(values) - 1) // 2] + in_order[len(values) // 2]) / 2)


def _middle(rows: IntArray, times: FloatArray) -> int:
    """The launch with the median duration: a real one, so that its evidence belongs together."""
    if np.isnan(times).any():
        return int(rows[0])
    return int(rows[np.argsort(times, kind="stable")[(len(rows) - 1) // 2]])
