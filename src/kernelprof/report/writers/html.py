"""A document as one HTML file, or as a part of a page for notebooks: ``report/templates``."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import compress, count
from operator import not_
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
from markupsafe import Markup

from kernelprof.model.names import printable
from kernelprof.model.numbers import count as count_of
from kernelprof.model.numbers import share
from kernelprof.report import charts
from kernelprof.report.charts.drawing import SHAPES
from kernelprof.report.document import (
    Block,
    Cell,
    Chart,
    CodeBlock,
    Column,
    Document,
    FactList,
    Layout,
    LineNote,
    Section,
    Table,
    Text,
    Tone,
    plain,
)
from kernelprof.report.markup import asset, classes, template_environment
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Future

    from jinja2 import Environment


POLICY: Final = (
    "default-src 'none'; script-src 'sha256-{script}'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
"""Nothing is fetched: the page is whole, and no script runs but the one with this digest.
Its data is offered as a blob."""

MOST_OPEN: Final = 12
"""Cards that are part of the page from the start; more are put in when they are opened."""
MOST_PLAIN: Final = 30
"""Cards up to which everything stands in the page as it is; those of more are packed."""
FRAME_HEIGHT: Final = 560
"""Pixels of a result in a notebook: two thirds of a laptop's screen."""
PACK: Final = 20
"""Cards that are packed together: they are alike, and one is unpacked with its neighbours."""

LONGEST_IN_ROW: Final = 60
"""Characters of a fact up to which facts stand beside one another."""
LONGEST_IN_HERO: Final = 90
"""The same beside the answer, where they have a third of the width."""

CARDS_FROM: Final = 4
"""Columns from which a row is a card where there is little room."""
DENSE_FROM: Final = 9
"""Columns from which a table is set in smaller type."""
BROAD_FROM: Final = 28
"""Characters of a text from which it has a line of its own on a card."""
LONG_FROM: Final = 13
"""Characters of a word from which a third of a card is too little."""

_HIGHEST: Final = 2
_DEEPEST: Final = 6
"""Levels of headings; the first is the title of the page."""

_FILE_NAMES: Final = ("--- ", "+++ ")
_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
_CHANGES: Final = {"-": "removed", "+": "added"}


def write(document: Document) -> str:
    """Write a page that needs no network and no other file; every text in it is escaped."""
    anchors = list(cards(document.blocks))
    is_list = is_list_of_cards(document.blocks)
    page = Page(cards=frozenset(anchors if is_list or len(anchors) > MOST_OPEN else ()))
    script = asset("page.js")
    digest = hashlib.sha256(script.encode()).digest()
    template = _templates(links=True).get_template("page.html")
    return template.render(
        page=page,
        document=document,
        is_list=is_list,
        policy=Markup(POLICY.format(script=base64.b64encode(digest).decode())),
        css=asset("page.css") + "\n" + asset("charts.css"),
        script=script,
        version=__version__,
    )


def fragment(document: Document) -> str:
    """Write a part of somebody else's page: a frame without scripts and links.

    A frame without scripts cannot be as high as what is in it; whoever reads it can drag its edge.
    """
    # Jupyter, VS Code and Colab insert outputs as HTML, where a shadow root would need a script.
    css = asset("charts.css") + asset("fragment.css")
    template = _templates(links=False).get_template("fragment.html")
    inside = template.render(page=Page(static=True), document=document, css=css)
    quoted = inside.replace("&", "&amp;").replace("'", "&#39;")
    style = f"width: 100%; height: {FRAME_HEIGHT}px; border: 0; resize: vertical"
    return f"<iframe title='kernelprof' sandbox style='{style}' srcdoc='{quoted}'></iframe>"


def cards(blocks: Iterable[Block]) -> Iterable[str]:
    """Yield anchors of the sections that can be opened by themselves."""
    for block in blocks:
        if not isinstance(block, Section):
            continue
        if block.anchor and (block.folded or block.layout is Layout.HERO):
            yield block.anchor
        elif not block.folded:
            yield from cards(block.blocks)


