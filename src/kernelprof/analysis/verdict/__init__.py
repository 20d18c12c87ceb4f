"""From a capture to a diagnosis; pure, and for all launches at once.

Every launch is judged on its own; those of one kernel with one launch configuration and one verdict
are then one entry. Averaging first would hide a launch that behaves differently.
"""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.analysis.advice.lines import advise
from kernelprof.analysis.findings import list_findings
from kernelprof.analysis.ncu_command import NextStep
from kernelprof.analysis.rules import RuleContext, load_rules
from kernelprof.analysis.verdict.causes import list_causes
from kernelprof.analysis.verdict.estimates import LARGEST_GAIN, estimate_gains, gain_interval
from kernelprof.analysis.verdict.ranking import (
    LEAST_GAIN,
    Judgement,
    Ranking,
    grade_verdict,
    rank_bottlenecks,
    weigh_cases,
)
from kernelprof.analysis.verdict.waste_sought import list_sought
from kernelprof.model.capture import DEVICE_NAME, Launches, Origin
from kernelprof.model.diagnosis import (
    Candidate,
    Cause,
    Confidence,
    Diagnosis,
    DurationRange,
    Evidence,
    KernelDiagnosis,
    Status,
    Verdict,
    VerdictEvidence,
)
from kernelprof.model.json_types import narrowed
from kernelprof.model.launch_series import SERIES_COLUMN
from kernelprof.model.names import join_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kernelprof.analysis.metrics.interval import BoolArray, FloatArray, IntArray
    from kernelprof.analysis.metrics.relations import Doubt
    from kernelprof.analysis.rules import EvidenceItem
    from kernelprof.analysis.verdict.causes import LaunchCauses
    from kernelprof.model.capture import Capture, Launch
    from kernelprof.model.diagnosis import MetricFinding


BLOCK: Final = 14336
"""Launches that are judged together; their intermediate values take 110 MB."""

MOST_CANDIDATES = 4

NARROWED = "limited to the range that other metrics allow"
"""How a value came about that the capture does not have under the name of its row."""

COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


SEVERAL_FOLD = 3.0
"""Ratio of times from which launches of one kernel are entries of their own."""
STEP = 2.0
"""Ratio of one time to the next shorter at which such launches are told apart. Launches of the same
work differ by 0.3 % at most (``tests/captures/gemm_series.same-code-13x.raw.csv``)."""
NOTABLE_NS = 5_000.0
"""Differences below this may be of the launch itself."""


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
    doubts: Mapping[Doubt, int]


@dataclass(frozen=True, slots=True)
class LaunchGroup:
    """Rows of the capture that form one entry, and the row that stands for them."""

    rows: tuple[int, ...]
    representative: int
    gain: float
    """The median of what the first rule promises for certain."""
    duration: DurationRange | None
    share: float | None
    mixed: bool
    """Whether other launches of the same configuration have another verdict."""


def diagnose(
    capture: Capture, *, preset: str | None = None, progress: Callable[[int], object] | None = None
) -> Diagnosis:
    """Judge every launch of a capture.

    ``preset`` names the metric set that the commands for what is missing collect; without one they
    collect just what is missing. ``progress`` is called with the number of launches judged
    since its last call.
    """
    launches = Launches.from_sequence(capture.launches)
    outcomes, judged = judge_launches(capture, progress=progress)
    groups = group_launches(launches, outcomes)
    # Evidence is for the few launches that stand for the others.
    rows = [group.representative for group in groups]
    if judged is None:
        judged, rows = rank_bottlenecks(capture.rows(rows)), list(range(len(rows)))
    next_step = NextStep(judged.context.facts, preset, launches)
    ids = np.array(launches.ids, dtype=object)
    kernels = tuple(
        _kernel(judged, next_step, group, row, tuple(ids[list(group.rows)].tolist()))
        for row, group in zip(rows, groups, strict=True)
    )
    kernels = _with_causes(judged, rows, kernels)
    if capture.code:
        # Loaded only for captures that have instructions.
        from kernelprof.analysis.stalls import blame_lines

        kernels = blame_lines(kernels, capture.code)
    if SERIES_COLUMN in capture.text:
        from kernelprof.analysis.over_time import add_series

        kernels = add_series(kernels, capture)
    return Diagnosis(
        kernels=kernels,
        origin=capture.origin,
        preset=preset,
        warnings=(*capture.warnings, *_doubts(outcomes, len(capture))),
    )


