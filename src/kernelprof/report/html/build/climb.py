"""The roofline of a climb: the way from rung to rung at device memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.ladder.figures import gflops, peak_gflops
from kernelprof.report.html.build.ceilings import DATASHEET, MEASURED
from kernelprof.report.html.build.private import shown
from kernelprof.report.html.build.roofline import IDEAL
from kernelprof.report.html.view import Roofline, RooflineCeiling, RooflinePoint
from kernelprof.report.numbers import number

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kernelprof.ladder.results import Climb
    from kernelprof.report.html.view import KernelView


def climb_roofline(
    climb: Climb, cards: Iterable[KernelView], way: Collection[str]
) -> Roofline | None:
    """The way over the rungs at device memory, towards what the problem itself needs.

    ``way`` are the files of the rungs that lead up; limits of memory come from the ``cards``.
    """
    points = []
    for rung in climb.rungs:
        rate = gflops(rung.timing)
        moved = None if rung.traffic is None else rung.traffic.dram
        if rate is None or not moved or rung.timing is None or not rung.timing.flops:
            continue
        leads = rung.file in way
        name = f"{rung.number} {shown(rung.title)}"
        points.append(
            RooflinePoint(
                label=name,
                level="DRAM" if leads else "branch",
                flop_per_byte=rung.timing.flops / moved,
                flop_per_second=rate * 1e9,
                name=name,
                short=str(rung.number),
                path="way" if leads else "",
            )
        )
    if not points:
        return None
    ceilings = tuple(_ceilings(climb, cards))
    return Roofline((*points, *_ideal(climb, ceilings)), ceilings, " ".join(_notes(ceilings)))


def _ceilings(climb: Climb, cards: Iterable[KernelView]) -> Iterable[RooflineCeiling]:
    peak = peak_gflops(climb.surroundings)
    if peak is not None:
        yield RooflineCeiling("FP32 peak", "compute", peak * 1e9, DATASHEET)
    ceiling = None if climb.ceiling is None else gflops(climb.ceiling.timing)
    if ceiling is not None:
        yield RooflineCeiling("cuBLAS", "compute", ceiling * 1e9, MEASURED)
    found = [
        each
        for card in cards
        if card.roofline is not None
        for each in card.roofline.ceilings
        if each.label == "DRAM"
    ]
    measured = [each for each in found if each.origin == MEASURED]
    yield from (measured or found)[:1]


def _ideal(climb: Climb, ceilings: Iterable[RooflineCeiling]) -> Iterable[RooflinePoint]:
    timing = next((rung.timing for rung in climb.rungs if rung.timing is not None), None)
    if timing is None or not timing.flops or not timing.min_bytes:
        return
    intensity = timing.flops / timing.min_bytes
    heights = [
        each.value * (1.0 if each.kind == "compute" else intensity)
        for each in ceilings
        if each.label in {"FP32 peak", "DRAM"}
    ]
    if heights:
        yield RooflinePoint(
            "fewest operations and bytes",
            IDEAL,
            intensity,
            min(heights),
            name=f"ideal: {number(intensity)} FLOP per byte",
            short="ideal",
        )


def _notes(ceilings: Iterable[RooflineCeiling]) -> Iterable[str]:
    yield (
        "Each rung stands at its useful operations a second, by times outside the profiler, and at "
        "its operations for each byte of device memory. The line joins the rungs that lead up; a "
        "cross is a variant beside them."
    )
    origins = [f"{each.label} ({each.origin})" for each in ceilings]
    if origins:
        yield f"Limits: {', '.join(origins)}."
