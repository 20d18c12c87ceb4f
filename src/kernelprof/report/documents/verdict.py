"""The parts of one verdict: headline, gain, evidence, and what to do."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.analysis.rules import Headline, Subsystem, Threshold, load_rules
from kernelprof.model.capture import Origin
from kernelprof.model.diagnosis import (
    Candidate,
    Confidence,
    Evidence,
    Status,
    Verdict,
    VerdictEvidence,
)
from kernelprof.model.names import join_words
from kernelprof.model.numbers import (
    count,
    factor,
    format_interval,
    quantity,
    rounded,
    rounded_quantity,
)
from kernelprof.report.document import (
    Bar,
    Block,
    Bullets,
    Cell,
    Column,
    Fact,
    FactList,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)
from kernelprof.report.figures.measured import clip
from kernelprof.report.private import without_homes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.model.diagnosis import MetricFinding

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
    Origin.REPORTED: "Rounded value from a rule message of Nsight Compute.",
    Origin.PREDICTED: "Predicted from the machine code, without a GPU.",
    Origin.COMPILER: "Reported by the compiler.",
}


_KEY: Final = Paragraph(Span("The mark on a bar is the threshold."), Tone.MUTED)


def evidence_blocks(verdict: Verdict) -> tuple[Block, ...]:
    """One row per numeric fact; its bar shows the value and the threshold."""
    facts = [each for each in verdict.evidence if math.isfinite(each.value)]
    if not facts:
        return ()
    # They can be facts of the rule that won, or of the candidates.
    slugs = [verdict.bottleneck, *(candidate.bottleneck for candidate in verdict.also)]
    rules = [load_rules().get(slug or "") for slug in slugs]
    documented = [each for rule in rules if rule is not None for each in rule.thresholds]
    rows = tuple(_row_with_bar(each, documented) for each in facts)
    bars = [row[0].bar for row in rows]
    key = (_KEY,) if any(each is not None and each.mark is not None for each in bars) else ()
    return Table(_COLUMNS, rows, label="Evidence"), *key


def _row_with_bar(fact: Evidence, documented: Sequence[Threshold]) -> tuple[Cell, ...]:
    how = (
        f"Computed: {fact.formula}." if fact.formula else "",
        f"Between {format_interval(fact)}." if fact.ends else "",
    )
    tips = filter(None, (*how, *_tip(fact, documented), f"`{fact.metric}`" if fact.metric else ""))
    computed = fact.formula or fact.source is Origin.DERIVED
    mark = (Span(" (computed)", Tone.MUTED),) if computed else ()
    value, threshold = _value_and_threshold(fact)
    return (
        Cell((Span(fact.label), *mark), tip=" ".join(tips), bar=_bar(fact)),
        Cell((Span(value, Tone.STRONG), Span(threshold, Tone.MUTED))),
    )


def _bar(fact: Evidence) -> Bar | None:
    whole = WHOLES.get(fact.unit)
    if whole is None:
        return None
    return Bar(clip(fact.value / whole), clip(fact.threshold / whole) if fact.threshold else None)


def _tip(fact: Evidence, documented: Sequence[Threshold]) -> Iterable[str]:
    metric = load_metrics().get(fact.metric)
    if metric is not None and not _same(metric.unit, fact.unit):
        yield f"Computed from {fact.metric} and other metrics. {fact.metric}: {metric.why}"
    else:
        yield "" if metric is None else metric.why
        yield _ORIGINS.get(fact.source, "")
    if fact.threshold is None:
        return
    scale = 100.0 if fact.unit == "%" else 1.0
    alike = (each for each in documented if math.isclose(each.value * scale, fact.threshold))
    threshold, text = next(alike, None), quantity(fact.threshold, fact.unit)
    if threshold is None:
        yield f"Threshold {text}."
    else:
        yield f"Threshold {text} ({threshold.unit}): {threshold.source.rstrip('.')}."


def _same(unit: str, shown: str) -> bool:
    return unit == shown or {unit, shown} == {"1", "wave"}


# In a sentence

MOST_NAMED: Final = 3


_ALL_NEEDED: Final = "and no waste was found: this GPU cannot do the same work much faster."
_UNSURE: Final = "but it is not proven that all of the work is needed."


def summarize_verdict(verdict: Verdict, *, predicted: bool = False) -> str:
    """The verdict in one sentence; ``predicted`` if it rests on a prediction."""
    if verdict.status is Status.INCONCLUSIVE:
        return _open(verdict, "prediction" if predicted else "capture")
    rule = load_rules().get(verdict.bottleneck or "")
    if rule is None:
        return f"The kernel is limited by {verdict.bottleneck}."
    template = rule.headline
    if verdict.status is Status.AT_LIMIT:
        if template.at_limit:
            reason = _UNSURE if verdict.confidence is Confidence.LOW else _ALL_NEEDED
            return f"{template.at_limit}, {reason}"
        most = _title(verdict.bottleneck or "")
        return f"No waste was found; the kernel spends most of its time on {most}."
    value = _number(template, verdict.evidence)
    return template.numbered.format(x=value) if value else template.plain


def _number(template: Headline, evidence: tuple[Evidence, ...]) -> str:
    """The number for a sentence; empty if the evidence does not contain it."""
    past = any(each.threshold is not None for each in evidence)
    for each in evidence:
        if each.metric != template.metric or each.unit != template.unit:
            continue
        if template.compared and not past:
            continue
        is_share = template.unit == "%"
        return rounded_quantity(each.value, "%") if is_share else rounded(each.value)
    return ""


def _open(verdict: Verdict, basis: str) -> str:
    if verdict.also and not verdict.missing:
        return f"The metrics of this {basis} are not conclusive, so the bottleneck is unknown."
    names = [_title(each.bottleneck) for each in verdict.also[:MOST_NAMED]]
    if len(verdict.also) > MOST_NAMED:
        names.append("something else")
    if names:
        listed = join_words(names, "or")
        return f"This {basis} does not show what limits the kernel; candidates: {listed}."
    if verdict.missing:
        return "The metrics that would show what limits the kernel are missing."
    return "No rule explains the run time of this kernel."


def _title(slug: str) -> str:
    rule = load_rules().get(slug)
    if rule is None:
        return slug
    title = rule.title
    plain = title[:1].isupper() and title[1:2].islower()
    return title[:1].lower() + title[1:] if plain else title


MOST_MISSING: Final = 12
MOST_HELPFUL: Final = 4
DEBUG_BUILD: Final = "debug-build"
_SOURCES: Final = {
    Origin.DERIVED: "computed",
    Origin.LAUNCH: "launch configuration",
    Origin.REPORTED: "from a rule message of ncu, rounded",
    Origin.PREDICTED: "predicted",
    Origin.COMPILER: "from the compiler",
}
NO_GAIN_BELOW: Final = 1.005
LEADING: Final = 1.25
"""Weight from which a single value is a lead where no rule has one: as ``findings.NOTABLE``."""
NO_BOUND_FROM: Final = 100.0
"""From here on, a candidate's gain is an unbounded unknown, not an estimate."""

