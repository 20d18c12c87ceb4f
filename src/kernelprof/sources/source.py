"""What a source of evidence is, and the input that it reads."""

from __future__ import annotations

import os
import sys
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from kernelprof.model.capture import Capture, SourceLine
    from kernelprof.model.manifest import Manifest

_GZIP: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_BOMS_16: Final = (b"\xff\xfe", b"\xfe\xff")
_SAMPLE: Final = 256
_MOST_BYTES: Final = 16 << 30
RECORD: Final = "ncu --set full --csv --page raw --print-units base --log-file capture.csv ./app"
CONVERT: Final = "ncu --import report.ncu-rep --csv --page raw > capture.csv"

FIRST: Final = 1 << 16
"""Bytes of the first piece that is read: enough to see what it is."""
LARGEST: Final = 1 << 22
LARGEST_TEXT: Final = 64 << 20
"""Bytes of a text without tables that are looked through for a text page."""


class NoCaptureError(Exception):
    """Input that is not a capture: ``what`` it is instead, and perhaps a ``hint``.

    :mod:`kernelprof.sources` makes the message for the user of it.
    """

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Source:
    """A form in which evidence comes.

    ``title`` completes "expected ..." in messages, ``order`` is the place among all sources.
    ``recognises`` looks at an input's path and first bytes; ``read`` gets the input and the names
    of the metrics that are wanted, ``None`` for all.
    """

    name: str
    title: str
    order: int
    recognises: Callable[[Input], bool]
    read: Callable[[Input, Container[str] | None], Capture]


@dataclass(frozen=True, slots=True)
class Contents:
    """What a capture directory holds beside the counters; nothing for an export.

    ``place`` is where the capture was read from, ``manifest`` how it was made, ``lines`` its
    samples by source line, and ``source_text`` the kernel's source as it was measured.
    """

    place: Path
    manifest: Manifest | None = None
    lines: tuple[SourceLine, ...] | None = None
    source_text: str | None = None


class Input:
    """What is to be read: a file, a directory or a stream of bytes, under its name for messages.

    ``path`` is ``None`` for what is not a file. ``packed`` is whether it is compressed,
    ``complete`` whether the compressed stream came to its end: both hold once it was read.
    """

    def __init__(self, read: Callable[[int], bytes], origin: str, path: Path | None = None) -> None:
        self.origin = origin
        self.path = path
        self.packed = False
        self.complete = True
        self._read = read
        self._rest = self._unpacked()

    @cached_property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.path is not None and self.path.is_dir()

    @cached_property
    def head(self) -> bytes:
        """Its first bytes, unpacked; none of a directory."""
        return b"" if self.is_directory else next(self._rest, b"")

    def blocks(self) -> Iterator[bytes]:
        """Its text in UTF-8 with ``\\n`` line ends: a short block, then long ones; to go over once.

        Each block ends where a line does, and the whole text is never held.
        """
        rest: list[bytes] = []
        for piece in self._texts():
            cut = piece.rfind(b"\n") + 1
            if not cut:
                rest.append(piece)
                continue
            yield _with_line_ends(b"".join([*rest, memoryview(piece)[:cut]]))
            rest = [piece[cut:]]
        last = b"".join(rest)
        if last:
            yield _with_line_ends(last)

    def pieces(self) -> Iterator[bytes]:
        """Its bytes, unpacked; to go over once, like :meth:`blocks`."""
        first = self.head
        # Messages need no more of it.
        self.head = first[:FIRST]
        yield first
        yield from self._rest

    def _texts(self) -> Iterator[bytes]:
        """Pieces of UTF-8 text; a text in another form is converted as a whole."""
        pieces = self.pieces()
        first = next(pieces)
        if _is_utf16(first) or (b"\r" in first and b"\n" not in first):
            yield to_utf8(b"".join([first, *pieces]))
            return
        yield first.removeprefix(_BOM)
        yield from pieces

    def _unpacked(self) -> Iterator[bytes]:
        first = self._read(FIRST)
        if first.startswith(_GZIP):
            self.packed = True
            yield from self._gunzipped(first)
            return
        while first:
            yield first
            first = self._read(LARGEST)

    def _gunzipped(self, data: bytes) -> Iterator[bytes]:
        """All that can be unpacked, of one gzip member after the other."""
        size = 0
        self.complete = False
        while data.startswith(_GZIP):
            unpacker = zlib.decompressobj(wbits=31)
            while data and not unpacker.eof:
                try:
                    part = unpacker.decompress(data, LARGEST)
                except zlib.error as error:
                    if size:
                        return
                    raise NoCaptureError(f"the gzip file is damaged ({error})") from error
                size += len(part)
                if size > _MOST_BYTES:
                    raise NoCaptureError("the gzip file unpacks to more than 16 GiB")
                if part:
                    yield part
                data = unpacker.unconsumed_tail
                if not data and not unpacker.eof:
                    data = self._read(LARGEST)
            if not unpacker.eof:
                return
            data = unpacker.unused_data
            if len(data) < len(_GZIP):
                data += self._read(LARGEST)
        self.complete = True


def is_report(found: Input) -> bool:
    """Whether an input is a report of Nsight Compute."""
    return found.head.startswith(b"NVR\0") or is_repz(found)


def is_repz(found: Input) -> bool:
    """Whether an input is a report that ``ncu`` compressed itself."""
    return found.path is not None and found.path.suffix == ".ncu-repz"


@contextmanager
def opened(
    target: str | os.PathLike[str],
    stdin: IO[bytes] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Iterator[Input]:
    """The input at a path, or standard input if ``target`` is ``-``.

    ``progress`` is called with the size of each piece that was read of a file.
    """
    name = os.fspath(target)
    if name == "-":
        yield Input((stdin or sys.stdin.buffer).read, "<stdin>")
        return
    path = Path(name)
    if path.is_dir():
        yield Input(lambda _: b"", name, path)
        return
    with path.open("rb") as file:

        def read(size: int) -> bytes:
            piece = file.read(size)
            if progress is not None:
                progress(len(piece))
            return piece

        yield Input(read, name, path)


def to_utf8(data: bytes) -> bytes:
    """The same text without byte-order mark, with ``\\n`` line ends, in UTF-8."""
    if data.startswith(_BOMS_16):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    elif _is_utf16(data):
        data = data.decode("utf-16-le", "replace").encode("utf-8", "replace")
    data = _with_line_ends(data.removeprefix(_BOM))
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def _is_utf16(text: bytes) -> bool:
    """Whether there is its byte-order mark, or ASCII is written in two bytes a character."""
    start = text[:_SAMPLE]
    high = start[1::2]
    two_bytes = len(high) >= 8 and high.count(0) * 10 >= 9 * len(high) and 0 not in start[::2]
    return two_bytes or text.startswith(_BOMS_16)


def _with_line_ends(text: bytes) -> bytes:
    if b"\r" not in text:
        return text
    return text.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n")
