"""What a prediction says beside its verdict: on what that rests, and each access by its line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from kernelprof.analysis.rules.local_memory_traffic import NOTABLE_LOCAL
from kernelprof.analysis.rules.shared_bank_conflicts import NOTABLE_CONFLICTS
from kernelprof.analysis.rules.uncoalesced_global_access import NOTABLE_EXCESS
from kernelprof.model.numbers import count, number, share
from kernelprof.report.document import (
    Block,
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
from kernelprof.report.private import file_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.analysis.rules import Threshold
    from kernelprof.model.prediction import Predicted, PredictedAccess, PredictionFacts

GLOBAL: Final = "global"
SHARED: Final = "shared"
LOCAL: Final = "local"

_RULES: Final[dict[str, tuple[str, Threshold]]] = {
    GLOBAL: ("uncoalesced-global-access", NOTABLE_EXCESS),
    SHARED: ("shared-bank-conflicts", NOTABLE_CONFLICTS),
    LOCAL: ("local-memory-traffic", NOTABLE_LOCAL),
}
"""The bottleneck that a needless part speaks for, and from which part of the whole it is notable.
"""


class NeedlessTraffic(StrEnum):
    """How much of an access is needless, the worst first."""

    OF_THE_KERNEL = "of the kernel"
    """So much that the whole path of the kernel has a notable needless part by this line alone."""
    OF_THE_LINE = "of the line"
    """A notable part of what this line moves, and not of what the kernel does."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class AccessTraffic:
    """An access with what it means for the kernel.

    ``per_request`` and ``ideal`` are sectors, or wavefronts of shared memory, for each request;
    ``ideal`` is ``None`` where adjacent addresses are no measure.
    """

    access: PredictedAccess
    per_request: float
    ideal: float | None
    bottleneck: str
    waste: NeedlessTraffic

    @property
    def text(self) -> str:
        """What a request takes: ``32 sectors``."""
        unit = "wavefront" if self.access.space == SHARED else "sector"
        return f"{number(self.per_request)} {unit}{'' if self.per_request == 1 else 's'}"


def costly_accesses(prediction: PredictionFacts | None) -> list[AccessTraffic]:
    """The accesses that move sectors or wavefronts, those with most that is needless first."""
    if prediction is None:
        return []
    global_accesses = [
        each for each in prediction.counts.accesses if each.space in _RULES and each.moved
    ]
    totals: dict[bool, float] = defaultdict(float)
    for each in global_accesses:
        totals[each.space == SHARED] += each.moved.value if each.moved else 0.0
    result = [_measure_traffic(each, totals) for each in global_accesses if each.requests.value]
    return sorted(
        result, key=lambda each: (list(NeedlessTraffic).index(each.waste), -_needless(each.access))
    )


def _measure_traffic(each: PredictedAccess, totals: dict[bool, float]) -> AccessTraffic:
    bottleneck, notable = _RULES[each.space]
    moved = each.moved.value if each.moved else 0.0
    whole = totals[each.space == SHARED]
    waste = NeedlessTraffic.NONE
    if whole and _needless(each) / whole >= notable.value:
        waste = NeedlessTraffic.OF_THE_KERNEL
    elif (each.needless or 0.0) >= notable.value:
        waste = NeedlessTraffic.OF_THE_LINE
    ideal = None if each.ideal is None else each.ideal.value / each.requests.value
    return AccessTraffic(each, moved / each.requests.value, ideal, bottleneck, waste)


def _needless(each: PredictedAccess) -> float:
    return (each.needless or 0.0) * (each.moved.value if each.moved else 0.0)


BRIEF_ROWS: Final = 3
"""Rows of a short card."""

_REQUESTS: Final = Column("requests", number=True, optional=True)
_COLUMNS: Final = (
    Column("line", number=True),
    Column("code", yielding=True),
    Column("access"),
    _REQUESTS,
    Column("per request", number=True),
    Column("ideal", number=True),
    Column("needless", number=True),
)
_TONES: Final = {NeedlessTraffic.OF_THE_KERNEL: Tone.BAD, NeedlessTraffic.OF_THE_LINE: Tone.STRONG}
_LABEL: Final = "Memory accesses by line"
_IDEAL: Final = (
    "Per request: average number of 32-byte sectors, or shared-memory wavefronts, per warp "
    "request. Ideal: this number if the addresses were adjacent. Both follow from the addresses "
    "that the machine code computes."
)


