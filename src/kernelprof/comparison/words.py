"""Sentences and short words of comparisons and of the gate, as every output shows them."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.ncu_command import PLACEHOLDER
from kernelprof.comparison.counters import most_costly
from kernelprof.comparison.times import LEAST_FLOOR
from kernelprof.model import names
from kernelprof.model.comparison import Match, TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import Code, CounterFinding, Outcome
from kernelprof.model.names import join_words
from kernelprof.model.numbers import count, factor, number, quantity
from kernelprof.model.snapshot import EVENTS, PROFILER

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from kernelprof.model.comparison import (
        ComparedCounter,
        Comparison,
        CounterChange,
        KernelComparison,
        TimeChange,
    )
    from kernelprof.model.diagnosis import Verdict
    from kernelprof.model.gate import GateResult, KernelResult
    from kernelprof.model.snapshot import KernelSnapshot, Snapshot
    from kernelprof.model.waiting import SourceLocation

_TWICE: Final = 2.0
_MANY: Final = 10.0
"""From this factor on a counter's change is one, below it a percentage."""
_CLEAR: Final = 1.5
"""From this factor on people say "1.5x slower", below it "12 % slower"."""


def headline(kernel: KernelComparison, metrics: Collection[str] = ()) -> str:
    """What happened to a kernel, in a line; of a prediction's counters these, if any are given."""
    if kernel.match is Match.VANISHED:
        return "is only in the first input"
    if kernel.match is Match.APPEARED:
        return "is only in the second input"
    assert kernel.before is not None  # both sides are there, by the match
    assert kernel.after is not None
    if kernel.arch is not None:
        return _predicted_words(kernel, metrics)
    worse = next((each for each in kernel.counters if each.worse), None)
    parts = [_time_words(kernel.time), verdict_text(kernel.before.verdict, kernel.after.verdict)]
    if worse and kernel.time.outcome is not TimeOutcome.FASTER and not kernel.other_work:
        parts.insert(1, _more_or_fewer(worse))
    return "; ".join(parts)


def _predicted_words(kernel: KernelComparison, metrics: Collection[str]) -> str:
    if kernel.mistake is not None:
        return kernel.mistake.what
    if kernel.same_code:
        return "the same machine code"
    if kernel.other_work:
        return "a different amount of work"
    counters = [each for each in kernel.counters if not metrics or each.metric in metrics]
    shown = ", ".join(map(_more_or_fewer, most_costly(counters))) or "the same counts"
    if kernel.time.outcome in _DECIDED:
        shown = f"{outcome_text(kernel.time)}; {shown}"
    return f"predicted: {shown}"


def _more_or_fewer(change: CounterChange) -> str:
    return f"{'more' if change.after > change.before else 'fewer'} {change.label}"


def summary(comparison: Comparison) -> str:
    """What happened, in a line, and which slowdown would not have been found."""
    return _headlines(comparison) + _detectable(*(each.time for each in comparison.kernels))


def _detectable(*times: TimeChange) -> str:
    least = [each.smallest_detectable for each in times if each.outcome is TimeOutcome.SAME]
    sizes = [each for each in least if each is not None]
    return f"; smallest detectable: {format_range(sizes)}" if sizes else ""


def format_range(fractions: Sequence[float]) -> str:
    """The least and the largest of fractions, in percent."""
    low, high = (
        f"{100 * each:.0f}" if each >= 0.1 else f"{100 * each:.2g}"
        for each in (min(fractions), max(fractions))
    )
    return f"{low} %" if low == high else f"{low} to {high} %"


def _headlines(comparison: Comparison) -> str:
    # Of the only kernel, else counted
    kernels = comparison.kernels
    if len(kernels) == 1:
        return headline(kernels[0])
    alone = {Match.VANISHED: "vanished", Match.APPEARED: "new"}
    matched = [each for each in kernels if each.match not in alone]
    both = Counter(each.time.outcome for each in matched if each.arch is None)
    groups = [
        f"{both[outcome]} {words}" for outcome, words in _OUTCOME_WORDS.items() if both[outcome]
    ]
    unknown = sum(times for outcome, times in both.items() if outcome not in _OUTCOME_WORDS)
    if unknown:
        groups.append(f"{unknown} without a time comparison")
    predicted = Counter(counts_did(each) for each in matched if each.arch is not None)
    groups += [f"{times} with {what}" for what, times in predicted.items()]
    matches = Counter(each.match for each in kernels)
    groups += [f"{matches[kind]} {words}" for kind, words in alone.items() if matches[kind]]
    changed = sum(each.verdict_changed for each in kernels)
    text = f"{len(kernels)} kernels: {', '.join(groups)}"
    return f"{text}; {changed} with a different verdict" if changed else text


