"""What happened to the time of a kernel, in figures, in words and launch by launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kernelprof.compare.times import LEAST_FLOOR
from kernelprof.compare.words import ratio_text
from kernelprof.launch.trial import timing_facts
from kernelprof.model.comparison import TimeOutcome
from kernelprof.report.html.build.measured import finite
from kernelprof.report.html.build.private import shown
from kernelprof.report.html.comparison_view import Launches, Sign, Times
from kernelprof.report.html.view import Fact
from kernelprof.report.numbers import count, number, quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.comparison import KernelComparison, TimeChange
    from kernelprof.model.snapshot import KernelSnapshot

MOST_DOTS: Final = 100
"""Launches of a side that are drawn; of more, every so many."""

_SIGNS: Final = {
    TimeOutcome.FASTER: Sign("faster", "▼", "Faster"),
    TimeOutcome.SLOWER: Sign("slower", "▲", "Slower"),
    TimeOutcome.SAME: Sign("same", "=", "As fast as before"),
    TimeOutcome.UNDECIDED: Sign("undecided", "?", "Undecided"),
    TimeOutcome.NOT_ENOUGH_SAMPLES: Sign("unknown", "?", "Too few launches"),
    TimeOutcome.NOT_COMPARABLE: Sign("unknown", "≠", "Times not compared"),
    TimeOutcome.NOT_MEASURED: Sign("unknown", "–", "Not timed"),
}

_NOISE: Final = Sign("same", "=", "Within the noise")
"""A difference that is larger than what is never told, and smaller than this kernel's noise."""

_FACTOR_FROM: Final = 1.5


def sign(time: TimeChange) -> Sign:
    """How what happened to the time is marked."""
    ratio = _ratio(time.ratio)
    if time.outcome is TimeOutcome.SAME and ratio is not None and abs(ratio - 1) > LEAST_FLOOR:
        return _NOISE
    return _SIGNS[time.outcome]


def short(time: TimeChange) -> str:
    """What happened in a few words, for tables and charts."""
    ratio = _ratio(time.ratio)
    if time.outcome in {TimeOutcome.FASTER, TimeOutcome.SLOWER} and ratio is not None:
        return ratio_text(ratio)
    return sign(time).words.lower()


def figures(time: TimeChange) -> Iterable[Fact]:
    """The interval, the noise floor and the launches that the outcome rests on."""
    low, high = _ratio(time.low), _ratio(time.high)
    if low is not None and high is not None:
        yield Fact("95 % interval of the change", interval_text(low, high), _INTERVAL)
    floor = finite(time.floor)
    if floor is not None:
        yield Fact("noise floor", _percent(floor), f"From {shown(time.floor_from)}.")
    if any(time.samples):
        by = f", by {shown(time.how)}" if time.how else ""
        before, after = time.samples
        same = f"{count(before, 'launch')} each" if before == after else ""
        yield Fact("timed", (same or f"{before:,} launches before, {after:,} after") + by)


_INTERVAL = "Bootstrap interval of the ratio of the medians."


def why(time: TimeChange) -> str:
    """Why the times are called what they are called, in plain words."""
    floor, p = finite(time.floor), finite(time.p)
    if floor is None or p is None:
        return ""
    noise = (
        f"{_percent(floor)}, below which a difference counts as noise ({shown(time.floor_from)})"
    )
    odds = f"p = {p:.1g}, Mann-Whitney"
    if time.outcome is TimeOutcome.SAME:
        return f"The medians are nearer to each other than {noise}."
    if time.outcome is TimeOutcome.UNDECIDED:
        return (
            f"The medians are further apart than {noise}, but the launches could still be those of "
            f"one kernel ({odds}): more launches or quieter ones would decide."
        )
    return (
        f"The medians are further apart than {noise}, and launches of one kernel would hardly ever "
        f"fall so far apart ({odds})."
    )


def interval_text(low: float, high: float) -> str:
    """An interval of ratios, after over before, in the words of its sides."""
    if low > 1:
        return f"{_by(low)} to {_by(high)} slower"
    if high < 1:
        return f"{_by(1 / high)} to {_by(1 / low)} faster"
    return f"{_by(1 / low)} faster to {_by(high)} slower"


def times(kernel: KernelComparison) -> Times | None:
    """Launches of both sides where they are timed alike; ``None`` where a side has none."""
    before, after = kernel.before, kernel.after
    if before is None or after is None or kernel.time.how is None:
        return None
    events = before.events_ns and after.events_ns
    old = _launches("Before", before.events_ns if events else before.profiled_ns)
    new = _launches("After", after.events_ns if events else after.profiled_ns)
    if old is None or new is None:
        return None
    return Times(old, new, finite(kernel.time.floor))


def median_text(kernel: KernelSnapshot, compared_ns: float | None) -> str:
    """The time that was compared, or else what is known of it."""
    value = finite(compared_ns) if compared_ns is not None else finite(kernel.median_ns)
    return "time not known" if value is None else fine(value)


def fine(nanoseconds: float) -> str:
    """A time with four digits, also where two of them are behind the point: ``2.046 ms``."""
    size, unit = next((each for each in _UNITS if abs(nanoseconds) >= each[0]), _UNITS[-1])
    shown_value = f"{nanoseconds / size:.4g}"
    return f"{shown_value} {unit}" if "e" not in shown_value else quantity(nanoseconds, "ns")


_UNITS: Final = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


def _launches(side: str, times_ns: Sequence[float]) -> Launches | None:
    known = [each for each in times_ns if (finite(each) or 0.0) > 0]
    if not known:
        return None
    facts = timing_facts(known, warm_up=0)
    every = -(-len(known) // MOST_DOTS)
    text = f"median {fine(facts.median_ns)}"
    if len(known) > 1:
        low, high = (_away(each, facts.median_ns) for each in (facts.low_ns, facts.high_ns))
        text += f", {count(len(known), 'launch')} within {low} and {high}"
    return Launches(
        side,
        tuple(each * 1e-9 for each in known[::every]),
        facts.median_ns * 1e-9,
        _seconds(facts.confidence_low_ns),
        _seconds(facts.confidence_high_ns),
        text,
    )


def _away(end: float, median: float) -> str:
    """How far the shortest or the longest launch is from the median."""
    percent = 100 * (end / median - 1)
    return f"{'−' if percent < 0 else '+'}{abs(percent):.2g} %"


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds * 1e-9


def _ratio(value: float | None) -> float | None:
    """A ratio that can be told: above zero and no more than a number can be."""
    known = finite(value)
    return known if known is not None and known > 0 and finite(1 / known) is not None else None


def _by(ratio: float) -> str:
    if ratio >= _FACTOR_FROM:
        return f"{ratio:.4g}x"
    return f"{100 * (ratio - 1):.2g} %"


def _percent(part: float) -> str:
    return f"{number(100 * part)} %"
