"""Sources: whatever holds evidence becomes a :class:`kernelprof.model.capture.Capture`.

Nothing right of a capture knows which source it came from. ``ncu/`` holds what several need.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import IO, TYPE_CHECKING, Final

from kernelprof.errors import InputError
from kernelprof.sources.source import (
    CONVERT,
    FIRST,
    LARGEST_TEXT,
    RECORD,
    Input,
    NoCaptureError,
    Source,
    is_report,
    open_input,
    to_utf8,
)
from kernelprof.suggestions import missing_file, refuse_program

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Container, Iterator, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.sources.details_page import DetailsPage
    from kernelprof.sources.ncu.columns import TableColumns
    from kernelprof.sources.ncu.tables import CsvTable, Scan
    from kernelprof.sources.raw_page import RawPage

_LINE: Final = re.compile(r"==(?P<kind>[A-Z]+)==\s*(?P<text>.*)", re.DOTALL)
_CONNECTED: Final = re.compile(r"Connected to process (?P<pid>\d+) \((?P<path>.*)\)")
_NO_ACCESS: Final = re.compile(r"Unable to access the following \d+ metrics?: (?P<names>.*?)\.?$")
_UNMODIFIED_CLOCKS: Final = "Running with unmodified GPU clocks"
_MOST_WARNINGS: Final = 20
_MOST_COMPLAINTS: Final = 40
"""Warnings and errors together: many of the first do not hide one of the second."""
_FAILURE: Final = "Nsight Compute reported an error: "
_CUT_GZIP: Final = "The gzip file is truncated; only its beginning was read."

_TABLES: Final = {"raw": "the raw page as CSV", "details": "the details page as CSV"}
"""Pages that are tables in a text; of two in one text the first here is read."""


def _read_by(module: str) -> Callable[[Input, Container[str] | None], Capture]:
    """Return the function ``read`` of a module here, which is imported when it is first called."""

    def read(target: Input, only: Container[str] | None) -> Capture:
        capture: Capture = import_module(f"{__name__}.{module}").read(target, only)
        return capture

    return read


_SHIPPED: Final = {
    "ncu_report": Source("report", "a .ncu-rep report", 3, is_report, _read_by("ncu_report")),
    "capture_directory": Source(
        "directory",
        "a directory that `kernelprof profile` wrote",
        4,
        lambda target: target.is_directory,
        _read_by("capture_directory"),
    ),
}
"""The sources that most captures come from, by file: only the one that is needed is loaded."""


@cache
def load_readers() -> tuple[Source, ...]:
    """Return the sources that are no text, in order; a file here with a ``SOURCE`` is one."""
    not_sources = {"source", "text_page", "raw_page", "details_page", *_SHIPPED}
    others = {each.name for each in iter_modules(__path__)} - not_sources
    sources = [getattr(import_module(f"{__name__}.{name}"), "SOURCE", None) for name in others]
    added = [source for source in sources if source is not None]
    return tuple(sorted([*_SHIPPED.values(), *added], key=lambda source: source.order))


def read_capture(
    target: str | os.PathLike[str],
    *,
    stdin: IO[bytes] | None = None,
    only: Container[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Capture:
    """Read the capture at a path, or on standard input if ``target`` is ``-``.

    Takes whatever one of :func:`load_readers` recognizes, else the tables of ``ncu --csv``;
    text may be compressed by gzip. ``stdin`` replaces that of the process. ``only`` names the
    metrics to read of a raw page, for whoever needs no others; ``progress`` is called with the
    bytes of each piece that was read of a file. Raises InputError for anything that is not a
    capture, MissingToolError for a report where neither ``ncu`` nor the package ncu-report is
    installed.
    """
    try:
        with open_input(target, stdin, progress) as data:
            return _read_input(data, only)
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise missing_file(target, f"name a capture. {_EXPORT}") from error
        reason = getattr(error, "strerror", None) or str(error)
        what = f"the file cannot be read ({reason})"
        raise _refusal(NoCaptureError(what), str(target)) from error


def read_bytes(data: bytes, origin: str) -> Capture:
    """Read the capture in the bytes of an export or a text page, plain or gzip; a pure function.

    ``origin`` names the bytes in messages. Raises InputError, and nothing else, for bytes that hold
    no launch. Those of a report (.ncu-rep) need another program, as in :func:`read_capture`.
    """
    return _read_input(Input(io.BytesIO(data).read, origin))


def _read_input(data: Input, only: Container[str] | None = None) -> Capture:
    try:
        for source in load_readers():
            if source.recognises(data):
                return source.read(data, only)
        return _read_tables(data, only)
    except NoCaptureError as error:
        raise refuse_program(data.origin) or _refusal(error, data.origin) from error


_EXPORT: Final = f"Export with `{RECORD}`, or convert a report with `{CONVERT}`."


def _refusal(error: NoCaptureError, where: str) -> InputError:
    titles = [*_TABLES.values(), "the text page", *(source.title for source in load_readers())]
    return InputError(
        f"{error.what}; expected {', '.join(titles[:-1])} or {titles[-1]}",
        where=where,
        hint=f"{error.hint} {_EXPORT}" if error.hint else _EXPORT,
    )


def _read_tables(data: Input, only: Container[str] | None) -> Capture:
    """Read the capture in the tables of a text; of two kinds, the one in the raw pages."""
    # Needs numpy, which commands that read no capture do without.
    from kernelprof.sources.ncu.tables import Scanner

    readers: dict[str, RawPage | DetailsPage] = {}

    def reader(table: CsvTable) -> RawPage | DetailsPage:
        name = "details" if table.header.is_details else "raw"
        if name not in readers:
            readers[name] = _page(name, only)
        return readers[name]

    def parse(table: CsvTable, block: bytes) -> Callable[[], TableColumns | None] | None:
        return reader(table).parse(table, block)

    blocks_of_text: list[bytes] = []

    def blocks() -> Iterator[bytes]:
        size = 0
        for block in data.blocks():
            size += len(block)
            if readers or size > LARGEST_TEXT:
                blocks_of_text.clear()
            else:
                blocks_of_text.append(block)
            yield block

    scanner = Scanner(blocks(), parse)
    for table in scanner.tables():
        reader(table).add(table)
        reader(table).check(data.size)
    scan = scanner.scan
    there = [name for name in _TABLES if name in readers and len(readers[name])]
    if there:
        capture = readers[there[0]].capture(data.origin, scan)
    else:
        capture = _read_text(b"".join(blocks_of_text), data, scan)
        there = ["text"]
    log = read_log(scan.ncu_lines)
    warnings = [*([] if data.complete else [_CUT_GZIP]), *capture.warnings]
    damage = [*([] if data.complete else [_CUT_GZIP]), *capture.damage]
    if len(there) > 1:
        pages = " and ".join(there)
        warnings.append(f"The input contains {pages} pages; only the {there[0]} page was read.")
    first = capture.launches[0]
    application = log.programs.get(first.process_id or "") or first.process_name
    return replace(
        capture,
        page=there[0],
        application=application or next(iter(log.programs.values()), None),
        clock_control=log.clock_control,
        warnings=(*warnings, *log.complaints),
        damage=(*damage, *filter(is_failure, log.complaints)),
        unavailable=capture.unavailable | (log.unavailable - set(capture.columns)),
    )


def _page(name: str, only: Container[str] | None) -> RawPage | DetailsPage:
    if name == "details":
        from kernelprof.sources.details_page import DetailsPage

        return DetailsPage()
    from kernelprof.sources.raw_page import RawPage

    return RawPage(only)


def _read_text(text: bytes, data: Input, scan: Scan) -> Capture:
    from kernelprof.sources.text_page import may_hold_text_page, read_text_page

    capture = read_text_page(text, data.origin, scan) if may_hold_text_page(text) else None
    if capture is None:
        from kernelprof.sources.ncu.unrecognised import why_no_launch

        raise why_no_launch(scan, to_utf8(data.head[:FIRST]))
    return capture


@dataclass(slots=True)
class Log:
    """Facts from ncu's own lines.

    ``programs`` maps process IDs to the path that ncu started. ``complaints`` are its warnings and
    errors as sentences, ``unavailable`` the metrics that it could not collect on this GPU.
    """

    programs: dict[str, str] = field(default_factory=dict)
    clock_control: str | None = None
    complaints: dict[str, None] = field(default_factory=dict)
    unavailable: set[str] = field(default_factory=set)


def read_log(lines: Sequence[str]) -> Log:
    """Parse ncu's own lines: ``==PROF==``, ``==WARNING==``, ``==ERROR==``."""
    log = Log()
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        kind, text = match["kind"], match["text"].strip()
        if (connected := _CONNECTED.match(text)) is not None:
            log.programs.setdefault(connected["pid"], connected["path"])
        elif _UNMODIFIED_CLOCKS in text:
            log.clock_control = "none"
        elif (no_access := _NO_ACCESS.match(text)) is not None:
            log.unavailable.update(no_access["names"].split(", "))
        elif kind == "ERROR" and text and len(log.complaints) < _MOST_COMPLAINTS:
            log.complaints[f"{_FAILURE}{text}"] = None
        elif kind == "WARNING" and text and len(log.complaints) < _MOST_WARNINGS:
            log.complaints[f"Nsight Compute reported: {text}"] = None
    return log


def is_failure(sentence: str) -> bool:
    """Whether a complaint of :func:`read_log` is about a failure of the profiler or the program."""
    return sentence.startswith(_FAILURE)