def is_list_of_cards(blocks: Iterable[Block]) -> bool:
    """Whether a document is a list of things that are opened one at a time, beside the list."""
    sections = [each for each in blocks if isinstance(each, Section) and each.anchor]
    heroes = [each for each in sections if each.layout is Layout.HERO]
    return 1 < len(heroes) < len(sections)


class Nesting(NamedTuple):
    """Where a block is: the level of its headings, the anchor of the section around it, and
    whether that has a box, is the answer of the page, or is folded.
    """

    level: int = _HIGHEST
    anchor: str = ""
    boxed: bool = False
    hero: bool = False
    folded: bool = False

    @property
    def heading(self) -> int:
        """The level of a heading in HTML."""
        return min(self.level, _DEEPEST)

    @property
    def is_top(self) -> bool:
        """Whether headings are the highest below the title."""
        return self.level == _HIGHEST

    def inside(
        self,
        section: Section,
        *,
        level: int | None = None,
        boxed: bool = False,
        hero: bool = False,
        folded: bool = False,
    ) -> Nesting:
        """Return where the blocks of a section are."""
        deeper = self.level + bool(section.title) if level is None else level
        return Nesting(deeper, section.anchor or self.anchor, boxed, hero, folded or self.folded)


class Page:
    """What a page gathers while its blocks are written, and what its script gets of that.

    A ``static`` one has no script: no links, and every row is there at once. ``cards`` are the
    anchors of sections that are stored beside the page until they are opened.
    """

    top = Nesting()

    def __init__(self, *, static: bool = False, cards: frozenset[str] = frozenset()) -> None:
        self.static = static
        self.cards = cards
        self._stored: dict[str, str] = {}
        self._packs: list[tuple[str, Future[Markup]]] = []
        # Compressing leaves the interpreter to the thread that writes the cards.
        self._compressor = ThreadPoolExecutor(max_workers=1)
        self._drawn: dict[tuple[str, tuple[Any, ...]], Markup] = {}
        self._tables: list[str] = []
        self._texts: dict[tuple[Text, ...], int] = {}
        self._labels: Counter[str] = Counter()
        self._ids: Counter[str] = Counter()

    def next_id(self, name: str) -> str:
        """Return a name for an element that nothing else has."""
        self._ids[name] += 1
        return f"{name}-{self._ids[name]}"

    def label(self, text: str) -> str:
        """Return a name for a region that no other one has."""
        self._labels[text] += 1
        return text if self._labels[text] == 1 else f"{text}, {self._labels[text]}"

    def id_of(self, section: Section) -> str:
        """Return the name that links to a section."""
        return "" if self.static else section.anchor

    def heading_id(self, section: Section, at: Nesting) -> str:
        """Return the name of a section's heading, if the section can be jumped to."""
        if not section.title or self.static or not (section.anchor or at.is_top):
            return ""
        return f"{section.anchor or self.next_id('section')}-title"

    def draw(self, chart: Chart) -> Markup:
        """Return a chart; in a static page there is nothing that it could link to."""
        rows = chart.rows
        if self.static:
            rows = tuple(e._replace(target="") if hasattr(e, "target") else e for e in rows)
        key = chart.kind, tuple(rows)
        if key not in self._drawn:
            self._drawn[key] = charts.draw(chart.kind, rows)
        return self._drawn[key]

    def store(self, anchor: str, content: str) -> str:
        """Keep a card beside the page; the empty text that stands in its place."""
        self._stored[anchor] = str(content)
        if self.is_packed() and len(self._stored) == PACK:
            self._pack()
        return ""

    def store_table(self, table: Table) -> str:
        """Keep a table's rows for the script, and return their number.

        What is no number is the same in the tables of many kernels, and stands in a page once.
        """
        columns = [[row[at].text for row in table.rows] for at in range(len(table.columns))]
        is_number = [column.number for column in table.columns]
        texts = zip(*compress(columns, map(not_, is_number)), strict=True)
        rows = zip(
            [self._texts.setdefault(each, len(self._texts)) for each in texts],
            *[map(plain, column) for column in compress(columns, is_number)],
            strict=True,
        )
        self._tables.append(_to_json(list(rows)))
        return str(len(self._tables) - 1)

    def is_packed(self) -> bool:
        """Whether there are so many cards that they are compressed."""
        return len(self.cards) > MOST_PLAIN

    def stored_cards(self) -> Iterator[tuple[str, Markup]]:
        """Yield the anchors and the JSON of cards, by themselves or in packs."""
        if self.is_packed():
            self._pack()
            for anchors, pack in self._packs:
                yield anchors, pack.result()
            return
        for anchor, content in self._stored.items():
            # Our own markup: nothing in it may end the script or begin a comment.
            text = _to_json({anchor: content}).replace("</", "<\\/").replace("<!--", "\\u003c!--")
            yield anchor, Markup(text)

    def _pack(self) -> None:
        if self._stored:
            text = _to_json(self._stored)
            self._packs.append((" ".join(self._stored), self._compressor.submit(_packed, text)))
            self._stored = {}

    def json_of_document(self, document: Document) -> Markup:
        """Return the result as JSON for a script element."""
        return self._for_script(document.data or "{}")

    def json_of_tables(self) -> Markup:
        """Return the stored tables as JSON for a script element."""
        texts = [[plain(text) for text in texts] for texts in self._texts]
        # Rows are JSON already: a thousand kernels' are many objects.
        return self._for_script(
            f'{{"texts":{_to_json(texts)},"tables":[{",".join(self._tables)}]}}'
        )

    def _for_script(self, text: str) -> Markup:
        if self.is_packed():
            return _packed(text)
        safe = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        return Markup(safe)

    def listing(self, code: CodeBlock, anchor: str) -> Listing:
        """Return the lines of a source as a page shows them."""
        notes = code.notes or tuple(LineNote(n, share(by), by, True) for n, by in code.shares)
        note_of_line = {each.line: each for each in notes}
        titles = code.noted or (("Samples",) if notes else ())
        with_code = {each.line for each in code.machine} if not self.static else frozenset[int]()
        lines: list[ListedLine] = []
        texts = code.text.removesuffix("\n").split("\n")
        for number, text in zip(code.numbers or count(1), texts, strict=False):
            if lines and number != lines[-1].number + 1:
                lines.append(ListedLine())
            note = note_of_line.get(number)
            lines.append(
                ListedLine(
                    number,
                    text.rstrip("\r"),
                    note,
                    id="" if note is None or self.static else f"{anchor}-line-{number}",
                    has_machine_code=number in with_code,
                    is_chosen=number == code.chosen and bool(code.machine),
                )
            )
        hottest = max(notes, key=lambda each: each.part, default=None)
        at = code.chosen or (None if hottest is None else hottest.line)
        return Listing(
            (*titles[:1], "Line", "Source", *titles[1:]),
            lines,
            bool(titles),
            len(titles) > 1,
            shown="" if at is None or self.static else f"{anchor}-line-{at}",
        )


