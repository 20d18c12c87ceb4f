"""The machine instructions of the lines where warps spend most time, beside these lines."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from kernelprof.model.names import middle, named_alike, printable
from kernelprof.model.numbers import share
from kernelprof.report.document import Bar, Cell, Column, Note, Section, Span, Table, Tone
from kernelprof.report.private import file_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.sampled import Instruction, Place, SampledCode

MOST_LINES: Final = 5
MOST_INSTRUCTIONS: Final = 4
LEAST: Final = 0.01
"""Part of the samples from which a line, or an instruction of one, is shown."""
_WIDEST: Final = 60
_COLUMNS: Final = (
    Column("line"),
    Column("source"),
    Column("samples"),
    Column("machine code"),
    Column("mostly waits by"),
)
_NOTE: Final = (
    "The instructions with most samples of each line. One that waits for a value has the samples, "
    "and not the one that makes it."
)


def section(codes: Sequence[SampledCode], kernel: str) -> Section | None:
    """The costliest lines of a kernel with their instructions; ``None`` where none are known."""
    named = {each.function: each for each in codes}
    found = named.get(named_alike(kernel, named) or "")
    if found is None or not found.samples:
        return None
    rows = tuple(_rows(found))
    if not rows:
        return None
    table = Table(_COLUMNS, rows, label="Machine code of the costliest lines")
    return Section("Machine code of the costliest lines", (table, Note(_NOTE)))


def _rows(code: SampledCode) -> Iterable[tuple[Cell, ...]]:
    lines: dict[Place, list[Instruction]] = defaultdict(list)
    for each in code.instructions:
        if each.places:
            lines[each.places[0]].append(each)
    whole = code.samples
    sums = {place: sum(e.counts.samples for e in own) for place, own in lines.items()}
    ordered = sorted(sums, key=lambda place: (-sums[place], place.file, place.line))
    for place in ordered[:MOST_LINES]:
        if sums[place] < LEAST * whole:
            break
        of_line = share(sums[place] / whole)
        name = f"{shown(file_name(place.file))}:{place.line}"
        text = middle(printable(code.text_of(place)), _WIDEST)
        head = (
            Cell((Span(name), Span(f" {of_line}", Tone.STRONG))),
            Cell(Span(text, code=True)),
        )
        own = sorted(lines[place], key=lambda each: (-each.counts.samples, each.offset))
        for each in own[:MOST_INSTRUCTIONS]:
            part = each.counts.samples / whole
            if part >= LEAST or each is own[0]:
                yield (*head, *_instruction(each, part))
                head = (Cell(""), Cell(""))


def _instruction(each: Instruction, part: float) -> tuple[Cell, ...]:
    states = each.counts.stalls
    largest = max(states, key=lambda state: (states[state], state), default="")
    waits = largest.replace("_", " ") if largest and states[largest] else ""
    return (
        Cell(share(part), sort=part, bar=Bar(min(part, 1.0))),
        Cell(Span(middle(printable(each.text), _WIDEST), code=True)),
        Cell(Span(waits)),
    )
