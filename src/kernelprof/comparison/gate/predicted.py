"""How a prediction is judged: by what it counts, with the lines to blame, and without any time.

What got worse fails, unless as much work or more went away elsewhere: whether such a trade pays,
only a time on a GPU tells. Counts that lie within each other's intervals are the same.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.comparison.costs import LEAST, THREADS, WORK, idle_lanes, more_idle, whole
from kernelprof.comparison.lines import changed, worse_lines
from kernelprof.comparison.words import counter_text, verdict_text
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import Code, Finding, Outcome, Place
from kernelprof.model.numbers import number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelprof.comparison.gate.policy import Limits
    from kernelprof.model.comparison import CounterChange, KernelComparison
    from kernelprof.model.prediction import Predicted
    from kernelprof.model.snapshot import KernelSnapshot

_ROOM: Final = {THREADS: 0.01}
"""By how much a counter may get worse where the policy says nothing: an instruction more or less
in a divergent part makes lanes idle, as another compiler makes it."""

LEAST_SAVED: Final = 0.01
"""Part of all work that has to go away for a trade: another compiler saves or adds that much."""

_TRADE: Final = "as much work went away elsewhere: a time on a GPU tells whether it pays"


def findings(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot, limits: Limits
) -> Iterator[Finding]:
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
            found = _worse(change.metric, increase, text, limits, trade=trade)
            yield with_lines(found, change.metric, old, new)
        elif change.worse is False:
            yield Finding(Code.COUNTER_BETTER, Outcome.PASS, text, metric=change.metric)
    for name in kernel.lacking:
        text = f"only one side has {name}: predict both with the same version of kernelprof"
        yield Finding(Code.COUNTER_MISSING, Outcome.INCONCLUSIVE, text)
    statuses = {before.verdict.status, after.verdict.status}
    if kernel.verdict_changed and Status.INCONCLUSIVE not in statuses:
        text = verdict_text(before.verdict, after.verdict)
        yield Finding(Code.VERDICT_CHANGED, Outcome.PASS, f"{text}, as predicted")


def wrong(before: KernelSnapshot | None, after: KernelSnapshot) -> Finding:
    """A kernel that gives a wrong result, or does what none may; of a prediction with the lines."""
    new = after.predicted
    mistake = None if new is None else new.mistake
    if new is None or mistake is None:
        text = "its result differs from the reference"
        return Finding(Code.WRONG_RESULT, Outcome.REGRESSION, text)
    text = ": ".join(filter(None, (mistake.what, mistake.details)))
    found = Finding(Code.WRONG_RESULT, Outcome.REGRESSION, text)
    old = None if before is None else before.predicted
    at = [Place(mistake.file, mistake.line)] if mistake.line else []
    return _at(found, at, old or new, new)


def _increase(change: CounterChange, before: KernelSnapshot, after: KernelSnapshot) -> float:
    """By which part a counter changed; of divergence, by which part of all lanes."""
    if change.metric == THREADS:
        return abs(more_idle(before, after))
    return abs(change.after / change.before - 1) if change.before else math.inf


def _worse(metric: str, increase: float, text: str, limits: Limits, *, trade: bool) -> Finding:
    outcome = limits.counter_worse
    if increase <= limits.max_increase.get(metric, _ROOM.get(metric, 0.0)):
        outcome = Outcome.PASS
    elif trade and outcome is Outcome.REGRESSION:
        outcome, text = Outcome.INCONCLUSIVE, f"{text}; {_TRADE}"
    return Finding(Code.COUNTER_WORSE, outcome, text, metric=metric)


def with_lines(finding: Finding, metric: str, old: Predicted, new: Predicted) -> Finding:
    """A finding with the lines at which its counter is more, and those that were changed."""
    at = [each.place for each in worse_lines(metric, old, new) if each.place.line]
    return _at(finding, at, old, new)


def _at(finding: Finding, at: list[Place], old: Predicted, new: Predicted) -> Finding:
    wrote = changed(old, new, at)
    parts = []
    if at:
        parts.append(f"at {_named(at)}")
    if others := [each for each in wrote if each not in at]:
        parts.append(f"changed: {_named(others)}")
    places = (*wrote, *(each for each in at if each not in wrote))
    text = "; ".join((finding.text, *parts))
    return replace(finding, text=text, places=places)


def _named(places: list[Place]) -> str:
    """``gemm.cu:14, 15``: lines of one file after its name."""
    lines: dict[str, list[str]] = {}
    for each in places:
        lines.setdefault(each.file, []).append(str(each.line))
    return ", ".join(f"{file}:{', '.join(found)}" for file, found in lines.items())


def _is_trade(kernel: KernelComparison, before: KernelSnapshot) -> bool:
    """Whether at least as much work went away as was added, and enough to be worth it."""
    by = [each.after - each.before for each in kernel.counters if each.metric in WORK]
    added, saved = sum(each for each in by if each > 0), -sum(each for each in by if each < 0)
    return saved > LEAST_SAVED * whole(before) and saved >= added
