"""The corpus' score for the terminal: totals, what is wrong, then a line a pair."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from kernelprof.corpus.pairs import Kind
from kernelprof.corpus.scorecard import Mode
from kernelprof.report import corpus_words as words
from kernelprof.report.names import middle, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kernelprof.corpus.scorecard import Row, Scorecard

NARROWEST: Final = 80
_LEAST_NAME: Final = 24
_PLANTED: Final = len("uncoalesced-global-access")
_FIGURES: Final = (("is", 4), ("conf", 4), ("said", 6), ("fix", 6), ("after", 5))
"""Narrow columns and their widths: what a verdict is worth, what it says and what the fix did."""


def render_corpus_text(card: Scorecard, width: int = NARROWEST) -> str:
    """All of it; on a narrower screen than :data:`NARROWEST` lines are wrapped by that."""
    width = max(width, NARROWEST)
    parts = [
        _wrapped(f"{words.overview(card)}; {words.machine(card.surroundings)}", width),
        list(_totals(card)),
        list(_listed("wrong", _wrong(card), width)),
        list(_listed("proves nothing", _void(card), width)),
        _left_out(card, width),
        list(_pairs(card.rows, width)),
        _wrapped(_LEGEND, width),
    ]
    if card.halves is not None:
        parts.insert(2, _wrapped(words.halves_sentence(card.halves), width))
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


_LEGEND: Final = (
    "is: the place of the planted bottleneck; yes and no for healthy kernels and decoys; open for "
    "inconclusive; void for what proves nothing. said: the gain that the verdict promises, at a "
    "limit that of half the work. fix: what the fix brought. after: whether the fixed kernel is "
    "without it."
)


def _totals(card: Scorecard) -> Iterator[str]:
    """A line a figure, a column a mode or an analyzer."""
    columns = words.columns(card)
    label = max(len(short) for short, _ in words.LINES.values())
    widths = [max(len(each.short), 7) for each in columns]
    yield "".join(
        [" " * label, *(f"  {c.short:>{w}}" for c, w in zip(columns, widths, strict=True))]
    )
    for key, (short, _) in words.LINES.items():
        cells = [each.cells.get(key) for each in columns]
        texts = [words.DASH if cell is None else cell.short() for cell in cells]
        if set(texts) != {words.DASH}:
            figures = (f"  {text:>{w}}" for text, w in zip(texts, widths, strict=True))
            yield "".join([f"{short:<{label}}", *figures])


def _wrong(card: Scorecard) -> Iterator[tuple[str, str]]:
    return ((row.pair.name, words.wrong_sentence(row)) for row in words.wrong(card))


def _void(card: Scorecard) -> Iterator[tuple[str, str]]:
    rows = (row for row in card.rows if row.scored[Mode.FULL].right is None)
    return ((row.pair.name, words.void_sentence(row)) for row in rows)


def _listed(title: str, items: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    """A heading and a paragraph a pair; nothing where there are none."""
    paragraphs = [_wrapped(f"{name}: {text}", width, indent="  ") for name, text in items]
    if paragraphs:
        yield f"{title}: {len(paragraphs)}"
    for lines in paragraphs:
        yield from lines


def _left_out(card: Scorecard, width: int) -> list[str]:
    names = ", ".join(each.name for each in card.left_out)
    return _wrapped(f"not scored: {len(card.left_out)}: {names}", width, "  ") if names else []


def _pairs(rows: Sequence[Row], width: int) -> Iterator[str]:
    room = width - 1 - sum(1 + size for _, size in _FIGURES)
    longest = max(len(printable(row.pair.name)) for row in rows)
    name = min(longest, max(_LEAST_NAME, room - _PLANTED))
    planted = min(room - name, max(_PLANTED, *(len(_about(row)) for row in rows)))
    widths = (name, planted)
    yield _line(("pair", "planted", *(heading for heading, _ in _FIGURES)), widths)
    for row in rows:
        scored = row.scored[Mode.FULL]
        figures = (
            words.place(scored),
            words.confidence(scored),
            words.factor_cell(scored.predicted),
            words.factor_cell(scored.measured),
            words.gone(scored),
        )
        yield _line((printable(row.pair.name), _about(row), *figures), widths)


def _about(row: Row) -> str:
    """The full unit of a healthy kernel has its name alone: yes or no says the rest."""
    pair = row.pair
    return str(pair.bottleneck) if pair.kind is Kind.HEALTHY else words.about(pair)


def _line(cells: Sequence[str], widths: tuple[int, int]) -> str:
    name, planted, is_, conf, said, fix, after = cells
    wide = (f"{middle(text, w):<{w}}" for text, w in zip((name, planted), widths, strict=True))
    return f"{' '.join(wide)} {is_:<4} {conf:<4} {said:>6} {fix:>6} {after:<5}".rstrip()


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(printable(text), width, subsequent_indent=indent, break_on_hyphens=False)
