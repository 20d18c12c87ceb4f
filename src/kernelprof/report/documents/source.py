"""The kernel's source with the lines where warps spend their time, and how it was compiled."""

from __future__ import annotations

import hashlib
import shlex
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import count
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from kernelprof.analysis.metrics.traffic import SECTOR
from kernelprof.analysis.stalls import average_request
from kernelprof.model.names import ELLIPSIS, cut_middle, named_alike, printable
from kernelprof.model.numbers import number as figure
from kernelprof.model.numbers import quantity
from kernelprof.model.numbers import share as percent
from kernelprof.model.waiting import SourceLocation
from kernelprof.report.document import (
    Block,
    CodeBlock,
    Fact,
    FactList,
    LineNote,
    MachineLine,
    Note,
    Paragraph,
    Section,
    Span,
    Text,
    Tone,
)
from kernelprof.report.figures.memory import WAVEFRONT
from kernelprof.report.private import file_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.model.diagnosis import KernelDiagnosis
    from kernelprof.model.manifest import SourceFacts
    from kernelprof.model.sampled import Counts, SampledCode, SampledInstruction

MOST_INSTRUCTIONS: Final = 1000
"""Of one kernel: 130 kB of a page."""
MOST_OF_A_PAGE: Final = 6000
LEAST_INSTRUCTIONS: Final = 100
MARKED_FROM: Final = 0.01
"""Part of the samples from which a line, or an instruction, is marked."""
_WIDEST_INSTRUCTION: Final = 100
_SAMPLES: Final = "Samples"
TRAFFIC: Final = "Per request"
MOVED: Final = "Moved"
LEFT_OUT: Final = MachineLine(0, "", "")


@dataclass(frozen=True, slots=True)
class MachineListing:
    """The instructions of a kernel, of which a page shows at most so many.

    ``file`` is the one that is listed beside them, empty without line information; ``blamed`` the
    line, with its file, that the verdict is to be blamed on.
    """

    code: SampledCode
    file: str
    most: int = MOST_INSTRUCTIONS
    blamed: tuple[str, int] | None = None

    def at_path(self, path: str) -> MachineListing:
        """The same beside the text of a file, which can be called by another folder there."""
        alike = PurePath(path).name == PurePath(self.file).name
        return self if alike else replace(self, file=path)

    @property
    def line_to_blame(self) -> int | None:
        """The line to blame where the listing has it."""
        if self.blamed is None or self.blamed[0] != self.file:
            return None
        is_known = bool(self.code.whole) or SourceLocation(*self.blamed) in self.code.source
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
) -> MachineListing | None:
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
    return MachineListing(code, code.file or "", most, blamed)


def annotate_source(machine: MachineListing, text: str | None, name: str) -> CodeBlock:
    """The source with the machine code beside it; of a source without text its known lines."""
    code, numbers = machine.code, tuple[int, ...]()
    if text is None:
        texts = {
            place.line: line for place, line in code.source.items() if place.file == machine.file
        }
        numbers = tuple(sorted(texts))
        text = "\n".join(texts[number] for number in numbers)
    notes = tuple(_notes(machine))
    noted: tuple[str, ...] = (_SAMPLES,)
    if any(each.more for each in notes):
        has_counts = any(each.counts.executed is not None for each in code.instructions)
        noted = (_SAMPLES, TRAFFIC if has_counts else MOVED)
    return CodeBlock(
        text,
        language="cuda",
        name=name,
        shares=_marked(notes),
        numbered=True,
        notes=notes,
        noted=noted,
        numbers=numbers,
        machine=tuple(_shown(machine)),
        chosen=_chosen(machine, notes),
    )


def with_shares(code: CodeBlock, shares: Mapping[int, float]) -> CodeBlock:
    """The listing with samples as a capture has them by line."""
    note_of_line = {each.line: each for each in code.notes}
    lines = sorted({*note_of_line, *shares})
    notes = tuple(
        _note(line, shares.get(line, 0.0), note_of_line[line].more if line in note_of_line else "")
        for line in lines
    )
    return replace(code, notes=notes, shares=_marked(notes))


def _marked(notes: Iterable[LineNote]) -> tuple[tuple[int, float], ...]:
    return tuple((each.line, each.part) for each in notes if each.marked)


