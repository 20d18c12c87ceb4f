"""The lines that verdicts blame beside those that fixes changed, as a part of the report."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import share
from kernelprof.report.document import Cell, Column, Paragraph, Section, Span, Table, Tone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.corpus.lines import LineScore
    from benchmarks.corpus.scorecard import Scorecard

_COLUMNS: Final = (
    Column("pair", yielding=True),
    Column("verdict"),
    Column("line", number=True),
    Column("share", number=True, optional=True),
    Column("of", optional=True),
    Column("changed", optional=True),
    Column("right"),
    Column("hottest", number=True, optional=True),
)
_METHOD: Final = (
    "A line is to blame where what was planted is a matter of lines and its fix changed one with "
    "machine code, or one next to such a line; comments do not count. Right is the line named, or "
    "a call that is named with it, if it was changed or is next to one that was."
)


def section(card: Scorecard) -> Section | None:
    """The table; ``None`` where no pair has samples by instruction."""
    found = card.lines
    if not found:
        return None
    many = len(found)
    right, hottest = (
        sum(each.right for each in found),
        sum(each.hottest_right for each in found),
    )
    chance = sum(each.chance for each in found)
    headline = (
        f"The line that the fix changed is the line named, or next to it, in {right} of {many} "
        f"pairs in which a line is to blame ({share(right / many)}). The line with most samples "
        f"would be right in {hottest}, a line taken at random in {chance:.0f}."
    )
    return Section(
        "Lines",
        (
            Paragraph(headline, Tone.STRONG),
            Paragraph(_METHOD),
            Table(_COLUMNS, tuple(map(_row, found)), label="Lines by pair"),
        ),
    )


def _row(each: LineScore) -> tuple[Cell, ...]:
    blamed = each.blamed
    line = "-"
    if blamed is not None and blamed.line is not None:
        line = ", ".join(map(str, (blamed.line, *blamed.called_at)))
    tone = Tone.GOOD if each.right else Tone.BAD
    return (
        Cell(each.pair.name),
        Cell(Span(each.bottleneck or "-", code=True)),
        Cell(line),
        Cell("-" if blamed is None else share(blamed.share)),
        Cell("-" if blamed is None else blamed.of),
        Cell(ranges(each.changed)),
        Cell(Span("yes" if each.right else "no", tone)),
        Cell("-" if each.hottest is None else str(each.hottest)),
    )


def ranges(lines: Sequence[int]) -> str:
    """Line numbers in short: ``3, 7-9``."""
    found = []
    for _, group in groupby(enumerate(lines), lambda each: each[1] - each[0]):
        numbers = [line for _, line in group]
        first, last = numbers[0], numbers[-1]
        found.append(str(first) if first == last else f"{first}-{last}")
    return ", ".join(found)
