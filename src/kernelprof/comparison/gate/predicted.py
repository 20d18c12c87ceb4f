"""How a prediction is judged: by its time, and by what it counts, with the lines to blame.

A clearly longer predicted time fails. What got worse fails, unless the predicted time is clearly
shorter. Where it is about the same and as much work or more went away elsewhere, only a time on a
GPU shows whether the trade pays. Counts that lie within each other's intervals are the same.

Both sides have what was counted by line (:class:`kernelprof.model.prediction.Predicted`), and a
digest of each line's text. Lines are aligned as ``difflib`` does it, so that an access that moved
down by ten lines is compared with itself. What two versions count at the same line, or at lines
that replaced each other, is subtracted.
"""

from __future__ import annotations

import difflib
import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from msgspec import structs

from kernelprof.comparison.counters import (
    BANK_CONFLICTS,
    LANES,
    LEAST,
    THREADS,
    WORK_COUNTERS,
    count_idle_lanes,
    idle_lane_growth,
    relative_change,
    sum_work,
)
from kernelprof.comparison.words import counter_text, predicted_time_text, verdict_text
from kernelprof.model.comparison import TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import Code, CounterFinding, GateFinding, Outcome
from kernelprof.model.numbers import number
from kernelprof.model.prediction import OneSided, PathCoverage
from kernelprof.model.waiting import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kernelprof.comparison.gate.policy import Limits
    from kernelprof.model.comparison import KernelComparison, TimeChange
    from kernelprof.model.json_types import Number
    from kernelprof.model.prediction import LineWork, Predicted, PredictedAccess
    from kernelprof.model.snapshot import KernelSnapshot

    LineCounter = Callable[[Predicted], Mapping[tuple[str, int], float]]

Finding = TypeVar("Finding", bound=GateFinding)

MOST_PLACES: Final = 3
"""Lines that a finding names: the one that counts most first."""

LEAST_PART: Final = 0.2
"""A line is named where it has at least this part of what the worst line has."""


class Hunk(NamedTuple):
    """Lines of the first version and those that replace them, from 1; ``stop`` is excluded."""

    old: range
    new: range


class AlignedLines(NamedTuple):
    """Two versions of a source side by side.

    ``old_of`` has the line of the first version with the same text, by the line of the second.
    """

    old_of: Mapping[int, int]
    hunks: tuple[Hunk, ...]


class WorseLine(NamedTuple):
    """A line of the second version with what it counts there, and what the first counts for it."""

    location: SourceLocation
    before: float
    after: float

    @property
    def more(self) -> float:
        """By how much it is more."""
        return self.after - self.before


_BOTH_OFF: Final = 2
"""Times the tolerance of the check by which two versions may differ: each may be off by it."""


