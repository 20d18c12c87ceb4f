"""Sentences and short words of the history, as every output shows them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kernelprof.comparison.words import format_change
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.history import HistoryOrigin
from kernelprof.model.names import printable, short_name
from kernelprof.model.numbers import count, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.diagnosis import Verdict
    from kernelprof.model.history import History, HistoryRow, KernelHistory

_QUIET: Final = "no change"
SAME: Final = "~"
UNDECIDED: Final = "?"

_REASONS: Final = (
    ("different Nsight Compute", "other ncu"),
    ("different clock control", "clocks"),
    ("SM clocks", "clocks"),
    ("other sizes", "other work"),
    ("a different number of", "other work"),
)
MOST_REASONS: Final = 5
OTHER_GPU: Final = "other GPU"
NOT_COMPARED: Final = "not comp."


def title(kernel: KernelHistory) -> str:
    """The kernel's short name with what tells it from others of that name."""
    name = short_name(kernel.name)
    return f"{name} ({printable(kernel.detail)})" if kernel.detail else name


def overview(history: History) -> str:
    """What was looked at, in a line."""
    kernels = count(len(history.kernels), "kernel")
    if history.source is HistoryOrigin.GIT:
        return f"{count(history.moments, 'commit')}, {kernels}, {period(history)}"
    captures = history.moments - history.baselines
    kinds = ((captures, "capture"), (history.baselines, "baseline"))
    parts = " and ".join(count(number, noun) for number, noun in kinds if number)
    return f"{parts}, {kernels}, {period(history)}"


def period(history: History) -> str:
    """From when to when, in UTC."""
    moments = [row.moment.date for kernel in history.kernels for row in kernel.rows]
    first, last = day(min(moments)), day(max(moments))
    return first if first == last else f"{first} to {last}"


def summary(kernel: KernelHistory) -> str:
    """A kernel's history in a line: from when to when, from which time to which."""
    first, last = kernel.rows[0], kernel.rows[-1]
    rows = count(len(kernel.rows), "row")
    text = f"the newest {rows} ({kernel.older:,} older omitted)" if kernel.older else rows
    gpus = machines(kernel)
    text += f" on {gpus[0]}" if len(gpus) == 1 else f" on {len(gpus)} GPUs"
    if len(kernel.rows) == 1:
        return text
    if len(gpus) == 1:
        text += f": {time_cell(first)} to {time_cell(last)}"
    outcomes = Counter(row.time.outcome for row in kernel.rows if row.time is not None)
    counts = {
        "slower": outcomes[TimeOutcome.SLOWER],
        "faster": outcomes[TimeOutcome.FASTER],
        "verdict changed": sum(row.verdict_changed for row in kernel.rows),
        "counters changed": sum(bool(row.counters) for row in kernel.rows),
    }
    parts = [f"{word} {'once' if n == 1 else f'{n} times'}" for word, n in counts.items() if n]
    return f"{text}; {', '.join(parts) or _QUIET}"


def is_quiet(kernel: KernelHistory) -> bool:
    """Whether nothing changed over the rows of a kernel, on one GPU."""
    return len(kernel.rows) > 1 and summary(kernel).endswith(_QUIET)


def machines(kernel: KernelHistory) -> list[str]:
    """The GPUs of a kernel's rows, each once."""
    return list(dict.fromkeys(gpu(row) for row in kernel.rows))


def gpu(row: HistoryRow) -> str:
    """The GPU of a row."""
    return printable(row.moment.machine.gpu or "unknown GPU")


def day(date: str) -> str:
    """``2026-11-21``."""
    return date[:10]


def dates(rows: Sequence[HistoryRow]) -> list[str]:
    """The dates of rows: days, with the time where several rows are of one day."""
    days = [day(row.moment.date) for row in rows]
    if len(set(days)) == len(days):
        return days
    return [row.moment.date[:16].replace("T", " ") for row in rows]


def time_cell(row: HistoryRow) -> str:
    """The median time."""
    return "-" if row.kernel.median_ns is None else quantity(row.kernel.median_ns, "ns")


def change_cell(row: HistoryRow, *, first: bool) -> str:
    """How the time changed: only what is large and significant has a number."""
    if row.time is None:
        return "" if first else OTHER_GPU
    outcome, ratio = row.time.outcome, row.time.ratio or 1.0
    if outcome is TimeOutcome.NOT_COMPARABLE:
        reason = row.time.reason
        return next((short for start, short in _REASONS if reason.startswith(start)), NOT_COMPARED)
    return {
        TimeOutcome.SLOWER: f"▲ {format_change(ratio)}",
        TimeOutcome.FASTER: f"▼ {format_change(1 / ratio)}",
        TimeOutcome.SAME: SAME,
        TimeOutcome.NOT_MEASURED: "no time",
    }.get(outcome, UNDECIDED)


def verdict_cell(verdict: Verdict) -> str:
    """The bottleneck, or that there is no verdict."""
    text = printable(verdict.bottleneck or verdict.status)
    return f"{text} (limit)" if verdict.status is Status.AT_LIMIT else text


def counters_cell(row: HistoryRow) -> str:
    """How many exact counters changed."""
    return str(len(row.counters)) if row.counters else ""


def launch_text(row: HistoryRow) -> str:
    """How many launches, and what stands for their spread."""
    if row.low_ns is None or row.high_ns is None:
        return ""
    return f"{quantity(row.low_ns, 'ns')} to {quantity(row.high_ns, 'ns')}"


def notes(row: HistoryRow) -> Iterable[str]:
    """What to know about a row beside its cells."""
    if row.kernel.passed is False:
        yield "its result was wrong"
    for each in row.accepted:
        yield f"accepted by {each.who}: {each.reason}"


def reasons(kernel: KernelHistory) -> list[str]:
    """Why times of rows are not compared, each reason once; and what they are compared with."""
    texts = dict.fromkeys(
        f"{change_cell(row, first=False)}: {row.time.reason}"
        for row in kernel.rows
        if row.time is not None and row.time.outcome is TimeOutcome.NOT_COMPARABLE
    )
    if any(row.against is not None and not row.next_to for row in kernel.rows):
        texts["a row is compared with the previous row on the same GPU"] = None
    more = len(texts) - MOST_REASONS
    note = [f"and {more} more; --format json lists all"] if more > 0 else []
    return [*list(texts)[:MOST_REASONS], *note]
