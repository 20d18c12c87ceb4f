"""How a prediction is judged: by what it counts, with the lines to blame, and without any time.

What got worse fails, unless as much work or more went away elsewhere: whether such a trade pays,
only a time on a GPU shows. Counts that lie within each other's intervals are the same.

Both sides have what was counted by line (:class:`kernelprof.model.prediction.Predicted`), and a
digest of each line's text. Lines are aligned as ``difflib`` does it, so that an access that moved
down by ten lines is compared with itself. What two versions count at the same line, or at lines
that replaced each other, is subtracted.
"""

from __future__ import annotations

import difflib
import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec import structs

from kernelprof.comparison.counters import (
    BANK_CONFLICTS,
    LEAST,
    THREADS,
    WORK,
    idle_lanes,
    more_idle,
    total_work,
)
from kernelprof.comparison.words import counter_text, verdict_text
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import Code, CounterFinding, GateFinding, Outcome
from kernelprof.model.numbers import number
from kernelprof.model.waiting import SourceLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from kernelprof.model.prediction import Amount, LineWork, Predicted, PredictedAccess

    Where = tuple[str, int]
    Counts = Mapping[Where, float]
    OfAccess = Callable[[PredictedAccess], float]
    from kernelprof.comparison.gate.policy import Limits
    from kernelprof.model.comparison import CounterChange, KernelComparison
    from kernelprof.model.snapshot import KernelSnapshot

_LANES: Final = 32

MOST_PLACES: Final = 3
"""Lines that a finding names: the one that counts most first."""

LEAST_PART: Final = 0.2
"""A line is named where it has at least this part of what the worst line has."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines of the first version and those that replace them, from 1; ``stop`` is excluded."""

    old: range
    new: range


@dataclass(frozen=True, slots=True)
class AlignedLines:
    """Two versions of a source side by side."""

    old_of: Mapping[int, int]
    """The line of the first version with the same text, by the line of the second."""
    hunks: tuple[Hunk, ...]


@dataclass(frozen=True, slots=True)
class WorseLine:
    """A line of the second version with what it counts there, and what the first counts for it."""

    location: SourceLocation
    before: float
    after: float

    @property
    def more(self) -> float:
        """By how much it is more."""
        return self.after - self.before


