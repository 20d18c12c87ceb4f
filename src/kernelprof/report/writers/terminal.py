"""Documents for the terminal: plain lines at any width from 48 columns, colour where it is wished.

What strangers wrote cannot steer the terminal, and glyphs that its encoding lacks are replaced.
"""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from textwrap import wrap
from typing import TYPE_CHECKING, Final, assert_never

from kernelprof.model.names import encodable, printable
from kernelprof.report.document import (
    Block,
    Bullets,
    Chart,
    CodeBlock,
    Document,
    Fact,
    FactList,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
    Tone,
    cut,
    plain,
    spans,
    text_items,
)
from kernelprof.report.writers import Screen, Writer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text as RichText


NARROWEST: Final = 48
WIDEST_PROSE: Final = 110
"""Columns beyond which sentences are hard to read; tables take all there are."""

_SPACIOUS_FROM: Final = 100
"""Columns from which tables have wide gaps and long headings."""

_LEAST_YIELDING: Final = 16
_LEAST_CUT: Final = 8
_LEAST_FOLDED: Final = 10
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
    page = _TerminalPage(console, screen)
    page.print(_rich(document.origin or document.title, Tone.STRONG))
    page.blocks(document.blocks, _TITLE)
    lines = (line.rstrip(" ") for line in buffer.getvalue().split("\n"))
    return encodable("\n".join(lines), screen.encoding)


WRITER: Final = Writer("text", ".txt", write, of_document=True, on_screen=True)


