"""Documents in so many tokens: plain lines, what matters most first, and what was left out.

A token is counted as four bytes of UTF-8, which English text and code have on average with the
tokenizers of large language models (https://help.openai.com/en/articles/4936856); none of them is
asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, assert_never

from kernelprof.model.names import cut_middle, join_words, printable
from kernelprof.model.numbers import count
from kernelprof.report.document import (
    Block,
    Bullets,
    Chart,
    CodeBlock,
    Document,
    FactList,
    Layout,
    Note,
    Paragraph,
    Section,
    Table,
    Text,
    plain,
    spans,
)
from kernelprof.report.writers import BRIEF, Screen, Writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


BYTES_OF_A_TOKEN: Final = 4
LEAST: Final = 200
"""Tokens of the smallest budget: the costliest kernel's verdict, and what was left out."""

_TITLE: Final = 160
_WIDEST: Final = 600
"""Characters of a line, of which a longer one loses its middle; not of code, which would be wrong
then: that is there as a whole or not at all."""
_MOST_NAMED: Final = 3
"""Parts that were left out and are named."""
_NAME: Final = 40
_TAIL: Final = 60
"""Tokens that are kept for the line which says what was left out."""


@dataclass(slots=True)
class _Passage:
    name: str
    lines: list[str]
    """The first is the heading, which has to be there if anything is."""
    left_out: int = field(default=0)


def tokens(text: str) -> int:
    """As how many tokens a text counts."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_OF_A_TOKEN)


def write(document: Document, screen: Screen | None = None) -> str:
    """The document in at most as many tokens as the screen has room for."""
    budget = max((screen or Screen()).tokens, LEAST)
    room = (budget - _TAIL) * BYTES_OF_A_TOKEN
    written: list[str] = []
    parts = list(_parts(document))
    absent: list[_Passage] = []
    for at, part in enumerate(parts):
        head, *others = part.lines
        if _size(head) > room:
            absent = parts[at:]
            break
        if at:
            head = f"\n{head}"
        written.append(head)
        room -= _size(head)
        for line in others:
            if _size(line) > room:
                part.left_out += 1
                continue
            written.append(line)
            room -= _size(line)
    return "".join(f"{line}\n" for line in (*written, *_left_out(parts, absent, budget)))


WRITER: Final = Writer(BRIEF, ".txt", write, of_document=True, on_screen=True)


def _size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 2


def _left_out(parts: Sequence[_Passage], absent: Sequence[_Passage], budget: int) -> Iterable[str]:
    cut = [f"{count(each.left_out, 'line')} of {each.name}" for each in parts if each.left_out]
    names = [*cut, *(each.name for each in absent)]
    if not names:
        return
    for most in range(_MOST_NAMED, -1, -1):
        more = len(names) - most
        shown = [*names[:most], *([f"{more:,} more"] if more > 0 else [])]
        line = f"\nLeft out (limit {budget:,} tokens): {join_words(shown)}."
        if tokens(line) < _TAIL:
            yield line
            return


def _parts(document: Document) -> Iterable[_Passage]:
    title = cut_middle(printable(document.origin or document.title), _TITLE)
    first = _Passage("the introduction", [title])
    remaining: list[_Passage] = []
    last_summary = ""
    for block in document.blocks:
        if isinstance(block, Section) and block.layout is not Layout.HERO:
            remaining.append(_Passage(*_section(block, last_summary)))
            continue
        (remaining[-1] if remaining else first).lines.extend(_lines(block))
        if isinstance(block, Section):
            last_summary = _line(block.summary)
    yield first
    yield from remaining


def _section(section: Section, shown_summary: str = "") -> tuple[str, list[str]]:
    title = plain(section.title)
    summary = _line(section.summary)
    head = "\n".join(filter(None, (title, summary if summary != shown_summary else "")))
    lines = [head, *(line for block in section.blocks for line in _lines(block))]
    return cut_middle(title, _NAME), [each for each in lines if each]


def _lines(block: Block) -> list[str]:  # noqa: PLR0911 (one a type of block)
    match block:
        case Paragraph(text):
            return [line] if (line := _line(text)) else []
        case Note(text, warning):
            return [f"{'Warning' if warning else 'Note'}: {_line(text)}"]
        case Bullets(items):
            return [f"- {_line(each)}" for each in items]
        case FactList(items):
            return [f"{each.label}: " + "\n".join(map(_fact_line, each.lines)) for each in items]
        case Table(columns, rows):
            head = " | ".join(each.brief or each.title for each in columns)
            cells = (" | ".join(_line(cell.text) for cell in row) for row in rows)
            return [head, *cells] if rows and block.headings else list(cells)
        case CodeBlock(text):
            return ["\n".join(printable(line.expandtabs(4)) for line in text.split("\n"))]
        case Section():
            return _section(block)[1]
        case Chart():
            return []
        case _:
            assert_never(block)


def _fact_line(text: Text) -> str:
    is_code = all(each.code for each in spans(text))
    return printable(plain(text) if is_code else _line(text))


def _line(text: Text) -> str:
    text_spans = spans(text)
    whole = len(text_spans) == 1
    line = "".join(
        f"`{each.text}`" if each.code and not whole else each.text for each in text_spans
    )
    return cut_middle(printable(line), _WIDEST)
