"""What was measured on the ladder as documents: the drill-down's cost, and variants of rungs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.ladder.measure import timing_with
from benchmarks.ladder.published import published

from kernelprof.analysis.verdict.ranking import AT_LIMIT
from kernelprof.ladder.results import ceiling_rate, gflops, ratio, speedup
from kernelprof.model.diagnosis import Status
from kernelprof.model.numbers import factor, quantity, share
from kernelprof.report.document import (
    Bullets,
    Cell,
    CodeBlock,
    Column,
    Document,
    Paragraph,
    Section,
    Span,
    Table,
)
from kernelprof.report.documents.ladder_parts import (
    DASH,
    factor_cell,
    measured_on,
    rate_unit,
    spread_cell,
    time_cell,
    verdict_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from benchmarks.ladder.measure import Measured, Measurements
    from benchmarks.ladder.published import Asked, Published, Step

    from kernelprof.ladder.results import Climb, Climbed, ProfileSummary
    from kernelprof.model.manifest import TimingFacts
    from kernelprof.report.document import Block, Text
    from kernelprof.report.documents.ladder_parts import RateUnit

HALF: Final = 0.5

_Both = tuple["Climbed", "Measured"]


def drilldown(climb: Climb, measured: Measurements) -> Document:
    """The drill-down, the preset ``full`` and ``ncu --set full``, rung by rung."""
    rungs = [pair for pair in _paired(climb, measured) if pair[1].drilldown is not None]
    blocks = (*_heading(climb, measured), *_summary(rungs), *_ways(rungs))
    return _document("The drill-down", climb, blocks)


def sweep(climb: Climb, measured: Measurements) -> Document:
    """Every rung's variants, and the figures of others, each with the same step here."""
    blocks = (*_heading(climb, measured), *_sweep(climb, measured), *_published(climb, measured))
    return _document("Other block shapes", climb, blocks)


def _document(title: str, climb: Climb, blocks: tuple[Block, ...]) -> Document:
    name, gpu = climb.title[:1].lower() + climb.title[1:], climb.surroundings.gpu
    return Document(f"{title} on {name} on {gpu or 'an unknown GPU'}", blocks)


def _heading(climb: Climb, measured: Measurements) -> tuple[Block, ...]:
    return Paragraph(Span(measured_on(climb))), CodeBlock(measured.command, "sh", copy=True)


def _paired(climb: Climb, measured: Measurements) -> Iterator[_Both]:
    for rung in climb.rungs:
        found = measured.rung(rung.file)
        if found is not None:
            yield rung, found


def _table(titles: Sequence[str], rows: Iterable[Sequence[Text]], words: int) -> Table:
    """A table whose first columns are words and whose others are figures."""
    columns = tuple(Column(title, number=at >= words) for at, title in enumerate(titles))
    return Table(columns, tuple(tuple(map(Cell, row)) for row in rows))


# The drill-down


def _summary(rungs: Sequence[_Both]) -> tuple[Block, ...]:
    compared = [pair for pair in rungs if pair[1].full_set is not None]
    if not compared:
        return (Paragraph("`ncu --set full` was not run, so there is nothing to compare with."),)

    def counted(what: str, holds: Callable[[Climbed, Measured], bool]) -> Text:
        right = [pair for pair in compared if holds(*pair)]
        line: list[str | Span] = [f"{what}: {len(right)} of {len(compared)} rungs"]
        for at, (rung, _) in enumerate(pair for pair in compared if pair not in right):
            line += [", " if at else "; not ", Span(rung.file, code=True)]
        return (*line, ".")

    items = [
        counted("Same verdict as the preset `full`", lambda r, m: _same(m.drilldown, r.full)),
        counted(
            "Same bottleneck as `ncu --set full`", lambda _, m: _same_name(m.drilldown, m.full_set)
        ),
        counted("Same status, too", lambda _, m: _same(m.drilldown, m.full_set)),
        counted("At most half of its passes", lambda _, m: _is_half(m)),
    ]
    drilled = _passes(m.drilldown for _, m in compared)
    whole = _passes(m.full_set for _, m in compared)
    part = ratio(drilled, whole)
    if part is not None:
        items.append(f"All rungs together: {drilled} of {whole} passes, {share(part)}.")
    return (Bullets(tuple(items)),)


def _ways(rungs: Sequence[_Both]) -> tuple[Block, ...]:
    titles = (
        *("#", "rung", "drill-down", "preset full", "--set full", "same"),
        *("runs", "passes", "seconds", "passes, full", "seconds, full"),
        *("passes, --set full", "seconds, --set full", "share of its passes"),
    )
    rows = [_way_row(rung, measured) for rung, measured in rungs]
    if rungs:
        rows.append(_total_row(rungs))
    text = (
        "Each way is a run (the drill-down: runs) of the same built kernel with the same launch. "
        "Same compares with `ncu --set full`; status: the bottleneck is the same, and one of them "
        f"says that it is at its limit, which a unit that is within the noise of "
        f"{AT_LIMIT * 100:.0f} % full can be in one run and not in the next. Passes are replays of "
        "the kernel; seconds include the start of the program and the reading of the report."
    )
    return _table(titles, rows, words=6), Paragraph(text)


def _way_row(rung: Climbed, measured: Measured) -> tuple[Text, ...]:
    drilled, full, whole = measured.drilldown, rung.full, measured.full_set
    assert drilled is not None
    part = None if whole is None else ratio(drilled.passes, whole.passes)
    return (
        str(rung.number),
        Span(rung.title),
        *(_verdict(way) for way in (drilled, full, whole)),
        _sameness(drilled, whole),
        str(drilled.runs),
        *(cell for way in (drilled, full, whole) for cell in _cost(way)),
        share(part),
    )


