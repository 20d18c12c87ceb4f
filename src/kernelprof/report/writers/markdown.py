"""Documents as Markdown: fit for a comment on a pull request, whatever a kernel is called."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.model.names import printable
from kernelprof.model.numbers import count
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
from kernelprof.report.writers import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.report.document import Block, Text

COMMENT: Final = 65_000
"""GitHub takes comments of up to 65,536 characters; these are bytes, and some are left for a mark
that whoever posts the comment puts before it."""

_NO_CODE: Final = "The text that stands here is left out for lack of room."
_TAIL: Final = 300
"""Bytes for the lines that say what was left out."""

_LABEL_WIDTH: Final = 64
_TITLE_WIDTH: Final = 100
_FIRST_LEVEL: Final = 3
_LAST_LEVEL: Final = 6

_PUNCTUATION: Final = re.compile(r"[\\*\[\]<>|~`@&]|#(?=\w)|(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])")
"""What Markdown could take for markup; underscores inside a word are not."""
_LINE_START: Final = re.compile(r"^(\s*)([-+=]|#+(?=\s)|\d+[.)](?=\s|$))")
"""What would begin a list or a heading at the start of a line."""
_NOT_PLAIN: Final = re.compile(r"[`|\\]")
_STRONG: Final = frozenset({Tone.STRONG, Tone.BAD, Tone.OPEN})


def write(document: Document, *, largest: int | None = COMMENT, level: int = _FIRST_LEVEL) -> str:
    """The document, of at most ``largest`` bytes; ``level`` is that of its first heading.

    Where it would be larger, tables lose their last rows, then folded sections their code, then
    the last of them are left out, and the text says so.
    """
    page = _Page(level)
    title = f"{'#' * level} {prose(document.title)}"
    if document.origin:
        title += f": {code(document.origin)}"
    if largest is None:
        parts = page.all(document.blocks)
    else:
        parts = page.fitting(document.blocks, largest - _TAIL - len(title.encode()))
    return "\n\n".join([title, *parts]).strip() + "\n"


WRITER: Final = Writer("markdown", ".md", write, of_document=True)


def code(text: str) -> str:
    """A code span; as HTML where a backtick, a pipe or a backslash would end it or the cell.

    Of no text it is nothing.
    """
    line = printable(text)
    if _NOT_PLAIN.search(line) or line != line.strip():
        return f"<code>{_entities(line)}</code>"
    return f"`{line}`" if line else ""


def prose(text: Text) -> str:
    """A text in one line, without markup of its own but for code and weight."""
    return "".join(map(_span, _merged(text)))


def fenced(text: str, language: str = "sh") -> str:
    """Lines to copy from; the fence is longer than any run of backticks inside."""
    lines = [printable(line.expandtabs(4)) for line in text.rstrip("\n").split("\n")]
    longest = max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


class _Page:
    """Blocks as parts of a text, between which stand empty lines."""

    def __init__(self, level: int) -> None:
        self.level = level

    def all(self, blocks: Iterable[Block], depth: int = 1, *, codes: bool = True) -> list[str]:
        """All blocks; without ``codes`` a sentence stands in for those of several lines."""
        return _notes_together((each, self._block(each, depth, codes=codes)) for each in blocks)

    def fitting(self, blocks: Sequence[Block], room: int) -> list[str]:
        """Blocks in so many bytes: what is neither a table nor a section stays in any case."""
        room -= sum(_size(self._block(each, 1)) for each in blocks if not _may_go(each))
        found: list[tuple[Block, str]] = []
        left_out = 0
        for block in blocks:
            text = self._block(block, 1)
            if not _may_go(block):
                found.append((block, text))
                continue
            if isinstance(block, Table):
                text = _fitting_table(block, room)
            elif _size(text) > room:
                text = self._block(block, 1, codes=False)
            if _size(text) > room:
                left_out += 1
                continue
            room -= _size(text)
            found.append((block, text))
        parts = _notes_together(found)
        if left_out:
            which = "one section" if left_out == 1 else f"{left_out:,} sections"
            parts.append(f"Left out for lack of room: {which}. `--format json` has all.")
        return parts

    def _block(  # noqa: PLR0911 (one a type of block)
        self, block: Block, depth: int, *, codes: bool = True
    ) -> str:
        match block:
            case Paragraph(text, tone):
                line = _line(text)
                return _bold(line) if tone in _STRONG and line else line
            case Note(text, warning):
                return f"- {'Warning' if warning else 'Note'}: {prose(text)}"
            case Bullets(items, ordered):
                return _listing(items, ordered=ordered)
            case Facts(items):
                return "\n\n".join(_fact(each.label, each.lines) for each in items)
            case Table():
                return _table(block)
            case Code(text, language):
                return fenced(text, language) if codes or "\n" not in text else _NO_CODE
            case Section():
                return self._section(block, depth, codes=codes)
        return ""

    def _section(self, section: Section, depth: int, *, codes: bool) -> str:
        inner = self.all(section.blocks, depth + 1, codes=codes)
        if section.blocks and not inner and section.layout is not Layout.HERO:
            return ""  # nothing but charts
        whole = cut(section.title, _TITLE_WIDTH)
        if section.folded:
            title = _html(whole)
            if plain(section.summary):
                title += f": {_html(section.summary)}"
            mark = f'<a id="{html.escape(section.anchor)}"></a>' if section.anchor else ""
            head = f"{mark}<details><summary>{title}</summary>"
            return "\n\n".join([head, *inner, "</details>"])
        summary = prose(section.summary)
        if section.layout is Layout.HERO:
            title = prose(whole)
            # One line, its answer in bold, so that it is what a list of comments shows.
            answer = _bold(": ".join(filter(None, (title, summary))))
            first = section.blocks[:1]
            if first and isinstance(first[0], Paragraph):
                return "\n\n".join([f"{answer} {inner[0]}", *inner[1:]])
            return "\n\n".join([answer, *inner])
        marks = "#" * min(self.level + depth, _LAST_LEVEL)
        heading = [f"{marks} {prose(whole)}"] if plain(section.title) else []
        if section.anchor and section.anchor != plain(section.title):
            heading.insert(0, f'<a id="{html.escape(section.anchor)}"></a>')
        return "\n\n".join([*heading, *([_bold(summary)] if summary else []), *inner])


def _may_go(block: Block) -> bool:
    """Whether a text that would be too long does without it, or without a part of it."""
    return isinstance(block, Table) or (
        isinstance(block, Section) and block.layout is not Layout.HERO
    )


def _size(text: str) -> int:
    """Bytes of a part with the lines around it."""
    return len(text.encode()) + 2


def _notes_together(parts: Iterable[tuple[Block, str]]) -> list[str]:
    """The parts that are not empty; notes that follow each other are one list."""
    found: list[str] = []
    noted = False
    for block, text in parts:
        if not text:
            continue
        if noted and isinstance(block, Note):
            found[-1] += f"\n{text}"
        else:
            found.append(text)
        noted = isinstance(block, Note)
    return found


def _fitting_table(table: Table, room: int) -> str:
    """A table with half as many rows until it fits."""
    rows, text = table.rows, _table(table)
    while rows and _size(text) > room:
        # Names of nothing but markup take six bytes a character.
        rows = rows[: len(rows) // 2]
        text = _table(Table(table.columns, rows))
        text += f"\n\nLeft out for lack of room: {count(len(table.rows) - len(rows), 'row')}."
    return text


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    lines = [
        [prose(Span(column.title)) for column in table.columns],
        ["--:" if column.number else ":--" for column in table.columns],
    ]
    lines += [
        [
            prose(cut(cell.text, _LABEL_WIDTH) if column.yielding else cell.text)
            for cell, column in zip(row, table.columns, strict=True)
        ]
        for row in table.rows
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _fact(label: str, lines: Sequence[Text]) -> str:
    title = f"**{prose(Span(label))}:**"
    if len(lines) == 1:
        return f"{title} {prose(lines[0])}"
    return f"{title}\n\n{_listing(lines)}"


def _listing(items: Iterable[Text], *, ordered: bool = False) -> str:
    return "\n".join(
        f"{f'{number}.' if ordered else '-'} {_line(item)}" for number, item in enumerate(items, 1)
    )


def _line(text: Text) -> str:
    """A text at the start of a line, where more characters mean something."""
    return _LINE_START.sub(_escaped_start, prose(text))


def _escaped_start(match: re.Match[str]) -> str:
    mark = match[2]
    return f"{match[1]}{mark[:-1]}&#{ord(mark[-1])};"


def _span(span: Span) -> str:
    text = code(span.text) if span.code else _entities(printable(span.text))
    if span.target:
        text = f"[{text}](#{span.target})"
    return _bold(text) if span.tone is Tone.STRONG and not span.code else text


def _bold(text: str) -> str:
    """Bold, with the spaces outside: inside they would end it."""
    inner = text.strip()
    if not inner or "**" in inner:
        return text
    return text.replace(inner, f"**{inner}**", 1)


def _html(text: Text) -> str:
    """A text inside of HTML."""
    pieces = [(each.code, html.escape(printable(each.text))) for each in _merged(text)]
    return "".join(f"<code>{piece}</code>" if is_code else piece for is_code, piece in pieces)


def _merged(text: Text) -> list[Span]:
    """The pieces of a text; code spans that touch would be one with backticks inside."""
    found: list[Span] = []
    for each in spans(text):
        if found and each.code and found[-1].code and each.target == found[-1].target:
            found[-1] = replace(found[-1], text=found[-1].text + each.text)
        else:
            found.append(each)
    return found


def _entities(text: str) -> str:
    return _PUNCTUATION.sub(
        lambda match: "".join(f"&#{ord(character)};" for character in match[0]), text
    )