def prediction_did(kernel: KernelComparison) -> str:
    """What a prediction's time did, or its counts where the times are about equal."""
    decided = kernel.time.outcome in _DECIDED
    return outcome_text(kernel.time) if decided else counts_did(kernel)


def counts_did(kernel: KernelComparison) -> str:
    """What the counts of a prediction did, in two or three words."""
    if kernel.mistake is not None:
        return "a mistake"
    if kernel.same_code:
        return "the same machine code"
    marks = {each.worse for each in kernel.counters}
    if kernel.other_work or not marks & {True, False}:
        return "a different amount of work" if kernel.other_work else "the same counts"
    return "more work" if True in marks else "less work"


def time_text(time: TimeChange) -> str:
    """The times with their interval and what was concluded from them."""
    words = _time_words(time)
    if time.before_ns is None or time.after_ns is None:
        return words
    text = f"{words}: {quantity(time.before_ns, 'ns')} to {quantity(time.after_ns, 'ns')}"
    if time.ratio is None or time.noise_floor is None:
        return text
    details = [f"ratio {time.ratio:.4f}"]
    if time.ratio_low is not None and time.ratio_high is not None:
        details.append(f"95 % interval {time.ratio_low:.4f} to {time.ratio_high:.4f}")
    seen = ""
    if time.p is not None:
        details.append(f"p = {time.p:.1g}")
        seen = _detectable(time)
    floor = f"noise floor {100 * time.noise_floor:.2f} %: {time.noise_floor_from}"
    details[-1] += f"; {floor}{seen}"
    text += f" ({', '.join(details)})"
    return f"{text}; {time.reason}" if time.reason else text


def predicted_time_text(time: TimeChange) -> str:
    """Predicted times: ``24 ms to 18 ms: 1.3x faster (2x faster to 1.2x slower)``."""
    old, new = (quantity(each or 0.0, "ns") for each in (time.before_ns, time.after_ns))
    ends = " to ".join(ratio_text(each or 1.0) for each in (time.ratio_low, time.ratio_high))
    return f"{old} to {new}: {ratio_text(time.ratio or 1.0)} ({ends})"


def to_settle(kernel: KernelComparison, candidate: Snapshot) -> str:
    """What to measure where single launches do not decide: the command for one side."""
    inputs = kernel.after.inputs if kernel.after else None
    target = candidate.target or (("--", *PLACEHOLDER) if inputs is None else (inputs.path,))
    if candidate.surveyed:
        return (
            f"for i in 1 2 3 4 5; do kernelprof diagnose --keep runs/$i {shlex.join(target)}; done"
        )
    return shlex.join(("kernelprof", "profile", "--repeat", "5", "-o", "runs", *target))


def counter_text(change: ComparedCounter) -> str:
    """A counter before and after, by request where it is read that way."""
    if change.before_each is not None and change.after_each is not None:
        unit = f"{change.unit}/{change.each}"
        old, new = (quantity(each, unit) for each in (change.before_each, change.after_each))
        alike = (change.after > change.before) == (change.after_each > change.before_each)
        if old != new and alike:
            return f"{change.label}: {number(change.before_each)} to {new}"
    partly = " in some launches" if change.is_partial else ""
    span = f"{number(change.before)} to {number(change.after)} {change.unit}"
    text = f"{change.label}{partly}: {span}"
    if change.before:
        ratio = change.after / change.before
        by = f"{number(ratio)}x" if ratio >= _MANY else f"{100 * (ratio - 1):+.3g} %"
        text += f" ({by})"
    return text


def verdict_text(before: Verdict, after: Verdict) -> str:
    """How the verdict changed, or that it did not, and the causes behind the first."""
    return "; ".join(filter(None, (_first_text(before, after), further_text(before, after))))


def further_text(before: Verdict, after: Verdict) -> str:
    """Which causes behind the first came or went; empty where none did, or a side lists none."""
    if not (before.causes and after.causes):
        return ""
    # Another way to save the same time limits nothing beside the first.
    old, new = (
        [each.bottleneck for each in verdict.causes if each.alternative_to is None]
        for verdict in (before, after)
    )
    came = [each for each in new[1:] if all(each != other.bottleneck for other in before.causes)]
    went = [each for each in old[1:] if all(each != other.bottleneck for other in after.causes)]
    texts = ((came, "now also limited by {}"), (went, "no longer limited by {}"))
    return "; ".join(text.format(join_words(names)) for names, text in texts if names)


def _first_text(before: Verdict, after: Verdict) -> str:
    old, new = before.bottleneck, after.bottleneck
    now = f"now {new}{' at its limit' if after.status is Status.AT_LIMIT else ''}"
    if after.status is Status.INCONCLUSIVE:
        return f"{'still' if before.status is Status.INCONCLUSIVE else 'now'} inconclusive"
    if before.status is Status.INCONCLUSIVE:
        return now
    if before.answer == after.answer:
        return now.replace("now", "still", 1)
    if old == new:
        return now if after.status is Status.AT_LIMIT else f"{new} is no longer at its limit"
    if before.status is Status.AT_LIMIT:
        return f"{old} is no longer at its limit; {now}"
    return f"{old} is gone; {now}"


