"""What warps wait for, and the line that a verdict blames, in sentences and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.model.kernel_name import function_name
from kernelprof.model.names import cut_end, printable, sentence, short_name
from kernelprof.model.numbers import number
from kernelprof.model.numbers import share as percent
from kernelprof.report.document import (
    Block,
    Cell,
    Column,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)
from kernelprof.report.private import file_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.diagnosis import KernelDiagnosis
    from kernelprof.model.waiting import BlamedLine, WarpRole

_WIDEST: Final = 80
_WAITING: Final = "waiting"
_CAUSED: Final = (
    "excess sectors",
    "excess wavefronts",
    "traffic of local memory",
    "idle threads",
)
_LEAST: Final = 0.1
"""A line with less of the waiting is not told beside the verdict's."""
_COLUMNS: Final = (
    Column("share", number=True),
    Column("waits for"),
    Column("at"),
    Column("source", yielding=True),
    Column("per request", optional=True),
)
_ROLES: Final = {"producer": "producer warps", "mma": "MMA warps", "epilogue": "epilogue warps"}
_LIMITS: Final = {
    "producer": "The producer warps limit the kernel.",
    "mma": "The MMA warps limit the kernel.",
    "epilogue": "The epilogue warps limit the kernel.",
    "copies": "Waiting for copies limits the kernel: memory is too slow, or the pipeline has too "
    "few stages.",
}
_NO_LINES: Final = "The kernel has no line information: compile with -lineinfo to see source lines."


def format_location(each: BlamedLine) -> str:
    """A line by its file's name, ``gemm.cu:88``, or an instruction of a kernel without lines."""
    if each.file is None or each.line is None:
        name = short_name(each.function)
        name = name if len(name) <= _WIDEST else function_name(name)
        kernel = cut_end(shown(printable(name)), _WIDEST)
        return f"{printable(each.instruction)} ({each.offset:#x} of {kernel})"
    place = f"{shown(file_name(each.file))}:{each.line}"
    *calls, last = map(str, each.called_at or ("",))
    called = f"{', '.join(calls)} and {last}" if calls else last
    if each.helper:
        place += f" in {printable(each.helper)}"
    return f"{place}, called at {called}" if called else place


def stall_sentence(each: BlamedLine) -> str:
    """Say what a line causes: ``The load at gemm.cu:88 causes 71 % of the waiting``."""
    place = format_location(each) if each.line is None else f"at {format_location(each)}"
    part = f"{percent(each.share)} of the {each.of}"
    if each.of.startswith(_WAITING) or each.of in _CAUSED:
        return f"The {each.kind} {place} causes {part}"
    return f"{part} are {place}"


def describe_request(each: BlamedLine) -> str:
    """What an access takes, ``32 sectors a request, 4 at best``; empty where that is not known."""
    amount, unit = each.sectors, "sectors"
    if amount is None:
        amount, unit = each.wavefronts, "wavefronts"
    if amount is None or each.ideal is None:
        return ""
    many = number(amount)
    return f"{many} {unit[:-1] if many == '1' else unit} per request, {number(each.ideal)} at best"


def describe_waiting(kernel: KernelDiagnosis) -> Iterable[Block]:
    """The line that the verdict blames, and the one that most of the waiting is for."""
    place, stalls = kernel.place, kernel.waiting
    first = next(iter(stalls.lines), None) if stalls is not None else None
    if place is not None:
        yield _paragraph(place)
    if first is not None and first.share >= _LEAST and not _same(first, place):
        yield _paragraph(first)
    yield from _roles(kernel)


def _roles(kernel: KernelDiagnosis) -> Iterable[Block]:
    """What the warps of each role wait for, and the role that the others wait for."""
    roles = None if kernel.waiting is None else kernel.waiting.roles
    if roles is not None:
        sentences = [sentence("; ".join(map(_role, roles.roles)))]
        if roles.limit is not None:
            sentences.append(_LIMITS[roles.limit])
        yield Paragraph(" ".join(sentences))


def _role(each: WarpRole) -> str:
    if not each.waits:
        return f"{_ROLES[each.role]} hardly wait"
    first, *others = each.waits
    listed = [f"{first.waits_for} ({percent(first.share)} of their time)"]
    listed += [f"{other.waits_for} ({percent(other.share)})" for other in others]
    return f"{_ROLES[each.role]} wait for {', '.join(listed)}"


def blamed(kernel: KernelDiagnosis, target: str = "") -> Iterable[Block]:
    """The line that the verdict blames, which leads to itself in the source on the page."""
    if kernel.place is not None:
        text = Span(_source(kernel.place), code=True, target=target)
        sentence_text = stall_sentence(kernel.place)
        yield Paragraph((f"{sentence_text}: ", text) if text.text else sentence_text)


def stalls_section(kernel: KernelDiagnosis, *, blame: bool = True) -> Section | None:
    """What the warps of a kernel wait for, the lines with most of it; ``None``: not known.

    ``blame`` says first which line the verdict blames.
    """
    stalls = kernel.waiting
    if stalls is None or not stalls.lines:
        return None
    rows = tuple(_row(each) for each in stalls.lines)
    notes: list[Block] = []
    if all(each.line is None for each in stalls.lines):
        notes.append(Note(_NO_LINES))
    if stalls.unknown >= 0.01:
        unknown = f"The reason for {percent(stalls.unknown)} of the waiting is unknown."
        notes.append(Note(unknown))
    first = (_paragraph(kernel.place),) if blame and kernel.place is not None else ()
    table = Table(_COLUMNS, rows, label="What warps wait for")
    return Section("What warps wait for", (*first, *_roles(kernel), table, *notes))


def _same(first: BlamedLine, place: BlamedLine | None) -> bool:
    if place is None or (first.file, first.line) != (place.file, place.line):
        return False
    return first.line is not None or first.offset == place.offset


def _row(each: BlamedLine) -> tuple[Cell, ...]:
    return (
        Cell(percent(each.share), sort=each.share),
        Cell(each.kind),
        Cell(Span(format_location(each), code=each.line is None)),
        Cell(Span(_source(each), code=True)),
        Cell(describe_request(each)),
    )


def _source(each: BlamedLine) -> str:
    return cut_end(printable(each.text.strip()), _WIDEST)


def _paragraph(each: BlamedLine) -> Paragraph:
    text: list[Span | str] = [stall_sentence(each)]
    if source := _source(each):
        text += [": ", Span(source, code=True)]
    if request := describe_request(each):
        text.append(f" ({request})")
    return Paragraph(tuple(text), Tone.STRONG)
