"""The facts of a verdict as bars, each saying what it means and where its threshold is from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.analysis.rules import registry
from kernelprof.model.capture import Origin
from kernelprof.model.numbers import comparison, quantity
from kernelprof.report.html.build.measured import clip
from kernelprof.report.html.view import EvidenceBar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.analysis.rules import Rule, Threshold
    from kernelprof.model.diagnosis import Evidence, Verdict

WHOLES: Final[Mapping[str, float]] = {
    "%": 100.0,
    "byte/sector": 32.0,
    "thread": 32.0,
    "sector/request": 32.0,
}
"""Units with a natural whole: a sector has 32 bytes, a warp 32 threads, and each of these touches
one sector at most in a request for 4-byte values."""

_ORIGINS: Final = {
    Origin.DERIVED: "Worked out from other counters.",
    Origin.REPORTED: "As a sentence of Nsight Compute gives it, rounded.",
}


def evidence(verdict: Verdict) -> tuple[EvidenceBar, ...]:
    """A bar for each fact that is a number."""
    rules = _rules(verdict)
    return tuple(_bar(each, rules) for each in verdict.evidence if math.isfinite(each.value))


def _rules(verdict: Verdict) -> list[Rule]:
    """The rules whose facts these can be: the one that won, or the candidates."""
    slugs = [verdict.bottleneck, *(candidate.bottleneck for candidate in verdict.also)]
    return [registry()[slug] for slug in slugs if slug is not None and slug in registry()]


def _bar(fact: Evidence, rules: list[Rule]) -> EvidenceBar:
    whole = WHOLES.get(fact.unit)
    has_mark = whole is not None and fact.threshold is not None
    return EvidenceBar(
        metric=fact.metric,
        label=fact.label,
        value=quantity(fact.value, fact.unit),
        comparison=comparison(fact),
        tip=" ".join(_tip(fact, rules)),
        fill=None if whole is None else clip(fact.value / whole),
        mark=clip(fact.threshold / whole) if has_mark and whole and fact.threshold else None,
    )


def _tip(fact: Evidence, rules: list[Rule]) -> Iterable[str]:
    metric = catalogue().get(fact.metric)
    if metric is not None and _same(metric.unit, fact.unit):
        yield metric.why
    elif metric is not None:
        yield f"Worked out from {fact.metric} among others. {fact.metric}: {metric.why}"
    if metric is None or _same(metric.unit, fact.unit):
        origin = _ORIGINS.get(fact.source)
        if origin:
            yield origin
    if fact.threshold is None:
        return
    found = _threshold(fact, rules)
    text = quantity(fact.threshold, fact.unit)
    if found is None:
        yield f"Threshold {text}."
    else:
        yield f"Threshold {text} ({found.unit}): {found.source.rstrip('.')}."


def _same(unit: str, shown: str) -> bool:
    return unit == shown or {unit, shown} == {"1", "wave"}


def _threshold(fact: Evidence, rules: list[Rule]) -> Threshold | None:
    """The documented number that a fact is compared with."""
    if fact.threshold is None:
        return None
    scale = 100.0 if fact.unit == "%" else 1.0
    for rule in rules:
        for each in rule.thresholds:
            if math.isclose(each.value * scale, fact.threshold):
                return each
    return None
