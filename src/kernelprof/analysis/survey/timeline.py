"""How each GPU spent its time, and what the host did while it was idle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from kernelprof.model.survey import GpuTime, Idle, IdleTime
from kernelprof.model.trace import COMPILING, LOADING, SET

if TYPE_CHECKING:
    import numpy.typing as npt

    from kernelprof.model.trace import Trace

    Array = npt.NDArray[Any]
    Times = npt.NDArray[np.int64]


class Spans(NamedTuple):
    """Disjoint intervals in order, in nanoseconds."""

    start: Times
    end: Times

    @property
    def total(self) -> int:
        """Their length together."""
        return int((self.end - self.start).sum())

    def where(self, mask: Array) -> Spans:
        """Return some of them."""
        return Spans(self.start[mask], self.end[mask])


def merge_spans(start: Times, end: Times) -> Spans:
    """Return the union of intervals, which may overlap and come in any order."""
    if not len(start):
        return Spans(np.zeros(0, np.int64), np.zeros(0, np.int64))
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    # A new one begins where all before have ended.
    first = np.concatenate([[True], start[1:] > end[:-1]])
    last = np.concatenate([first[1:], [True]])
    return Spans(start[first].astype(np.int64), end[last].astype(np.int64))


def spans_of_rows(rows: Array) -> Spans:
    """Return the union of the times of kernels, transfers or calls."""
    return merge_spans(rows["start"], rows["end"])


def union(*parts: Spans) -> Spans:
    """Return the union of several sets."""
    return merge_spans(
        np.concatenate([each.start for each in parts]), np.concatenate([each.end for each in parts])
    )


def gaps(spans: Spans) -> Spans:
    """Return what lies between the intervals."""
    return Spans(spans.end[:-1], spans.start[1:])


def intersection(one: Spans, other: Spans) -> Spans:
    """Return what is in both sets."""
    if not len(one.start) or not len(other.start):
        return Spans(one.start[:0], one.end[:0])
    # Of each interval the range of those in the other set that reach into it.
    first = np.searchsorted(other.end, one.start, side="right")
    after = np.searchsorted(other.start, one.end, side="left")
    counts = np.maximum(after - first, 0)
    mine = np.repeat(np.arange(len(one.start)), counts)
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    theirs = np.repeat(first, counts) + steps
    return Spans(
        np.maximum(one.start[mine], other.start[theirs]),
        np.minimum(one.end[mine], other.end[theirs]),
    )


def difference(one: Spans, other: Spans) -> Spans:
    """Return what is in the first set and not in the second."""
    if not len(one.start) or not len(other.start):
        return one
    low = min(int(one.start[0]), int(other.start[0])) - 1
    high = max(int(one.end[-1]), int(other.end[-1])) + 1
    around = Spans(
        np.concatenate([[low], other.end]).astype(np.int64),
        np.concatenate([other.start, [high]]).astype(np.int64),
    )
    return intersection(one, around)


def match_calls(trace: Trace, pattern: str | re.Pattern[str]) -> Array:
    """Return the calls whose names match, as a mask."""
    expression = re.compile(pattern)
    fitting = np.array([bool(expression.match(text)) for text in trace.texts], bool)
    mask: Array = fitting[trace.calls["name"]]
    return mask


def correlation_keys(rows: Array) -> Array:
    """Return one number for the process and the correlation of each row."""
    wide = rows["process"].astype(np.uint64) << np.uint64(32)
    combined: Array = wide | rows["correlation"].astype(np.uint64)
    return combined


def find_launching_calls(trace: Trace, rows: Array) -> Array:
    """Return for each row the position in ``trace.calls`` of its launching call; -1: unknown.

    Where the runtime's call and the driver's below it were both recorded, it is the outer one.
    """
    calls = correlation_keys(trace.calls)
    order = np.argsort(calls, kind="stable")
    ordered = calls[order]
    wanted = correlation_keys(rows)
    at = np.searchsorted(ordered, wanted)
    there = at < len(ordered)
    there[there] = ordered[at[there]] == wanted[there]
    positions = np.full(len(rows), -1, np.int64)
    positions[there] = order[at[there]]
    return positions


_CALLS: Final = (
    (Idle.LOADING, r"cu(da)?(Module(Load|Get)|Library|Link|KernelGet)"),
    (Idle.ALLOCATION, r"cu(da)?(Malloc|Free|Host(Alloc|Register)|Mem(Alloc|Free|Create|Map|Host))"),
    (Idle.COPIES, r"cu(da)?(Memcpy|Memset)"),
    (Idle.LAUNCHES, r"cu(da)?(Launch|Graph)"),
    (Idle.WAITING, r"cu(da)?(Device|Ctx|Stream|Event)Synchronize"),
)
"""Calls of the runtime and the driver by what they are for; the first kind that fits counts."""

START_UP: Final = 0.1
"""The part of a program's launches that its start-up has, in which code is loaded, memory allocated
and much done that is done once. Our choice."""

_BLOCKING_COPY: Final = re.compile(r"cu(da)?Memcpy(?!.*Async)")


def measure_gpus(trace: Trace) -> tuple[GpuTime, ...]:
    """Return one entry a GPU that did something, the one with the most kernel time first."""
    used = {*np.unique(trace.kernels["device"]).tolist()}
    used |= {*np.unique(trace.transfers["device"]).tolist()}
    times = [_gpu_time(trace, device) for device in sorted(used)]
    return tuple(sorted(times, key=lambda each: -each.kernels))


def _rows_on(trace: Trace, device: int) -> tuple[Array, Array]:
    """The kernels of a device, and the copies and memsets from and to it."""
    transfers = trace.transfers
    there = (transfers["device"] == device) | (transfers["to_device"] == device)
    return trace.kernels[trace.kernels["device"] == device], transfers[there]


def _gpu_time(trace: Trace, device: int) -> GpuTime:
    rows = _rows_on(trace, device)
    whole = [spans_of_rows(each) for each in rows]
    first = int(union(*whole).start[0])
    launches = rows[0]["start"]
    begin = int(launches[int(START_UP * len(launches))]) if len(launches) else first
    end = int((whole[0] if len(launches) else whole[1]).end[-1])
    window = Spans(np.array([begin]), np.array([end]))
    kernels, transfers = (intersection(each, window) for each in whole)
    idle = gaps(union(kernels, transfers))
    copied = (trace.transfers["device"] == device) & (trace.transfers["kind"] != SET)
    model = trace.devices.get(device)
    return GpuTime(
        device=device,
        name=model.name if model else f"GPU {device}",
        start_up=begin - first,
        span=end - begin,
        kernels=kernels.total,
        copies=difference(transfers, kernels).total,
        idle=_idle_by_cause(trace, device, idle),
        after_waiting=_after_waiting(trace, idle),
        launches=len(launches),
        copied_bytes=int(trace.transfers["bytes"][copied].sum()),
    )


def _idle_by_cause(trace: Trace, device: int, idle: Spans) -> tuple[IdleTime, ...]:
    after = _next_work(trace, device, idle)
    launch = correlation_keys(after)
    same = np.concatenate([np.zeros(len(after[:1]), bool), launch[1:] == launch[:-1]])
    inside = same & (after["graph"] > 0)
    queued = ~inside & _queued(trace, after, idle)
    parts = [(Idle.IN_GRAPHS, idle.where(inside).total), (Idle.QUEUED, idle.where(queued).total)]
    left = idle.where(~inside & ~queued)
    lost = trace.overheads[np.isin(trace.overheads["kind"], (COMPILING, *LOADING))]
    for kind, pattern in _CALLS:
        during = spans_of_rows(trace.calls[match_calls(trace, pattern)])
        if kind is Idle.LOADING:
            during = union(during, spans_of_rows(lost))
        parts.append((kind, intersection(left, during).total))
        left = difference(left, during)
    parts.append((Idle.OWN_CODE, left.total))
    parts.sort(key=lambda each: -each[1])
    return tuple(IdleTime(kind, time) for kind, time in parts if time)


def _next_work(trace: Trace, device: int, idle: Spans) -> Array:
    """What ran first after each gap, a kernel or a transfer, by what both have."""
    names = ["process", "start", "end", "correlation", "graph"]
    rows = np.concatenate([each[names] for each in _rows_on(trace, device)])
    rows = rows[np.argsort(rows["start"], kind="stable")]
    return rows[np.searchsorted(rows["start"], idle.end)]


def _queued(trace: Trace, after: Array, idle: Spans) -> Array:
    if not len(trace.calls):
        return np.zeros(len(after), bool)
    call = find_launching_calls(trace, after)
    queued: Array = (call >= 0) & (trace.calls["start"][np.maximum(call, 0)] < idle.start)
    return queued


def _after_waiting(trace: Trace, idle: Spans) -> int:
    """The idle time in gaps that began while the host waited for what ran before."""
    blocking = match_calls(trace, _CALLS[-1][1]) | match_calls(trace, _BLOCKING_COPY)
    waits = spans_of_rows(trace.calls[blocking])
    if not len(waits.start):
        return 0
    at = np.searchsorted(waits.start, idle.start, side="right") - 1
    drained = (at >= 0) & (waits.end[np.maximum(at, 0)] >= idle.start)
    return idle.where(drained).total
