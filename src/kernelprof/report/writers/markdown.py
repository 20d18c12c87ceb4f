"""Documents as Markdown: fit for a comment on a pull request, whatever a kernel is called."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from kernelprof.model.names import printable
from kernelprof.model.numbers import count
from kernelprof.report.document import (
    Block,
    Chart,
    CodeBlock,
    Document,
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
)
from kernelprof.report.markup import template_environment
from kernelprof.report.writers import Writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


COMMENT: Final = 65_000
"""GitHub takes comments of up to 65,536 characters; these are bytes, and some are left for a mark
that whoever posts the comment puts before it."""

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


def write(document: Document, *, largest: int | None = COMMENT, level: int = _FIRST_LEVEL) -> str:
    """Write a document of at most ``largest`` bytes; ``level`` is that of its first heading.

    Where it would be larger, tables lose their last rows, then folded sections their code, then
    the last of them are left out, and the text says so.
    """
    writer = _MarkdownBlocks(level)
    title = writer.template.title(document, level)
    if largest is None:
        parts = writer.write_all(document.blocks)
    else:
        parts = writer.write_fitting(document.blocks, largest - _TAIL - len(title.encode()))
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


class _MarkdownBlocks:
    def __init__(self, level: int) -> None:
        self.level = level
        self.template: Any = _template()

    def write_all(
        self, blocks: Iterable[Block], depth: int = 1, *, codes: bool = True
    ) -> list[str]:
        """Write all blocks; without ``codes`` a sentence stands in for those of several lines."""
        texts = ((each, self._write(each, depth, codes=codes)) for each in blocks)
        return _with_notes_joined(texts)

    def write_fitting(self, blocks: Sequence[Block], room: int) -> list[str]:
        """Write blocks in so many bytes; what is neither a table nor a section always stays."""
        room -= sum(_size(self._write(each, 1)) for each in blocks if not _is_optional(each))
        parts: list[tuple[Block, str]] = []
        left_out = 0
        for block in blocks:
            text = self._write(block, 1)
            if not _is_optional(block):
                parts.append((block, text))
                continue
            if isinstance(block, Table):
                text = self._fit_table(block, room)
            elif _size(text) > room:
                text = self._write(block, 1, codes=False)
            if _size(text) > room:
                left_out += 1
                continue
            room -= _size(text)
            parts.append((block, text))
        texts = _with_notes_joined(parts)
        return [*texts, self.template.left_out(left_out)] if left_out else texts

    def _write(self, block: Block, depth: int, *, codes: bool = True) -> str:
        if isinstance(block, Chart):
            return ""
        if isinstance(block, Section):
            inner = self.write_all(block.blocks, depth + 1, codes=codes)
            if block.blocks and not inner and block.layout is not Layout.HERO:
                return ""  # nothing but charts
            level = min(self.level + depth, _LAST_LEVEL)
            text = self.template.section(block, inner, level)
        elif isinstance(block, CodeBlock):
            text = self.template.codeblock(block, codes)
        else:
            text = getattr(self.template, type(block).__name__.lower())(block)
        return str(text).strip("\n")

    def _fit_table(self, table: Table, room: int) -> str:
        rows, text = table.rows, self._write(table, 1)
        while rows and _size(text) > room:
            # Names of nothing but markup take six bytes a character.
            rows = rows[: len(rows) // 2]
            text = self._write(Table(table.columns, rows), 1)
            text += f"\n\nLeft out for lack of room: {count(len(table.rows) - len(rows), 'row')}."
        return text


@cache
def _template() -> object:
    templates = template_environment()
    templates.filters.update(
        begins_with_text=lambda section: isinstance((section.blocks or (None,))[0], Paragraph),
        bold=_bold,
        code=code,
        cut_label=lambda text: cut(text, _LABEL_WIDTH),
        cut_title=lambda text: cut(text, _TITLE_WIDTH),
        fenced=lambda block: fenced(block.text, block.language),
        html=_html,
        line=_line,
        plain=plain,
        plain_prose=lambda text: prose(Span(text)),
        prose=prose,
    )
    return templates.get_template("report.md").module


def _is_optional(block: Block) -> bool:
    return isinstance(block, Table) or (
        isinstance(block, Section) and block.layout is not Layout.HERO
    )


def _size(text: str) -> int:
    return len(text.encode()) + 2


def _with_notes_joined(parts: Iterable[tuple[Block, str]]) -> list[str]:
    texts: list[str] = []
    noted = False
    for block, text in parts:
        if not text:
            continue
        if noted and isinstance(block, Note):
            texts[-1] += f"\n{text}"
        else:
            texts.append(text)
        noted = isinstance(block, Note)
    return texts


def _line(text: Text) -> str:
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
    escaped = [(each.code, html.escape(printable(each.text))) for each in _merged(text)]
    return "".join(
        f"<code>{content}</code>" if is_code else content for is_code, content in escaped
    )


def _merged(text: Text) -> list[Span]:
    """The pieces of a text; code spans that touch would be one with backticks inside."""
    result: list[Span] = []
    for each in spans(text):
        if result and each.code and result[-1].code and each.target == result[-1].target:
            result[-1] = replace(result[-1], text=result[-1].text + each.text)
        else:
            result.append(each)
    return result


def _entities(text: str) -> str:
    return _PUNCTUATION.sub(
        lambda match: "".join(f"&#{ord(character)};" for character in match[0]), text
    )
