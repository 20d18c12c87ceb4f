"""Blocks of a document as HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.report import charts
from kernelprof.report.charts.parts import SHAPES
from kernelprof.report.document import (
    Bullets,
    Chart,
    Code,
    Facts,
    Layout,
    Note,
    Paragraph,
    Section,
    Table,
    Tone,
    plain,
)
from kernelprof.report.markup import (
    Markup,
    classes,
    element,
    inline,
    joined,
)
from kernelprof.report.writers.html.listing import code
from kernelprof.report.writers.html.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.report.charts.parts import Key
    from kernelprof.report.document import Block, Text
    from kernelprof.report.writers.html.page import Page

MOST_OPEN: Final = 12
"""Cards that are part of the page from the start; more are put in when they are opened."""

LONGEST_BESIDE: Final = 60
"""Characters of a fact up to which facts stand beside one another."""
LONGEST_IN_HERO: Final = 90
"""The same beside the answer, where they have a third of the width."""

_AS_TABLE: Final = element("summary", "As a table")
_HIGHEST: Final = 2
_DEEPEST: Final = 6
"""Levels of headings; the first is the title of the page."""


def cards(blocks: Iterable[Block]) -> Iterable[str]:
    """Anchors of the sections that can be opened by themselves."""
    for block in blocks:
        if not isinstance(block, Section):
            continue
        if block.anchor and (block.folded or block.layout is Layout.HERO):
            yield block.anchor
        elif not block.folded:
            yield from cards(block.blocks)


def is_list(blocks: Iterable[Block]) -> bool:
    """Whether a document is a list of things that are opened one at a time, beside the list."""
    sections = [each for each in blocks if isinstance(each, Section) and each.anchor]
    heroes = [each for each in sections if each.layout is Layout.HERO]
    return len(heroes) > 1 and len(heroes) < len(sections)


class Blocks:
    """The blocks of one page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.longest = LONGEST_BESIDE

    def write(
        self,
        blocks: Iterable[Block],
        *,
        level: int = _HIGHEST,
        anchor: str = "",
        boxed: bool = False,
    ) -> Markup:
        """Blocks one after the other, the headings of their sections from ``level`` on.

        ``anchor`` is that of the section around them; ``boxed`` whether that has a box.
        """
        return joined([self._block(each, level, anchor, boxed=boxed) for each in blocks])

    def _block(self, block: Block, level: int, anchor: str, *, boxed: bool) -> Markup:
        match block:
            case Section():
                found = self._section(block, level, anchor, boxed=boxed)
            case Table():
                found = table(block, self.page)
            case Chart():
                found = self._chart(block)
            case Code():
                found = code(block, anchor, self.page)
            case Facts():
                found = self._facts(block)
            case Bullets():
                items = [element("li", self._text(each)) for each in block.items]
                found = element("ol" if block.ordered else "ul", joined(items))
            case Note():
                look, role = ("warning", "note") if block.warning else ("muted", None)
                found = element("p", self._text(block.text), class_=look, role=role)
            case Paragraph():
                found = element("p", self._text(block.text), class_=_tone(block.tone))
        return found

    def _text(self, text: Text) -> Markup:
        return inline(text, links=not self.page.static)

    # Sections

    def _section(self, section: Section, level: int, anchor: str, *, boxed: bool) -> Markup:
        """A panel; inside of one, a part of it.

        A section that holds nothing but sections, and one with the answer, has no box around them.
        """
        own = section.anchor or anchor
        inner = level + bool(section.title)
        if section.folded:
            return self._folded(section, level, own, boxed=boxed)
        head, name = self._head(section, level)
        if section.layout is Layout.HERO:
            return self._hero(section, head, name, inner, own)
        grid = section.layout is Layout.GRID
        if section.blocks and all(isinstance(each, Section) for each in section.blocks):
            inside = self.write(section.blocks, level=inner, anchor=own)
            look = "group"
            content = element("div", inside, class_="grid") if grid else inside
        else:
            content = self.write(section.blocks, level=inner, anchor=own, boxed=True)
            look = classes("part" if boxed else "panel", "even" if grid else "")
        look = classes(look, "wide" if _is_wide(section) else "", _tone(section.tone))
        return self._named(section, look, joined([*head, content]), name)

    def _hero(
        self, section: Section, head: Iterable[Markup], name: str, level: int, anchor: str
    ) -> Markup:
        """The answer in a box of its own, and the sections below it."""
        below = [at for at, each in enumerate(section.blocks) if isinstance(each, Section)]
        first = below[0] if below else len(section.blocks)
        self.longest = LONGEST_IN_HERO
        box = self.write(section.blocks[:first], level=level, anchor=anchor, boxed=True)
        self.longest = LONGEST_BESIDE
        hero = element("div", joined([*head, box]), class_=f"hero {section.tone.value}")
        rest = self.write(section.blocks[first:], level=level, anchor=anchor)
        look = "kernel" if section.anchor else "group"
        content, stored = joined([hero, rest]), section.anchor in self.page.cards
        if stored:
            content = self._store(section.anchor, content)
        return self._named(section, look, content, name, hidden=stored)

    def _folded(self, section: Section, level: int, anchor: str, *, boxed: bool) -> Markup:
        is_card = bool(section.anchor) and not boxed
        text = self._text(section.title)
        heading = element(f"h{min(level, _DEEPEST)}", text) if not boxed else text
        gist = element("span", self._text(section.summary), class_="gist")
        summary = element("summary", heading, " ", gist if section.summary else "")
        self.page.folds += 1
        content = self.write(
            section.blocks, level=level + 1, anchor=anchor, boxed=boxed or not is_card
        )
        self.page.folds -= 1
        if section.anchor in self.page.cards:
            content = self._store(section.anchor, content, '<div class="place"></div>')
        look = classes("" if boxed else "panel", "kernel card" if is_card else "")
        name = None if self.page.static else section.anchor
        return element("details", joined([summary, content]), class_=look, id=name)

    def _store(self, anchor: str, content: Markup, instead: str = "") -> Markup:
        """Keep a card beside the page; what stands in the page instead."""
        self.page.stored[anchor] = content
        return Markup(instead)

    def _named(
        self, section: Section, look: str, content: Markup, name: str, *, hidden: bool = False
    ) -> Markup:
        """A section; those that can be jumped to are landmarks with the name of their heading."""
        own = None if self.page.static else section.anchor
        if not name:
            return element("div", content, class_=look, id=own)
        return element("section", content, class_=look, id=own, aria_labelledby=name, hidden=hidden)

    def _head(self, section: Section, level: int) -> tuple[list[Markup], str]:
        """The heading and the gist of a section, and what the heading is called in the page."""
        title = summary = Markup("")
        name = ""
        if section.title:
            if not self.page.static and (section.anchor or level == _HIGHEST):
                name = f"{section.anchor or self.page.next_id('section')}-title"
            title = element(f"h{min(level, _DEEPEST)}", self._text(section.title), id=name)
        if section.summary:
            prominent = level == _HIGHEST or section.layout is Layout.HERO
            look = "headline" if prominent else "muted"
            summary = element("p", self._text(section.summary), class_=look)
        return [title, summary], name

    # What stands in sections

    def _facts(self, facts: Facts) -> Markup:
        lines = [plain(line) for fact in facts.items for line in fact.lines]
        look = "facts"
        if any(len(line) > self.longest for line in lines):
            look = "facts rows"
        elif len(lines) > len(facts.items):
            look = "facts flow"
        items = []
        for fact in facts.items:
            texts = [element("dd", self._text(line)) for line in fact.lines]
            items.append(element("div", element("dt", fact.label), *texts, title=fact.tip))
        return element("dl", joined(items), class_=look)

    def _chart(self, chart: Chart) -> Markup:
        """A chart with its legend; of a picture the same content is there as a table."""
        if not chart.rows:
            return Markup("")
        kind = charts.kind_of(chart.kind)
        picture = {} if kind.readable else {"role": "img", "aria_label": chart.label}
        look = f"chart {chart.kind.partition(':')[0]}"
        rows = chart.rows
        if self.page.static:  # there is nothing to go to
            rows = tuple({**row, "target": ""} if "target" in row else row for row in rows)
        drawn = charts.draw(chart.kind, rows)
        place = element("div", drawn, class_=look, data_chart=chart.kind, **picture)
        parts = [_legend(kind.legend(chart.rows)), place]
        if kind.table and not self.page.static:
            parts.append(_as_table(chart))
        if chart.caption:
            parts.append(element("p", self._text(chart.caption), class_="muted"))
        return joined(parts)


