"""Reads any export of Nsight Compute into a capture; what it is, is decided by its content."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from kernelprof.sources import complaints, foreign, notes
from kernelprof.sources.source import Source
from kernelprof.sources.stream import Scanner

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.sources.page import Page
    from kernelprof.sources.raw_page import RawPage
    from kernelprof.sources.stream import Scan, Table

_REPORT: Final = b"NVR\0"


def read_capture(
    target: str | os.PathLike[str],
    *,
    stdin: IO[bytes] | None = None,
    only: Container[str] | None = None,
    heard: Callable[[int], object] | None = None,
) -> Capture:
    """The capture in a file, or on standard input if ``target`` is ``-``.

    Takes the raw and the details page as CSV, plain or gzip, .ncu-rep reports, and directories that
    ``kernelprof profile`` wrote. ``stdin`` stands in for the process's own. ``only`` names the
    metrics to read of a raw page, for whoever needs no others; ``heard`` is told the bytes of each
    piece that was read of a file. Raises InputError for anything that is no export of Nsight
    Compute, MissingToolError for a report where neither ``ncu`` nor the package ncu-report is
    installed.
    """
    name = os.fspath(target)
    if name == "-":
        return read_source(Source((stdin or sys.stdin.buffer).read, "<stdin>"), only)
    path = Path(name)
    try:
        if path.is_dir():
            return _read_directory(path)
        with path.open("rb") as file:
            start = file.read(len(_REPORT))
            if start == _REPORT or name.endswith(".ncu-repz"):
                from kernelprof.sources import ncu_rep

                return ncu_rep.read_report(path)
            read = _continued(start, file.read, heard)
            return read_source(Source(read, name, path.stat().st_size), only)
    except FileNotFoundError as error:
        raise complaints.not_a_capture("there is no such file", name) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise complaints.not_a_capture(f"the file cannot be read ({reason})", name) from error


def _continued(
    start: bytes, read: Callable[[int], bytes], heard: Callable[[int], object] | None
) -> Callable[[int], bytes]:
    """Reads on after ``start``, which a pipe does not give twice, and tells how much that was."""
    kept = [start]

    def piece(size: int) -> bytes:
        begun = kept.pop() if kept else b""
        found = begun + read(size - len(begun))
        if heard is not None:
            heard(len(found))
        return found

    return piece


def _read_directory(path: Path) -> Capture:
    from kernelprof.sources.capture_directory import is_capture, read_stored

    if not is_capture(path):
        what = "this is a directory without a capture in it"
        raise complaints.not_a_capture(what, str(path))
    return read_stored(path)


def read_bytes(data: bytes, origin: str) -> Capture:
    """The capture in the bytes of a CSV export, plain or gzip; a pure function.

    ``origin`` names the bytes in messages. Raises InputError, and nothing else, for bytes that hold
    no launch; a report (.ncu-rep) is one of those, because only other programs can read it.
    """
    return read_source(Source(io.BytesIO(data).read, origin))


def read_source(source: Source, only: Container[str] | None = None) -> Capture:
    """The capture in a stream of bytes, which is never held as a whole."""
    from kernelprof.sources.raw_page import RawPage

    raw = RawPage(only, source.size)
    details: list[Table] = []
    scanner = Scanner(source.blocks(), raw.parse)
    for table in scanner.tables():
        if table.header.is_details:
            details.append(table)
        else:
            raw.add(table)
    if source.head.startswith(_REPORT):
        what = "this is a report of Nsight Compute"
        hint = "Give the .ncu-rep file itself by its name, uncompressed."
        raise complaints.not_a_capture(what, source.origin, hint=hint)
    found = scanner.found
    if not len(raw) and not details:
        raise foreign.complain(found, source.head, source.origin)
    page = _page(found, raw, details)
    if not page.columns:
        where = "no column is a metric" if len(raw) else "the details page has no row with a metric"
        raise complaints.not_a_capture(where, source.origin)
    return _capture(source, found, page, raw=len(raw) > 0)


def _page(found: Scan, raw: RawPage, details: Sequence[Table]) -> Page:
    if not len(raw):
        from kernelprof.sources.details_page import read_details

        return read_details(details, cut=found.cut, broken=found.broken > found.cut)
    page = raw.page()
    if details:
        page.warn("The input holds raw and details pages; only the raw page was read.")
    return page


def _capture(source: Source, found: Scan, page: Page, *, raw: bool) -> Capture:
    from kernelprof.model.capture import Capture

    said = notes.read_notes(found.profiler)
    cut = "The gzip file is cut off: what it held up to there was read."
    return Capture(
        launches=page.launches,
        columns=page.columns,
        text=page.text,
        origin=source.origin,
        page="raw" if raw else "details",
        application=said.application(page.launches),
        clock_control=said.clock_control,
        warnings=(
            *([] if source.complete else [cut]),
            *_about_rows(found, raw=raw),
            *page.warnings,
            *said.said,
        ),
        unavailable=frozenset(page.unavailable | (said.unavailable - set(page.columns))),
    )


def _about_rows(found: Scan, *, raw: bool) -> list[str]:
    sentences = []
    whole = found.broken - found.cut
    if whole == 1:
        sentences.append("One row was not complete and was left out.")
    elif whole > 1:
        sentences.append(f"{whole} rows were not complete and were left out.")
    if found.cut:
        more = "" if raw else "; the last launch may lack metrics"
        sentences.append(f"The input ends in the middle of a row, which was left out{more}.")
    if found.last_cell_lost:
        sentences.append(
            "The last line has no line end, so that its last value may be cut off: it was left out."
        )
    return sentences