def align_lines(before: Sequence[str], after: Sequence[str]) -> AlignedLines:
    """Two versions by the digests of their lines; an empty digest is an empty line."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    old_of: dict[int, int] = {}
    hunks = []
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag == "equal":
            old_of.update(zip(range(j + 1, j_end + 1), range(i + 1, i_end + 1), strict=True))
        elif any(before[i:i_end]) or any(after[j:j_end]):
            hunks.append(Hunk(range(i + 1, i_end + 1), range(j + 1, j_end + 1)))
    return AlignedLines(old_of, tuple(hunks))


def worse_lines(name: str, before: Predicted, after: Predicted) -> tuple[WorseLine, ...]:
    """List the lines of the second version at which a counter of :data:`LINE_COUNTERS` is more."""
    count = LINE_COUNTERS.get(name)
    if count is None:
        return ()
    sides = align_lines(before.text, after.text)
    lines = sorted(
        _differences(count(before), count(after), sides, (before.file, after.file)),
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
    own = [each.line for each in near if each.file == after.file]
    at = own[0] if own else 0
    lines = [_line_of(hunk, after.text, at) for hunk in align_lines(before.text, after.text).hunks]
    ordered = sorted(lines, key=lambda line: (line > at > 0, abs(at - line)))
    return tuple(SourceLocation(after.file, line) for line in ordered[:MOST_PLACES])


def _line_of(hunk: Hunk, text: Sequence[str], at: int) -> int:
    written = [line for line in hunk.new if text[line - 1]]
    behind = min(hunk.new.start, max(len(text), 1))
    return min(written, key=lambda line: abs(at - line), default=behind)


def _differences(
    before: Counts, after: Counts, sides: AlignedLines, files: tuple[str, str]
) -> Iterator[WorseLine]:
    # What each line has on both sides; of lines that were replaced, all of a hunk together
    own_before, own_after = files
    replaced = {line: hunk for hunk in sides.hunks for line in hunk.new}
    together: dict[Hunk, list[int]] = defaultdict(list)
    for (file, line), value in after.items():
        if file != own_after:
            yield WorseLine(SourceLocation(file, line), before.get((file, line), 0.0), value)
        elif line in replaced:
            together[replaced[line]].append(line)
        else:
            old = sides.old_of.get(line, 0)
            yield WorseLine(SourceLocation(file, line), before.get((own_before, old), 0.0), value)
    for hunk, lines in together.items():
        # The hunk's old lines stand for its new ones in the proportion of what these count.
        now = sum(after[own_after, line] for line in lines)
        was = sum(before.get((own_before, line), 0.0) for line in hunk.old)
        for line in lines:
            value = after[own_after, line]
            yield WorseLine(
                SourceLocation(own_after, line), was * value / now if now else 0.0, value
            )


def _by_access(value: OfAccess, *spaces: str, kinds: Iterable[str] = ()) -> Callable[..., Counts]:
    wanted = frozenset(kinds)

    def count(side: Predicted) -> Counts:
        totals: dict[Where, float] = defaultdict(float)
        for each in side.accesses:
            if each.space in spaces and (not wanted or each.kind in wanted):
                totals[each.file, each.line] += value(each)
        return totals

    return count


def _by_line(value: Callable[[LineWork], float]) -> Callable[[Predicted], Counts]:
    return lambda side: {(each.file, each.line): value(each) for each in side.lines}


def _sectors(each: PredictedAccess) -> float:
    return _value(each.sectors)


def _wavefronts(each: PredictedAccess) -> float:
    return _value(each.wavefronts)


def _conflicts(each: PredictedAccess) -> float:
    return _value(each.wavefronts) - _value(each.ideal)


def _requests(each: PredictedAccess) -> float:
    return each.requests.value


def _value(amount: Amount | None) -> float:
    return 0.0 if amount is None else amount.value


ATOMICS: Final = ("atomic", "compare", "count")

LINE_COUNTERS: Final[Mapping[str, Callable[[Predicted], Counts]]] = {
    "global_load_sectors": _by_access(_sectors, "global", kinds=("load",)),
    "global_sectors": _by_access(_sectors, "global"),
    "local_sectors": _by_access(_sectors, "local"),
    "shared_wavefronts": _by_access(_wavefronts, "shared"),
    BANK_CONFLICTS: _by_access(_conflicts, "shared"),
    "global_atomic_requests": _by_access(_requests, "global", kinds=ATOMICS),
    "global_reduction_requests": _by_access(_requests, "global", kinds=("reduction",)),
    "instructions": _by_line(lambda each: each.instructions.value),
    "threads_per_instruction": _by_line(
        lambda each: _LANES * each.instructions.value - each.threads.value
    ),
}
"""What each counter is the sum of, by line. Of threads those are counted that are missing."""


_ROOM: Final = {THREADS: 0.01}
"""By how much a counter may get worse where the policy says nothing: an instruction more or less
in a divergent part makes lanes idle, as another compiler makes it."""

LEAST_SAVED: Final = 0.01
"""Part of all work that has to go away for a trade: another compiler saves or adds that much."""

_TRADE: Final = "as much work went away elsewhere: a time on a GPU tells whether it pays"


def findings(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot, limits: Limits
) -> Iterator[GateFinding]:
    """What the counters of two predictions say, and that the verdict is another."""
    old, new = before.predicted, after.predicted
    assert old is not None  # the caller has looked
    assert new is not None
    trade = _is_trade(kernel, before)
    for change in kernel.counters:
        increase = _increase(change, before, after)
        if increase < LEAST:
            continue
        text = counter_text(change)
        if change.metric == THREADS:
            sides = " to ".join(number(idle_lanes(each)) for each in (before, after))
            text += f"; idle lanes of warps: {sides}"
        if change.worse:
            finding = _worse(change.metric, increase, text, limits, trade=trade)
            yield with_lines(finding, change.metric, old, new)
        elif change.worse is False:
            yield CounterFinding(Code.COUNTER_BETTER, Outcome.PASS, text, metric=change.metric)
    for name in kernel.lacking:
        text = f"only one side has {name}: predict both with the same version of kernelprof"
        yield GateFinding(Code.COUNTER_MISSING, Outcome.INCONCLUSIVE, text)
    statuses = {before.verdict.status, after.verdict.status}
    if kernel.verdict_changed and Status.INCONCLUSIVE not in statuses:
        text = verdict_text(before.verdict, after.verdict)
        yield GateFinding(Code.VERDICT_CHANGED, Outcome.PASS, f"{text}, as predicted")


def wrong_result(before: KernelSnapshot | None, after: KernelSnapshot) -> GateFinding:
    """A kernel that gives a wrong result, or does what none may; of a prediction with the lines."""
    new = after.predicted
    mistake = None if new is None else new.mistake
    if new is None or mistake is None:
        text = "its result differs from the reference"
        return GateFinding(Code.WRONG_RESULT, Outcome.REGRESSION, text)
    text = ": ".join(filter(None, (mistake.what, mistake.details)))
    finding = GateFinding(Code.WRONG_RESULT, Outcome.REGRESSION, text)
    old = None if before is None else before.predicted
    at = [SourceLocation(mistake.file, mistake.line)] if mistake.line else []
    return _with_places(finding, at, old or new, new)


def _increase(change: CounterChange, before: KernelSnapshot, after: KernelSnapshot) -> float:
    if change.metric == THREADS:
        return abs(more_idle(before, after))
    return abs(change.after / change.before - 1) if change.before else math.inf


def _worse(metric: str, increase: float, text: str, limits: Limits, *, trade: bool) -> GateFinding:
    outcome = limits.counter_worse
    if increase <= limits.max_increase.get(metric, _ROOM.get(metric, 0.0)):
        outcome = Outcome.PASS
    elif trade and outcome is Outcome.REGRESSION:
        outcome, text = Outcome.INCONCLUSIVE, f"{text}; {_TRADE}"
    return CounterFinding(Code.COUNTER_WORSE, outcome, text, metric=metric)


def with_lines(finding: GateFinding, metric: str, old: Predicted, new: Predicted) -> GateFinding:
    """A finding with the lines at which its counter is more, and those that were changed."""
    at = [each.location for each in worse_lines(metric, old, new) if each.location.line]
    return _with_places(finding, at, old, new)


def _with_places(
    finding: GateFinding, at: list[SourceLocation], old: Predicted, new: Predicted
) -> GateFinding:
    wrote = changed_lines(old, new, at)
    parts = []
    if at:
        parts.append(f"at {_format_places(at)}")
    if others := [each for each in wrote if each not in at]:
        parts.append(f"changed: {_format_places(others)}")
    places = (*wrote, *(each for each in at if each not in wrote))
    text = "; ".join((finding.text, *parts))
    return structs.replace(finding, text=text, places=places)


def _format_places(places: list[SourceLocation]) -> str:
    lines: dict[str, list[str]] = {}
    for each in places:
        lines.setdefault(each.file, []).append(str(each.line))
    return ", ".join(f"{file}:{', '.join(numbers)}" for file, numbers in lines.items())


def _is_trade(kernel: KernelComparison, before: KernelSnapshot) -> bool:
    # Whether at least as much work went away as was added, and enough to be worth it
    by = [each.after - each.before for each in kernel.counters if each.metric in WORK]
    added, saved = sum(each for each in by if each > 0), -sum(each for each in by if each < 0)
    return saved > LEAST_SAVED * total_work(before) and saved >= added
