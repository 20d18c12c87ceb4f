"""Reads any export of Nsight Compute into a capture; what it is, is decided by its content."""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from kernelprof.errors import InputError
from kernelprof.tables import complaints, notes, stream

if TYPE_CHECKING:
    from kernelprof.model.capture import Capture

_GZIP: Final = b"\x1f\x8b"


def read_capture(target: str | os.PathLike[str], *, stdin: IO[bytes] | None = None) -> Capture:
    """The capture in a file, or on standard input if ``target`` is ``-``.

    ``stdin`` stands in for the process's own. Raises InputError for anything that is no export of
    Nsight Compute, MissingToolError for a report that nothing here can open.
    """
    name = os.fspath(target)
    if name == "-":
        return read_bytes((stdin or sys.stdin.buffer).read(), "<stdin>")
    try:
        data = Path(name).read_bytes()
    except (OSError, ValueError) as error:
        raise complaints.not_a_capture(f"cannot read {name}: {error}", name) from error
    return read_bytes(data, name)


def read_bytes(data: bytes, origin: str) -> Capture:
    """The capture in ``data``. ``origin`` names it in messages. Never touches a file."""
    from kernelprof.model.capture import Capture

    if data.startswith(_GZIP):
        data = zlib.decompressobj(47).decompress(data)
    found = stream.scan(stream.to_utf8(data))
    if not found.tables:
        raise complaints.not_a_capture("no launches found", origin)
    raw = [table for table in found.tables if not table.header.is_details]
    from kernelprof.tables import raw_page

    if not raw:
        from kernelprof.tables import details_page

        page = details_page.read_details(found.tables)
    else:
        page = raw_page.read_raw(raw)
    said = notes.read_notes(found.profiler)
    return Capture(
        launches=tuple(page.launches),
        columns=page.columns,
        text=page.text,
        origin=origin,
        page="raw" if raw else "details",
        application=said.application(page.launches),
        clock_control=said.clock_control,
        warnings=(*page.warnings, *said.said),
        unavailable=frozenset(page.unavailable),
    )


__all__ = ["InputError", "read_bytes", "read_capture"]
