"""What is true of two captures as wholes: that they are not whole, and what all kernels take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.comparison.floors import FEWEST_SAMPLES, LEAST_FLOOR
from kernelprof.comparison.predictions import architectures
from kernelprof.comparison.words import to_settle
from kernelprof.model.comparison import Match
from kernelprof.model.gate import Code, Finding, Outcome
from kernelprof.model.numbers import count, quantity
from kernelprof.model.snapshot import PROFILER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kernelprof.comparison.gate.policy import Policy
    from kernelprof.model.comparison import Comparison, KernelComparison
    from kernelprof.model.snapshot import KernelSnapshot


def damage(comparison: Comparison, policy: Policy) -> Iterator[Finding]:
    """What is wrong with either capture, as far as something of it is lost."""
    for side, snapshot in (("baseline", comparison.before), ("candidate", comparison.after)):
        for sentence in snapshot.damage:
            yield Finding(Code.DAMAGED_CAPTURE, policy.damaged, f"the {side}'s capture: {sentence}")


def nothing_compared(comparison: Comparison) -> Finding:
    """That no kernel is on both sides, and why where that is known."""
    archs = [architectures(side.kernels) for side in (comparison.before, comparison.after)]
    text = "no kernel is on both sides: nothing was compared"
    if all(archs) and not set(archs[0]) & set(archs[1]):
        old, new = (", ".join(each) for each in archs)
        text = f"the baseline is for {old}, and the candidate for {new}: nothing was compared"
    return Finding(Code.VANISHED, Outcome.INCONCLUSIVE, text)


def few_launches(comparison: Comparison) -> Iterator[Finding]:
    """That kernels were launched so rarely that only much shows, and what would show more."""
    few = [each for each in comparison.kernels if 0 < min(each.time.samples) < FEWEST_SAMPLES]
    if not few:
        return
    floors = [each.time.floor or 0.0 for each in few]
    sure = [each.time.sure or 0.0 for each in few]
    text = (
        f"{count(len(few), 'kernel')} {'has' if len(few) == 1 else 'have'} fewer than "
        f"{FEWEST_SAMPLES} launches on a side: differences below {_span(floors)} do not show, and "
        f"those from {_span(sure)} on show for sure. Five runs of each side, taken "
        f"together, show more: {to_settle(few[0], comparison.after)}, and kernelprof gate BEFORE "
        "runs"
    )
    yield Finding(Code.FEW_LAUNCHES, Outcome.PASS, text)


def _span(fractions: Sequence[float]) -> str:
    """Percentages from the least to the most."""
    low, high = (
        f"{100 * each:.0f}" if each >= 0.1 else f"{100 * each:.2g}"
        for each in (min(fractions), max(fractions))
    )
    return f"{low} %" if low == high else f"{low} to {high} %"


def totals(comparison: Comparison, policy: Policy) -> Iterator[Finding]:
    """Whether new kernels take more than what vanished and what the others gained.

    Work that moves into a kernel that nobody compares is no gain. Kernels that the policy leaves
    out count neither as new nor as gone, and predicted ones have no time.
    """
    kernels = [
        each for each in comparison.kernels if not policy.ignores(each.name) and each.arch is None
    ]
    new = [each.after for each in kernels if each.match is Match.APPEARED and each.after]
    if not new or not any(each.before and each.after for each in kernels):
        return
    named = f"{count(len(new), 'new kernel')} {'takes' if len(new) == 1 else 'take'}"
    profiled = all(side.profiled_ns for side in _sides(kernels))
    before = _total((each.before for each in kernels), profiled=profiled)
    after = _total((each.after for each in kernels), profiled=profiled)
    added = _total(new, profiled=profiled)
    if before is None or after is None or added is None:
        text = f"{named} nobody knows how long: not all kernels have a time"
        yield Finding(Code.APPEARED, policy.appeared or Outcome.INCONCLUSIVE, text)
        return
    vanished = (each.before for each in kernels if each.after is None)
    gone = _total(vanished, profiled=profiled) or 0.0
    text = (
        f"{named} {quantity(added, 'ns')}, and what vanished took {quantity(gone, 'ns')}; all "
        f"kernels together: {quantity(before, 'ns')} to {quantity(after, 'ns')} "
        f"({100 * (after / before - 1):+.2g} %)"
    )
    costs = after > before + sum(_room(each, policy) for each in kernels)
    worst = policy.appeared or Outcome.INCONCLUSIVE
    yield Finding(Code.APPEARED, worst if costs else Outcome.PASS, text)


def _room(kernel: KernelComparison, policy: Policy) -> float:
    """By how much a kernel may get slower in all, by the policy and by what can be told; ns."""
    if kernel.before is None or kernel.after is None:
        return 0.0
    limits = policy.limits_of(kernel.name)
    allowed = max(limits.max_slowdown, min(kernel.time.floor or LEAST_FLOOR, limits.max_noise))
    return allowed * (kernel.before.total_ns or 0.0)


def _sides(kernels: Iterable[KernelComparison]) -> Iterator[KernelSnapshot]:
    for each in kernels:
        yield from filter(None, (each.before, each.after))


def _total(kernels: Iterable[KernelSnapshot | None], *, profiled: bool) -> float | None:
    """The time of all launches of these kernels; ``None`` where one has no time.

    ``profiled`` takes the profiler's times, which all kernels of a capture have.
    """
    total = 0.0
    for each in filter(None, kernels):
        took = each.total_by(PROFILER) if profiled else each.total_ns
        if took is None:
            return None
        total += took
    return total
