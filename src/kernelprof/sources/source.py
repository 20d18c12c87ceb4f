"""Sources of captures, the input that they read, and limits on its size."""

from __future__ import annotations

import codecs
import io
import os
import sys
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from kernelprof import files

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from kernelprof.model.capture import Capture, SampledLine
    from kernelprof.model.manifest import Manifest, SourceFacts
    from kernelprof.model.prediction import PredictionFacts
    from kernelprof.model.survey import Survey

_GZIP: Final = b"\x1f\x8b"
_BOM: Final = b"\xef\xbb\xbf"
_BOMS_16: Final = (b"\xff\xfe", b"\xfe\xff")
_SAMPLE: Final = 256
_MOST_BYTES: Final = 16 << 30
_UNPACKED: Final = 128 << 20
_MOST_TIMES: Final = 100
"""What gzip may unpack to: so many bytes, or so many times its size. Exports pack to a twentieth
at best; a bomb to a thousandth."""
RECORD: Final = "ncu --set full --csv --page raw --print-units base --log-file capture.csv ./app"
CONVERT: Final = "ncu --import report.ncu-rep --csv --page raw > capture.csv"

FIRST: Final = 1 << 16
"""Bytes of the first piece that is read: enough to see what it is."""
LARGEST: Final = 1 << 22
LARGEST_TEXT: Final = 64 << 20
"""Bytes of a text without tables that are looked through for a text page, and of any line: a
notebook may have only one."""
LONGEST_ROW: Final = 1 << 22
"""Bytes of a line that may be a row or a header; 2,238 columns have a header of 134,000."""
MOST_COLUMNS: Final = 1 << 16
"""Columns of a table; the full set of metrics has 2,238."""
MOST_LAUNCHES: Final = 2_000_000
"""Launches of a capture: twice the longest that was tried, which takes 1.3 GB."""
MOST_KERNELS: Final = 7_000
BYTES_A_KERNEL: Final = 2048
"""Kernels with different names, grids or blocks: so many, or one for so many bytes of text; a row
of the basic set has twice that. Each takes 70 kB, and 120 kB with its page."""
MOST_KINDS: Final = 200_000
"""Kernels that differ in that or in process, context, stream or device; also launches of a page
whose metrics are in rows. Each takes a kilobyte."""
MOST_VALUES: Final = 1 << 25
BYTES_A_VALUE: Final = 8
"""Numbers of a capture: so many, or one for so many bytes of its text. Each takes 8 bytes; one of
``ncu`` takes ten bytes of text."""


class NoCaptureError(Exception):
    """Input that is not a capture: ``what`` it is instead, and perhaps a ``hint``.

    :mod:`kernelprof.sources` makes the message for the user of it.
    """

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


