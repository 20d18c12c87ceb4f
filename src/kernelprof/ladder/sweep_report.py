"""The part of the ladder's report on other block shapes, and on what others measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelprof.ladder.figures import gflops, ratio, speedup, timing_with
from kernelprof.ladder.markdown import (
    DASH,
    defines_cell,
    factor_cell,
    number_cell,
    share_cell,
    spread_cell,
    table,
    time_cell,
)
from kernelprof.ladder.published import published
from kernelprof.report.numbers import factor, quantity
from kernelprof.report.writers.markdown import prose

if TYPE_CHECKING:
    from kernelprof.ladder.published import Asked, Published, Step
    from kernelprof.ladder.results import Climb, Climbed
    from kernelprof.model.manifest import TimingFacts


def sweep_lines(climb: Climb) -> list[str]:
    """Every rung's own defines and its variants; nothing where none was swept."""
    swept = [rung for rung in climb.rungs if rung.sweep is not None]
    if not swept:
        return []
    columns = ("#", "rung", "defines", "time", "95 % confidence", "GFLOP/s", "against its own")
    return [
        "## Other sizes of blocks and tiles",
        "",
        *table(columns, [row for rung in swept for row in _sweep_rows(rung)], left=3),
        "",
        "Checked and timed, not profiled. The first line of a rung is that of its own defines; "
        "above 1.00x a variant is faster.",
    ]


def _sweep_rows(rung: Climbed) -> list[tuple[str, ...]]:
    rows = [_sweep_row(rung, rung.defines, rung.timing, "")]
    for variant in rung.sweep or ():
        why = "" if variant.error is None else f"failed: {prose(variant.error.what)}"
        rows.append(_sweep_row(rung, variant.defines, variant.timing, why))
    return rows


def _sweep_row(
    rung: Climbed, defines: dict[str, object], timing: TimingFacts | None, why: str
) -> tuple[str, ...]:
    rate = gflops(timing)
    return (
        str(rung.number),
        prose(rung.title),
        defines_cell(defines),
        why or time_cell(timing),
        spread_cell(timing),
        number_cell(None if rate is None else round(rate)),
        factor_cell(speedup(rung.timing, timing)),
    )


def published_lines(climb: Climb) -> list[str]:
    """The figures of others, each with the same step here."""
    lines = [
        "## Beside published figures",
        "",
        "Times on different GPUs cannot be compared; what each step changes can, with care: the "
        "sizes differ, and so do caches and clocks.",
    ]
    for each in published():
        lines += ["", *_gpu_lines(climb, each)]
    return lines


def _gpu_lines(climb: Climb, there: Published) -> list[str]:
    columns = ("step", "against", "ratio there", "ratio here", "of cuBLAS there", "of cuBLAS here")
    lines = [
        f"### {there.name}, N = {there.size}",
        "",
        f"Source: {there.source}.",
        "",
        *table(columns, [_step_row(climb, there, step) for step in there.steps], left=2),
    ]
    asked = _asked_sentence(climb, there.asked) if there.asked is not None else ""
    return [*lines, "", asked] if asked else lines


def _step_row(climb: Climb, there: Published, step: Step) -> tuple[str, ...]:
    before = None if step.against is None else there.step(step.against)
    here = _timing(climb, step)
    ceiling = None if climb.ceiling is None else gflops(climb.ceiling.timing)
    return (
        step.what,
        DASH if before is None else before.what,
        factor_cell(None if before is None else ratio(step.gflops, before.gflops)),
        factor_cell(None if before is None else speedup(_timing(climb, before), here)),
        share_cell(ratio(step.gflops, there.cublas_gflops)),
        share_cell(ratio(gflops(here), ceiling)),
    )


def _timing(climb: Climb, step: Step) -> TimingFacts | None:
    return None if step.rung is None else timing_with(climb, step.rung, step.defines)


def _asked_sentence(climb: Climb, asked: Asked) -> str:
    """How many times too much the naive kernel asks for, counted as it was counted there."""
    text = (
        f"There the naive kernel asks for {quantity(asked.bytes, 'byte')} where "
        f"{quantity(asked.least, 'byte')} would do ({asked.note}): "
        f"{factor(asked.bytes / asked.least)}."
    )
    rung, size = climb.rung(asked.rung), climb.sizes.get("N")
    if rung is None or rung.traffic is None or rung.traffic.asked is None:
        return text
    if size is None or set(climb.sizes.values()) != {size}:
        return text
    least = 4.0 * asked.matrices * size**2
    return (
        f"{text} Counted in the same way it is {quantity(rung.traffic.asked, 'byte')} and "
        f"{quantity(least, 'byte')} here: {factor(rung.traffic.asked / least)}."
    )
