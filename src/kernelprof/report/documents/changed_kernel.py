"""A kernel of a comparison: what changed, with the charts of both sides where there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.comparison import words
from kernelprof.model.names import middle, printable, short_name
from kernelprof.model.numbers import count, number
from kernelprof.report.charts import bars, roofline
from kernelprof.report.document import (
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
    clip,
    counters_table,
    findings,
    inputs_table,
    launch_text,
    metrics_table,
    not_run,
    outcome_span,
    verdict_of,
)
from kernelprof.report.documents.changed_time import causes_fact, causes_section, fine, launches
from kernelprof.report.documents.verdict import about
from kernelprof.report.figures.measured import Medians, finite
from kernelprof.report.figures.multiprocessor import warp_states
from kernelprof.report.figures.roofline import both_sides

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.comparison import Comparison, KernelComparison
    from kernelprof.model.snapshot import KernelSnapshot
    from kernelprof.report.charts.parts import Row
    from kernelprof.report.document import Block, Text
    from kernelprof.report.documents.change_tables import Judged

MOST_ENTRIES: Final = 20
MOST_METRICS: Final = 10
DIFF_LINES: Final = 200
LEAST_STATE: Final = 0.005
"""States below this on both sides are left out."""

_DIFF_WIDTH: Final = 200
_NAME_WIDTH: Final = 400
_NO_CHANGE: Final = (
    "Nothing differs in what is known of the source, its options, its sizes and its launch."
)
_UNKNOWN: Final = (
    "What the kernels were built from is not known on both sides, so only the launch is compared."
)
_NO_TEXT: Final = "The sources differ, and their texts are not kept with both captures."
_REPEAT: Final = "These repeat to the last digit for the same code, so any difference is one."
_METRICS: Final = (
    "Percentages are of the unit's peak or of their whole; other bars are of the larger side."
)
_SIDES: Final = (Column(""), Column("Before"), Column("After"))


# With little room


def brief(each: Judged, comparison: Comparison, *, comment: bool) -> Section:
    """What there is to say beyond a row of the table; a ``comment`` has room for more."""
    kernel, result = each.kernel, each.result
    found = () if result is None else result.findings
    name = middle(printable(kernel.name), _NAME_WIDTH)
    blocks: list[Block] = [
        Paragraph((Span(name, code=True), f", {launch_text(kernel)}"), Tone.MUTED)
    ]
    if result is not None:
        blocks.append(findings(result, MOST_ENTRIES))
    made_of: Iterable[Fact] = ()
    if kernel.before is not None and kernel.after is not None:
        numbers = _medians(kernel.before, kernel.after, comparison)
        made_of = causes_fact(kernel, *numbers)
    blocks.append(Facts((*_facts(kernel, MOST_ENTRIES), *made_of)))
    blocks.append(inputs_table(kernel.inputs[:MOST_ENTRIES]))
    if result is None or comment:
        # Where there is little room, what the gate found says it all.
        blocks.append(counters_table(kernel.counters[:MOST_ENTRIES]))
    blocks.append(metrics_table(kernel.metrics[:MOST_METRICS]))
    if left_out := _left_out(kernel, len(found)):
        blocks.append(Paragraph(f"Left out: {left_out}.", Tone.MUTED))
    if kernel.diff and comment:
        blocks.append(Code(_diff(kernel.diff), language="diff"))
    return Section(each.code, tuple(blocks), folded=True, summary=Span(clip(each.gist), each.tone))


def _medians(
    before: KernelSnapshot, after: KernelSnapshot, comparison: Comparison
) -> tuple[Medians, Medians]:
    """The numbers of both sides."""
    return (
        Medians(before, comparison.before.machine),
        Medians(after, comparison.after.machine),
    )


def _facts(kernel: KernelComparison, most: int | None) -> Iterable[Fact]:
    if kernel.arch is None:
        yield Fact("Time", (Span(clip(words.time_text(kernel.time))),))
    if notes := words.notes(kernel)[:most]:
        yield Fact("Note", tuple(Span(clip(note)) for note in notes))
    if kernel.lacking:
        yield Fact("One side only", (Span(clip(", ".join(kernel.lacking))),))


def _left_out(kernel: KernelComparison, found: int) -> str:
    """How many entries of a card are not in it."""
    beyond = {
        "finding": found - MOST_ENTRIES,
        "counter": len(kernel.counters) - MOST_ENTRIES,
        "metric": len(kernel.metrics) - MOST_METRICS,
        "changed input": len(kernel.inputs) - MOST_ENTRIES,
        "note": len(words.notes(kernel)) - MOST_ENTRIES,
    }
    return ", ".join(count(more, f"more {noun}") for noun, more in beyond.items() if more > 0)


def _diff(diff: str) -> str:
    lines = diff.split("\n")
    shown = [clip(line.expandtabs(4), _DIFF_WIDTH) for line in lines[:DIFF_LINES]]
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
    did = words.counts_did(kernel) if predicted else words.outcome_text(kernel.time)
    pill: tuple[str | Span, ...] = (" ", Span(did, tone))
    if each.result is not None:
        pill = (*pill, " ", outcome_span(each.result))
    numbers = _medians(before, after, comparison)
    drawn = both_sides((before, after), numbers, comparison.machine)
    rows = roofline.rows(drawn.points, drawn.ceilings)
    label = "Roofline before and after, at each level of the memory"
    line = [Chart("roofline", rows, label)] if rows else []
    blocks: list[Block] = [*_answer(each, before, after)]
    blocks += [*causes_section(kernel, *numbers), *launches(kernel, before, after)]
    blocks += _changes(kernel)
    if not predicted:
        blocks.append(Section("Roofline", (*line, Note(Span(drawn.note)))))
    blocks += [*_states(*numbers), _inputs(kernel, before, after)]
    if kernel.diff:
        title = f"The source: {_diff_title(kernel.diff)}"
        blocks.append(Section(title, (Code(kernel.diff, language="diff"),)))
    return Section(
        (Span(each.name), *pill),
        tuple(blocks),
        anchor=anchor,
        tone=each.tone,
        folded=not alone,
        layout=Layout.HERO if alone else Layout.STACK,
        summary=Span(words.sentence(clip(words.headline(kernel)))),
    )


def _answer(each: Judged, before: KernelSnapshot, after: KernelSnapshot) -> Iterable[Block]:
    kernel, time = each.kernel, each.kernel.time
    names = [Span(clip(short_name(side.name)), code=True) for side in (before, after)]
    sides = ((before, time.before_ns), (after, time.after_ns))
    times = (_median(side.median_ns if ns is None else ns) for side, ns in sides)
    rows: list[tuple[Text, ...]] = [
        ("kernel", *(names if names[0] != names[1] else ("", ""))),
        ("time", *(times if kernel.arch is None else ("", ""))),
        ("verdict", *(verdict_of(side) for side, _ in sides)),
        ("confidence", *("" if not_run(e) else e.verdict.confidence.value for e, _ in sides)),
        ("expected gain", *(about(side.verdict) for side, _ in sides)),
        ("result check", *(_CHECKS[side.passed] for side, _ in sides)),
    ]
    cells = [tuple(map(Cell, row)) for row in rows if row[1] or row[2]]
    yield Table(_SIDES, tuple(cells), label="both sides")
    facts = [*_facts(kernel, None)]
    if any(time.samples):
        old, new = time.samples
        text = f"{count(old, 'launch')} each"
        if old != new:
            text = f"{old:,} launches before, {new:,} after"
        by = f", by {clip(time.how)}" if time.how else ""
        facts.append(Fact("Timed", (Span(text + by),)))
    yield Facts(tuple(facts))
    if each.result is not None:
        yield findings(each.result, None)
    if clip(after.name) != names[1].text:
        yield Paragraph(Span(clip(after.name), code=True), Tone.MUTED)
    yield Paragraph(Span(launch_text(kernel)), Tone.MUTED)


_CHECKS: Final = {None: "", True: "passed", False: "failed"}


def _median(nanoseconds: float | None) -> Text:
    value = finite(nanoseconds)
    return "not known" if value is None else Span(fine(value), Tone.STRONG)


def _diff_title(diff: str) -> str:
    """How much a diff changes; only its first two lines can be names of files."""
    lines = diff.split("\n")
    body = lines[2:] if lines[0].startswith("--- ") else lines
    removed, added = (sum(line.startswith(sign) for line in body) for sign in "-+")
    return f"{count(removed, 'line')} removed, {added:,} added"


def _changes(kernel: KernelComparison) -> Iterable[Section]:
    """Counters, and metrics with those that explain most at the top."""
    known = "" if kernel.after is None else not_run(kernel.after)
    text = f"It was {known}, so nothing was counted." if known else "No exact counter changed."
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
    """Warp states side by side, the largest first, and the sentence with the cycles."""
    found = [warp_states(each) for each in (before, after)]
    if found[0] is None or found[1] is None:
        return
    old, new = ({each.name: each for each in side.states} for side in found if side is not None)
    rows: list[Row] = []
    for name in sorted({*old, *new}, key=lambda each: (-_most(each, old, new), each)):
        if _most(name, old, new) < LEAST_STATE:
            break
        tip = (new.get(name) or old[name]).tip
        for side, known in (("Before", old), ("After", new)):
            part = known[name].share if name in known else 0.0
            rows.append({**bars.share_row(name, part), "side": side, "tip": tip})
    chart = Chart("states", tuple(rows), "Share of a warp's time by reason, before and after")
    blocks: list[Block] = [chart]
    cycles = [each.value("warp_cycles_per_instruction") for each in (before, after)]
    if cycles[0] and cycles[1]:
        blocks.append(
            Note(
                f"A warp issued an instruction every {number(cycles[0])} cycles before, and every "
                f"{number(cycles[1])} after."
            )
        )
    yield Section("Where a warp's time goes", tuple(blocks))


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