def _notes(machine: MachineListing) -> Iterable[LineNote]:
    whole = machine.code.samples
    for line, own in sorted(by_line(machine.code, machine.file).items()):
        samples = sum(each.counts.samples for each in own)
        yield _note(line, samples / whole if whole else 0.0, traffic(own))


def _note(line: int, part: float, more: str) -> LineNote:
    is_marked = part >= MARKED_FROM
    return LineNote(line, percent(part) if is_marked else "", min(part, 1.0), is_marked, more)


def _chosen(machine: MachineListing, notes: Sequence[LineNote]) -> int | None:
    blamed = [each.line for each in notes if machine.blamed == (machine.file, each.line)]
    if blamed:
        return blamed[0]
    hottest = max(notes, key=lambda each: (each.part, -each.line), default=None)
    return None if hottest is None or not hottest.part else hottest.line


def _shown(machine: MachineListing) -> Iterable[MachineLine]:
    indices = _shown_indices(machine)
    last = -1
    for number, each in enumerate(machine.code.instructions):
        if number not in indices:
            continue
        if number != last + 1:
            yield LEFT_OUT
        last = number
        yield _line(machine, each)
    if indices and last != machine.size - 1:
        yield LEFT_OUT


def _shown_indices(machine: MachineListing) -> frozenset[int]:
    instructions = machine.code.instructions
    if not machine.shortened:
        return frozenset(range(len(instructions)))
    lines: dict[object, list[int]] = {}
    for number, each in enumerate(instructions):
        lines.setdefault(each.places[:1] or number, []).append(number)

    def cost(own: list[int]) -> int:
        return sum(instructions[number].counts.samples for number in own)

    indices: list[int] = []
    for own in sorted(lines.values(), key=lambda own: (-cost(own), own)):
        indices += own
        if len(indices) >= machine.most:
            break
    return frozenset(indices[: machine.most])


def _line(machine: MachineListing, each: SampledInstruction) -> MachineLine:
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
        cut_middle(printable(each.text.strip()), _WIDEST_INSTRUCTION) or ELLIPSIS,
        percent(part) if part >= MARKED_FROM else "",
        min(part, 1.0),
        largest.replace("_", " ") if part >= MARKED_FROM else "",
    )


@dataclass(frozen=True, slots=True)
class TrafficPath:
    """A way that bytes take, with the counters that tell of it."""

    unit: str
    name: str
    size: int
    moved: str
    ideal: str | None


PATHS: Final = (
    TrafficPath("sector", "", SECTOR, "sectors", "ideal_sectors"),
    TrafficPath("wavefront", "shared ", WAVEFRONT, "wavefronts", "ideal_wavefronts"),
    TrafficPath("local sector", "local ", SECTOR, "local_sectors", None),
)


def by_line(code: SampledCode, file: str) -> dict[int, list[SampledInstruction]]:
    """The instructions of each line of a file."""
    result: dict[int, list[SampledInstruction]] = defaultdict(list)
    for each in code.instructions:
        if each.places and each.places[0].file == file:
            result[each.places[0].line].append(each)
    return dict(result)


def traffic(instructions: Iterable[SampledInstruction]) -> str:
    """What accesses take for a request, and in brackets the ideal where that is less.

    Where the report does not say how often they were carried out, all their bytes.
    """
    own = [each.counts for each in instructions]
    return ", ".join(text for path in PATHS if (text := _on(path, own)))


def _on(path: TrafficPath, own: Sequence[Counts]) -> str:
    moving = [each for each in own if getattr(each, path.moved)]
    if not moving:
        return ""
    if any(each.executed is None for each in moving):
        return _bytes(path, moving)
    return ", ".join(dict.fromkeys(_request(path, each) for each in moving))


def _request(path: TrafficPath, each: Counts) -> str:
    amount: int = getattr(each, path.moved)
    ideal: int | None = None if path.ideal is None else getattr(each, path.ideal)
    per, best = average_request([(amount, amount if ideal is None else ideal, each.executed)])
    if per is None or best is None:
        return ""
    many = figure(per)
    text = f"{many} {path.unit}{'' if many == '1' else 's'}"
    return text if figure(best) == many else f"{text} ({figure(best)})"


