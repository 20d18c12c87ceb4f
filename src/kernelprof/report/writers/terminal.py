"""Documents for the terminal: plain lines at any width from 48 columns, colour where it is wished.

What strangers wrote cannot steer the terminal, and glyphs that its encoding lacks are replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Final

from kernelprof.report.document import (
    Bullets,
    Code,
    Document,
    Facts,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
    cut,
    plain,
    spans,
)
from kernelprof.report.names import ELLIPSIS, encodable, printable
from kernelprof.report.writers import Writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    from kernelprof.report.document import Block, Cell, Column, Fact, Text

NARROWEST: Final = 48
WIDEST_PROSE: Final = 110
"""Columns beyond which sentences are hard to read; tables take all there are."""

_SPACIOUS_FROM: Final = 100
"""Columns from which tables have wide gaps and long headings."""

_LEAST_YIELDING: Final = 16
_LEAST_CUT: Final = 8
_LEAST_WRAPPED: Final = 20
_WIDEST_UNWRAPPED: Final = 28
_LEAST_LABEL: Final = 12

_STYLES: Final = {
    Tone.PLAIN: "",
    Tone.STRONG: "bold",
    Tone.MUTED: "dim",
    Tone.GOOD: "bold green",
    Tone.BAD: "bold red",
    Tone.OPEN: "bold yellow",
}


_TITLE: Final = Paragraph("", Tone.STRONG)
"""Stands for a title that is printed."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What the text is written for."""

    width: int = 80
    color: bool = False
    encoding: str = "utf-8"

    @property
    def ellipsis(self) -> str:
        """What stands for what was cut, in an encoding that may lack the usual character."""
        return encodable(ELLIPSIS, self.encoding)


