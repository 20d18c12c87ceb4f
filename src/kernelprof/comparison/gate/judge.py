"""From a comparison and a policy to findings and an outcome.

Time, counters and verdict are judged together. A counter or a verdict that got worse fails only if
the kernel did not get faster by it: to trade instructions for time is what optimizing is. And a
verdict that changed although neither the time nor any exact counter did stands on an edge, and does
not fail: the same code gives either.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from kernelprof.comparison.counters import COUNTERS, unit_of, value
from kernelprof.comparison.floors import FEWEST_SAMPLES, clear
from kernelprof.comparison.gate import checks, predicted, whole
from kernelprof.comparison.gate.policy import PER_REQUEST, Limits, Policy
from kernelprof.comparison.words import (
    counter_text,
    launches_text,
    several_text,
    time_text,
    totals_alike,
    verdict_text,
)
from kernelprof.model.comparison import KernelComparison, Match, TimeChange, TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import Code, Finding, GateResult, KernelResult, Outcome
from kernelprof.model.kernel_name import function_name
from kernelprof.model.numbers import factor, quantity
from kernelprof.model.specification import NO_REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelprof.model.comparison import Comparison
    from kernelprof.model.snapshot import KernelSnapshot

    Judged = TypeVar("Judged", KernelResult, Finding)

WORSE_GAIN: Final = 1.1
"""The same bottleneck is a worse one where removing it would bring a tenth more than before: gains
of the same code scattered by 7 % between captures, where the verdict stayed
(``tests/captures/h200_changes``)."""

_ORDER: Final = (Outcome.PASS, Outcome.INCONCLUSIVE, Outcome.REGRESSION)
_OF_THE_CODE: Final = frozenset({Code.COUNTER_WORSE, Code.NEW_BOTTLENECK, Code.LEFT_LIMIT})


def judge(comparison: Comparison, policy: Policy, known: Iterable[Finding] = ()) -> GateResult:
    """Judge every kernel, and all together: the worst outcome counts.

    ``known`` are findings of no single kernel that were made before.
    """
    kernels = [_kernel(each, policy, comparison) for each in comparison.kernels]
    general = [*whole.damage(comparison, policy), *whole.totals(comparison, policy)]
    general += [*whole.few_launches(comparison), *known]
    if kernels and all(each.ignored for each in kernels):
        text = "the policy leaves out every kernel: nothing was judged"
        general.append(Finding(Code.IGNORED, Outcome.INCONCLUSIVE, text))
    if not any(each.kernel.before and each.kernel.after for each in kernels):
        general.append(whole.nothing_compared(comparison))
    outcome = _worst((*kernels, *general))
    if outcome is Outcome.INCONCLUSIVE and policy.inconclusive is Outcome.REGRESSION:
        outcome = Outcome.REGRESSION
    passes = policy.inconclusive is Outcome.PASS
    return GateResult(comparison, outcome, _sorted(kernels), _sorted(general), passes)


def _sorted(found: Iterable[Judged]) -> tuple[Judged, ...]:
    return tuple(sorted(found, key=lambda each: _ORDER.index(each.outcome), reverse=True))


def _worst(found: Iterable[KernelResult | Finding]) -> Outcome:
    return max((each.outcome for each in found), key=_ORDER.index, default=Outcome.PASS)


def _kernel(kernel: KernelComparison, policy: Policy, comparison: Comparison) -> KernelResult:
    if policy.ignores(kernel.name):
        found = [Finding(Code.IGNORED, Outcome.PASS, "the policy leaves this kernel out")]
    else:
        found = list(_findings(kernel, policy))
        means = policy.inconclusive_of(kernel.name)
        found = [
            replace(each, outcome=means) if each.outcome is Outcome.INCONCLUSIVE else each
            for each in found
        ]
    if any(each.kind == "compute capability" for each in comparison.machine):
        found = list(map(_of_other_code, found))
    return KernelResult(kernel, _worst(found), _sorted(found))


def _of_other_code(finding: Finding) -> Finding:
    """Code for another architecture is other code: its counters and verdicts prove nothing."""
    if finding.code not in _OF_THE_CODE or finding.outcome is not Outcome.REGRESSION:
        return finding
    text = f"{finding.text}; on another architecture, for which other code was made"
    return Finding(finding.code, Outcome.INCONCLUSIVE, text)


def _findings(kernel: KernelComparison, policy: Policy) -> Iterator[Finding]:
    before, after = kernel.before, kernel.after
    if after is None:
        text = "; ".join(("the baseline has this kernel and the candidate has not", *kernel.notes))
        yield Finding(Code.VANISHED, policy.vanished, text)
        return
    limits = policy.limits_of(after.name)
    if after.passed is False:
        yield predicted.wrong(before, after)
        if after.predicted is not None:
            return
    yield from _budgets(after, limits)
    if before is None:
        text = "the candidate has this kernel, and the baseline has not"
        if after.total_ns is not None:
            text += f": it takes {quantity(after.total_ns, 'ns')}"
        text = "; ".join((text, *kernel.notes))
        yield Finding(Code.APPEARED, policy.appeared or Outcome.PASS, text)
        return
    if kernel.same_code:
        yield Finding(Code.SAME_CODE, Outcome.PASS, f"the same machine code for {after.arch}")
        return
    yield from _check(before, after, limits)
    if kernel.match is Match.RENAMED:
        outcome = Outcome.PASS if _confirmed(kernel, before, after) else policy.renamed
        by = "as --rename says" if kernel.confirmed else "by its name"
        yield Finding(Code.RENAMED, outcome, f"compared with {before.name}, {by}")
    if kernel.other_work:
        yield Finding(Code.OTHER_WORK, Outcome.INCONCLUSIVE, kernel.time.reason)
        return
    if text := several_text(kernel):
        yield Finding(Code.SEVERAL_CHANGES, Outcome.PASS, text)
    if after.predicted is not None:
        yield from predicted.findings(kernel, before, after, limits)
        return
    if text := launches_text(before, after):
        # They cost something, unless all of them take no more time.
        then, now = totals_alike(before, after)
        most = (then or 0.0) * (1 + limits.max_slowdown)
        harmless = after.launches < before.launches or (now is not None and now <= most)
        outcome = Outcome.PASS if harmless else policy.launched_more
        yield Finding(Code.LAUNCHED_MORE, outcome, text)
    if before.events_ns and after.inputs is not None and not after.events_ns:
        text = "the baseline was timed by CUDA events, and the candidate is not any more"
        yield Finding(Code.TIME_UNKNOWN, Outcome.INCONCLUSIVE, text)
    yield from _time(kernel.time, limits)
    yield from _counters(kernel, limits)
    yield from _verdict(kernel, before, after, limits)


def _check(before: KernelSnapshot, after: KernelSnapshot, limits: Limits) -> Iterator[Finding]:
    if checks.unchecked(before, after):
        text = "the baseline's result was checked, and nothing says that the candidate's was"
        yield Finding(Code.CHECK_WEAKENED, Outcome.INCONCLUSIVE, text)
    elif weaker := checks.weaker(before, after):
        yield Finding(Code.CHECK_WEAKENED, limits.check_weakened, weaker)


def _time(time: TimeChange, limits: Limits) -> Iterator[Finding]:
    text = time_text(time)
    few = 0 < min(time.samples) < FEWEST_SAMPLES
    if time.outcome is TimeOutcome.SLOWER:
        over = (time.ratio or math.inf) - 1 > limits.max_slowdown
        yield Finding(Code.SLOWER, Outcome.REGRESSION if over else Outcome.PASS, text)
    elif time.outcome is TimeOutcome.FASTER:
        yield Finding(Code.FASTER, Outcome.PASS, text)
    elif time.outcome is TimeOutcome.UNDECIDED:
        most = time.high or (time.ratio or math.inf) * (1 + clear(time.floor or 0.0))
        # Of several launches a reason says that the interval of the median is not believed.
        allowed = most - 1 <= limits.max_slowdown and (few or not time.reason)
        outcome = Outcome.PASS if allowed else Outcome.INCONCLUSIVE
        yield Finding(Code.TIME_UNDECIDED, outcome, text)
    elif time.outcome is not TimeOutcome.SAME:
        yield Finding(Code.TIME_UNKNOWN, Outcome.INCONCLUSIVE, text)
    elif (time.floor or 0.0) > limits.max_noise:
        yield Finding(Code.TIME_UNDECIDED, Outcome.INCONCLUSIVE, f"too noisy to tell: {text}")
    elif few:
        yield Finding(Code.FEW_LAUNCHES, Outcome.PASS, text)


def _counters(kernel: KernelComparison, limits: Limits) -> Iterator[Finding]:
    for change in kernel.counters:
        if change.worse is None:
            continue
        if not change.worse:
            yield Finding(Code.COUNTER_BETTER, Outcome.PASS, counter_text(change))
            continue
        increase = abs(change.after / change.before - 1) if change.before else math.inf
        small = increase <= limits.max_increase.get(change.metric, 0.0)
        paid_off = kernel.time.outcome is TimeOutcome.FASTER
        outcome = Outcome.PASS if paid_off or small else limits.counter_worse
        if change.partly and outcome is Outcome.REGRESSION:
            outcome = Outcome.INCONCLUSIVE
        yield Finding(Code.COUNTER_WORSE, outcome, counter_text(change))
    for name in kernel.lacking:
        text = f"only one side has {name}: capture both with the same preset"
        yield Finding(Code.COUNTER_MISSING, Outcome.INCONCLUSIVE, text)


def _verdict(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot, limits: Limits
) -> Iterator[Finding]:
    old, new = before.verdict, after.verdict
    text = verdict_text(old, new)
    if Status.INCONCLUSIVE in {old.status, new.status}:
        lost = old.status is not Status.INCONCLUSIVE
        outcome = Outcome.INCONCLUSIVE if lost else Outcome.PASS
        text += ": capture more metrics" if lost else ": judged by time and exact counters"
        yield Finding(Code.VERDICT_INCONCLUSIVE, outcome, text)
        return
    no_counter_worse = not any(each.worse for each in kernel.counters)
    unchanged = kernel.time.outcome is TimeOutcome.SAME and no_counter_worse
    if min(kernel.time.samples) < FEWEST_SAMPLES:
        # Single launches hide much: that it is the same code, only counters can say then.
        unchanged = unchanged and any(each in before.metrics for each in COUNTERS)
    unknown = no_counter_worse and kernel.time.outcome is not TimeOutcome.SLOWER
    paid_off = kernel.time.outcome is TimeOutcome.FASTER
    allowed = unchanged or paid_off or limits.new_bottleneck is Outcome.PASS
    yield from _other_launches(before, after, allowed=allowed)
    if new.status is Status.AT_LIMIT:
        if kernel.verdict_changed:
            yield Finding(Code.VERDICT_CHANGED, Outcome.PASS, text)
        return
    left = old.status is Status.AT_LIMIT
    worse = (new.gain or 1.0) > WORSE_GAIN * (old.gain or 1.0)
    if not (left or old.bottleneck != new.bottleneck or worse):
        return
    if old.answer == new.answer:
        text += f", more of it: fixing it would bring {factor(new.gain or 1.0)}"
        text += f", {factor(old.gain or 1.0)} before"
    if unchanged:
        text += ", though neither time nor exact counters got worse: it stands on an edge"
    if unchanged or paid_off:
        yield Finding(Code.VERDICT_CHANGED, Outcome.PASS, text)
        return
    code = Code.LEFT_LIMIT if left else Code.NEW_BOTTLENECK
    outcome = limits.left_limit if left else limits.new_bottleneck
    if unknown and outcome is Outcome.REGRESSION:
        # The same code can stand on an edge, and no time tells that it does not.
        outcome = Outcome.INCONCLUSIVE
    yield Finding(code, outcome, text)


def _other_launches(
    before: KernelSnapshot, after: KernelSnapshot, *, allowed: bool
) -> Iterator[Finding]:
    """A bottleneck that some launches have now and none had before."""
    known = {each.verdict.bottleneck for each in before.others}
    known |= {before.verdict.bottleneck, after.verdict.bottleneck}
    for other in after.others:
        if other.verdict.status is not Status.BOTTLENECK or other.verdict.bottleneck in known:
            continue
        text = (
            f"{other.launches:,} of {after.launches:,} launches: now {other.verdict.bottleneck}, "
            "which none had before"
        )
        if allowed:
            yield Finding(Code.VERDICT_CHANGED, Outcome.PASS, text)
        else:
            yield Finding(Code.NEW_BOTTLENECK, Outcome.INCONCLUSIVE, text)


def _confirmed(kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot) -> bool:
    """Whether something beside a similar name says that it is the same kernel.

    The same function with other template arguments, the same problem by the launch specifications,
    or the same launch with the same exact counters.
    """
    if kernel.confirmed or function_name(before.name) == function_name(after.name):
        return True
    problems = [_problem(side) for side in (before, after)]
    if None not in problems:
        return problems[0] == problems[1]
    same_launch = (before.grid, before.block) == (after.grid, after.block)
    return same_launch and bool(before.metrics) and not kernel.counters and not kernel.lacking


def _problem(kernel: KernelSnapshot) -> tuple[object, ...] | None:
    """What is computed, by the launch specification: the reference and the sizes."""
    specification = (kernel.inputs and kernel.inputs.specification) or {}
    if specification.get("reference") in {None, NO_REFERENCE}:
        return None
    return specification["reference"], specification.get("sizes")


def _budgets(kernel: KernelSnapshot, limits: Limits) -> Iterator[Finding]:
    for name, budget in limits.budget.items():
        found = _budgeted(kernel, name)
        unit = "sector/request" if name in PER_REQUEST else unit_of(name)
        sides = (("at most", budget.at_most), ("at least", budget.at_least))
        most = " and ".join(f"{side} {quantity(by, unit)}" for side, by in sides if by is not None)
        if found is None:
            text = f"{name} may be {most}: the candidate does not have it"
            yield Finding(Code.BUDGET_UNKNOWN, Outcome.INCONCLUSIVE, text)
        elif not budget.allows(found):
            text = f"{name} may be {most}: it is {quantity(found, unit)}"
            yield Finding(Code.OVER_BUDGET, Outcome.REGRESSION, text)


def _budgeted(kernel: KernelSnapshot, name: str) -> float | None:
    if name not in PER_REQUEST:
        return value(kernel, name)
    count, per = (value(kernel, each) for each in PER_REQUEST[name])
    if count is None or per is None:
        return None
    return count / per if per else 0.0
