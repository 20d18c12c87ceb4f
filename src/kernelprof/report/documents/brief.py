"""A diagnosis for a reader with little room: each kernel in a few lines, what costs most first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.diagnosis import Confidence, Diagnosis, KernelDiagnosis, Status
from kernelprof.model.names import cut_middle, labels, printable
from kernelprof.model.numbers import count
from kernelprof.report.document import (
    Block,
    Document,
    Fact,
    FactList,
    Note,
    Paragraph,
    Section,
    Span,
    Text,
    plain,
)
from kernelprof.report.documents import TONES, commands, prediction, source
from kernelprof.report.documents.capture_page import read_attachments
from kernelprof.report.documents.diagnosis import (
    advise_libraries_once,
    describe_costs,
    name_captures,
    summarize_capture,
    total_time,
)
from kernelprof.report.documents.prediction import NeedlessTraffic, costly_accesses
from kernelprof.report.documents.verdict import (
    BRIEF_ROWS,
    describe_causes,
    distinct_evidence,
    fact_text,
    less_work,
    other_findings,
    short_gain,
    verdict_headline,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MOST_WARNINGS: Final = 3
MOST_ADVICE: Final = 2
_NAME_WIDTH: Final = 80
_TEXT_WIDTH: Final = 240


def document(diagnoses: Sequence[Diagnosis]) -> Document:
    """What limits the kernels of one capture, or of several: those that took most time first.

    Of a kernel the most valuable comes first as well, so that its last lines can go.
    """
    alone = len(diagnoses) == 1
    captures = list(zip(diagnoses, [""] if alone else name_captures(diagnoses), strict=True))
    entries = [(each, capture, kernel) for each, capture in captures for kernel in each.kernels]
    if not alone:
        entries.sort(key=lambda one: -total_time(one[2]))
    advised = [*advise_libraries_once(kernel for *_, kernel in entries)]
    names = labels(advised)
    scope = f"{count(len(entries), 'kernel')} in {count(len(diagnoses), 'capture')}"
    warnings = [Span(_clip(text)) for each in diagnoses for text in each.warnings]
    answers = [text for each in captures for text in _program(*each)]
    kernels = [
        _kernel(number, kernel, name, each, capture)
        for number, ((each, capture, _), kernel, name) in enumerate(
            zip(entries, advised, names, strict=True), 1
        )
    ]
    blocks: list[Block] = [
        Paragraph(Span(f"{summarize_capture(diagnoses[0]) if alone else scope}.")),
        *answers,
        *kernels[:1],
        *(block for each in diagnoses for block in commands.settle(each)),
        *(Note(each, warning=True) for each in warnings[:MOST_WARNINGS]),
        *kernels[1:],
    ]
    return Document("kernelprof", tuple(blocks), origin=diagnoses[0].origin if alone else "")


def _program(diagnosis: Diagnosis, capture: str) -> Iterable[Block]:
    survey = diagnosis.survey
    if survey is None or survey.answer is None:
        return
    scope_text = f"{_clip(capture)}: " if capture else ""
    yield Paragraph(Span(f"{scope_text}{survey.answer.sentence}"))
    if survey.answer.advice:
        yield FactList((Fact("What to do", (_list(survey.answer.advice[:MOST_ADVICE]),)),))


def _kernel(
    number: int,
    kernel: KernelDiagnosis,
    name: tuple[str, str],
    diagnosis: Diagnosis,
    capture: str,
) -> Section:
    verdict = kernel.verdict
    predicted = prediction.facts_of(diagnosis) is not None
    costs_of_kernel = [*describe_costs(kernel, diagnosis)]
    if capture:
        costs_of_kernel.append(f"in {_clip(capture)}")
    gist = verdict_headline(verdict, predicted=predicted)
    took = Span(f"{', '.join(costs_of_kernel)}. " if costs_of_kernel else "")
    return Section(
        (f"{number} ", title(name)),
        (FactList(tuple(_facts(kernel, diagnosis))),),
        tone=TONES[verdict.status],
        summary=(took, f"{gist} Confidence: {verdict.confidence.value}."),
    )


def title(name: tuple[str, str]) -> Span:
    """A kernel's name and what tells it from others of that name."""
    return Span(cut_middle(printable(" ".join(filter(None, name))), _NAME_WIDTH), code=True)


def _facts(kernel: KernelDiagnosis, diagnosis: Diagnosis) -> Iterable[Fact]:
    verdict = kernel.verdict
    undecided = verdict.status is Status.INCONCLUSIVE
    if undecided and verdict.findings:
        if others := other_findings(verdict)[:BRIEF_ROWS]:
            yield Fact("Found", (_list(each.text for each in others),))
    elif verdict.evidence:
        rows = distinct_evidence(verdict)[:BRIEF_ROWS]
        yield Fact("Evidence", (_list(map(fact_text, rows)),))
    if verdict.advice:
        yield Fact("What to do", (_list(verdict.advice[:MOST_ADVICE]),))
    if line := _line(kernel, diagnosis):
        yield Fact("Line", (line,))
    at_limit = verdict.status is Status.AT_LIMIT
    if gain := less_work(verdict) if at_limit else short_gain(verdict):
        yield Fact("Less work" if at_limit else "Gain", (gain,))
    if further := describe_causes(verdict, with_advice=True):
        yield Fact("Next", (_list(further),))
    if verdict.confidence is Confidence.LOW and verdict.notes:
        yield Fact("Note", (Span(_clip(verdict.notes[0])),))


def _line(kernel: KernelDiagnosis, diagnosis: Diagnosis) -> Text:
    if predicted := prediction.facts_of(diagnosis):
        facts, text = predicted
        wasting = [
            each for each in costly_accesses(facts) if each.waste is not NeedlessTraffic.NONE
        ]
        if not wasting:
            return ""
        (row,) = prediction.table(facts, wasting[:1], text).rows
        line, code, access, _, request, ideal, needless = (plain(cell.text) for cell in row)
        took = f"{access}: {request} per request, ideal {ideal}, {needless} needless"
        return (f"{line} ", Span(cut_middle(code, _NAME_WIDTH), code=True), f" {took}")
    capture = getattr(diagnosis, "capture", None)
    if capture is None:
        return ""
    attachments = read_attachments(capture.contents)
    manifest, text = attachments.manifest, attachments.source_text
    kernels = len(diagnosis.kernels)
    if manifest is None or text is None or not manifest.describes_kernel(kernel.name, kernels):
        return ""
    lines = text.split("\n")
    hot = source.hot_of(kernel.name, attachments.hot_lines)
    for number, part in source.hottest_lines(source.marked_lines(hot or {}, len(lines)))[:1]:
        return source.at_line(number, part, lines[number - 1])
    return ""


def _list(texts: Iterable[str]) -> Span:
    return Span("; ".join(each.rstrip(".") for each in map(_clip, texts)))


def _clip(text: str) -> str:
    """A text that may be a stranger's, in a line that is not too long."""
    return cut_middle(printable(text), _TEXT_WIDTH)
