"""A verdict for people who have never seen a profiler: a plain sentence, and its facts as rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.analysis.rules import registry
from kernelprof.model.capture import Origin
from kernelprof.model.diagnosis import Confidence, Status
from kernelprof.model.numbers import ends, number, quantity, relation, share
from kernelprof.report.document import Bar, Cell, Column, Paragraph, Span, Table, Tone
from kernelprof.report.figures.measured import clip

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.analysis.rules import Headline, Threshold
    from kernelprof.model.diagnosis import Evidence, Verdict
    from kernelprof.report.document import Block

WHOLES: Final[Mapping[str, float]] = {
    "%": 100.0,
    "byte/sector": 32.0,
    "thread": 32.0,
    "sector/request": 32.0,
}
"""Units with a natural whole: a sector has 32 bytes, a warp 32 threads, and each of these touches
one sector at most in a request for 4-byte values."""

_COLUMNS: Final = (Column("What"), Column("Value", number=True))
_ORIGINS: Final = {
    Origin.DERIVED: "Computed from other counters.",
    Origin.REPORTED: "As a sentence of Nsight Compute gives it, rounded.",
    Origin.PREDICTED: "Predicted from the machine code, without a GPU.",
    Origin.COMPILER: "As the compiler decided.",
}


_KEY: Final = Paragraph(Span("The mark on a bar is what its value is compared with."), Tone.MUTED)


def table(verdict: Verdict) -> tuple[Block, ...]:
    """A row for each fact that is a number; its bar shows the value and the threshold."""
    facts = [each for each in verdict.evidence if math.isfinite(each.value)]
    if not facts:
        return ()
    # They can be facts of the rule that won, or of the candidates.
    slugs = [verdict.bottleneck, *(candidate.bottleneck for candidate in verdict.also)]
    rules = [registry().get(slug or "") for slug in slugs]
    documented = [each for rule in rules if rule is not None for each in rule.thresholds]
    rows = tuple(_row(each, documented) for each in facts)
    bars = [row[0].bar for row in rows]
    key = (_KEY,) if any(each is not None and each.mark is not None for each in bars) else ()
    return Table(_COLUMNS, rows, label="Evidence"), *key


def _row(fact: Evidence, documented: Sequence[Threshold]) -> tuple[Cell, ...]:
    told = (*_how(fact), *_tip(fact, documented), *([f"`{fact.metric}`"] if fact.metric else []))
    computed = fact.formula or fact.source is Origin.DERIVED
    said = (Span(" (computed)", Tone.MUTED),) if computed else ()
    than = ""
    if fact.threshold is not None:
        than = f" {relation(fact)} {quantity(fact.threshold, fact.unit)}"
    return (
        Cell((Span(fact.label), *said), tip=" ".join(told), bar=_bar(fact)),
        Cell((Span(quantity(fact.value, fact.unit), Tone.STRONG), Span(than, Tone.MUTED))),
    )


def _how(fact: Evidence) -> Iterable[str]:
    """How a value came about that is not the one that the capture has for its metric."""
    if fact.formula:
        yield f"Computed: {fact.formula}."
    if fact.ends:
        yield f"Between {ends(fact)}."


def _bar(fact: Evidence) -> Bar | None:
    """The value as a part of its natural whole; ``None`` where there is none."""
    whole = WHOLES.get(fact.unit)
    if whole is None:
        return None
    return Bar(clip(fact.value / whole), clip(fact.threshold / whole) if fact.threshold else None)


def _tip(fact: Evidence, documented: Sequence[Threshold]) -> Iterable[str]:
    metric = catalogue().get(fact.metric)
    if metric is not None and _same(metric.unit, fact.unit):
        yield metric.why
    elif metric is not None:
        yield f"Computed from {fact.metric} among others. {fact.metric}: {metric.why}"
    if metric is None or _same(metric.unit, fact.unit):
        origin = _ORIGINS.get(fact.source)
        if origin:
            yield origin
    if fact.threshold is None:
        return
    scale = 100.0 if fact.unit == "%" else 1.0
    alike = (each for each in documented if math.isclose(each.value * scale, fact.threshold))
    found, text = next(alike, None), quantity(fact.threshold, fact.unit)
    if found is None:
        yield f"Threshold {text}."
    else:
        yield f"Threshold {text} ({found.unit}): {found.source.rstrip('.')}."


def _same(unit: str, shown: str) -> bool:
    return unit == shown or {unit, shown} == {"1", "wave"}


# In a sentence

MOST_NAMED: Final = 3


_NEEDED: Final = (
    "and all of that work is needed: this is about as fast as this GPU runs such a kernel."
)


_UNSURE: Final = "and this capture does not show for certain that all of that work is needed."


def headline(verdict: Verdict, *, predicted: bool = False) -> str:
    """The verdict in one plain sentence; ``predicted`` says on what it rests."""
    if verdict.status is Status.INCONCLUSIVE:
        text = _open(verdict)
        return text.replace("his capture", "his prediction") if predicted else text
    rule = registry().get(verdict.bottleneck or "")
    if rule is None:
        return f"The kernel is limited by {verdict.bottleneck}."
    found = rule.headline
    if verdict.status is Status.AT_LIMIT:
        if found.at_limit:
            needed = _UNSURE if verdict.confidence is Confidence.LOW else _NEEDED
            return f"{found.at_limit}, {needed}"
        return (
            f"Nothing that can be removed costs notable time; most of what is left is "
            f"{_title(verdict.bottleneck or '')}."
        )
    value = _number(found, verdict.evidence)
    return found.numbered.format(x=value) if value else found.plain


def _number(found: Headline, evidence: tuple[Evidence, ...]) -> str:
    """The number for a sentence; empty where the evidence does not have it."""
    past = any(each.threshold is not None for each in evidence)
    for each in evidence:
        if each.metric != found.metric or each.unit != found.unit:
            continue
        if found.compared and not past:
            continue
        return share(each.value / 100.0) if found.unit == "%" else number(each.value)
    return ""


def _open(verdict: Verdict) -> str:
    if verdict.also and not verdict.missing:
        return "The counters of this capture do not explain what limits the kernel."
    names = [_title(each.bottleneck) for each in verdict.also[:MOST_NAMED]]
    if len(verdict.also) > MOST_NAMED:
        names.append("something else")
    if names:
        could = " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        return f"This capture does not show what limits the kernel: it could be {could}."
    if verdict.missing:
        return "This capture lacks the counters that would show what limits the kernel."
    return "The counters show nothing that costs this kernel notable time."


def _title(slug: str) -> str:
    """A rule's title inside a sentence: ``L1 throughput``, ``memory latency``."""
    rule = registry().get(slug)
    if rule is None:
        return slug
    title = rule.title
    plain = title[:1].isupper() and title[1:2].islower()
    return title[:1].lower() + title[1:] if plain else title
