"""Sources: whatever holds evidence becomes a :class:`kernelprof.model.capture.Capture`.

Nothing right of a capture knows which source it came from. ``ncu/`` holds what several need.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import IO, TYPE_CHECKING, Any, Final

from kernelprof.errors import InputError
from kernelprof.sources.source import (
    CONVERT,
    RECORD,
    EvidenceKind,
    EvidenceSource,
    FileSource,
    Input,
    NoCaptureError,
    TableSource,
    is_report,
    opened,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Container, Sequence

    from kernelprof.model.capture import Capture, Launch
    from kernelprof.sources.ncu.cells import Header
    from kernelprof.sources.ncu.columns import TableColumns
    from kernelprof.sources.ncu.tables import Table
    from kernelprof.sources.source import TableReader

_COUNTERS: Final = EvidenceKind.COUNTERS
_LINE: Final = re.compile(r"==(?P<kind>[A-Z]+)==\s*(?P<text>.*)", re.DOTALL)
_CONNECTED: Final = re.compile(r"Connected to process (?P<pid>\d+) \((?P<path>.*)\)")
_NO_ACCESS: Final = re.compile(r"Unable to access the following \d+ metrics?: (?P<names>.*?)\.?$")
_UNMODIFIED_CLOCKS: Final = "Running with unmodified GPU clocks"
_MOST_WARNINGS: Final = 20
_CUT_GZIP: Final = "The gzip file is cut off: what it held up to there was read."


def _of(module: str, name: str) -> Callable[..., Any]:
    """A function or class of a file of this folder, which is loaded when it is first called."""

    def load(*given: Any) -> Any:
        return getattr(import_module(f"{__name__}.{module}"), name)(*given)

    return load


_SHIPPED: Final[dict[str, EvidenceSource]] = {
    "raw_page": TableSource(
        "raw",
        "the raw page as CSV",
        1,
        frozenset({_COUNTERS}),
        takes=lambda header: not header.is_details,
        reader=_of("raw_page", "RawPage"),
    ),
    "details_page": TableSource(
        "details",
        "the details page as CSV",
        2,
        frozenset({_COUNTERS, EvidenceKind.RULE_MESSAGES}),
        takes=lambda header: header.is_details,
        reader=_of("details_page", "DetailsPage"),
    ),
    "ncu_report": FileSource(
        "report",
        "a .ncu-rep report",
        3,
        frozenset({_COUNTERS, EvidenceKind.LINE_SAMPLES}),
        recognises=is_report,
        read=_of("ncu_report", "read"),
    ),
    "capture_directory": FileSource(
        "directory",
        "a directory that `kernelprof profile` wrote",
        4,
        frozenset({_COUNTERS, EvidenceKind.LINE_SAMPLES}),
        recognises=lambda found: found.is_directory,
        read=_of("capture_directory", "read"),
    ),
}
"""The sources that most captures come from, by file: only the one that is needed is loaded."""


@cache
def registry() -> tuple[EvidenceSource, ...]:
    """All sources, in their order; any other file here with a ``SOURCE`` is found by being here."""
    others = {each.name for each in iter_modules(__path__)} - _SHIPPED.keys()
    modules = [import_module(f"{__name__}.{name}") for name in others]
    found = [getattr(module, "SOURCE", None) for module in modules]
    added = [source for source in found if isinstance(source, EvidenceSource)]
    return tuple(sorted([*_SHIPPED.values(), *added], key=lambda source: source.order))


def read_capture(
    target: str | os.PathLike[str],
    *,
    stdin: IO[bytes] | None = None,
    only: Container[str] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Capture:
    """The capture at a path, or on standard input if ``target`` is ``-``.

    Takes whatever a source of the :func:`registry` recognises; text may be compressed by gzip.
    ``stdin`` stands in for the process's own. ``only`` names the metrics to read of a raw page, for
    whoever needs no others; ``progress`` is called with the bytes of each piece that was read of a
    file. Raises InputError for anything that is not a capture, MissingToolError for a report where
    neither ``ncu`` nor the package ncu-report is installed.
    """
    try:
        with opened(target, stdin, progress) as found:
            return read_input(found, only)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        missing = isinstance(error, FileNotFoundError)
        what = "there is no such file" if missing else f"the file cannot be read ({reason})"
        raise _refusal(NoCaptureError(what), str(target)) from error


def read_bytes(data: bytes, origin: str) -> Capture:
    """The capture in the bytes of a CSV export, plain or gzip; a pure function.

    ``origin`` names the bytes in messages. Raises InputError, and nothing else, for bytes that hold
    no launch; a report (.ncu-rep) is one of those, because only other programs can read it.
    """
    return read_input(Input.of_bytes(data, origin))


def read_input(found: Input, only: Container[str] | None = None) -> Capture:
    """The capture in an input: of the source that recognises it, else of the tables in its text."""
    try:
        for source in registry():
            if isinstance(source, FileSource) and source.recognises(found):
                return source.read(found, only)
        return _read_tables(found, only, [s for s in registry() if isinstance(s, TableSource)])
    except NoCaptureError as error:
        raise _refusal(error, found.origin) from error


def _refusal(error: NoCaptureError, where: str) -> InputError:
    *titles, last = (source.title for source in registry())
    export = f"Export with `{RECORD}`, or from a report with `{CONVERT}`."
    return InputError(
        f"{error.what}; expected {', '.join(titles)} or {last}",
        where=where,
        hint=f"{error.hint} {export}" if error.hint else export,
    )


def _read_tables(
    found: Input, only: Container[str] | None, sources: Sequence[TableSource]
) -> Capture:
    """The capture in the tables of a text; of several kinds, of the first of ``sources``."""
    # Needs numpy, which commands that read no capture do without.
    from kernelprof.sources.ncu.tables import Scanner

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

        raise why_no_launch(scan, found.text_head)
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
