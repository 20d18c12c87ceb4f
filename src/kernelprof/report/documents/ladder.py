"""The climb of a ladder as a document, and the list of its rungs."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Final

from kernelprof.ladder.results import (
    Climb,
    Climbed,
    InterleavedTiming,
    ceiling_rate,
    gain_before,
    gflops,
    next_gains,
    of_ceiling,
    ratio,
    ratio_of,
    to_json,
)
from kernelprof.model.numbers import count, factor, number, quantity, share
from kernelprof.model.records import build, read_object
from kernelprof.report.charts.drawing import time_unit
from kernelprof.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Fact,
    FactList,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)
from kernelprof.report.documents import TONES
from kernelprof.report.documents.ladder_parts import (
    DASH,
    TERA,
    Card,
    any_timing,
    bar_section,
    describe_sizes,
    factor_cell,
    fastest_rung,
    gain_cell,
    method_section,
    peak_rate,
    rate_unit,
    roofline_section,
    rung_anchor,
    rung_name,
    spread_cell,
    time_cell,
    timed_rungs,
    verdict_or_reason,
    verdict_text,
    way_up,
)
from kernelprof.report.private import without_homes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kernelprof.ladder.registry import Ladder, Rung
    from kernelprof.model.manifest import TimingFacts


def _interleaved_facts(rung: Climbed) -> Iterator[Fact]:
    """Both times at each size, with the lowest and the highest median of a round."""
    for timing in rung.beside:
        rung_ns, ceiling_ns = _medians(timing)
        text = (
            f"{_time(timing.timing, rung_ns)}, {TERA.cell(timing.timing)} {TERA.name}; cuBLAS "
            f"{_time(timing.ceiling, ceiling_ns)}, {TERA.cell(timing.ceiling)} {TERA.name}; "
            f"{part_cell(timing)} of cuBLAS in {count(len(timing.rounds), 'round')}"
        )
        yield Fact(f"M = N = K = {timing.size}", (text,))


def ceiling_text(climb: Climb) -> str:
    """What cuBLAS did at each size, the medians over the rungs that it was timed in turns with."""
    parts = []
    for size in climb.measured_sizes:
        timings = [each for rung in climb.rungs if (each := rung.at(size)) is not None]
        rates = [rate for each in timings if (rate := gflops(each.ceiling)) is not None]
        time = statistics.median(each.ceiling.median_ns for each in timings)
        shown = f", {TERA.text(statistics.median(rates))}" if rates else ""
        parts.append(f"{quantity(time, 'ns')}{shown} at {size}")
    return "; ".join(parts)


def part_cell(timing: InterleavedTiming) -> str:
    """``102.1 % (101.8 to 102.4)``: the median round, the lowest and the highest."""
    ratio = ratio_of(timing)
    return f"{100 * ratio.median:.1f} % ({100 * ratio.low:.1f} to {100 * ratio.high:.1f})"


def parts_text(rung: Climbed) -> str:
    """``101.2 % of cuBLAS at 4096, 102.1 % at 8192``."""
    parts = [f"{100 * ratio_of(each).median:.1f} % at {each.size}" for each in rung.beside]
    return ", ".join(parts).replace(" % ", " % of cuBLAS ", 1)


def _medians(timing: InterleavedTiming) -> tuple[list[float], list[float]]:
    return [each.rung_ns for each in timing.rounds], [each.ceiling_ns for each in timing.rounds]


def _time(timing: TimingFacts, medians: Sequence[float]) -> str:
    low, high = min(medians), max(medians)
    size, unit = time_unit(high)
    return f"{quantity(timing.median_ns, 'ns')} ({low / size:.5g} to {high / size:.5g} {unit})"


SAVED: Final = "results.json"


def document(
    climb: Climb, registry: Sequence[Rung] = (), cards: Mapping[str, Card] | None = None
) -> Document:
    """The whole report; ``registry`` says what a rung changes, ``cards`` are by its file."""
    data = without_homes(to_json(climb))
    climb = build(Climb, read_object(data))
    cards_of_rungs, about = cards or {}, {rung.file: rung for rung in registry}
    way = way_up(climb)
    sections = (
        _headline(climb, way),
        bar_section(climb, way),
        _rungs(climb),
        roofline_section(climb, cards_of_rungs, way),
        _bytes(climb),
        *(
            _rung(each, climb, about.get(each.file), cards_of_rungs.get(each.file))
            for each in climb.rungs
        ),
        method_section(climb),
    )
    return Document(
        title=f"{climb.title} on {climb.surroundings.gpu or 'an unknown GPU'}",
        blocks=tuple(each for each in sections if each is not None),
        data=data,
        file=SAVED,
    )


def listing(ladder: Ladder, others: Sequence[Ladder], *, changes: bool) -> Document:
    """A ladder's rungs with their files; with ``changes`` also what each changes in which other.

    ``others`` are named below.
    """
    named_below = [
        Paragraph((f"{each.title}: ", Span(f"kernelprof ladder list {each.name}", code=True), "."))
        for each in others
    ]
    if not changes:
        columns = (Column("#", number=True), Column("file"), Column("title"))
        rows = [(str(rung.number), str(rung.shown), rung.title) for rung in ladder.rungs]
        table = Table(columns, tuple(tuple(Cell(Span(each)) for each in row) for row in rows))
        return Document(ladder.title, (table, *named_below))
    numbers = {rung.file: rung.number for rung in ladder.rungs}
    sections = []
    for rung in ladder.rungs:
        after = "" if rung.after is None else f"Derived from rung {numbers[rung.after]}. "
        file = Paragraph(Span(str(rung.shown), code=True))
        text = Paragraph(Span(after + rung.changes))
        sections.append(Section(Span(rung_name(rung)), (file, text)))
    return Document(ladder.title, (*sections, *named_below))


# The answer


def _headline(climb: Climb, way: frozenset[str]) -> Section:
    blocks: list[Block] = [Paragraph(_detail(climb, way)), FactList(tuple(_facts(climb)))]
    if climb.ceiling is None and climb.ceiling_error is not None:
        why = Span(f"{climb.ceiling_error.what}.")
        blocks.append(Note(why, warning=True))
    return Section(Span(headline(climb)), tuple(blocks), layout=Layout.HERO)


def headline(climb: Climb) -> str:
    """The climb in one sentence."""
    timed, fastest = timed_rungs(climb), fastest_rung(climb)
    if fastest is None:
        return "No rung was timed."
    first = climb.rung(timed[0][1])
    assert first is not None
    if len(timed) == 1:
        text = f"{first.title} takes {time_cell(first.timing)}"
    else:
        rungs = count(len(climb.rungs), "rung")
        at = f" at {climb.measured_sizes[-1]}" if len(climb.measured_sizes) > 1 else ""
        text = f"From {time_cell(first.timing)} to {time_cell(fastest.timing)}{at} over {rungs}"
    if fastest.beside:
        return f"{text}: {parts_text(fastest)}."
    rate = gflops(fastest.timing)
    ceiling = of_ceiling(climb, fastest)
    peak = ratio(rate, peak_rate(climb))
    if ceiling is not None:
        return f"{text}: {share(ceiling)} of cuBLAS."
    if peak is None:
        return f"{text}."
    return f"{text}: {share(peak)} of the {climb.product.about.peak}."


def _detail(climb: Climb, way: frozenset[str]) -> str:
    timed = timed_rungs(climb)
    sentences = []
    if len(timed) > 1:
        gained = factor(timed[0][0] / min(timed)[0])
        sentences.append(f"The fastest rung is {gained} as fast as the first.")
        variants = len(timed) - sum(file in way for _, file in timed)
        if variants:
            others = "is a variant" if variants == 1 else f"{variants} are variants"
            sentences.append(
                f"{len(timed) - variants} of the rungs lead to the fastest; each changes one "
                f"thing in the previous rung. The other {others} for comparison."
            )
    failed = sum(rung.error is not None for rung in climb.rungs)
    if failed:
        sentences.append(f"{count(failed, 'rung')} failed.")
    return " ".join(sentences)


def _facts(climb: Climb) -> Iterator[Fact]:
    product = climb.product
    problem = product.about.short if product.precision == "float32" else product.words
    yield Fact("Problem", (f"{problem}, {describe_sizes(climb)}",))
    fastest = fastest_rung(climb)
    if fastest is not None:
        yield Fact("Fastest rung", (Span(rung_name(fastest)),))
        rate = gflops(fastest.timing)
        if rate is not None:
            of_peak = ratio(rate, peak_rate(climb))
            suffix = "" if of_peak is None else f", {share(of_peak)} of the {product.about.peak}"
            yield Fact("Its rate", (f"{rate_unit(climb).text(rate)}{suffix}",))
        if fastest.full is not None:
            yield Fact("Its verdict", (verdict_or_reason(fastest),))
    about = "SGEMM without tensor cores." if product.precision == "float32" else ""
    if climb.measured_sizes:
        yield Fact("cuBLAS, in alternating rounds", (ceiling_text(climb),), about)
    elif climb.ceiling is not None:
        timing, unit = climb.ceiling.timing, rate_unit(climb)
        text = f"{time_cell(timing)}, {unit.cell(timing)} {unit.name}"
        yield Fact("cuBLAS", (text,), about)


# The tables


def _rungs(climb: Climb) -> Section:
    """The rungs with their verdict, their rate, its part of cuBLAS', and what they gained."""
    size_columns = [
        Column(f"{what} at {size}", number=True)
        for size in climb.measured_sizes
        for what in (TERA.name, "of cuBLAS")
    ]
    rates = ("time", rate_unit(climb).name, "of cuBLAS")
    gain = Column("expected gain", brief="gain", number=True)
    text = _ALONE
    if size_columns:
        gain = Column("expected gain", brief="expected", number=True)
        text = _INTERLEAVED.format(size=climb.measured_sizes[-1])
        size_columns.append(Column("gain", number=True))
    columns = (
        Column("rung", yielding=True),
        Column("verdict"),
        Column("confidence", brief="conf", optional=True),
        *(size_columns or [Column(each, number=True) for each in rates]),
        gain,
        Column("next rung gained", optional=True),
    )
    rows = tuple(tuple(_row(climb, rung)) for rung in climb.rungs)
    table = Table(columns, rows, label="Table of rungs", long=True)
    return Section("Time and verdict", (table, Paragraph(text, Tone.MUTED)))


