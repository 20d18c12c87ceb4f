"""A kernel's machine instructions beside its source, with what was sampled and counted at each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from kernelprof.model.names import ELLIPSIS, middle, named_alike, printable
from kernelprof.model.numbers import share
from kernelprof.model.sampled import Place
from kernelprof.report.document import Code, LineNote, MachineLine
from kernelprof.report.figures.lines import by_line, traffic
from kernelprof.report.private import file_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.model.diagnosis import KernelDiagnosis
    from kernelprof.model.sampled import Instruction, SampledCode

MOST_INSTRUCTIONS: Final = 1000
"""Of one kernel: 130 kB of a page."""
MOST_OF_A_PAGE: Final = 6000
LEAST_INSTRUCTIONS: Final = 100
MARKED_FROM: Final = 0.01
"""Part of the samples from which a line, or an instruction, is marked."""
_WIDEST: Final = 100
_SAMPLES: Final = "Samples"
TRAFFIC: Final = "A request"
MOVED: Final = "Moved"
LEFT_OUT: Final = MachineLine(0, "", "")


@dataclass(frozen=True, slots=True)
class Machine:
    """The instructions of a kernel, of which a page shows at most so many.

    ``file`` is the one that is listed beside them, empty without line information; ``blamed`` the
    line, with its file, that the verdict is to be blamed on.
    """

    code: SampledCode
    file: str
    most: int = MOST_INSTRUCTIONS
    blamed: tuple[str, int] | None = None

    def beside(self, path: str) -> Machine:
        """The same beside the text of a file, which can be called by another folder there."""
        alike = PurePath(path).name == PurePath(self.file).name
        return self if alike else replace(self, file=path)

    @property
    def line_to_blame(self) -> int | None:
        """The line to blame where the listing has it."""
        if self.blamed is None or self.blamed[0] != self.file:
            return None
        is_known = bool(self.code.whole) or Place(*self.blamed) in self.code.source
        line = self.blamed[1]
        return line if is_known and line in by_line(self.code, self.file) else None

    @property
    def size(self) -> int:
        """How many instructions the kernel has."""
        return len(self.code.instructions)

    @property
    def shortened(self) -> bool:
        """Whether not all instructions are shown."""
        return self.size > self.most


def code_of(kernel: KernelDiagnosis, codes: Sequence[SampledCode]) -> Sequence[SampledCode]:
    """The code of a kernel, that with most samples first: several kernels may have its name."""
    name = named_alike(kernel.name, {each.function: None for each in codes})
    own = (each for each in codes if each.function == name)
    return sorted(own, key=lambda each: each.samples, reverse=True)


def machine_of(
    kernel: KernelDiagnosis, codes: Sequence[SampledCode], kernels: int
) -> Machine | None:
    """The instructions of one of so many kernels; ``None`` where nothing is known of them."""
    own = code_of(kernel, codes)
    if not own:
        return None
    code = own[0]
    moves = code.file is not None and any(traffic([each]) for each in code.instructions)
    if not (code.samples or moves):
        return None
    place = kernel.place
    blamed = None if place is None or place.line is None else (place.file or "", place.line)
    most = max(LEAST_INSTRUCTIONS, min(MOST_INSTRUCTIONS, MOST_OF_A_PAGE // kernels))
    return Machine(code, code.file or "", most, blamed)


def listing(machine: Machine, text: str | None, name: str) -> Code:
    """The source with the machine code beside it; of a source without text its known lines."""
    code, numbers = machine.code, tuple[int, ...]()
    if text is None:
        known = {
            place.line: line for place, line in code.source.items() if place.file == machine.file
        }
        numbers = tuple(sorted(known))
        text = "\n".join(known[number] for number in numbers)
    notes = tuple(_notes(machine))
    noted: tuple[str, ...] = (_SAMPLES,)
    if any(each.more for each in notes):
        counted = any(each.counts.executed is not None for each in code.instructions)
        noted = (_SAMPLES, TRAFFIC if counted else MOVED)
    lines = tuple(_shown(machine))
    return Code(
        text,
        language="cuda",
        name=name,
        shares=_marked(notes),
        numbered=True,
        notes=notes,
        noted=noted,
        numbers=numbers,
        machine=lines,
        chosen=_chosen(machine, notes),
    )


def with_shares(found: Code, shares: Mapping[int, float]) -> Code:
    """The listing with samples as a capture has them by line."""
    beside = {each.line: each for each in found.notes}
    lines = sorted({*beside, *shares})
    notes = tuple(
        _note(line, shares.get(line, 0.0), beside[line].more if line in beside else "")
        for line in lines
    )
    return replace(found, notes=notes, shares=_marked(notes))


def _marked(notes: Iterable[LineNote]) -> tuple[tuple[int, float], ...]:
    return tuple((each.line, each.part) for each in notes if each.marked)


def _notes(machine: Machine) -> Iterable[LineNote]:
    whole = machine.code.samples
    for line, own in sorted(by_line(machine.code, machine.file).items()):
        samples = sum(each.counts.samples for each in own)
        yield _note(line, samples / whole if whole else 0.0, traffic(own))


def _note(line: int, part: float, more: str) -> LineNote:
    is_marked = part >= MARKED_FROM
    return LineNote(line, share(part) if is_marked else "", min(part, 1.0), is_marked, more)


def _chosen(machine: Machine, notes: Sequence[LineNote]) -> int | None:
    """The line to blame where it has instructions here, and else the one with most samples."""
    blamed = [each.line for each in notes if machine.blamed == (machine.file, each.line)]
    if blamed:
        return blamed[0]
    hottest = max(notes, key=lambda each: (each.part, -each.line), default=None)
    return None if hottest is None or not hottest.part else hottest.line


def _shown(machine: Machine) -> Iterable[MachineLine]:
    kept = _kept(machine)
    last = -1
    for number, each in enumerate(machine.code.instructions):
        if number not in kept:
            continue
        if number != last + 1:
            yield LEFT_OUT
        last = number
        yield _line(machine, each)
    if kept and last != machine.size - 1:
        yield LEFT_OUT


def _kept(machine: Machine) -> frozenset[int]:
    """Numbers of the instructions to show: all, or those of the costliest lines."""
    instructions = machine.code.instructions
    if not machine.shortened:
        return frozenset(range(len(instructions)))
    lines: dict[object, list[int]] = {}
    for number, each in enumerate(instructions):
        lines.setdefault(each.places[:1] or number, []).append(number)

    def cost(own: list[int]) -> int:
        return sum(instructions[number].counts.samples for number in own)

    found: list[int] = []
    for own in sorted(lines.values(), key=lambda own: (-cost(own), own)):
        found += own
        if len(found) >= machine.most:
            break
    return frozenset(found[: machine.most])


def _line(machine: Machine, each: Instruction) -> MachineLine:
    place = each.places[0] if each.places else None
    line, at = 0, ""
    if place is not None and place.file == machine.file:
        line, at = place.line, str(place.line)
    elif place is not None:
        at = f"{shown(file_name(place.file))}:{place.line}"
    whole, states = machine.code.samples, each.counts.stalls
    part = each.counts.samples / whole if whole else 0.0
    largest = max(states, key=lambda state: (states[state], state), default="")
    return MachineLine(
        line,
        at,
        middle(printable(each.text.strip()), _WIDEST) or ELLIPSIS,
        share(part) if part >= MARKED_FROM else "",
        min(part, 1.0),
        largest.replace("_", " ") if part >= MARKED_FROM else "",
    )
