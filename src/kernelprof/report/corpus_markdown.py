"""The corpus' report as Markdown: totals, where it falls short, and a table for each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.corpus.pairs import Kind, Side
from kernelprof.corpus.peers import peer_is_right
from kernelprof.corpus.score import LEAST_EFFECT, MOST_FOR_A_DECOY, NEAR
from kernelprof.corpus.scorecard import Mode
from kernelprof.model.diagnosis import Status
from kernelprof.report import corpus_words as words
from kernelprof.report.numbers import count, factor
from kernelprof.report.writers.markdown import code, prose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kernelprof.corpus.score import Scored
    from kernelprof.corpus.scorecard import Row, Scorecard

_KINDS: Final = {
    Kind.PAIR: "One planted bottleneck",
    Kind.TWO: "Two planted bottlenecks",
    Kind.HEALTHY: "Healthy kernels",
    Kind.DECOY: "Decoys",
}


def render_corpus_markdown(card: Scorecard) -> str:
    """The whole report."""
    parts = [
        _heading(card),
        _totals(card),
        _short(card),
        _by_bottleneck(card),
        *(_pairs(card, kind) for kind in _KINDS),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _heading(card: Scorecard) -> list[str]:
    return [
        "# How often the verdict is right",
        "",
        prose(words.headline(card)),
        "",
        f"The corpus: {prose(words.overview(card))}. Measured on "
        f"{prose(words.machine(card.surroundings))}.",
        "",
        "- A verdict is right if the fix of what it names makes the kernel faster. A fix that "
        f"brings less than {factor(LEAST_EFFECT)}, and a decoy whose change brings more than "
        f"{factor(MOST_FOR_A_DECOY)}, prove nothing and count nowhere.",
        "- A healthy kernel fills a unit with needed work: right is that unit, at its limit. In a "
        "decoy something looks bad and is not the cause: right is all else, or `inconclusive`.",
        "- Gains are ratios of medians of times between CUDA events. An inconclusive verdict on a "
        "planted bottleneck or on a healthy kernel counts as not right.",
        "- *All metrics* is the preset `full`; *`triage` alone* and *drill-down* are worked out "
        "from the same launches with fewer of their metrics.",
    ]


def _totals(card: Scorecard) -> list[str]:
    columns = words.columns(card)
    rows = []
    for key, (_, long) in words.LINES.items():
        cells = [each.cells.get(key) for each in columns]
        rows.append([long, *(words.DASH if cell is None else cell.long() for cell in cells)])
    lines = ["## Totals", "", *_table(["", *(each.long for each in columns)], rows)]
    notes = []
    if card.peers:
        notes.append(
            "The others were asked about the captures of the same launches. What they say was "
            "translated into the names of bottlenecks, as many as an answer may mean, and any of "
            "them counts. They cannot say that a unit is full of needed work, so about a healthy "
            "kernel its unit is enough."
        )
        notes += [
            f"{each.title}: not asked about {count(missing, 'pair')}."
            for each in card.peers
            if (missing := sum(row.pair.name not in each.answers for row in card.rows))
        ]
    found = card.totals()
    if found.decoys_inconclusive:
        notes.append(
            f"Of the decoys that are not named, {found.decoys_inconclusive} are inconclusive."
        )
    if card.halves is not None:
        notes.append(words.halves_sentence(card.halves))
    return [*lines, *(line for note in notes for line in ("", prose(note)))]


def _short(card: Scorecard) -> list[str]:
    """Everything that is not as it should be, by name."""
    lines = ["## Where it falls short"]
    for title, items in (
        ("Not right", _wrong(card)),
        ("Another analyzer is right and kernelprof is not", _beaten(card)),
        (f"The gain is off by more than {NEAR:g}x", _far(card)),
        ("Right, and only said to be at its limit: a way out is not promised", _no_gain(card)),
        ("The fixed kernel is still said to have what was fixed", _stays(card)),
        ("Proves nothing", _void(card)),
        ("Not scored", _left_out(card)),
    ):
        found = list(items)
        if found:
            lines += ["", f"{prose(title)} ({len(found)}):", "", *(f"- {each}" for each in found)]
    return lines if len(lines) > 1 else [*lines, "", "Nothing of the kind was found."]


def _wrong(card: Scorecard) -> Iterator[str]:
    return (
        f"{code(row.pair.name)}: {prose(words.wrong_sentence(row))}" for row in words.wrong(card)
    )


def _beaten(card: Scorecard) -> Iterator[str]:
    for row in words.wrong(card):
        scored = row.scored[Mode.FULL]
        titles = [
            peer.title
            for peer in card.peers
            if (answer := peer.answers.get(row.pair.name)) and peer_is_right(scored, answer)
        ]
        if titles:
            yield f"{code(row.pair.name)}: {prose(' and '.join(titles))}"


def _far(card: Scorecard) -> Iterator[str]:
    errors = [(row, row.scored[Mode.FULL].error or 0.0) for row in card.rows]
    far = sorted((each for each in errors if each[1] > NEAR), key=lambda each: -each[1])
    for row, error in far:
        scored = row.scored[Mode.FULL]
        yield (
            f"{code(row.pair.name)} ({scored.verdict.bottleneck}): {factor(error)}; predicted "
            f"{words.factor_cell(scored.predicted)}, the fix brings "
            f"{words.factor_cell(scored.measured)}"
        )


def _no_gain(card: Scorecard) -> Iterator[str]:
    for row in card.rows:
        scored = row.scored[Mode.FULL]
        planted = row.pair.kind in {Kind.PAIR, Kind.TWO}
        if planted and scored.right and scored.verdict.status is Status.AT_LIMIT:
            yield (
                f"{code(row.pair.name)} ({scored.verdict.bottleneck}): half of its work is said to "
                f"bring {words.factor_cell(scored.predicted)}, the fix brings "
                f"{words.factor_cell(scored.measured)}"
            )


def _stays(card: Scorecard) -> Iterator[str]:
    for row in card.rows:
        scored = row.scored[Mode.FULL]
        if scored.right and scored.gone is False:
            yield f"{code(row.pair.name)} ({scored.verdict.bottleneck})"


def _void(card: Scorecard) -> Iterator[str]:
    rows = (row for row in card.rows if row.scored[Mode.FULL].right is None)
    return (f"{code(row.pair.name)}: {prose(words.void_sentence(row))}" for row in rows)


def _left_out(card: Scorecard) -> Iterator[str]:
    return (f"{code(each.name)}: {prose(each.why)}" for each in card.left_out)


def _by_bottleneck(card: Scorecard) -> list[str]:
    """How many are right of each bottleneck, by everybody."""
    groups: dict[str, list[Row]] = {}
    for row in card.rows:
        if row.pair.kind is Kind.PAIR and row.scored[Mode.FULL].right is not None:
            groups.setdefault(str(row.pair.bottleneck), []).append(row)
    if not groups:
        return []
    columns = [*(long for _, long in words.MODES.values()), *(peer.title for peer in card.peers)]
    rows = []
    for slug, group in sorted(groups.items()):
        ours = [[row.scored[mode].right for row in group] for mode in words.MODES]
        others = [
            [
                peer_is_right(row.scored[Mode.FULL], answer)
                for row in group
                if (answer := peer.answers.get(row.pair.name))
            ]
            for peer in card.peers
        ]
        cells = [
            words.Counted(sum(map(bool, each)), len(each)).short() for each in (*ours, *others)
        ]
        rows.append([code(slug), *cells])
    return ["## By bottleneck", "", *_table(["named first", *columns], rows)]


def _pairs(card: Scorecard, kind: Kind) -> list[str]:
    rows = [row for row in card.rows if row.pair.kind is kind]
    if not rows:
        return []
    planted = kind in {Kind.PAIR, Kind.TWO}
    headings = [
        *("pair", "claimed", "verdict", "confidence", "right"),
        *(("promised", "fix brought", "after the fix") if planted else ()),
        *(("change brought",) if kind is Kind.DECOY else ()),
        *("`triage`", "drill-down"),
        *(prose(peer.title) for peer in card.peers),
    ]
    rows.sort(key=lambda row: (words.about(row.pair), row.pair.name))
    cells = [list(_cells(row, card, planted=planted)) for row in rows]
    return [f"## {_KINDS[kind]}", "", *_table(headings, cells, left=len(headings))]


def _cells(row: Row, card: Scorecard, *, planted: bool) -> Iterator[str]:
    scored = row.scored[Mode.FULL]
    yield code(row.pair.name)
    yield prose(words.about(row.pair))
    yield prose(scored.named)
    yield scored.verdict.confidence.value
    yield words.place(scored)
    if planted:
        yield words.factor_cell(scored.predicted)
        second = row.gain(Side.AFTER_SECOND)
        gains = [row.gain(Side.AFTER), *([second] if second is not None else [])]
        yield ", ".join(words.factor_cell(gain) for gain in gains)
        yield words.gone(scored)
    elif row.pair.kind is Kind.DECOY:
        yield words.factor_cell(scored.measured)
    for mode in (Mode.TRIAGE, Mode.DRILL_DOWN):
        yield _other(row.scored[mode], scored)
    for peer in card.peers:
        yield prose(words.peer_cell(scored, peer))


def _other(scored: Scored, full: Scored) -> str:
    """A verdict from fewer metrics; only its place where it names the same."""
    same = scored.named == full.named
    place = words.place(scored)
    return place if same else f"{place}: {prose(scored.named)}"


def _table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1
) -> Iterator[str]:
    """A table whose first ``left`` columns are words and whose others are figures."""
    marks = [":--" if position < left else "--:" for position in range(len(columns))]
    for cells in (columns, marks, *rows):
        yield f"| {' | '.join(cells)} |"
