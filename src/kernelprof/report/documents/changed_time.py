"""The time of a kernel before and after: its launches, and what the change is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.comparison import words
from kernelprof.launch.trial import timing_facts
from kernelprof.model.numbers import count, quantity
from kernelprof.report.charts.parts import tidy, time_unit
from kernelprof.report.document import Bullets, Chart, Fact, Note, Section, Span
from kernelprof.report.documents.change_tables import TIME_TONES
from kernelprof.report.figures.causes import MOST, REST, causes
from kernelprof.report.figures.measured import finite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.comparison import KernelComparison
    from kernelprof.model.snapshot import KernelSnapshot
    from kernelprof.report.charts.parts import Row
    from kernelprof.report.figures.causes import Causes
    from kernelprof.report.figures.measured import Medians

NEAR: Final = 1.25
"""Ratio of the medians below which an axis from zero would hide the difference."""

MOST_DOTS: Final = 100
"""Launches of a side that are drawn; of more, every so many."""

_DOTS: Final = (
    "Each dot is a launch, in their order from top to bottom; the line across them is the median, "
    "with its 95 % interval as a band"
)
_CAUSES: Final = (
    "By what the warps spent their time on: each is in one state at any time, so the parts add up "
    "to the change. What moved against it is taken off the others alike."
)


def fine(nanoseconds: float, digits: int = 4) -> str:
    """A time with so many digits, also where they are behind the point: ``2.046 ms``."""
    size, unit = time_unit(nanoseconds)
    text = f"{nanoseconds / size:.{digits}g}"
    return f"{text} {unit}" if "e" not in text else quantity(nanoseconds, "ns")


def launches(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot
) -> Iterable[Section]:
    """Launches of both sides where they are timed alike."""
    events = before.events_ns and after.events_ns
    sides = {
        name: [
            each
            for each in (side.events_ns if events else side.profiled_ns)
            if (finite(each) or 0.0) > 0
        ]
        for name, side in (("Before", before), ("After", after))
    }
    if kernel.time.how is None or not all(sides.values()):
        return
    rows: list[Row] = []
    told: list[str] = []
    medians: list[float] = []
    for name, times in sides.items():
        facts = timing_facts(times, warm_up=0)
        medians.append(facts.median_ns)
        text = f"{name}: median {fine(facts.median_ns)}"
        if len(times) > 1:
            text += f", {count(len(times), 'launch')} between {fine(facts.low_ns)} and "
            text += fine(facts.high_ns)
        told.append(f"{text}.")
        every = -(-len(times) // MOST_DOTS)
        rows += (
            {"what": "launch", "side": name, "x": _seconds(each), "order": order}
            for order, each in enumerate(times[::every], 1)
        )
        low, high = facts.confidence_low_ns, facts.confidence_high_ns
        rows.append(
            {
                "what": "median",
                "side": name,
                "x": _seconds(facts.median_ns),
                "low": _seconds(low or facts.median_ns),
                "high": _seconds(high or facts.median_ns),
            }
        )
    near, floor = max(medians) < NEAR * min(medians), finite(kernel.time.floor)
    text = f"{_DOTS}."
    if near and floor:
        ends = [_seconds(medians[0] * (1 + sign * floor)) for sign in (-1, 1)]
        rows.append({"what": "noise", "x": ends[0], "x2": ends[1]})
        text = f"{_DOTS}; grey is what counts as noise."
    chart = Chart("launches:near" if near else "launches", tuple(rows), " ".join(told))
    yield Section("Time", (chart, Note(" ".join((*told, text)))))


def causes_section(kernel: KernelComparison, before: Medians, after: Medians) -> Iterable[Section]:
    """What the change of the time is made of, where there is one that was concluded."""
    found = _causes(kernel, before, after)
    if found is None:
        return
    rows: list[Row] = [_step("Before", 0.0, found.before_ns, "before", fine(found.before_ns))]
    at = found.before_ns
    for (name, part), told in zip(found.parts, _of_change(found), strict=True):
        look = "rest" if name == REST else "more" if part > 0 else "less"
        rows.append(_step(name, at, at + part, look, told))
        at += part
    rows.append(_step("After", 0.0, found.after_ns, "first", fine(found.after_ns)))
    label = "What the change of the time is made of, by what warps spent their time on"
    counters = [words.counter_text(each) for each in kernel.counters if each.worse is not None]
    named = (Bullets(tuple(map(Span, counters[:MOST]))),) if counters else ()
    chart = Chart("waterfall", tuple(rows), label)
    yield Section("What changed the time", (chart, *named, Note(_CAUSES)))


def causes_fact(kernel: KernelComparison, before: Medians, after: Medians) -> Iterable[Fact]:
    """The same in lines: each part of the change, in percent of it."""
    found = _causes(kernel, before, after)
    if found is not None:
        told = zip(found.parts, _of_change(found), strict=True)
        yield Fact("What changed it", tuple(f"{name}: {text}" for (name, _), text in told))


def _causes(kernel: KernelComparison, before: Medians, after: Medians) -> Causes | None:
    times = finite(kernel.time.before_ns), finite(kernel.time.after_ns)
    if kernel.time.outcome not in TIME_TONES or times[0] is None or times[1] is None:
        return None
    return causes(before, after, times[0], times[1])


def _of_change(found: Causes) -> list[str]:
    """Each part with its percentage of the change, ``+436 µs, 38 %``: they add up to the whole."""
    change, left, told = found.after_ns - found.before_ns, 100, []
    for name, part in found.parts:
        percent = left if name == REST else min(round(100 * part / change), left)
        left -= percent
        of_change = f"{percent} %" if percent else "~0 %"
        told.append(f"{'+' if part > 0 else '−'}{fine(abs(part), 3)}, {of_change}")
    return told


def _step(name: str, start: float, end: float, look: str, text: str) -> Row:
    return {"name": name, "start": tidy(start), "end": tidy(end), "look": look, "text": text}


def _seconds(nanoseconds: float) -> float:
    """Nine digits: launches of one kernel differ in the fifth."""
    return tidy(nanoseconds * 1e-9, 9)
