"""One kernel's card: its verdict in plain words, and a section for each way to look at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.rules import registry
from kernelprof.model.diagnosis import Status
from kernelprof.model.names import printable
from kernelprof.model.numbers import count, factor, quantity, share
from kernelprof.report.charts import memory as memory_chart
from kernelprof.report.charts import occupancy as occupancy_chart
from kernelprof.report.charts import roofline as roofline_chart
from kernelprof.report.charts import shares
from kernelprof.report.document import (
    Bullets,
    Cell,
    Chart,
    Code,
    Column,
    Fact,
    Facts,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Table,
    Tone,
)
from kernelprof.report.documents import TONES, evidence, source
from kernelprof.report.documents.diagnosis import (
    NO_BOUND_FROM,
    NO_GAIN_BELOW,
    device,
    gain_range,
    launch_parts,
    less_work,
)
from kernelprof.report.figures import flops, multiprocessor
from kernelprof.report.figures.measured import UNITS
from kernelprof.report.figures.memory import memory
from kernelprof.report.figures.roofline import roofline
from kernelprof.report.private import shown, without_homes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.model.diagnosis import Candidate, KernelDiagnosis, Spread, Verdict
    from kernelprof.model.manifest import Manifest, TimingFacts
    from kernelprof.report.document import Block, Text
    from kernelprof.report.documents.metrics import MetricTables
    from kernelprof.report.figures.flops import Counted
    from kernelprof.report.figures.measured import Measured

NOTABLE_EXCESS: Final = 0.01
MOST_MISSING_OPEN: Final = 12
_TIMED: Final = "CUDA events; the median, and the shortest and longest launch."
_BUSIEST: Final = "The part of the GPU that is nearest to the most that its counter can show."
_SHOWN: Final = "All numbers below are of this launch, the one with the median time."
_PILLS: Final = {
    Status.BOTTLENECK: "Limited by ",
    Status.AT_LIMIT: "At its limit: ",
    Status.INCONCLUSIVE: "Inconclusive",
}
_MISSING: Final = (Column("Metric"), Column("Why"))


@dataclass(frozen=True, slots=True)
class Known:
    """What a card is made from beside the diagnosis: the launch that stands for the kernel.

    ``manifest`` is that of the capture, whose GPU is that of every kernel in it; ``own`` is the
    same where it describes this kernel.
    """

    measured: Measured
    row: int
    manifest: Manifest | None
    own: Manifest | None
    has_source: bool
    source_text: str | None
    hot_lines: Mapping[str, Mapping[int, float]] | None

    @property
    def timing(self) -> TimingFacts | None:
        """Times outside the profiler."""
        return None if self.own is None else self.own.timing


def section(
    kernel: KernelDiagnosis, name: str, anchor: str, known: Known, tables: MetricTables
) -> Section:
    """The card of one kernel."""
    verdict = kernel.verdict
    counted = flops.count(known.measured, known.row, known.manifest)
    blocks: list[Block] = [*_answer(kernel, name, known, counted)]
    undecided = verdict.status is Status.INCONCLUSIVE
    following = _settle(verdict) if undecided else _advice(verdict)
    if following.blocks:
        blocks.append(following)
    if found := evidence.table(verdict):
        title = "What is known" if undecided else "Evidence"
        blocks.append(Section(title, (found,)))
    panels = tuple(_panels(name, known, counted))
    if panels:
        blocks.append(Section("", panels, layout=Layout.GRID))
    if known.has_source:
        hot = source.hot_of(kernel.name, known.hot_lines)
        listing = source.section(known.own, known.source_text, hot, anchor)
        blocks += [listing] if listing is not None else []
    blocks.append(tables.section(known.row, name))
    pill = Span(_PILLS[verdict.status] + (verdict.bottleneck or ""), TONES[verdict.status])
    return Section(
        (Span(name), " ", pill),
        tuple(blocks),
        anchor=anchor,
        tone=TONES[verdict.status],
        layout=Layout.HERO,
        summary=evidence.headline(verdict),
    )


# The verdict


def _answer(
    kernel: KernelDiagnosis, name: str, known: Known, counted: Counted | None
) -> Iterable[Block]:
    if gain := gain_sentence(kernel.verdict):
        yield Paragraph(gain, Tone.STRONG)
    yield Facts(tuple(_facts(kernel, known, counted)))
    full = shown(kernel.name)
    if full != name:
        yield Paragraph(Span(full, code=True), Tone.MUTED)
    yield Paragraph(Span(", ".join(launch_parts(kernel))), Tone.MUTED)


def gain_sentence(verdict: Verdict) -> str:
    """What removing the bottleneck can bring, as a sentence; empty where nothing is known."""
    if verdict.status is Status.AT_LIMIT:
        half = "With half of this unit's work, the kernel could run up to {} as fast"
        text = less_work(verdict, half, ", and without any up to {}")
        if not text:
            return ""
    elif verdict.gain is None or verdict.gain < NO_GAIN_BELOW:
        return ""
    else:
        most = "100x or more" if verdict.gain >= NO_BOUND_FROM else factor(verdict.gain)
        text = f"Without it, the kernel could run up to {most} as fast"
    return f"{text} (estimated from {verdict.gain_reason})." if verdict.gain_reason else f"{text}."


def _facts(kernel: KernelDiagnosis, known: Known, counted: Counted | None) -> Iterable[Fact]:
    measured, row = known.measured, known.row
    yield Fact("confidence", (kernel.verdict.confidence.value,))
    gpu = device(kernel)
    if gpu:
        yield Fact("GPU", (Span(gpu),))
    if kernel.duration_ns is not None:
        time = _times(kernel.duration_ns, kernel.launches)
        yield Fact("time", (time,), "Under the profiler.")
    timing = known.timing
    if timing is not None:
        low, high = quantity(timing.low_ns, "ns"), quantity(timing.high_ns, "ns")
        median = f"{quantity(timing.median_ns, 'ns')}, median of"
        text = f"{median} {count(timing.launches, 'launch')} ({low} to {high})"
        yield Fact("time outside the profiler", (text,), _TIMED)
    if kernel.launches > 1:
        launch = printable(measured.capture.launches[row].id)
        yield Fact("shown launch", (Span(f"ID {launch}"),), _SHOWN)
    if counted is not None and counted.rate > 0:
        yield _speed(counted)
    busiest = measured.busiest(row)
    if busiest is not None:
        unit, part = busiest
        yield Fact("busiest unit", (f"{UNITS[unit]}, {share(part)} of peak",), _BUSIEST)


def _times(spread: Spread, launches: int) -> str:
    text = quantity(spread.median, "ns")
    if launches == 1:
        return text
    low, high = quantity(spread.low, "ns"), quantity(spread.high, "ns")
    return f"{text}, median of {count(launches, 'launch')} ({low} to {high})"


def _speed(counted: Counted) -> Fact:
    """Operations a second against the peak of their precision."""
    rate = f"{roofline_chart.rate(counted.rate)}FLOP/s"
    peak = counted.ceiling
    if peak is None:
        return Fact("arithmetic", (f"{rate} {counted.precision}",))
    most = f"{roofline_chart.rate(peak.value)}FLOP/s {counted.precision}"
    return Fact(
        "share of peak",
        (f"{share(counted.rate / peak.value)}: {rate} of {most}",),
        f"Floating-point operations a second, by the counters. {peak.label}: {peak.origin}.",
    )


def _advice(verdict: Verdict) -> Section:
    blocks: list[Block] = []
    if verdict.advice:
        blocks.append(Bullets(verdict.advice, ordered=True))
    if verdict.why:
        blocks.append(Paragraph(verdict.why))
    if verdict.also:
        others = [_other(each) for each in verdict.also]
        parts = [part for other in others for part in (*other, ", ")][:-1]
        blocks.append(Paragraph(("Close behind: ", *parts)))
    blocks += [Note(("Note: ", Span(shown(each)))) for each in verdict.notes]
    return Section("What to do" if verdict.advice else "", tuple(blocks))


def _settle(verdict: Verdict) -> Section:
    """What an inconclusive verdict lacks, and the command that collects it."""
    blocks: list[Block] = []
    if verdict.why:
        blocks.append(Paragraph(verdict.why))
    if verdict.also:
        blocks.append(Paragraph("It could be:", Tone.STRONG))
        blocks.append(Bullets(tuple(_candidate(each) for each in verdict.also)))
    if verdict.command is not None:
        blocks.append(
            Paragraph(
                "Run this on the machine with the GPU, and diagnose what it writes together with "
                "this capture (`kernelprof diagnose --merge`):"
            )
        )
        blocks.append(Code(without_homes(verdict.command), language="sh", copy=True))
    if verdict.missing:
        title = f"What is missing, and why it matters ({len(verdict.missing)})"
        rows = tuple(
            (Cell(Span(each.ncu_name, code=True)), Cell(each.why)) for each in verdict.missing
        )
        table = Table(_MISSING, rows, label="Missing metrics")
        folded = len(verdict.missing) > MOST_MISSING_OPEN
        blocks.append(Section(title, (table,), folded=folded))
    return Section("What would settle it", tuple(blocks))


def _other(candidate: Candidate) -> tuple[str | Span, ...]:
    """A runner-up with its gain."""
    name, brings = Span(candidate.bottleneck, code=True), gain_range(candidate)
    return (name, f" {brings}") if brings else (name,)


def _candidate(candidate: Candidate) -> Text:
    rule = registry().get(candidate.bottleneck)
    meaning = (" ", Span(rule.docs.detects, Tone.MUTED)) if rule else ()
    return (*_other(candidate), *meaning)


# The panels


def _panels(name: str, known: Known, counted: Counted | None) -> Iterable[Section]:
    measured, row = known.measured, known.row
    found = roofline(measured, row, counted, known.timing, known.manifest)
    if found is not None and found.points:
        rows = roofline_chart.rows(found.points, found.ceilings)
        chart = Chart("roofline", rows, f"Roofline: {name} at each level of the memory")
        yield Section("Roofline", (chart, Note(found.note)))
    elif found is not None and found.note:
        yield Section("Roofline", (Note(found.note),))
    yield from _memory(known)
    states = multiprocessor.warp_states(measured, row)
    if states is not None:
        chart = Chart(
            "shares:warps", shares.rows(states.states), "Share of a warp's time by reason"
        )
        explained = (Paragraph(states.explained),) if states.explained else ()
        yield Section("Where a warp's time goes", (chart, *explained))
    pipes = shares.rows(multiprocessor.pipes(measured, row))
    if pipes:
        yield Section("Pipes", (Chart("shares:pipes", pipes, "Utilization of each pipe"),))
    yield from _occupancy(known)
    mix = shares.rows(multiprocessor.instructions(measured, row))
    if mix:
        chart = Chart("shares:instructions", mix, "Share of the instructions by kind")
        yield Section("Instruction mix", (chart,))


def _memory(known: Known) -> Iterable[Section]:
    found = memory(known.measured, known.row, known.timing, known.own)
    if found is None:
        return
    levels = []
    for level in found.levels:
        lines = [level.text]
        if level.multiple is not None:
            lines.append(f"{factor(level.multiple)} the minimum")
        if level.hit_rate is not None:
            lines.append(f"hit rate {share(level.hit_rate)}")
        levels.append(Fact(level.name, tuple(lines), level.tip))
    blocks: list[Block] = [Facts(tuple(levels))]
    if found.excess is not None and found.excess >= NOTABLE_EXCESS:
        needless = f"{share(found.excess)} of the sectors of global accesses are not needed."
        blocks.append(Paragraph(needless))
    label = "Bytes on the way from the threads to device memory"
    blocks.append(Chart("memory", memory_chart.rows(found.levels), label))
    if note := f"{found.minimum} {found.note}".strip():
        blocks.append(Note(note))
    yield Section("Memory", tuple(blocks))


def _occupancy(known: Known) -> Iterable[Section]:
    found = multiprocessor.occupancy(known.measured, known.row)
    if found is None:
        return
    text = f"Theoretical {share(found.theoretical)}, achieved {share(found.achieved)}."
    if found.limiters:
        text += f" Limited by {', '.join(found.limiters)}."
    rows = occupancy_chart.rows(found.limits, found.limiters)
    chart = Chart("occupancy", rows, "Blocks per SM that each resource allows")
    note = (Note(found.note),) if found.note else ()
    yield Section("Occupancy", (Paragraph(text), chart, *note))