def totals_alike(
    before: KernelSnapshot, after: KernelSnapshot
) -> tuple[float | None, float | None]:
    """The time of all launches of one run on both sides, by the same clock where both have one."""
    for how in (EVENTS, PROFILER):
        both = before.total_by(how), after.total_by(how)
        if None not in both:
            return both
    return before.total_ns, after.total_ns


def launches_text(before: KernelSnapshot, after: KernelSnapshot) -> str:
    """How much more or less often a kernel is launched; empty where it is not."""
    if before.launches == after.launches:
        return ""
    text = f"launched {count(after.launches, 'time')}, previously {before.launches:,}"
    totals = totals_alike(before, after)
    if totals[0] and totals[1]:
        old, new = (quantity(each, "ns") for each in totals if each)
        text += f": {old} to {new} in total"
    return text


def other_verdicts_text(before: KernelSnapshot, after: KernelSnapshot) -> str:
    """What some launches of a kernel got and most did not; empty where all got the same."""
    return "; ".join(
        f"{when}: verdict {other.verdict.bottleneck or other.verdict.status} "
        f"in {other.launches:,} of {side.launches:,} launches"
        for when, side in (("before", before), ("after", after))
        for other in side.others
    )


def several_text(kernel: KernelComparison) -> str:
    """That more than one kind of change was made at once; empty where it was not."""
    kinds = kernel.kinds
    if len(kinds) < 2:
        return ""
    return (
        f"{len(kinds)} kinds of change at once ({', '.join(kinds)}): the difference cannot "
        "be attributed to one of them; measure one kind at a time"
    )


def notes(kernel: KernelComparison) -> tuple[str, ...]:
    """Everything to know about a kernel beside the figures."""
    return tuple(filter(None, (*kernel.notes, several_text(kernel))))


def outcome_text(time: TimeChange) -> str:
    """What happened to the time in a few words, for a cell or a chart."""
    ratio = _usable(time.ratio)
    if time.outcome in _DECIDED and ratio is not None:
        return ratio_text(ratio)
    if time.outcome is TimeOutcome.SAME and ratio and abs(ratio - 1) > LEAST_FLOOR:
        return "within the noise"
    return _OUTCOME_WORDS.get(time.outcome, time.outcome.value)


_DECIDED: Final = frozenset({TimeOutcome.FASTER, TimeOutcome.SLOWER})
_OUTCOME_WORDS: Final = {
    TimeOutcome.SLOWER: "slower",
    TimeOutcome.FASTER: "faster",
    TimeOutcome.SAME: "as fast as before",
    TimeOutcome.UNDECIDED: "undecided",
}


def change_text(old: float, new: float) -> str:
    """By how much a value changed, as a factor where that is large: ``6.6x less``, ``+12 %``."""
    if not (math.isfinite(old) and math.isfinite(new)) or old < 0 or new < 0 or old == new:
        return ""
    if old == 0:
        return "from none"
    if new == 0:
        return "to none"
    if new / old >= _TWICE:
        return f"{number(new / old)}x as much"
    if old / new >= _TWICE:
        return f"{number(old / new)}x less"
    return f"{signed(100 * (new / old - 1))} %"


def signed(value: float) -> str:
    """A difference with its sign."""
    return f"{'+' if value > 0 else '−'}{number(abs(value))}"


def ratio_text(ratio: float) -> str:
    """A ratio of times, after over before: ``12.1x faster``, ``3.2 % slower``."""
    return f"{format_change(ratio)} slower" if ratio > 1 else f"{format_change(1 / ratio)} faster"


def _time_words(time: TimeChange) -> str:
    if time.outcome is TimeOutcome.SAME:
        if not time.ratio or abs(time.ratio - 1) <= LEAST_FLOOR:
            return "as fast as before"
        return f"{ratio_text(time.ratio)}, which is within the noise"
    if time.outcome is TimeOutcome.NOT_ENOUGH_SAMPLES:
        return f"{time.outcome.value} to compare times"
    if time.outcome not in _OUTCOME_WORDS or not time.ratio:
        return f"times {time.outcome.value} ({time.reason})"
    if time.outcome is TimeOutcome.UNDECIDED:
        return f"perhaps {ratio_text(time.ratio)}, but the samples are inconclusive"
    return f"{ratio_text(time.ratio)}{' in total' if time.statistic == 'mean' else ''}"