def _kernel(
    judged: Judgement, next_step: NextStep, group: LaunchGroup, row: int, ids: tuple[str, ...]
) -> KernelDiagnosis:
    """``row`` is that of the group's representative among the launches that were ``judged``."""
    capture = judged.context.facts.capture
    launch = capture.launches[row]
    build = _inconclusive if judged.status(row) is Status.INCONCLUSIVE else _decided
    verdict = build(judged, next_step, group, row)
    if verdict.missing and (tool := next_step.tool(row)):
        verdict = replace(verdict, notes=(*verdict.notes, tool))
    return KernelDiagnosis(
        rows=group.rows,
        ids=ids,
        name=launch.kernel,
        grid=launch.grid,
        block=launch.block,
        device=capture.text[DEVICE_NAME][row] if DEVICE_NAME in capture.text else None,
        compute_capability=launch.compute_capability,
        duration_ns=group.duration,
        share=group.share,
        verdict=verdict,
    )


def _with_causes(
    judged: Judgement, rows: Sequence[int], kernels: Sequence[KernelDiagnosis]
) -> tuple[KernelDiagnosis, ...]:
    """Add to verdicts what limits the kernels after the fix."""
    firsts = [
        (verdict.bottleneck, verdict.gain)
        if verdict.status is Status.BOTTLENECK and verdict.bottleneck and verdict.gain is not None
        else None
        for verdict in (each.verdict for each in kernels)
    ]
    if not any(firsts):
        return tuple(kernels)
    capture = judged.context.facts.capture
    if list(rows) == list(range(len(capture))):
        listed = list_causes(capture, firsts, (judged.context, judged.findings))
    else:
        listed = list_causes(capture.rows(rows), firsts)
    return tuple(
        replace(each, verdict=_add_causes(judged, row, each.verdict, launch))
        for each, row, launch in zip(kernels, rows, listed, strict=True)
    )


def _add_causes(judged: Judgement, row: int, verdict: Verdict, launch: LaunchCauses) -> Verdict:
    grades, causes = list(Confidence), []
    for at, each in enumerate(launch.causes):
        evidence, advice = verdict.evidence, verdict.advice
        if at > 0:
            rule = load_rules()[each.slug]
            items = judged.findings[each.slug].evidence_items
            evidence = _evidence(judged.context, items, row)
            advice = advise(rule.fixes, rule.caller, judged.context.launch(row), at_limit=False)
        low, high = gain_interval(each.alone)
        # One step less sure for each fix that was only worked out.
        before = sum(other.alternative_to is None for other in launch.causes[:at])
        worked_out = 1 if each.alternative_to is not None else before
        grade = grades[min(grades.index(verdict.confidence) + worked_out, len(grades) - 1)]
        causes.append(
            Cause(
                bottleneck=each.slug,
                gain=each.alone,
                gain_low=low,
                gain_high=high,
                gain_after_previous=each.after,
                confidence=grade,
                alternative_to=each.alternative_to,
                worse_alone=each.worse_alone,
                evidence=tuple(narrowed(Evidence, item) for item in evidence),
                advice=advice,
            )
        )
    if not causes:
        return verdict
    return replace(
        verdict,
        causes=tuple(causes),
        combined_gain=min(launch.combined, LARGEST_GAIN),
        next_limit=launch.next_limit,
    )


