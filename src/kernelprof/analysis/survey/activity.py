"""How each GPU spent its time, and what the host did while it had nothing to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kernelprof.analysis.survey.calls import keys, launching, named
from kernelprof.analysis.survey.intervals import Spans, common, gaps, spans, together, without
from kernelprof.model.survey import GpuTime, Idle, IdleTime
from kernelprof.model.trace import COMPILING, LOADING, SET

if TYPE_CHECKING:
    import numpy.typing as npt

    from kernelprof.model.trace import Trace

    Array = npt.NDArray[Any]

_CALLS: Final = (
    (Idle.LOADING, r"cu(da)?(Module(Load|Get)|Library|Link|KernelGet)"),
    (Idle.ALLOCATION, r"cu(da)?(Malloc|Free|Host(Alloc|Register)|Mem(Alloc|Free|Create|Map|Host))"),
    (Idle.COPIES, r"cu(da)?(Memcpy|Memset)"),
    (Idle.LAUNCHES, r"cu(da)?(Launch|Graph)"),
    (Idle.WAITING, r"cu(da)?(Device|Ctx|Stream|Event)Synchronize"),
)
"""Calls of the runtime and the driver by what they are for; the first kind that fits counts."""

START_UP: Final = 0.1
"""The part of a program's launches that its start-up has. Our choice."""

_BLOCKING_COPY: Final = re.compile(r"cu(da)?Memcpy(?!.*Async)")


def gpu_times(trace: Trace) -> tuple[GpuTime, ...]:
    """One entry a GPU that did something, the one with the most kernel time first."""
    used = {*np.unique(trace.kernels["device"]).tolist()}
    used |= {*np.unique(trace.transfers["device"]).tolist()}
    found = [_gpu_time(trace, device) for device in sorted(used)]
    return tuple(sorted(found, key=lambda each: -each.kernels))


def settled(starts: Array, first: int) -> int:
    """When a program had made a tenth of its launches, from their times in order.

    Until then code is loaded, memory allocated and much done that is done once.
    """
    return int(starts[int(START_UP * len(starts))]) if len(starts) else first


def activity(trace: Trace, device: int) -> tuple[Spans, Spans]:
    """When kernels ran on a device, and when copies and memsets did."""
    kernels = trace.kernels[trace.kernels["device"] == device]
    there = (trace.transfers["device"] == device) | (trace.transfers["to_device"] == device)
    transfers = trace.transfers[there]
    return (
        spans(kernels["start"], kernels["end"]),
        spans(transfers["start"], transfers["end"]),
    )


def _gpu_time(trace: Trace, device: int) -> GpuTime:
    whole = activity(trace, device)
    there = trace.kernels["device"] == device
    first = together(*whole)
    begin = settled(trace.kernels["start"][there], int(first.start[0]))
    end = int(whole[0].end[-1]) if len(whole[0].end) else int(first.end[-1])
    window = Spans(np.array([begin]), np.array([end]))
    kernels, transfers = (common(each, window) for each in whole)
    active = together(kernels, transfers)
    idle = gaps(active)
    copied = (trace.transfers["device"] == device) & (trace.transfers["kind"] != SET)
    known = trace.devices.get(device)
    return GpuTime(
        device=device,
        name=known.name if known else f"GPU {device}",
        start_up=begin - int(first.start[0]),
        span=end - begin,
        kernels=kernels.total,
        copies=without(transfers, kernels).total,
        idle=_parts(trace, device, idle),
        after_waiting=_after_waiting(trace, idle),
        launches=int(there.sum()),
        copied_bytes=int(trace.transfers["bytes"][copied].sum()),
    )


def _parts(trace: Trace, device: int, idle: Spans) -> tuple[IdleTime, ...]:
    """The idle time by what the host did in it; what was looked for first counts."""
    after = _next_work(trace, device, idle)
    inside = _in_graphs(after)
    queued = ~inside & _queued(trace, after, idle)
    found = [
        (Idle.IN_GRAPHS, Spans(idle.start[inside], idle.end[inside]).total),
        (Idle.QUEUED, Spans(idle.start[queued], idle.end[queued]).total),
    ]
    left = Spans(idle.start[~inside & ~queued], idle.end[~inside & ~queued])
    lost = np.isin(trace.overheads["kind"], (COMPILING, *LOADING))
    loading = spans(trace.overheads["start"][lost], trace.overheads["end"][lost])
    for kind, pattern in _CALLS:
        calls = trace.calls[named(trace, pattern)]
        during = spans(calls["start"], calls["end"])
        if kind is Idle.LOADING:
            during = together(during, loading)
        found.append((kind, common(left, during).total))
        left = without(left, during)
    found.append((Idle.OWN_CODE, left.total))
    found.sort(key=lambda each: -each[1])
    return tuple(IdleTime(kind, time) for kind, time in found if time)


def _next_work(trace: Trace, device: int, idle: Spans) -> Array:
    """What ran first after each gap, a kernel or a transfer, by what both have."""
    names = ["process", "start", "end", "correlation", "graph"]
    kernels, transfers = trace.kernels, trace.transfers
    there = (transfers["device"] == device) | (transfers["to_device"] == device)
    parts = [kernels[kernels["device"] == device], transfers[there]]
    rows = np.concatenate([_fields(each, names) for each in parts])
    rows = rows[np.argsort(rows["start"], kind="stable")]
    return rows[np.searchsorted(rows["start"], idle.end)]


def _fields(rows: Array, names: list[str]) -> Array:
    """Some of the columns, without the room of the others."""
    made = np.zeros(len(rows), [(name, rows.dtype[name]) for name in names])
    for name in names:
        made[name] = rows[name]
    return made


def _in_graphs(after: Array) -> Array:
    """Which gaps end with a graph's kernel that was not the first of its launch."""
    launch = keys(after)
    same = np.concatenate([np.zeros(len(after[:1]), bool), launch[1:] == launch[:-1]])
    inside: Array = same & (after["graph"] > 0)
    return inside


def _queued(trace: Trace, after: Array, idle: Spans) -> Array:
    """Which gaps end with work that was launched before they began."""
    if not len(trace.calls):
        return np.zeros(len(after), bool)
    call = launching(trace, after)
    found: Array = (call >= 0) & (trace.calls["start"][np.maximum(call, 0)] < idle.start)
    return found


def _after_waiting(trace: Trace, idle: Spans) -> int:
    """The idle time in gaps that began while the host waited for what ran before."""
    blocking = named(trace, _CALLS[-1][1]) | named(trace, _BLOCKING_COPY)
    waits = spans(trace.calls["start"][blocking], trace.calls["end"][blocking])
    if not len(waits.start):
        return 0
    at = np.searchsorted(waits.start, idle.start, side="right") - 1
    drained = (at >= 0) & (waits.end[np.maximum(at, 0)] >= idle.start)
    return Spans(idle.start[drained], idle.end[drained]).total