BRIEF_ROWS: Final = 3
"""Rows of evidence, and findings, of a short card."""
BRIEF_ADVICE: Final = 65
"""Characters of a line of advice up to which a short card has a second one: at 80 columns it is a
line of the screen."""

_TIPS: Final = {
    "Gain": "Estimated gain, with its range in brackets. For kernels with a known bottleneck, "
    "four of five measured gains were within the range."
}
_LACKING: Final = frozenset({"Missing"})
"""Long lists, folded on a page."""
_ONLY_ON_A_GPU: Final = "that only a GPU can measure"
_EVIDENCE: Final = (Column("evidence"), Column("metric", yielding=True))


def verdict_headline(verdict: Verdict, *, predicted: bool = False) -> str:
    """The verdict in one line; ``predicted`` if it rests on a prediction."""
    if verdict.bottleneck == DEBUG_BUILD:
        return f"Compiled for debugging ({DEBUG_BUILD}): profile a build without -G instead."
    if verdict.status is Status.BOTTLENECK:
        return f"Limited by {verdict.bottleneck}."
    if verdict.status is Status.AT_LIMIT:
        return f"At its limit: {verdict.bottleneck}."
    lead = find_lead(verdict)
    reason = _why_open(verdict, lead, predicted=predicted)
    return f"{lead}; not proven: {reason}." if lead else f"Inconclusive: {reason}."


def find_lead(verdict: Verdict) -> str:
    """What the evidence points to without deciding, with the fact that does; empty if nothing."""
    names = [each.bottleneck for each in verdict.also]
    fact = shown_lead(verdict)
    if not names:
        return f"Points to {fact.bottleneck} ({_inline(fact)})" if fact is not None else ""
    if len(names) > 2:
        return f"Could be {join_words(names, 'or')}"
    first = f"{names[0]} ({_inline(fact)})" if fact is not None else names[0]
    return f"Most likely {join_words([first, *names[1:]], 'or')}"


