"""Reads any export of Nsight Compute into a capture; what it is, is decided by its content."""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from kernelprof.tables import complaints, foreign, notes, stream

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture
    from kernelprof.tables.page import Page
    from kernelprof.tables.stream import Scan

_GZIP: Final = b"\x1f\x8b"
_REPORT: Final = b"NVR\0"
_MOST_BYTES: Final = 16 << 30
_CHUNK: Final = 1 << 24


def read_capture(target: str | os.PathLike[str], *, stdin: IO[bytes] | None = None) -> Capture:
    """The capture in a file, or on standard input if ``target`` is ``-``.

    Takes the raw and the details page as CSV, plain or gzip, .ncu-rep reports, and directories that
    ``kernelprof profile`` wrote. ``stdin`` stands in for the process's own. Raises InputError for
    anything that is no export of Nsight Compute, MissingToolError for a report where neither
    ``ncu`` nor the package ncu-report is installed.
    """
    name = os.fspath(target)
    if name == "-":
        return read_bytes((stdin or sys.stdin.buffer).read(), "<stdin>")
    path = Path(name)
    try:
        if path.is_dir():
            return _read_directory(path)
        with path.open("rb") as file:
            start = file.read(len(_REPORT))
            if start == _REPORT or name.endswith(".ncu-repz"):
                from kernelprof.tables import ncu_rep

                return ncu_rep.read_report(path)
            return read_bytes(start + file.read(), name)
    except FileNotFoundError as error:
        raise complaints.not_a_capture("there is no such file", name) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise complaints.not_a_capture(f"the file cannot be read ({reason})", name) from error


def _read_directory(path: Path) -> Capture:
    from kernelprof.capture.store import is_capture, read_stored

    if not is_capture(path):
        what = "this is a directory without a capture in it"
        raise complaints.not_a_capture(what, str(path))
    return read_stored(path)


def read_bytes(data: bytes, origin: str) -> Capture:
    """The capture in the bytes of a CSV export, plain or gzip; a pure function.

    ``origin`` names the bytes in messages. Raises InputError, and nothing else, for bytes that hold
    no launch; a report (.ncu-rep) is one of those, because only other programs can read it.
    """
    warnings = []
    if data.startswith(_GZIP):
        data, complete = _gunzip(data, origin)
        if not complete:
            warnings.append("The gzip file is cut off: what it held up to there was read.")
    if data.startswith(_REPORT):
        hint = "Give the .ncu-rep file itself by its name, uncompressed."
        raise complaints.not_a_capture("this is a report of Nsight Compute", origin, hint=hint)
    data = stream.to_utf8(data)
    found = stream.scan(data)
    if not found.tables:
        raise foreign.complain(found, data, origin)
    del data
    return _understand(found, origin, warnings)


def _understand(found: Scan, origin: str, warnings: list[str]) -> Capture:
    from kernelprof.model.capture import Capture

    raw = [table for table in found.tables if not table.header.is_details]
    page = _read_page(found, raw)
    if not page.columns:
        where = "the details page has no row with a metric" if not raw else "no column is a metric"
        raise complaints.not_a_capture(where, origin)
    said = notes.read_notes(found.profiler)
    return Capture(
        launches=tuple(page.launches),
        columns=page.columns,
        text=page.text,
        origin=origin,
        page="raw" if raw else "details",
        application=said.application(page.launches),
        clock_control=said.clock_control,
        warnings=(*warnings, *_about_rows(found, raw=bool(raw)), *page.warnings, *said.said),
        unavailable=frozenset(page.unavailable | (said.unavailable - set(page.columns))),
    )


def _read_page(found: Scan, raw: list[stream.Table]) -> Page:
    if not raw:
        from kernelprof.tables.details_page import read_details

        return read_details(found.tables, cut=found.cut, broken=found.broken > found.cut)
    from kernelprof.tables.raw_page import read_raw

    page = read_raw(raw)
    if len(raw) < len(found.tables):
        page.warn("The input holds raw and details pages; only the raw page was read.")
    return page


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


def _gunzip(data: bytes, origin: str) -> tuple[bytes, bool]:
    """Everything that can be unpacked, and whether that is all there was."""
    parts: list[bytes] = []
    size = 0
    while data.startswith(_GZIP):
        unpacker = zlib.decompressobj(wbits=31)
        try:
            while data and not unpacker.eof:
                part = unpacker.decompress(data, _CHUNK)
                data = unpacker.unconsumed_tail
                parts.append(part)
                size += len(part)
                if size > _MOST_BYTES:
                    raise complaints.not_a_capture("the gzip file unpacks to over 16 GiB", origin)
        except zlib.error as error:
            if not size:
                what = f"the gzip file is damaged ({error})"
                raise complaints.not_a_capture(what, origin) from error
            return b"".join(parts), False
        if not unpacker.eof:
            return b"".join(parts), False
        data = unpacker.unused_data
    return b"".join(parts), True
