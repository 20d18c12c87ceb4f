"""A diagnosis for the terminal and Markdown: the kernels in a table, a card for each that matters.

Its HTML page is made by ``capture_page.py``, for one capture and for several.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis, Status, Verdict
from kernelprof.model.library_kernel import library_of
from kernelprof.model.names import cut_middle, join_words, labels, printable
from kernelprof.model.numbers import count, dimensions, quantity, share
from kernelprof.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Text,
    Tone,
    answer,
)
from kernelprof.report.documents import TONES, commands, over_time, prediction, survey, waiting
from kernelprof.report.documents.verdict import (
    brief_verdict,
    describe_gain,
    evidence_section,
    finding_bullets,
    gain_cell,
    guidance_section,
    time_saved,
    verdict_cell,
    verdict_headline,
)
from kernelprof.report.figures.measured import finite
from kernelprof.report.private import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


SHARE_OF_CARDS: Final = 0.9
MOST_CARDS: Final = 5
MOST_ROWS: Final = 30
MOST_WARNINGS: Final = 10
_NAME_WIDTH: Final = 400

_SPARE: Final = {"launches", "time", "verdict", "confidence", "gain"}
_COLUMNS: Final = (
    Column("#", number=True),
    Column("kernel", yielding=True),
    Column("launches", brief="n", number=True, optional=True),
    Column("time", number=True, optional=True),
    Column("share", number=True),
    Column("verdict"),
    Column("confidence", brief="conf", optional=True),
    Column("gain", number=True),
)
_ON_PAGE: Final = (
    *(replace(each, optional=each.title in _SPARE) for each in _COLUMNS[1:]),
    Column("could save", number=True),
)
_SAVES: Final = "Share of the total time that the gain would save: kernel's share x (1 - 1 / gain)."
_CONFIDENCE: Final = ("low", "medium", "high")


def document(diagnosis: Diagnosis, top: int | None = None, *, explain: bool = True) -> Document:
    """The whole diagnosis, or its verdicts in short without ``explain``.

    ``top`` is the number of cards instead of :func:`cards`; with 0 only the table is left.
    """
    kernels = diagnosis.kernels
    most = cards(kernels, top)
    rows = kernels if top == 0 else kernels[: max(MOST_ROWS, most)]
    names = [label_text(label) for label in labels(rows)]
    blocks: list[Block] = []
    if len(kernels) > 1 and most and explain:
        blocks.append(_answer(kernels[0], names[0]))
    if diagnosis.survey is not None:
        blocks.append(survey.section(diagnosis.survey, explain=explain))
    blocks += [Paragraph(Span(f"{summarize_capture(diagnosis)}.")), *_warnings(diagnosis.warnings)]
    if explain or not most:
        blocks.append(kernel_table(rows, names))
        if left := not_shown(kernels, len(rows)):
            blocks.append(Paragraph(left, Tone.MUTED))
    card = _section if explain else _brief
    shown_kernels = advise_libraries_once(kernels[:most])
    for number, (kernel, name) in enumerate(zip(shown_kernels, names, strict=False), 1):
        blocks.append(card(number, kernel, name, diagnosis))
    if most:
        blocks += [*commands.settle(diagnosis), *_closing(kernels, most, explain=explain)]
    return Document("kernelprof", tuple(blocks), origin=diagnosis.origin)


def advise_libraries_once(kernels: Iterable[KernelDiagnosis]) -> Iterable[KernelDiagnosis]:
    """Refer to the first kernel of a library that has the same advice, by its number."""
    first: dict[tuple[str, ...], int] = {}
    for number, kernel in enumerate(kernels, 1):
        verdict = kernel.verdict
        own = not verdict.advice or library_of(kernel.name) is None
        same = number if own else first.setdefault(verdict.advice, number)
        if same == number:
            yield kernel
        else:
            short = replace(verdict, advice=(f"Same advice as for kernel {same}.",))
            yield replace(kernel, verdict=short)


def _closing(kernels: Sequence[KernelDiagnosis], most: int, *, explain: bool) -> Iterable[Block]:
    left = not_shown(kernels, most)
    if explain:
        if left:
            yield Paragraph(f"{left}: `--top {len(kernels)}` shows them", Tone.MUTED)
        return
    why = "`--explain` shows the reasons and all evidence"
    if left:
        why = (
            f"{left}: `--top {len(kernels)}` shows all, `--top 0` a table, `--explain` the reasons"
        )
    yield Paragraph(why, Tone.MUTED)


def _section(
    number: int, kernel: KernelDiagnosis, name: tuple[Span, ...], diagnosis: Diagnosis
) -> Section:
    listed = waiting.stalls_section(kernel)
    lines = waiting.describe_waiting(kernel) if listed is None else (listed,)
    return Section(
        (f"{number} ", *name),
        (
            *_card(kernel, diagnosis),
            *over_time.line(kernel, always=True),
            *lines,
            *_accesses(diagnosis, explain=True),
        ),
        tone=TONES[kernel.verdict.status],
        folded=len(diagnosis.kernels) > 1,
        summary=_in_a_line(kernel.verdict, diagnosis),
    )


def _brief(
    number: int, kernel: KernelDiagnosis, name: tuple[Span, ...], diagnosis: Diagnosis
) -> Section:
    verdict = kernel.verdict
    lines = _accesses(diagnosis, explain=False)
    after = "".join(f", {each}" for each in describe_costs(kernel, diagnosis))
    return Section(
        (f"{number} ", *name, after),
        (
            *waiting.describe_waiting(kernel),
            *over_time.line(kernel, always=False),
            *brief_verdict(verdict),
            *lines,
        ),
        tone=TONES[verdict.status],
        layout=Layout.DENSE,
        summary=_in_a_line(verdict, diagnosis),
    )


def _in_a_line(verdict: Verdict, diagnosis: Diagnosis) -> Text:
    text = verdict_headline(verdict, predicted=prediction.facts_of(diagnosis) is not None)
    return (Span(text, TONES[verdict.status]), f" Confidence: {verdict.confidence.value}.")


def describe_costs(kernel: KernelDiagnosis, diagnosis: Diagnosis) -> Iterable[str]:
    """How long a kernel takes, and which part of the time of all, where either is known."""
    times, median = _launched(kernel)
    if median is not None:
        many = f"{times:,} launches of " if times > 1 else ""
        some = "some of " if _is_part(kernel) else ""
        roughly = "about " if prediction.facts_of(diagnosis) is not None else ""
        yield f"{some}{many}{roughly}{quantity(median, 'ns')}"
    several = len(diagnosis.kernels) > 1 or kernel.surveyed is not None
    if kernel.share is not None and several:
        yield f"{share(kernel.share)} of {survey.time_of([kernel])}"


def _accesses(diagnosis: Diagnosis, *, explain: bool) -> Iterable[Block]:
    if facts := prediction.facts_of(diagnosis):
        blocks = (prediction.section(*facts),) if explain else prediction.brief(*facts)
        yield from filter(None, blocks)


def label_text(label: tuple[str, str], target: str = "") -> tuple[Span, ...]:
    """A kernel's short name, made unique."""
    name, detail = label
    last = (Span(f" {detail}", code=True, target=target),) if detail else ()
    return (Span(name, code=True, target=target), *last)


