"""What a comparison says: what happened in a line, the kernels in a table, a card for each.

The gate's document (:mod:`kernelprof.report.documents.gate`) is made of the same parts.
"""

from __future__ import annotations

import dataclasses
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, structs

from kernelprof.comparison import words
from kernelprof.model.comparison import Comparison, InputChange, TimeOutcome
from kernelprof.model.gate import GateResult, Outcome
from kernelprof.model.names import cut_middle, printable, sentence
from kernelprof.model.numbers import count, quantity
from kernelprof.report.charts.drawing import tidy
from kernelprof.report.charts.times import TimeMark
from kernelprof.report.document import (
    Block,
    Cell,
    Chart,
    CodeBlock,
    Column,
    Document,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
    Tone,
    answer,
)
from kernelprof.report.documents import changed_kernel, write_data
from kernelprof.report.documents.change_tables import (
    Judged,
    clip_text,
    judged_kernels,
    launch_text,
    outcome_span,
    time_cell,
    time_span,
    verdict_change,
)
from kernelprof.report.figures.measured import finite
from kernelprof.report.private import file_name, shown_origin, without_homes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.snapshot import Snapshot

MOST_ROWS: Final = 30
MOST_CARDS: Final = 20
MOST_REMARKS: Final = 8
MOST_MARKS: Final = 20
"""Kernels in the chart of a page."""

_NAME_WIDTH: Final = 400
_REMARK_WIDTH: Final = 100
_COLUMNS: Final = (
    Column("kernel", yielding=True),
    Column("before", number=True, optional=True),
    Column("after", number=True, optional=True),
    Column("time"),
    Column("verdict"),
)
_PREDICTED: Final = (
    Column("kernel", yielding=True),
    Column("predicted"),
    Column("line", optional=True),
    Column("verdict"),
)
_COUNTERS: Final = Column("counters", number=True)
_OUTCOME: Final = Column("outcome")
_WHY: Final = Column("why")
_MARKS: Final = (
    "Each mark is the ratio of the median times, after / before, with its 95 % confidence "
    "interval. Kernels left of the dashed line took less time."
)
_CHARTED: Final = {
    TimeOutcome.SLOWER: "slower",
    TimeOutcome.FASTER: "faster",
    TimeOutcome.SAME: "same",
    TimeOutcome.UNDECIDED: "undecided",
}
_SIDES: Final = (Column("What"), Column("Before"), Column("After"), Column(""))
_CLOCK: Final = "SM clock of the launches"
_MEANT: Final = frozenset(
    {"capture", "measured at (UTC)", "kernels", _CLOCK, "source", "source, SHA-256"}
)
"""What is another thing on each side anyway, or was meant to be, or is marked where it counts."""


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
        comparison = without_folders(comparison)
    kernels = judged_kernels(comparison.kernels)
    if detail is Detail.FULL:
        return page("Comparison", comparison, kernels, command)
    tones = [each.tone for each in kernels]
    tone = next((each for each in (Tone.BAD, Tone.GOOD) if each in tones), Tone.STRONG)
    title = kernels[0].code if len(kernels) == 1 else ""
    gist = answer(Span(clip_text(words.summary(comparison))), title=title, tone=tone)
    return Document("kernelprof compare", (gist, *brief(comparison, kernels, detail)))


def brief(comparison: Comparison, kernels: Sequence[Judged], detail: Detail) -> Iterable[Block]:
    """Where the sides come from, the kernels in a table, and cards for those with more to say."""
    before, after = (
        Span(cut_middle(printable(side.origin), _NAME_WIDTH), code=True)
        for side in (comparison.before, comparison.after)
    )
    yield Paragraph(("Before: ", before, ", after: ", after, "."))
    for note in comparison.notes[:3]:
        yield Note(Span(clip_text(note)), warning=True)
    for change in comparison.machine[:MOST_REMARKS]:
        yield Note(_change_text(change), warning=True)
    if detail is not Detail.BRIEF or len(kernels) > 1:
        yield _table(kernels[:MOST_ROWS])
    if left := kernels[MOST_ROWS:]:
        yield Paragraph(_more(left), Tone.MUTED)
    telling = [each for each in kernels if _has_more(each)]
    for each in telling[:MOST_CARDS]:
        yield changed_kernel.brief(each, comparison, comment=detail is not Detail.BRIEF)
    if len(telling) > MOST_CARDS:
        more = count(len(telling) - MOST_CARDS, "more kernel")
        text = f"The details of {more} are left out: `--format json` has them."
        yield Paragraph(text, Tone.MUTED)


