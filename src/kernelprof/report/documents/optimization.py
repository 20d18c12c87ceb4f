"""What was tried for a kernel: what it brought, each proposal in a row, and the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.names import cut_middle, printable
from kernelprof.model.numbers import count, factor
from kernelprof.model.optimization import Attempt, Basis, Decision, Ended, Optimization
from kernelprof.report.document import (
    Block,
    Cell,
    CodeBlock,
    Column,
    Document,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
    answer,
)
from kernelprof.report.documents.verdict import verdict_cell, verdict_headline

if TYPE_CHECKING:
    from kernelprof.report.documents.comparison import Detail

_COLUMNS: Final = (
    Column("round", number=True),
    Column("decision"),
    Column("time", number=True),
    Column("verdict"),
    Column("why"),
)
_TONES: Final = {
    Decision.ACCEPTED: Tone.GOOD,
    Decision.NOT_BETTER: Tone.PLAIN,
    Decision.UNDECIDED: Tone.OPEN,
    Decision.NOTHING: Tone.MUTED,
}
_REASON: Final = 400
_BASES: Final = {
    Basis.MEASURED: "measured in alternating rounds on this machine",
    Basis.RECORDED: "according to captures that ship with kernelprof",
    Basis.PREDICTED: "according to predictions",
}


def document(optimization: Optimization, detail: Detail | None = None) -> Document:
    """All that was tried, in every format alike."""
    del detail
    ended = Paragraph(f"{_ended(optimization)} {_sources(optimization)}")
    tone = Tone.GOOD if optimization.accepted else Tone.OPEN
    blocks: list[Block] = [answer(_summary(optimization), ended, tone=tone)]
    blocks += [Note(each, warning=True) for each in optimization.notes]
    if optimization.attempts:
        rows = tuple(map(_row, optimization.attempts))
        blocks.append(Table(_COLUMNS, rows, label="What was proposed"))
    sides = (
        f"Before: {verdict_headline(optimization.first)} Now: {verdict_headline(optimization.last)}"
    )
    blocks.append(Paragraph(sides))
    if optimization.diff:
        code = CodeBlock("\n".join(map(printable, optimization.diff.split("\n"))), language="diff")
        blocks.append(Section("Changes kept", (code,), folded=True))
    return Document("kernelprof optimize", tuple(blocks), origin=optimization.source)


def _summary(optimization: Optimization) -> str:
    tried = count(len(optimization.attempts), "proposal")
    outcome = f"{len(optimization.accepted)} of {tried} kept"
    if not optimization.accepted:
        return f"{outcome}."
    ratio = optimization.ratio
    what = _change(ratio) if ratio else "a shorter time or lower counters"
    return f"{outcome}: {what}, {_BASES[optimization.basis]}."


def _change(ratio: float) -> str:
    """A time over the one before: ``12.1x faster``."""
    return f"{factor(1 / ratio)} faster" if ratio <= 1 else f"{factor(ratio)} slower"


def _ended(optimization: Optimization) -> str:
    match optimization.ended:
        case Ended.AT_LIMIT:
            return "The kernel is at its limit."
        case Ended.ROUNDS:
            return f"Ended after {count(int(optimization.limit or 0), 'round')}."
        case Ended.BUDGET:
            return f"Ended after {optimization.limit:g} s."
        case Ended.NOTHING:
            return "Ended because there was no further proposal."
        case Ended.TAMPERED:
            return "Ended because the kernel's own files changed during the run."
        case Ended.INTERRUPTED:
            return "Ended by an interrupt."


def _sources(optimization: Optimization) -> str:
    if optimization.changed:
        names = ", ".join(map(printable, optimization.changed))
        text = f"Another program changed {names}, so kernelprof did not replace the source."
        saved = f" The original files are in {optimization.saved}."
        return text + (saved if optimization.saved else "")
    if not optimization.accepted:
        return "The source is unchanged."
    if optimization.applied:
        return "The best source replaced the original."
    if optimization.ended is Ended.INTERRUPTED:
        return (
            "The source is unchanged: an interrupted run ignores --apply. It writes the best "
            "source only with --best FILE."
        )
    return "The source is unchanged; add --apply to replace it."


def _row(each: Attempt) -> tuple[Cell, ...]:
    time = "-" if each.ratio is None else _change(each.ratio)
    verdict = "-" if each.verdict is None else verdict_cell(each.verdict)
    return (
        Cell(str(each.number)),
        Cell(Span(each.decision.value, _TONES.get(each.decision, Tone.BAD))),
        Cell(time, sort=each.ratio or -1.0),
        Cell(Span(verdict, code=True)),
        Cell(Span(cut_middle(printable(each.reason), _REASON))),
    )
