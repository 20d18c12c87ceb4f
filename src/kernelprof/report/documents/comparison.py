"""What a comparison says: what happened in a line, the kernels in a table, a card for each.

The gate's document (:mod:`kernelprof.report.documents.gate`) is made of the same parts.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from kernelprof.comparison import words
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.gate import Code as GateCode
from kernelprof.model.gate import Outcome
from kernelprof.model.names import middle, printable
from kernelprof.model.numbers import count
from kernelprof.report.document import (
    Cell,
    Code,
    Column,
    Document,
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
    MOST_ENTRIES,
    Judged,
    clip,
    counters_table,
    findings,
    inputs_table,
    judged,
    launch_text,
    metrics_table,
    outcome_span,
    time_cell,
    time_span,
    verdict_change,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.comparison import (
        Comparison,
        InputChange,
        KernelComparison,
    )
    from kernelprof.report.document import Block, Text

MOST_ROWS: Final = 30
MOST_CARDS: Final = 20
MOST_METRICS: Final = 10
MOST_REMARKS: Final = 8
DIFF_LINES: Final = 200

_DIFF_WIDTH: Final = 200
_NAME_WIDTH: Final = 400
_REMARK_WIDTH: Final = 100

_COLUMNS: Final = (
    Column("kernel", yielding=True),
    Column("before", number=True, optional=True),
    Column("after", number=True, optional=True),
    Column("time"),
    Column("verdict"),
)
_OUTCOME: Final = Column("outcome")
_TIME_CODES: Final = frozenset(
    {
        GateCode.SLOWER,
        GateCode.FASTER,
        GateCode.TIME_UNDECIDED,
        GateCode.TIME_UNKNOWN,
        GateCode.OTHER_WORK,
    }
)


class Detail(StrEnum):
    """How much a document says."""

    BRIEF = "brief"
    """What a terminal has room for."""
    COMMENT = "comment"
    """The same with the difference of the sources, for a comment on a pull request."""
    FULL = "full"
    """Everything, with charts, for a page."""


def document(
    comparison: Comparison, detail: Detail = Detail.BRIEF, *, command: str = ""
) -> Document:
    """What happened between two captures; ``command`` is what was typed, for a page."""
    if detail is Detail.FULL:
        from kernelprof.report.documents import comparison_page

        return comparison_page.of_comparison(comparison, command)
    kernels = judged(comparison.kernels)
    answer = Section(
        kernels[0].name if len(kernels) == 1 else "",
        (),
        tone=_whole_tone(comparison),
        layout=Layout.HERO,
        summary=Span(clip(words.summary(comparison))),
    )
    blocks = [answer, *brief(comparison, kernels, detail)]
    return Document("kernelprof compare", tuple(blocks))


def brief(comparison: Comparison, kernels: Sequence[Judged], detail: Detail) -> Iterable[Block]:
    """Where the sides come from, the kernels in a table, and cards for those with more to say."""
    before, after = (
        Span(middle(printable(side.origin), _NAME_WIDTH), code=True)
        for side in (comparison.before, comparison.after)
    )
    yield Paragraph(("Before: ", before, ", after: ", after, "."))
    for note in comparison.notes[:3]:
        yield Note(Span(clip(note)), warning=True)
    for change in comparison.machine[:MOST_REMARKS]:
        yield Note(_change_text(change), warning=True)
    gated = any(each.result is not None for each in kernels)
    shown = kernels[:MOST_ROWS]
    columns = (*_COLUMNS, _OUTCOME) if gated else _COLUMNS
    if detail is not Detail.BRIEF or len(kernels) > 1:
        yield Table(columns, tuple(_row(each) for each in shown), label="Kernels")
    if more := _more(kernels[len(shown) :]):
        yield Paragraph(more, Tone.MUTED)
    telling = [each for each in kernels if _has_more(each)]
    for each in telling[:MOST_CARDS]:
        summary = Span(clip(each.gist), each.tone)
        yield Section(each.name, tuple(_card(each, detail)), folded=True, summary=summary)
    if len(telling) > MOST_CARDS:
        left = count(len(telling) - MOST_CARDS, "more kernel")
        yield Paragraph(f"The details of {left} are left out: `--format json` has all.", Tone.MUTED)


def _whole_tone(comparison: Comparison) -> Tone:
    outcomes = {each.time.outcome for each in comparison.kernels}
    if TimeOutcome.SLOWER in outcomes:
        return Tone.BAD
    return Tone.GOOD if TimeOutcome.FASTER in outcomes else Tone.STRONG


def _change_text(change: InputChange) -> Text:
    before, after = (
        Span(clip(text, _REMARK_WIDTH) if text else "none", code=bool(text))
        for text in (change.before, change.after)
    )
    return (Span(clip(change.what, _REMARK_WIDTH)), ": ", before, " before, ", after, " after")


def _row(each: Judged) -> tuple[Cell, ...]:
    kernel, time = each.kernel, each.kernel.time
    cells = [
        Cell(each.name),
        Cell(time_cell(time.before_ns, kernel.before)),
        Cell(time_cell(time.after_ns, kernel.after)),
        Cell(time_span(kernel)),
        Cell(verdict_change(kernel)),
    ]
    return tuple(cells if each.result is None else [*cells, Cell(outcome_span(each.result))])


def _more(kernels: Sequence[Judged]) -> str:
    """The line under a table that does not show all kernels."""
    if not kernels:
        return ""
    text = f"and {count(len(kernels), 'more kernel')}"
    outcomes = [each.result.outcome for each in kernels if each.result is not None]
    found = [
        f"{outcomes.count(each)} {each.value}" for each in reversed(Outcome) if each in outcomes
    ]
    return f"{text}: {', '.join(found)}" if found else text


def _has_more(each: Judged) -> bool:
    """Whether there is anything to say beyond the row of the table."""
    kernel, result = each.kernel, each.result
    if result is not None and result.ignored:
        return False
    if result is not None and result.outcome is not Outcome.PASS:
        return True
    return bool(
        kernel.counters
        or kernel.lacking
        or kernel.inputs
        or words.notes(kernel)
        or kernel.diff
        or kernel.verdict_changed
        or kernel.time.outcome not in {TimeOutcome.SAME, TimeOutcome.NOT_MEASURED}
    )


def _card(each: Judged, detail: Detail) -> Iterable[Block]:
    kernel = each.kernel
    found = () if each.result is None else each.result.findings
    name = middle(printable(kernel.name), _NAME_WIDTH)
    yield Paragraph((Span(name, code=True), f", {launch_text(kernel)}"), Tone.MUTED)
    if each.result is not None:
        yield findings(each.result)
    facts = []
    if not any(finding.code in _TIME_CODES for finding in found):
        facts.append(Fact("Time", (Span(clip(words.time_text(kernel.time))),)))
    notes = words.notes(kernel)
    if notes:
        facts.append(Fact("Note", tuple(Span(clip(note)) for note in notes[:MOST_ENTRIES])))
    if kernel.lacking:
        facts.append(Fact("One side only", (Span(clip(", ".join(kernel.lacking))),)))
    yield Facts(tuple(facts))
    yield inputs_table(kernel.inputs[:MOST_ENTRIES])
    if each.result is None or detail is not Detail.BRIEF:
        # Where there is little room, what the gate found says it all.
        yield counters_table(kernel.counters[:MOST_ENTRIES])
    yield metrics_table(kernel.metrics[:MOST_METRICS])
    left_out = _left_out(kernel, len(found), len(notes))
    if left_out:
        yield Paragraph(f"Left out: {left_out}.", Tone.MUTED)
    if kernel.diff and detail is not Detail.BRIEF:
        yield Code(_diff(kernel.diff), language="diff")


def _left_out(kernel: KernelComparison, found: int, notes: int) -> str:
    """How many entries of a card are not in it."""
    beyond = {
        "finding": found - MOST_ENTRIES,
        "counter": len(kernel.counters) - MOST_ENTRIES,
        "metric": len(kernel.metrics) - MOST_METRICS,
        "changed input": len(kernel.inputs) - MOST_ENTRIES,
        "note": notes - MOST_ENTRIES,
    }
    return ", ".join(count(more, f"more {noun}") for noun, more in beyond.items() if more > 0)


def _diff(diff: str) -> str:
    lines = diff.split("\n")
    shown = [clip(line.expandtabs(4), _DIFF_WIDTH) for line in lines[:DIFF_LINES]]
    if len(lines) > DIFF_LINES:
        shown.append(f"... {count(len(lines) - DIFF_LINES, 'more line')}")
    return "\n".join(shown)