def _bytes(path: TrafficPath, moving: Sequence[Counts]) -> str:
    moved = path.size * sum(getattr(each, path.moved) for each in moving)
    text = f"{path.name}{quantity(moved, 'byte')}"
    if path.ideal is None:
        return text
    ideals = [getattr(each, path.ideal) for each in moving]
    if None in ideals or path.size * sum(ideals) >= moved:
        return text
    return f"{text} ({quantity(path.size * sum(ideals), 'byte')})"


_NOT_SAMPLED = (
    "This capture has no samples by source line: `kernelprof profile --preset full` collects them."
)
_NONE_HERE = "No line is marked: none in this source file has 1 % of the kernel's samples."
_SAMPLED = (
    "Lines with at least 1 % of the warp samples are marked. A warp that waits for a "
    "value is sampled at the line that uses it, not at the load."
)
_CHOOSE_A_LINE: Final = (
    "Choose a line to see its machine code; `Up` and `Down` move between lines with machine code."
)
_REQUEST: Final = (
    "`Per request` is what one warp instruction moves, in 32-byte sectors or shared-memory "
    "wavefronts. If the ideal is lower, it follows in brackets."
)
_MOVED: Final = (
    "`Moved` is the number of bytes moved by all accesses at a line. If fewer bytes would "
    "be enough, that number follows in brackets."
)
_NO_LINES: Final = "Compiled without line information: compile with -lineinfo to see source lines."
_NO_TEXT: Final = (
    "The capture has the line numbers of the instructions, but not the source text. To include "
    "the text, collect with `ncu --import-source yes`."
)
_PREDICTED: Final = (
    "Beside a line: sectors or wavefronts per request, followed by the ideal in brackets if it "
    "is lower."
)
_OTHER = "The source shown differs from the measured source (the hashes differ)."

_NAMED_UP_TO: Final = 0.5
_MOST_NAMED: Final = 3
_WIDEST: Final = 80
_WORDS: Final = {"flops": "operations", "min_bytes": "minimum bytes"}


def section(
    source_facts: SourceFacts | None,
    text: str | None,
    hot: Mapping[int, float] | None,
    anchor: str,
    *,
    notes: tuple[LineNote, ...] | None = None,
    machine: MachineListing | None = None,
) -> Section | None:
    """The source that a capture was made from; ``None`` where none is known.

    ``hot`` are lines with their share of the samples, ``None`` where no samples were taken;
    ``anchor`` is that of the section around it. ``notes`` are what a prediction says of lines, and
    ``machine`` is the kernel's machine code.
    """
    if source_facts is None and text is None and machine is None:
        return None
    blocks: list[Block] = []
    facts = () if source_facts is None else tuple(_facts(source_facts))
    built = (Section("How it was built", (FactList(facts),), folded=True),) if facts else ()
    if source_facts is not None and source_facts.compiler_warnings:
        warnings = source_facts.compiler_warnings
        warned = (_fact("compiler warning", f"{each.code}: {each.text}") for each in warnings)
        blocks.append(FactList(tuple(warned)))
    if text is None and machine is None:
        return Section("Source", (*blocks, *built))
    path, listing = _listing(source_facts, text, hot, machine)
    if notes:
        listing = replace(listing, notes=notes, noted=(TRAFFIC,))
    lines = dict(zip(listing.numbers or count(1), listing.text.split("\n"), strict=False))
    for number, share in hottest_lines(listing.shares):
        text_of = at_line(number, share, lines.get(number, ""), f"{anchor}-line-{number}")
        blocks.append(Paragraph(text_of, Tone.STRONG))
    title = Span(path, code=True) if listing.text else ""
    folded = not (listing.shares or notes or listing.machine)
    blocks.append(Section(title, (listing,), folded=folded))
    is_other = source_facts is not None and text and _differs(text, source_facts.sha256)
    sentences = [_OTHER] if is_other else []
    if notes is not None:
        sentences.append(_PREDICTED)
    elif not listing.machine or listing.text:
        sentences.append(
            _SAMPLED if listing.shares else _NOT_SAMPLED if hot is None else _NONE_HERE
        )
    sentences += _describe_listing(machine, listing) if machine is not None else []
    return Section(
        "Source" if listing.text else "Machine code", (*blocks, Note(" ".join(sentences)), *built)
    )


