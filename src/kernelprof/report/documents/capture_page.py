"""The page of a capture: its kernels by time, and a card for each with all that is known of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kernelprof.model.capture import shares
from kernelprof.model.diagnosis import Status
from kernelprof.model.names import labels, printable
from kernelprof.model.numbers import count, factor, share
from kernelprof.report.charts import bars, roofline
from kernelprof.report.document import (
    Chart,
    Document,
    Fact,
    Facts,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Tone,
)
from kernelprof.report.documents import TONES, evidence, prediction, provenance, source, survey
from kernelprof.report.documents.diagnosis import (
    device,
    label_text,
    launch_parts,
    table,
    time_text,
)
from kernelprof.report.documents.metrics import MOST_WITH_ALL, MetricTables
from kernelprof.report.documents.verdict import DEBUG_BUILD, found, guidance, verdict_cell
from kernelprof.report.figures import flops, multiprocessor
from kernelprof.report.figures.measured import UNITS, Launch, Measured, clip, finite
from kernelprof.report.figures.memory import memory
from kernelprof.report.figures.roofline import roofline as roofline_of
from kernelprof.report.private import shown, shown_origin, without_homes
from kernelprof.report.writers import json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis, Verdict
    from kernelprof.model.manifest import Manifest, TimingFacts
    from kernelprof.model.prediction import PredictionFacts
    from kernelprof.report.charts.parts import Row
    from kernelprof.report.document import Block
    from kernelprof.report.figures.flops import Counted
    from kernelprof.sources.source import Contents

MOST_BARS: Final = 20
NOTABLE_EXCESS: Final = 0.01
_IN_A_MODEL: Final = "By a model of one SM, within a factor of 1.5 nearly always; not measured."
_TIMED: Final = "CUDA events; the median, and the shortest and longest launch."
_BUSIEST: Final = "The part of the GPU that is nearest to the most that its counter can show."
_SHOWN: Final = "All numbers below are of this launch, the one with the median time."
_PILLS: Final = {
    Status.BOTTLENECK: "Limited by ",
    Status.AT_LIMIT: "At its limit: ",
    Status.INCONCLUSIVE: "Inconclusive",
}


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known beside the counters of a capture.

    ``hot_lines`` are, by kernel, line numbers of the source with their share of that kernel's
    samples, 0 to 1; ``None`` where no samples were taken.
    """

    manifest: Manifest | None = None
    source_text: str | None = None
    hot_lines: Mapping[str, Mapping[int, float]] | None = None
    prediction: PredictionFacts | None = None


def beside(contents: Contents) -> Beside:
    """What a page shows of a capture directory."""
    manifest, hot = contents.manifest, None
    if contents.lines is not None and manifest is not None and manifest.source is not None:
        hot = shares(contents.lines, manifest.source.path)
    return Beside(manifest, contents.source_text, hot, contents.prediction)


def document(capture: Capture, diagnosis: Diagnosis, beside: Beside | None = None) -> Document:
    """Everything that is known of a capture."""
    beside = beside or Beside()
    diagnosis = replace(diagnosis, origin=shown_origin(diagnosis.origin))
    kernels = diagnosis.kernels
    shown_names = names(kernels)
    blocks: list[Block] = [Note(Span(shown(each)), warning=True) for each in diagnosis.warnings]
    if beside.prediction is not None:
        blocks.append(Note(prediction.in_a_sentence(beside.prediction.counted)))
    if diagnosis.survey is not None:
        blocks.append(survey.section(diagnosis.survey, explain=True))
    if len(kernels) > 1:
        blocks.append(overview(kernels))
    blocks += cards(capture, diagnosis, beside)
    known = {"all_metrics": len(kernels) <= MOST_WITH_ALL}
    blocks.append(
        provenance.section(capture, diagnosis, beside.manifest, beside.prediction, **known)
    )
    devices = dict.fromkeys(device(kernel) for kernel in kernels)
    title = shown_names[0] if len(kernels) == 1 else count(len(kernels), "kernel")
    return Document(
        f"Report: {title}",
        tuple(blocks),
        origin=" · ".join(filter(None, (diagnosis.origin, ", ".join(filter(None, devices))))),
        data=without_homes(json.write([diagnosis])),
        file="diagnosis.json",
    )


