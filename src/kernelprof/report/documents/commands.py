"""What to measure next: the commands that would settle what diagnoses leave open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.model.names import labels
from kernelprof.model.numbers import count
from kernelprof.report.document import Document, Facts, Paragraph, Section
from kernelprof.report.documents import TONES, brief, prediction
from kernelprof.report.documents.verdict import headline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.diagnosis import Diagnosis


def document(diagnoses: Sequence[Diagnosis]) -> Document:
    """A command for each kernel that needs one, those that took most time first."""
    found = [(each, kernel) for each in diagnoses for kernel in each.kernels]
    names = labels([kernel for _, kernel in found])
    sections = []
    for (each, kernel), name in zip(found, names, strict=True):
        predicted = prediction.of(each) is not None
        facts = tuple(brief.command(kernel.verdict, each, predicted=predicted))
        if facts:
            sections.append(
                Section(
                    brief.title(name),
                    (Facts(facts),),
                    tone=TONES[kernel.verdict.status],
                    summary=headline(kernel.verdict),
                )
            )
    told = (
        f"{len(sections):,} of {count(len(found), 'kernel')} would be surer with another capture."
    )
    return Document("What to measure next", (Paragraph(told), *sections))