def write(document: Document, screen: Screen | None = None) -> str:
    """The document as lines, of which nothing but code is wider than the screen."""
    from rich.console import Console

    screen = screen or Screen()
    buffer = StringIO()
    console = Console(
        file=buffer,
        width=max(screen.width, NARROWEST),
        force_terminal=screen.color,
        color_system="standard" if screen.color else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    page = _Page(console, screen)
    page.print(_rich(document.origin or document.title, Tone.STRONG))
    page.blocks(document.blocks, _TITLE)
    lines = (line.rstrip(" ") for line in buffer.getvalue().split("\n"))
    return encodable("\n".join(lines), screen.encoding)


WRITER: Final = Writer("text", ".txt", write, of_document=True, on_screen=True)


class _Page:
    """Blocks on one console."""

    def __init__(self, console: Console, screen: Screen) -> None:
        self.console = console
        self.encoding = screen.encoding
        self.ellipsis = screen.ellipsis
        self.width = min(console.width, WIDEST_PROSE)

    def print(self, renderable: RenderableType) -> None:
        self.console.print(renderable, width=self.width)

    def blocks(self, blocks: Sequence[Block], before: Block, level: int = 1) -> Block:
        """Blocks below another one, with empty lines where they do not belong together.

        Returns the last of them.
        """
        for block in blocks:
            if _is_empty(block):
                continue
            if isinstance(block, Section) and not block.title and not block.summary:
                before = self.blocks(block.blocks, before, level + 1)
                continue
            if not _belong_together(before, block):
                self.console.print()
            self._block(block, level)
            before = block
        return before

    def _block(self, block: Block, level: int) -> None:
        match block:
            case Paragraph(text, tone):
                self.print(_rich(text, tone))
            case Note(text, warning):
                label = Span("warning: " if warning else "note: ", Tone.PLAIN)
                self.print(_rich((label, *_pieces(text)), base="yellow" if warning else ""))
            case Bullets():
                self.print(_listing(block.items, ordered=block.ordered))
            case Facts(items):
                self._facts(items)
            case Table():
                self._table(block)
            case Code():
                self._code(block)
            case Section():
                self._section(block, level)

    def _section(self, section: Section, level: int) -> None:
        from rich.rule import Rule

        tone = Tone.STRONG if section.tone is Tone.PLAIN or section.summary else section.tone
        above = Paragraph("", Tone.MUTED)
        if section.layout is Layout.HERO:
            self._answer(section)
        elif level == 1 and section.title:
            title = _rich(cut(section.title, self.width - 8, self.ellipsis), tone)
            line = encodable("─", self.encoding)
            self.print(Rule(title, align="left", style="dim", characters=line))
        elif section.title:
            self.print(_rich(section.title, tone))
        if section.summary and section.layout is not Layout.HERO:
            self.print(_rich(section.summary, _tone(section.summary, section.tone)))
        elif level == 1 and section.layout is not Layout.HERO:
            above = _TITLE
        hero = section.layout is Layout.HERO and section.blocks[:1]
        rest = section.blocks[1:] if hero and isinstance(hero[0], Paragraph) else section.blocks
        self.blocks(rest, above, level + 1)

    def _answer(self, section: Section) -> None:
        """The title, the gist and the first sentence in one paragraph."""
        line: list[str | Span] = []
        for text in (section.title, section.summary):
            if plain(text):
                line += [Span(": ")] * bool(line)
                line += [Span(each.text, section.tone) for each in spans(text)]
        first = section.blocks[0] if section.blocks else None
        if isinstance(first, Paragraph):
            line += [Span(" "), *_pieces(first.text)]
        self.print(_rich(tuple(line)))

    def _facts(self, items: Sequence[Fact]) -> None:
        from rich.table import Table as RichTable

        longest = max(len(each.label) for each in items)
        grid = RichTable.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=min(max(longest, _LEAST_LABEL), self.width // 3), overflow="fold")
        grid.add_column(overflow="fold")
        for each in items:
            alone = len(each.lines) == 1
            content = _rich(each.lines[0]) if alone else _listing(each.lines)
            grid.add_row(_rich(Span(each.label), Tone.STRONG), content)
        self.print(grid)

    def _code(self, code: Code) -> None:
        """Lines as they are, however long: they are there to be copied."""
        shares = dict(code.shares)
        lines = code.text.rstrip("\n").split("\n")
        digits = len(str(len(lines)))
        for number, line in enumerate(lines, 1):
            margin = ""
            if code.shares:
                margin = f"{100 * shares[number]:5.1f} %  " if number in shares else " " * 9
            if code.numbered:
                margin += f"{number:>{digits}}  "
            text = _rich((Span(margin, Tone.MUTED), Span(line.expandtabs(4))))
            self.console.print(text, soft_wrap=True)

    def _table(self, table: Table) -> None:
        width = self.console.width if table.headings else self.width
        if not table.headings and not self._fits(table.columns, table.rows, width - 2, 2, ""):
            self._stacked(table)
            return
        spacious = width >= _SPACIOUS_FROM or not table.headings
        columns, rows, brief = table.columns, table.rows, "" if spacious else "brief"
        gap = 2 if spacious else 1
        if not self._fits(columns, rows, width, gap, brief):
            gap, brief = 1, "brief"
        while not self._fits(columns, rows, width, gap, brief):
            optional = [at for at, column in enumerate(columns) if column.optional]
            if not optional:
                break
            kept = [at for at in range(len(columns)) if at != optional[0]]
            columns = tuple(columns[at] for at in kept)
            rows = tuple(tuple(row[at] for at in kept) for row in rows)
        self._rows(Table(columns, rows, headings=table.headings), width, gap, brief)

    def _fits(
        self,
        columns: Sequence[Column],
        rows: Sequence[Sequence[Cell]],
        width: int,
        gap: int,
        brief: str,
    ) -> bool:
        """Whether the columns leave enough for those that can be cut or wrapped."""
        taken = -gap
        for position, column in enumerate(columns):
            natural = _natural(column, rows, position, brief)
            least = natural
            if column.yielding:
                least = min(natural, _LEAST_YIELDING)
            elif natural > _WIDEST_UNWRAPPED:
                least = _LEAST_WRAPPED
            taken += least + gap
        return taken <= width

    def _rows(self, table: Table, width: int, gap: int, brief: str) -> None:
        from rich.padding import Padding

        indent = 0 if table.headings else 2
        naturals = [
            _natural(column, table.rows, position, brief)
            for position, column in enumerate(table.columns)
        ]
        grid = _grid(gap)
        grid.show_header = table.headings
        others = sum(naturals) + gap * (len(naturals) - 1) + indent
        for column, natural in zip(table.columns, naturals, strict=True):
            room = max(natural - max(others - width, 0), _LEAST_CUT) if column.yielding else natural
            wraps = not column.yielding and natural > _WIDEST_UNWRAPPED
            grid.add_column(
                _rich(Span(_title(column, brief)), Tone.STRONG),
                justify="right" if column.number else "left",
                no_wrap=not wraps,
                overflow="fold" if wraps else "crop",
                max_width=room if column.yielding else None,
            )
        for row in table.rows:
            cells = [
                _rich(
                    cut(cell.text, column.max_width or 10_000, self.ellipsis)
                    if column.max_width
                    else cell.text
                )
                for cell, column in zip(row, grid.columns, strict=True)
            ]
            grid.add_row(*cells)
        self.console.print(Padding(grid, (0, 0, 0, indent)), width=width)

    def _stacked(self, table: Table) -> None:
        """Rows without room for their columns: the third and the following stand in brackets."""
        from rich.padding import Padding

        grid = _grid(2)
        grid.show_header = False
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for first, *more in table.rows:
            second, *beyond = [cell.text for cell in more] or [""]
            text = _rich(second)
            for each in beyond:
                text.append_text(_rich((" (", *_pieces(each), ")"), Tone.MUTED))
            grid.add_row(_rich(first.text), text)
        self.print(Padding(grid, (0, 0, 0, 2)))


def _is_empty(block: Block) -> bool:
    """Whether a block shows nothing here: charts do not, and neither do empty lists."""
    match block:
        case Paragraph(text):
            return not plain(text)
        case Bullets(items) | Facts(items):
            return not items
        case Table():
            return not block.rows
        case Note() | Code() | Section():
            return False
    return True


def _is_hero(block: Block) -> bool:
    return isinstance(block, Section) and block.layout is Layout.HERO


def _belong_together(before: Block, after: Block) -> bool:
    """Whether no empty line stands between two blocks."""
    lines = [isinstance(each, Paragraph | Note) for each in (before, after)]
    if before is _TITLE:
        return not isinstance(after, Section | Table) or _is_hero(after)
    if _is_hero(before) or _is_hero(after):
        return any(lines)
    if isinstance(after, Paragraph) and after.tone is Tone.MUTED:
        return not isinstance(before, Section | Code)
    if all(lines):
        # Sentences that belong to no text of several follow each other closely.
        return any(getattr(each, "tone", None) is not Tone.PLAIN for each in (before, after))
    return {type(before), type(after)} == {Paragraph, Code}


def _pieces(text: Text) -> tuple[str | Span, ...]:
    return text if isinstance(text, tuple) else (text,)


def _tone(text: Text, whole: Tone) -> Tone:
    """The tone of a text, unless its pieces have their own."""
    return Tone.PLAIN if isinstance(text, tuple) else whole


def _rich(text: Text, tone: Tone = Tone.PLAIN, base: str = "") -> RichText:
    """A text with its tones, without control characters."""
    from rich.text import Text as RichText

    found = RichText(style=base or _STYLES[tone])
    for piece in _pieces(text):
        if isinstance(piece, Span):
            found.append(printable(piece.text), style=_STYLES[piece.tone])
        else:
            found.append(printable(piece))
    return found


def _listing(items: Sequence[Text], *, ordered: bool = False) -> RichTable:
    """Each item behind a dash or its number."""
    grid = _grid(1)
    grid.show_header = False
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for number, item in enumerate(items, 1):
        grid.add_row(_rich(f"{number}." if ordered else "-"), _rich(item))
    return grid


def _grid(gap: int) -> RichTable:
    from rich.table import Table as RichTable

    return RichTable(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")


def _title(column: Column, brief: str) -> str:
    return column.brief or column.title if brief else column.title


def _natural(column: Column, rows: Sequence[Sequence[Cell]], position: int, brief: str) -> int:
    """The columns of its widest cell."""
    widths = [len(plain(row[position].text)) for row in rows]
    return max([len(_title(column, brief)), *widths])