def cards(
    capture: Capture, diagnosis: Diagnosis, beside: Beside, anchor: str = "kernel"
) -> Iterable[Section]:
    """A section for each kernel, with anchors ``kernel-1`` and so on."""
    measured, kernels = Measured(capture), diagnosis.kernels
    tables = MetricTables(measured, everything=len(kernels) <= MOST_WITH_ALL)
    for position, (kernel, name) in enumerate(zip(kernels, names(kernels), strict=True), 1):
        manifest, place = beside.manifest, f"{anchor}-{position}"
        own = manifest if manifest and manifest.is_of(kernel.name, len(kernels)) else None
        row = measured.representative(kernel)
        launch = Launch(measured, row)
        counted = flops.count(launch, manifest)
        predicted = beside.prediction is not None
        blocks: list[Block] = [*_answer(kernel, name, launch, own, counted, predicted=predicted)]
        undecided = kernel.verdict.status is Status.INCONCLUSIVE
        told, known = found(kernel.verdict), evidence.table(kernel.verdict)
        facts = (*(() if known is None else (known,)), *((told,) if told.items else ()))
        advice = tuple(
            guidance(kernel.verdict, diagnosis.origin, on_page=True, predicted=predicted)
        )
        parts = [Section("What would settle it" if undecided else "What to do", advice)]
        if facts:
            parts.append(Section("What is known" if undecided else "Evidence", facts))
        if beside.prediction is not None:
            found_accesses = prediction.section(beside.prediction, beside.source_text, place)
            parts += [found_accesses] if found_accesses is not None else []
        # What a capture leaves open is a long list, below which nobody looks for what it shows.
        blocks += [*parts[1:], parts[0]] if undecided else parts
        if panels := tuple(_panels(name, launch, own, manifest, counted)):
            blocks.append(Section("", panels, layout=Layout.GRID))
        # A text without a manifest is of a lone kernel.
        if own or (manifest is None and len(kernels) == 1):
            hot = source.hot_of(kernel.name, beside.hot_lines)
            made_by = beside.prediction or own
            made_from = None if made_by is None else made_by.source
            notes = prediction.notes(beside.prediction) if beside.prediction else None
            listing = source.section(made_from, beside.source_text, hot, place, notes)
            blocks += [listing] if listing is not None else []
        blocks.append(tables.section(row, name))
        tone = TONES[kernel.verdict.status]
        pill = Span(_pill(kernel.verdict), tone)
        yield Section(
            (Span(name), " ", pill),
            tuple(blocks),
            anchor=place,
            tone=tone,
            layout=Layout.HERO,
            summary=evidence.headline(kernel.verdict),
        )


def names(kernels: Sequence[KernelDiagnosis]) -> list[str]:
    """What kernels are called on a page: their names, with what tells those of one name apart."""
    return [shown(" ".join(filter(None, label))) for label in labels(kernels)]


# All kernels


def overview(kernels: Sequence[KernelDiagnosis], anchor: str = "kernel") -> Section:
    """The kernels by their share of time, with their verdicts."""
    label = "Share of time of the kernels, coloured by verdict; the same is in the table below"
    spans = [
        label_text((shown(name), shown(detail)), f"{anchor}-{at}")
        for at, (name, detail) in enumerate(labels(kernels), 1)
    ]
    return Section(
        f"{len(kernels):,} kernels by share of time",
        (
            Chart("overview", tuple(_bars(kernels, names(kernels))), label),
            table(kernels, spans, on_page=True),
        ),
        anchor=f"{anchor}s",
        summary=summary(kernels),
    )


def _bars(kernels: Sequence[KernelDiagnosis], called: Sequence[str]) -> Iterable[Row]:
    """The kernels with the largest shares of time, and all others as one."""
    known = [
        (kernel.verdict, name, part)
        for kernel, name in zip(kernels, called, strict=True)
        if (part := _share(kernel)) is not None
    ]
    for position, (verdict, name, part) in enumerate(known[:MOST_BARS], 1):
        said = {"verdict": verdict_cell(verdict), "status": verdict.status.value}
        yield {**bars.share_row(f"{position} {name}", part), **said}
    rest = sum(part for *_, part in known[MOST_BARS:])
    if rest > 0:
        name = f"{len(known) - MOST_BARS} others"
        yield {**bars.share_row(name, rest), "verdict": "", "status": "others"}


def _share(kernel: KernelDiagnosis) -> float | None:
    found = finite(kernel.share)
    return None if found is None else clip(found)


def summary(kernels: Sequence[KernelDiagnosis]) -> str:
    """What limits most of the time, in a sentence or two."""
    limited = defaultdict[str, list[float]](list)
    for kernel in kernels:
        if kernel.verdict.status is Status.BOTTLENECK and kernel.verdict.bottleneck is not None:
            limited[kernel.verdict.bottleneck].append(_share(kernel) or 0.0)
    at_limit = sum(kernel.verdict.status is Status.AT_LIMIT for kernel in kernels)
    undecided = sum(kernel.verdict.status is Status.INCONCLUSIVE for kernel in kernels)
    if undecided == len(kernels):
        return (
            f"This capture does not show what limits any of the {len(kernels):,} kernels; each "
            "one's card has the command that settles it."
        )
    sentences = []
    if limited:
        slug = max(limited, key=lambda each: (sum(limited[each]), len(limited[each])))
        time = sum(limited[slug])
        sentences.append(
            f"{slug} limits {len(limited[slug]):,} of {count(len(kernels), 'kernel')}"
            + (f", which take {share(time)} of the time." if time > 0 else ".")
        )
    if at_limit:
        sentences.append(f"{_are(at_limit, len(kernels))} at the limit of the GPU.")
    if undecided:
        sentences.append(f"{_are(undecided, len(kernels))} undecided by this capture.")
    return " ".join(sentences)


def _are(some: int, whole: int) -> str:
    if some == whole:
        return "All of them are"
    return f"{count(some, 'kernel')} {'is' if some == 1 else 'are'}"


