"""From the files of a survey, one a process, to what the whole program did.

Rows have the layout that ``inject/records.h`` writes. A file of a process that was killed ends
anywhere; what is whole of it is read.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.errors import InputError
from kernelprof.model.sampled import STALL_METRIC
from kernelprof.model.trace import (
    ALLOCATIONS,
    CALLS,
    KERNELS,
    OVERHEADS,
    RANGES,
    TRANSFERS,
    Configuration,
    Process,
    SampledSeries,
    Trace,
    TracedGpu,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

    Array = npt.NDArray[Any]

_PREFIX: Final = "_Z"


@cache
def demangle_name(name: str) -> str:
    """``_Z5sweepPKfPfi`` is ``sweep(float const*, float*, int)``; as it is where that fails."""
    if not name.startswith(_PREFIX):
        return name
    runtime = _load_demangler()
    if runtime is None:
        return name
    demangle, free = runtime
    status = ctypes.c_int()
    text = demangle(name.encode(), None, None, ctypes.byref(status))
    try:
        value = ctypes.cast(text, ctypes.c_char_p).value if text else None
        return name if value is None else value.decode("utf-8", "replace")
    finally:
        free(text)


@cache
def _load_demangler() -> tuple[Any, Any] | None:
    for library in ("libstdc++.so.6", "libc++abi.so.1", ctypes.util.find_library("stdc++")):
        try:
            loaded = ctypes.CDLL(library) if library else None
            demangle = getattr(loaded, "__cxa_demangle", None)
        except OSError:
            continue
        if demangle is None:
            continue
        demangle.restype = ctypes.c_void_p
        demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        return demangle, free
    return None


PUSH: Final = 1
POP: Final = 2
START: Final = 3
STOP: Final = 4


def pair_ranges(events: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Pair pushes with pops of one process; open ranges last to the last event."""
    if not len(events):
        return np.zeros(0, RANGES)
    events = events[np.argsort(events["time"], kind="stable")]
    last = int(events["time"][-1])
    open_: dict[tuple[int, int], list[int]] = defaultdict(list)
    started: dict[int, int] = {}
    rows: list[list[int]] = []
    depths: dict[int, int] = defaultdict(int)
    for time, thread, what, name, domain, number in events.tolist():
        if what == PUSH:
            open_[thread, domain].append(len(rows))
            rows.append([time, last, thread, name, domain, number, depths[thread]])
            depths[thread] += 1
        elif what == POP and open_[thread, domain]:
            rows[open_[thread, domain].pop()][1] = time
            depths[thread] -= 1
        elif what == START:
            started[number] = len(rows)
            rows.append([time, last, thread, name, domain, 0, 0])
        elif what == STOP and number in started:
            rows[started.pop(number)][1] = time
    made = np.zeros(len(rows), RANGES)
    values = np.array(rows, np.uint64).reshape(len(rows), 7)
    for column, name in enumerate(
        ("start", "end", "thread", "name", "domain", "sequence", "depth")
    ):
        made[name] = values[:, column]
    return made


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
SERIES: Final = 13
SAMPLE: Final = 14
STALL: Final = 15


def _layout(fields: str) -> np.dtype[np.void]:
    # The packed little-endian row of fields such as `grid 3u4`: three numbers of four bytes
    split = (each.split() for each in fields.split(", "))
    return np.dtype(
        [
            (name, f"<{kind[1:]}", 3) if kind[0] == "3" else (name, f"<{kind}")
            for name, kind in split
        ]
    )


ROWS: Final = {
    HEAD: _layout("format u4, process u4, parent u4, program u4, now u8, realtime u8"),
    CONFIGURATION: _layout(
        "id u4, name u4, grid 3u4, block 3u4, static_shared u4, dynamic_shared u4, "
        "registers u4, local u4, cluster 3u4, unused u4"
    ),
    KERNEL: _layout(
        "start u8, end u8, correlation u4, configuration u4, device u4, context u4, "
        "stream u4, graph u4, node u8"
    ),
    TRANSFER: _layout(
        "start u8, end u8, bytes u8, correlation u4, device u4, context u4, "
        "stream u4, graph u4, to_device u4, kind u1, from_memory u1, to_memory u1, "
        "asynchronous u1, unused u4"
    ),
    API: _layout("start u8, end u8, thread u4, correlation u4, name u4, result u4"),
    DEVICE: _layout("id u4, name u4, major u4, minor u4, multiprocessors u4, unused u4, memory u8"),
    OVERHEAD: _layout("start u8, end u8, kind u4, unused u4"),
    GRAPH: _layout(
        "start u8, end u8, correlation u4, graph u4, device u4, context u4, stream u4, unused u4"
    ),
    RANGE: _layout("time u8, thread u4, what u4, name u4, domain u4, id u8"),
    MEMORY: _layout("start u8, bytes u8, address u8, what u4, kind u4, device u4, context u4"),
    END: _layout("now u8, dropped u8"),
    SERIES: _layout("device u4, at u4, name u4, unused u4"),
    STALL: _layout("cubin u8, offset u8, function u4, state u4, samples u4, device u4"),
}
"""The layout of each kind of row, byte for byte that of the C structures."""

