"""Ramp, steady part, phases and tail of a launch, from series of hardware counters.

Pure functions over plain values. A part is named where it takes a tenth of the time or more, for
which at least :data:`LEAST_SAMPLES` samples are necessary.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.facts import Facts
from kernelprof.analysis.metrics.groups import NEAR_LIMIT
from kernelprof.analysis.survey.series import UNITS
from kernelprof.model.launch_series import (
    ACTIVE,
    LaunchPhase,
    LaunchSeries,
    OverTime,
    UnitSeries,
    UnitShare,
    read_series,
)
from kernelprof.model.numbers import share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import KernelDiagnosis

NOTABLE: Final = 0.10
"""Part of the time from which ramp, tail and phases are named."""
LEAST_SAMPLES: Final = 20
"""Samples of which a tenth are two: one alone may be half before an edge."""
HALF: Final = 0.5
"""Of a unit's level: where a fall or a rise over several samples is at its middle."""
SIGNIFICANT: Final = 0.25
"""Part of the busiest unit's level below which a unit does not count: it follows the others."""
IDLE: Final = 0.75
"""SMs active in a tail, of those in the steady part, below which the SMs ran out of blocks. In a
last wave that merely drains nearly all are active. Our choice."""
MOVES: Final = 20.0
"""Points of peak by which the unit that limits a phase differs in the next one. Our choice."""
MOST_RATIO: Final = 4.0
"""Of the launch's metric to its series, either way. Counters of the series may cover part of a
unit (0.5 of DRAM on a GH200, of L1 on an A40); with more between them they measure other things."""
LEAST_PERCENT: Final = 1.0
"""Of peak: a unit that never reaches it did nothing."""
LABELS: Final = {
    **UNITS,
    "l2_throughput": "L2",
    "l1_throughput": "L1",
    "tensor_memory": "tensor memory",
    ACTIVE: "SMs active",
}
_ALTERNATIVE: Final = {"l1_wavefronts": "l1_throughput"}
_ONLY_SCALED: Final = frozenset({ACTIVE, "dram_throughput", "l2_throughput", "l1_throughput",
                                 "l1_wavefronts"})  # fmt: skip
"""Metrics whose series alone tell no percentage: counts, and parts of a unit."""
_DIGITS: Final = 1


def add_series(kernels: Sequence[KernelDiagnosis], capture: Capture) -> tuple[KernelDiagnosis, ...]:
    """Add to each kernel what the first of its launches with series did over its time."""
    launches = [read_series(capture, each.rows) for each in kernels]
    facts = Facts(capture.rows([0 if each is None else each[0] for each in launches]))
    added = list(kernels)
    for at, (kernel, launch) in enumerate(zip(kernels, launches, strict=True)):
        if launch is None:
            continue
        over_time = describe_series(launch[1], partial(_value, facts, at))
        if over_time is not None:
            notes = (*kernel.verdict.notes, *describe_notable(over_time))
            verdict = replace(kernel.verdict, notes=notes)
            added[at] = replace(kernel, verdict=verdict, over_time=over_time)
    return tuple(added)


def _value(facts: Facts, row: int, metric: str) -> float | None:
    return float(facts.values(metric)[row]) if facts.has(metric)[row] else None


def describe_series(
    launch: LaunchSeries, value_of: Callable[[str], float | None]
) -> OverTime | None:
    """Return the parts of a launch; ``value_of`` gives its metrics, to which series are scaled."""
    scaled = scale_series(launch.series, value_of)
    units = {name: each for name, each in scaled.items() if max(each) >= LEAST_PERCENT}
    busy = {name: each for name, each in units.items() if name != ACTIVE}
    if not busy:
        return None
    steps = len(next(iter(busy.values())))
    ramp = tail = steady = tail_active = None
    phases: tuple[LaunchPhase, ...] = ()
    if launch.duration_ns >= LEAST_SAMPLES * launch.interval_ns:
        first, last = active_part(list(busy.values()))
        active = units.get(ACTIVE)
        if last < steps and active is not None:
            before = fmean(active[first:last])
            tail_active = min(fmean(active[last:]) / before, 1.0) if before > 0 else None
        if tail_active is not None and tail_active > IDLE and steps - last > NOTABLE * steps:
            # SMs have blocks, but do little: a phase.
            last, tail_active = steps, None
        ramp, tail, steady = first / steps, (steps - last) / steps, (last - first) / steps
        phases = tuple(_phase(busy, *each) for each in split_phases(busy, first, last))
    ordered = sorted(units, key=lambda name: (name == ACTIVE, -fmean(units[name])))
    return OverTime(
        duration_ns=launch.duration_ns,
        interval_ns=launch.interval_ns,
        steps=steps,
        ramp=ramp,
        steady=steady,
        tail=tail,
        tail_active=tail_active,
        phases=phases,
        units=tuple(
            UnitSeries(name, LABELS[name], tuple(round(x, _DIGITS) for x in units[name]))
            for name in ordered
        ),
    )


def scale_series(
    series: Mapping[str, Sequence[float]], value_of: Callable[[str], float | None]
) -> dict[str, list[float]]:
    """Return percentages of peak whose means are the launch's own metrics, where it has them."""
    scaled = {}
    for name, values in series.items():
        if (better := _ALTERNATIVE.get(name)) and value_of(better) is not None and better in series:
            continue
        mean, target = fmean(values), value_of(name)
        if name == ACTIVE and target is not None:
            elapsed = value_of("sm_cycles_elapsed")
            target = 100 * target / elapsed if elapsed else None
        if target is None and name in _ONLY_SCALED:
            continue
        ratio = target / mean if target is not None and mean > 0 else 1.0
        counts = name in (ACTIVE, "l1_wavefronts")
        if counts or 1 / MOST_RATIO <= ratio <= MOST_RATIO:
            scaled[name] = [min(value * ratio, 100.0) for value in values]
    return scaled


