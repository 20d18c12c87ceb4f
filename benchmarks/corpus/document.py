"""The corpus' score as a document: totals, where it falls short, and a table for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.corpus.pairs import Form, Kind
from benchmarks.corpus.peers import peer_is_right
from benchmarks.corpus.results import to_json
from benchmarks.corpus.score import LEAST_EFFECT, MOST_FOR_A_DECOY, NEAR
from benchmarks.corpus.scorecard import Mode

from benchmarks.corpus import chart, line_table, words
from kernelprof.model.diagnosis import Status
from kernelprof.model.numbers import count, factor
from kernelprof.report.document import (
    Bullets,
    Cell,
    Chart,
    Column,
    Document,
    Layout,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.corpus.score import Scored
    from benchmarks.corpus.scorecard import Row, Scorecard

    from kernelprof.report.document import Block, Text

FEWER: Final = (Mode.TRIAGE, Mode.DRILL_DOWN)
"""Modes whose verdicts have fewer metrics to go by."""

_KINDS: Final = {
    Kind.PAIR: "One planted bottleneck",
    Kind.TWO: "Two planted bottlenecks",
    Kind.HEALTHY: "Healthy kernels",
    Kind.DECOY: "Decoys",
}
_SCRIPTS: Final = "PyTorch and Triton"
_PLANTED: Final = {Kind.PAIR, Kind.TWO}
_ORDER: Final = ("no", "open", "2nd", "void", "yes", "1st")
"""What a verdict is worth, the worst first."""


def document(card: Scorecard) -> Document:
    """The whole report."""
    sections = (
        _headline(card),
        _totals(card),
        _gains(card),
        _short(card),
        _by_bottleneck(card),
        line_table.section(card),
        *(_pairs(card, kind) for kind in _KINDS),
        _scripts(card),
    )
    return Document(
        title="How often the verdict is right",
        blocks=tuple(each for each in sections if each is not None),
        data=to_json(card),
        file="corpus.json",
    )


def _headline(card: Scorecard) -> Section:
    method = (
        "A verdict is right if the fix of what it names makes the kernel faster. A fix that brings "
        f"less than {factor(LEAST_EFFECT)}, and a decoy whose change brings more than "
        f"{factor(MOST_FOR_A_DECOY)}, prove nothing and count nowhere.",
        "A healthy kernel fills a unit with needed work: right is that unit, at its limit. In a "
        "decoy something looks bad and is not the cause: right is all else, or `inconclusive`.",
        "Gains are ratios of medians of times between CUDA events. An inconclusive verdict on a "
        "planted bottleneck or on a healthy kernel counts as not right.",
        "All metrics is the preset `full`; `triage` alone and drill-down are worked out from the "
        "same launches with fewer of their metrics.",
    )
    what = Span(f"The corpus: {words.overview(card)}. Measured on ")
    where = Span(f"{words.machine(card.surroundings)}.")
    return Section(
        words.headline(card),
        (Paragraph((what, where)), Bullets(method)),
        layout=Layout.HERO,
    )


def _totals(card: Scorecard) -> Section:
    columns = words.columns(card)
    modes = len(words.MODES)
    rows = [
        (_cell(title), *(_cell(Span(each.cells.get(key, words.DASH))) for each in columns))
        for key, title in words.LINES.items()
        if {each.cells.get(key, words.DASH) for each in columns} != {words.DASH}
    ]
    table = Table(
        (
            Column("of the kernels"),
            *(
                Column(each.title, each.brief, number=True, optional=0 < position < modes)
                for position, each in enumerate(columns)
            ),
        ),
        tuple(rows),
        label="Table of totals",
    )
    return Section("Totals", (table, *map(Paragraph, _notes(card))))


def _notes(card: Scorecard) -> Iterator[str]:
    if card.peers:
        yield (
            "The others were asked about the captures of the same launches. What they say was "
            "translated into the names of bottlenecks, as many as an answer may mean, and any of "
            "them counts. They cannot say that a unit is full of needed work, so about a healthy "
            "kernel its unit is enough."
        )
    for peer in card.peers:
        missing = sum(row.pair.name not in peer.answers for row in card.rows)
        if missing:
            yield f"{peer.title}: not asked about {count(missing, 'pair')}."
    undecided = card.totals().decoys_inconclusive
    if undecided:
        yield f"Of the decoys that are not named, {undecided} are inconclusive."
    if card.halves is not None:
        yield words.halves_sentence(card.halves)


def _gains(card: Scorecard) -> Section | None:
    """Predicted against measured gains of right verdicts."""
    found = [row for row in card.rows if row.scored[Mode.FULL].error is not None]
    if not found:
        return None
    caption = (
        "Each point is a right verdict; what is predicted at a unit's limit is the gain from half "
        f"of its work. In the band prediction and measurement are within a factor of {NEAR:g}. "
        "Above the dashed line the fix brought more than was predicted."
    )
    label = "Measured gain over predicted gain of each right verdict; the tables have the same"
    rows = tuple(chart.rows([_point(row) for row in found]))
    return Section("Predicted and measured gains", (Chart(chart.NAME, rows, label, caption),))


def _point(row: Row) -> chart.Point:
    scored = row.scored[Mode.FULL]
    assert scored.predicted is not None
    assert scored.measured is not None
    return chart.Point(
        name=row.pair.name,
        verdict=scored.named,
        confidence=scored.verdict.confidence.value,
        predicted=scored.predicted,
        measured=scored.measured,
        brought=words.brought(row),
        error=scored.error or 1.0,
    )


def _short(card: Scorecard) -> Section:
    """Everything that is not as it should be, by name."""
    blocks: list[Block] = []
    for title, items in (
        ("Not right", _wrong(card)),
        ("Another analyzer is right and kernelprof is not", _beaten(card)),
        (f"The gain is off by more than {NEAR:g}x", _far(card)),
        ("Right, and only said to be at its limit: no way out is promised", _no_gain(card)),
        ("The fixed kernel is still said to have what was fixed", _stays(card)),
        ("Proves nothing", _void(card)),
        ("Not scored", ((each.name, f": {each.why}") for each in card.left_out)),
    ):
        found = tuple((_name(name), Span(text)) for name, text in items)
        if found:
            blocks += [Paragraph(f"{title} ({len(found)}):"), Bullets(found)]
    nothing = Paragraph("Nothing of the kind was found.")
    return Section("Where it falls short", tuple(blocks) or (nothing,))


def _wrong(card: Scorecard) -> Iterator[tuple[str, str]]:
    return ((row.pair.name, f": {words.wrong_sentence(row)}") for row in words.wrong(card))


def _beaten(card: Scorecard) -> Iterator[tuple[str, str]]:
    for row in words.wrong(card):
        titles = [peer.title for peer in card.peers if _peer_right(row, peer.name, card)]
        if titles:
            yield row.pair.name, f": {' and '.join(titles)}"


def _far(card: Scorecard) -> Iterator[tuple[str, str]]:
    errors = [(row, row.scored[Mode.FULL].error or 0.0) for row in card.rows]
    far = sorted((each for each in errors if each[1] > NEAR), key=lambda each: -each[1])
    for row, error in far:
        scored = row.scored[Mode.FULL]
        yield (
            row.pair.name,
            f" ({scored.verdict.bottleneck}): {factor(error)}; predicted "
            f"{words.factor_cell(scored.predicted)}, the fix brings "
            f"{words.factor_cell(scored.measured)}",
        )


def _no_gain(card: Scorecard) -> Iterator[tuple[str, str]]:
    for row in card.rows:
        scored = row.scored[Mode.FULL]
        planted = row.pair.kind in _PLANTED
        if planted and scored.right and scored.verdict.status is Status.AT_LIMIT:
            yield (
                row.pair.name,
                f" ({scored.verdict.bottleneck}): half of its work is said to bring "
                f"{words.factor_cell(scored.predicted)}, the fix brings "
                f"{words.factor_cell(scored.measured)}",
            )


def _stays(card: Scorecard) -> Iterator[tuple[str, str]]:
    for row in card.rows:
        scored = row.scored[Mode.FULL]
        if scored.right and scored.gone is False:
            yield row.pair.name, f" ({scored.verdict.bottleneck})"


def _void(card: Scorecard) -> Iterator[tuple[str, str]]:
    rows = (row for row in card.rows if row.scored[Mode.FULL].right is None)
    return ((row.pair.name, f": {words.void_sentence(row)}") for row in rows)


def _by_bottleneck(card: Scorecard) -> Section | None:
    """How many are right of each bottleneck, by everybody."""
    groups: dict[str, list[Row]] = {}
    for row in card.rows:
        if row.pair.kind is Kind.PAIR and row.scored[Mode.FULL].right is not None:
            groups.setdefault(str(row.pair.bottleneck), []).append(row)
    if not groups:
        return None
    rows = []
    for slug, group in sorted(groups.items()):
        ours = [[row.scored[mode].right for row in group] for mode in words.MODES]
        others = [
            [_peer_right(row, peer.name, card) for row in group if row.pair.name in peer.answers]
            for peer in card.peers
        ]
        cells = [f"{sum(map(bool, each))}/{len(each)}" if each else "-" for each in ours + others]
        rows.append((_cell(Span(slug, code=True)), *map(_cell, cells)))
    titles = [*words.MODES.values(), *(peer.title for peer in card.peers)]
    columns = (Column("named first"), *(Column(title, number=True) for title in titles))
    return Section("By bottleneck", (Table(columns, tuple(rows), label="Table by bottleneck"),))


def _peer_right(row: Row, name: str, card: Scorecard) -> bool | None:
    peer = next(each for each in card.peers if each.name == name)
    answer = peer.answers.get(row.pair.name)
    return None if answer is None else peer_is_right(row.scored[Mode.FULL], answer)


def _pairs(card: Scorecard, kind: Kind) -> Section | None:
    """The kernels in CUDA of a kind."""
    rows = [row for row in card.rows if row.pair.kind is kind and row.pair.form is Form.KERNEL]
    if not rows:
        return None
    return Section(_KINDS[kind], (_table(rows, _KINDS[kind], kind, card),))


def _scripts(card: Scorecard) -> Section | None:
    """What PyTorch and Triton launch, of all kinds."""
    rows = [row for row in card.rows if row.pair.form is Form.SCRIPT]
    if not rows:
        return None
    method = (
        "The totals count these as well. A script calls an operation, which may launch several "
        "kernels: the verdict is that on the costliest of them, and the times are those of the "
        "whole operation."
    )
    blocks = (Paragraph(words.scripts(card)), Paragraph(method))
    return Section(_SCRIPTS, (*blocks, _table(rows, _SCRIPTS, Kind.PAIR, card)))


def _table(rows: list[Row], title: str, kind: Kind, card: Scorecard) -> Table:
    """A row a pair, with the columns that pairs of a kind have."""
    rows.sort(key=lambda row: (words.about(row.pair), row.pair.name))
    columns = [
        Column("pair", yielding=True),
        Column("claimed", optional=True),
        Column("verdict"),
        Column("confidence", brief="conf"),
        Column("right"),
    ]
    if kind in _PLANTED:
        columns += [
            Column("promised", number=True),
            Column("fix brought", brief="fix", number=True),
            Column("after the fix", brief="after"),
        ]
    elif kind is Kind.DECOY:
        columns.append(Column("change brought", brief="change", number=True))
    others = [*(words.MODES[mode] for mode in FEWER), *(peer.title for peer in card.peers)]
    columns += [Column(title, optional=True) for title in others]
    return Table(
        tuple(columns),
        tuple(tuple(_cells(row, kind, card)) for row in rows),
        label=f"Table: {title[:1].lower()}{title[1:]}",
        long=True,
    )


def _cells(row: Row, kind: Kind, card: Scorecard) -> Iterator[Cell]:
    scored, pair = row.scored[Mode.FULL], row.pair
    changes = " ".join(each for each in (pair.change, pair.second_change) if each)
    right = words.place(scored)
    tone = Tone.BAD if right == "no" else Tone.PLAIN
    yield Cell(_name(pair.name), tip=changes)
    yield _cell(words.about(pair))
    yield _cell(scored.named)
    yield _cell(scored.verdict.confidence.value)
    yield Cell(Span(right, tone), sort=_ORDER.index(right))
    if kind in _PLANTED:
        yield Cell(words.factor_cell(scored.predicted), sort=scored.predicted)
        yield Cell(words.brought(row), sort=scored.measured)
        yield _cell(words.gone(scored))
    elif kind is Kind.DECOY:
        yield Cell(words.factor_cell(scored.measured), sort=scored.measured)
    for mode in FEWER:
        yield _cell(_other(row.scored[mode], scored))
    for peer in card.peers:
        yield _cell(Span(words.peer_cell(scored, peer)))


def _other(scored: Scored, full: Scored) -> str:
    """A verdict from fewer metrics; only its place where it names the same."""
    place = words.place(scored)
    return place if scored.named == full.named else f"{place}: {scored.named}"


def _name(name: str) -> Span:
    return Span(name, code=True)


def _cell(text: Text) -> Cell:
    return Cell(text)