def _answer(kernel: KernelDiagnosis, name: tuple[Span, ...]) -> Section:
    verdict = kernel.verdict
    text = f"Confidence: {verdict.confidence.value}."
    if brings := describe_gain(verdict):
        text += f" Gain: {brings}."
    gist, tone = Span(verdict_headline(verdict)), TONES[verdict.status]
    return answer(gist, Paragraph(text), title=name, tone=tone)


def _warnings(warnings: Sequence[str]) -> list[Note]:
    notes = [Note(Span(each), warning=True) for each in warnings[:MOST_WARNINGS]]
    if len(warnings) > MOST_WARNINGS:
        more = len(warnings) - MOST_WARNINGS
        notes.append(Note(f"{count(more, 'more warning')} not shown", warning=True))
    return notes


def kernel_table(
    kernels: Sequence[KernelDiagnosis], names: Sequence[tuple[Span, ...]], *, on_page: bool = False
) -> Table:
    """The kernels, costliest first; on a page with links to their cards in place of numbers."""
    rows = []
    for number, (kernel, name) in enumerate(zip(kernels, names, strict=True), 1):
        verdict, times, median = kernel.verdict, *_launched(kernel)
        row = (
            Cell(str(number)),
            Cell(name, tip=shown(kernel.name) if on_page else ""),
            Cell(f"{times:,}", sort=times),
            Cell("-" if median is None else quantity(median, "ns"), sort=finite(median) or -1.0),
            Cell(share(kernel.share), sort=finite(kernel.share) or 0.0),
            Cell(Span(verdict_cell(verdict), TONES[verdict.status], code=True)),
            Cell(verdict.confidence.value, sort=_CONFIDENCE.index(verdict.confidence.value)),
            Cell(gain_cell(verdict), sort=finite(verdict.gain) or 0.0),
        )
        saved = (finite(kernel.share) or 0.0) * time_saved(verdict)
        saves = Cell(share(saved) if saved > 0 else "-", sort=saved, tip=_SAVES)
        rows.append((*row[1:], saves) if on_page else row)
    columns = _ON_PAGE if on_page else _COLUMNS
    return Table(columns, tuple(rows), label="Kernels, costliest first", long=on_page)


def _launched(kernel: KernelDiagnosis) -> tuple[int, float | None]:
    """How often a kernel ran and how long a launch took: in the program where that is known.

    Launches of one configuration that have another verdict have another time as well.
    """
    measured = None if kernel.duration_ns is None else kernel.duration_ns.median
    if kernel.surveyed is None:
        return kernel.launches, measured
    return kernel.surveyed.launches, measured if _is_part(kernel) else kernel.surveyed.median


