"""What a survey says of a whole program: the answer, what it rests on, and who launches what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.names import cut_middle, printable
from kernelprof.model.numbers import comparison, count, quantity, share
from kernelprof.model.survey import (
    GpuTime,
    Limit,
    Owner,
    SampledKernel,
    Survey,
    SurveyedKernel,
)
from kernelprof.report.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Fact,
    FactList,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.diagnosis import KernelDiagnosis
    from kernelprof.model.evidence import Evidence

BRIEF_ROWS: Final = 4
BRIEF_GROUPS: Final = 3
MOST_GROUPS: Final = 12
LEAST_SHARE: Final = 0.02
_NAME_WIDTH: Final = 100

_EVIDENCE: Final = (Column("evidence"), Column("what"))
_GPUS: Final = (
    Column("GPU"),
    Column("kernels", number=True),
    Column("copies", number=True),
    Column("idle", number=True),
    Column("launches", number=True),
)
_WHERE: Final = Column("where", optional=True)
_LAUNCHES: Final = (Column("launches", brief="n", number=True), Column("share", number=True))
_SAMPLED: Final = (
    Column("sampled kernel", yielding=True),
    Column("share", number=True),
    Column("verdict"),
    Column("busiest units"),
)
_WAITS: Final = Column("waits for", optional=True)
MOST_SAMPLED: Final = 12
BRIEF_SAMPLED: Final = 5
UNITS_SHOWN: Final = 2
_HEADINGS: Final = {
    "range": "NVTX ranges",
    "module": "Modules",
    "line": "Lines of Python",
    "operator": "PyTorch operators",
    "function": "Triton functions",
}


def section(survey: Survey, *, explain: bool) -> Section:
    """All that a survey says, or the answer in short where it is not to ``explain`` it."""
    answer = survey.answer
    tone = Tone.GOOD if answer is None or answer.limit is Limit.KERNELS else Tone.BAD
    blocks: list[Block] = []
    if answer is not None:
        evidence = answer.evidence if explain else answer.evidence[:BRIEF_ROWS]
        rows = tuple(
            (Cell(each.label), Cell(comparison(each), tip=each.formula)) for each in evidence
        )
        blocks.append(Table(_EVIDENCE, rows, label="Evidence", headings=False))
        if answer.advice:
            lines = answer.advice if explain else answer.advice[:2]
            blocks.append(Bullets(lines) if explain else FactList((Fact("What to do", lines),)))
    if len(survey.gpus) > 1:
        blocks.append(_gpus(survey.gpus))
    blocks += _groups(survey.groups, explain=explain)
    blocks += _sampled(survey.kernels, explain=explain)
    blocks.append(Paragraph(describe_survey(survey), Tone.MUTED))
    blocks += [Note(Span(each), warning=True) for each in survey.warnings]
    summary = "" if answer is None else Span(answer.sentence, tone)
    layout = Layout.STACK if explain else Layout.DENSE
    return Section("The program", tuple(blocks), tone=tone, layout=layout, summary=summary)


def describe_survey(survey: Survey) -> str:
    """What was surveyed, measured and taken for the rest, in a few sentences."""
    launches = sum(each.launches for each in survey.kernels)
    many = f"{count(launches, 'launch')} of {count(len(survey.kernels), 'kernel')}"
    text = f"Surveyed: {many} in {survey.seconds:.1f} s"
    if survey.processes > 1:
        text += f", {count(survey.processes, 'process')}"
    text += f" ({survey.ended})." if survey.ended else "."
    if survey.gpus and survey.gpus[0].start_up > survey.gpus[0].span:
        gpu = survey.gpus[0]
        text += (
            f" Only the {quantity(gpu.span, 'ns')} after start-up are counted; start-up (the first "
            f"10 % of the launches) took {quantity(gpu.start_up, 'ns')}."
        )
    sampled = [each for each in survey.kernels if each.sampled is not None]
    if sampled:
        text += (
            f" Hardware counters were sampled for {count(len(sampled), 'kernel')} with "
            f"{share(sum(each.share for each in sampled))} of the kernel time."
        )
    if survey.coverage is not None:
        measured = survey.coverage
        text += (
            f" Measured: {count(measured.launches, 'launch')} of "
            f"{count(measured.kernels, 'kernel')} with {share(measured.share)} of the kernel "
            f"time, in {measured.seconds:.0f} s (estimated {measured.estimate:.0f} s). Shares "
            "and numbers of launches come from the survey, verdicts from the measured launches."
        )
    return text


def launches(kernel: SurveyedKernel, mine: int) -> str:
    """``6,000 launches of 64.35 µs, 3 measured``; of which ``mine`` have one verdict."""
    many = f"{count(kernel.launches, 'launch')} of {quantity(kernel.median, 'ns')}"
    part = f", {mine:,} with this verdict" if mine < kernel.measured else ""
    return f"{many}, {kernel.measured:,} measured{part}"


def time_of(kernels: Iterable[KernelDiagnosis]) -> str:
    """What shares are of: a program that was surveyed has time in which no kernel runs."""
    return "kernel time" if any(each.surveyed for each in kernels) else "the time"


def _gpus(gpus: Sequence[GpuTime]) -> Table:
    rows = tuple(
        (
            Cell(Span(f"{printable(each.name)} ({each.device})")),
            Cell(share(each.busy)),
            Cell(share(each.copies / each.span if each.span else 0.0)),
            Cell(share(each.idle_time / each.span if each.span else 0.0)),
            Cell(f"{each.launches:,}", sort=each.launches),
        )
        for each in gpus
    )
    return Table(_GPUS, rows, label="How each GPU spent its time")


def _groups(groups: Sequence[Owner], *, explain: bool) -> Iterable[Block]:
    most = MOST_GROUPS if explain else BRIEF_GROUPS
    for kind, heading in _HEADINGS.items():
        mine = [each for each in groups if each.kind == kind and each.share >= LEAST_SHARE]
        if not mine:
            continue
        placed = any(each.place for each in mine[:most])
        rows = tuple(
            (
                Cell(Span(cut_middle(printable(each.name), _NAME_WIDTH), code=True)),
                *((_place(each.place),) if placed else ()),
                Cell(f"{each.launches:,}", sort=each.launches),
                Cell(share(each.share), sort=each.share),
            )
            for each in mine[:most]
        )
        where = (_WHERE,) if placed else ()
        columns = (Column(heading, yielding=True), *where, *_LAUNCHES)
        yield Table(columns, rows, label=heading)


def _sampled(kernels: Sequence[SurveyedKernel], *, explain: bool) -> Iterable[Block]:
    """What samples say of the costliest kernels that were not measured."""
    mine = [
        (each, sampled)
        for each in kernels
        if (sampled := each.sampled) is not None
        and not each.measured
        and (explain or each.share >= LEAST_SHARE)
    ][: MOST_SAMPLED if explain else BRIEF_SAMPLED]
    columns = (*_SAMPLED, _WAITS) if any(sampled.waits for _, sampled in mine) else _SAMPLED
    rows = []
    for each, sampled in mine:
        cells = (
            Cell(Span(cut_middle(printable(each.name), _NAME_WIDTH), code=True)),
            Cell(share(each.share), sort=each.share),
            Cell(_verdict(sampled)),
            Cell(_shares(sampled.units[:UNITS_SHOWN])),
            Cell(_shares(sampled.waits[:1])),
        )
        rows.append(cells[: len(columns)])
    if rows:
        yield Table(columns, tuple(rows), label="Kernels that were sampled but not measured")


def _shares(values: Iterable[Evidence]) -> str:
    return ", ".join(f"{each.label} {share(each.value / 100)}" for each in values)


def _verdict(sampled: SampledKernel) -> Span:
    if sampled.bottleneck is not None:
        return Span(sampled.bottleneck, code=True)
    return Span(f"{sampled.lead}?" if sampled.lead else "-", code=sampled.lead is not None)


def _place(place: str) -> Cell:
    """A line of a file with the folder that it is in; the whole path is a tip."""
    if not place:
        return Cell("")
    path = printable(place)
    return Cell(Span("/".join(path.split("/")[-2:]), code=True), tip=path)
