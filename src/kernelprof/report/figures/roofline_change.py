"""Both sides of a kernel in one roofline, with the way from one to the other at each level."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.traffic import traffic_of
from kernelprof.launch.trial import timing_facts
from kernelprof.report.figures.ceilings import MEASURED
from kernelprof.report.figures.flops import count
from kernelprof.report.figures.measured import clip, finite
from kernelprof.report.figures.roofline import IDEAL, Roofline, roofline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.analysis.metrics.traffic import Traffic
    from kernelprof.model.comparison import InputChange
    from kernelprof.model.manifest import TimingFacts
    from kernelprof.model.snapshot import KernelSnapshot, Machine
    from kernelprof.report.charts.roofline import Ceiling, Point

ROW: Final = 0
"""Medians are a single row."""

_OTHER_CHIP: Final = frozenset({"GPU", "compute capability"})
_ABOUT_LIMITS: Final = "Limits:"
_ABOUT_IDEAL: Final = "The ideal point"
_SENTENCE: Final = re.compile(r"(?<=\.) (?=[A-Z])")
_LEGEND: Final = "Hollow: before. Filled: after. The arrows join the two at each level of memory."


class Medians:
    """The medians of a kernel's launches; a snapshot keeps no columns of ``ncu``."""

    least_utilization = 0.005
    """Two decimals of a percentage are off by 1 % here, which cannot be seen on an axis of powers
    of ten, and there is nothing else that tells the limit: attributes of the chip are columns."""

    tensor_columns: tuple[str, ...] = ()

    def __init__(self, kernel: KernelSnapshot, machine: Machine) -> None:
        self._metrics = kernel.metrics
        self._capability = machine.compute_capability

    def value(self, name: str, row: int) -> float | None:  # noqa: ARG002
        """A metric by its canonical name."""
        return finite(self._metrics.get(name))

    def raw(self, ncu_name: str, row: int) -> float | None:  # noqa: ARG002
        """Nothing: a snapshot has canonical metrics only."""
        return None

    def share(self, name: str, row: int) -> float | None:
        """A percentage as a share, 0 to 1."""
        value = self.value(name, row)
        return None if value is None else clip(value / 100.0)

    def compute_capability(self, row: int) -> tuple[int, int] | None:  # noqa: ARG002
        """The architecture, where all launches of the capture ran on one."""
        major, _, minor = (self._capability or "").partition(".")
        return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else None

    def traffic(self, row: int) -> Traffic:
        """Bytes at every level of the memory."""
        return traffic_of(lambda name: self.value(name, row))


def both_sides(
    kernels: tuple[KernelSnapshot, KernelSnapshot],
    numbers: tuple[Medians, Medians],
    machine: Iterable[InputChange],
) -> tuple[Roofline | None, str]:
    """The chart, and the sentence below it or why there is no chart."""
    if any(each.kind in _OTHER_CHIP for each in machine):
        return None, "The two GPUs have different limits, so there is no roofline of both."
    found = [_side(kernel, side) for kernel, side in zip(kernels, numbers, strict=True)]
    before, after = found
    if before is None or after is None:
        lacking = " and ".join(
            name for name, side in (("before", before), ("after", after)) if side is None
        )
        return None, (
            "There is no roofline: it takes the counters of floating-point instructions and of "
            f"bytes, which are not known {lacking}."
        )
    points = tuple(_joined(before.points, after.points))
    if not points:
        reason = next((each.note for each in (before, after) if not each.points), "")
        return None, reason or "There is no roofline: no level of memory is known on both sides."
    ideal = [
        (point.flop_per_second, side.note, point)
        for side in (after, before)
        for point in side.points
        if point.level == IDEAL
    ]
    sentences = [*_counted(before.note, after.note)]
    limits = _limits(after.ceilings, before.ceilings)
    if limits:
        named = ", ".join(f"{each.label} ({each.origin})" for each in limits)
        sentences.append(f"Limits: {named}.")
    if len({point.flop_per_byte for *_, point in ideal}) == 1:
        # At the roof on the side whose roof is known, else at the faster time.
        _, note, best = max(ideal, key=lambda each: each[0])
        points += (best,)
        sentences += [each for each in _split(note) if each.startswith(_ABOUT_IDEAL)]
    return Roofline(points, limits), " ".join([_LEGEND, *sentences])


def _side(kernel: KernelSnapshot, numbers: Medians) -> Roofline | None:
    return roofline(numbers, ROW, count(numbers, ROW, None), _timing(kernel), None)


def _timing(kernel: KernelSnapshot) -> TimingFacts | None:
    """The times with the operations and bytes that the launch specification names."""
    times = [each for each in kernel.events_ns or kernel.profiled_ns if (finite(each) or 0) > 0]
    if not times:
        return None
    return timing_facts(times, warm_up=0, flops=kernel.flops, min_bytes=kernel.min_bytes)


def _joined(before: Iterable[Point], after: Iterable[Point]) -> Iterable[Point]:
    """Points at levels that both sides have, in pairs."""
    arrived = {each.level: each for each in after if each.level != IDEAL}
    for start in before:
        if start.level not in arrived:
            continue
        for point, side in ((start, "before"), (arrived[start.level], "after")):
            name = f"{point.level} {side}"
            yield replace(
                point,
                label=f"{side}, at {point.level}",
                name=name,
                short=name,
                path=point.level,
                hollow=side == "before",
            )


def _limits(after: Iterable[Ceiling], before: Iterable[Ceiling]) -> tuple[Ceiling, ...]:
    """Each limit once: measured before worked out, and then as it was after the change."""
    found: dict[str, Ceiling] = {}
    for each in (*after, *before):
        known = found.get(each.label)
        if known is None or (each.origin == MEASURED and known.origin != MEASURED):
            found[each.label] = each
    return tuple(found.values())


def _counted(before: str, after: str) -> Iterable[str]:
    """What was counted: of both sides once, and of the one before where that is another."""
    both = _split(after)
    yield from (each for each in both if not each.startswith((_ABOUT_LIMITS, _ABOUT_IDEAL)))
    for each in _split(before):
        if each not in both and not each.startswith((_ABOUT_LIMITS, _ABOUT_IDEAL, "Bytes:")):
            yield f"Before: {each[:1].lower()}{each[1:]}"


def _split(note: str) -> list[str]:
    return _SENTENCE.split(note) if note else []
