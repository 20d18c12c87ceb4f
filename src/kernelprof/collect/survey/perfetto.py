"""A recorded program as a trace that ui.perfetto.dev opens (Trace Event Format, JSON)."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from kernelprof.errors import InputError
from kernelprof.model.trace import SET

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kernelprof.model.trace import SampledSeries, Trace

    Event = dict[str, Any]

GPU_BASE: Final = 1_000_000_000
"""GPUs are shown as processes with numbers from here on, which no process of Linux has."""

SERIES: Final = ".avg.pct_of_peak_sustained_elapsed"
"""Ends the sampled counters that are shown: those in percent."""


def to_perfetto(trace: Trace) -> bytes:
    """All kernels, copies, ranges, calls and sampled percentages of a program; times in us."""
    events = [event for part in _PARTS for event in part(trace)]
    return msgspec.json.encode({"displayTimeUnit": "ns", "traceEvents": events})


def refuse_unwritable(path: Path) -> None:
    """Raise what :func:`write_perfetto` would, before a program runs in vain."""
    with _draft_of(path) as draft:
        draft.touch()


def write_perfetto(trace: Trace, path: Path) -> None:
    """Write a trace, compressed where the name ends in ``.gz``; :class:`InputError` if it fails."""
    data = to_perfetto(trace)
    with _draft_of(path) as draft:
        draft.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
        draft.replace(path)


@contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    draft = path.with_name(f".{path.name}.part")
    try:
        yield draft
    except OSError as error:
        raise InputError(
            f"the trace cannot be written: {error.strerror or error}",
            where=str(path),
            hint="name a file in an existing folder with enough free space",
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def _names(trace: Trace) -> Iterator[Event]:
    for each in trace.processes:
        yield _name(each.pid, " ".join(each.command)[:200] or "program")
    for number, gpu in sorted(trace.devices.items()):
        yield _name(GPU_BASE + number, f"GPU {number}: {gpu.name}")


def _name(pid: int, name: str) -> Event:
    return {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}


def _span(row: Any, pid: int, tid: int, name: str, **facts: Any) -> Event:
    start, length = int(row["start"]) / 1e3, int(row["end"] - row["start"]) / 1e3
    event = {"ph": "X", "pid": pid, "tid": tid, "ts": start, "dur": length, "name": name}
    return event | ({"args": facts} if facts else {})


def _kernels(trace: Trace) -> Iterator[Event]:
    for row in trace.kernels:
        launched = trace.configurations[int(row["configuration"])]
        facts = {"grid": launched.grid, "block": launched.block, "registers": launched.registers}
        yield _span(row, GPU_BASE + int(row["device"]), int(row["stream"]), launched.name, **facts)


def _transfers(trace: Trace) -> Iterator[Event]:
    for row in trace.transfers:
        name = "memset" if row["kind"] == SET else "copy"
        place = GPU_BASE + int(row["device"]), int(row["stream"])
        yield _span(row, *place, name, bytes=int(row["bytes"]))


def _host(trace: Trace) -> Iterator[Event]:
    for rows in (trace.ranges, trace.calls):
        for row in rows:
            pid = trace.processes[int(row["process"])].pid
            yield _span(row, pid, int(row["thread"]), trace.texts[int(row["name"])])


def _counters(trace: Trace) -> Iterator[Event]:
    for series in trace.series:
        for column, metric in enumerate(series.metrics):
            if metric.endswith(SERIES):
                yield from _counter(series, column, metric.removesuffix(SERIES).split(".")[-1])


def _counter(series: SampledSeries, column: int, name: str) -> Iterator[Event]:
    pid = GPU_BASE + series.device
    for at in np.flatnonzero(np.isfinite(series.values[:, column])):
        percent = round(float(series.values[at, column]), 2)
        when = int(series.start[at]) / 1e3
        yield {"ph": "C", "pid": pid, "ts": when, "name": f"{name} %", "args": {"%": percent}}


_PARTS: Final = (_names, _kernels, _transfers, _host, _counters)
