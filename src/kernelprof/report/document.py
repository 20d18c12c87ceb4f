"""What a result says, as blocks, before anybody decides how it looks.

A result becomes one :class:`Document` (``report/documents``, one file a kind of result), and a
writer turns any document into one format (``report/writers``, one file a format). Documents know
nothing of terminals or markup; writers know nothing of kernels.

Texts are plain. In a ``str`` of our own, words between backticks are code; what strangers wrote
(kernel names, paths, messages of ``ncu``) goes into a :class:`Span`, where nothing is markup.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
    """Items of a list, of which an ``ordered`` one is numbered."""

    items: tuple[Text, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """A label with one line or several. ``tip`` explains it where there is room."""

    label: str
    lines: tuple[Text, ...]
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Labels beside their texts."""

    items: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a whole, 0 to 1, with a threshold at ``mark``."""

    fill: float
    mark: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table; ``sort`` is what it sorts by where that is not its text."""

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
    """Rows for the chart of this kind (``report/charts``); ``label`` says what it shows.

    Writers without charts leave it out: whatever matters stands in another block as well.
    """

    kind: str
    rows: tuple[dict[str, object], ...]
    label: str


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to copy or to read. ``shares`` marks lines, by number, with their part of a whole."""

    text: str
    language: str = ""
    name: str = ""
    shares: tuple[tuple[int, float], ...] = ()
    numbered: bool = False
    copy: bool = False


class Layout(StrEnum):
    """How the blocks of a section stand where there is room."""

    STACK = "stack"
    GRID = "grid"
    HERO = "hero"
    """The answer itself, at the top."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what belongs to it. A ``folded`` one shows its title until it is opened."""

    title: Text
    blocks: tuple[Block, ...]
    anchor: str = ""
    tone: Tone = Tone.PLAIN
    folded: bool = False
    layout: Layout = Layout.STACK


Block = Paragraph | Note | Bullets | Facts | Table | Chart | Code | Section


@dataclass(frozen=True, slots=True)
class Document:
    """All that a result says, the answer first.

    ``origin`` is what it is about (a capture's path), ``data`` the same result as JSON for formats
    that can carry it along, and ``file`` the name to save that under.
    """

    title: str
    blocks: tuple[Block, ...]
    origin: str = ""
    data: str = ""
    file: str = "result.json"