_SAMPLE_HEAD: Final = _layout("start u8, end u8, device u4, unused u4")
"""The values of the sample follow it."""

_NOT_ISSUED: Final = "_not_issued"
"""Ends states that are counted a second time, for the samples in which no warp issued."""

_MARK: Final = 0x5056504B
_FRAME: Final = np.dtype([("mark", "<u4"), ("kind", "<u4"), ("row_bytes", "<u4"), ("bytes", "<u4")])


@dataclass(frozen=True)
class Frames:
    """The rows of one file by kind, its texts, the command line, and whether it is complete.

    ``samples`` has one array for each burst of samples, in the order of the file, and
    ``sampled_for`` the rows of kind :data:`SERIES` that hold for it.
    """

    rows: dict[int, npt.NDArray[np.void]]
    samples: tuple[npt.NDArray[np.void], ...] = ()
    sampled_for: tuple[npt.NDArray[np.void], ...] = ()
    texts: dict[int, str] = field(default_factory=dict)
    program: tuple[str, ...] = ()
    whole: bool = True

    def select(self, kind: int) -> npt.NDArray[np.void]:
        """All rows of a kind, in the order of the file."""
        return self.rows.get(kind, np.zeros(0, ROWS[kind]))


def read_frames(path: Path) -> Frames:
    """Read one file; :class:`InputError` where it is of another version or no such file."""
    data = path.read_bytes()
    parts: dict[int, list[npt.NDArray[np.void]]] = defaultdict(list)
    texts: dict[int, str] = {}
    samples: list[npt.NDArray[np.void]] = []
    sampled_for: list[npt.NDArray[np.void]] = []
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
        elif kind == SAMPLE and row_bytes > _SAMPLE_HEAD.itemsize and parts[SERIES]:
            sampled_for.append(parts[SERIES][-1])
            count = (row_bytes - _SAMPLE_HEAD.itemsize) // 8
            row = np.dtype([*_SAMPLE_HEAD.descr, ("values", "<f8", (count,))])
            samples.append(np.frombuffer(data, row, length // row_bytes, begin))
        elif kind in ROWS:
            if row_bytes != ROWS[kind].itemsize:
                raise _other_version(path)
            parts[kind].append(np.frombuffer(data, ROWS[kind], length // row_bytes, begin))
    rows = {kind: np.concatenate(each) for kind, each in parts.items()}
    head = rows.get(HEAD)
    if head is None or head["format"][0] != FORMAT:
        raise _other_version(path)
    program = texts.pop(0, "")
    command = tuple(program.split("\n")) if program else ()
    return Frames(rows, tuple(samples), tuple(sampled_for), texts, command, at == size)


def _other_version(path: Path) -> InputError:
    return InputError(
        "this survey was made by another version of kernelprof",
        where=str(path),
        hint="survey the program again",
    )


PLACES: Final = ".functions"
"""Suffix of the file in which a Python process notes where Triton's functions are."""

_OF_A_GPU: Final = {KERNEL, TRANSFER, GRAPH, API}
"""A process with none of these has loaded something that knows NVTX, and no more."""

WHOLE_GRAPH: Final = "(a CUDA graph)"
"""Stands for the kernels of a graph that was recorded as a whole."""


@dataclass
class _Union:
    numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def lookup(self, own: dict[int, Any], default: Any) -> Array:
        table = np.full(max(own, default=0) + 1, self.number(default), np.uint32)
        for number, value in own.items():
            table[number] = self.number(value)
        return table


def read_survey(folder: Path) -> Trace:
    """Read the files of a program's processes, also cut ones; empty for one without a GPU.

    Raises :class:`InputError` for a file of another version.
    """
    texts, configurations = _Union(), _Union()
    texts.number("")
    processes: list[Process] = []
    parts: dict[str, list[Array]] = {}
    devices: dict[int, TracedGpu] = {}
    series: list[SampledSeries] = []
    stalls: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            file = read_frames(path)
        except (OSError, ValueError) as error:
            raise InputError(
                f"a file of the survey cannot be read: {error}", where=str(path)
            ) from error
        if not file.rows.keys() & _OF_A_GPU:
            continue
        position = len(processes)
        rows = _rows(file, texts, configurations)
        for name, each in rows.items():
            each["process"] = position
            parts.setdefault(name, []).append(each)
        devices.update(_devices(file))
        series += _series(file)
        for function, state, count in _stalls(file):
            stalls[function][state] += count
        processes.append(_process(file, rows))
    columns: dict[str, Any] = {}
    for name, arrays in parts.items():
        joined = np.concatenate(arrays)
        columns[name] = joined[np.argsort(joined["start"], kind="stable")]
    return Trace(
        processes=tuple(processes),
        devices=devices,
        configurations=tuple(configurations.numbers),
        texts=tuple(texts.numbers),
        functions=_functions(folder),
        series=tuple(series),
        stalls=dict(stalls),
        **columns,
    )


def _rows(file: Frames, texts: _Union, configurations: _Union) -> dict[str, Array]:
    text = texts.lookup(file.texts, "")
    launched = {
        int(row["id"]): _configuration(row, file.texts) for row in file.select(CONFIGURATION)
    }
    whole = Configuration(WHOLE_GRAPH, WHOLE_GRAPH, (0, 0, 0), (0, 0, 0))
    number = configurations.lookup(launched, whole)
    kernels = _copied(file.select(KERNEL), KERNELS)
    kernels["configuration"] = number[np.minimum(kernels["configuration"], len(number) - 1)]
    graphs = _copied(file.select(GRAPH), KERNELS)
    graphs["configuration"] = configurations.number(whole)
    calls = _copied(file.select(API), CALLS)
    calls["name"] = text[np.minimum(calls["name"], len(text) - 1)]
    ranges = pair_ranges(file.select(RANGE))
    for name in ("name", "domain"):
        ranges[name] = text[np.minimum(ranges[name], len(text) - 1)]
    return {
        "kernels": _timed(np.concatenate([kernels, graphs])),
        "transfers": _timed(_copied(file.select(TRANSFER), TRANSFERS)),
        "calls": _timed(calls),
        "ranges": _copied(ranges, RANGES),
        "allocations": _copied(file.select(MEMORY), ALLOCATIONS),
        "overheads": _timed(_copied(file.select(OVERHEAD), OVERHEADS)),
    }


def _copied(rows: Array, kind: np.dtype[Any]) -> Array:
    made = np.zeros(len(rows), kind)
    names = rows.dtype.names or ()
    for name in kind.names or ():
        if name in names:
            made[name] = rows[name]
    return made


def _timed(rows: Array) -> Array:
    # Those with a begin and an end: what was cut off in the middle has none
    return rows[(rows["start"] > 0) & (rows["end"] >= rows["start"])]


def _configuration(row: Any, texts: dict[int, str]) -> Configuration:
    mangled = texts.get(int(row["name"]), "")
    return Configuration(
        name=demangle_name(mangled),
        mangled=mangled,
        grid=tuple(row["grid"].tolist()),
        block=tuple(row["block"].tolist()),
        cluster=tuple(row["cluster"].tolist()),
        static_shared=int(row["static_shared"]),
        dynamic_shared=int(row["dynamic_shared"]),
        registers=int(row["registers"]),
        local=int(row["local"]),
    )


def _series(file: Frames) -> list[SampledSeries]:
    bursts: dict[tuple[int, tuple[str, ...]], list[Array]] = defaultdict(list)
    for rows, names in zip(file.samples, file.sampled_for, strict=True):
        if len(rows):
            metrics = tuple(file.texts.get(int(each), "") for each in names["name"])
            bursts[int(rows["device"][0]), metrics].append(rows)
    made = []
    for (device, metrics), each in bursts.items():
        rows = np.concatenate(each)
        times = rows["start"].astype(np.int64), rows["end"].astype(np.int64)
        made.append(SampledSeries(device, metrics, *times, rows["values"]))
    return made


def _stalls(file: Frames) -> Iterator[tuple[str, str, int]]:
    rows = file.select(STALL)
    pairs, at = np.unique(rows[["function", "state"]], return_inverse=True)
    samples = np.bincount(at.ravel(), rows["samples"], len(pairs)) if len(pairs) else ()
    for pair, count in zip(pairs, samples, strict=True):
        state = file.texts.get(int(pair["state"]), "").removeprefix(STALL_METRIC)
        if not state.endswith(_NOT_ISSUED):
            yield file.texts.get(int(pair["function"]), ""), state, int(count)


def _devices(file: Frames) -> dict[int, TracedGpu]:
    return {
        int(row["id"]): TracedGpu(
            name=file.texts.get(int(row["name"]), ""),
            compute_capability=(int(row["major"]), int(row["minor"])),
            multiprocessors=int(row["multiprocessors"]),
            memory=int(row["memory"]),
        )
        for row in file.select(DEVICE)
    }


def _process(file: Frames, rows: dict[str, Array]) -> Process:
    head, end = file.select(HEAD)[0], file.select(END)
    timed = [each for each in rows.values() if len(each) and "end" in (each.dtype.names or ())]
    return Process(
        pid=int(head["process"]),
        parent=int(head["parent"]),
        command=file.program,
        first=min([int(each["start"].min()) for each in timed], default=int(head["now"])),
        last=max([int(each["end"].max()) for each in timed], default=int(head["now"])),
        complete=len(end) > 0,
        dropped=int(end["dropped"].sum()),
    )


def _functions(folder: Path) -> dict[str, tuple[str, int]]:
    # Where functions of Triton are, by name; the last one of a name is the one that runs
    functions = {}
    for path in sorted(folder.glob(f"*{PLACES}")):
        for line in path.read_text("utf-8", "replace").splitlines():
            match line.split("\x1f"):
                case [name, file, number] if number.isdecimal():
                    functions[name] = (file, int(number))
    return functions
