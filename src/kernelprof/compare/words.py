"""Sentences of comparisons, as every output shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.compare.times import LEAST_FLOOR
from kernelprof.model.comparison import Match, TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.report.numbers import factor, number, quantity

if TYPE_CHECKING:
    from kernelprof.model.comparison import (
        Comparison,
        CounterChange,
        KernelComparison,
        TimeChange,
    )
    from kernelprof.model.snapshot import KernelSnapshot, Said

_CLEAR = 1.5
"""From this factor on people say "1.5x slower", below it "12 % slower"."""


def headline(kernel: KernelComparison) -> str:
    """What happened to a kernel, in a line."""
    if kernel.match is Match.VANISHED:
        return "is not in the second capture"
    if kernel.match is Match.APPEARED:
        return "is not in the first capture"
    assert kernel.before is not None  # both sides are there, by the match
    assert kernel.after is not None
    parts = [_time_words(kernel.time), verdict_text(kernel.before.verdict, kernel.after.verdict)]
    worse = [each for each in kernel.counters if each.worse]
    if worse and kernel.time.outcome is not TimeOutcome.FASTER and not kernel.other_work:
        parts.insert(
            1,
            "more " + worse[0].label
            if worse[0].after > worse[0].before
            else "fewer " + worse[0].label,
        )
    return "; ".join(parts)


def summary(comparison: Comparison) -> str:
    """What happened, in a line: of the only kernel, else counted."""
    kernels = comparison.kernels
    if len(kernels) == 1:
        return headline(kernels[0])
    counted = []
    for outcome in (
        TimeOutcome.SLOWER,
        TimeOutcome.FASTER,
        TimeOutcome.SAME,
        TimeOutcome.UNDECIDED,
    ):
        found = sum(each.time.outcome is outcome for each in kernels)
        if found:
            counted.append(f"{found} {_COUNTED[outcome]}")
    unknown = sum(
        each.time.outcome not in _COUNTED and each.match not in {Match.VANISHED, Match.APPEARED}
        for each in kernels
    )
    if unknown:
        counted.append(f"{unknown} whose times are not compared")
    for kind, words in ((Match.VANISHED, "vanished"), (Match.APPEARED, "new")):
        found = sum(each.match is kind for each in kernels)
        if found:
            counted.append(f"{found} {words}")
    changed = sum(each.verdict_changed for each in kernels)
    text = f"{len(kernels)} kernels: {', '.join(counted)}"
    return f"{text}; {changed} with another verdict" if changed else text


_COUNTED = {
    TimeOutcome.SLOWER: "slower",
    TimeOutcome.FASTER: "faster",
    TimeOutcome.SAME: "as fast as before",
    TimeOutcome.UNDECIDED: "undecided",
}


def time_text(time: TimeChange) -> str:
    """The times with their interval and what was concluded from them."""
    words = _time_words(time)
    if time.before_ns is None or time.after_ns is None:
        return words
    text = f"{words}: {quantity(time.before_ns, 'ns')} to {quantity(time.after_ns, 'ns')}"
    if time.low is None or time.high is None or time.p is None or time.floor is None:
        return text
    return (
        f"{text} (ratio {time.ratio:.4f}, 95 % interval {time.low:.4f} to {time.high:.4f}, "
        f"p = {time.p:.1g}; noise floor {100 * time.floor:.2f} % from {time.floor_from})"
    )


def counter_text(change: CounterChange) -> str:
    """A counter before and after, by request where it is read that way."""
    if change.before_each is not None and change.after_each is not None:
        unit = f"{change.unit}/{change.each}"
        old, new = (quantity(each, unit) for each in (change.before_each, change.after_each))
        if old != new:
            return f"{change.label}: {number(change.before_each)} to {new}"
    text = f"{change.label}: {number(change.before)} to {number(change.after)} {change.unit}"
    if change.before:
        text += f" ({100 * (change.after / change.before - 1):+.3g} %)"
    return text


def verdict_text(before: Said, after: Said) -> str:
    """How the verdict changed, or that it did not."""
    old, new = before.bottleneck, after.bottleneck
    at_limit = after.status == Status.AT_LIMIT
    if after.status == Status.INCONCLUSIVE:
        return "now inconclusive" if before.status != Status.INCONCLUSIVE else "still inconclusive"
    if before.status == Status.INCONCLUSIVE:
        return f"now {new}{' at its limit' if at_limit else ''}"
    if old == new:
        if before.status == after.status:
            return f"still {new}{' at its limit' if at_limit else ''}"
        return f"now {new} at its limit" if at_limit else f"{new} is no longer at its limit"
    if before.status == Status.AT_LIMIT:
        return f"no longer {old} at its limit; now {new}{' at its limit' if at_limit else ''}"
    return f"{old} is gone; now {new}{' at its limit' if at_limit else ''}"


def launches_text(before: KernelSnapshot, after: KernelSnapshot) -> str:
    """How much more or less often a kernel is launched; empty where it is not."""
    if before.launches == after.launches:
        return ""
    text = f"launched {after.launches:,} times, {before.launches:,} before"
    if before.total_ns and after.total_ns:
        old, new = (quantity(each, "ns") for each in (before.total_ns, after.total_ns))
        text += f": {old} to {new} in all"
    return text


def other_verdicts_text(before: KernelSnapshot, after: KernelSnapshot) -> str:
    """What some launches of a kernel got and most did not; empty where all got the same."""
    told = []
    for when, side in (("before", before), ("after", after)):
        for other in side.others:
            said = other.verdict
            told.append(
                f"{when}, {other.launches:,} of {side.launches:,} launches: "
                f"{said.bottleneck or said.status}"
            )
    return "; ".join(told)


def several_text(kernel: KernelComparison) -> str:
    """That more than one kind of change was made at once; empty where it was not."""
    kinds = kernel.kinds
    if len(kinds) < 2:
        return ""
    return (
        f"{len(kinds)} kinds of change at once ({', '.join(kinds)}): which of them made the "
        "difference cannot be told; measure one at a time"
    )


def remarks(kernel: KernelComparison) -> tuple[str, ...]:
    """Everything about a kernel that is to be said beside the figures."""
    return tuple(filter(None, (*kernel.notes, several_text(kernel))))


def ratio_text(ratio: float) -> str:
    """A ratio of times, after over before: ``12.1x faster``, ``3.2 % slower``."""
    return f"{amount(ratio)} slower" if ratio > 1 else f"{amount(1 / ratio)} faster"


def _time_words(time: TimeChange) -> str:
    if time.outcome in {TimeOutcome.FASTER, TimeOutcome.SLOWER} and time.ratio:
        return ratio_text(time.ratio)
    if time.outcome is TimeOutcome.SAME:
        if not time.ratio or abs(time.ratio - 1) <= LEAST_FLOOR:
            return "as fast as before"
        return f"{ratio_text(time.ratio)}, which is within the noise"
    if time.outcome is TimeOutcome.UNDECIDED and time.ratio:
        return f"perhaps {ratio_text(time.ratio)}, and the samples do not decide"
    return (
        f"{time.outcome.value} to compare times"
        if (time.outcome is TimeOutcome.NOT_ENOUGH_SAMPLES)
        else f"times {time.outcome.value} ({time.reason})"
    )


def amount(by: float) -> str:
    """A factor over 1 as people say it: ``1.5x``, ``12 %``."""
    return factor(by) if by >= _CLEAR else f"{100 * (by - 1):.2g} %"
