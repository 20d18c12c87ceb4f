"""Rungs beside cuBLAS at every size: the table, and the facts of one rung."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from kernelprof.ladder.results import gain_before, gflops, next_gains
from kernelprof.ladder.rounds import ratio_of
from kernelprof.model.numbers import count, factor, quantity
from kernelprof.report.charts.parts import time_unit
from kernelprof.report.document import Cell, Column, Fact, Paragraph, Section, Span, Table, Tone
from kernelprof.report.documents.ladder_parts import (
    DASH,
    anchor,
    factor_cell,
    gain_cell,
    named,
    verdict_text,
)
from kernelprof.report.documents.ladder_rates import TERA

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kernelprof.ladder.results import Climb, Climbed
    from kernelprof.ladder.rounds import Beside
    from kernelprof.model.manifest import TimingFacts


def beside_section(climb: Climb) -> Section:
    """The rungs with their verdict, and at each size their rate and what part of cuBLAS' it is."""
    sizes = climb.measured_sizes
    columns = (
        Column("rung", yielding=True),
        Column("verdict"),
        Column("confidence", brief="conf", optional=True),
        *(
            Column(f"{what} at {size}", number=True)
            for size in sizes
            for what in (TERA.name, "of cuBLAS")
        ),
        Column("gain", number=True),
        Column("expected gain", brief="expected", number=True),
        Column("next rung gained", optional=True),
    )
    rows = tuple(tuple(_row(climb, rung, sizes)) for rung in climb.rungs)
    text = (
        "The verdict is that on the preset `full`. Of cuBLAS is the rung's speed over that of "
        "cuBLAS, which is timed in turns with it: the median of the rounds, and in brackets the "
        f"lowest and the highest. Gain is over the rung that this one changes, at {sizes[-1]}, as "
        "is next rung gained; expected gain is what kernelprof works out from the counters of the "
        "rung alone."
    )
    table = Table(columns, rows, label="Table of rungs", long=True)
    return Section("Time and verdict", (table, Paragraph(text, Tone.MUTED)))


def _row(climb: Climb, rung: Climbed, sizes: Sequence[int]) -> Iterator[Cell]:
    said = None if rung.full is None else rung.full.said
    yield Cell(Span(named(rung), target=anchor(rung)), sort=rung.number)
    yield Cell(verdict_text(said) if rung.error is None else Span("failed", Tone.BAD))
    yield Cell(DASH if said is None else said.confidence)
    for size in sizes:
        beside = rung.at(size)
        if beside is None:
            yield from (Cell(DASH), Cell(DASH))
            continue
        rung_ns, ceiling_ns = _medians(beside)
        tip = f"{_time(beside.timing, rung_ns)}; cuBLAS {_time(beside.ceiling, ceiling_ns)}"
        yield Cell(TERA.cell(beside.timing), sort=gflops(beside.timing), tip=tip)
        yield Cell(part_cell(beside), sort=ratio_of(beside).median)
    gain = gain_before(climb, rung)
    yield Cell(factor_cell(gain), sort=gain)
    yield Cell(gain_cell(said), sort=None if said is None else said.gain)
    gains = next_gains(climb, rung)
    gained = ", ".join(f"{each.number}: {factor(gain)}" for each, gain in gains)
    yield Cell(gained or DASH, sort=max((gain for _, gain in gains), default=None))


def beside_facts(rung: Climbed) -> Iterator[Fact]:
    """Both times at each size, with the lowest and the highest median of a round."""
    for beside in rung.beside:
        rung_ns, ceiling_ns = _medians(beside)
        text = (
            f"{_time(beside.timing, rung_ns)}, {TERA.cell(beside.timing)} {TERA.name}; cuBLAS "
            f"{_time(beside.ceiling, ceiling_ns)}, {TERA.cell(beside.ceiling)} {TERA.name}; "
            f"{part_cell(beside)} of it in {count(len(beside.rounds), 'round')}"
        )
        yield Fact(f"M = N = K = {beside.size}", (text,))


def ceiling_text(climb: Climb) -> str:
    """What cuBLAS did at each size, the medians over the rungs that it was timed in turns with."""
    parts = []
    for size in climb.measured_sizes:
        found = [each for rung in climb.rungs if (each := rung.at(size)) is not None]
        rates = [rate for each in found if (rate := gflops(each.ceiling)) is not None]
        time = statistics.median(each.ceiling.median_ns for each in found)
        shown = f", {TERA.text(statistics.median(rates))}" if rates else ""
        parts.append(f"{quantity(time, 'ns')}{shown} at {size}")
    return "; ".join(parts)


def part_cell(beside: Beside) -> str:
    """``102.1 % (101.8 to 102.4)``: the median round, the lowest and the highest."""
    found = ratio_of(beside)
    return f"{100 * found.median:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f})"


def parts_text(rung: Climbed) -> str:
    """``101.2 % of cuBLAS at 4096, 102.1 % at 8192``."""
    parts = [f"{100 * ratio_of(each).median:.1f} % at {each.size}" for each in rung.beside]
    return ", ".join(parts).replace(" % ", " % of cuBLAS ", 1)


def _medians(beside: Beside) -> tuple[list[float], list[float]]:
    """Of the rounds: those of the rung, and those of cuBLAS."""
    return [each.rung_ns for each in beside.rounds], [each.ceiling_ns for each in beside.rounds]


def _time(timing: TimingFacts, medians: Sequence[float]) -> str:
    low, high = min(medians), max(medians)
    size, unit = time_unit(high)
    return f"{quantity(timing.median_ns, 'ns')} ({low / size:.5g} to {high / size:.5g} {unit})"
