"""The kernel's source with the lines where warps spend their time, and how it was compiled."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from kernelprof.model.names import middle, named_alike, printable
from kernelprof.model.numbers import share as percent
from kernelprof.report.document import (
    Code,
    Fact,
    Facts,
    Note,
    Paragraph,
    Section,
    Span,
    Tone,
)
from kernelprof.report.documents import machine_code
from kernelprof.report.private import file_name, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.model.manifest import SourceFacts
    from kernelprof.report.document import Block, LineNote, Text
    from kernelprof.report.documents.machine_code import Machine

_NOT_TAKEN = (
    "This capture has no samples by source line, so no line is marked: `kernelprof profile "
    "--preset full` takes them."
)
_NONE_HERE = "No line is marked: no sample of this kernel is at a line of this source."
_TAKEN = (
    "Warps were sampled while the kernel ran; lines with at least 1 % of its samples are marked. "
    "A warp that waits for a value is at the line that needs it, not at the one that loads it."
)
_BESIDE: Final = (
    "Choose a line to see its machine code; `Up` and `Down` go to the next line that has some."
)
_REQUEST: Final = (
    "`A request` is what an instruction of a warp moves: sectors of 32 bytes, or wavefronts of "
    "shared memory, and in brackets the ideal where that is less."
)
_MOVED: Final = (
    "`Moved` are the bytes of all accesses at a line, in brackets those that they need where that "
    "is less."
)
_NO_LINES: Final = (
    "Compiled without line information, so no instruction has a line: compile with -lineinfo."
)
_PREDICTED: Final = (
    "Beside a line stands what a request of its accesses to memory takes, in brackets the ideal "
    "where that is less."
)
_OTHER = "The source below differs from the one that was measured (their hashes differ)."

_TOLD_UP_TO: Final = 0.5
_MOST_TOLD: Final = 3
_WIDEST: Final = 80
_WORDS: Final = {"flops": "operations", "min_bytes": "fewest bytes"}


def section(
    found: SourceFacts | None,
    text: str | None,
    hot: Mapping[int, float] | None,
    anchor: str,
    *,
    notes: tuple[LineNote, ...] | None = None,
    machine: Machine | None = None,
) -> Section | None:
    """The source that a capture was made from; ``None`` where none is known.

    ``hot`` are lines with their share of the samples, ``None`` where no samples were taken;
    ``anchor`` is that of the section around it. ``notes`` are what a prediction says of lines, and
    ``machine`` is the kernel's machine code.
    """
    if found is None and text is None and machine is None:
        return None
    blocks: list[Block] = []
    facts = () if found is None else tuple(_facts(found))
    built = (Section("How it was built", (Facts(facts),), folded=True),) if facts else ()
    if found is not None and found.compiler_warnings:
        blocks.append(Facts(tuple(_warnings(found))))
    if text is None and machine is None:
        return Section("Source", (*blocks, *built))
    path, listing = _listing(found, text, hot, machine)
    if notes:
        listing = replace(listing, notes=notes, noted=(machine_code.TRAFFIC,))
    lines = dict(zip(listing.numbers or count(1), listing.text.split("\n"), strict=False))
    for number, share in hottest(listing.shares):
        text_of = at_line(number, share, lines.get(number, ""), f"{anchor}-line-{number}")
        blocks.append(Paragraph(text_of, Tone.STRONG))
    title = Span(path, code=True) if listing.text else ""
    folded = not (listing.shares or notes or listing.machine)
    blocks.append(Section(title, (listing,), folded=folded))
    told = [_OTHER] if found is not None and text and _differs(text, found.sha256) else []
    if notes is not None:
        told.append(_PREDICTED)
    elif not listing.machine or listing.text:
        told.append(_TAKEN if listing.shares else _NOT_TAKEN if hot is None else _NONE_HERE)
    told += _told_of(machine, listing) if machine is not None else []
    return Section(
        "Source" if listing.text else "Machine code", (*blocks, Note(" ".join(told)), *built)
    )


def _listing(
    found: SourceFacts | None,
    text: str | None,
    hot: Mapping[int, float] | None,
    machine: Machine | None,
) -> tuple[str, Code]:
    """The listing and what it is called."""
    if machine is None:
        path = shown(file_name(found.path)) if found is not None else "source"
        text = text or ""
        shares = marked(hot or {}, len(text.split("\n")))
        return path, Code(text, language="cuda", name=path, shares=shares, numbered=True)
    named = machine if found is None else machine.beside(found.path)
    path = shown(file_name(named.file if found is None else found.path)) or "machine code"
    listing = machine_code.listing(named, text, path)
    if text is not None and hot:
        listing = machine_code.with_shares(listing, dict(marked(hot, len(text.split("\n")))))
    return path, listing


def _told_of(machine: Machine, listing: Code) -> Iterable[str]:
    """How to read the machine code beside a source."""
    yield _BESIDE if listing.text else _NO_LINES
    if machine_code.TRAFFIC in listing.noted:
        yield _REQUEST
    if machine_code.MOVED in listing.noted:
        yield _MOVED
    if machine.shortened:
        yield (
            f"Of {machine.size:,} instructions those of the costliest lines are shown, "
            f"{machine.most:,}."
        )


def at_line(number: int, share: float, code: str, target: str = "") -> Text:
    """That so many of the samples are at a line, with what stands there."""
    line = Span(f"line {number}", target=target)
    shown_code = Span(middle(printable(code.strip()), _WIDEST), code=True)
    return (f"{percent(share)} of the samples are at ", line, ": ", shown_code)


def hot_of(
    kernel: str, hot: Mapping[str, Mapping[int, float]] | None
) -> Mapping[int, float] | None:
    """The shares of a kernel's lines; ``None`` where no samples were taken."""
    if hot is None:
        return None
    name = named_alike(kernel, hot)
    return {} if name is None else hot[name]