_ALONE: Final = (
    "Verdicts use the metrics of the preset `full`. 'Expected gain' is estimated only from this "
    "rung's counters. 'Next rung gained' is the measured speedup of each rung derived from this "
    "rung. This speedup can exceed the expected gain if the change also removes other limits, and "
    "can be below 1x for a variant."
)
_INTERLEAVED: Final = (
    'Verdicts use the metrics of the preset `full`. "of cuBLAS": rung speed / cuBLAS speed, both '
    "timed in alternating rounds; median of the rounds, lowest and highest in brackets. 'Gain' is "
    "the measured speedup at {size} over the rung from which this rung is derived. 'Next rung "
    "gained' is the measured gain of each rung derived from this rung. 'Expected gain' is "
    "estimated only from this rung's counters."
)


def _row(climb: Climb, rung: Climbed) -> Iterator[Cell]:
    verdict = None if rung.full is None else rung.full.said
    yield Cell(Span(rung_name(rung), target=rung_anchor(rung)), sort=rung.number)
    yield Cell(verdict_text(verdict) if rung.error is None else Span("failed", Tone.BAD))
    yield Cell(DASH if verdict is None else verdict.confidence)
    if climb.measured_sizes:
        for size in climb.measured_sizes:
            yield from _interleaved_cells(rung.at(size))
        gain = gain_before(climb, rung)
        yield Cell(factor_cell(gain), sort=gain)
    else:
        rate, timing = gflops(rung.timing), rung.timing
        part = ratio(rate, ceiling_rate(climb))
        yield Cell(
            time_cell(timing),
            sort=None if timing is None else timing.median_ns,
            tip="" if timing is None else f"95 % confidence: {spread_cell(timing)}",
        )
        yield Cell(rate_unit(climb).cell(timing), sort=rate)
        yield Cell(share(part), sort=part)
    yield Cell(gain_cell(verdict), sort=None if verdict is None else verdict.gain)
    gains = next_gains(climb, rung)
    gained = ", ".join(f"{each.number}: {factor(gain)}" for each, gain in gains)
    yield Cell(gained or DASH, sort=max((gain for _, gain in gains), default=None))