def align_lines(before: Sequence[str], after: Sequence[str]) -> AlignedLines:
    """Two versions by the digests of their lines; an empty digest is an empty line."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    old_of: dict[int, int] = {}
    hunks = []
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        old, new = range(i + 1, i_end + 1), range(j + 1, j_end + 1)
        if tag == "equal":
            old_of.update(zip(new, old, strict=True))
        elif any(before[i:i_end]) or any(after[j:j_end]):
            hunks.append(Hunk(old, new))
    return AlignedLines(old_of, tuple(hunks))


def worse_lines(name: str, before: Predicted, after: Predicted) -> tuple[WorseLine, ...]:
    """List the lines of the second version at which a counter of :data:`LINE_COUNTERS` is more."""
    if name not in LINE_COUNTERS:
        return ()
    lines = sorted(
        _differences(LINE_COUNTERS[name], before, after),
        key=lambda each: (-each.more, each.location),
    )
    least = LEAST_PART * lines[0].more if lines else 0.0
    return tuple(each for each in lines if each.more > 0 and each.more >= least)[:MOST_PLACES]


def changed_lines(
    before: Predicted, after: Predicted, near: Sequence[SourceLocation]
) -> tuple[SourceLocation, ...]:
    """List changed lines of the second version, those nearest to ``near`` first, one a hunk.

    Lines above come before lines below: they mostly decide what an access does.
    """
    at = next((each.line for each in near if each.file == after.file), 0)
    lines = []
    for hunk in align_lines(before.text, after.text).hunks:
        written = [line for line in hunk.new if after.text[line - 1]]
        behind = min(hunk.new.start, max(len(after.text), 1))
        lines.append(min(written, key=lambda line: abs(at - line), default=behind))
    ordered = sorted(lines, key=lambda line: (line > at > 0, abs(at - line)))
    return tuple(SourceLocation(after.file, line) for line in ordered[:MOST_PLACES])


def _differences(count: LineCounter, before: Predicted, after: Predicted) -> Iterator[WorseLine]:
    # What each line has on both sides; of lines that were replaced, all of a hunk together
    old, new = count(before), count(after)
    old_of, hunks = align_lines(before.text, after.text)
    replaced = {line: hunk for hunk in hunks for line in hunk.new}
    together: dict[Hunk, list[int]] = defaultdict(list)
    for (file, line), value in new.items():
        if file == after.file and line in replaced:
            together[replaced[line]].append(line)
            continue
        same = (before.file, old_of.get(line, 0)) if file == after.file else (file, line)
        yield WorseLine(SourceLocation(file, line), old.get(same, 0.0), value)
    for hunk, lines in together.items():
        # The hunk's old lines stand for its new ones in the proportion of what these count.
        now = sum(new[after.file, line] for line in lines)
        was = sum(old.get((before.file, line), 0.0) for line in hunk.old)
        for line in lines:
            value = new[after.file, line]
            part = was * value / now if now else 0.0
            yield WorseLine(SourceLocation(after.file, line), part, value)


def _count_accesses(
    space: str, value: Callable[[PredictedAccess], float], *kinds: str
) -> LineCounter:
    def count(side: Predicted) -> dict[tuple[str, int], float]:
        totals: dict[tuple[str, int], float] = defaultdict(float)
        for each in side.accesses:
            if each.space == space and (not kinds or each.kind in kinds):
                totals[each.file, each.line] += value(each)
        return totals

    return count


def _count_lines(value: Callable[[LineWork], float]) -> LineCounter:
    return lambda side: {(each.file, each.line): value(each) for each in side.lines}


def _moved(each: PredictedAccess) -> float:
    return each.moved.value if each.moved else 0.0


def _requests(each: PredictedAccess) -> float:
    return each.requests.value


LINE_COUNTERS: Final[Mapping[str, LineCounter]] = {
    "global_load_sectors": _count_accesses("global", _moved, "load"),
    "global_sectors": _count_accesses("global", _moved),
    "local_sectors": _count_accesses("local", _moved),
    "shared_wavefronts": _count_accesses("shared", _moved),
    BANK_CONFLICTS: _count_accesses(
        "shared", lambda each: _moved(each) - (each.ideal.value if each.ideal else 0.0)
    ),
    "global_atomic_requests": _count_accesses("global", _requests, "atomic", "compare", "count"),
    "global_reduction_requests": _count_accesses("global", _requests, "reduction"),
    "instructions": _count_lines(lambda each: each.instructions.value),
    THREADS: _count_lines(lambda each: LANES * each.instructions.value - each.threads.value),
}
"""What each counter is the sum of, by line. Of threads those are counted that are missing."""


_ROOM: Final = {THREADS: 0.01}
"""By how much a counter may get worse where the policy says nothing: an instruction more or less
in a divergent part makes lanes idle, as another compiler makes it."""

_UNCHECKED: Final = "this code behaves differently at the real sizes than at the check sizes"
_NEVER_RUN: Final = "no sampled block ran this code; other blocks or other data may reach it"

_OPEN: Final = 0.05
"""By how much more the upper end of an interval may be than what either version counts."""

LEAST_SAVED: Final = 0.01
"""Part of all work that has to go away for a trade: another compiler saves or adds that much."""

_DIGITS: Final = 5
"""Of a ratio of counts, of which files have seven."""

_TRADE: Final = (
    "other work counters decreased by at least as much in total: measure on a GPU whether the "
    "kernel is faster"
)


def findings(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot, limits: Limits
) -> Iterator[GateFinding]:
    """What the times and counters of two predictions say, and that the verdict is another."""
    old, new = before.predicted, after.predicted
    assert old is not None  # the caller has looked
    assert new is not None
    counters = [
        _at_worse_lines(each, old, new) for each in _counter_findings(kernel, before, after, limits)
    ]
    # The line that adds work is why the time is longer.
    at = next((each.places for each in counters if each.outcome is Outcome.REGRESSION), ())
    for each in _time_findings(kernel.time, limits):
        yield structs.replace(each, places=at) if at else _with_places(each, [], old, new)
    yield from counters
    yield from _not_covered(before, after, old, new)
    for name in kernel.lacking:
        text = (
            f"{name} is missing in the baseline or the candidate: predict both with the same "
            "kernelprof version"
        )
        yield GateFinding(Code.COUNTER_MISSING, Outcome.INCONCLUSIVE, text)
    statuses = {before.verdict.status, after.verdict.status}
    if kernel.verdict_changed and Status.INCONCLUSIVE not in statuses:
        text = verdict_text(before.verdict, after.verdict)
        yield GateFinding(Code.VERDICT_CHANGED, Outcome.PASS, f"predicted: {text}")


def _counter_findings(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot, limits: Limits
) -> Iterator[CounterFinding]:
    trade = _is_trade(kernel, before)
    for change in kernel.counters:
        metric, text, increase = change.metric, counter_text(change), relative_change(change)
        if metric == THREADS:
            increase = abs(idle_lane_growth(before, after))
            sides = " to ".join(number(count_idle_lanes(each)) for each in (before, after))
            text += f"; idle lanes, summed over warp instructions: {sides}"
        if increase < LEAST or change.worse is None:
            continue
        if not change.worse:
            yield CounterFinding(Code.COUNTER_BETTER, Outcome.PASS, text, metric=metric)
            continue
        outcome = limits.counter_worse
        if increase <= limits.max_increase.get(metric, _ROOM.get(metric, 0.0)):
            outcome = Outcome.PASS
        elif kernel.time.outcome is TimeOutcome.FASTER:
            outcome, text = Outcome.PASS, f"{text}; the predicted time is shorter"
        elif trade and outcome is Outcome.REGRESSION:
            outcome, text = Outcome.INCONCLUSIVE, f"{text}; {_TRADE}"
        yield CounterFinding(Code.COUNTER_WORSE, outcome, text, metric=metric)


def _at_worse_lines(finding: CounterFinding, old: Predicted, new: Predicted) -> CounterFinding:
    if finding.code is not Code.COUNTER_WORSE:
        return finding
    worse = worse_lines(finding.metric, old, new)
    return _with_places(finding, [e.location for e in worse if e.location.line], old, new)


def _time_findings(time: TimeChange, limits: Limits) -> Iterator[GateFinding]:
    if time.outcome not in {TimeOutcome.SLOWER, TimeOutcome.FASTER}:
        return
    text = f"predicted: {predicted_time_text(time)}"
    if time.outcome is TimeOutcome.SLOWER:
        yield GateFinding(Code.SLOWER, limits.judge_slowdown(time.ratio), text)
    else:
        yield GateFinding(Code.FASTER, Outcome.PASS, text)


def _not_covered(
    before: KernelSnapshot, after: KernelSnapshot, old: Predicted, new: Predicted
) -> Iterator[GateFinding]:
    # What equal counts do not show, because of lines that the change made or made reachable
    was, now = old.coverage or PathCoverage(), new.coverage
    if now is None or old.code == new.code:
        return
    for text, lines in _lines_not_covered(old, new, was, now):
        yield _with_places(_uncovered(text), list(lines)[:MOST_PLACES], old, new)
    if not now.sampled and (was.sampled or old.coverage is None):
        text = (
            "some rare branches were not sampled: there are too many, or their blocks take too "
            "long to simulate"
        )
        yield _with_places(_uncovered(text), [], old, new)
    if text := _describe_difference(old, new) or _describe_missing_bytes(was, now):
        yield _with_places(_uncovered(text), [], old, new)
    for name in WORK_COUNTERS:
        ends = [
            each.spread.get(name, (each.metrics.get(name, 0.0),) * 2) for each in (before, after)
        ]
        counts = [ends[0][1], *(each.metrics.get(name, 0.0) for each in (before, after))]
        if ends[1][1] > (1 + _OPEN) * max(counts) > 0:
            text = (
                f"the sampled blocks give only a loose upper bound for {name}: {number(ends[1][1])}"
            )
            yield _with_places(_uncovered(text), [], old, new)
            return


def _lines_not_covered(
    old: Predicted, new: Predicted, was: PathCoverage, now: PathCoverage
) -> Iterator[tuple[str, Iterable[SourceLocation]]]:
    # Lines that had not been so in the first version, with what is not covered of them
    old_of, hunks = align_lines(old.text, new.text)
    replaced = {line: hunk for hunk in hunks for line in hunk.new}
    removed = [line for hunk in hunks for line in hunk.old]
    ran = {(each.file, each.line) for each in new.lines}

    def before_of(file: str, line: int) -> Iterable[tuple[str, int]]:
        if file != new.file:
            return ((file, line),)
        if line not in replaced:
            return ((old.file, old_of.get(line, 0)),)
        moved = [each for each in removed if old.text[each - 1] == new.text[line - 1]]
        return tuple((old.file, each) for each in (*replaced[line].old, *moved))

    for earlier, later, text in (
        (was.never_run, now.never_run, _NEVER_RUN),
        (was.unchecked, now.unchecked, _UNCHECKED),
        (was.untimed, now.untimed, "this code sleeps or reads clocks: counts do not show its time"),
    ):
        there = {(each.file, each.line) for each in earlier}
        lines = []
        for each in later:
            # Of a line that ran, another copy of its code may not have.
            here = each.file, each.line
            is_old = each.line not in replaced or (text is _NEVER_RUN and here in ran)
            if not (is_old and there.intersection(before_of(*here))):
                lines.append(each)
        if lines:
            yield text, lines
    # Only changed lines: elsewhere another choice of registers makes other instructions.
    left = Counter(was.one_sided)
    added: dict[SourceLocation, None] = {}
    for file, line, what in now.one_sided:
        if file == new.file and line in replaced:
            same = (OneSided(*place, what) for place in before_of(file, line))
            used = next((key for key in same if left[key] > 0), None)
            if used is None:
                added[SourceLocation(file, line)] = None
            else:
                left[used] -= 1
    if added:
        yield (
            "a comparison, clamp or mask in this code had only one outcome for all input values "
            "tried",
            added,
        )
    yield from _lines_of_other_trips(old, new, old_of)


def _lines_of_other_trips(
    old: Predicted, new: Predicted, old_of: Mapping[int, int]
) -> Iterator[tuple[str, Iterable[SourceLocation]]]:
    # Unchanged lines that the same blocks run a little more or less often: what for, is not known
    if (old.blocks, old.blocks_run) != (new.blocks, new.blocks_run):
        return
    before = {each.line: each.instructions.value for each in old.lines if each.file == old.file}
    by_change: dict[float, list[SourceLocation]] = defaultdict(list)
    for each in new.lines:
        if each.file == new.file and (then := before.get(old_of.get(each.line, 0))):
            change = round(each.instructions.value / then - 1, _DIGITS)
            by_change[change].append(SourceLocation(each.file, each.line))
    for change, lines in by_change.items():
        # The compiler changes the instructions of a line, but not those of two in proportion.
        if 0 < abs(change) < LEAST_SAVED and len(lines) > 1:
            often = "more" if change > 0 else "less"
            text = (
                f"these lines are unchanged, but run {often} often ({change:+.2%}): check "
                "which input values cause this"
            )
            yield text, lines


def _describe_difference(old: Predicted, new: Predicted) -> str:
    # The output that differs most at the measured size, where the sampled blocks wrote both
    others = {(each.name, each.inputs, each.extreme): each for each in old.outputs}
    worst, text = 0.0, ""
    for each in new.outputs:
        other = others.get((each.name, each.inputs, each.extreme))
        if other is None:
            continue
        earlier = dict(zip(other.places, other.values, strict=True))
        finite = [value for value in earlier.values() if value is not None]
        usual = math.hypot(*finite) / math.sqrt(max(len(finite), 1))
        allowed = _BOTH_OFF * max(each.tolerance, other.tolerance)
        if each.shared and other.shared and set(each.places) != set(other.places):
            return f"the same blocks write other elements of {each.name} than before"
        for place, after in zip(each.places, each.values, strict=True):
            before = earlier.get(place, after)
            if before is None and each.extreme:
                continue
            error = _relative_error(before, after, usual) if before != after else 0.0
            if error > max(worst, allowed):
                worst = error
                where = (
                    "for much larger input values than specified"
                    if each.extreme
                    else "at the real sizes"
                )
                text = (
                    f"the result differs {where}: {each.name}[{place}] is "
                    f"{_format_value(after)}, previously {_format_value(before)}"
                )
    return text


def _relative_error(before: Number | None, after: Number | None, usual: float) -> float:
    if before is None or after is None:
        return math.inf
    return abs(after - before) / (max(abs(before), usual) or 1.0)


def _format_value(value: Number | None) -> str:
    return "no finite number" if value is None else f"{value:.6g}"


def _describe_missing_bytes(was: PathCoverage, now: PathCoverage) -> str:
    # Where outputs can lack values that the first version wrote; it may have written some twice
    before, after = was.written_bytes, now.written_bytes
    if before is None or after is None or now.output_bytes is None:
        return ""
    if after.high >= min(before.low, now.output_bytes):
        return ""
    sides = f"{number(after.value)} instead of {number(before.value)}"
    return f"fewer bytes are written at the real sizes: {sides}"


def _uncovered(text: str) -> GateFinding:
    return GateFinding(Code.NOT_COVERED, Outcome.INCONCLUSIVE, text)


def wrong_result(before: KernelSnapshot | None, after: KernelSnapshot) -> GateFinding:
    """A kernel that gives a wrong result, or does what none may; of a prediction with the lines."""
    new = after.predicted
    mistake = None if new is None else new.mistake
    if new is None or mistake is None:
        text = "the result differs from the reference"
        return GateFinding(Code.WRONG_RESULT, Outcome.REGRESSION, text)
    text = ": ".join(filter(None, (mistake.what, mistake.details)))
    finding = GateFinding(Code.WRONG_RESULT, Outcome.REGRESSION, text)
    old = None if before is None else before.predicted
    at = [SourceLocation(mistake.file, mistake.line)] if mistake.line else []
    return _with_places(finding, at, old or new, new)


def _with_places(
    finding: Finding, at: list[SourceLocation], old: Predicted, new: Predicted
) -> Finding:
    wrote = changed_lines(old, new, at)
    text = f"{finding.text}; at {_format_places(at)}" if at else finding.text
    if others := [each for each in wrote if each not in at]:
        same = {each.file for each in others} == {each.file for each in at}
        text += f"; changed: {_format_lines(others) if same else _format_places(others)}"
    places = (*wrote, *(each for each in at if each not in wrote))
    return structs.replace(finding, text=text, places=places)


def _format_lines(places: list[SourceLocation]) -> str:
    word = "line" if len(places) == 1 else "lines"
    return f"{word} {', '.join(str(each.line) for each in places)}"


def _format_places(places: list[SourceLocation]) -> str:
    lines = defaultdict(list)
    for each in places:
        lines[each.file].append(str(each.line))
    return ", ".join(f"{file}:{', '.join(numbers)}" for file, numbers in lines.items())


def _is_trade(kernel: KernelComparison, before: KernelSnapshot) -> bool:
    # Whether at least as much work went away as was added, and enough to be worth it
    by = [each.after - each.before for each in kernel.counters if each.metric in WORK_COUNTERS]
    added, saved = sum(each for each in by if each > 0), -sum(each for each in by if each < 0)
    return saved > LEAST_SAVED * sum_work(before) and saved >= added
