"""The corpus' page: totals beside other analyzers, promised and measured gains, and a table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import kernelprof
from kernelprof.corpus.pairs import Kind, Side
from kernelprof.corpus.score import NEAR
from kernelprof.corpus.scorecard import Mode
from kernelprof.report import corpus_words as words
from kernelprof.report.corpus_json import render_corpus_json
from kernelprof.report.html import charts
from kernelprof.report.html.build.private import shown, without_homes
from kernelprof.report.html.charts import corpus as chart
from kernelprof.report.html.page import fill
from kernelprof.report.html.view import Fact
from kernelprof.report.numbers import factor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.corpus.scorecard import Row, Scorecard

CHART: Final = "gains"
_ORDER: Final = ("no", "open", "2nd", "void", "yes", "1st")
"""What a verdict is worth, the worst first."""


@dataclass(frozen=True, slots=True)
class TotalView:
    """A line of the totals: a cell for each analyzer."""

    name: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairView:
    """A pair as the page shows it; numbers stand beside their texts for sorting."""

    name: str
    kind: str
    change: str
    claimed: str
    verdict: str
    status: str
    confidence: str
    confidence_rank: int
    right: str
    right_rank: int
    predicted: float | None
    promised: str
    measured: float | None
    brought: str
    error: float | None
    off: str
    after: str
    others: tuple[str, ...]
    """The verdicts from fewer metrics, and what other analyzers say."""


@dataclass(frozen=True, slots=True)
class CorpusPage:
    """The page of a score."""

    title: str
    headline: str
    detail: str
    halves: str
    columns: tuple[str, ...]
    totals: tuple[TotalView, ...]
    near: str
    others: tuple[str, ...]
    wrong: tuple[tuple[str, str], ...]
    void: tuple[tuple[str, str], ...]
    left_out: tuple[tuple[str, str], ...]
    pairs: tuple[PairView, ...]
    has_chart: bool
    provenance: tuple[Fact, ...]
    warnings: tuple[str, ...]
    made: str
    json: str
    commands: tuple[str, ...] = ()


def render_corpus_page(card: Scorecard) -> str:
    """The page; every text of it is escaped."""
    page = build_corpus_page(card)
    views = {
        "config": charts.CONFIG,
        "specs": {CHART: chart.chart()},
        "tables": {},
        "tips": {},
        "page": {CHART: chart.rows(page.pairs)},
        "metrics": [],
        "kernels": [],
    }
    drawn = json.dumps(views, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return fill("corpus.html.j2", page=page, stored=[], views=drawn)


def build_corpus_page(card: Scorecard) -> CorpusPage:
    """Everything that the page shows."""
    columns = words.columns(card)
    pairs = tuple(_pair(row, card) for row in card.rows)
    modes = (Mode.TRIAGE, Mode.DRILL_DOWN)
    void = (row for row in card.rows if row.scored[Mode.FULL].right is None)
    return CorpusPage(
        title="How often the verdict is right",
        headline=words.headline(card),
        detail=f"The corpus: {words.overview(card)}.",
        halves="" if card.halves is None else words.halves_sentence(card.halves),
        columns=tuple(shown(_plain(each.long)) for each in columns),
        totals=tuple(
            TotalView(long, tuple(_cell(each.cells.get(key)) for each in columns))
            for key, (_, long) in words.LINES.items()
        ),
        near=f"{NEAR:g}x",
        others=(
            *(_plain(words.MODES[mode][1]) for mode in modes),
            *(peer.title for peer in card.peers),
        ),
        wrong=tuple(
            (shown(r.pair.name), shown(words.wrong_sentence(r))) for r in words.wrong(card)
        ),
        void=tuple((shown(row.pair.name), shown(words.void_sentence(row))) for row in void),
        left_out=tuple((shown(each.name), shown(each.why)) for each in card.left_out),
        pairs=pairs,
        has_chart=bool(chart.rows(pairs)),
        provenance=tuple(_provenance(card)),
        warnings=(),
        made=f"Made by kernelprof {kernelprof.__version__}",
        json=without_homes(render_corpus_json(card)),
    )


def _pair(row: Row, card: Scorecard) -> PairView:
    scored = row.scored[Mode.FULL]
    right = words.place(scored)
    second = row.gain(Side.AFTER_SECOND)
    brought = [row.gain(Side.AFTER), *([second] if second is not None else [])]
    changes = [each for each in (row.pair.change, row.pair.second_change) if each]
    return PairView(
        name=shown(row.pair.name),
        kind=row.pair.kind.value,
        change=shown(" ".join(changes)),
        claimed=words.about(row.pair),
        verdict=scored.named,
        status=scored.verdict.status.value,
        confidence=scored.verdict.confidence.value,
        confidence_rank=("low", "medium", "high").index(scored.verdict.confidence.value),
        right=right,
        right_rank=_ORDER.index(right),
        predicted=scored.predicted,
        promised=words.factor_cell(scored.predicted),
        measured=scored.measured,
        brought=", ".join(words.factor_cell(each) for each in brought),
        error=scored.error,
        off=words.DASH if scored.error is None else factor(scored.error),
        after=words.gone(scored),
        others=(
            *(
                f"{words.place(row.scored[mode])}: {row.scored[mode].named}"
                for mode in (Mode.TRIAGE, Mode.DRILL_DOWN)
            ),
            *(shown(words.peer_cell(scored, peer)) for peer in card.peers),
        ),
    )


def _cell(cell: words.Cell | None) -> str:
    return words.DASH if cell is None else cell.long()


def _plain(heading: str) -> str:
    """A heading without the marks of code."""
    return heading.replace("`", "")


def _provenance(card: Scorecard) -> Iterable[Fact]:
    """On what the captures were made."""
    known = card.surroundings
    for label, values in (
        ("GPU", known.gpus),
        ("driver", known.drivers),
        ("CUDA", known.cudas),
        ("Nsight Compute", known.ncus),
        ("clock control", known.clock_controls),
    ):
        if values:
            yield Fact(label, shown(", ".join(values)))
    if known.days:
        yield Fact(
            "measured on", shown(" to ".join(dict.fromkeys((known.days[0], known.days[-1]))))
        )
    kinds = [row.pair.kind for row in card.rows]
    yield Fact("pairs", ", ".join(f"{kinds.count(k)} {k.value}" for k in Kind if k in kinds))