def _listing(
    facts: SourceFacts | None,
    text: str | None,
    hot: Mapping[int, float] | None,
    machine: MachineListing | None,
) -> tuple[str, CodeBlock]:
    if machine is None:
        path = shown(file_name(facts.path)) if facts is not None else "source"
        text = text or ""
        shares = marked_lines(hot or {}, len(text.split("\n")))
        return path, CodeBlock(text, language="cuda", name=path, shares=shares, numbered=True)
    here = machine if facts is None else machine.at_path(facts.path)
    path = shown(file_name(here.file if facts is None else facts.path)) or "machine code"
    listing = annotate_source(here, text, path)
    if text is not None and hot:
        listing = with_shares(listing, dict(marked_lines(hot, len(text.split("\n")))))
    return path, listing


def _describe_listing(machine: MachineListing, listing: CodeBlock) -> Iterable[str]:
    has_lines = any(each.place for each in listing.machine)
    yield _CHOOSE_A_LINE if listing.text else _NO_TEXT if has_lines else _NO_LINES
    if TRAFFIC in listing.noted:
        yield _REQUEST
    if MOVED in listing.noted:
        yield _MOVED
    if machine.shortened:
        shown_count = f"{machine.most:,} of {machine.size:,} instructions"
        yield f"{shown_count} are shown: those at the lines with the most samples."


def at_line(number: int, share: float, code: str, target: str = "") -> Text:
    """That so many of the samples are at a line, with what stands there."""
    line = Span(f"line {number}", target=target)
    shown_code = Span(cut_middle(printable(code.strip()), _WIDEST), code=True)
    return (f"{percent(share)} of the samples are at ", line, ": ", shown_code)


def hot_of(
    kernel: str, hot: Mapping[str, Mapping[int, float]] | None
) -> Mapping[int, float] | None:
    """The shares of a kernel's lines; ``None`` where no samples were taken."""
    if hot is None:
        return None
    name = named_alike(kernel, hot)
    return {} if name is None else hot[name]


def marked_lines(hot: Mapping[int, float], lines: int) -> tuple[tuple[int, float], ...]:
    """Lines of a source of so many lines that a reader should see, in their order."""
    return tuple(
        (line, min(share, 1.0))
        for line, share in sorted(hot.items())
        if 1 <= line <= lines and share >= MARKED_FROM
    )


def hottest_lines(hot: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """The lines with half of the samples, at most three, the hottest first."""
    lines: list[tuple[int, float]] = []
    for line, share in sorted(hot, key=lambda each: (-each[1], each[0])):
        if len(lines) == _MOST_NAMED or sum(each for _, each in lines) >= _NAMED_UP_TO:
            break
        lines.append((line, share))
    return lines


def _differs(text: str, digest: str) -> bool:
    """Whether a text is another than the one with this hash, whatever ends its lines."""
    unix = text.replace("\r\n", "\n")
    candidates = (text, unix, unix.replace("\n", "\r\n"))
    encoded = (each.encode("utf-8", errors="surrogateescape") for each in candidates)
    return digest not in {hashlib.sha256(each).hexdigest() for each in encoded}


def _facts(source: SourceFacts) -> Iterable[Fact]:
    yield from _specification(source.specification or {})
    if source.compiler:
        yield _fact("compiler", source.compiler)
    if source.compile_flags:
        yield _fact("compile flags", shlex.join(source.compile_flags))
    for name, value in (source.resources or {}).items():
        yield _fact(
            str(name).replace("_", " "), _value(value), "Resources that the compiler assigned."
        )
    for name in source.includes or {}:
        yield _fact("includes", str(name))


def _fact(label: str, text: str, tip: str = "") -> Fact:
    return Fact(label, (Span(shown(text)),), tip)


def _specification(document: Mapping[str, Any]) -> Iterable[Fact]:
    for key, value in document.items():
        if key == "arguments" and isinstance(value, list):
            yield Fact(key, tuple(Span(shown(_value(each))) for each in value))
        elif value:
            yield _fact(_WORDS.get(key, key.replace("_", " ")), _value(value))


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_value, value))})"
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_value(each)}" for key, each in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