def too_many(what: str, most: int) -> NoCaptureError:
    """Return the error for a capture with more than ``most`` of something."""
    return NoCaptureError(
        f"there are more than {most:,} {what}",
        "Export fewer launches: use --kernel-name, --launch-skip or --launch-count.",
    )


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

    ``folder`` is where the capture was read from, ``manifest`` how it was made, ``lines`` its
    samples by source line, and ``source_text`` the kernel's source as it was measured.
    ``prediction`` is what a predicted capture has in place of a manifest, ``survey`` what is known
    of the whole program.
    """

    folder: Path
    manifest: Manifest | None = None
    lines: tuple[SampledLine, ...] | None = None
    source_text: str | None = None
    prediction: PredictionFacts | None = None
    survey: Survey | None = None

    @property
    def inferred(self) -> SourceFacts | None:
        """The source whose launch was inferred; ``None`` where a specification was written."""
        origin = self.prediction or self.manifest
        source = None if origin is None else origin.source
        return None if source is None or source.inferred is None else source


class Input:
    """An input to read: a file, a directory or a stream of bytes, with its name for messages.

    ``path`` is ``None`` for what is not a file. ``packed`` is whether it is compressed,
    ``complete`` whether the compressed stream came to its end: both hold once it was read, like
    ``size``, the bytes of text so far.
    """

    def __init__(self, read: Callable[[int], bytes], origin: str, path: Path | None = None) -> None:
        self.origin = origin
        self.path = path
        self.packed = False
        self.complete = True
        self.size = 0
        self._read = read
        self._unread = self._unpacked_chunks()

    @cached_property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.path is not None and files.is_folder(self.path)

    @cached_property
    def head(self) -> bytes:
        """Its first bytes, unpacked; none of a directory."""
        return b"" if self.is_directory else next(self._unread, b"")

    def blocks(self) -> Iterator[bytes]:
        """Yield its text in UTF-8 with ``\\n`` line ends: a short block, then long ones; once only.

        Each block ends where a line does, and the whole text is never held.
        """
        unfinished: list[bytes] = []
        size = 0
        for chunk in self._utf8_chunks():
            self.size += len(chunk)
            cut = chunk.rfind(b"\n") + 1
            size = (0 if cut else size) + len(chunk) - cut
            _check_line(size)
            if not cut:
                unfinished.append(chunk)
                continue
            yield _with_line_ends(b"".join([*unfinished, memoryview(chunk)[:cut]]))
            unfinished = [chunk[cut:]]
        last = b"".join(unfinished)
        if last:
            yield _with_line_ends(last)

    def chunks(self) -> Iterator[bytes]:
        """Yield its bytes, unpacked; once only, like :meth:`blocks`."""
        first = self.head
        # Messages need no more of it.
        self.head = first[:FIRST]
        yield first
        yield from self._unread

    def _utf8_chunks(self) -> Iterator[bytes]:
        """Yield chunks of UTF-8 text; one with other line ends is converted as a whole."""
        chunks = self.chunks()
        first = next(chunks)
        if _is_utf16(first):
            chunks = _from_utf16(first, chunks)
            first = next(chunks, b"")
        first = first.removeprefix(_BOM)
        if b"\r" not in first or b"\n" in first:
            yield first
            yield from chunks
            return
        whole = [first]
        size = len(first)
        for chunk in chunks:
            whole.append(chunk)
            size += len(chunk)
            if b"\n" in chunk:
                break
            _check_line(size)
        yield to_utf8(b"".join(whole))
        yield from chunks

    def _unpacked_chunks(self) -> Iterator[bytes]:
        first = self._read(FIRST)
        if first.startswith(_GZIP):
            self.packed = True
            yield from self._gunzip(first)
            return
        while first:
            yield first
            first = self._read(LARGEST)

    def _gunzip(self, data: bytes) -> Iterator[bytes]:
        size, packed = 0, len(data)
        self.complete = False
        while data.startswith(_GZIP):
            unpacker = zlib.decompressobj(wbits=31)
            while data and not unpacker.eof:
                try:
                    chunk = unpacker.decompress(data, LARGEST)
                except zlib.error as error:
                    if size:
                        return
                    raise NoCaptureError(f"the gzip file is damaged ({error})") from error
                size += len(chunk)
                if size > min(_MOST_BYTES, max(_UNPACKED, _MOST_TIMES * packed)):
                    raise NoCaptureError(
                        f"the gzip file unpacks to more than {files.size_in_words(_UNPACKED)} and "
                        f"more than {_MOST_TIMES} times its size; exports do not compress so well",
                        "If the file is a real export, unpack it yourself.",
                    )
                if chunk:
                    yield chunk
                data = unpacker.unconsumed_tail
                if not data and not unpacker.eof:
                    data = self._read(LARGEST)
                    packed += len(data)
            if not unpacker.eof:
                return
            data = unpacker.unused_data
            if len(data) < len(_GZIP):
                more = self._read(LARGEST)
                packed += len(more)
                data += more
        self.complete = True


def _check_line(size: int) -> None:
    if size > LARGEST_TEXT:
        raise NoCaptureError(f"a line has more than {files.size_in_words(LARGEST_TEXT)}")


def gunzip(data: bytes, most: int) -> bytes:
    """Unpack a whole gzip file. Raises :class:`ValueError`, also for more than ``most`` bytes."""
    stream = Input(io.BytesIO(data).read, "")
    chunks, size = [], 0
    try:
        for chunk in stream.chunks():
            chunks.append(chunk)
            size += len(chunk)
            if size > most:
                raise ValueError(f"it unpacks to more than {files.size_in_words(most)}")
    except NoCaptureError as error:
        raise ValueError(error.what) from error
    if not (stream.packed and stream.complete):
        raise ValueError("it is cut off, or not compressed by gzip")
    return b"".join(chunks)


def is_report(target: Input) -> bool:
    """Return whether an input is a report of Nsight Compute."""
    return target.head.startswith(b"NVR\0") or is_repz(target)


def is_repz(target: Input) -> bool:
    """Return whether an input is a report that ``ncu`` compressed itself."""
    return target.path is not None and target.path.suffix == ".ncu-repz"


@contextmanager
def open_input(
    target: str | os.PathLike[str],
    stdin: IO[bytes] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Iterator[Input]:
    """Open the input at a path, or standard input if ``target`` is ``-``.

    A path may be a pipe. ``progress`` is called with the size of each piece
    that was read of a file.
    """
    name = os.fspath(target)
    if name == "-":
        yield Input((stdin or sys.stdin.buffer).read, "<stdin>")
        return
    path = Path(name)
    if files.is_folder(path):
        yield Input(lambda _: b"", name, path)
        return
    with files.stream(path) as (take, is_file):

        def read(size: int) -> bytes:
            chunk = take(size)
            if progress is not None:
                progress(len(chunk))
            return chunk

        yield Input(read, name, path if is_file else None)


def to_utf8(data: bytes) -> bytes:
    """Convert text to UTF-8 with ``\\n`` line ends and without a byte-order mark."""
    if data.startswith(_BOMS_16):
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    elif _is_utf16(data):
        data = data.decode("utf-16-le", "replace").encode("utf-8", "replace")
    data = _with_line_ends(data.removeprefix(_BOM))
    return data if b"\n" in data else data.replace(b"\r", b"\n")


def _from_utf16(first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    form = "utf-16" if first.startswith(_BOMS_16) else "utf-16-le"
    decoder = codecs.getincrementaldecoder(form)("replace")
    for chunk in chain([first], chunks):
        yield decoder.decode(chunk).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


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
