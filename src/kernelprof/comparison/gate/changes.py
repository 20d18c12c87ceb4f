"""How a baseline changes: it is made, updated, accepted into, and its noise is measured.

Pure functions; :mod:`kernelprof.interface.baselines` reads the files.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np

from kernelprof.comparison.compare import match
from kernelprof.comparison.counters import COUNTERS, counter_changes
from kernelprof.comparison.gate.baseline import Baseline
from kernelprof.comparison.gate.policy import Policy
from kernelprof.comparison.inputs import machine_changes
from kernelprof.comparison.times import time_change
from kernelprof.errors import InputError
from kernelprof.model.comparison import Match, TimeOutcome
from kernelprof.model.diagnosis import Status
from kernelprof.model.gate import Outcome
from kernelprof.model.snapshot import (
    EVENTS,
    PROFILER,
    Acceptance,
    KernelSnapshot,
    Noise,
    Snapshot,
)
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST_CAPTURES: Final = 3
"""With the baseline's own; two give a single difference, which may be small by chance."""


MOST_UNDECIDED: Final = 0.5
"""Part of the time that undecided kernels may take of a new baseline: one of many is held by its
time and counters, and a capture that decides little is one to be made again."""


def baseline_of(snapshot: Snapshot, now: str, policy: Policy | None = None) -> Baseline:
    """A new baseline, without kernels that the policy leaves out.

    Raises :class:`InputError` where a kernel, or the capture, must not be one.
    """
    rules = policy or Policy()
    kept = tuple(each for each in snapshot.kernels if not rules.ignores(each.name))
    snapshot = replace(snapshot, kernels=kept)
    _refuse(snapshot, rules)
    if undecided := _undecided(kept, rules):
        share = _share(undecided, kept)
        if share is None or share > MOST_UNDECIDED:
            much = "" if share is None else f", {100 * share:.0f} % of the time"
            raise InputError(
                f"the verdict is inconclusive on {len(undecided)} of {len(kept)} kernels{much}: "
                f"{undecided[0].name}",
                where=snapshot.origin,
                hint="capture with more metrics (kernelprof profile --preset full), or have time "
                'and counters alone held against them: inconclusive = "allow" in the policy',
            )
    return Baseline(
        created=snapshot.created or now,
        kernelprof=__version__,
        origin=snapshot.origin,
        machine=snapshot.machine,
        kernels=_sorted(snapshot.kernels),
    )


def _undecided(kernels: Sequence[KernelSnapshot], policy: Policy) -> list[KernelSnapshot]:
    if policy.inconclusive is Outcome.PASS:
        return []
    return [
        each
        for each in kernels
        if each.verdict.status is Status.INCONCLUSIVE
        # Of a prediction counts are held, whatever its verdict.
        and each.predicted is None
        and policy.inconclusive_of(each.name) is not Outcome.PASS
    ]


def _share(some: Sequence[KernelSnapshot], kernels: Sequence[KernelSnapshot]) -> float | None:
    """Their part of the time of all; ``None`` where one has no time."""
    times = [each.total_ns for each in kernels]
    if any(each is None for each in times):
        return None
    return sum(each.total_ns or 0.0 for each in some) / sum(each or 0.0 for each in times)


def updated(
    baseline: Baseline, candidate: Snapshot, now: str, policy: Policy | None = None
) -> Baseline:
    """The candidate in place of the baseline; what was accepted stays on record.

    Noise that was calibrated stays with kernels that are still the same on the same machine, and so
    do their times where the new ones are the same: many small slowdowns would otherwise add up.
    """
    fresh = baseline_of(candidate, now, policy)
    if machine_changes(baseline.machine, fresh.machine)[1] is not None:
        return replace(fresh, accepted=baseline.accepted)
    old = {each.key: each for each in baseline.kernels}
    kernels = tuple(_held(old.get(each.key), each) for each in fresh.kernels)
    return replace(fresh, kernels=kernels, accepted=baseline.accepted)


def with_others(baseline: Baseline, kernels: Sequence[KernelSnapshot]) -> Baseline:
    """A baseline with kernels that the candidate says nothing of, as they were."""
    return replace(baseline, kernels=_sorted([*baseline.kernels, *kernels]))


def _held(old: KernelSnapshot | None, new: KernelSnapshot) -> KernelSnapshot:
    """A kernel with the noise, and where they are the same the times, that it had."""
    if old is None:
        return new
    kept = ["noise"]
    if time_change(old, new, None).outcome is TimeOutcome.SAME:
        kept += ["events_ns", "profiled_ns", "median_ns"]
    return replace(new, **{name: getattr(old, name) for name in kept})