# One kernel


def _pill(verdict: Verdict) -> str:
    if verdict.bottleneck == DEBUG_BUILD:
        return "Compiled for debugging"
    return _PILLS[verdict.status] + (verdict.bottleneck or "")


def _answer(
    kernel: KernelDiagnosis,
    name: str,
    launch: Launch,
    own: Manifest | None,
    counted: Counted | None,
    *,
    predicted: bool,
) -> Iterable[Block]:
    timing = None if own is None else own.timing
    yield Facts(tuple(_facts(kernel, launch, timing, counted, predicted=predicted)))
    full = shown(kernel.name)
    if full != name:
        yield Paragraph(Span(full, code=True), Tone.MUTED)
    yield Paragraph(Span(", ".join(launch_parts(kernel))), Tone.MUTED)


def _facts(
    kernel: KernelDiagnosis,
    launch: Launch,
    timing: TimingFacts | None,
    counted: Counted | None,
    *,
    predicted: bool,
) -> Iterable[Fact]:
    yield Fact("confidence", (kernel.verdict.confidence.value,))
    if gpu := device(kernel):
        yield Fact("GPU", (Span(gpu),))
    if kernel.duration_ns is not None:
        spread = kernel.duration_ns
        text = time_text(spread.median, spread.low, spread.high, kernel.launches)
        if predicted:
            yield Fact("predicted time", (f"about {text}",), _IN_A_MODEL)
        else:
            yield Fact("time", (text,), "Under the profiler.")
    if timing is not None:
        text = time_text(timing.median_ns, timing.low_ns, timing.high_ns, timing.launches)
        launches = count(timing.launches, "launch")
        yield Fact("time outside the profiler", (f"{text}, {launches}",), _TIMED)
    if kernel.launches > 1:
        yield Fact("shown launch", (Span(f"ID {printable(launch.id)}"),), _SHOWN)
    if counted is not None and counted.rate > 0:
        yield _speed(counted)
    if busiest := launch.busiest():
        unit, part = busiest
        yield Fact("busiest unit", (f"{UNITS[unit]}, {share(part)} of peak",), _BUSIEST)


def _speed(counted: Counted) -> Fact:
    """Operations a second against the peak of their precision."""
    rate = f"{roofline.rate(counted.rate)}FLOP/s"
    peak = counted.ceiling
    if peak is None:
        return Fact("arithmetic", (f"{rate} {counted.precision}",))
    most = f"{roofline.rate(peak.value)}FLOP/s {counted.precision}"
    return Fact(
        "share of peak",
        (f"{share(counted.rate / peak.value)}: {rate} of {most}",),
        f"Floating-point operations a second, by the counters. {peak.label}: {peak.origin}.",
    )


def _panels(
    name: str,
    launch: Launch,
    own: Manifest | None,
    manifest: Manifest | None,
    counted: Counted | None,
) -> Iterable[Section]:
    """What each part of the GPU did; ``own`` is the manifest where it describes this kernel."""
    timing = None if own is None else own.timing
    if found := roofline_of(launch, counted, timing, manifest):
        rows = roofline.rows(found.points, found.ceilings)
        chart = Chart("roofline", rows, f"Roofline: {name} at each level of the memory")
        yield Section("Roofline", (*([chart] if rows else ()), Note(found.note)))
    yield from _memory(launch, timing, own)
    if states := multiprocessor.warp_states(launch):
        title = "Where a warp's time goes"
        yield from _shares(title, "warps", states.states, states.explained)
    yield from _shares("Pipes", "pipes", multiprocessor.pipes(launch))
    yield from _occupancy(launch)
    yield from _shares("Instruction mix", "instructions", multiprocessor.instructions(launch))


def _shares(
    title: str, what: str, parts: Iterable[bars.Share], explained: str = ""
) -> Iterable[Section]:
    if rows := bars.share_rows(parts):
        chart = Chart(f"shares:{what}", rows, f"{bars.TITLES[what]}, each part by its name")
        yield Section(title, (chart, *([Paragraph(explained)] if explained else ())))


def _memory(launch: Launch, timing: TimingFacts | None, own: Manifest | None) -> Iterable[Section]:
    found = memory(launch, timing, own)
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
    blocks.append(Chart("memory", bars.memory_rows(found.levels), label))
    if found.note:
        blocks.append(Note(found.note))
    yield Section("Memory", tuple(blocks))


def _occupancy(launch: Launch) -> Iterable[Section]:
    found = multiprocessor.occupancy(launch)
    if found is None:
        return
    text = f"Theoretical {share(found.theoretical)}"
    text += "." if found.achieved is None else f", achieved {share(found.achieved)}."
    if found.limiters:
        text += f" Limited by {', '.join(found.limiters)}."
    rows = tuple(
        {"name": name, "blocks": blocks, "text": f"{blocks}", "first": name in found.limiters}
        for name, blocks in found.limits
    )
    chart = Chart("occupancy", rows, "Blocks per SM that each resource allows")
    note = (Note(found.note),) if found.note else ()
    yield Section("Occupancy", (Paragraph(text), chart, *note))