def active_part(units: Sequence[Sequence[float]]) -> tuple[int, int]:
    """Return the first step in which a unit reaches half of its level, and the one after the last.

    The level of a unit is what it exceeds in a tenth of the steps.
    """
    levels = [quantiles(each, n=10, method="inclusive")[-1] for each in units]
    least = SIGNIFICANT * max(levels)
    chosen = [
        [value / level for value in _smooth(each)]
        for each, level in zip(units, levels, strict=True)
        if level >= least and level > 0
    ]
    active = [max(parts) >= HALF for parts in zip(*chosen, strict=True)]
    if not any(active):
        return 0, len(active)
    return active.index(True), len(active) - active[::-1].index(True)


def _smooth(values: Sequence[float]) -> Sequence[float]:
    """Without single outliers, where there are steps enough."""
    if len(values) < 2 * LEAST_SAMPLES:
        return values
    inner = (median(values[at - 1 : at + 2]) for at in range(1, len(values) - 1))
    return [values[0], *inner, values[-1]]


def split_phases(
    units: Mapping[str, Sequence[float]], first: int, last: int
) -> list[tuple[int, int]]:
    """Split steps where the limit changes: by least squares, into parts of a tenth or more."""
    steps = len(next(iter(units.values())))
    shortest = max(2, math.ceil(NOTABLE * steps))
    best, at = 0.0, None
    for cut in range(first + shortest, last - shortest + 1):
        weight = (cut - first) * (last - cut) / (last - first)
        apart = sum(
            (fmean(each[first:cut]) - fmean(each[cut:last])) ** 2 for each in units.values()
        )
        if weight * apart > best:
            best, at = weight * apart, cut
    if at is None:
        return [(first, last)]
    parts = [*split_phases(units, first, at), *split_phases(units, at, last)]
    merged = parts[:1]
    for part in parts[1:]:
        if has_other_limit(_phase(units, *merged[-1]), _phase(units, *part), units):
            merged.append(part)
        else:
            merged[-1] = (merged[-1][0], part[1])
    return merged


def has_other_limit(
    one: LaunchPhase, other: LaunchPhase, units: Mapping[str, Sequence[float]]
) -> bool:
    """Tell whether phases have different limits: another unit, or one of them none."""
    if (one.limit, other.limit) == (None, None) or one.limit == other.limit:
        return False
    changes = [
        abs(_mean(units[name], one) - _mean(units[name], other))
        for name in (one.limit, other.limit)
        if name is not None
    ]
    return max(changes) >= MOVES


def _mean(values: Sequence[float], phase: LaunchPhase) -> float:
    steps = len(values)
    return fmean(values[round(phase.start * steps) : round(phase.end * steps)])


def _phase(units: Mapping[str, Sequence[float]], first: int, last: int) -> LaunchPhase:
    means = {name: fmean(each[first:last]) for name, each in units.items()}
    busiest = max(means, key=lambda name: means[name])
    steps = len(units[busiest])
    return LaunchPhase(
        start=first / steps,
        end=last / steps,
        limit=busiest if means[busiest] >= 100 * NEAR_LIMIT else None,
        busiest=UnitShare(busiest, LABELS[busiest], round(means[busiest], _DIGITS)),
    )


def describe_notable(over_time: OverTime) -> tuple[str, ...]:
    """Say in sentences what an average over the launch hides."""
    notes = []
    if len(over_time.phases) > 1:
        parts = "; ".join(map(describe_phase, over_time.phases))
        notes.append(
            "the verdict applies to the average of "
            f"{len(over_time.phases)} phases with different limits: {parts}"
        )
    tail, active = over_time.tail, over_time.tail_active
    if tail is not None and tail >= NOTABLE and active is not None and active <= IDLE:
        notes.append(
            f"the last {share(tail)} of the time is a tail with active SMs down to "
            f"{share(active)}: a sign of workload-imbalance or of a partial last wave"
        )
    return tuple(notes)


def describe_phase(phase: LaunchPhase) -> str:
    """Name a phase by its length and its limit."""
    busiest = phase.busiest
    length = share(phase.end - phase.start)
    if phase.limit is not None:
        return f"{length} of the time with {busiest.label} at {share(busiest.percent / 100)}"
    level = share(busiest.percent / 100)
    return f"{length} of the time with no unit above {level} (busiest: {busiest.label})"


def describe_over_time(over_time: OverTime) -> str:
    """Say the parts in a sentence: ``Ramp 4 %, steady 81 % (tensor pipe 92 %), tail 15 %.``"""
    if over_time.ramp is None or over_time.steady is None or over_time.tail is None:
        return ""
    phases = over_time.phases
    inner = (
        f"{phases[0].busiest.label} {share(phases[0].busiest.percent / 100)}"
        if len(phases) == 1
        else "; ".join(map(describe_phase, phases))
    )
    text = f"Ramp {share(over_time.ramp)}, steady {share(over_time.steady)} ({inner})"
    text += f", tail {share(over_time.tail)}"
    if over_time.tail >= NOTABLE and over_time.tail_active is not None:
        text += f" with active SMs down to {share(over_time.tail_active)}"
    return f"{text}."