def accepted(
    baseline: Baseline, candidate: Snapshot, kernels: Sequence[str], consent: Acceptance
) -> Baseline:
    """The baseline with kernels of the candidate in place of its own, and why.

    ``kernels`` are names, empty for all. Kernels that are not named stay as they are; those that
    are and that the candidate does not have any more leave the baseline. ``consent`` says who, when
    and why.
    """
    known = {each.name for each in (*baseline.kernels, *candidate.kernels)}
    missing = set(kernels) - known
    if missing or not candidate.kernels:
        raise InputError(
            f"there is no kernel {', '.join(sorted(missing)) or 'at all'}",
            where=candidate.origin,
            hint="there are: " + "; ".join(sorted(known)[:10]),
        )
    chosen = set(kernels) or known
    pairs = [
        (kind, old, new)
        for kind, old, new in match(baseline.kernels, candidate.kernels)
        if {side.name for side in (old, new) if side is not None} & chosen
    ]
    taken = tuple(new for _, _, new in pairs if new is not None)
    if taken:
        _refuse(replace(candidate, kernels=taken), Policy())
    apart = machine_changes(baseline.machine, candidate.machine)[1]
    left = [each for each in baseline.kernels if all(each is not old for _, old, _ in pairs)]
    if apart is not None and left:
        raise InputError(
            f"the candidate was not measured as the baseline was: {apart}",
            where=candidate.origin,
            hint="accept all of its kernels, which takes its machine along, or measure it alike",
        )
    fresh = [
        replace(new, noise=old.noise if kind is Match.SAME and old and not apart else None)
        for kind, old, new in pairs
        if new is not None
    ]
    records = [
        replace(
            consent,
            kernel=side.name,
            before=old.verdict if old else None,
            after=new.verdict if new else None,
            before_ns=old.median_ns if old else None,
            after_ns=new.median_ns if new else None,
        )
        for _, old, new in pairs
        if (side := new or old) is not None
    ]
    return replace(
        baseline,
        created=consent.when,
        machine=baseline.machine if left else candidate.machine,
        kernels=_sorted([*left, *fresh]),
        accepted=(*baseline.accepted, *records),
    )


def _refuse(snapshot: Snapshot, policy: Policy) -> None:
    """Refuse what nothing can be held against: no kernel, a wrong one, a damaged capture."""
    if not snapshot.kernels:
        raise InputError("there is no kernel to record", where=snapshot.origin)
    if snapshot.damage and policy.damaged is not Outcome.PASS:
        raise InputError(
            f"the capture is not whole, and cannot be a baseline: {snapshot.damage[0]}",
            where=snapshot.origin,
            hint='capture it again, or take it as it is with damaged = "allow" in a policy',
        )
    for kernel in snapshot.kernels:
        if kernel.passed is False:
            raise InputError(
                f"the result of {kernel.name} is wrong, and a wrong kernel cannot be a baseline",
                where=snapshot.origin,
                hint="correct it, and capture it again",
            )
        nothing = kernel.median_ns is None and not set(kernel.metrics) & set(COUNTERS)
        if kernel.verdict.status is Status.INCONCLUSIVE and nothing:
            raise InputError(
                f"the capture has no verdict, time or exact counter of {kernel.name}",
                where=snapshot.origin,
                hint="capture it with more metrics: kernelprof profile --preset full",
            )


def _sorted(kernels: Sequence[KernelSnapshot]) -> tuple[KernelSnapshot, ...]:
    return tuple(sorted(kernels, key=lambda each: (each.name, each.grid or (), each.block or ())))


def calibrated(baseline: Baseline, repeats: Sequence[Snapshot]) -> tuple[Baseline, tuple[str, ...]]:
    """The baseline with the noise of its kernels, and the names of those that have none now.

    The floor is the largest difference of two captures' median times over all pairs; counters that
    differ in a pair are held against a kernel only where they differ by more.
    """
    if len(repeats) + 1 < FEWEST_CAPTURES:
        raise InputError(
            f"{len(repeats)} more capture is too few to calibrate with"
            if len(repeats) == 1
            else "there is no capture to calibrate with",
            hint=f"name at least {FEWEST_CAPTURES - 1}, each a run of its own of the same code",
        )
    for each in repeats:
        if apart := machine_changes(baseline.machine, each.machine)[1]:
            raise InputError(f"it was not measured as the baseline was: {apart}", where=each.origin)
    kernels, without = [], []
    for kernel in baseline.kernels:
        runs = [replace(kernel, noise=None), *_same(kernel, repeats)]
        noise = _noise(runs) if len(runs) >= FEWEST_CAPTURES else None
        if noise is None:
            without.append(kernel.name)
        kernels.append(replace(kernel, noise=noise or kernel.noise))
    if len(without) == len(kernels):
        raise InputError(
            "none of the baseline's kernels is in enough of these captures",
            where=repeats[0].origin,
            hint=f"name captures of the code that {baseline.origin} is of",
        )
    return replace(baseline, kernels=tuple(kernels)), tuple(without)


def _same(kernel: KernelSnapshot, repeats: Sequence[Snapshot]) -> list[KernelSnapshot]:
    """The kernel in the repeats; it has to be built from the same source in the same way."""
    found = []
    for repeat in repeats:
        for other in (each for each in repeat.kernels if each.key == kernel.key):
            if kernel.inputs and other.inputs and kernel.inputs != other.inputs:
                raise InputError(
                    f"{kernel.name} was built from another source or in another way",
                    where=repeat.origin,
                    hint="calibrate with captures of the code that the baseline is of",
                )
            found.append(other)
    return found


def _noise(runs: Sequence[KernelSnapshot]) -> Noise | None:
    """The noise by times that all runs have, those between events before others."""
    varying: dict[str, float] = {}
    for one, other in combinations(runs, 2):
        for change in counter_changes(one, other)[0]:
            low, high = sorted((change.before, change.after))
            apart = high / low - 1 if low else math.inf
            varying[change.metric] = max(varying.get(change.metric, 0.0), apart)
    kept = {name: _short(by) for name, by in sorted(varying.items()) if by < math.inf}
    for how, times in (
        (EVENTS, [each.events_ns for each in runs]),
        (PROFILER, [each.profiled_ns for each in runs]),
    ):
        if all(each and min(each) > 0 for each in times):
            medians = [float(np.median(each)) for each in times]
            return Noise(_short(max(medians) / min(medians) - 1), len(runs), how, kept)
    return None


def _short(value: float) -> float:
    return float(f"{value:.3g}")
