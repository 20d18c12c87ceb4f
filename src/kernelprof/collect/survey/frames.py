"""The file of one surveyed process, as arrays: what ``inject/records.h`` has it write.

A file of a process that was killed ends anywhere; what is whole of it is read.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

FORMAT: Final = 1
SUFFIX: Final = ".survey"

HEAD: Final = 1
TEXT: Final = 2
CONFIGURATION: Final = 3
KERNEL: Final = 4
TRANSFER: Final = 5
API: Final = 6
DEVICE: Final = 7
OVERHEAD: Final = 8
GRAPH: Final = 9
RANGE: Final = 10
END: Final = 11
MEMORY: Final = 12

ROWS: Final = {
    HEAD: np.dtype(
        [
            ("format", "<u4"),
            ("process", "<u4"),
            ("parent", "<u4"),
            ("program", "<u4"),
            ("now", "<u8"),
            ("realtime", "<u8"),
        ]
    ),
    CONFIGURATION: np.dtype(
        [
            ("id", "<u4"),
            ("name", "<u4"),
            ("grid", "<u4", 3),
            ("block", "<u4", 3),
            ("static_shared", "<u4"),
            ("dynamic_shared", "<u4"),
            ("registers", "<u4"),
            ("local", "<u4"),
            ("cluster", "<u4", 3),
            ("unused", "<u4"),
        ]
    ),
    KERNEL: np.dtype(
        [
            ("start", "<u8"),
            ("end", "<u8"),
            ("correlation", "<u4"),
            ("configuration", "<u4"),
            ("device", "<u4"),
            ("context", "<u4"),
            ("stream", "<u4"),
            ("graph", "<u4"),
            ("node", "<u8"),
        ]
    ),
    TRANSFER: np.dtype(
        [
            ("start", "<u8"),
            ("end", "<u8"),
            ("bytes", "<u8"),
            ("correlation", "<u4"),
            ("device", "<u4"),
            ("context", "<u4"),
            ("stream", "<u4"),
            ("graph", "<u4"),
            ("to_device", "<u4"),
            ("kind", "u1"),
            ("from_memory", "u1"),
            ("to_memory", "u1"),
            ("asynchronous", "u1"),
            ("unused", "<u4"),
        ]
    ),
    API: np.dtype(
        [
            ("start", "<u8"),
            ("end", "<u8"),
            ("thread", "<u4"),
            ("correlation", "<u4"),
            ("name", "<u4"),
            ("result", "<u4"),
        ]
    ),
    DEVICE: np.dtype(
        [
            ("id", "<u4"),
            ("name", "<u4"),
            ("major", "<u4"),
            ("minor", "<u4"),
            ("multiprocessors", "<u4"),
            ("unused", "<u4"),
            ("memory", "<u8"),
        ]
    ),
    OVERHEAD: np.dtype([("start", "<u8"), ("end", "<u8"), ("kind", "<u4"), ("unused", "<u4")]),
    GRAPH: np.dtype(
        [
            ("start", "<u8"),
            ("end", "<u8"),
            ("correlation", "<u4"),
            ("graph", "<u4"),
            ("device", "<u4"),
            ("context", "<u4"),
            ("stream", "<u4"),
            ("unused", "<u4"),
        ]
    ),
    RANGE: np.dtype(
        [
            ("time", "<u8"),
            ("thread", "<u4"),
            ("what", "<u4"),
            ("name", "<u4"),
            ("domain", "<u4"),
            ("id", "<u8"),
        ]
    ),
    MEMORY: np.dtype(
        [
            ("start", "<u8"),
            ("bytes", "<u8"),
            ("address", "<u8"),
            ("what", "<u4"),
            ("kind", "<u4"),
            ("device", "<u4"),
            ("context", "<u4"),
        ]
    ),
    END: np.dtype([("now", "<u8"), ("dropped", "<u8")]),
}
"""The layout of each kind of row, byte for byte that of the C structures."""

_MARK: Final = 0x5056504B
_FRAME: Final = np.dtype([("mark", "<u4"), ("kind", "<u4"), ("row_bytes", "<u4"), ("bytes", "<u4")])


@dataclass(frozen=True)
class Frames:
    """The rows of one file by kind, and its texts; ``program`` is the process's command line.

    ``whole`` says whether the file ends where a frame does.
    """

    rows: dict[int, npt.NDArray[np.void]]
    texts: dict[int, str] = field(default_factory=dict)
    program: tuple[str, ...] = ()
    whole: bool = True

    def of(self, kind: int) -> npt.NDArray[np.void]:
        """All rows of a kind, in the order of the file."""
        return self.rows.get(kind, np.zeros(0, ROWS[kind]))


def read_frames(path: Path) -> Frames:
    """Read one file; :class:`InputError` where it is of another version or no such file."""
    data = path.read_bytes()
    parts: dict[int, list[npt.NDArray[np.void]]] = defaultdict(list)
    texts: dict[int, str] = {}
    at, size = 0, len(data)
    while at + _FRAME.itemsize <= size:
        mark, kind, row_bytes, length = np.frombuffer(data, _FRAME, 1, at)[0].tolist()
        begin = at + _FRAME.itemsize
        if mark != _MARK or begin + length > size:
            break
        at = begin + length
        if kind == TEXT:
            number = int.from_bytes(data[begin : begin + 4], "little")
            texts[number] = data[begin + 4 : at].decode("utf-8", "replace")
        elif kind in ROWS:
            if row_bytes != ROWS[kind].itemsize:
                raise _other_version(path)
            parts[kind].append(np.frombuffer(data, ROWS[kind], length // row_bytes, begin))
    rows = {kind: np.concatenate(each) for kind, each in parts.items()}
    head = rows.get(HEAD)
    if head is None or head["format"][0] != FORMAT:
        raise _other_version(path)
    program = texts.pop(0, "")
    return Frames(rows, texts, tuple(program.split("\n")) if program else (), at == size)


def _other_version(path: Path) -> InputError:
    return InputError(
        "this is no survey of this version of kernelprof",
        where=str(path),
        hint="survey the program again",
    )
