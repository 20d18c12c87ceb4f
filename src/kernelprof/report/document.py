"""What a result says, as blocks, before anybody decides how it looks.

A result becomes one :class:`Document` (``report/documents``, one file a kind of result), and a
writer turns any document into one format (``report/writers``, one file a format). Documents know
nothing of terminals or markup; writers know nothing of kernels.

To add a kind of block, declare its class here and in :data:`Block`; mypy then names the functions
of ``writers/terminal.py`` and ``brief.py`` that lack it. Add a macro with the lower-cased name of
the class to ``templates/report.md`` and to ``templates/blocks.html`` (and its list at the end), its
style to ``page.css``, and show one in ``DOCUMENT`` of ``tests/report/test_writers.py``.

Texts are plain. In a ``str`` of our own, words between backticks are code; what strangers wrote
(kernel names, paths, messages of ``ncu``) goes into a :class:`Span`, where nothing is markup.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from kernelprof.model.names import ELLIPSIS, printable, shorten


class Tone(StrEnum):
    """What a text or a section means for the reader; writers choose colour, weight and symbol."""

    PLAIN = "plain"
    STRONG = "strong"
    MUTED = "muted"
    GOOD = "good"
    """At its limit, faster, passed."""
    BAD = "bad"
    """A bottleneck, slower, a regression."""
    OPEN = "open"
    """Inconclusive."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of text as it is. ``target`` is the anchor of a section of the same document."""

    text: str
    tone: Tone = Tone.PLAIN
    code: bool = False
    target: str = ""


Text = str | Span | tuple[str | Span, ...]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or more."""

    text: Text
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know about the result. A ``warning`` is about the input or the measurement."""

    text: Text
    warning: bool = False


@dataclass(frozen=True, slots=True)
class Bullets:
    """Items of a list."""

    items: tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A label with one line or several. ``tip`` explains it where there is room."""

    label: str
    lines: tuple[Text, ...]
    tip: str = ""


@dataclass(frozen=True, slots=True)
class FactList:
    """Labels beside their texts."""

    items: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a whole, 0 to 1, with a threshold at ``mark``."""

    fill: float
    mark: float | None = None


class Cell(NamedTuple):
    """A cell of a table; ``sort`` is what it sorts by where that is not its text.

    A named tuple, as a page of many kernels has hundreds of thousands.
    """

    text: Text
    sort: float | None = None
    tip: str = ""
    bar: Bar | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    ``number`` columns are flush right. ``brief`` is a heading for little room, where an
    ``optional`` column is left out and the text of a ``yielding`` one is cut.
    """

    title: str
    brief: str = ""
    number: bool = False
    optional: bool = False
    yielding: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings. ``label`` says what it shows, for those who do not see it.

    A ``long`` table can be sorted and filtered where that is possible.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    label: str = ""
    long: bool = False
    headings: bool = True


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: ``rows`` are the named tuples that the chart ``kind`` of ``report/charts`` draws.

    ``label`` names it for those who do not see it, ``caption`` explains how to read it. Writers
    without charts leave both out: whatever matters is in another block as well.
    """

    kind: str
    rows: tuple[Any, ...]
    label: str
    caption: Text = ""


@dataclass(frozen=True, slots=True)
class LineNote:
    """What stands beside a line of a listing. One that is ``marked`` shows a ``part``, 0 to 1.

    ``more`` stands in a second column.
    """

    line: int
    text: str
    part: float
    marked: bool
    more: str = ""


class MachineLine(NamedTuple):
    """A machine instruction beside a listing.

    ``line`` is the one of the listing that it comes from, 0 where it is of none; ``place`` what
    that is called. ``share`` says what ``part``, 0 to 1, of the samples it has, and ``waits`` what
    warps mostly wait by at it. One without a place and a text stands for some that are left out.
    """

    line: int
    place: str
    text: str
    share: str = ""
    part: float = 0.0
    waits: str = ""


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Lines to copy or to read. ``shares`` marks lines, by number, with their part of a whole.

    ``notes`` are in their place where the listing has room for them, under the headings ``noted``:
    one, or two where notes have ``more``. ``numbers`` are those of the lines where not all of a
    file are there. ``machine`` stands beside the listing, with the instructions of the line
    ``chosen`` marked.
    """

    text: str
    language: str = ""
    name: str = ""
    shares: tuple[tuple[int, float], ...] = ()
    numbered: bool = False
    copy: bool = False
    notes: tuple[LineNote, ...] = ()
    noted: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    machine: tuple[MachineLine, ...] = ()
    chosen: int | None = None


class Layout(StrEnum):
    """How the blocks of a section stand where there is room."""

    STACK = "stack"
    GRID = "grid"
    HERO = "hero"
    """The answer itself, at the top."""
    DENSE = "dense"
    """Close together, for a look at many of them."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what belongs to it.

    ``summary`` is its gist in a sentence, which stands beside the title. A ``folded`` section shows
    these two until it is opened, where the format can do that.
    """

    title: Text
    blocks: tuple[Block, ...]
    anchor: str = ""
    tone: Tone = Tone.PLAIN
    folded: bool = False
    layout: Layout = Layout.STACK
    summary: Text = ""


def answer(summary: Text, *blocks: Block, title: Text = "", tone: Tone = Tone.PLAIN) -> Section:
    """The answer of a document, which stands at its top."""
    return Section(title, blocks, tone=tone, layout=Layout.HERO, summary=summary)


Block = Paragraph | Note | Bullets | FactList | Table | Chart | CodeBlock | Section


@dataclass(frozen=True, slots=True)
class Document:
    """All that a result says, the answer first.

    ``origin`` is what it is about (a capture's path), ``machine`` the GPUs that all of it is about,
    ``data`` the same result as JSON for formats that can carry it along, and ``file`` the name to
    save that under.
    """

    title: str
    blocks: tuple[Block, ...]
    origin: str = ""
    machine: str = ""
    data: str = ""
    file: str = "result.json"


_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LEAST_CUT = 5


def text_items(text: Text) -> tuple[str | Span, ...]:
    """A text as a tuple, whatever it is."""
    return text if isinstance(text, tuple) else (text,)


def spans(text: Text) -> tuple[Span, ...]:
    """A text in pieces; what stands between backticks in our own words is a piece of code."""
    result: list[Span] = []
    for item in text_items(text):
        if isinstance(item, Span):
            result.append(item)
            continue
        for position, part in enumerate(_CODE.split(item)):
            if part:
                result.append(Span(part, code=position % 2 == 1))
    return tuple(result)


def plain(text: Text) -> str:
    """A text without what it means, for places that show nothing but characters."""
    if isinstance(text, str):
        return text
    return "".join(item.text if isinstance(item, Span) else item for item in text_items(text))


def _is_name(item: str | Span) -> bool:
    return isinstance(item, Span) and item.code


def cut(text: Text, width: int, ellipsis: str = ELLIPSIS) -> Text:
    """A text in so many characters. Its longest name is cut, or its longest piece where it has no
    name: what stands beside, like the block size and the time, tells the text from others.
    """
    if len(plain(text)) <= width:
        return text
    parts = text_items(text)
    longest = max(range(len(parts)), key=lambda at: (_is_name(parts[at]), len(plain(parts[at]))))
    name, before, after = parts[longest], parts[:longest], parts[longest + 1 :]
    room = width - len(plain(before + after))
    if room < _LEAST_CUT:
        before, after, room = (), (), width
    content = shorten(printable(plain(name)), room, ellipsis)
    if isinstance(name, Span):
        return (*before, replace(name, text=content), *after)
    return (*before, content, *after)