def shown_lead(verdict: Verdict) -> MetricFinding | None:
    """The finding that the headline of an undecided verdict quotes."""
    names = [each.bottleneck for each in verdict.also]
    if len(names) > 2 or verdict.status is not Status.INCONCLUSIVE:
        return None
    for each in verdict.findings:
        if each.bottleneck == names[0] if names else each.weight >= LEADING:
            return each if each.bottleneck else None
    return None


def other_findings(verdict: Verdict) -> tuple[MetricFinding, ...]:
    """The findings that the headline does not quote."""
    lead = shown_lead(verdict)
    return tuple(each for each in verdict.findings if each is not lead)


def _inline(finding: MetricFinding) -> str:
    text = finding.text.removesuffix(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _why_open(verdict: Verdict, lead: str, *, predicted: bool) -> str:
    if not verdict.missing:
        return "the metrics are not conclusive" if lead else "no rule explains the run time"
    if predicted:
        return "only a measurement can decide"
    return "the metrics to confirm it are missing" if lead else "decisive metrics are missing"


def verdict_cell(verdict: Verdict) -> str:
    """The verdict in a table."""
    return verdict.bottleneck or verdict.status.value


def gain_cell(verdict: Verdict) -> str:
    """The gain in a table."""
    if verdict.gain is not None and verdict.gain >= NO_GAIN_BELOW:
        return factor(verdict.gain)
    return "limit" if verdict.status is Status.AT_LIMIT else "-"


def time_saved(verdict: Verdict) -> float:
    """The part of a kernel's time, 0 to 1, that the fix saves by the estimate of its gain."""
    gain = verdict.gain
    if verdict.status is not Status.BOTTLENECK or gain is None or not gain >= NO_GAIN_BELOW:
        return 0.0
    return 1.0 - 1.0 / gain


def describe_gain(verdict: Verdict) -> str:
    """The gain as an estimate, ``about 2.5x (1.5x to 4.3x)``; empty where none is expected."""
    if verdict.gain is None or not verdict.gain >= NO_GAIN_BELOW:
        return ""
    text = f"about {factor(verdict.gain)}"
    if verdict.gain_interval is not None:
        low, high = verdict.gain_interval
        text += f" ({factor(low)} to {factor(high)})"
    return text


_UNSEEN: Final[Mapping[Subsystem, str]] = {
    Subsystem.DRAM: "bytes that are read more than once",
    Subsystem.L2: "bytes that are read more than once",
    Subsystem.L1: "values that are reloaded instead of kept in registers",
    Subsystem.SHARED: "values that are reloaded instead of kept in registers",
    Subsystem.PIPES: "arithmetic that a cheaper formula would avoid",
    Subsystem.INSTRUCTIONS: "instructions that a cheaper formula would avoid",
}


def describe_waste(verdict: Verdict) -> list[str]:
    """Which waste was looked for at a limit, and which no counter shows."""
    rule = load_rules().get(verdict.bottleneck or "")
    if rule is None or not verdict.waste or rule.subsystem not in _UNSEEN:
        return []
    shares = [f"{each.label} {quantity(each.value, each.unit)}" for each in verdict.waste]
    return [f"{', '.join(shares)}; counters cannot show {_UNSEEN[rule.subsystem]}"]


def less_work(verdict: Verdict) -> str:
    """The gain from halving the work of a unit at its limit; empty if there is none."""
    half, most = verdict.gain_if_halved, verdict.headroom
    if half is None or most is None or half < NO_GAIN_BELOW:
        return ""
    text = f"up to {factor(half)} with half the work"
    if factor(most) != factor(half) and most < NO_BOUND_FROM:
        text += f", {factor(most)} with even less"
    return text


def gain(verdict: Verdict) -> str:
    """The gain from removing the bottleneck, and how it was computed; empty if unknown."""
    reason = verdict.gain_reason
    if verdict.status is Status.AT_LIMIT:
        text = less_work(verdict)
        return f"{text}, computed from {reason}" if text and reason else text
    text = ", computed from ".join(filter(None, (describe_gain(verdict), reason)))
    others = _alternatives(verdict)
    return text + "".join(f"; fixing {each} instead would save the same time" for each in others)


def _alternatives(verdict: Verdict) -> list[str]:
    return [each.bottleneck for each in verdict.causes if each.alternative_to is not None]


def short_gain(verdict: Verdict) -> str:
    """The gain from removing the bottleneck, and what to fix instead; empty if unknown."""
    text, others = describe_gain(verdict), _alternatives(verdict)
    return f"{text}; or fix {join_words(others, 'or')} instead" if text and others else text


def describe_causes(verdict: Verdict, *, with_advice: bool = False) -> list[str]:
    """What limits the kernel after the fix of its bottleneck, a line each; empty if unknown."""
    lines = []
    for each in verdict.causes[1:]:
        if each.alternative_to is not None:
            continue
        text = f"then {each.bottleneck}, {factor(each.gain_after_previous)} more"
        if each.worse_alone:
            text += " (fixing only this would make the kernel slower)"
        elif each.gain < NO_GAIN_BELOW:
            text += " (fixing only this gains nothing)"
        if with_advice and each.advice:
            text += f": {each.advice[0]}"
        lines.append(text)
    if lines and verdict.next_limit is not None:
        lines.append(f"after these fixes, the limit is {verdict.next_limit}")
    return lines


def evidence_section(verdict: Verdict) -> Table:
    """The facts with their metrics."""
    rows = tuple(_row(each) for each in distinct_evidence(verdict))
    return Table(_EVIDENCE, rows, label="Evidence", headings=False)


def distinct_evidence(verdict: Verdict) -> list[Evidence]:
    """The facts of a verdict; those that candidates share once, with the threshold if any."""
    facts: dict[tuple[str, float], Evidence] = {}
    for each in verdict.evidence:
        same = facts.get((each.label, each.value))
        if same is None or same.threshold is None:
            facts[each.label, each.value] = each
    return list(facts.values())


def _row(each: Evidence) -> tuple[Cell, ...]:
    metric = (Span(each.metric, Tone.MUTED, code=True), Span(_origin(each), Tone.MUTED))
    return Cell(fact_text(each)), Cell(metric)


def fact_text(each: Evidence) -> str:
    """A fact in words: ``71 % of global-memory sectors are wasted (threshold 25 %)``."""
    phrase = each.phrase if isinstance(each, VerdictEvidence) else ""
    value, threshold = _value_and_threshold(each, has_unit="{n}" not in phrase)
    if not phrase:
        return f"{each.label} {value}{threshold}"
    text = phrase.replace("{x}", value).replace("{n}", value)
    singular = text.replace(f" {each.unit}s", f" {each.unit}") if value == "1" else text
    return f"{singular}{threshold}"


def _value_and_threshold(each: Evidence, *, has_unit: bool = True) -> tuple[str, str]:
    unit = each.unit if has_unit else ""
    value = rounded_quantity(each.value, unit)
    if each.threshold is None:
        return value, ""
    threshold = rounded_quantity(each.threshold, unit)
    if value == threshold and each.value != each.threshold:
        value = quantity(each.value, unit)
    return value, f" (threshold {threshold})"


def _origin(each: Evidence) -> str:
    """Where a value comes from; empty for a measured one and for a formula, which is listed."""
    if each.formula or each.source is Origin.MEASURED:
        return ""
    return f" ({_SOURCES[each.source]}{f': {format_interval(each)}' if each.ends else ''})"


def finding_bullets(verdict: Verdict, most: int | None = None) -> Bullets:
    """Facts that single values show, for a verdict that is open or of low confidence."""
    return Bullets(tuple(Span(each.text) for each in other_findings(verdict)[:most]))


def brief_verdict(verdict: Verdict) -> Iterable[Block]:
    """The verdict in a few lines: three facts, what to do and the gain."""
    if verdict.status is Status.INCONCLUSIVE and verdict.findings:
        yield finding_bullets(verdict, BRIEF_ROWS)
    else:
        first = distinct_evidence(verdict)[:BRIEF_ROWS]
        yield Table(
            _EVIDENCE[:1], tuple(_row(each)[:1] for each in first), label="Evidence", headings=False
        )
        metrics = {each.metric for each in first}
        more = tuple(each for each in verdict.findings if each.metric not in metrics)
        yield finding_bullets(replace(verdict, findings=more), BRIEF_ROWS)
    yield FactList(tuple(_brief_facts(verdict)))


def _brief_facts(verdict: Verdict) -> Iterable[Fact]:
    undecided = verdict.status is Status.INCONCLUSIVE
    if undecided and verdict.why and not verdict.missing:
        yield Fact("Why", (Span(verdict.why),))
    advice = verdict.advice[:1]
    if all(len(each) <= BRIEF_ADVICE for each in verdict.advice[:2]):
        advice = verdict.advice[:2]
    if advice:
        yield Fact("What to do", advice)
    if verdict.status is Status.AT_LIMIT:
        yield Fact("Waste", tuple(describe_waste(verdict)))
        if text := less_work(verdict):
            yield Fact("Less work", (text,))
    elif text := short_gain(verdict):
        yield Fact("Gain", (text,))
    if lines := describe_causes(verdict):
        yield Fact("Next", tuple(lines))
    if verdict.confidence is Confidence.LOW and verdict.notes:
        yield Fact("Note", verdict.notes[:1])


def guidance_section(
    verdict: Verdict, *, on_page: bool = False, predicted: bool = False
) -> Iterable[Block]:
    """What to do about a verdict; on a page nothing is left out but the folders of users."""
    hidden = without_homes if on_page else str
    entries = parts(verdict, everything=on_page, predicted=predicted)
    facts = [
        Fact(title, tuple(map(hidden, lines)), _TIPS.get(title, "")) for title, lines in entries
    ]
    lacking = [each for each in facts if on_page and each.label in _LACKING]
    yield FactList(tuple(each for each in facts if each not in lacking))
    for each in lacking:
        title = f"{each.label}: {count(len(each.lines), 'metric')}"
        yield Section(title, (FactList((each,)),), folded=True)


def parts(
    verdict: Verdict, *, everything: bool = False, predicted: bool = False
) -> list[tuple[str, list[str]]]:
    """The parts of a card below the evidence: titles with their lines."""
    undecided = verdict.status is Status.INCONCLUSIVE
    at_limit = verdict.status is Status.AT_LIMIT
    candidates = [_candidate(candidate) for candidate in verdict.also]
    # The headline of an open verdict already lists the candidates.
    listed = undecided and bool(verdict.missing)
    if everything:
        rules = [load_rules().get(each.bottleneck) for each in verdict.also]
        candidates = [
            f"{name}: {rule.detects}" if rule else name
            for name, rule in zip(candidates, rules, strict=True)
        ]
    elif undecided and candidates == [each.bottleneck for each in verdict.also]:
        candidates = []
    else:
        candidates = [", ".join(candidates)] if candidates else []
    made = [f"{each.label}: {each.formula}" for each in verdict.evidence if each.formula]
    missing = _missing(verdict, everything=everything)
    if predicted and missing:  # most that there is, and nobody chose to leave it out
        missing = [f"{count(len(verdict.missing), 'metric')} {_ONLY_ON_A_GPU}"]
    result = [
        ("Computed", [] if everything else made),
        ("Why", [verdict.why] if verdict.why and not listed else []),
        ("How" if everything else "What to do", list(verdict.advice)),
        ("Waste", describe_waste(verdict)),
        ("Less work" if at_limit else "Gain", [gain(verdict)]),
        ("Next", describe_causes(verdict)),
        ("Candidates" if undecided else "Runner-up", candidates),
        ("Note", list(verdict.notes)),
        ("Missing", missing),
    ]
    return [(title, lines) for title, lines in result if any(lines)]


def _candidate(candidate: Candidate) -> str:
    low, high = candidate.gain_at_least, candidate.gain_at_most
    if not NO_GAIN_BELOW <= high < NO_BOUND_FROM or low < NO_GAIN_BELOW:
        return candidate.bottleneck
    if factor(low) == factor(high):
        return f"{candidate.bottleneck} (about {factor(high)})"
    return f"{candidate.bottleneck} ({factor(low)} to {factor(high)})"


def _missing(verdict: Verdict, *, everything: bool) -> list[str]:
    most = MOST_MISSING if verdict.status is Status.INCONCLUSIVE else MOST_HELPFUL
    most = len(verdict.missing) if everything else most
    below = "" if verdict.command is None else ", collected by the command below"
    lines = [f"{each.ncu_name}: {each.why}" for each in verdict.missing[:most]]
    if len(verdict.missing) > most:
        lines.append(f"and {len(verdict.missing) - most} more{below}")
    return lines
