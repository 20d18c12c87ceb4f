"""What a prediction says beside its verdict: on what that rests, and each access by its line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kernelprof.model.numbers import count, number, share
from kernelprof.report.document import (
    Cell,
    Column,
    LineNote,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)
from kernelprof.report.figures.accesses import LOCAL, Waste, accesses
from kernelprof.report.private import file_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.prediction import Predicted, PredictionFacts
    from kernelprof.report.document import Block
    from kernelprof.report.figures.accesses import Moved

BRIEF_ROWS: Final = 3
"""Rows of a short card."""

_REQUESTS: Final = Column("requests", number=True, optional=True)
_COLUMNS: Final = (
    Column("line", number=True),
    Column("code", yielding=True),
    Column("access"),
    _REQUESTS,
    Column("a request", number=True),
    Column("ideal", number=True),
    Column("needless", number=True),
)
_TONES: Final = {Waste.OF_THE_KERNEL: Tone.BAD, Waste.OF_THE_LINE: Tone.STRONG}
_LABEL: Final = "Accesses to memory by line"
_IDEAL: Final = (
    "Sectors of 32 bytes, or wavefronts of shared memory, that a request of a warp takes on "
    "average, and how many the same accesses would take with adjacent addresses. Both follow from "
    "the addresses that the machine code computes."
)


def of(diagnosis: object) -> tuple[PredictionFacts, str | None] | None:
    """What a diagnosis was predicted from, with the text of the source; ``None``: measured."""
    capture: Any = getattr(diagnosis, "capture", None)
    if capture is None or capture.contents.prediction is None:
        return None
    return capture.contents.prediction, capture.contents.source_text


def basis(counted: Predicted) -> str:
    """On what a verdict rests, in a part of a sentence."""
    ran = f"{counted.blocks_run:,} of {count(counted.blocks, 'block')} run"
    return f"predicted from machine code for {counted.arch}, not measured: {ran}"


def in_a_sentence(counted: Predicted) -> str:
    """The same by itself."""
    text = basis(counted)
    return f"{text[:1].upper()}{text[1:]}."


def brief(prediction: PredictionFacts, text: str | None) -> Iterable[Block]:
    """The accesses with most that is needless, in a few rows."""
    wasting = [each for each in accesses(prediction) if each.waste is not Waste.NONE]
    if wasting:
        full = table(prediction, wasting[:BRIEF_ROWS], text)
        at = _COLUMNS.index(_REQUESTS)
        rows = tuple((*row[:at], *row[at + 1 :]) for row in full.rows)
        yield replace(full, columns=(*_COLUMNS[:at], *_COLUMNS[at + 1 :]), rows=rows)
        if len(wasting) > BRIEF_ROWS:
            more = count(len(wasting) - BRIEF_ROWS, "more line")
            yield Paragraph(f"and {more} with needless sectors or wavefronts", Tone.MUTED)


def section(prediction: PredictionFacts, text: str | None, anchor: str = "") -> Section | None:
    """All accesses; on a page the lines lead to the source below it."""
    found = accesses(prediction)
    if not found:
        return None
    rows = table(prediction, found, text, anchor)
    return Section(_LABEL, (rows, Note(_IDEAL)))


def notes(prediction: PredictionFacts) -> tuple[LineNote, ...]:
    """What stands beside the lines of the source, in their order: what a request takes there."""
    at: dict[int, list[Moved]] = defaultdict(list)
    for each in accesses(prediction):
        if each.access.file == prediction.counted.file and each.access.line:
            at[each.access.line].append(each)
    return tuple(
        LineNote(
            line,
            ", ".join(dict.fromkeys(map(_beside, found))),
            max(each.access.needless or 0.0 for each in found),
            any(each.waste is Waste.OF_THE_KERNEL for each in found),
        )
        for line, found in sorted(at.items())
    )


def _beside(each: Moved) -> str:
    """``32 sectors (4)``: what a request takes, and the ideal where that is less."""
    ideal = _ideal(each)
    return f"{each.text} ({ideal})" if ideal not in {"", number(each.a_request)} else each.text


def _ideal(each: Moved) -> str:
    """What a request takes at best; empty where that is not known."""
    if each.access.space == LOCAL:
        return "none"
    return "" if each.ideal is None else number(each.ideal)


def table(
    prediction: PredictionFacts, rows: Sequence[Moved], text: str | None, anchor: str = ""
) -> Table:
    """Accesses in rows; ``text`` is that of the source, whose lines are shown."""
    own = prediction.counted.file
    lines = (text or "").split("\n")
    return Table(_COLUMNS, tuple(_row(each, own, lines, anchor) for each in rows), label=_LABEL)


def _row(each: Moved, own: str, lines: Sequence[str], anchor: str) -> tuple[Cell, ...]:
    access, tone = each.access, _TONES.get(each.waste, Tone.PLAIN)
    here = access.file == own
    known = here and 1 <= access.line <= len(lines)
    code = lines[access.line - 1].strip() if known else ""
    place = str(access.line) if here else f"{shown(file_name(access.file))}:{access.line}"
    target = f"{anchor}-line-{access.line}" if anchor and known else ""
    ideal = _ideal(each) or "-"
    return (
        Cell(Span(place if access.line else "-", target=target), sort=access.line),
        Cell(Span(code, code=True)),
        Cell(f"{access.space} {access.kind} {access.bytes_a_thread} B"),
        Cell(number(access.requests.value), sort=access.requests.value),
        Cell(Span(each.text, tone), sort=each.a_request),
        Cell(ideal, sort=each.ideal or 0.0),
        Cell(Span(share(access.needless) if access.needless else "0 %", tone), access.needless),
    )