def _change_text(change: InputChange) -> Text:
    before, after = (
        Span(clip_text(text, _REMARK_WIDTH) if text else "none", code=bool(text))
        for text in (change.before, change.after)
    )
    return (Span(clip_text(change.what, _REMARK_WIDTH)), ": ", before, " before, ", after, " after")


def _table(kernels: Sequence[Judged], *, on_page: bool = False) -> Table:
    gated = any(each.result is not None for each in kernels)
    predicted = bool(kernels) and all(each.kernel.arch is not None for each in kernels)
    columns: tuple[Column, ...] = _PREDICTED if predicted else _COLUMNS
    is_explained = any(
        each.result is not None and each.result.outcome is not Outcome.PASS for each in kernels
    )
    has_counters = on_page and not is_explained
    if is_explained:  # the reasons take the room of other columns
        columns = (*columns[:-1], dataclasses.replace(columns[-1], optional=True))
    columns = (
        *columns,
        *([_COUNTERS] if has_counters else []),
        *([_OUTCOME] if gated else []),
        *([_WHY] if is_explained else []),
    )
    rows = []
    cards = 0
    for each in kernels:
        kernel, time = each.kernel, each.kernel.time
        has_card = on_page and kernel.before is not None and kernel.after is not None
        cards += has_card
        name = dataclasses.replace(each.code, target=f"kernel-{cards}" if has_card else "")
        tip = clip_text(f"{kernel.name}, {launch_text(kernel)}") if on_page else ""
        changes = [
            time_cell(time.before_ns, kernel.before),
            time_cell(time.after_ns, kernel.after),
            Cell(time_span(kernel), sort=finite(time.ratio) or -1.0),
        ]
        if predicted:
            both = kernel.before is not None and kernel.after is not None
            did = words.prediction_did(kernel) if both else kernel.match.value
            changes = [Cell(did), Cell(_line(each))]
        verdict: Text = "not run" if kernel.same_code else verdict_change(kernel)
        cells = [Cell(name, tip=tip), *changes, Cell(verdict)]
        if has_counters:
            marks = [one.worse for one in kernel.counters]
            sides = ((marks.count(True), "worse"), (marks.count(False), "better"))
            text = ", ".join(f"{amount} {side}" for amount, side in sides if amount)
            cells.append(Cell(text or "-", sort=sides[0][0] - sides[1][0]))
        if each.result is not None:
            cells.append(Cell(outcome_span(each.result)))
        if is_explained:
            reasons = "" if each.result is None else words.reasons(each.result)
            cells.append(Cell(Span(clip_text(reasons))))
        rows.append(tuple(cells))
    return Table(columns, tuple(rows), label="Kernels", long=on_page)


def _line(each: Judged) -> Span:
    findings = () if each.result is None else each.result.findings
    places = [place for finding in findings for place in finding.places[:1]]
    return Span(
        clip_text(words.location_text(places[0]), _REMARK_WIDTH) if places else "", code=True
    )


def _more(kernels: Sequence[Judged]) -> str:
    text = f"and {count(len(kernels), 'more kernel')}"
    outcomes = [each.result.outcome for each in kernels if each.result is not None]
    parts = [
        f"{outcomes.count(each)} {each.value}" for each in reversed(Outcome) if each in outcomes
    ]
    return f"{text}: {', '.join(parts)}" if parts else text


def _has_more(each: Judged) -> bool:
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


# The page


def page(
    title: str,
    result: Comparison | GateResult,
    kernels: Sequence[Judged],
    command: str,
    top: Sequence[Block] = (),
) -> Document:
    """Everything that is known of two captures side by side; ``top`` is what stands first."""
    comparison = result if isinstance(result, Comparison) else result.comparison
    both = [each for each in kernels if each.kernel.before and each.kernel.after]
    alone = len(kernels) == len(both) == 1
    blocks: list[Block] = [*top]
    blocks += [Note(Span(clip_text(sentence(each))), warning=True) for each in comparison.notes]
    if not alone:
        blocks.append(_overview(comparison, kernels))
    for position, each in enumerate(both, 1):
        card = changed_kernel.section(each, comparison, f"kernel-{position}", alone=alone)
        blocks.append(card)
    blocks.append(_provenance(comparison, command))
    name = both[0].name if alone else count(len(kernels), "kernel")
    return Document(
        f"{title}: {name}",
        tuple(blocks),
        origin=f"{comparison.before.origin} → {comparison.after.origin}",
        data=write_data(result),
        file=f"{title.lower()}.json",
    )


