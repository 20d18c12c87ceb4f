"""Questions to a document: its sections, charts, tables, notes and facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.report.document import Chart, FactList, Note, Section, Table, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.report.document import Block


def every(blocks: Iterable[Block]) -> Iterable[Block]:
    """All blocks, those in sections as well."""
    for block in blocks:
        yield block
        if isinstance(block, Section):
            yield from every(block.blocks)


def sections(blocks: Iterable[Block]) -> list[Section]:
    return [each for each in every(blocks) if isinstance(each, Section)]


def section_of(blocks: Iterable[Block], title: str) -> Section:
    """The first section whose title begins so."""
    return next(each for each in sections(blocks) if plain(each.title).startswith(title))


def charts(blocks: Iterable[Block]) -> list[Chart]:
    return [each for each in every(blocks) if isinstance(each, Chart)]


def chart_of(blocks: Iterable[Block], kind: str) -> Chart:
    return next(each for each in charts(blocks) if kind in each.kind)


def table_of(blocks: Iterable[Block]) -> Table:
    return next(each for each in every(blocks) if isinstance(each, Table))


def cells_of(blocks: Iterable[Block]) -> list[list[str]]:
    """The texts of the first table."""
    return [[plain(cell.text) for cell in row] for row in table_of(blocks).rows]


def notes_of(blocks: Iterable[Block], *, warning: bool | None = None) -> list[str]:
    """Notes, or those of them that are warnings, or that are none."""
    return [
        plain(each.text)
        for each in every(blocks)
        if isinstance(each, Note) and warning in {None, each.warning}
    ]


def facts_of(blocks: Iterable[Block]) -> dict[str, str]:
    """The lines of each fact as one text, those in sections as well."""
    return {
        fact.label: " ".join(map(plain, fact.lines))
        for each in every(blocks)
        if isinstance(each, FactList)
        for fact in each.items
    }
