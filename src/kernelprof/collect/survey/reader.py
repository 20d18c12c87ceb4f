"""From the files of a survey, one a process, to what the whole program did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.collect.survey import frames
from kernelprof.collect.survey.demangle import demangled
from kernelprof.collect.survey.ranges import paired
from kernelprof.errors import InputError
from kernelprof.model.trace import (
    ALLOCATIONS,
    CALLS,
    KERNELS,
    OVERHEADS,
    RANGES,
    TRANSFERS,
    Configuration,
    Device,
    Process,
    Trace,
)

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from kernelprof.collect.survey.frames import Frames

    Array = npt.NDArray[Any]

PLACES: Final = ".functions"
"""Suffix of the file in which a Python process notes where Triton's functions are."""

_OF_A_GPU: Final = {frames.KERNEL, frames.TRANSFER, frames.GRAPH, frames.API}
"""A process with none of these has loaded something that knows NVTX, and no more."""

WHOLE_GRAPH: Final = "(a CUDA graph)"
"""Stands for the kernels of a graph that was recorded as a whole."""


@dataclass
class _Union:
    """Numbers that all processes share for what each of them numbers by itself."""

    numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def lookup(self, own: dict[int, Any], default: Any) -> Array:
        """An array from a process's own numbers to the shared ones."""
        table = np.full(max(own, default=0) + 1, self.number(default), np.uint32)
        for number, value in own.items():
            table[number] = self.number(value)
        return table


def read_survey(folder: Path) -> Trace:
    """All that the processes of a program left in a folder.

    A file that ends in the middle is read as far as it goes. Raises :class:`InputError` for a file
    of another version. Of a program that used no GPU the trace is empty.
    """
    texts, configurations = _Union(), _Union()
    texts.number("")
    processes: list[Process] = []
    parts: dict[str, list[Array]] = {}
    devices: dict[int, Device] = {}
    for path in sorted(folder.glob(f"*{frames.SUFFIX}")):
        try:
            found = frames.read_frames(path)
        except (OSError, ValueError) as error:
            raise InputError(
                f"a file of the survey cannot be read: {error}", where=str(path)
            ) from error
        if not found.rows.keys() & _OF_A_GPU:
            continue
        position = len(processes)
        rows = _rows(found, texts, configurations)
        for name, each in rows.items():
            each["process"] = position
            parts.setdefault(name, []).append(each)
        devices.update(_devices(found))
        processes.append(_process(found, rows))
    columns: dict[str, Any] = {
        name: _in_order(np.concatenate(each)) for name, each in parts.items()
    }
    return Trace(
        processes=tuple(processes),
        devices=devices,
        configurations=tuple(configurations.numbers),
        texts=tuple(texts.numbers),
        functions=_functions(folder),
        **columns,
    )


def _rows(found: Frames, texts: _Union, configurations: _Union) -> dict[str, Array]:
    text = texts.lookup(found.texts, "")
    launched = {
        int(row["id"]): _configuration(row, found.texts) for row in found.of(frames.CONFIGURATION)
    }
    whole = Configuration(WHOLE_GRAPH, WHOLE_GRAPH, (0, 0, 0), (0, 0, 0))
    number = configurations.lookup(launched, whole)
    kernels = _copied(found.of(frames.KERNEL), KERNELS)
    kernels["configuration"] = number[np.minimum(kernels["configuration"], len(number) - 1)]
    graphs = _copied(found.of(frames.GRAPH), KERNELS)
    graphs["configuration"] = configurations.number(whole)
    calls = _copied(found.of(frames.API), CALLS)
    calls["name"] = text[np.minimum(calls["name"], len(text) - 1)]
    ranges = paired(found.of(frames.RANGE))
    for name in ("name", "domain"):
        ranges[name] = text[np.minimum(ranges[name], len(text) - 1)]
    return {
        "kernels": _timed(np.concatenate([kernels, graphs])),
        "transfers": _timed(_copied(found.of(frames.TRANSFER), TRANSFERS)),
        "calls": _timed(calls),
        "ranges": _copied(ranges, RANGES),
        "allocations": _copied(found.of(frames.MEMORY), ALLOCATIONS),
        "overheads": _timed(_copied(found.of(frames.OVERHEAD), OVERHEADS)),
    }


def _copied(rows: Array, kind: np.dtype[Any]) -> Array:
    """The fields that both have, in rows of another kind."""
    made = np.zeros(len(rows), kind)
    names = rows.dtype.names or ()
    for name in kind.names or ():
        if name in names:
            made[name] = rows[name]
    return made


def _timed(rows: Array) -> Array:
    """Those with a begin and an end: what was cut off in the middle has none."""
    return rows[(rows["start"] > 0) & (rows["end"] >= rows["start"])]


def _in_order(rows: Array) -> Array:
    return rows[np.argsort(rows["start"], kind="stable")]


def _configuration(row: Any, texts: dict[int, str]) -> Configuration:
    mangled = texts.get(int(row["name"]), "")
    return Configuration(
        name=demangled(mangled),
        mangled=mangled,
        grid=tuple(row["grid"].tolist()),
        block=tuple(row["block"].tolist()),
        cluster=tuple(row["cluster"].tolist()),
        static_shared=int(row["static_shared"]),
        dynamic_shared=int(row["dynamic_shared"]),
        registers=int(row["registers"]),
        local=int(row["local"]),
    )


def _devices(found: Frames) -> dict[int, Device]:
    return {
        int(row["id"]): Device(
            name=found.texts.get(int(row["name"]), ""),
            compute_capability=(int(row["major"]), int(row["minor"])),
            multiprocessors=int(row["multiprocessors"]),
            memory=int(row["memory"]),
        )
        for row in found.of(frames.DEVICE)
    }


def _process(found: Frames, rows: dict[str, Array]) -> Process:
    head, end = found.of(frames.HEAD)[0], found.of(frames.END)
    timed = [each for each in rows.values() if len(each) and "end" in (each.dtype.names or ())]
    return Process(
        pid=int(head["process"]),
        parent=int(head["parent"]),
        command=found.program,
        first=min([int(each["start"].min()) for each in timed], default=int(head["now"])),
        last=max([int(each["end"].max()) for each in timed], default=int(head["now"])),
        complete=len(end) > 0,
        dropped=int(end["dropped"].sum()),
    )


def _functions(folder: Path) -> dict[str, tuple[str, int]]:
    """Where functions of Triton are, by name; the last one of a name is the one that runs."""
    found = {}
    for path in sorted(folder.glob(f"*{PLACES}")):
        for line in path.read_text("utf-8", "replace").splitlines():
            match line.split("\x1f"):
                case [name, file, number] if number.isdecimal():
                    found[name] = (file, int(number))
    return found
