"""Reads what ``ncu --csv`` prints: the tables in it, and its own lines around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kernelprof.sources.ncu.tables import Scanner

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from kernelprof.model.capture import Capture, Launch
    from kernelprof.sources.ncu.columns import TableColumns
    from kernelprof.sources.ncu.tables import Header, Table
    from kernelprof.sources.source import Input, TableReader, TableSource

_LINE: Final = re.compile(r"==(?P<kind>[A-Z]+)==\s*(?P<text>.*)", re.DOTALL)
_CONNECTED: Final = re.compile(r"Connected to process (?P<pid>\d+) \((?P<path>.*)\)")
_NO_ACCESS: Final = re.compile(r"Unable to access the following \d+ metrics?: (?P<names>.*?)\.?$")
_UNMODIFIED_CLOCKS: Final = "Running with unmodified GPU clocks"
_MOST_WARNINGS: Final = 20
_CUT_GZIP: Final = "The gzip file is cut off: what it held up to there was read."


def read_export(
    found: Input, only: Container[str] | None, sources: Sequence[TableSource]
) -> Capture:
    """The capture in the tables of a text; of several kinds, of the first of ``sources``."""
    readers: dict[str, TableReader] = {}

    def reader(header: Header) -> TableReader:
        source = next(each for each in sources if each.takes(header))
        if source.name not in readers:
            readers[source.name] = source.reader(only, found.size)
        return readers[source.name]

    def parse(table: Table, block: bytes) -> Callable[[], TableColumns | None] | None:
        return reader(table.header).parse(table, block)

    scanner = Scanner(found.blocks(), parse)
    for table in scanner.tables():
        reader(table.header).add(table)
    scan = scanner.scan
    there = [each.name for each in sources if each.name in readers and len(readers[each.name])]
    if not there:
        from kernelprof.sources.ncu.unrecognised import why_no_launch

        raise why_no_launch(scan, found.text_head, found.origin)
    capture = readers[there[0]].capture(found.origin, scan)
    log = read_log(scan.ncu_lines)
    return replace(
        capture,
        page=there[0],
        application=log.application(capture.launches),
        clock_control=log.clock_control,
        warnings=(
            *([] if found.complete else [_CUT_GZIP]),
            *capture.warnings,
            *_about_others(*there),
            *log.complaints,
        ),
        unavailable=capture.unavailable | (log.unavailable - set(capture.columns)),
    )


def _about_others(name: str, *others: str) -> list[str]:
    """Which pages were left out, where there are several kinds."""
    if not others:
        return []
    pages = " and ".join([name, *others])
    return [f"The input holds {pages} pages; only the {name} page was read."]


@dataclass(frozen=True, slots=True)
class Log:
    """What ncu's own lines say.

    ``programs`` maps process IDs to the path that ncu started. ``complaints`` are its warnings and
    errors as sentences, ``unavailable`` the metrics that it could not collect on this GPU.
    """

    programs: tuple[tuple[str, str], ...]
    clock_control: str | None
    complaints: tuple[str, ...]
    unavailable: frozenset[str]

    def application(self, launches: Sequence[Launch]) -> str | None:
        """The program of the first launch: its path if a line names it, else its name."""
        paths = dict(self.programs)
        for launch in launches[:1]:
            known = paths.get(launch.process_id or "") or launch.process_name
            if known:
                return known
        return next(iter(paths.values()), None)


def read_log(lines: Sequence[str]) -> Log:
    """Understand ncu's own lines: ``==PROF==``, ``==WARNING==``, ``==ERROR==``."""
    programs: dict[str, str] = {}
    clock_control: str | None = None
    complaints: dict[str, None] = {}
    unavailable: set[str] = set()
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        kind, text = match["kind"], match["text"].strip()
        connected = _CONNECTED.match(text)
        if connected is not None:
            programs.setdefault(connected["pid"], connected["path"])
        elif _UNMODIFIED_CLOCKS in text:
            clock_control = "none"
        elif (no_access := _NO_ACCESS.match(text)) is not None:
            unavailable.update(no_access["names"].split(", "))
        elif kind in {"WARNING", "ERROR"} and text and len(complaints) < _MOST_WARNINGS:
            complaints[f"Nsight Compute reported: {text}"] = None
    return Log(tuple(programs.items()), clock_control, tuple(complaints), frozenset(unavailable))
