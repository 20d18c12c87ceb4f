"""Pages from captures, and what holds for every one of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.report.blocks import cells_of, every, facts_of, section_of, sections

from kernelprof.analysis.verdict import diagnose
from kernelprof.report.document import (
    Bullets,
    Cell,
    Chart,
    CodeBlock,
    FactList,
    Note,
    Paragraph,
    Section,
    Table,
    plain,
)
from kernelprof.report.documents import capture_page
from kernelprof.report.documents.capture_page import CaptureAttachments
from kernelprof.report.figures import multiprocessor
from kernelprof.report.figures.measured import LaunchFigures, Measured
from kernelprof.report.figures.memory import Memory, memory_figure
from kernelprof.report.figures.opcode_mix import mix_of_counters
from kernelprof.report.figures.roofline import Roofline, roofline_figure
from kernelprof.report.figures.roofline import count_operations as count_flops

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis
    from kernelprof.report.document import Document


@dataclass(frozen=True)
class Card:
    """A kernel on a page: its section, and the numbers that its charts are drawn from."""

    kernel: KernelDiagnosis
    section: Section
    roofline: Roofline | None
    memory: Memory | None
    warp_states: multiprocessor.WarpStateShares | None
    occupancy: multiprocessor.OccupancyLimits | None
    pipes: tuple[Any, ...]
    instructions: tuple[Any, ...]

    @property
    def name(self) -> str:
        assert isinstance(self.section.title, tuple)
        return plain(self.section.title[0])

    @property
    def headline(self) -> str:
        return plain(self.section.summary)

    @property
    def facts(self) -> dict[str, str]:
        """The facts of the answer."""
        return facts_of(each for each in self.section.blocks if isinstance(each, FactList))

    @property
    def advice(self) -> dict[str, str]:
        """What to do about the verdict."""
        undecided = "How to settle the verdict" in self.titles
        part = self.part("How to settle the verdict" if undecided else "What to do")
        return facts_of(part.blocks)

    @property
    def texts(self) -> list[str]:
        """The sentences of the answer."""
        return [plain(each.text) for each in self.section.blocks if isinstance(each, Paragraph)]

    def part(self, title: str) -> Section:
        """The section of this title."""
        return next(each for each in sections(self.section.blocks) if plain(each.title) == title)

    @property
    def titles(self) -> list[str]:
        return [plain(each.title) for each in sections(self.section.blocks)]

    @property
    def evidence(self) -> tuple[tuple[Cell, ...], ...]:
        found = self.part("Evidence" if "Evidence" in self.titles else "What is known").blocks[0]
        assert isinstance(found, Table)
        return found.rows

    @property
    def metrics(self) -> dict[str, tuple[str, str, str]]:
        """Value, unit and meaning of all metrics by name."""
        rows = cells_of([section_of(self.section.blocks, "All metrics")])
        return {name: (value, unit, meaning) for name, value, unit, meaning in rows}

    @property
    def source(self) -> Section | None:
        own = [each for each in self.section.blocks if isinstance(each, Section)]
        return next((each for each in own if plain(each.title).startswith("Source")), None)


@dataclass(frozen=True)
class Page:
    """A page and its cards."""

    document: Document
    kernels: tuple[Card, ...]

    @property
    def headline(self) -> str:
        found = [each for each in sections(self.document.blocks) if each.anchor == "kernels"]
        return plain(found[0].summary) if found else ""

    @property
    def provenance(self) -> dict[str, str]:
        return facts_of(self.document.blocks[-1:])

    @property
    def commands(self) -> list[str]:
        last = every(self.document.blocks[-1:])
        return [each.text for each in last if isinstance(each, CodeBlock)]


def page_of(capture: Capture, diagnosis: Diagnosis | None = None, **known: Any) -> Page:
    """The page of a capture, without a manifest unless one is given."""
    beside = CaptureAttachments(**known)
    found = diagnosis or diagnose(capture)
    document = capture_page.document(capture, found, beside)
    measured = Measured(capture)
    own = [each for each in document.blocks if isinstance(each, Section)]
    sections_of_kernels = [each for each in own if each.anchor.startswith("kernel-")]
    cards = [
        _card(kernel, section, measured, beside, len(found.kernels))
        for kernel, section in zip(found.kernels, sections_of_kernels, strict=True)
    ]
    return Page(document, tuple(cards))


def _card(
    kernel: KernelDiagnosis,
    section: Section,
    measured: Measured,
    beside: CaptureAttachments,
    kernels: int,
) -> Card:
    launch = LaunchFigures(measured, measured.representative(kernel))
    manifest = beside.manifest
    is_own = manifest is not None and manifest.describes_kernel(kernel.name, kernels)
    own = manifest if is_own else None
    timing = None if own is None else own.timing
    counted = count_flops(launch, manifest)
    return Card(
        kernel,
        section,
        roofline_figure(launch, counted, timing, manifest),
        memory_figure(launch, timing, own),
        multiprocessor.warp_states(launch),
        multiprocessor.occupancy(launch),
        multiprocessor.pipes(launch),
        mix_of_counters(launch),
    )


def card_of(page: Page, launch: str) -> Card:
    """The card of the kernel with a launch of this ID."""
    return next(card for card in page.kernels if launch in card.kernel.ids)


def text_of(document: Document) -> str:
    """Every text of a document."""
    parts = [document.title, document.origin, document.data]
    for each in every(document.blocks):
        match each:
            case Section():
                parts += [plain(each.title), plain(each.summary)]
            case Paragraph() | Note():
                parts.append(plain(each.text))
            case Bullets():
                parts += map(plain, each.items)
            case FactList():
                parts += [part for fact in each.items for part in (fact.label, fact.tip)]
                parts += [plain(line) for fact in each.items for line in fact.lines]
            case Table():
                parts += [part for row in each.rows for c in row for part in (plain(c.text), c.tip)]
            case Chart():
                parts += [each.label, json.dumps(each.rows)]
            case CodeBlock():
                parts += [each.text, each.name]
    return "\n".join(parts)


def check(page: Page) -> None:
    """What holds for every page: plain JSON without NaN, and shares that are shares."""
    json.loads(page.document.data)
    for each in every(page.document.blocks):
        if isinstance(each, Chart):
            json.dumps(each.rows, allow_nan=False)
            for row in each.rows:
                for name in ("part", "share", "use", "needless"):
                    _share(getattr(row, name, None))
        elif isinstance(each, CodeBlock):
            for _, share in each.shares:
                _share(share)
        elif isinstance(each, Table):
            for cell in (cell for row in each.rows for cell in row if cell.bar is not None):
                assert cell.bar is not None
                _share(cell.bar.fill)
                _share(cell.bar.mark)
    for card in page.kernels:
        if card.memory is not None:
            _share(card.memory.excess)
        if card.occupancy is not None:
            _share(card.occupancy.theoretical)
            _share(card.occupancy.achieved)


def _share(value: object) -> None:
    assert value is None or (isinstance(value, int | float) and 0.0 <= value <= 1.0), value