def _decided(judged: Judgement, next_step: NextStep, group: LaunchGroup, row: int) -> Verdict:
    context, ranking = judged.context, judged.ranking
    rule = judged.rule(row)
    finding = judged.findings[rule.slug]
    gain: float | None = min(group.gain, LARGEST_GAIN)
    if ranking.overruled[row] or (row in ranking.reasons and group.gain < LEAST_GAIN):
        gain = None
    full = judged.status(row) is Status.AT_LIMIT
    graded = weigh_cases(grade_verdict(context, ranking, rule, row), judged, row)
    high = graded.confidence is Confidence.HIGH
    # A prediction lacks no single metric: all of it is what measuring makes sure.
    predicted = bool(judged.cases)
    missing = () if high or predicted else next_step.absent(row, rule.slug)
    lacks = bool(missing) or predicted
    run = next_step.run(row, group.rows, missing) if lacks else None
    notes = list(graded.reasons)
    if group.mixed:
        notes.append(
            "other launches of this kernel with the same grid and block have a different verdict "
            "or a very different time"
        )
    launch = context.launch(row)
    if launch.library is not None:
        notes.append(f"kernel of {launch.library.name}: the advice is for the library's caller")
    detail = rule.detail(context, row) if rule.detail else None
    return Verdict(
        status=Status.AT_LIMIT if full else Status.BOTTLENECK,
        bottleneck=rule.slug,
        confidence=graded.confidence,
        gain=None if full else gain,
        gain_interval=None if full or gain is None else gain_interval(gain),
        gain_reason=finding.gain_reason,
        headroom=gain if full else None,
        also=_candidates(ranking, [] if full or gain is None else ranking.runners_up(row), row),
        evidence=_evidence(context, finding.evidence_items, row),
        waste=_evidence(context, list_sought(context, rule), row) if full else (),
        why=" ".join(part for part in (rule.detects, detail) if part),
        advice=advise(rule.fixes, rule.caller, launch, at_limit=full),
        findings=list_findings(context.facts, row) if row in ranking.reasons else (),
        notes=tuple(notes),
        missing=missing,
        command=next_step.command(run) if lacks else None,
        run=run,
    )


def _inconclusive(judged: Judgement, next_step: NextStep, group: LaunchGroup, row: int) -> Verdict:
    context, ranking = judged.context, judged.ranking
    seen = list_findings(context.facts, row)
    possible = [ranking.rules[r] for r in ranking.candidates(row)]
    likely = _likely(ranking, possible, seen, row)
    missing = next_step.deciding(row, possible)
    basis = "prediction" if judged.cases else "capture"
    run = next_step.run(row, group.rows, missing)
    evidence = [
        item
        for slug in likely[:3]
        for item in _evidence(context, judged.findings[slug].evidence_items, row)
    ]
    return Verdict(
        status=Status.INCONCLUSIVE,
        bottleneck=None,
        confidence=Confidence.LOW,
        also=_candidates(ranking, [ranking.rules.index(slug) for slug in likely], row),
        evidence=tuple(dict.fromkeys(evidence)),
        findings=seen,
        why=_why_open(likely, bool(missing), bool(ranking.unexplained[row]), basis),
        missing=missing,
        command=next_step.command(run),
        run=run,
    )


def _likely(
    ranking: Ranking, possible: list[str], seen: Sequence[MetricFinding], row: int
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
            "A unit of the SM that no rule covers is near its limit. Check the ADU pipe (barriers, "
            "indirect branches) and the uniform datapath."
        )
    if not slugs and missing:
        return f"The metrics of the {basis} do not point to any bottleneck."
    if not slugs:
        return "No metric points to a bottleneck."
    names = join_words(slugs, "or")
    if not missing:
        return f"The metrics of the {basis} are not conclusive; candidates: {names}."
    if len(slugs) == 1:
        return (
            f"The metrics of the {basis} point to {names}, but metrics that would confirm it are "
            "missing."
        )
    return f"The metrics of the {basis} are consistent with {names}."


def _candidates(ranking: Ranking, rows: list[int], launch: int) -> tuple[Candidate, ...]:
    return tuple(
        Candidate(
            ranking.rules[r],
            float(ranking.low[r, launch]),
            float(min(ranking.high[r, launch], LARGEST_GAIN)),
        )
        for r in rows
    )


def _evidence(
    context: RuleContext, items: Sequence[EvidenceItem], row: int
) -> tuple[Evidence, ...]:
    """Return the facts with a known value, each with its threshold if it is past it."""
    rows = []
    for shown in items:
        value = float(shown.value.low[row])
        if not shown.value.is_exact[row] or not np.isfinite(value):
            continue
        holds = shown.threshold is not None and COMPARE[shown.op](value, shown.threshold)
        metric = shown.metric if isinstance(shown.metric, str) else shown.metric[row]
        formula = shown.formula or context.facts.formula(metric, row)
        of_metric = context.facts.values(metric)[row]
        # For single numbers this takes a hundredth of the time of numpy's.
        if not formula and not abs(of_metric - value) <= 1e-9 + 1e-6 * abs(value):
            formula = NARROWED
        ends = (None if formula else context.facts.ends(metric, row)) or (None, None)
        rows.append(
            VerdictEvidence(
                metric=metric,
                label=shown.label if isinstance(shown.label, str) else shown.label[row],
                value=value,
                unit=shown.unit,
                op=shown.op if holds else "=",
                threshold=shown.threshold if holds else None,
                source=Origin.DERIVED if formula else context.facts.source(metric, row),
                formula=formula,
                low=ends[0],
                high=ends[1],
                phrase=shown.phrase,
            )
        )
    return tuple(rows)