class _TerminalPage:
    def __init__(self, console: Console, screen: Screen) -> None:
        self.console = console
        self.encoding = screen.encoding
        self.ellipsis = screen.ellipsis
        self.width = min(console.width, WIDEST_PROSE)

    def print(self, renderable: RenderableType) -> None:
        self.console.print(renderable, width=self.width)

    def blocks(
        self, blocks: Sequence[Block], before: Block, level: int = 1, *, dense: bool = False
    ) -> Block:
        """Blocks below another one, with empty lines where they do not belong together.

        Returns the last of them.
        """
        for block in blocks:
            if _is_empty(block):
                continue
            if isinstance(block, Section) and not block.title and not block.summary:
                before = self.blocks(block.blocks, before, level + 1)
                continue
            if dense and isinstance(block, Bullets):
                self._indented(_listing(block.items))
                before = block
                continue
            if not dense and not _belong_together(before, block):
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
                self.print(_rich((label, *text_items(text)), base="yellow" if warning else ""))
            case Bullets():
                self.print(_listing(block.items))
            case FactList(items):
                self._facts(items)
            case Table():
                self._table(block)
            case CodeBlock():
                self._code(block)
            case Section():
                self._section(block, level)
            case Chart():
                pass  # a page has room for them
            case _:
                assert_never(block)

    def _section(self, section: Section, level: int) -> None:
        from rich.rule import Rule

        above = Paragraph("", Tone.MUTED)
        blocks = section.blocks
        if section.layout is Layout.HERO:
            # The title, the gist and the first sentence in one paragraph.
            both = ("".join(e.text for e in spans(t)) for t in (section.title, section.summary))
            gist_text = ": ".join(filter(None, both))
            first = blocks[0] if blocks else None
            more: tuple[str | Span, ...] = ()
            if isinstance(first, Paragraph):
                more, blocks = (" ", *text_items(first.text)), blocks[1:]
            self.print(_rich((Span(gist_text, section.tone), *more)))
            self.blocks(blocks, above, level + 1)
            return
        tone = Tone.STRONG if section.tone is Tone.PLAIN or section.summary else section.tone
        if level == 1 and section.title:
            title = _rich(cut(section.title, self.width - 8, self.ellipsis), tone)
            line = encodable("─", self.encoding)
            self.print(Rule(title, align="left", style="dim", characters=line))
        elif section.title:
            self.print(_rich(section.title, tone))
        if section.summary:
            is_toned = isinstance(section.summary, tuple)
            self.print(_rich(section.summary, Tone.PLAIN if is_toned else section.tone))
        elif level == 1:
            above = _TITLE
        self.blocks(blocks, above, level + 1, dense=section.layout is Layout.DENSE)

    def _facts(self, items: Sequence[Fact]) -> None:
        longest = max(len(each.label) for each in items)
        grid = _grid(1)
        grid.add_column(width=min(max(longest, _LEAST_LABEL), self.width // 3), overflow="fold")
        grid.add_column(overflow="fold")
        for each in items:
            alone = len(each.lines) == 1
            content = _rich(each.lines[0]) if alone else _listing(each.lines)
            grid.add_row(_rich(Span(each.label), Tone.STRONG), content)
        self.print(grid)

    def _code(self, code: CodeBlock) -> None:
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
        """A table in the columns that there are: brief headings, fewer columns, then cut texts.

        Where numbers would be cut, each row is a list.
        """
        whole = table
        if not table.headings:
            self._rows(table, _rooms(table, self.width - 2, 2), 2, indent=2)
            return
        width = self.console.width
        gap = 2 if width >= _SPACIOUS_FROM else 1
        if gap == 1 or _total(_rooms(table, width, gap), gap) > width:
            gap = 1
            brief = tuple(replace(each, title=each.brief or each.title) for each in table.columns)
            table = replace(table, columns=brief)
        while _total(rooms := _rooms(table, width, gap), gap) > width:
            optional = [at for at, column in enumerate(table.columns) if column.optional]
            if not optional:
                rooms = _cut_rooms(table, width, gap)
                if _total(rooms, gap) > width + _folds(table, rooms):
                    self._lists(whole)
                    return
                break
            first = optional[0]
            columns = table.columns[:first] + table.columns[first + 1 :]
            rows = tuple(row[:first] + row[first + 1 :] for row in table.rows)
            table = replace(table, columns=columns, rows=rows)
        self._rows(table, rooms, gap)

    def _lists(self, table: Table) -> None:
        for at, row in enumerate(table.rows):
            if at:
                self.console.print()
            cells = zip(table.columns, row, strict=True)
            self._facts([Fact(column.title, (cell.text,)) for column, cell in cells])

    def _rows(self, table: Table, rooms: Sequence[int], gap: int, indent: int = 0) -> None:
        grid = _grid(gap)
        grid.show_header = table.headings
        for column, room in zip(table.columns, rooms, strict=True):
            wraps = not column.number and not column.yielding
            grid.add_column(
                _rich(Span(column.title), Tone.STRONG),
                justify="right" if column.number else "left",
                no_wrap=not wraps,
                overflow="fold" if wraps else "crop",
                max_width=room,
            )
        for row in table.rows:
            texts = [
                cut(cell.text, room, self.ellipsis)
                if column.yielding
                else _break_at_hyphens(cell.text, room)
                for cell, column, room in zip(row, table.columns, rooms, strict=True)
            ]
            grid.add_row(*map(_rich, texts))
        self._indented(grid, indent, self.console.width)

    def _indented(self, content: RenderableType, indent: int = 2, width: int | None = None) -> None:
        from rich.padding import Padding

        self.console.print(Padding(content, (0, 0, 0, indent)), width=width or self.width)


def _is_empty(block: Block) -> bool:
    match block:
        case Paragraph(text):
            return not plain(text)
        case Bullets(items) | FactList(items):
            return not items
        case Table():
            return not block.rows
        case Section(_, blocks, layout=layout, summary=summary):
            is_answer = layout is Layout.HERO or bool(summary)
            return not is_answer and bool(blocks) and all(map(_is_empty, blocks))
        case Note() | CodeBlock():
            return False
        case Chart():
            return True
        case _:
            assert_never(block)


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
        return not isinstance(before, Section | CodeBlock)
    if all(lines):
        # Sentences that belong to no text of several follow each other closely.
        return any(getattr(each, "tone", None) is not Tone.PLAIN for each in (before, after))
    return {type(before), type(after)} == {Paragraph, CodeBlock}


def _rich(text: Text, tone: Tone = Tone.PLAIN, base: str = "") -> RichText:
    from rich.text import Text as RichText

    rich_text = RichText(style=base or _STYLES[tone])
    for item in text_items(text):
        if isinstance(item, Span):
            rich_text.append(printable(item.text), style=_STYLES[item.tone])
        else:
            rich_text.append(printable(item))
    return rich_text


def _break_at_hyphens(text: Text, room: int) -> Text:
    """Break words that are wider than a column at hyphens, where they have some."""

    def broken(word: re.Match[str]) -> str:
        return " ".join(wrap(word[0], room, break_long_words=False))

    too_wide = re.compile(rf"\S{{{room + 1},}}")
    return tuple(
        replace(item, text=too_wide.sub(broken, item.text))
        if isinstance(item, Span)
        else too_wide.sub(broken, item)
        for item in text_items(text)
    )


def _listing(items: Sequence[Text]) -> RichTable:
    grid = _grid(1)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for item in items:
        grid.add_row(_rich("-"), _rich(item))
    return grid


def _grid(gap: int) -> RichTable:
    from rich.table import Table as RichTable

    return RichTable(
        box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold", show_header=False
    )


def _rooms(table: Table, width: int, gap: int, least: int = _LEAST_YIELDING) -> list[int]:
    """The width of each column; together they are too wide where the table does not fit.

    Columns whose texts can be cut or wrapped get what the others leave, those that are cut first.
    """
    from rich.cells import cell_len

    naturals = [
        max(len(column.title), *(cell_len(plain(row[at].text)) for row in table.rows))
        for at, column in enumerate(table.columns)
    ]
    rooms = list(naturals)
    flexible: list[int] = []
    for at, column in enumerate(table.columns):
        if column.yielding:
            rooms[at] = min(naturals[at], least)
            flexible.insert(0, at)
        elif not column.number and naturals[at] > _WIDEST_UNWRAPPED:
            rooms[at] = _LEAST_WRAPPED
            flexible.append(at)
    spare = width - _total(rooms, gap)
    for at in flexible:
        more = max(min(naturals[at] - rooms[at], spare), 0)
        rooms[at] += more
        spare -= more
    return rooms


def _cut_rooms(table: Table, width: int, gap: int) -> list[int]:
    """The width of each column, with texts cut no more than it takes for the table to fit."""
    for least in range(_LEAST_YIELDING, _LEAST_CUT, -1):
        if _total(rooms := _rooms(table, width, gap, least), gap) <= width:
            return rooms
    return _rooms(table, width, gap, _LEAST_CUT)


def _folds(table: Table, rooms: Sequence[int]) -> int:
    """The columns that folding of texts can save; numbers and texts that are cut stay in a line."""
    return sum(
        max(room - _LEAST_FOLDED, 0)
        for column, room in zip(table.columns, rooms, strict=True)
        if not column.number and not column.yielding
    )


def _total(rooms: Sequence[int], gap: int) -> int:
    return sum(rooms) + gap * (len(rooms) - 1)