def _overview(comparison: Comparison, kernels: Sequence[Judged]) -> Section:
    rows = tuple(_marks(kernels[:MOST_MARKS]))
    label = "Change in kernel time; the same data is in the table below"
    blocks: list[Block] = [Chart("changes", rows, label), Note(_MARKS)] if rows else []
    blocks.append(_table(kernels, on_page=True))
    summary = Span(sentence(clip_text(words.summary(comparison))))
    return Section("What changed", tuple(blocks), anchor="kernels", summary=summary)


def _marks(kernels: Sequence[Judged]) -> Iterable[TimeMark]:
    for position, each in enumerate(kernels, 1):
        time = each.kernel.time
        if each.kernel.before is None or each.kernel.after is None:
            continue
        low, ratio, high = (
            finite(value) or 0.0 for value in (time.ratio_low, time.ratio, time.ratio_high)
        )
        ends = [value for value in (low, ratio, high) if value > 0]
        if ratio > 0:
            yield TimeMark(
                f"{position} {each.name}",
                tidy(ratio),
                tidy(min(ends)),
                tidy(max(ends)),
                _CHARTED.get(time.outcome, "unknown"),
                words.outcome_text(time),
            )


def _provenance(comparison: Comparison, command: str) -> Section:
    """What each side was measured on and with; rows that neither side knows are left out."""
    kinds = {"clocks": _CLOCK}
    different = {kinds.get(each.kind, each.kind) for each in comparison.machine}
    before, after = (_side_facts(side) for side in (comparison.before, comparison.after))
    rows = []
    for label, old in before.items():
        new = after[label]
        if not (old or new):
            continue
        differs = label in different or (label not in _MEANT and old and new and old != new)
        is_hash = "SHA-256" in label  # as code it breaks anywhere
        sides = (Cell(Span(printable(e or "not known"), code=is_hash)) for e in (old, new))
        rows.append((Cell(label), *sides, Cell(Span("≠ differs", Tone.BAD) if differs else "")))
    blocks: list[Block] = [Table(_SIDES, tuple(rows), label="origin before and after")]
    if command:
        code = CodeBlock(without_homes(printable(command)), language="sh", copy=True)
        blocks.append(Section("Command that wrote this page", (code,), folded=True))
    return Section("Where this comes from", tuple(blocks))


def _side_facts(side: Snapshot) -> dict[str, str | None]:
    machine = side.machine
    # Some exports have no more of the GPU than the device's number.
    gpu = None if machine.gpu is None or machine.gpu.isdigit() else machine.gpu
    built = {
        (each.inputs.compiler, each.inputs.path, each.inputs.source_sha256)
        for each in side.kernels
        if each.inputs is not None
    }
    # Where all kernels have the same.
    compiler, source, digest = built.pop() if len(built) == 1 else (None, None, None)
    return {
        "capture": side.origin,
        "kernels": count(len(side.kernels), "kernel") if side.kernels else None,
        "measured at (UTC)": side.created,
        "GPU": gpu,
        "compute capability": machine.compute_capability,
        _CLOCK: quantity(machine.sm_hz, "hz") if machine.sm_hz else None,
        "clock control": machine.clock_control,
        "driver": machine.driver,
        "CUDA": machine.cuda,
        "Nsight Compute": machine.ncu,
        "compiler": compiler,
        "source": source,
        "source, SHA-256": digest,
    }


def without_folders(value: Any, name: str = "", kind: str = "") -> Any:
    """A result with the names of files in place of whole paths, and no folders of users."""
    if isinstance(value, str) and not isinstance(value, Enum):
        if name == "origin":
            return shown_origin(value)
        if name in {"path", "file"} or (kind == "source" and name in {"before", "after"}):
            return file_name(value)
        return without_homes(value)
    if isinstance(value, tuple):
        names = getattr(value, "_fields", ("",) * len(value))
        parts = [without_folders(each, part) for each, part in zip(value, names, strict=True)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if names := _field_names(value):
        kind = getattr(value, "kind", "")
        changed = {each: without_folders(getattr(value, each), each, kind) for each in names}
        return (structs if isinstance(value, Struct) else dataclasses).replace(value, **changed)
    return value


def _field_names(value: Any) -> list[str]:
    if isinstance(value, Struct):
        return list(value.__struct_fields__)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return []
    return [each.name for each in dataclasses.fields(value) if each.init]
