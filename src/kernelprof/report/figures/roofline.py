"""The roofline of a launch: its operations a byte at every level, and what limits them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.model.numbers import number
from kernelprof.report.charts.roofline import Ceiling, Point
from kernelprof.report.figures.ceilings import bandwidths, compute
from kernelprof.report.figures.flops import Counted, uses_tensor_cores
from kernelprof.report.figures.measured import finite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.manifest import Manifest, TimingFacts
    from kernelprof.report.figures.measured import Numbers

IDEAL: Final = "ideal"
SPECIFIED: Final = "useful"
"""Operations by the launch specification, where the counters do not give them."""

_WHAT: Final = {
    "DRAM": "bytes read from and written to device memory",
    "L2": "sectors that L1 asks L2 for or sends to it",
    "L1": "sectors of global loads and stores",
}


@dataclass(frozen=True, slots=True)
class Roofline:
    """A launch among its limits, and the sentences below the chart."""

    points: tuple[Point, ...]
    ceilings: tuple[Ceiling, ...]
    note: str = ""


def roofline(
    measured: Numbers,
    row: int,
    counted: Counted | None,
    timing: TimingFacts | None,
    manifest: Manifest | None,
) -> Roofline | None:
    """The chart of one launch; ``None`` where nothing of it is known.

    ``timing`` is given where the launch is of the kernel that it was measured for.
    """
    duration = measured.value("duration", row)
    if counted is None:
        counted = _specified(measured, row, timing, manifest)
    arithmetic = None if counted is None else counted.ceiling
    ceilings = (*(() if arithmetic is None else (arithmetic,)), *bandwidths(measured, row))
    points = _points(measured, row, counted, duration)
    ideal = _ideal(points, ceilings, counted, timing)
    if not points and not ideal:
        return _without_points(counted, ceilings)
    shown = (*points, *ideal)
    return Roofline(shown, ceilings, " ".join(_sentences(counted, shown, ceilings, timing)))


def _specified(
    measured: Numbers, row: int, timing: TimingFacts | None, manifest: Manifest | None
) -> Counted | None:
    """The operations that the specification names, over the time of this launch."""
    duration = measured.value("duration", row)
    if timing is None or not timing.flops or duration is None or duration <= 0:
        return None
    tensor = uses_tensor_cores(measured, row)
    ceiling = None if tensor else compute(measured, row, "FP32", manifest)
    return Counted(SPECIFIED, timing.flops / (duration * 1e-9), ceiling)


def _points(
    measured: Numbers, row: int, counted: Counted | None, duration: float | None
) -> tuple[Point, ...]:
    """The launch at every level whose bytes are known; a logarithmic axis has no zero."""
    if counted is None or counted.rate <= 0 or duration is None or duration <= 0:
        return ()
    operations = counted.rate * duration * 1e-9
    traffic = measured.traffic(row)
    levels = (("DRAM", traffic.dram), ("L2", traffic.l2), ("L1", traffic.l1))
    return tuple(
        Point(
            f"this kernel at {level}",
            level,
            operations / size,
            counted.rate,
            name=f"{level}: {number(operations / size)} FLOP per byte",
            short=level,
        )
        for level, value in levels
        if (size := finite(value)) is not None and size > 0
    )


def _ideal(
    points: tuple[Point, ...],
    ceilings: tuple[Ceiling, ...],
    counted: Counted | None,
    timing: TimingFacts | None,
) -> tuple[Point, ...]:
    """What the problem itself needs, at the height of the roof there or of the measured time."""
    if timing is None or not timing.flops or not timing.min_bytes:
        return ()
    intensity = timing.flops / timing.min_bytes
    roof = _roof(ceilings, intensity)
    if roof is None and timing.median_ns > 0:
        roof = timing.flops / (timing.median_ns * 1e-9)
    if roof is None and points and counted is not None:
        roof = counted.rate
    if roof is None or not (0 < intensity < math.inf):
        return ()
    name = f"ideal: {number(intensity)} FLOP per byte"
    label = "fewest operations and bytes"
    return (Point(label, IDEAL, intensity, roof, name=name, short=IDEAL),)


def _roof(ceilings: Iterable[Ceiling], intensity: float) -> float | None:
    """The height of the roof of device memory at an intensity, where both its parts are known."""
    heights = {
        each.kind: each.value * (1.0 if each.kind == "compute" else intensity)
        for each in ceilings
        if each.kind == "compute" or each.label == "DRAM"
    }
    return min(heights.values()) if len(heights) == 2 else None


def _without_points(counted: Counted | None, ceilings: tuple[Ceiling, ...]) -> Roofline | None:
    if counted is not None and counted.rate == 0:
        note = "The kernel executes no floating-point arithmetic, so it has no place in the chart."
        return Roofline((), ceilings, f"{note} {counted.others}".strip())
    return None


def _sentences(
    counted: Counted | None,
    points: tuple[Point, ...],
    ceilings: tuple[Ceiling, ...],
    timing: TimingFacts | None,
) -> Iterable[str]:
    levels = [each.level for each in points if each.level in _WHAT]
    if counted is not None and levels:
        if counted.precision == SPECIFIED:
            yield "Operations are those of the launch specification: the counters do not give them."
        elif counted.precision.startswith("tensor"):
            yield f"Counted are operations of the {counted.precision}."
        else:
            yield (
                f"Counted are {counted.precision} operations, a fused multiply-add as two, from "
                "the hardware counters."
            )
        if counted.others:
            yield counted.others
        yield "Bytes: " + "; ".join(f"{level}, {_WHAT[level]}" for level in levels) + "."
    origins = [f"{each.label} ({each.origin})" for each in ceilings]
    if origins:
        yield f"Limits: {', '.join(origins)}."
    if timing is not None and any(each.level == IDEAL for each in points):
        kinds = {each.kind for each in ceilings if each.kind == "compute" or each.label == "DRAM"}
        where = "at the roof there" if len(kinds) == 2 else "at the measured time"
        yield f"The ideal point is the fewest operations and bytes that the problem needs, {where}."
