"""The roofline of a launch, or of a kernel before and after: operations a byte, and the limits."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.rules import Place
from kernelprof.launch.trial import timing_facts
from kernelprof.model.numbers import number
from kernelprof.report.charts.roofline import Ceiling, Point
from kernelprof.report.figures.ceilings import L1_LABEL, bandwidths, compute, tensor_peak
from kernelprof.report.figures.flops import Counted, count, uses_tensor_cores
from kernelprof.report.figures.measured import finite, product
from kernelprof.report.figures.memory import WAVEFRONT, shared_wavefronts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kernelprof.model.comparison import InputChange
    from kernelprof.model.manifest import Manifest, TimingFacts
    from kernelprof.model.snapshot import KernelSnapshot
    from kernelprof.report.figures.measured import Medians, Numbers

IDEAL: Final = "ideal"
SPECIFIED: Final = "useful"
"""Operations by the launch specification, where the counters do not give them."""

_WHAT: Final = {
    "DRAM": "bytes read from and written to device memory",
    "L2": "sectors that L1 asks L2 for or sends to it",
    "L1": "sectors of global loads and stores",
    "shared": "wavefronts of shared memory, 128 bytes each",
}
_CALLED: Final = {"shared": "shared memory"}
_OTHER_CHIP: Final = frozenset({"GPU", "compute capability"})
_LEGEND: Final = "Hollow: before. Filled: after. Lines join the two at each level of memory."


@dataclass(frozen=True, slots=True)
class Roofline:
    """A launch among its limits; ``about`` are sentences on its operations, bytes and ideal."""

    points: tuple[Point, ...]
    ceilings: tuple[Ceiling, ...]
    about: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """The sentences below the chart."""
        limits = ", ".join(each.shown for each in self.ceilings)
        return " ".join((*self.about, *([f"Limits: {limits}."] if limits else ())))


def roofline(
    launch: Numbers,
    counted: Counted | None,
    timing: TimingFacts | None,
    manifest: Manifest | None,
    place: Place | None = None,
) -> Roofline | None:
    """The chart of one launch; ``None`` where nothing of it is known.

    ``timing`` is given where the launch is of the kernel that it was measured for, and ``place``
    where a verdict says that it is held back.
    """
    counted = counted or _specified(launch, timing, manifest)
    arithmetic = None if counted is None else counted.ceiling
    ceilings = (*(() if arithmetic is None else (arithmetic,)), *bandwidths(launch))
    ceilings = tuple(replace(each, limiting=_is_at(each, place)) for each in ceilings)
    points = _points(launch, counted)
    ideal = _ideal(points, ceilings, timing)
    if not points and not ideal:
        if counted is None or counted.rate != 0:
            return None
        none = "The kernel executes no floating-point arithmetic, so it has no place in the chart."
        return Roofline((), (), tuple(filter(None, (none, counted.others))))
    about = [] if counted is None or not points else [*_about(counted, points, launch)]
    if ideal:
        about.append("The ideal point is the fewest operations and bytes that the problem needs.")
    return Roofline((*points, *ideal), ceilings, tuple(about))


def _is_at(ceiling: Ceiling, place: Place | None) -> bool:
    """Whether a limit is that of the place where a kernel is held back."""
    if ceiling.kind == "compute":
        return place is Place.PIPES
    return place is not None and ceiling.label in _LIMIT_OF.get(place, ())


_LIMIT_OF: Final = {
    Place.DRAM: ("DRAM",),
    Place.L2: ("L2",),
    Place.L1: (L1_LABEL,),
    Place.SHARED: (L1_LABEL,),
}


def _specified(
    launch: Numbers, timing: TimingFacts | None, manifest: Manifest | None
) -> Counted | None:
    """The operations that the specification names, over the time of this launch."""
    if timing is None or not timing.flops or launch.seconds is None:
        return None
    tensor = uses_tensor_cores(launch)
    ceiling = tensor_peak(launch, manifest) if tensor else compute(launch, "FP32", manifest)
    return Counted(SPECIFIED, timing.flops / launch.seconds, ceiling)


def _points(launch: Numbers, counted: Counted | None) -> tuple[Point, ...]:
    """The launch at every level whose bytes are known; a logarithmic axis has no zero."""
    operations = product(None if counted is None else counted.rate, launch.seconds)
    if counted is None or operations is None:
        return ()
    traffic = launch.traffic()
    shared = product(shared_wavefronts(launch), WAVEFRONT)
    levels = (
        ("DRAM", traffic.dram),
        ("L2", traffic.l2),
        ("L1", traffic.l1),
        ("shared", shared),
    )
    return tuple(
        Point(f"this kernel at {_CALLED.get(level, level)}", level, operations / size, counted.rate)
        for level, value in levels
        if (size := finite(value)) is not None and size > 0
    )


def _ideal(
    points: tuple[Point, ...], ceilings: Iterable[Ceiling], timing: TimingFacts | None
) -> tuple[Point, ...]:
    """What the problem itself needs, at the roof there or else at the measured time."""
    if timing is None or not timing.flops or not timing.min_bytes:
        return ()
    intensity = timing.flops / timing.min_bytes
    heights = {
        each.kind: each.value * (1.0 if each.kind == "compute" else intensity)
        for each in ceilings
        if each.kind == "compute" or each.label == "DRAM"
    }
    height = points[0].flop_per_second if points else 0.0
    if len(heights) == 2:
        height = min(heights.values())
    elif timing.median_ns > 0:
        height = timing.flops / (timing.median_ns * 1e-9)
    if not (0 < intensity < math.inf) or not height:
        return ()
    label = f"fewest operations and bytes: {number(intensity)} FLOP per byte"
    return (Point(label, IDEAL, intensity, height),)


def _about(counted: Counted, points: Iterable[Point], launch: Numbers) -> Iterable[str]:
    if counted.precision == SPECIFIED:
        yield "Operations are those of the launch specification: the counters do not give them."
    elif counted.precision.startswith("tensor"):
        yield f"Counted are operations of the {counted.precision}."
    else:
        basis = "the machine code, as predicted" if launch.predicted else "the hardware counters"
        what = f"{counted.precision} operations, a fused multiply-add as two"
        yield f"Counted are {what}, from {basis}."
    if counted.others:
        yield counted.others
    yield "Bytes: " + "; ".join(f"{each.level}, {_WHAT[each.level]}" for each in points) + "."


def both_sides(
    kernels: tuple[KernelSnapshot, KernelSnapshot],
    numbers: tuple[Medians, Medians],
    machine: Iterable[InputChange],
) -> Roofline:
    """Both sides of a kernel with the way from one to the other; without points, why not."""
    if any(each.kind in _OTHER_CHIP for each in machine):
        why = "The two GPUs have different limits, so there is no roofline of both."
        return Roofline((), (), (why,))
    before, after = map(_side, kernels, numbers)
    if before is None or after is None:
        sides = (("before", before), ("after", after))
        lacking = " and ".join(name for name, side in sides if side is None)
        why = (
            "There is no roofline: it takes the counters of floating-point instructions and of "
            f"bytes, which are not known {lacking}."
        )
        return Roofline((), (), (why,))
    points = tuple(_joined(before.points, after.points))
    if not points:
        why = "There is no roofline: no level of memory is known on both sides."
        return Roofline((), (), next((e.about for e in (before, after) if not e.points), (why,)))
    ideal = [each for side in (before, after) for each in side.points if each.level == IDEAL]
    if len({each.flop_per_byte for each in ideal}) == 1:
        points += (max(ideal, key=lambda each: each.flop_per_second),)
    # Each limit once, as it was after the change.
    limits = {each.label: each for each in (*before.ceilings, *after.ceilings)}
    other = (f"Before: {each}" for each in before.about if each not in after.about)
    return Roofline(points, tuple(limits.values()), (_LEGEND, *after.about, *other))


def _side(kernel: KernelSnapshot, numbers: Medians) -> Roofline | None:
    """With the operations and bytes that the launch specification names."""
    times = [each for each in kernel.events_ns or kernel.profiled_ns if (finite(each) or 0) > 0]
    timing = None
    if times:
        timing = timing_facts(times, warm_up=0, flops=kernel.flops, min_bytes=kernel.min_bytes)
    return roofline(numbers, count(numbers, None), timing, None)


def _joined(before: Iterable[Point], after: Iterable[Point]) -> Iterable[Point]:
    """Points at levels that both sides have, in pairs."""
    arrived = {each.level: each for each in after if each.level != IDEAL}
    for start in before:
        if start.level in arrived:
            level, end = start.level, arrived[start.level]
            yield replace(start, label=f"before, at {level}", path=level, hollow=True)
            yield replace(end, label=f"after, at {level}", path=level)