class ListedLine(NamedTuple):
    """A line of a source; one without a number stands for some that are left out."""

    number: int = 0
    text: str = ""
    note: LineNote | None = None
    id: str = ""
    has_machine_code: bool = False
    is_chosen: bool = False

    @property
    def is_marked(self) -> bool:
        """Whether a bar shows the line's share."""
        return self.note is not None and self.note.marked


class Listing(NamedTuple):
    """A source: headings, lines, whether there are notes of one or two columns, and the line that
    it is scrolled to.
    """

    titles: Sequence[str]
    lines: Sequence[ListedLine]
    notes: bool
    has_more: bool
    shown: str


class DiffLine(NamedTuple):
    """What became of a line (``kept``, ``removed``, ``added``, ``gap`` between hunks), its number
    on both sides, and its text.
    """

    change: str
    before: int | None = None
    after: int | None = None
    text: str = ""

    @property
    def sign(self) -> str:
        """What stands before the line."""
        return {"removed": "-", "added": "+"}.get(self.change, "")


def diff_lines(diff: str) -> Iterator[DiffLine]:
    """Yield the lines of a diff; only its first two can be names of files."""
    lines = diff.split("\n") if diff else []
    if len(lines) >= len(_FILE_NAMES) and all(map(str.startswith, lines, _FILE_NAMES)):
        lines = lines[len(_FILE_NAMES) :]
    before = after = 1
    for position, raw in enumerate(lines):
        line = printable(raw.expandtabs(4))
        hunk = _HUNK.match(line)
        if hunk is not None:
            before, after = int(hunk[1]), int(hunk[2])
            if position:
                yield DiffLine("gap")
            continue
        change = _CHANGES.get(line[:1], "kept")
        is_before, is_after = change != "added", change != "removed"
        numbers = before if is_before else None, after if is_after else None
        yield DiffLine(change, *numbers, line[1:])
        before, after = before + is_before, after + is_after