def total_time(kernel: KernelDiagnosis) -> float:
    """The nanoseconds of all launches, surveyed ones too; nothing where they are not known."""
    if kernel.surveyed is not None and kernel.surveyed.share:
        return kernel.surveyed.time * (kernel.share or 0.0) / kernel.surveyed.share
    return 0.0 if kernel.duration_ns is None else kernel.duration_ns.median * kernel.launches


def _is_part(kernel: KernelDiagnosis) -> bool:
    """Whether other launches of the same kernel and configuration have another verdict."""
    return kernel.surveyed is not None and kernel.launches < kernel.surveyed.measured


def _card(kernel: KernelDiagnosis, diagnosis: Diagnosis) -> Iterable[Block]:
    verdict = kernel.verdict
    yield Paragraph(Span(cut_middle(printable(kernel.name), _NAME_WIDTH), code=True), Tone.MUTED)
    predicted = prediction.facts_of(diagnosis) is not None
    yield Paragraph(Span(summary(kernel, predicted=predicted)), Tone.MUTED)
    yield evidence_section(verdict)
    yield finding_bullets(verdict)
    yield from guidance_section(verdict, predicted=predicted)


def launch_parts(kernel: KernelDiagnosis) -> list[str]:
    """Launch configuration and count of the kernel, as parts of a sentence."""
    parts = []
    if kernel.grid is not None:
        parts.append(f"grid {dimensions(kernel.grid)}")
    if kernel.block is not None:
        parts.append(f"block {dimensions(kernel.block)}")
    ids = ", ".join((*map(printable, kernel.ids[:4]), *(["..."] if kernel.ids[4:] else [])))
    return [*parts, f"{count(kernel.launches, 'launch')} (ID {ids})"]


def summary(kernel: KernelDiagnosis, *, predicted: bool) -> str:
    """Where and how often the kernel ran and how long that took, or may take."""
    parts = launch_parts(kernel)
    if kernel.duration_ns is not None:
        duration = kernel.duration_ns
        text = time_text(duration.median, duration.low, duration.high, kernel.launches)
        parts.append(f"about {text}" if predicted else text)
    if kernel.surveyed is not None:
        parts.append(survey.launches(kernel.surveyed, kernel.launches))
    if kernel.share is not None:
        parts.append(f"{share(kernel.share)} of {survey.time_of([kernel])}")
    return ", ".join(parts)


def time_text(median: float, low: float, high: float, launches: int) -> str:
    """A median, with the shortest and the longest launch where there are several."""
    text = quantity(median, "ns")
    if launches == 1:
        return text
    return f"median {text} ({quantity(low, 'ns')} to {quantity(high, 'ns')})"


def summarize_capture(diagnosis: Diagnosis) -> str:
    """The capture in one line: how many kernels and launches, on what."""
    if facts := prediction.facts_of(diagnosis):
        return f"{count(len(diagnosis.kernels), 'kernel')}, {prediction.basis(facts[0].counts)}"
    if not diagnosis.kernels and diagnosis.survey is not None:
        return "No kernel was measured"
    text = f"{count(len(diagnosis.kernels), 'kernel')} in {count(diagnosis.launches, 'launch')}"
    names = list(dict.fromkeys(filter(None, map(gpu_name, diagnosis.kernels))))
    return f"{text} on {join_words(names)}" if names else text


def name_captures(diagnoses: Sequence[Diagnosis]) -> list[str]:
    """Names of captures by their files, or where those are alike by their paths."""
    files = [PurePosixPath(each.origin).name for each in diagnoses]
    return files if len(set(files)) == len(files) else [each.origin for each in diagnoses]


def cards(kernels: tuple[KernelDiagnosis, ...], top: int | None) -> int:
    """How many kernels matter: those that cover 90 % of the time, at most five."""
    if top is not None:
        return min(top, len(kernels))
    covered = 0.0
    for position, kernel in enumerate(kernels[:MOST_CARDS]):
        covered += kernel.share or 0.0
        if covered >= SHARE_OF_CARDS:
            return position + 1
    return min(MOST_CARDS, len(kernels))


def not_shown(kernels: Sequence[KernelDiagnosis], shown: int) -> str:
    """The kernels that are not shown and how to see them; empty where there are none."""
    left = kernels[shown:]
    if not left:
        return ""
    text = f"and {count(len(left), 'more kernel')}"
    shares = [kernel.share for kernel in left if kernel.share is not None]
    if shares:
        text += f" ({share(sum(shares))} of {survey.time_of(left)})"
    undecided = sum(kernel.verdict.status is Status.INCONCLUSIVE for kernel in left)
    if undecided == len(left):
        text += ", inconclusive" if undecided == 1 else ", all of them inconclusive"
    elif undecided:
        text += f", {undecided:,} of them inconclusive"
    return text


def gpu_name(kernel: KernelDiagnosis) -> str:
    """``NVIDIA H200 (compute capability 9.0)``; empty if unknown."""
    capability = kernel.compute_capability
    version = f"compute capability {capability[0]}.{capability[1]}" if capability else ""
    if kernel.device is None or kernel.device.isdigit():
        return version
    return f"{printable(kernel.device)} ({version})" if version else printable(kernel.device)