def _as_table(chart: Chart) -> Markup:
    """What a picture shows, in words."""
    columns = charts.kind_of(chart.kind).table
    head = [element("th", title, scope="col") for title, _ in columns]
    rows = [
        element("tr", *(element("td", str(row[field])) for _, field in columns))
        for row in chart.rows
        if row.get(columns[0][1])
    ]
    whole = element("table", element("thead", element("tr", *head)), element("tbody", *rows))
    box = element("div", whole, class_="scroll")
    kind = chart.kind.partition(":")[0]
    return element("details", _AS_TABLE, box, class_="as-table", data_table=kind)


def _tone(tone: Tone) -> str:
    return "" if tone is Tone.PLAIN else tone.value


def _is_wide(section: Section) -> bool:
    """Whether a section of a grid takes all of its width."""
    return any(
        isinstance(each, Chart) and charts.kind_of(each.kind).wide for each in section.blocks
    )


def _legend(keys: Sequence[Key]) -> Markup:
    """What colours and shapes mean, for those who see them."""
    if not keys:
        return Markup("")
    entries = []
    for key in keys:
        path = element("path", d=SHAPES[key.shape], style=f"fill: {key.colour}")
        symbol = element("svg", path, width="14", height="14", viewBox="0 0 16 16")
        entries.append(element("span", symbol, " ", key.words))
    return element("p", joined(entries), class_="legend", aria_hidden="true")