def _total_row(rungs: Sequence[_Both]) -> tuple[Text, ...]:
    ways = (
        [m.drilldown for _, m in rungs],
        [r.full for r, _ in rungs],
        [m.full_set for _, m in rungs],
    )
    cells: list[str] = []
    for each in ways:
        seconds = None if None in each else sum(way.seconds for way in each if way is not None)
        cells += [_whole(_passes(each)), DASH if seconds is None else f"{seconds:.1f}"]
    runs = sum(way.runs for way in ways[0] if way is not None)
    part = ratio(_passes(ways[0]), _passes(ways[2]))
    return ("", "all", "", "", "", "", str(runs), *cells, share(part))


def _verdict(way: ProfileSummary | None) -> Text:
    if way is None:
        return DASH
    limit = "at its limit, " if way.said.status == Status.AT_LIMIT.value else ""
    return (Span(verdict_name(way.said), code=True), f" ({limit}{way.said.confidence})")


def _sameness(one: ProfileSummary, other: ProfileSummary | None) -> str:
    if other is None:
        return DASH
    if _same(one, other):
        return "yes"
    return "status" if _same_name(one, other) else "no"


def _cost(way: ProfileSummary | None) -> tuple[str, str]:
    return (DASH, DASH) if way is None else (_whole(way.passes), f"{way.seconds:.1f}")


def _whole(passes: int | None) -> str:
    return DASH if passes is None else f"{passes:,}"


def _same_name(one: ProfileSummary | None, other: ProfileSummary | None) -> bool:
    if one is None or other is None:
        return False
    return one.said.bottleneck == other.said.bottleneck


def _same(one: ProfileSummary | None, other: ProfileSummary | None) -> bool:
    if one is None or other is None:
        return False
    return _same_name(one, other) and one.said.status == other.said.status


def _is_half(measured: Measured) -> bool:
    if measured.drilldown is None or measured.full_set is None:
        return False
    part = ratio(measured.drilldown.passes, measured.full_set.passes)
    return part is not None and part <= HALF


def _passes(ways: Iterable[ProfileSummary | None]) -> int | None:
    """Passes of a way over all rungs, not known where one is not."""
    every = [None if way is None else way.passes for way in ways]
    known = [each for each in every if each is not None]
    return sum(known) if len(known) == len(every) else None


# Variants, and figures of others


def _sweep(climb: Climb, measured: Measurements) -> tuple[Block, ...]:
    """Every rung's own defines and its variants; nothing where none was swept."""
    swept = [(rung, each) for rung, each in _paired(climb, measured) if each.sweep is not None]
    if not swept:
        return ()
    unit = rate_unit(climb)
    titles = ("#", "rung", "defines", "time", "95 % confidence", unit.name, "against its own")
    rows: list[tuple[Text, ...]] = []
    for rung, each in swept:
        rows.append(_sweep_row(rung, rung.defines, rung.timing, "", unit))
        for variant in each.sweep or ():
            why = "" if variant.error is None else f"failed: {variant.error.what}"
            rows.append(_sweep_row(rung, variant.defines, variant.timing, why, unit))
    text = (
        "Checked and timed, not profiled. The first line of a rung is that of its own defines; "
        "above 1.00x a variant is faster."
    )
    table = _table(titles, rows, words=3)
    return (Section("Other sizes of blocks and tiles", (table, Paragraph(text))),)


def _sweep_row(
    rung: Climbed,
    defines: dict[str, object],
    timing: TimingFacts | None,
    why: str,
    unit: RateUnit,
) -> tuple[Text, ...]:
    values = ", ".join(f"{name} = {value}" for name, value in defines.items())
    return (
        str(rung.number),
        Span(rung.title),
        Span(values, code=True) if values else DASH,
        Span(why) if why else time_cell(timing),
        spread_cell(timing),
        unit.cell(timing),
        factor_cell(speedup(rung.timing, timing)),
    )


def _published(climb: Climb, measured: Measurements) -> Iterator[Section]:
    """What others published of this ladder's steps; nothing where nobody is known to have."""
    found = [each for each in published() if each.ladder == climb.ladder]
    if not found:
        return
    text = (
        "Times on different GPUs cannot be compared; what each step changes can, with care: the "
        "sizes differ, and so do caches and clocks."
    )
    sections = (_there(climb, measured, each) for each in found)
    yield Section("Beside published figures", (Paragraph(text), *sections))


def _there(climb: Climb, measured: Measurements, there: Published) -> Section:
    titles = ("step", "against", "ratio there", "ratio here", "of cuBLAS there", "of cuBLAS here")
    rows = [_step_row(climb, measured, there, step) for step in there.steps]
    asked = "" if there.asked is None else _asked_sentence(climb, there.asked)
    return Section(
        f"{there.name}, N = {there.size}",
        (Paragraph(f"Source: {there.source}."), _table(titles, rows, words=2), Paragraph(asked)),
    )


def _step_row(
    climb: Climb, measured: Measurements, there: Published, step: Step
) -> tuple[Text, ...]:
    def here(of: Step) -> TimingFacts | None:
        return None if of.rung is None else timing_with(climb, measured, of.rung, of.defines)

    before = None if step.against is None else there.step(step.against)
    ceiling = ceiling_rate(climb)
    return (
        step.what,
        DASH if before is None else before.what,
        factor_cell(None if before is None else ratio(step.gflops, before.gflops)),
        factor_cell(None if before is None else speedup(here(before), here(step))),
        share(ratio(step.gflops, there.cublas_gflops)),
        share(ratio(gflops(here(step)), ceiling)),
    )


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