def _doubts(outcomes: Outcomes, count: int) -> list[str]:
    decisive = {name for rule in load_rules().values() for name in rule.requires}
    warnings = []
    for doubt, rows in outcomes.doubts.items():
        where = f"in {rows} of {count} launches"
        if doubt.metrics:
            warnings.append(f"{doubt.claim} {where}: {doubt.reason}")
        elif doubt.metric in decisive:
            what = "the value is treated as missing"
            warnings.append(f"{doubt.metric}: {doubt.reason}; {what} {where}")
    return warnings


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
        judged = None  # Its intermediate values are freed before the next ones are computed.
        judged = rank_bottlenecks(capture.part(start, start + BLOCK))
        parts.append(
            (
                judged.ranking.winner,
                judged.ranking.decided,
                judged.ranking.at_limit,
                _certain_gains(judged),
                judged.context.facts.values("duration"),
            )
        )
        for doubt in judged.context.facts.doubts:
            doubts[doubt.anywhere] += int(doubt.rows.sum())
        if progress is not None:
            progress(len(parts[-1][0]))
    winner, decided, at_limit, gain, duration = map(np.concatenate, zip(*parts, strict=True))
    in_order = sorted(doubts.items(), key=lambda each: (each[0].metric, each[0].reason))
    outcomes = Outcomes(winner, decided, at_limit, gain, duration, dict(in_order))
    return outcomes, judged if len(parts) == 1 else None


def _certain_gains(judged: Judgement) -> FloatArray:
    ranking = judged.ranking
    columns = np.arange(len(ranking.winner))
    bounds = ranking.low[ranking.winner, columns]
    for at, slug in enumerate(ranking.rules):
        promise = judged.findings[slug].promise
        if promise is not None:
            mine = (ranking.winner == at) & ~ranking.at_limit
            bounds = np.where(mine, np.minimum(bounds, promise.low), bounds)
    return estimate_gains(judged.context.facts, bounds)


def group_launches(launches: Sequence[Launch], outcomes: Outcomes) -> list[LaunchGroup]:
    """Return entries, longest total time first (capture order where durations are missing)."""
    configuration = Launches.from_sequence(launches).codes_by(_configuration)
    verdict = 2 * np.where(outcomes.decided, outcomes.winner + 1, 0) + outcomes.at_limit
    both = configuration * (int(verdict.max()) + 1) + verdict
    _, entry = np.unique(both, return_inverse=True)
    entries = np.split(np.argsort(entry, kind="stable"), np.cumsum(np.bincount(entry))[:-1])
    entries = [part for rows in entries for part in split_by_time(rows, outcomes.duration[rows])]
    verdicts = np.bincount([configuration[rows[0]] for rows in entries])
    total = float(outcomes.duration.sum())
    groups = [
        _group(rows, outcomes, total, mixed=verdicts[configuration[rows[0]]] > 1)
        for rows in entries
    ]
    return sorted(groups, key=lambda g: (-(g.share or 0.0), g.rows[0]))


def split_by_time(rows: IntArray, times: FloatArray) -> list[IntArray]:
    """Return groups of launches whose times do not differ several-fold.

    The same code takes longer by its data, as a scatter to few places does.
    """
    shortest, longest = times.min(), times.max()
    if not longest > max(SEVERAL_FOLD * shortest, shortest + NOTABLE_NS):
        return [rows]
    order = np.argsort(times, kind="stable")
    in_order = times[order]
    step = in_order[1:] > np.maximum(in_order[:-1] * STEP, in_order[:-1] + NOTABLE_NS)
    parts = np.split(order, np.flatnonzero(step) + 1)
    return [np.sort(rows[part]) for part in parts]


def _group(rows: IntArray, outcomes: Outcomes, total: float, *, mixed: bool) -> LaunchGroup:
    times = outcomes.duration[rows]
    timed = not np.isnan(times).any()
    return LaunchGroup(
        rows=tuple(rows.tolist()),
        representative=_middle(rows, times),
        gain=_median(outcomes.gain[rows]),
        duration=DurationRange(_median(times), float(times.min()), float(times.max()))
        if timed
        else None,
        share=float(times.sum()) / total if timed and total > 0 else None,
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