# What templates ask of blocks


@cache
def _templates(*, links: bool) -> Environment:
    templates = template_environment(links=links)
    templates.globals.update(DENSE_FROM=DENSE_FROM, shapes=SHAPES)
    templates.filters.update(
        cell_class=_cell_class,
        chart_kind=lambda chart: charts.kind_of(chart.kind),
        chosen_line=_chosen_line,
        column_class=_column_class,
        diff_lines=diff_lines,
        facts_class=_facts_class,
        hero_blocks=_hero_blocks,
        is_card_table=_is_card_table,
        is_group=_is_group,
        kind=lambda block: type(block).__name__,
        machine_columns=_machine_columns,
        percent=lambda part: f"{100 * part:.1f}%",
        section_class=_section_class,
        sort_key=lambda cell: None if cell.sort is None else f"{cell.sort:.9g}",
    )
    return templates


def _facts_class(facts: FactList, at: Nesting) -> str:
    lines = [plain(line) for fact in facts.items for line in fact.lines]
    longest = LONGEST_IN_HERO if at.hero else LONGEST_IN_ROW
    if any(len(line) > longest for line in lines):
        return "facts rows"
    return "facts flow" if len(lines) > len(facts.items) else "facts"


def _is_card_table(table: Table) -> bool:
    return table.headings and len(table.columns) >= CARDS_FROM


def _column_class(column: Column) -> str:
    return classes("number" if column.number else "", "spare" if column.optional else "")


def _cell_class(cell: Cell, column: Column, is_card: bool) -> str:
    room = ""
    if is_card:
        text = plain(cell.text)
        if len(text) >= BROAD_FROM:
            room = "broad"
        elif any(len(word) >= LONG_FROM for word in text.split()):
            room = "long"
    return classes(_column_class(column), "bars" if cell.bar else "", room)


def _is_group(section: Section) -> bool:
    return bool(section.blocks) and all(isinstance(each, Section) for each in section.blocks)


def _section_class(section: Section, at: Nesting) -> str:
    if section.layout is Layout.HERO:
        return "kernel" if section.anchor else "group"
    if _is_group(section):
        look = "group"
    else:
        is_grid = section.layout is Layout.GRID
        look = classes("part" if at.boxed else "panel", "even" if is_grid else "")
    is_wide = any(
        isinstance(each, Chart) and charts.kind_of(each.kind).wide for each in section.blocks
    )
    tone = "" if section.tone is Tone.PLAIN else section.tone.value
    return classes(look, "wide" if is_wide else "", tone)


def _hero_blocks(section: Section) -> tuple[Sequence[Block], Sequence[Block]]:
    """Split the blocks of the answer from the sections below it."""
    below = (at for at, each in enumerate(section.blocks) if isinstance(each, Section))
    first = next(below, len(section.blocks))
    return section.blocks[:first], section.blocks[first:]


def _machine_columns(code: CodeBlock) -> list[str]:
    has_lines = any(each.place for each in code.machine)
    has_waits = any(each.waits for each in code.machine)
    titles = {"Samples": True, "Line": has_lines, "Machine code": True, "Waits by": has_waits}
    return [title for title, is_there in titles.items() if is_there]


def _chosen_line(code: CodeBlock) -> str:
    if code.chosen is None or not code.text:
        return ""
    instructions = sum(each.line == code.chosen for each in code.machine if each.line)
    return f"Line {code.chosen}: {count_of(instructions, 'instruction')}"


def _to_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _packed(text: str) -> Markup:
    return Markup(base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode())