def marked(hot: Mapping[int, float], lines: int) -> tuple[tuple[int, float], ...]:
    """Lines of a source of so many lines that a reader should see, in their order."""
    return tuple(
        (line, min(share, 1.0))
        for line, share in sorted(hot.items())
        if 1 <= line <= lines and share >= machine_code.MARKED_FROM
    )


def hottest(hot: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """The lines with half of the samples, at most three, the hottest first."""
    found: list[tuple[int, float]] = []
    for line, share in sorted(hot, key=lambda each: (-each[1], each[0])):
        if len(found) == _MOST_TOLD or sum(each for _, each in found) >= _TOLD_UP_TO:
            break
        found.append((line, share))
    return found


def _differs(text: str, digest: str) -> bool:
    """Whether a text is another than the one with this hash, whatever ends its lines."""
    unix = text.replace("\r\n", "\n")
    candidates = (text, unix, unix.replace("\n", "\r\n"))
    encoded = (each.encode("utf-8", errors="surrogateescape") for each in candidates)
    return digest not in {hashlib.sha256(each).hexdigest() for each in encoded}


def _facts(found: SourceFacts) -> Iterable[Fact]:
    yield from _specification(found.specification or {})
    if found.compiler:
        yield _fact("compiler", found.compiler)
    if found.compile_flags:
        yield _fact("compile flags", shlex.join(found.compile_flags))
    for name, value in (found.resources or {}).items():
        yield _fact(
            str(name).replace("_", " "), _value(value), "What the compiler gave the kernel."
        )
    for name in found.includes or {}:
        yield _fact("includes", str(name))


def _warnings(found: SourceFacts) -> Iterable[Fact]:
    for each in found.compiler_warnings:
        yield _fact("compiler warning", f"{each.code}: {each.text}")


def _fact(label: str, text: str, tip: str = "") -> Fact:
    return Fact(label, (Span(shown(text)),), tip)


def _specification(document: Mapping[str, Any]) -> Iterable[Fact]:
    """What the launch specification says, whatever is in it; what is empty says nothing."""
    for key, value in document.items():
        if key == "arguments" and isinstance(value, list):
            yield Fact(key, tuple(Span(shown(_value(each))) for each in value))
        elif value:
            yield _fact(_WORDS.get(key, key.replace("_", " ")), _value(value))


def _value(value: object) -> str:
    """A value in a line: ``M = 4,096, N = 4,096``."""
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_value, value))})"
    if isinstance(value, dict):
        return ", ".join(f"{key} = {_value(each)}" for key, each in value.items())
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
