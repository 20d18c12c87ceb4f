"""The page of several captures: which there are, and then each of them with its kernels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kernelprof.model.numbers import count
from kernelprof.report.document import Cell, Column, Document, Note, Section, Span, Table
from kernelprof.report.documents import TONES, capture_page, provenance
from kernelprof.report.documents.diagnosis import device
from kernelprof.report.documents.kernels_overview import names, overview
from kernelprof.report.documents.metrics import MOST_WITH_ALL
from kernelprof.report.documents.verdict import gain_cell, verdict_cell
from kernelprof.report.private import shown, shown_origin, without_homes
from kernelprof.report.writers import json

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.report.document import Block
    from kernelprof.report.documents.capture_page import Beside

_COLUMNS = (
    Column("capture", yielding=True),
    Column("GPU", optional=True),
    Column("kernels", number=True),
    Column("launches", number=True),
    Column("costliest kernel", yielding=True),
    Column("verdict"),
    Column("confidence"),
    Column("gain", number=True),
)


def document(
    captures: Sequence[Capture], diagnoses: Sequence[Diagnosis], beside: Sequence[Beside]
) -> Document:
    """Everything that is known of several captures, in their order."""
    diagnoses = [replace(each, origin=shown_origin(each.origin)) for each in diagnoses]
    blocks: list[Block] = [_overview(diagnoses)]
    for number, each in enumerate(zip(captures, diagnoses, beside, strict=True), 1):
        sections = tuple(_sections(*each, _kernels(number)))
        blocks.append(Section(Span(each[1].origin), sections, anchor=_anchor(number)))
    return Document(
        f"Report: {count(len(captures), 'capture')}",
        tuple(blocks),
        data=without_homes(json.write(diagnoses)),
        file="diagnosis.json",
    )


def _anchor(number: int) -> str:
    return f"capture-{number}"


def _kernels(number: int) -> str:
    """What the anchors of a capture's kernels begin with."""
    return f"{_anchor(number)}-kernel"


def _overview(diagnoses: Sequence[Diagnosis]) -> Section:
    rows = []
    for number, each in enumerate(diagnoses, 1):
        first = each.kernels[0]
        verdict = first.verdict
        (name,) = names([first])
        devices = dict.fromkeys(filter(None, map(device, each.kernels)))
        rows.append(
            (
                Cell(Span(each.origin, target=_anchor(number))),
                Cell(", ".join(devices)),
                Cell(f"{len(each.kernels):,}", sort=len(each.kernels)),
                Cell(f"{each.launches:,}", sort=each.launches),
                Cell(Span(name, code=True, target=f"{_kernels(number)}-1"), tip=shown(first.name)),
                Cell(Span(verdict_cell(verdict), TONES[verdict.status], code=True)),
                Cell(verdict.confidence.value),
                Cell(gain_cell(verdict)),
            )
        )
    title = count(len(diagnoses), "capture")
    return Section(title, (Table(_COLUMNS, tuple(rows), label="Captures"),), anchor="captures")


def _sections(
    capture: Capture, diagnosis: Diagnosis, beside: Beside, anchor: str
) -> Iterable[Section]:
    """The parts of the page of one capture; its warnings come first."""
    kernels = diagnosis.kernels
    if diagnosis.warnings:
        notes = tuple(Note(Span(shown(each)), warning=True) for each in diagnosis.warnings)
        yield Section("Warnings", notes)
    if len(kernels) > 1:
        yield overview(kernels, anchor, capture)
    yield from capture_page.cards(capture, diagnosis, beside, anchor)
    known = {"all_metrics": len(kernels) <= MOST_WITH_ALL}
    yield provenance.section(capture, diagnosis, beside.manifest, beside.prediction, **known)