def _interleaved_cells(timing: InterleavedTiming | None) -> tuple[Cell, Cell]:
    if timing is None:
        return Cell(DASH), Cell(DASH)
    rung_ns, ceiling_ns = _medians(timing)
    tip = f"{_time(timing.timing, rung_ns)}; cuBLAS {_time(timing.ceiling, ceiling_ns)}"
    rate = Cell(TERA.cell(timing.timing), sort=gflops(timing.timing), tip=tip)
    return rate, Cell(part_cell(timing), sort=ratio_of(timing).median)


def _bytes(climb: Climb) -> Section | None:
    if all(rung.traffic is None for rung in climb.rungs):
        return None
    levels = _levels(climb)
    titles = [*levels.values(), "FLOP per byte of device memory"]
    if "asked" in levels:
        titles.append("FLOP per byte requested")
    columns = (
        Column("rung", yielding=True),
        *(Column(title, number=True, optional=title.startswith("FLOP")) for title in titles),
    )
    rows = tuple(tuple(_bytes_row(rung, levels)) for rung in climb.rungs)
    text = "In brackets: multiples of the minimum number of bytes. "
    if "asked" in levels:
        text += (
            "'Requested by threads' sums the bytes requested by each thread: a value that a whole "
            "warp reads counts 32 times. 'Through L1' and 'through L2' count"
        )
    else:
        text += "'Through L2' counts"
    text += (
        " 32 bytes for each sector. 'Device memory' counts the bytes read and written, "
        "which can be below the minimum: part of C can still be in L2 when the kernel ends."
    )
    least = _least(climb)
    table = Table(columns, rows, label="Table of bytes")
    return Section("Bytes", (*([Paragraph(least)] if least else ()), table, Paragraph(text)))


