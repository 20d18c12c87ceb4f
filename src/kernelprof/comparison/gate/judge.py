"""From a comparison and a policy to findings and an outcome.

Time, counters and verdict are judged together. A counter or a verdict that got worse fails only if
the kernel did not get faster by it: to trade instructions for time is what optimizing is. And a
verdict that changed although neither the time nor any exact counter did is borderline, and does
not fail: the same code gives either.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import structs

from kernelprof.comparison.counters import COUNTERS, counter_value, relative_change, unit_of
from kernelprof.comparison.gate import predicted
from kernelprof.comparison.gate.policy import PER_REQUEST, Limits, Policy
from kernelprof.comparison.pairs import explain_match
from kernelprof.comparison.sides import predicted_architectures
from kernelprof.comparison.times import FEWEST_SAMPLES, LEAST_FLOOR, clear_difference
from kernelprof.comparison.words import (
    counter_text,
    format_range,
    further_text,
    launches_text,
    several_text,
    time_text,
    to_settle,
    totals_alike,
    verdict_text,
)
from kernelprof.model.comparison import KernelComparison, Match, TimeChange, TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import (
    Code,
    GateFinding,
    GateResult,
    KernelResult,
    Outcome,
    worst_outcome,
)
from kernelprof.model.kernel_name import function_name
from kernelprof.model.numbers import count, factor, quantity
from kernelprof.model.snapshot import PROFILER
from kernelprof.model.specification import NO_REFERENCE, TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kernelprof.model.comparison import Comparison
    from kernelprof.model.snapshot import KernelSnapshot

    Judged = TypeVar("Judged", KernelResult, GateFinding)

WORSE_GAIN: Final = 1.1
"""The same bottleneck is a worse one where removing it would bring a tenth more than before: gains
of the same code scattered by 7 % between captures, where the verdict stayed
(``tests/captures/h200_changes``)."""

_OF_THE_CODE: Final = frozenset({Code.COUNTER_WORSE, Code.NEW_BOTTLENECK, Code.LEFT_LIMIT})


def judge_comparison(
    comparison: Comparison, policy: Policy, earlier: Iterable[GateFinding] = ()
) -> GateResult:
    """Judge every kernel and all together; the worst outcome counts, also of earlier findings."""
    kernels = [_judge_kernel(each, policy, comparison) for each in comparison.kernels]
    general = [*_damage_findings(comparison, policy), *_total_time_findings(comparison, policy)]
    general += [*_few_launch_findings(comparison), *earlier]
    if kernels and all(each.ignored for each in kernels):
        text = "the policy excludes every kernel: nothing was judged"
        general.append(GateFinding(Code.IGNORED, Outcome.INCONCLUSIVE, text))
    if not any(each.kernel.before and each.kernel.after for each in kernels):
        general.append(_nothing_compared(comparison))
    outcome = worst_outcome((*kernels, *general))
    if outcome is Outcome.INCONCLUSIVE and policy.inconclusive is Outcome.REGRESSION:
        outcome = Outcome.REGRESSION
    passes = policy.inconclusive is Outcome.PASS
    return GateResult(
        comparison, outcome, _sort_by_severity(kernels), _sort_by_severity(general), passes
    )


def _sort_by_severity(results: Iterable[Judged]) -> tuple[Judged, ...]:
    return tuple(sorted(results, key=lambda each: each.outcome.severity, reverse=True))


def _judge_kernel(kernel: KernelComparison, policy: Policy, comparison: Comparison) -> KernelResult:
    if policy.ignores(kernel.name):
        findings = [GateFinding(Code.IGNORED, Outcome.PASS, "the policy excludes this kernel")]
    else:
        means = policy.inconclusive_of(kernel.name)
        findings = [
            structs.replace(each, outcome=means) if each.outcome is Outcome.INCONCLUSIVE else each
            for each in _kernel_findings(kernel, policy)
        ]
    if any(each.kind == "compute capability" for each in comparison.machine):
        # Code for another architecture is other code: its counters and verdicts prove nothing
        for at, each in enumerate(findings):
            if each.code in _OF_THE_CODE and each.outcome is Outcome.REGRESSION:
                text = (
                    f"{each.text} (baseline and candidate were compiled for different "
                    "architectures)"
                )
                findings[at] = GateFinding(each.code, Outcome.INCONCLUSIVE, text)
    return KernelResult(kernel, worst_outcome(findings), _sort_by_severity(findings))


def _kernel_findings(kernel: KernelComparison, policy: Policy) -> Iterator[GateFinding]:
    before, after = kernel.before, kernel.after
    if after is None:
        text = "; ".join(("the baseline has this kernel but the candidate does not", *kernel.notes))
        yield GateFinding(Code.VANISHED, policy.vanished, text)
        return
    limits = policy.limits_of(after.name)
    if after.passed is False:
        yield predicted.wrong_result(before, after)
        if after.predicted is not None:
            return
    yield from _budget_findings(after, limits)
    if before is None:
        text = "the candidate has this kernel, but the baseline does not"
        if after.total_ns is not None:
            text += f" (total time: {quantity(after.total_ns, 'ns')})"
        text = "; ".join((text, *kernel.notes))
        yield GateFinding(Code.APPEARED, policy.appeared or Outcome.PASS, text)
        return
    if kernel.same_code:
        yield GateFinding(Code.SAME_CODE, Outcome.PASS, f"the same machine code for {after.arch}")
        return
    yield from _check_findings(before, after, limits)
    if kernel.match is Match.RENAMED:
        outcome = Outcome.PASS if _is_confirmed_rename(kernel, before, after) else policy.renamed
        by = explain_match(before, after, is_confirmed=kernel.confirmed)
        yield GateFinding(Code.RENAMED, outcome, f"compared with {before.name}, {by}")
    if kernel.other_work:
        yield GateFinding(Code.OTHER_WORK, Outcome.INCONCLUSIVE, kernel.time.reason)
        return
    if text := several_text(kernel):
        yield GateFinding(Code.SEVERAL_CHANGES, Outcome.PASS, text)
    if after.predicted is not None:
        yield from predicted.findings(kernel, before, after, limits)
        return
    if text := launches_text(before, after):
        # They cost something, unless all of them take no more time.
        then, now = totals_alike(before, after)
        most = (then or 0.0) * (1 + limits.max_slowdown)
        harmless = after.launches < before.launches or (now is not None and now <= most)
        outcome = Outcome.PASS if harmless else policy.launched_more
        yield GateFinding(Code.LAUNCHED_MORE, outcome, text)
    if before.events_ns and after.inputs is not None and not after.events_ns:
        text = "the baseline was timed by CUDA events, but the candidate was not"
        yield GateFinding(Code.TIME_UNKNOWN, Outcome.INCONCLUSIVE, text)
    yield from _time_findings(kernel.time, limits)
    yield from _counter_findings(kernel, limits)
    yield from _verdict_findings(kernel, before, after, limits)


def _check_findings(
    before: KernelSnapshot, after: KernelSnapshot, limits: Limits
) -> Iterator[GateFinding]:
    if before.passed is True and after.passed is None and after.specification is None:
        text = "the baseline's result was checked, the candidate's was not"
        yield GateFinding(Code.CHECK_WEAKENED, Outcome.INCONCLUSIVE, text)
    elif weaker := _explain_weaker_check(before, after):
        yield GateFinding(Code.CHECK_WEAKENED, limits.check_weakened, weaker)


def _time_findings(time: TimeChange, limits: Limits) -> Iterator[GateFinding]:
    text = time_text(time)
    few = 0 < time.samples.fewer < FEWEST_SAMPLES
    if time.outcome is TimeOutcome.SLOWER:
        yield GateFinding(Code.SLOWER, limits.judge_slowdown(time.ratio), text)
    elif time.outcome is TimeOutcome.FASTER:
        yield GateFinding(Code.FASTER, Outcome.PASS, text)
    elif time.outcome is TimeOutcome.UNDECIDED:
        most = time.ratio_high or (time.ratio or math.inf) * (
            1 + clear_difference(time.noise_floor or 0.0)
        )
        # Of several launches a reason says that the interval of the median is not believed.
        allowed = most - 1 <= limits.max_slowdown and (few or not time.reason)
        outcome = Outcome.PASS if allowed else Outcome.INCONCLUSIVE
        yield GateFinding(Code.TIME_UNDECIDED, outcome, text)
    elif time.outcome is not TimeOutcome.SAME:
        yield GateFinding(Code.TIME_UNKNOWN, Outcome.INCONCLUSIVE, text)
    elif (time.noise_floor or 0.0) > limits.max_noise:
        text = f"too noisy to detect a slowdown: {text}"
        yield GateFinding(Code.TIME_UNDECIDED, Outcome.INCONCLUSIVE, text)
    elif few:
        yield GateFinding(Code.FEW_LAUNCHES, Outcome.PASS, text)


def _counter_findings(kernel: KernelComparison, limits: Limits) -> Iterator[GateFinding]:
    for change in kernel.counters:
        if change.worse is None:
            continue
        if not change.worse:
            yield GateFinding(Code.COUNTER_BETTER, Outcome.PASS, counter_text(change))
            continue
        small = relative_change(change) <= limits.max_increase.get(change.metric, 0.0)
        paid_off = kernel.time.outcome is TimeOutcome.FASTER
        outcome = Outcome.PASS if paid_off or small else limits.counter_worse
        if change.is_partial and outcome is Outcome.REGRESSION:
            outcome = Outcome.INCONCLUSIVE
        yield GateFinding(Code.COUNTER_WORSE, outcome, counter_text(change))
    for name in kernel.lacking:
        text = (
            f"{name} is missing in the baseline or the candidate: capture both with the same preset"
        )
        yield GateFinding(Code.COUNTER_MISSING, Outcome.INCONCLUSIVE, text)


def _verdict_findings(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot, limits: Limits
) -> Iterator[GateFinding]:
    old, new = before.verdict, after.verdict
    text = verdict_text(old, new)
    if Status.INCONCLUSIVE in {old.status, new.status}:
        lost = old.status is not Status.INCONCLUSIVE
        outcome = Outcome.INCONCLUSIVE if lost else Outcome.PASS
        text += (
            ": capture more metrics"
            if lost
            else "; without a verdict of the baseline, only time and exact counters are judged"
        )
        yield GateFinding(Code.VERDICT_INCONCLUSIVE, outcome, text)
        return
    no_counter_worse = not any(each.worse for each in kernel.counters)
    unchanged = kernel.time.outcome is TimeOutcome.SAME and no_counter_worse
    if kernel.time.samples.fewer < FEWEST_SAMPLES:
        # Single launches hide much: that it is the same code, only counters can say then.
        unchanged = unchanged and any(each in before.metrics for each in COUNTERS)
    unknown = no_counter_worse and kernel.time.outcome is not TimeOutcome.SLOWER
    paid_off = kernel.time.outcome is TimeOutcome.FASTER
    allowed = unchanged or paid_off or limits.new_bottleneck is Outcome.PASS
    yield from _other_launch_findings(before, after, allowed=allowed)
    if new.status is Status.AT_LIMIT:
        if kernel.verdict_changed:
            yield GateFinding(Code.VERDICT_CHANGED, Outcome.PASS, text)
        return
    left = old.status is Status.AT_LIMIT
    worse = (new.gain or 1.0) > WORSE_GAIN * (old.gain or 1.0)
    if not (left or old.bottleneck != new.bottleneck or worse):
        if further_text(old, new):
            yield GateFinding(Code.VERDICT_CHANGED, Outcome.PASS, text)
        return
    if old.answer == new.answer:
        text += (
            f"; the expected gain from fixing {new.bottleneck} increased from "
            f"{factor(old.gain or 1.0)} to {factor(new.gain or 1.0)}"
        )
    if unchanged:
        text += "; not a regression, because neither the time nor any exact counter got worse"
    if unchanged or paid_off:
        yield GateFinding(Code.VERDICT_CHANGED, Outcome.PASS, text)
        return
    code = Code.LEFT_LIMIT if left else Code.NEW_BOTTLENECK
    outcome = limits.left_limit if left else limits.new_bottleneck
    if unknown and outcome is Outcome.REGRESSION:
        # The same code can stand on an edge, and no time tells that it does not.
        outcome = Outcome.INCONCLUSIVE
    yield GateFinding(code, outcome, text)


def _other_launch_findings(
    before: KernelSnapshot, after: KernelSnapshot, *, allowed: bool
) -> Iterator[GateFinding]:
    bottlenecks = {each.verdict.bottleneck for each in before.others}
    bottlenecks |= {before.verdict.bottleneck, after.verdict.bottleneck}
    for other in after.others:
        if other.verdict.status is not Status.BOTTLENECK or other.verdict.bottleneck in bottlenecks:
            continue
        text = (
            f"{other.launches:,} of {after.launches:,} launches are now limited by "
            f"{other.verdict.bottleneck}, which limited no launch before"
        )
        if allowed:
            yield GateFinding(Code.VERDICT_CHANGED, Outcome.PASS, text)
        else:
            yield GateFinding(Code.NEW_BOTTLENECK, Outcome.INCONCLUSIVE, text)


def _is_confirmed_rename(
    kernel: KernelComparison, before: KernelSnapshot, after: KernelSnapshot
) -> bool:
    # Whether something beside a similar name says that it is the same kernel. The same function
    # with other template arguments, the same problem by the launch specifications, or the same
    # launch with the same exact counters
    if kernel.confirmed or function_name(before.name) == function_name(after.name):
        return True
    problems = [_problem(side) for side in (before, after)]
    if None not in problems:
        return problems[0] == problems[1]
    same_launch = (before.grid, before.block) == (after.grid, after.block)
    return same_launch and bool(before.metrics) and not kernel.counters and not kernel.lacking


def _problem(kernel: KernelSnapshot) -> tuple[object, ...] | None:
    specification = kernel.specification or {}
    if specification.get("reference") in {None, NO_REFERENCE}:
        return None
    return specification["reference"], specification.get("sizes")


def _budget_findings(kernel: KernelSnapshot, limits: Limits) -> Iterator[GateFinding]:
    for name, budget in limits.budget.items():
        measured = _budgeted_value(kernel, name)
        unit = "sector/request" if name in PER_REQUEST else unit_of(name)
        most = " and ".join(f"{side} {quantity(by, unit)}" for side, by in budget.sides)
        if measured is None:
            text = f"the budget of {name} is {most}, but {name} is missing in the candidate"
            yield GateFinding(Code.BUDGET_UNKNOWN, Outcome.INCONCLUSIVE, text)
        elif not budget.allows(measured):
            text = f"{name} is {quantity(measured, unit)}, but its budget is {most}"
            yield GateFinding(Code.OVER_BUDGET, Outcome.REGRESSION, text)


def _budgeted_value(kernel: KernelSnapshot, name: str) -> float | None:
    if name == "duration" and kernel.predicted is not None:
        return None
    if name not in PER_REQUEST:
        return counter_value(kernel, name)
    count, per = (counter_value(kernel, each) for each in PER_REQUEST[name])
    if count is None or per is None:
        return None
    return count / per if per else 0.0


def _damage_findings(comparison: Comparison, policy: Policy) -> Iterator[GateFinding]:
    for side, snapshot in (("baseline", comparison.before), ("candidate", comparison.after)):
        for sentence in snapshot.damage:
            yield GateFinding(
                Code.DAMAGED_CAPTURE, policy.damaged, f"the {side}'s capture: {sentence}"
            )


def _nothing_compared(comparison: Comparison) -> GateFinding:
    archs = [
        predicted_architectures(side.kernels) for side in (comparison.before, comparison.after)
    ]
    text = "baseline and candidate have no kernel in common: nothing was compared"
    if all(archs) and not set(archs[0]) & set(archs[1]):
        old, new = (", ".join(each) for each in archs)
        text = f"the baseline was predicted for {old}, but the candidate for {new}: not compared"
    return GateFinding(Code.VANISHED, Outcome.INCONCLUSIVE, text)


def _few_launch_findings(comparison: Comparison) -> Iterator[GateFinding]:
    few = [each for each in comparison.kernels if 0 < each.time.samples.fewer < FEWEST_SAMPLES]
    if not few:
        return
    floors = [each.time.noise_floor or 0.0 for each in few]
    sure = [each.time.smallest_detectable or 0.0 for each in few]
    text = (
        f"{count(len(few), 'kernel')} {'has' if len(few) == 1 else 'have'} fewer than "
        f"{FEWEST_SAMPLES} launches in the baseline or the candidate. Differences below "
        f"{format_range(floors)} cannot be detected; differences above {format_range(sure)} can. "
        "To detect smaller differences, capture baseline and candidate five times each, into the "
        "folders BASELINE_RUNS and runs, then run 'kernelprof gate BASELINE_RUNS runs'. The "
        f"candidate's command: {to_settle(few[0], comparison.after)}"
    )
    yield GateFinding(Code.FEW_LAUNCHES, Outcome.PASS, text)


def _total_time_findings(comparison: Comparison, policy: Policy) -> Iterator[GateFinding]:
    # Whether new kernels take more than what vanished and what the others gained. Work that moves
    # into a kernel that nobody compares is no gain. Kernels that the policy leaves out count
    # neither as new nor as gone, and predicted ones have no time
    kernels = [
        each for each in comparison.kernels if not policy.ignores(each.name) and each.arch is None
    ]
    old = [each.before for each in kernels if each.before]
    now = [each.after for each in kernels if each.after]
    new = [each.after for each in kernels if each.match is Match.APPEARED and each.after]
    if not new or not any(each.before and each.after for each in kernels):
        return
    subject = f"{count(len(new), 'new kernel')} {'takes' if len(new) == 1 else 'take'}"
    profiled = all(side.profiled_ns for side in (*old, *now))
    before, after, added = (_sum_times(each, profiled=profiled) for each in (old, now, new))
    if before is None or after is None or added is None:
        text = f"{subject} an unknown part of the total time: some kernels were not timed"
        yield GateFinding(Code.APPEARED, policy.appeared or Outcome.INCONCLUSIVE, text)
        return
    vanished = [each.before for each in kernels if each.before and each.after is None]
    gone = _sum_times(vanished, profiled=profiled) or 0.0
    text = (
        f"{subject} {quantity(added, 'ns')}, and the removed kernels took "
        f"{quantity(gone, 'ns')}; total "
        f"of all kernels: {quantity(before, 'ns')} to {quantity(after, 'ns')} "
        f"({100 * (after / before - 1):+.2g} %)"
    )
    costs = after > before + sum(_allowed_slowdown_ns(each, policy) for each in kernels)
    worst = policy.appeared or Outcome.INCONCLUSIVE
    yield GateFinding(Code.APPEARED, worst if costs else Outcome.PASS, text)


def _allowed_slowdown_ns(kernel: KernelComparison, policy: Policy) -> float:
    # By how much a kernel may get slower in all, by the policy and by what can be told; ns
    if kernel.before is None or kernel.after is None:
        return 0.0
    limits = policy.limits_of(kernel.name)
    floor = kernel.time.noise_floor or LEAST_FLOOR
    allowed = max(limits.max_slowdown, min(floor, limits.max_noise))
    return allowed * (kernel.before.total_ns or 0.0)


def _sum_times(kernels: Iterable[KernelSnapshot], *, profiled: bool) -> float | None:
    times = [each.total_by(PROFILER) if profiled else each.total_ns for each in kernels]
    return None if None in times else sum(filter(None, times))


_CONSTANT: Final = frozenset({"zeros"})


def _explain_weaker_check(before: KernelSnapshot, after: KernelSnapshot) -> str | None:
    # What is weaker in the candidate's check than in the baseline's; `None` where nothing is. A
    # check is what the launch specification says: the reference, how far a result may be off, at
    # which sizes, how many outputs there are, and how many inputs that differ from place to place
    old, new = before.specification, after.specification
    if old is None or new is None or before.passed is not True:
        return None
    was, now = old.get("reference"), new.get("reference")
    if now in {None, NO_REFERENCE} or after.passed is None:
        return f"its result was checked against {was}, but is no longer checked"
    if was != now:
        return f"its result is checked against {now} instead of {was}"
    allowed, allows = _tolerance(old), _tolerance(new)
    if allows > allowed:
        return f"its check has a tolerance of {allows:g} instead of {allowed:g}"
    sizes, fewer = _check_sizes(old), _check_sizes(new)
    if _product(fewer) < _product(sizes):
        old_text, new_text = (
            ", ".join(f"{name}={value}" for name, value in each.items()) or "no sizes"
            for each in (sizes, fewer)
        )
        return f"its result is checked at {new_text} instead of {old_text}"
    counts = {"outputs": _count_outputs, "non-constant inputs": _count_varied}
    weaker = (
        f"its check has fewer {what}: {count_of(new)} instead of {count_of(old)}"
        for what, count_of in counts.items()
        if count_of(new) < count_of(old)
    )
    return next(weaker, None)


def _tolerance(specification: dict[str, Any]) -> float:
    # How far a result may be off: the default where nothing is said, anything where it is none
    value = (specification.get("check") or {}).get("tolerance")
    if value is None:
        return TOLERANCE
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else math.inf


def _check_sizes(specification: dict[str, Any]) -> dict[str, Any]:
    of_check = (specification.get("check") or {}).get("sizes")
    return {**(specification.get("sizes") or {}), **(of_check or {})}


def _product(sizes: dict[str, Any]) -> float:
    numbers = (float(each) for each in sizes.values() if isinstance(each, int | float))
    return math.prod(filter(None, numbers))


def _count_outputs(specification: dict[str, Any]) -> int:
    return sum(bool(each.get("output")) for each in specification.get("arguments") or [])


def _count_varied(specification: dict[str, Any]) -> int:
    fills = [each.get("fill") for each in specification.get("arguments") or []]
    return sum(fill is not None and fill not in _CONSTANT for fill in fills)
