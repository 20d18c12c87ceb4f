"""The bytes of an input as blocks of whole lines: unpacked, in UTF-8, with ``\\n`` line ends."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Final

from kernelprof.sources import complaints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_GZIP: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_BOMS_16: Final = (b"\xff\xfe", b"\xfe\xff")
_SAMPLE: Final = 256
_MOST_BYTES: Final = 16 << 30
FIRST: Final = 1 << 16
LARGEST: Final = 1 << 22
_HEAD: Final = 1 << 16
"""Bytes from the start that messages are made from."""


class Source:
    """A stream of bytes under the name that messages give it.

    ``size`` is how many bytes there are, 0 where nobody knows; ``head`` is its start and
    ``complete`` whether a gzip stream came to its end: both hold once the blocks were read.
    """

    def __init__(self, read: Callable[[int], bytes], origin: str, size: int = 0) -> None:
        self.origin = origin
        self.size = size
        self.head = b""
        self.complete = True
        self._read = read

    def blocks(self) -> Iterator[bytes]:
        """A short block and then long ones; each ends where a line does."""
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

    def _texts(self) -> Iterator[bytes]:
        """Pieces of UTF-8 text; a text in another form is converted as a whole."""
        pieces = self._unpacked()
        first = next(pieces, b"")
        if _is_utf16(first) or (b"\r" in first and b"\n" not in first):
            whole = to_utf8(b"".join([first, *pieces]))
            self.head = whole[:_HEAD]
            yield whole
            return
        first = first.removeprefix(_BOM)
        self.head = first[:_HEAD]
        yield first
        yield from pieces

    def _unpacked(self) -> Iterator[bytes]:
        pieces = self._pieces()
        first = next(pieces, b"")
        if first.startswith(_GZIP):
            yield from self._gunzipped(first, pieces)
            return
        yield first
        yield from pieces

    def _pieces(self) -> Iterator[bytes]:
        size = FIRST
        while piece := self._read(size):
            yield piece
            size = LARGEST

    def _gunzipped(self, first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """All that can be unpacked, of one gzip member after the other."""
        size = 0
        data = first
        self.complete = False
        while data.startswith(_GZIP):
            unpacker = zlib.decompressobj(wbits=31)
            while data and not unpacker.eof:
                try:
                    part = unpacker.decompress(data, LARGEST)
                except zlib.error as error:
                    if size:
                        return
                    what = f"the gzip file is damaged ({error})"
                    raise complaints.not_a_capture(what, self.origin) from error
                size += len(part)
                if size > _MOST_BYTES:
                    what = "the gzip file unpacks to over 16 GiB"
                    raise complaints.not_a_capture(what, self.origin)
                if part:
                    yield part
                data = unpacker.unconsumed_tail
                if not data and not unpacker.eof:
                    data = next(pieces, b"")
            if not unpacker.eof:
                return
            data = unpacker.unused_data
            if len(data) < len(_GZIP):
                data += next(pieces, b"")
        self.complete = True


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
