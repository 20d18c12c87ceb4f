"""What to measure next: the commands that would settle what diagnoses leave open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.model.names import labels
from kernelprof.model.numbers import count
from kernelprof.report.document import Document, FactList, Paragraph, Section
from kernelprof.report.documents import TONES, brief, prediction
from kernelprof.report.documents.verdict import verdict_headline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.diagnosis import Diagnosis


def document(diagnoses: Sequence[Diagnosis]) -> Document:
    """A command for each kernel that needs one, those that took most time first."""
    kernels = [(each, kernel) for each in diagnoses for kernel in each.kernels]
    names = labels([kernel for _, kernel in kernels])
    sections = []
    for (each, kernel), name in zip(kernels, names, strict=True):
        predicted = prediction.facts_of(each) is not None
        facts = tuple(brief.command(kernel.verdict, each, predicted=predicted))
        if facts:
            tone, gist = TONES[kernel.verdict.status], verdict_headline(kernel.verdict)
            sections.append(Section(brief.title(name), (FactList(facts),), tone=tone, summary=gist))
    of_all = f"{len(sections):,} of {count(len(kernels), 'kernel')}"
    scope = f"{of_all} would be surer with another capture."
    return Document("What to measure next", (Paragraph(scope), *sections))
