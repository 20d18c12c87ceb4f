"""The page of a capture: its kernels by time, and a card for each with all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.rules import registry
from kernelprof.model.capture import shares
from kernelprof.model.diagnosis import Status
from kernelprof.model.names import printable
from kernelprof.model.numbers import count, quantity, share
from kernelprof.report.charts import roofline
from kernelprof.report.document import (
    Code,
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
from kernelprof.report.documents import (
    TONES,
    evidence,
    machine_code,
    prediction,
    provenance,
    source,
    survey,
    waiting,
)
from kernelprof.report.documents.diagnosis import device, launch_parts, time_text
from kernelprof.report.documents.kernels_overview import names, overview
from kernelprof.report.documents.metrics import MOST_WITH_ALL, MetricTables
from kernelprof.report.documents.panels import panels
from kernelprof.report.documents.verdict import (
    DEBUG_BUILD,
    about,
    found,
    guidance,
    less_work,
    readable,
)
from kernelprof.report.figures import flops
from kernelprof.report.figures.measured import UNITS, Launch, Measured
from kernelprof.report.private import shown, shown_origin, without_homes
from kernelprof.report.writers import json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis, Verdict
    from kernelprof.model.manifest import Manifest, TimingFacts
    from kernelprof.model.prediction import PredictionFacts
    from kernelprof.report.document import Block, Text
    from kernelprof.report.documents.machine_code import Machine
    from kernelprof.report.figures.flops import Counted
    from kernelprof.sources.source import Contents

LONGEST_NAME: Final = 120
"""Characters of a full name up to which it stands open below the short one."""

_IN_A_MODEL: Final = "By a model of one SM, within a factor of 1.5 nearly always; not measured."
_TIMED: Final = (
    "Measured by CUDA events: the median; the launches took {low} to {high}. With the profiler is "
    "the time of the launch that the counters are of."
)
_PROFILED: Final = "Of the launch that the counters are of: the profiler runs kernels one by one."
_BUSIEST: Final = (
    "The part of the GPU that is nearest to the most that its counter can show. In a stream L2's "
    "stands above that of device memory, although every byte only passes through it."
)
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
        blocks.append(overview(kernels, capture=capture))
    blocks += cards(capture, diagnosis, beside)
    known = {"all_metrics": len(kernels) <= MOST_WITH_ALL}
    blocks.append(
        provenance.section(capture, diagnosis, beside.manifest, beside.prediction, **known)
    )
    several = len(kernels) > 1
    devices = [each for each in dict.fromkeys(map(device, kernels)) if each]
    title = count(len(kernels), "kernel") if several else shown_names[0]
    return Document(
        f"Report: {title}",
        tuple(blocks),
        origin=diagnosis.origin,
        machine=", ".join(devices) if several else "",
        data=without_homes(json.write([diagnosis])),
        file="diagnosis.json",
    )


def cards(
    capture: Capture, diagnosis: Diagnosis, beside: Beside, anchor: str = "kernel"
) -> Iterable[Section]:
    """A section for each kernel, with anchors ``kernel-1`` and so on."""
    measured, kernels = Measured(capture), diagnosis.kernels
    says_gpu = len(kernels) == 1 or len(set(map(device, kernels))) > 1
    tables = MetricTables(measured, everything=len(kernels) <= MOST_WITH_ALL)
    for position, (kernel, name) in enumerate(zip(kernels, names(kernels), strict=True), 1):
        manifest, place = beside.manifest, f"{anchor}-{position}"
        own = manifest if manifest and manifest.is_of(kernel.name, len(kernels)) else None
        row = measured.representative(kernel)
        launch = Launch(measured, row)
        counted = flops.count(launch, manifest)
        predicted = beside.prediction is not None
        codes = machine_code.code_of(kernel, capture.code)
        machine = machine_code.machine_of(kernel, capture.code, len(kernels))
        at = f"{place}-line-{line}" if (line := machine and machine.line_to_blame) else ""
        blocks: list[Block] = [*_lead(kernel.verdict), *waiting.blamed(kernel, at)]
        gpu = device(kernel) if says_gpu else ""
        blocks += _answer(kernel, name, launch, own, counted, predicted=predicted, gpu=gpu)
        undecided = kernel.verdict.status is Status.INCONCLUSIVE
        told, known = found(kernel.verdict), evidence.table(kernel.verdict)
        facts = (*known, *((told,) if told.items else ()))
        advice = tuple(
            guidance(kernel.verdict, readable(diagnosis), on_page=True, predicted=predicted)
        )
        parts = [Section("What is known" if undecided else "Evidence", facts)] if facts else []
        parts.append(Section("What would settle it" if undecided else "What to do", advice))
        blocks.append(Section("", tuple(parts), layout=Layout.GRID))
        if beside.prediction is not None:
            found_accesses = prediction.section(beside.prediction, beside.source_text, place)
            blocks += [found_accesses] if found_accesses is not None else []
        if (lines := waiting.section(kernel, blame=False)) is not None:
            blocks.append(lines)
        rule = registry().get(kernel.verdict.bottleneck or "")
        where = None if rule is None else rule.place
        # Of several codes with its name it is not known which one the launch ran.
        code = codes[0] if len(codes) == 1 else None
        if figures := tuple(panels(name, launch, (own, manifest), counted, where, code=code)):
            blocks.append(Section("", figures, layout=Layout.GRID))
        # A text without a manifest is of a lone kernel.
        is_of = own is not None or (manifest is None and len(kernels) == 1)
        listing = _source(kernel, beside if is_of else Beside(), own, place, machine)
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
            summary=evidence.headline(kernel.verdict, predicted=predicted),
        )


def _source(
    kernel: KernelDiagnosis,
    beside: Beside,
    own: Manifest | None,
    anchor: str,
    machine: Machine | None,
) -> Section | None:
    """The source of a kernel, as far as it is known, with its machine code."""
    hot = source.hot_of(kernel.name, beside.hot_lines)
    made_by = beside.prediction or own
    made_from = None if made_by is None else made_by.source
    notes = prediction.notes(beside.prediction) if beside.prediction else None
    return source.section(made_from, beside.source_text, hot, anchor, notes=notes, machine=machine)


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
    gpu: str,
) -> Iterable[Block]:
    timing = None if own is None else own.timing
    facts = _facts(kernel, launch, timing, counted, predicted=predicted)
    yield Facts((*facts, *([Fact("GPU", (Span(gpu),))] if gpu else [])))
    full, launched = shown(kernel.name), ", ".join(launch_parts(kernel))
    if timing is not None:
        launched += " under the profiler"  # beside the launches that were timed without it
    if kernel.surveyed is not None:
        launched += f"; in the program {survey.launches(kernel.surveyed, kernel.launches)}"
    if full != name and len(full) <= LONGEST_NAME:
        yield Paragraph(Span(full, code=True), Tone.MUTED)
    yield Paragraph(Span(launched), Tone.MUTED)
    if len(full) > LONGEST_NAME:
        yield Section("Full name", (Code(full),), folded=True)


def _lead(verdict: Verdict) -> Iterable[Block]:
    """By how much the kernel is held back, and the first thing to do about it."""
    if verdict.bottleneck == DEBUG_BUILD:
        return
    if gain := about(verdict) if verdict.status is Status.BOTTLENECK else "":
        yield Paragraph(
            f"Without this limit the kernel would be {gain.replace('x', 'x as fast', 1)}.",
            Tone.STRONG,
        )
    elif text := less_work(verdict) if verdict.status is Status.AT_LIMIT else "":
        yield Paragraph(f"Only less work makes it faster: {text}.", Tone.STRONG)
    if verdict.advice:
        yield Paragraph((Span("First: ", Tone.STRONG), without_homes(verdict.advice[0])))
    elif verdict.command is not None:
        yield Paragraph("First: measure what this capture lacks, with the command below.")


def _facts(
    kernel: KernelDiagnosis,
    launch: Launch,
    timing: TimingFacts | None,
    counted: Counted | None,
    *,
    predicted: bool,
) -> Iterable[Fact]:
    of = "in the limit" if kernel.verdict.status is not Status.INCONCLUSIVE else "in the answer"
    yield Fact(f"confidence {of}", (Span(kernel.verdict.confidence.value, Tone.STRONG),))
    yield from _time(kernel, timing, predicted=predicted)
    if counted is not None and counted.rate > 0:
        yield _speed(counted)
    if busiest := launch.busiest():
        yield _busiest(*busiest, launch.share("l2_throughput"))
    if kernel.launches > 1:
        yield Fact("shown launch", (Span(f"ID {printable(launch.id)}"),), _SHOWN)


def _time(
    kernel: KernelDiagnosis, timing: TimingFacts | None, *, predicted: bool
) -> Iterable[Fact]:
    """How long it takes: outside the profiler where that was measured, and else under it."""
    spread = kernel.duration_ns
    if timing is not None:
        told = f", the median of {count(timing.launches, 'launch')}" if timing.launches > 1 else ""
        told += f"; {quantity(spread.median, 'ns')} with the profiler" if spread else ""
        low, high = quantity(timing.low_ns, "ns"), quantity(timing.high_ns, "ns")
        measured = (Span(quantity(timing.median_ns, "ns"), Tone.STRONG), told)
        yield Fact("time", (measured,), _TIMED.format(low=low, high=high))
    elif spread is not None:
        text = time_text(spread.median, spread.low, spread.high, kernel.launches)
        if predicted:
            yield Fact("predicted time", (Span(f"about {text}", Tone.STRONG),), _IN_A_MODEL)
        else:
            yield Fact("time", ((Span(text, Tone.STRONG), " with the profiler"),), _PROFILED)


def _busiest(unit: str, part: float, l2: float | None) -> Fact:
    """The unit that is nearest to its peak, and the one beside which L2's counter stands."""
    text: Text = (f"{UNITS[unit]}, ", Span(share(part), Tone.STRONG), " of peak")
    if l2 is not None and l2 > part:
        text = (f"{UNITS['l2']}, ", Span(share(l2), Tone.STRONG), " of peak")
        if unit != "l2":
            text += (f"; {UNITS[unit]}, {share(part)}",)
    return Fact("busiest unit", (text,), _BUSIEST)


def _speed(counted: Counted) -> Fact:
    """Operations a second against the peak of their precision."""
    rate = f"{roofline.rate(counted.rate)}FLOP/s"
    peak = counted.ceiling
    if peak is None:
        return Fact("arithmetic", ((Span(rate, Tone.STRONG), f" {counted.precision}"),))
    most = f"{roofline.rate(peak.value)}FLOP/s {counted.precision}"
    return Fact(
        "share of peak",
        ((Span(share(counted.rate / peak.value), Tone.STRONG), f": {rate} of {most}"),),
        f"Floating-point operations a second, by the counters. {peak.label}: {peak.origin}.",
    )
