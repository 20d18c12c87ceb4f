"""The noise of each kernel, from captures of the same code."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kernelprof.compare.counters import counter_changes
from kernelprof.compare.machines import machine_changes
from kernelprof.compare.times import EVENTS, PROFILER
from kernelprof.errors import InputError
from kernelprof.model.snapshot import KernelSnapshot, Noise, Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.compare.gate.baseline import Baseline

FEWEST_CAPTURES = 3
"""With the baseline's own; two give a single difference, which may be small by chance."""


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
    for repeat in repeats:
        _, apart = machine_changes(baseline.machine, repeat.machine)
        if apart:
            raise InputError(
                f"it was not measured as the baseline was: {apart}", where=repeat.origin
            )
    kernels, without = [], []
    for kernel in baseline.kernels:
        runs = [replace(kernel, noise=None), *_same(kernel, repeats)]
        how = _how(runs)
        if len(runs) < FEWEST_CAPTURES or how is None:
            kernels.append(kernel)
            without.append(kernel.name)
            continue
        kernels.append(replace(kernel, noise=_noise(runs, how)))
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
        for other in repeat.kernels:
            if other.key != kernel.key:
                continue
            if (
                kernel.inputs is not None
                and other.inputs is not None
                and (kernel.inputs != other.inputs)
            ):
                raise InputError(
                    f"{kernel.name} was built from another source or in another way",
                    where=repeat.origin,
                    hint="calibrate with captures of the code that the baseline is of",
                )
            found.append(other)
    return found


def _noise(runs: Sequence[KernelSnapshot], how: str) -> Noise:
    floor = 0.0
    varying: dict[str, float] = {}
    for one, other in combinations(runs, 2):
        a, b = float(np.median(_times(one, how))), float(np.median(_times(other, how)))
        floor = max(floor, max(a, b) / min(a, b) - 1)
        for change in counter_changes(one, other)[0]:
            low, high = sorted((change.before, change.after))
            apart = high / low - 1 if low else math.inf
            varying[change.metric] = max(varying.get(change.metric, 0.0), apart)
    kept = {name: _short(by) for name, by in sorted(varying.items()) if by < math.inf}
    return Noise(_short(floor), len(runs), how, kept)


def _how(runs: Sequence[KernelSnapshot]) -> str | None:
    """Which times all runs have, as comparisons call them: those between events before others."""
    for how in (EVENTS, PROFILER):
        if all(_times(run, how) and min(_times(run, how)) > 0 for run in runs):
            return how
    return None


def _times(kernel: KernelSnapshot, how: str) -> tuple[float, ...]:
    return kernel.events_ns if how == EVENTS else kernel.profiled_ns


def _short(value: float) -> float:
    return float(f"{value:.3g}")