def facts_of(diagnosis: object) -> tuple[PredictionFacts, str | None] | None:
    """What a diagnosis was predicted from, with the text of the source; ``None``: measured."""
    capture: Any = getattr(diagnosis, "capture", None)
    if capture is None or capture.contents.prediction is None:
        return None
    return capture.contents.prediction, capture.contents.source_text


def basis(prediction: Predicted) -> str:
    """On what a verdict rests, in a part of a sentence."""
    ran = f"{prediction.blocks_run:,} of {count(prediction.blocks, 'block')} simulated"
    return f"predicted from machine code for {prediction.arch}, not measured: {ran}"


def describe_basis(prediction: Predicted) -> str:
    """The same by itself."""
    text = basis(prediction)
    return f"{text[:1].upper()}{text[1:]}."


def brief(prediction: PredictionFacts, text: str | None) -> Iterable[Block]:
    """The accesses with most that is needless, in a few rows."""
    wasting = [
        each for each in costly_accesses(prediction) if each.waste is not NeedlessTraffic.NONE
    ]
    if wasting:
        full = table(prediction, wasting[:BRIEF_ROWS], text)
        at = _COLUMNS.index(_REQUESTS)
        rows = tuple((*row[:at], *row[at + 1 :]) for row in full.rows)
        yield replace(full, columns=(*_COLUMNS[:at], *_COLUMNS[at + 1 :]), rows=rows)
        if len(wasting) > BRIEF_ROWS:
            more = count(len(wasting) - BRIEF_ROWS, "more access")
            yield Paragraph(f"and {more} with needless sectors or wavefronts", Tone.MUTED)


def section(prediction: PredictionFacts, text: str | None, anchor: str = "") -> Section | None:
    """All accesses; on a page the lines lead to the source below it."""
    moved = costly_accesses(prediction)
    if not moved:
        return None
    rows = table(prediction, moved, text, anchor)
    return Section(_LABEL, (rows, Note(_IDEAL)))


def notes(prediction: PredictionFacts) -> tuple[LineNote, ...]:
    """What stands beside the lines of the source, in their order: what a request takes there."""
    at: dict[int, list[AccessTraffic]] = defaultdict(list)
    for each in costly_accesses(prediction):
        if each.access.file == prediction.counts.file and each.access.line:
            at[each.access.line].append(each)
    return tuple(
        LineNote(
            line,
            ", ".join(dict.fromkeys(map(_with_ideal, moved))),
            max(each.access.needless or 0.0 for each in moved),
            any(each.waste is NeedlessTraffic.OF_THE_KERNEL for each in moved),
        )
        for line, moved in sorted(at.items())
    )


def _with_ideal(each: AccessTraffic) -> str:
    """``32 sectors (4)``: what a request takes, and the ideal where that is less."""
    ideal = _ideal(each)
    return f"{each.text} ({ideal})" if ideal not in {"", number(each.per_request)} else each.text


def _ideal(each: AccessTraffic) -> str:
    """What a request takes at best; empty where that is not known."""
    if each.access.space == LOCAL:
        return "none"
    return "" if each.ideal is None else number(each.ideal)


def table(
    prediction: PredictionFacts, rows: Sequence[AccessTraffic], text: str | None, anchor: str = ""
) -> Table:
    """Accesses in rows; ``text`` is that of the source, whose lines are shown."""
    own = prediction.counts.file
    lines = (text or "").split("\n")
    return Table(_COLUMNS, tuple(_row(each, own, lines, anchor) for each in rows), label=_LABEL)


def _row(each: AccessTraffic, own: str, lines: Sequence[str], anchor: str) -> tuple[Cell, ...]:
    access, tone = each.access, _TONES.get(each.waste, Tone.PLAIN)
    here = access.file == own
    has_line = here and 1 <= access.line <= len(lines)
    code = lines[access.line - 1].strip() if has_line else ""
    place = str(access.line) if here else f"{shown(file_name(access.file))}:{access.line}"
    target = f"{anchor}-line-{access.line}" if anchor and has_line else ""
    ideal = _ideal(each) or "-"
    return (
        Cell(Span(place if access.line else "-", target=target), sort=access.line),
        Cell(Span(code, code=True)),
        Cell(f"{access.space} {access.kind} {access.bytes_a_thread} B"),
        Cell(number(access.requests.value), sort=access.requests.value),
        Cell(Span(each.text, tone), sort=each.per_request),
        Cell(ideal, sort=each.ideal or 0.0),
        Cell(Span(share(access.needless) if access.needless else "0 %", tone), access.needless),
    )
