"""The kernels whose captures ship with the package."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from kernelprof.collect import recorded as records
from kernelprof.errors import UsageError
from kernelprof.ladder.registry import ladders
from kernelprof.report.document import Bullets, Document, Paragraph, Section, Span
from kernelprof.resources import data_folder
from kernelprof.results import Capture, as_result
from kernelprof.sources.capture_directory import contents_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kernelprof.launch.spec import LaunchSpec

PAIRS: Final = "pairs"
_PAIRS: Final = f"cuda/{PAIRS}"


class _Pair(msgspec.Struct):
    """What is told of a pair; its file has more."""

    bottleneck: str | None = None
    change: str | None = None


def capture(source: Path, spec: LaunchSpec, lacking: str) -> Capture | None:
    """The recorded capture of just this kernel; ``None`` where there is none.

    ``lacking`` says in part of a sentence why it is not measured.
    """
    try:
        found = records.find(source, spec)
    except records.NoRecordError:
        return None
    origin = records.describe(source, found.manifest, lacking)
    contents = contents_of(source, found.manifest, found.lines)
    known = replace(found.capture, origin=origin)
    return as_result(Capture, known, contents=contents, recorded=True)


def document(which: str, contains: str) -> Document:
    """The kernels of a ladder, or the pairs, a line each: those whose line has a text.

    Raises :class:`UsageError` where there is no such ladder.
    """
    known = {each.name: each for each in ladders()}
    if which == PAIRS:
        title, lines = f"{PAIRS}: before.cu has the bottleneck, after.cu not", [*_pairs()]
    elif which in known:
        title, lines = known[which].title, [*_rungs(which)]
    else:
        raise UsageError(
            f"there are no recorded kernels {which!r}",
            hint=f"there are: {', '.join((*known, PAIRS))}",
        )
    wanted = [each for each in lines if contains.lower() in each.lower()]
    told = f"{len(wanted):,} of {len(lines):,} kernels, for an NVIDIA H200."
    shown = Section("Kernels", (Bullets(tuple(map(Span, wanted))),))
    return Document(title, (Paragraph(told), *([shown] if wanted else [])))


def _rungs(name: str) -> Iterable[str]:
    for each in next(each for each in ladders() if each.name == name).rungs:
        limited = f" ({each.expected})" if each.expected else ""
        yield f"{each.target}{limited}: {each.changes}"


def _pairs() -> Iterable[str]:
    for file in sorted((data_folder("cuda") / PAIRS).glob("*/pair.toml")):
        if not (file.parent / "before.cu").is_file():
            continue
        pair = msgspec.toml.decode(file.read_bytes(), type=_Pair)
        limited = f" ({pair.bottleneck})" if pair.bottleneck else ""
        yield f"{_PAIRS}/{file.parent.name}/before.cu{limited}: {pair.change or ''}".rstrip(": ")
