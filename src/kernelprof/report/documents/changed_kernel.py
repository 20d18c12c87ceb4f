"""A kernel of a comparison: what changed, with the charts of both sides where there is room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.comparison import words
from kernelprof.launch.run.trial import timing_facts
from kernelprof.model.names import cut_middle, printable, sentence, short_name
from kernelprof.model.numbers import count, number, quantity
from kernelprof.report.charts import bars, roofline
from kernelprof.report.charts.bars import waterfall_step
from kernelprof.report.charts.drawing import tidy, time_unit
from kernelprof.report.charts.times import LaunchTimes, NoiseBand
from kernelprof.report.document import (
    Block,
    Bullets,
    Cell,
    Chart,
    CodeBlock,
    Column,
    Fact,
    FactList,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
    Tone,
)
from kernelprof.report.documents.change_tables import (
    TIME_TONES,
    Judged,
    clip_text,
    counters_table,
    inputs_table,
    launch_text,
    list_findings,
    metrics_table,
    not_run,
    outcome_span,
    verdict_of,
)
from kernelprof.report.documents.verdict import describe_gain
from kernelprof.report.figures.measured import Medians, Numbers, finite
from kernelprof.report.figures.multiprocessor import IN_WORDS, warp_states
from kernelprof.report.figures.roofline import both_sides

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.comparison import Comparison, KernelComparison
    from kernelprof.model.snapshot import KernelSnapshot

MOST: Final = 3
EVERYTHING_ELSE: Final = "everything else"
LEAST: Final = 0.05
"""Part of the change from which a cause is named."""


@dataclass(frozen=True, slots=True)
class Causes:
    """A change of the time, in nanoseconds: its largest causes, and what is left of it."""

    before_ns: float
    after_ns: float
    largest: tuple[tuple[str, float], ...]
    rest_ns: float

    @property
    def parts(self) -> tuple[tuple[str, float], ...]:
        """All parts of the change, the rest last."""
        remaining = ((EVERYTHING_ELSE, self.rest_ns),) if self.rest_ns else ()
        return (*self.largest, *remaining)


def find_causes(
    before: Numbers, after: Numbers, before_ns: float, after_ns: float
) -> Causes | None:
    """The change between two sides; ``None`` where the states of warps are not known on both."""
    sides = [warp_states(each) for each in (before, after)]
    change = after_ns - before_ns
    if sides[0] is None or sides[1] is None or not change:
        return None
    old, new = ({each.name: each.share for each in side.states} for side in sides if side)
    moved = {
        name: new.get(name, 0.0) * after_ns - old.get(name, 0.0) * before_ns
        for name in {*old, *new}
    }
    along = {name: part for name, part in moved.items() if part * change > 0}
    total = sum(along.values())
    if not total:
        return None
    scale = min(change / total, 1.0)
    ordered = sorted(along.items(), key=lambda each: (-abs(each[1]), each[0]))
    parts = tuple(
        (IN_WORDS.get(name, name), part * scale)
        for name, part in ordered[:MOST]
        if abs(part * scale) >= LEAST * abs(change)
    )
    return Causes(before_ns, after_ns, parts, change - sum(part for _, part in parts))


NEAR: Final = 1.25
"""Ratio of the medians below which an axis from zero would hide the difference."""

MOST_DOTS: Final = 100
"""Launches of a side that are drawn; of more, every so many."""

_DOTS: Final = (
    "Each dot is a launch, in order from top to bottom; the line across the dots is the "
    "median, with its 95 % interval as a band"
)
_CAUSES: Final = (
    "Split by warp state: each warp is in one state at any time. States that changed "
    "against the change of the kernel time are left out, and the others are scaled down to add up "
    "to it."
)


def format_time(nanoseconds: float, digits: int = 4) -> str:
    """A time with so many digits, also where they are behind the point: ``2.046 ms``."""
    size, unit = time_unit(nanoseconds)
    text = f"{nanoseconds / size:.{digits}g}"
    return f"{text} {unit}" if "e" not in text else quantity(nanoseconds, "ns")


def launches(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot
) -> Iterable[Section]:
    """Launches of both sides where they are timed alike."""
    events = before.events_ns and after.events_ns
    sides = {
        name: [
            each
            for each in (side.events_ns if events else side.profiled_ns)
            if (finite(each) or 0.0) > 0
        ]
        for name, side in (("Before", before), ("After", after))
    }
    if kernel.time.measured_by is None or not all(sides.values()):
        return
    rows: list[LaunchTimes | NoiseBand] = []
    sentences: list[str] = []
    medians: list[float] = []
    for name, times in sides.items():
        facts = timing_facts(times, warm_up=0)
        middle = facts.median_ns
        low, high = facts.confidence_low_ns or middle, facts.confidence_high_ns or middle
        medians.append(middle)
        text = f"{name}: median {format_time(middle)}"
        if len(times) > 1:
            text += f", {count(len(times), 'launch')} between {format_time(facts.low_ns)} and "
            text += format_time(facts.high_ns)
        sentences.append(f"{text}.")
        drawn = tuple(map(_seconds, times[:: -(-len(times) // MOST_DOTS)]))
        rows.append(LaunchTimes(name, drawn, *map(_seconds, (middle, low, high))))
    near, floor = max(medians) < NEAR * min(medians), finite(kernel.time.noise_floor)
    text = f"{_DOTS}."
    if near and floor:
        rows.append(NoiseBand(*(_seconds(medians[0] * (1 + sign * floor)) for sign in (-1, 1))))
        text = f"{_DOTS}; differences within the grey area count as noise."
    chart = Chart("launches:near" if near else "launches", tuple(rows), " ".join(sentences))
    yield Section("Time", (chart, Note(" ".join((*sentences, text)))))


def causes_section(kernel: KernelComparison, before: Medians, after: Medians) -> Iterable[Section]:
    """What the change of the time is made of, where there is one that was concluded."""
    change = _causes(kernel, before, after)
    if change is None:
        return
    rows = [
        waterfall_step("Before", 0.0, change.before_ns, "before", format_time(change.before_ns))
    ]
    at = change.before_ns
    for (name, part), amount in zip(change.parts, _of_change(change), strict=True):
        look = "rest" if name == EVERYTHING_ELSE else "more" if part > 0 else "less"
        rows.append(waterfall_step(name, at, at + part, look, amount))
        at += part
    rows.append(
        waterfall_step("After", 0.0, change.after_ns, "first", format_time(change.after_ns))
    )
    label = "Contribution of each warp state to the change in kernel time"
    counters = [words.counter_text(each) for each in kernel.counters if each.worse is not None]
    bullets = (Bullets(tuple(map(Span, counters[:MOST]))),) if counters else ()
    chart = Chart("waterfall", tuple(rows), label)
    yield Section("What changed the time", (chart, *bullets, Note(_CAUSES)))


def causes_fact(kernel: KernelComparison, before: Medians, after: Medians) -> Iterable[Fact]:
    """The same in lines: each part of the change, in percent of it."""
    change = _causes(kernel, before, after)
    if change is not None:
        amounts = zip(change.parts, _of_change(change), strict=True)
        yield Fact("What changed it", tuple(f"{name}: {text}" for (name, _), text in amounts))


def _causes(kernel: KernelComparison, before: Medians, after: Medians) -> Causes | None:
    times = finite(kernel.time.before_ns), finite(kernel.time.after_ns)
    if kernel.time.outcome not in TIME_TONES or times[0] is None or times[1] is None:
        return None
    return find_causes(before, after, times[0], times[1])


def _of_change(causes: Causes) -> list[str]:
    """Each part with its percentage of the change, ``+436 µs, 38 %``: they add up to the whole."""
    change, left, amounts = causes.after_ns - causes.before_ns, 100, []
    for name, part in causes.parts:
        percent = left if name == EVERYTHING_ELSE else min(round(100 * part / change), left)
        left -= percent
        of_change = f"{percent} %" if percent else "~0 %"
        amounts.append(f"{'+' if part > 0 else '−'}{format_time(abs(part), 3)}, {of_change}")
    return amounts


def _seconds(nanoseconds: float) -> float:
    """Nine digits: launches of one kernel differ in the fifth."""
    return tidy(nanoseconds * 1e-9, 9)


MOST_ENTRIES: Final = 20
MOST_METRICS: Final = 10
DIFF_LINES: Final = 200
LEAST_STATE: Final = 0.005
"""States below this on both sides are left out."""

_DIFF_WIDTH: Final = 200
_NAME_WIDTH: Final = 400
_NO_CHANGE: Final = "Source, options, sizes and launch do not differ."
_UNKNOWN: Final = (
    "At least one capture does not record source, options and sizes, so this section compares "
    "only grid and block."
)
_NO_TEXT: Final = "The sources differ, but one capture does not contain the source text to compare."
_REPEAT: Final = "These counters repeat exactly for the same code, so any difference is real."
_METRICS: Final = (
    "For percentages, a full bar is 100 % of the peak or of the total. For other metrics, it is "
    "the larger of the two values."
)
_SIDES: Final = (Column(""), Column("Before"), Column("After"))


# With little room


def brief(each: Judged, comparison: Comparison, *, comment: bool) -> Section:
    """What there is to say beyond a row of the table; a ``comment`` has room for more."""
    kernel, result = each.kernel, each.result
    reasons = () if result is None else result.findings
    name = cut_middle(printable(kernel.name), _NAME_WIDTH)
    blocks: list[Block] = [
        Paragraph((Span(name, code=True), f", {launch_text(kernel)}"), Tone.MUTED)
    ]
    if result is not None:
        blocks.append(list_findings(result, MOST_ENTRIES))
    made_of: Iterable[Fact] = ()
    if kernel.before is not None and kernel.after is not None:
        numbers = _medians(kernel.before, kernel.after, comparison)
        made_of = causes_fact(kernel, *numbers)
    blocks.append(FactList((*_facts(kernel, MOST_ENTRIES), *made_of)))
    blocks.append(inputs_table(kernel.inputs[:MOST_ENTRIES]))
    if result is None or comment:
        # Where there is little room, what the gate found says it all.
        blocks.append(counters_table(kernel.counters[:MOST_ENTRIES]))
    blocks.append(metrics_table(kernel.metrics[:MOST_METRICS]))
    if left_out := _left_out(kernel, len(reasons)):
        blocks.append(Paragraph(f"Left out: {left_out}.", Tone.MUTED))
    if kernel.diff and comment:
        blocks.append(CodeBlock(_diff(kernel.diff), language="diff"))
    return Section(
        each.code, tuple(blocks), folded=True, summary=Span(clip_text(each.gist), each.tone)
    )


def _medians(
    before: KernelSnapshot, after: KernelSnapshot, comparison: Comparison
) -> tuple[Medians, Medians]:
    machines = comparison.before.machine, comparison.after.machine
    return Medians(before, machines[0]), Medians(after, machines[1])


def _facts(kernel: KernelComparison, most: int | None) -> Iterable[Fact]:
    if kernel.arch is None:
        yield Fact("Time", (Span(clip_text(words.time_text(kernel.time))),))
    elif kernel.time.ratio:
        yield Fact("Predicted time", (words.predicted_time_text(kernel.time),))
    if notes := words.notes(kernel)[:most]:
        yield Fact("Note", tuple(Span(clip_text(note)) for note in notes))
    if kernel.lacking:
        yield Fact("Counters in one version only", (Span(clip_text(", ".join(kernel.lacking))),))


def _left_out(kernel: KernelComparison, shown: int) -> str:
    beyond = {
        "finding": shown - MOST_ENTRIES,
        "counter": len(kernel.counters) - MOST_ENTRIES,
        "metric": len(kernel.metrics) - MOST_METRICS,
        "changed input": len(kernel.inputs) - MOST_ENTRIES,
        "note": len(words.notes(kernel)) - MOST_ENTRIES,
    }
    return ", ".join(count(more, f"more {noun}") for noun, more in beyond.items() if more > 0)


def _diff(diff: str) -> str:
    lines = diff.split("\n")
    shown = [clip_text(line.expandtabs(4), _DIFF_WIDTH) for line in lines[:DIFF_LINES]]
    if len(lines) > DIFF_LINES:
        shown.append(f"... {count(len(lines) - DIFF_LINES, 'more line')}")
    return "\n".join(shown)


# On a page


def section(each: Judged, comparison: Comparison, anchor: str, *, alone: bool) -> Section:
    """Everything about a kernel before and after; one that is not ``alone`` can be folded."""
    kernel = each.kernel
    before, after = kernel.before, kernel.after
    assert before is not None  # the caller has looked
    assert after is not None
    tone = TIME_TONES.get(kernel.time.outcome, Tone.STRONG)
    predicted = kernel.arch is not None
    did = words.prediction_did(kernel) if predicted else words.outcome_text(kernel.time)
    pill: tuple[str | Span, ...] = (" ", Span(did, tone))
    if each.result is not None:
        pill = (*pill, " ", outcome_span(each.result))
    numbers = _medians(before, after, comparison)
    drawn = both_sides((before, after), numbers, comparison.machine)
    rows = roofline.rows(drawn.points, drawn.ceilings)
    label = "Roofline before and after, at each memory level"
    line = [Chart("roofline", rows, label)] if rows else []
    blocks: list[Block] = [*_answer(each, before, after)]
    blocks += [*causes_section(kernel, *numbers), *launches(kernel, before, after)]
    blocks += _changes(kernel)
    if not predicted:
        blocks.append(Section("Roofline", (*line, Note(Span(drawn.note)))))
    blocks += [*_states(*numbers), _inputs(kernel, before, after)]
    if kernel.diff:
        title = f"The source: {_diff_title(kernel.diff)}"
        blocks.append(Section(title, (CodeBlock(kernel.diff, language="diff"),)))
    return Section(
        (Span(each.name), *pill),
        tuple(blocks),
        anchor=anchor,
        tone=each.tone,
        folded=not alone,
        layout=Layout.HERO if alone else Layout.STACK,
        summary=Span(sentence(clip_text(words.headline(kernel)))),
    )


def _answer(each: Judged, before: KernelSnapshot, after: KernelSnapshot) -> Iterable[Block]:
    kernel, time = each.kernel, each.kernel.time
    names = [Span(clip_text(short_name(side.name)), code=True) for side in (before, after)]
    sides = ((before, time.before_ns), (after, time.after_ns))
    medians = [finite(side.median_ns if ns is None else ns) for side, ns in sides]
    times = ("not known" if ns is None else Span(format_time(ns), Tone.STRONG) for ns in medians)
    rows: list[tuple[Text, ...]] = [
        ("kernel", *(names if names[0] != names[1] else ("", ""))),
        ("time", *(times if kernel.arch is None else ("", ""))),
        ("verdict", *(verdict_of(side) for side, _ in sides)),
        ("confidence", *("" if not_run(e) else e.verdict.confidence.value for e, _ in sides)),
        ("expected gain", *(describe_gain(side.verdict) for side, _ in sides)),
        ("result check", *(_CHECKS[side.passed] for side, _ in sides)),
    ]
    cells = [tuple(map(Cell, row)) for row in rows if row[1] or row[2]]
    yield Table(_SIDES, tuple(cells), label="both sides")
    facts = [*_facts(kernel, None)]
    old, new = time.samples.before, time.samples.after
    if old or new:
        text = f"{count(old, 'launch')} each"
        if old != new:
            text = f"{old:,} launches before, {new:,} after"
        by = f", by {clip_text(time.measured_by)}" if time.measured_by else ""
        facts.append(Fact("Timed", (Span(text + by),)))
    yield FactList(tuple(facts))
    if each.result is not None:
        yield list_findings(each.result, None)
    if clip_text(after.name) != names[1].text:
        yield Paragraph(Span(clip_text(after.name), code=True), Tone.MUTED)
    yield Paragraph(Span(launch_text(kernel)), Tone.MUTED)


_CHECKS: Final = {None: "", True: "passed", False: "failed"}


def _diff_title(diff: str) -> str:
    """How much a diff changes; only its first two lines can be names of files."""
    lines = diff.split("\n")
    body = lines[2:] if lines[0].startswith("--- ") else lines
    removed, added = (sum(line.startswith(sign) for line in body) for sign in "-+")
    return f"{count(removed, 'line')} removed, {added:,} added"


def _changes(kernel: KernelComparison) -> Iterable[Section]:
    reason = "" if kernel.after is None else not_run(kernel.after)
    text = f"Nothing counted: the kernel was {reason}." if reason else "No exact counter changed."
    blocks: tuple[Block, ...] = (Paragraph(text),)
    if kernel.counters:
        blocks = (Note(_REPEAT), counters_table(kernel.counters))
    yield Section("Exact counters", blocks)
    if kernel.metrics:
        # Warp states have a chart of their own.
        most = [each for each in kernel.metrics if not each.metric.startswith("stall_")]
        table = metrics_table(most[:MOST_METRICS], "metrics that changed most")
        yield Section("Metrics that changed", (table, Note(_METRICS)))
        title = f"All metrics that changed ({len(kernel.metrics)})"
        every = metrics_table(kernel.metrics, "changed metrics", long=True)
        yield Section(title, (every,), folded=True)


def _states(before: Medians, after: Medians) -> Iterable[Section]:
    both = [warp_states(each) for each in (before, after)]
    if both[0] is None or both[1] is None:
        return
    old, new = ({each.name: each for each in side.states} for side in both if side is not None)
    rows = []
    for name in sorted({*old, *new}, key=lambda each: (-_most(each, old, new), each)):
        if _most(name, old, new) < LEAST_STATE:
            break
        tip = (new.get(name) or old[name]).tip
        for side, look, state in (("before", "fill before", old), ("after", "fill first", new)):
            part = state[name].share if name in state else 0.0
            rows.append(bars.share_row(bars.Share(name, part, tip), look, side))
    chart = Chart("states", tuple(rows), "Share of a warp's time in each state, before and after")
    blocks: list[Block] = [chart]
    cycles = [each.value("warp_cycles_per_instruction") for each in (before, after)]
    if cycles[0] and cycles[1]:
        text = f"Warp cycles per issued instruction: {number(cycles[0])} before, "
        blocks.append(Note(f"{text}{number(cycles[1])} after."))
    yield Section("Warp states", tuple(blocks))


def _most(name: str, *sides: dict[str, bars.Share]) -> float:
    return max(side[name].share for side in sides if name in side)


def _inputs(kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot) -> Section:
    note = ""
    if before.inputs is None or after.inputs is None:
        note = _UNKNOWN
    elif not kernel.inputs:
        note = _NO_CHANGE
    elif before.inputs.source_sha256 != after.inputs.source_sha256 and not kernel.diff:
        note = _NO_TEXT
    table = (inputs_table(kernel.inputs),) if kernel.inputs else ()
    return Section("What changed", (*table, *([Note(note)] if note else ())))