def _usable(ratio: float | None) -> float | None:
    if ratio is None or not 0 < ratio < math.inf or not math.isfinite(1 / ratio):
        return None
    return ratio


def format_change(by: float) -> str:
    """A factor over 1 as people say it: ``1.5x``, ``12 %``."""
    return factor(by) if by >= _CLEAR else f"{100 * (by - 1):.2g} %"


def why(kernel: KernelResult) -> str:
    """Why a kernel's outcome is what it is, in a line."""
    first = next(iter(kernel.findings), None)
    in_headline = _IN_HEADLINE | {Code.WRONG_RESULT} if kernel.kernel.mistake else _IN_HEADLINE
    if first is None or first.outcome is Outcome.PASS or first.code in in_headline:
        text = headline(kernel.kernel, _decisive(kernel))
        return f"{text}; {location_text(first.places[0])}" if first and first.places else text
    return first.text


def reasons(kernel: KernelResult) -> str:
    """What decides a kernel's outcome, in a few words: ``slower, more global sectors``."""
    if kernel.outcome is Outcome.PASS:
        return ""
    deciding = dict.fromkeys(f.code for f in kernel.findings if f.outcome is kernel.outcome)
    return ", ".join(_reason(each, kernel) for each in deciding)


def _reason(code: Code, kernel: KernelResult) -> str:
    metrics = _decisive(kernel)
    worse = [
        each
        for each in kernel.kernel.counters
        if each.worse and (not metrics or each.metric in metrics)
    ]
    if code is Code.COUNTER_WORSE and worse:
        return _more_or_fewer(worse[0])
    return code.value.replace("-", " ")


def _decisive(kernel: KernelResult) -> Collection[str]:
    # The counters of a prediction that its outcome follows from. Of a trade they are what is more
    # and what is less for it
    shown = {kernel.outcome, Outcome.PASS} if kernel.outcome is _OPEN else {kernel.outcome}
    return {
        each.metric
        for each in kernel.findings
        if isinstance(each, CounterFinding) and each.outcome in shown
    }


_OPEN: Final = Outcome.INCONCLUSIVE


def location_text(location: SourceLocation) -> str:
    """A line as compilers and editors write it."""
    return f"{location.file}:{location.line}"


_IN_HEADLINE: Final = frozenset(
    {Code.SLOWER, Code.COUNTER_WORSE, Code.NEW_BOTTLENECK, Code.LEFT_LIMIT}
)
"""What the headline of a comparison says already, in fewer words than the finding."""


def policy_text(result: GateResult) -> str:
    """What the policy makes of the outcome, empty where that is nothing special."""
    if result.outcome is Outcome.INCONCLUSIVE and result.lets_pass:
        return "the policy allows inconclusive results"
    return "inconclusive, which the policy counts as a failure" if result.fails_inconclusive else ""


def passed_text(result: GateResult) -> str:
    """What a passed comparison found, and how many kernels the policy leaves out."""
    text = summary(result.comparison)
    ignored = sum(each.ignored for each in result.kernels)
    return f"{text}; {ignored} excluded by the policy" if ignored else text


def reason(result: GateResult) -> str:
    """The outcome and why, in a line."""
    kernels = result.deciding
    if kernels:
        text = f"{names.short_name(kernels[0].kernel.name)}: {why(kernels[0])}"
        if len(kernels) > 1:
            text = f"{len(kernels)} of {len(result.kernels)} kernels, such as {text}"
    elif result.outcome is Outcome.PASS or not result.general:
        text = passed_text(result)
    else:
        text = result.general[0].text
    note = policy_text(result)
    return f"{result.outcome.value}: {text}" + (f" ({note})" if note else "")


def gate_line(result: GateResult) -> str:
    """The outcome and how many kernels have which, in a line."""
    alone = [each for each in result.kernels if each.kernel.before is None]
    new = sum(each.outcome is Outcome.PASS for each in alone)
    outcomes = Counter(each.outcome for each in result.kernels)
    outcomes[Outcome.PASS] -= new
    groups = [f"{outcomes[each]} {words}" for each, words in _OUTCOMES.items() if outcomes[each]]
    groups += [f"{new} new"] * bool(new)
    line = f"{result.outcome.value.capitalize()}: {', '.join(groups) or 'no kernel'}."
    if result.outcome is Outcome.INCONCLUSIVE and result.lets_pass:
        line += " The policy allows inconclusive results."
    return line


_OUTCOMES: Final = {
    Outcome.REGRESSION: "worse",
    Outcome.INCONCLUSIVE: "inconclusive",
    Outcome.PASS: "passed",
}


def labels(kernels: Sequence[KernelComparison]) -> list[tuple[str, str]]:
    """Short names, each with what tells kernels of one name apart: pairs that ``fit`` joins."""
    return names.labels([side for each in kernels if (side := each.after or each.before)])
