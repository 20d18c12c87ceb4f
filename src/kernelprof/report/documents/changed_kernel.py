"""A kernel that is on both sides of a comparison: the card of it that a page shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import catalogue
from kernelprof.comparison import words
from kernelprof.launch.trial import timing_facts
from kernelprof.model.names import short_name
from kernelprof.model.numbers import count, factor, number, quantity, share
from kernelprof.report.charts import launches, roofline_change, states
from kernelprof.report.charts.parts import time_unit
from kernelprof.report.charts.states import State
from kernelprof.report.document import (
    Bar,
    Cell,
    Chart,
    Code,
    Column,
    Fact,
    Facts,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)
from kernelprof.report.documents.change_tables import (
    TIME_TONES,
    counters_table,
    explains_text,
    findings,
    inputs_table,
    launch_text,
    outcome_span,
    verdict_span,
)
from kernelprof.report.figures.measured import clip, finite
from kernelprof.report.figures.multiprocessor import warp_states
from kernelprof.report.figures.roofline_change import ROW, Medians, both_sides
from kernelprof.report.private import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.comparison import (
        InputChange,
        KernelComparison,
        MetricChange,
        TimeChange,
    )
    from kernelprof.model.snapshot import KernelSnapshot, Machine
    from kernelprof.report.document import Block, Text
    from kernelprof.report.documents.change_tables import Judged

MOST_DOTS: Final = 100
"""Launches of a side that are drawn; of more, every so many."""

MOST_BARS: Final = 8
LEAST_STATE: Final = 0.005
"""States below this on both sides are left out."""

_NO_CHANGE: Final = (
    "Nothing differs in what is known of the source, its options, its sizes and its launch."
)
_UNKNOWN: Final = (
    "What the kernels were built from is not known on both sides, so only the launch is compared."
)
_NO_TEXT: Final = "The sources differ, and their texts are not kept with both captures."
_SIDES: Final = (Column(""), Column("Before"), Column("After"))
_METRICS: Final = (
    Column("Metric"),
    Column("Before", number=True),
    Column("After", number=True),
    Column("Change", number=True),
    Column("Explains", number=True),
    Column("Meaning"),
)
_STATES: Final = (
    Column("Reason"),
    Column("Before", number=True),
    Column("After", number=True),
    Column("Meaning"),
)


@dataclass(frozen=True, slots=True)
class Known:
    """What a card needs beside its kernel: the machines of both sides, and how they differ."""

    machines: tuple[Machine, Machine]
    differences: Sequence[InputChange]
    anchor: str


def section(each: Judged, known: Known, *, alone: bool) -> Section:
    """Everything about a kernel before and after; one that is not ``alone`` can be folded."""
    kernel = each.kernel
    before, after = kernel.before, kernel.after
    assert before is not None  # the caller has looked
    assert after is not None
    pill: tuple[str | Span, ...] = (" ", Span(words.outcome_text(kernel.time), _tone(kernel)))
    if each.result is not None:
        pill = (*pill, " ", outcome_span(each.result))
    return Section(
        (Span(shown(" ".join(filter(None, each.label)))), *pill),
        (*_answer(each, before, after), *_panels(kernel, before, after, known)),
        anchor=known.anchor,
        tone=each.tone,
        folded=not alone,
        layout=Layout.HERO if alone else Layout.STACK,
        summary=words.sentence(shown(words.headline(kernel))),
    )


def fine(nanoseconds: float) -> str:
    """A time with four digits, also where two of them are behind the point: ``2.046 ms``."""
    size, unit = time_unit(nanoseconds)
    text = f"{nanoseconds / size:.4g}"
    return f"{text} {unit}" if "e" not in text else quantity(nanoseconds, "ns")


def finite_ratio(value: float | None) -> float | None:
    """A ratio that can be drawn and turned over."""
    known = finite(value)
    return known if known is not None and known > 0 and finite(1 / known) is not None else None


def _tone(kernel: KernelComparison) -> Tone:
    return TIME_TONES.get(kernel.time.outcome, Tone.STRONG)


# What happened


def _answer(each: Judged, before: KernelSnapshot, after: KernelSnapshot) -> Iterable[Block]:
    kernel, time = each.kernel, each.kernel.time
    if several := words.several_text(kernel):
        yield Note(Span(words.sentence(shown(several))), warning=True)
    rows = [
        ("time", _median(before, time.before_ns), _median(after, time.after_ns)),
        ("verdict", verdict_span(before.verdict), verdict_span(after.verdict)),
        ("confidence", before.verdict.confidence.value, after.verdict.confidence.value),
        ("gain at most", _gain(before), _gain(after)),
        ("result check", _check(before), _check(after)),
    ]
    names = [shown(short_name(side.name)) for side in (before, after)]
    if names[0] != names[1]:
        rows.insert(0, ("kernel", Span(names[0], code=True), Span(names[1], code=True)))
    cells = [tuple(map(Cell, row)) for row in rows if row[1] or row[2]]
    yield Table(_SIDES, tuple(cells), label="both sides")
    yield Facts(tuple(_figures(time)))
    if each.result is not None:
        yield findings(each.result, len(each.result.findings))
    if shown(after.name) != names[1]:
        yield Paragraph(Span(shown(after.name), code=True), Tone.MUTED)
    yield Paragraph(Span(launch_text(kernel)), Tone.MUTED)
    for note in kernel.notes:
        yield Note(Span(words.sentence(shown(note))))


def _median(kernel: KernelSnapshot, compared_ns: float | None) -> Text:
    """The time that was compared, or else what is known of it."""
    value = finite(compared_ns) if compared_ns is not None else finite(kernel.median_ns)
    return "not known" if value is None else Span(fine(value), Tone.STRONG)


def _gain(kernel: KernelSnapshot) -> str:
    gain = finite(kernel.verdict.gain)
    return factor(gain) if gain is not None and gain > 1 else ""


def _check(kernel: KernelSnapshot) -> str:
    return "" if kernel.passed is None else "passed" if kernel.passed else "failed"


def _figures(time: TimeChange) -> Iterable[Fact]:
    """The interval, the noise floor and the launches that the outcome rests on."""
    interval = words.interval_text(time)
    if interval:
        tip = "Bootstrap interval of the ratio of the medians."
        yield Fact("95 % interval of the change", (interval,), tip)
    floor = finite(time.floor)
    if floor is not None:
        yield Fact("noise floor", (words.percent(floor),), f"From {shown(time.floor_from)}.")
    if any(time.samples):
        before, after = time.samples
        text = f"{count(before, 'launch')} each"
        if before != after:
            text = f"{before:,} launches before, {after:,} after"
        by = f", by {shown(time.how)}" if time.how else ""
        yield Fact("timed", (Span(text + by),))


def _panels(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot, known: Known
) -> Iterable[Section]:
    numbers = Medians(before, known.machines[0]), Medians(after, known.machines[1])
    yield _times(kernel, before, after)
    yield _counters(kernel)
    yield from _metrics(kernel.metrics)
    drawn, note = both_sides((before, after), numbers, known.differences)
    blocks: list[Block] = [Note(Span(shown(note)))]
    if drawn is not None:
        label = "Roofline before and after, at each level of the memory"
        rows = roofline_change.rows(drawn.points, drawn.ceilings)
        blocks.insert(0, Chart("roofline_change", rows, label))
    yield Section("Roofline", tuple(blocks))
    yield from _states(*numbers)
    yield _inputs(kernel, before, after)
    if kernel.diff:
        title = f"The source: {_diff_title(kernel.diff)}"
        yield Section(title, (Code(kernel.diff, language="diff"),))


def _diff_title(diff: str) -> str:
    """How much a diff changes; only its first two lines can be names of files."""
    lines = diff.split("\n")
    body = lines[2:] if lines[0].startswith("--- ") else lines
    removed, added = (sum(line.startswith(sign) for line in body) for sign in "-+")
    return f"{count(removed, 'line')} removed, {added:,} added"


# Times


def _times(kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot) -> Section:
    blocks: list[Block] = []
    if reason := words.not_timed(kernel.time):
        blocks.append(Note(Span(shown(reason)), warning=True))
    sides = _launches(kernel, before, after)
    if sides is not None:
        label = f"Launches before and after. Before: {sides[0].text}. After: {sides[1].text}."
        rows = launches.rows(*sides, finite(kernel.time.floor))
        text = (
            "Each dot is a launch, in their order from top to bottom; the line across them is the "
            "median, with its 95 % interval as a band"
        )
        if any(row["what"] == "noise" for row in rows):
            text += "; grey is what counts as noise"
        blocks += [Chart(launches.kind(*sides), rows, label), Note(f"{text}.")]
    if reason := words.verdict_on_time(kernel.time):
        blocks.append(Paragraph(Span(shown(reason))))
    return Section("Time", tuple(blocks))


def _launches(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot
) -> tuple[launches.Side, launches.Side] | None:
    """Launches of both sides where they are timed alike; ``None`` where a side has none."""
    if kernel.time.how is None:
        return None
    events = before.events_ns and after.events_ns
    old = _side("Before", before.events_ns if events else before.profiled_ns)
    new = _side("After", after.events_ns if events else after.profiled_ns)
    return None if old is None or new is None else (old, new)


def _side(name: str, times_ns: Sequence[float]) -> launches.Side | None:
    known = [each for each in times_ns if (finite(each) or 0.0) > 0]
    if not known:
        return None
    facts = timing_facts(known, warm_up=0)
    every = -(-len(known) // MOST_DOTS)
    text = f"median {fine(facts.median_ns)}"
    if len(known) > 1:
        low, high = (_away(each, facts.median_ns) for each in (facts.low_ns, facts.high_ns))
        text += f", {count(len(known), 'launch')} within {low} and {high}"
    return launches.Side(
        name,
        tuple(each * 1e-9 for each in known[::every]),
        facts.median_ns * 1e-9,
        _seconds(facts.confidence_low_ns),
        _seconds(facts.confidence_high_ns),
        text,
    )


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds * 1e-9


def _away(end: float, median: float) -> str:
    """How far the shortest or the longest launch is from the median."""
    percent = 100 * (end / median - 1)
    return f"{'−' if percent < 0 else '+'}{abs(percent):.2g} %"


# Counters, metrics, warp states


def _counters(kernel: KernelComparison) -> Section:
    blocks: list[Block] = []
    if kernel.counters:
        text = "These repeat to the last digit for the same code, so any difference is one."
        blocks += [Note(text), counters_table(kernel.counters, "exact counters")]
    else:
        blocks.append(Paragraph("No exact counter changed."))
    if kernel.lacking:
        blocks.append(Note(Span(f"Only one side has {shown(', '.join(kernel.lacking))}.")))
    return Section("Exact counters", tuple(blocks))


def _metrics(changes: Sequence[MetricChange]) -> Iterable[Section]:
    """The metrics that explain most with bars, then all of them."""
    if not changes:
        return
    # Warp states have a chart of their own.
    most = [each for each in changes if not each.metric.startswith("stall_")][:MOST_BARS]
    rows = tuple(_metric(each, bars=True)[:-1] for each in most)
    text = (
        "Percentages are of the unit's peak or of their whole; other bars are of the larger side. "
        "A unit explains the part of the time's change by which its own busy time changed."
    )
    table = Table(_METRICS[:-1], rows, label="metrics that explain most")
    yield Section("Metrics that changed", (table, Note(text)))
    title = f"All metrics that changed ({len(changes)})"
    every = Table(_METRICS, tuple(map(_metric, changes)), label="changed metrics", long=True)
    yield Section(title, (every,), folded=True)


def _metric(change: MetricChange, *, bars: bool = False) -> tuple[Cell, ...]:
    known = catalogue().get(change.metric)
    unit = change.unit if known is None else known.unit
    old, new = finite(change.before) or 0.0, finite(change.after) or 0.0
    whole = 100.0 if unit == "%" else max(abs(old), abs(new))
    fills = [clip(abs(each) / whole) if whole else 0.0 for each in (old, new)]
    by = words.change_text(change.before, change.after)
    if unit == "%":
        by = f"{words.signed(new - old)} points"
    return (
        Cell(Span(shown(change.metric), code=True), tip="" if known is None else known.why),
        Cell(Span(quantity(change.before, shown(unit))), bar=Bar(fills[0]) if bars else None),
        Cell(Span(quantity(change.after, shown(unit))), bar=Bar(fills[1]) if bars else None),
        Cell(by),
        Cell(explains_text(change)),
        Cell("" if known is None else known.why),
    )


def _states(before: Medians, after: Medians) -> Iterable[Section]:
    """Warp states side by side, the largest first, and the sentence with the cycles."""
    found = [warp_states(each, ROW) for each in (before, after)]
    if found[0] is None or found[1] is None:
        return
    old, new = ({each.name: each for each in side.states} for side in found if side is not None)
    pairs = []
    for name in dict.fromkeys((*old, *new)):
        tip = (new.get(name) or old[name]).tip
        sides = (each[name].share if name in each else 0.0 for each in (old, new))
        pairs.append((State(name, *sides), tip))
    pairs = [each for each in pairs if max(each[0].before, each[0].after) >= LEAST_STATE]
    pairs.sort(key=lambda each: -max(each[0].before, each[0].after))
    label = "Share of a warp's time by reason, before and after"
    rows = [
        (Cell(each.name), Cell(share(each.before)), Cell(share(each.after)), Cell(tip))
        for each, tip in pairs
    ]
    table = Table(_STATES, tuple(rows), label="warp states")
    blocks: list[Block] = [
        Chart("states", states.rows(each for each, _ in pairs), label),
        Section("As a table", (table,), folded=True),
    ]
    cycles = [each.value("warp_cycles_per_instruction", ROW) for each in (before, after)]
    if cycles[0] and cycles[1]:
        blocks.append(
            Note(
                f"A warp issued an instruction every {number(cycles[0])} cycles before, and every "
                f"{number(cycles[1])} after."
            )
        )
    yield Section("Where a warp's time goes", tuple(blocks))


# Inputs


def _inputs(kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot) -> Section:
    blocks: list[Block] = [inputs_table(kernel.inputs, "changed inputs")] if kernel.inputs else []
    note = ""
    if before.inputs is None or after.inputs is None:
        note = _UNKNOWN
    elif not kernel.inputs:
        note = _NO_CHANGE
    elif before.inputs.source_sha256 != after.inputs.source_sha256 and not kernel.diff:
        note = _NO_TEXT
    if note:
        blocks.append(Note(note))
    return Section("What changed", tuple(blocks))