def _least(climb: Climb) -> str:
    timing = any_timing(climb)
    if timing is None or not timing.min_bytes:
        return ""
    size = quantity(timing.min_bytes, "byte")
    text = f"At least {size} must be moved: A and B read once, C written once."
    if timing.flops:
        operations, intensity = round(timing.flops * 1e-9, 1), timing.flops / timing.min_bytes
        text += (
            f" With {number(operations)} GFLOP, the arithmetic intensity is at most "
            f"{number(intensity)} FLOP per byte."
        )
    return text


def _levels(climb: Climb) -> dict[str, str]:
    """The levels of traffic that mean something, with what they are called.

    What threads ask for is worked out for kernels of ``float``, and what passes L1 for their loads
    and stores alone: a tile that TMA brings is among neither.
    """
    threads = {"asked": "requested by threads", "l1": "through L1"}
    below = {"l2": "through L2", "dram": "device memory"}
    return {**threads, **below} if climb.product.precision == "float32" else below


def _bytes_row(rung: Climbed, shown: Mapping[str, str]) -> Iterator[Cell]:
    timing, traffic = rung.timing, rung.traffic
    least = None if timing is None else timing.min_bytes
    flops = None if timing is None else timing.flops
    levels = {name: None if traffic is None else getattr(traffic, name) for name in shown}
    yield Cell(Span(rung_name(rung)))
    for level in levels.values():
        text = DASH if level is None else quantity(level, "byte")
        yield Cell(f"{text} ({factor(level / least)})" if level and least else text, sort=level)
    for level in (levels[name] for name in ("dram", "asked") if name in levels):
        intensity = ratio(flops, level)
        yield Cell(DASH if intensity is None else number(intensity), sort=intensity)


# Each rung, and how it was measured


def _rung(climbed: Climbed, climb: Climb, about: Rung | None, card: Card | None) -> Section:
    blocks: list[Block] = []
    error = climbed.error
    if error is not None:
        more = ", ".join(filter(None, (error.where, error.hint)))
        text = f"failed: {error.what}" + (f" ({more})" if more else "")
        blocks.append(Note(Span(text), warning=True))
    if about is not None:
        blocks.append(Paragraph(Span(about.changes)))
        if about.before is not None and about.after is not None:
            led = f"This rung addresses the verdict of rung {int(about.after[:2])}: {about.before}"
            blocks.append(Paragraph(Span(led), Tone.MUTED))
    facts = tuple(_rung_facts(climbed, climb))
    if facts:
        blocks.append(FactList(facts))
    if card is not None:
        blocks += [*([Paragraph(card.note, Tone.MUTED)] if card.note else []), *card.blocks]
    verdict = None if climbed.full is None else climbed.full.said
    part = of_ceiling(climb, climbed)
    parts = [verdict_or_reason(climbed)]
    if climbed.timing is not None:
        parts.append(time_cell(climbed.timing))
    if part is not None:
        parts.append(parts_text(climbed) or f"{share(part)} of cuBLAS")
    return Section(
        Span(rung_name(climbed)),
        tuple(blocks),
        anchor=rung_anchor(climbed),
        tone=Tone.BAD if verdict is None else TONES.get(verdict.status, Tone.PLAIN),
        folded=True,
        summary=Span(", ".join(parts)),
    )


def _rung_facts(rung: Climbed, climb: Climb) -> Iterator[Fact]:
    yield Fact("File", (Span(rung.file, code=True),))
    if rung.timing is not None:
        launches = count(rung.timing.launches, "launch")
        words = f"{spread_cell(rung.timing)}, {launches}"
        yield Fact("95 % confidence interval of the median", (words,))
    yield from _interleaved_facts(rung)
    of_peak = ratio(gflops(rung.timing), peak_rate(climb))
    if of_peak is not None:
        yield Fact(f"Share of the {climb.product.about.peak}", (share(of_peak),))
    if rung.correctness is not None and rung.correctness.largest_error is not None:
        passed = "passed" if rung.correctness.passed else "failed"
        text = f"{passed}, largest error {rung.correctness.largest_error:.1e}"
        yield Fact("Result check", (text,))
    if rung.defines:
        text = ", ".join(f"{name} = {value}" for name, value in rung.defines.items())
        yield Fact("Defines", (Span(text, code=True),))
