"""The page of a capture: its kernels by time, and a card for each with all that is known of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.rules import Subsystem, load_rules
from kernelprof.model.capture import Capture, line_shares
from kernelprof.model.diagnosis import Diagnosis, KernelDiagnosis, Status, Verdict
from kernelprof.model.names import cut_middle, printable
from kernelprof.model.numbers import count, factor, number, quantity, rounded_quantity, share
from kernelprof.report.charts import bars, roofline
from kernelprof.report.document import (
    Block,
    Chart,
    CodeBlock,
    Document,
    Fact,
    FactList,
    Layout,
    Note,
    Paragraph,
    Section,
    Span,
    Text,
    Tone,
)
from kernelprof.report.documents import (
    TONES,
    commands,
    over_time,
    prediction,
    source,
    survey,
    waiting,
    write_data,
)
from kernelprof.report.documents.diagnosis import gpu_name, launch_parts, time_text
from kernelprof.report.documents.kernels_overview import (
    all_kernels_section,
    kernel_titles,
    kernels_section,
)
from kernelprof.report.documents.metrics import MOST_WITH_ALL, MetricTables
from kernelprof.report.documents.prediction import basis
from kernelprof.report.documents.verdict import (
    DEBUG_BUILD,
    describe_gain,
    evidence_blocks,
    finding_bullets,
    guidance_section,
    less_work,
    summarize_verdict,
)
from kernelprof.report.figures import memory, multiprocessor
from kernelprof.report.figures.measured import UNITS, LaunchFigures, Measured
from kernelprof.report.figures.opcode_mix import in_words, mix_of_counters, opcode_mix_figure
from kernelprof.report.figures.roofline import count_operations, roofline_figure
from kernelprof.report.private import file_name, shown, shown_origin, without_homes
from kernelprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kernelprof.model.manifest import CorrectnessFacts, GpuFacts, Manifest, SourceFacts
    from kernelprof.model.prediction import PredictionFacts

    Labelled = tuple[str, str] | tuple[str, str, str]
    from collections.abc import Mapping

    from kernelprof.model.manifest import TimingFacts
    from kernelprof.model.sampled import SampledCode
    from kernelprof.report.documents.source import MachineListing
    from kernelprof.report.figures.roofline import FlopCount
    from kernelprof.sources.source import Contents

_TITLE_WIDTH: Final = 80
"""Characters of a capture's name in a heading."""


def document_of_captures(
    sources: Sequence[tuple[Capture, Diagnosis, CaptureAttachments]],
) -> Document:
    """Everything that is known of several captures, in their order."""
    diagnoses = [replace(each, origin=shown_origin(each.origin)) for _, each, _ in sources]
    blocks: list[Block] = [all_kernels_section(diagnoses)]
    for position, (capture, _, attachments) in enumerate(sources, 1):
        diagnosis, anchor = diagnoses[position - 1], f"capture-{position}"
        sections = tuple(_sections(capture, diagnosis, attachments, f"{anchor}-kernel"))
        title = Span(cut_middle(diagnosis.origin, _TITLE_WIDTH))
        blocks.append(Section(title, sections, anchor=anchor))
    devices = [gpu_name(kernel) for each in diagnoses for kernel in each.kernels]
    return Document(
        f"Report: {count(len(sources), 'capture')}",
        tuple(blocks),
        machine=", ".join(dict.fromkeys(filter(None, devices))),
        data=write_data(diagnoses),
        file="diagnosis.json",
    )


def _sections(
    capture: Capture, diagnosis: Diagnosis, attachments: CaptureAttachments, anchor: str
) -> Iterable[Section]:
    if diagnosis.warnings:
        yield Section("Warnings", _warnings(diagnosis))
    yield from _kernels(capture, diagnosis, attachments, anchor, listed=False)


def _warnings(diagnosis: Diagnosis) -> tuple[Note, ...]:
    return tuple(Note(Span(shown(each)), warning=True) for each in diagnosis.warnings)


def _kernels(
    capture: Capture,
    diagnosis: Diagnosis,
    attachments: CaptureAttachments,
    anchor: str = "kernel",
    *,
    listed: bool = True,
) -> Iterable[Section]:
    kernels = diagnosis.kernels
    if len(kernels) > 1:
        yield kernels_section(kernels, anchor, capture, listed=listed)
    yield from kernel_cards(capture, diagnosis, attachments, anchor)
    yield provenance(capture, diagnosis, attachments, all_metrics=len(kernels) <= MOST_WITH_ALL)


_HASH: Final = "SHA-256"
_CLOCKS: Final = "Whether ncu locked the clocks (base) or left them unchanged (none)."
_FEWER: Final = (
    "With this many kernels, the tables contain only the metrics that kernelprof uses. The "
    "report of a single kernel contains every column of the capture."
)


def provenance(
    capture: Capture, diagnosis: Diagnosis, attachments: CaptureAttachments, *, all_metrics: bool
) -> Section:
    """All that is known about how a capture was made.

    ``all_metrics`` is whether the page's tables hold every column.
    """
    manifest, predicted = attachments.manifest, attachments.prediction
    lines = [*_capture_facts(capture, diagnosis, measured=predicted is None)]
    if predicted is not None:
        lines += _prediction_facts(predicted)
    elif manifest is not None:
        lines += _manifest_facts(manifest)
    elif capture.clock_control:
        lines.append(("clock control", capture.clock_control))
    facts = [Fact(label, (Span(shown(text)),), *tip) for label, text, *tip in lines if text]
    hashes = tuple(each for each in facts if _HASH in each.label)
    blocks: list[Block] = [FactList(tuple(each for each in facts if each not in hashes))]
    if not all_metrics:
        blocks.append(Note(_FEWER))
    runs = () if manifest is None else manifest.runs
    if made := [shown(shlex.join(run.command)) for run in runs if run.command]:
        title = (
            "Command that made this capture"
            if len(made) == 1
            else "Commands that made this capture"
        )
        code = tuple(CodeBlock(each, language="sh", copy=True) for each in made)
        blocks.append(Section(title, code, folded=True))
    if hashes:
        blocks.append(Section("Checksums", (FactList(hashes),), folded=True))
    return Section("Where this comes from", tuple(blocks), layout=Layout.GRID)


def _capture_facts(capture: Capture, diagnosis: Diagnosis, *, measured: bool) -> Iterable[Labelled]:
    yield ("capture", diagnosis.origin)
    if measured:
        yield ("export", f"{capture.page} page of Nsight Compute")
    yield ("launches", count(len(capture), "launch"))
    yield ("program", file_name(capture.application or ""))
    yield ("requested preset", diagnosis.preset or "")
    missing = sorted(capture.unavailable)
    yield ("not available", ", ".join(missing), "Metrics that ncu could not collect.")


def _prediction_facts(prediction: PredictionFacts) -> Iterable[Labelled]:
    yield ("made by", f"kernelprof {__version__}: {basis(prediction.counts)}")
    yield from _source_facts(prediction.source)
    if prediction.correctness is not None:
        yield _correctness(prediction.correctness)
    yield ("machine code, SHA-256", prediction.counts.code)


def _manifest_facts(manifest: Manifest) -> Iterable[Labelled]:
    yield ("measured at", manifest.created, "UTC")
    yield ("measured by", f"kernelprof {manifest.kernelprof}")
    yield ("target", shlex.join(manifest.target))
    yield ("Nsight Compute", manifest.ncu or "")
    yield ("driver", manifest.driver or "")
    yield ("CUDA", manifest.cuda or "")
    yield from _gpu_facts(manifest.gpu)
    yield ("clock control", manifest.clock_control, _CLOCKS)
    if manifest.preset is not None:
        yield ("preset", manifest.preset.name)
        yield ("preset, SHA-256", manifest.preset.sha256)
    if manifest.source is not None:
        yield from _source_facts(manifest.source)
    if manifest.correctness is not None:
        yield _correctness(manifest.correctness)
    for index, run in enumerate(manifest.runs, start=1):
        name = f"run {index}" if len(manifest.runs) > 1 else "run"
        passes = "" if run.passes is None else f", {run.passes:,} passes"
        launches = count(run.launches, "launch")
        yield (name, f"{run.why}: {launches}{passes}, {number(run.seconds)} s")
        yield (f"{name}, SHA-256 of {run.raw}", run.raw_sha256)
    yield ("schema", f"manifest version {manifest.schema_version}")


def _gpu_facts(gpu: GpuFacts) -> Iterable[Labelled]:
    yield ("GPU", gpu.name or "")
    yield ("compute capability", gpu.compute_capability or "")
    for label, now, most in (
        ("SM clock", gpu.sm_mhz, gpu.max_sm_mhz),
        ("memory clock", gpu.memory_mhz, gpu.max_memory_mhz),
    ):
        parts = [f"{number(now)} MHz"] if now is not None else []
        parts += [f"at most {number(most)} MHz"] if most is not None else []
        yield (label, ", ".join(parts), "Just before the measurement.")


def _source_facts(source: SourceFacts) -> Iterable[Labelled]:
    yield ("source", file_name(source.path))
    yield ("source, SHA-256", source.sha256)
    yield ("specification, SHA-256", source.specification_sha256 or "")
    yield ("compiler", source.compiler or "")
    yield ("compile flags", shlex.join(source.compile_flags))
    yield ("compilation, SHA-256", source.compile_sha256 or "")
    for name, digest in (source.includes or {}).items():
        yield (f"{name}, SHA-256", str(digest))


def _correctness(facts: CorrectnessFacts) -> Labelled:
    parts = ["passed" if facts.passed else "failed"]
    if facts.reference:
        parts.append(f"against {facts.reference}")
    if facts.largest_error is not None:
        parts.append(f"largest error {facts.largest_error:.3g}")
    if facts.tolerance is not None:
        parts.append(f"allowed {facts.tolerance:.3g}")
    if facts.sizes:
        sizes = ", ".join(f"{name} = {size}" for name, size in facts.sizes.items())
        parts.append(f"at {sizes}")
    return ("result check", ", ".join(parts), "Compares the kernel's result with a reference.")


NOTABLE_EXCESS: Final = 0.01


def panels(
    name: str,
    launch: LaunchFigures,
    manifests: tuple[Manifest | None, Manifest | None],
    flop_count: FlopCount | None,
    place: Subsystem | None,
    *,
    code: SampledCode | None,
) -> Iterable[Section]:
    """Yield the sections of a kernel's card below its verdict: a new one is a function called here.

    Of the ``manifests`` the first is given where it describes this kernel, the second where there
    is one at all.

    ``place`` is where the verdict says that the kernel is held back, ``code`` its instructions.
    """
    own, manifest = manifests
    timing = None if own is None else own.timing
    yield from _memory(launch, timing, own, place)
    if limits := roofline_figure(launch, flop_count, timing, manifest, place):
        rows = roofline.rows(limits.points, limits.ceilings)
        chart = Chart("roofline", rows, f"Roofline: {name} at each memory level")
        yield Section("Roofline", (*([chart] if rows else ()), Note(limits.note)))
    if states := multiprocessor.warp_states(launch):
        title = "Warp states"
        yield from _shares(title, "warps", states.states, states.explained)
    yield from _shares("Pipes", "pipes", multiprocessor.pipes(launch))
    yield from _occupancy(launch)
    mix = opcode_mix_figure(code) or mix_of_counters(launch)
    explained = "" if launch.predicted else in_words(mix)
    yield from _shares("Instruction mix", "instructions", mix, explained)


def _shares(
    title: str, what: str, parts: Iterable[bars.Share], explained: str = ""
) -> Iterable[Section]:
    if rows := bars.share_rows(parts):
        chart = Chart(f"shares:{what}", rows, f"{bars.TITLES[what]}, by name")
        yield Section(title, (chart, *([Paragraph(explained)] if explained else ())))


def _memory(
    launch: LaunchFigures, timing: TimingFacts | None, own: Manifest | None, place: Subsystem | None
) -> Iterable[Section]:
    traffic = memory.memory_figure(launch, timing, own)
    if traffic is None:
        return
    blocks: list[Block] = []
    if rows := memory.chart(traffic, place):
        blocks.append(
            Chart("memory", rows, "Bytes transferred at each level, from threads to device memory")
        )
    if traffic.excess is not None and traffic.excess >= NOTABLE_EXCESS:
        needless = f"{share(traffic.excess)} of the sectors of global accesses are not needed."
        blocks.append(Paragraph(needless))
    if traffic.note:
        blocks.append(Note(traffic.note))
    yield Section("Memory", tuple(blocks))


def _occupancy(launch: LaunchFigures) -> Iterable[Section]:
    limits = multiprocessor.occupancy(launch)
    if limits is None:
        return
    text = f"Theoretical {share(limits.theoretical)}"
    text += "." if limits.achieved is None else f", achieved {share(limits.achieved)}."
    if limits.limiters:
        text += f" Limited by {', '.join(limits.limiters)}."
    most = max((blocks for _, blocks in limits.limits), default=0) or 1
    looks = {True: "fill first", False: "fill"}
    rows = tuple(
        bars.BarRow(name, blocks / most, f"{blocks}", looks[name in limits.limiters])
        for name, blocks in limits.limits
    )
    chart = Chart("occupancy", rows, "Blocks per SM that each resource allows")
    note = (Note(limits.note),) if limits.note else ()
    yield Section("Occupancy", (Paragraph(text), chart, *note))


LONGEST_NAME: Final = 120
"""Characters of a full name up to which it stands open below the short one."""

_IN_A_MODEL: Final = (
    "Estimated by a model of one SM; usually within a factor of 1.5 of the measured time."
)
_TIMED: Final = (
    "From CUDA events: median of launches that took {low} to {high}. With the profiler: the time "
    "of the launch whose counters are shown."
)
_ESTIMATED: Final = (
    "Estimates from the counters: each step is the time that a fix saves after the fixes above it."
)
_PROFILED: Final = (
    "Time of the launch whose counters are shown, under the profiler, which serializes kernels."
)
_BUSIEST: Final = (
    "The unit nearest to its limit. In a streaming kernel, L2 can rank above device memory, "
    "although L2 only passes the data on."
)
_SHOWN: Final = "The counters below are from this launch, which has the median time."
_PILLS: Final = {
    Status.BOTTLENECK: "Limited by ",
    Status.AT_LIMIT: "At its limit: ",
    Status.INCONCLUSIVE: "Inconclusive",
}


@dataclass(frozen=True, slots=True)
class CaptureAttachments:
    """What is known beside the counters of a capture.

    ``hot_lines`` are, by kernel, line numbers of the source with their share of that kernel's
    samples, 0 to 1; ``None`` where no samples were taken.
    """

    manifest: Manifest | None = None
    source_text: str | None = None
    hot_lines: Mapping[str, Mapping[int, float]] | None = None
    prediction: PredictionFacts | None = None


def read_attachments(contents: Contents) -> CaptureAttachments:
    """What a page shows of a capture directory."""
    manifest, hot = contents.manifest, None
    if contents.lines is not None and manifest is not None and manifest.source is not None:
        hot = line_shares(contents.lines, manifest.source.path)
    return CaptureAttachments(manifest, contents.source_text, hot, contents.prediction)


def document(
    capture: Capture, diagnosis: Diagnosis, attachments: CaptureAttachments | None = None
) -> Document:
    """Everything that is known of a capture."""
    attachments = attachments or CaptureAttachments()
    diagnosis = replace(diagnosis, origin=shown_origin(diagnosis.origin))
    kernels = diagnosis.kernels
    blocks: list[Block] = [*_warnings(diagnosis)]
    if attachments.prediction is not None:
        blocks.append(Note(prediction.describe_basis(attachments.prediction.counts)))
    if diagnosis.survey is not None:
        blocks.append(survey.section(diagnosis.survey, explain=True))
    blocks += _kernels(capture, diagnosis, attachments)
    several = len(kernels) > 1
    devices = [each for each in dict.fromkeys(map(gpu_name, kernels)) if each]
    title = count(len(kernels), "kernel") if several else kernel_titles(kernels)[0]
    return Document(
        f"Report: {title}",
        tuple(blocks),
        origin=diagnosis.origin,
        machine=", ".join(devices) if several else "",
        data=write_data([diagnosis]),
        file="diagnosis.json",
    )


def kernel_cards(
    capture: Capture, diagnosis: Diagnosis, attachments: CaptureAttachments, anchor: str = "kernel"
) -> Iterable[Section]:
    """A section for each kernel, with anchors ``kernel-1`` and so on."""
    measured, kernels = Measured(capture), diagnosis.kernels
    says_gpu = len(kernels) == 1 or len(set(map(gpu_name, kernels))) > 1
    tables = MetricTables(measured, everything=len(kernels) <= MOST_WITH_ALL)
    for position, (kernel, name) in enumerate(zip(kernels, kernel_titles(kernels), strict=True), 1):
        manifest, place = attachments.manifest, f"{anchor}-{position}"
        is_described = manifest and manifest.describes_kernel(kernel.name, len(kernels))
        own = manifest if is_described else None
        row = measured.representative(kernel)
        launch = LaunchFigures(measured, row)
        flop_count = count_operations(launch, manifest)
        predicted = attachments.prediction is not None
        codes = source.code_of(kernel, capture.code)
        machine = source.machine_of(kernel, capture.code, len(kernels))
        at = f"{place}-line-{line}" if (line := machine and machine.line_to_blame) else ""
        blocks: list[Block] = [*_lead(kernel.verdict), *waiting.blamed(kernel, at)]
        gpu = gpu_name(kernel) if says_gpu else ""
        blocks += _answer(kernel, name, launch, own, flop_count, predicted=predicted, gpu=gpu)
        undecided = kernel.verdict.status is Status.INCONCLUSIVE
        answer, evidence = finding_bullets(kernel.verdict), evidence_blocks(kernel.verdict)
        facts = (*evidence, *((answer,) if answer.items else ()))
        advice = (
            *guidance_section(kernel.verdict, on_page=True, predicted=predicted),
            *commands.on_card(kernel.verdict, diagnosis),
        )
        parts = [Section("What is known" if undecided else "Evidence", facts)] if facts else []
        parts.append(Section("How to settle the verdict" if undecided else "What to do", advice))
        blocks.append(Section("", tuple(parts), layout=Layout.GRID))
        blocks += after_fixes(kernel)
        if attachments.prediction is not None:
            facts_of_lines = attachments.prediction, attachments.source_text
            blocks += filter(None, (prediction.section(*facts_of_lines, place),))
        blocks += filter(None, (waiting.stalls_section(kernel, blame=False),))
        blocks += over_time.section(kernel)
        rule = load_rules().get(kernel.verdict.bottleneck or "")
        where = None if rule is None else rule.subsystem
        # Of several codes with its name it is not known which one the launch ran.
        code = codes[0] if len(codes) == 1 else None
        if figures := tuple(panels(name, launch, (own, manifest), flop_count, where, code=code)):
            blocks.append(Section("", figures, layout=Layout.GRID))
        # A text without a manifest is of a lone kernel.
        is_of = own is not None or (manifest is None and len(kernels) == 1)
        described = attachments if is_of else CaptureAttachments()
        blocks += filter(None, (_source(kernel, described, own, place, machine),))
        blocks.append(tables.section(row, name))
        tone = TONES[kernel.verdict.status]
        pill = Span(_pill(kernel.verdict), tone)
        yield Section(
            (Span(name), " ", pill),
            tuple(blocks),
            anchor=place,
            tone=tone,
            layout=Layout.HERO,
            summary=summarize_verdict(kernel.verdict, predicted=predicted),
        )


def after_fixes(kernel: KernelDiagnosis) -> Iterable[Section]:
    """From the time as it is to what is left after the fix of every cause, where there are several.

    An alternative saves the time that its first cause saves, so it has no step.
    """
    verdict, times = kernel.verdict, kernel.duration_ns
    causes = [each for each in verdict.causes if each.alternative_to is None]
    if len(causes) == 1 or not causes or times is None:
        return
    at = times.median
    steps = [bars.waterfall_step("Now", 0.0, at, "before", rounded_quantity(at, "ns"))]
    for each in causes:
        left = at / each.gain_after_previous
        saved = f"−{rounded_quantity(at - left, 'ns')}, {factor(each.gain_after_previous)}"
        steps.append(bars.waterfall_step(each.bottleneck, at, left, "less", saved))
        at = left
    steps.append(
        bars.waterfall_step("After all", 0.0, at, "first", f"about {rounded_quantity(at, 'ns')}")
    )
    chart = Chart("waterfall", tuple(steps), "Time after each cause is fixed")
    yield Section("Expected time after each fix", (chart, Note(_ESTIMATED)))


def _source(
    kernel: KernelDiagnosis,
    attachments: CaptureAttachments,
    own: Manifest | None,
    anchor: str,
    machine: MachineListing | None,
) -> Section | None:
    hot = source.hot_of(kernel.name, attachments.hot_lines)
    made_by = attachments.prediction or own
    made_from = None if made_by is None else made_by.source
    notes = prediction.notes(attachments.prediction) if attachments.prediction else None
    return source.section(
        made_from, attachments.source_text, hot, anchor, notes=notes, machine=machine
    )


def _pill(verdict: Verdict) -> str:
    if verdict.bottleneck == DEBUG_BUILD:
        return "Compiled for debugging"
    return _PILLS[verdict.status] + (verdict.bottleneck or "")


def _answer(
    kernel: KernelDiagnosis,
    name: str,
    launch: LaunchFigures,
    own: Manifest | None,
    flop_count: FlopCount | None,
    *,
    predicted: bool,
    gpu: str,
) -> Iterable[Block]:
    timing = None if own is None else own.timing
    facts = _facts(kernel, launch, timing, flop_count, predicted=predicted)
    yield FactList((*facts, *([Fact("GPU", (Span(gpu),))] if gpu else [])))
    full, launched = shown(kernel.name), ", ".join(launch_parts(kernel))
    if timing is not None:
        launched += " under the profiler"  # beside the launches that were timed without it
    if kernel.surveyed is not None:
        launched += f"; in the program {survey.launches(kernel.surveyed, kernel.launches)}"
    if full != name and len(full) <= LONGEST_NAME:
        yield Paragraph(Span(full, code=True), Tone.MUTED)
    yield Paragraph(Span(launched), Tone.MUTED)
    if len(full) > LONGEST_NAME:
        yield Section("Full name", (CodeBlock(full),), folded=True)


def _lead(verdict: Verdict) -> Iterable[Block]:
    if verdict.bottleneck == DEBUG_BUILD:
        return
    if gain := describe_gain(verdict) if verdict.status is Status.BOTTLENECK else "":
        faster = gain.replace("x", "x as fast", 1)
        yield Paragraph(f"Without this limit the kernel would be {faster}.", Tone.STRONG)
    elif text := less_work(verdict) if verdict.status is Status.AT_LIMIT else "":
        yield Paragraph(f"Only less work would make the kernel faster: {text}.", Tone.STRONG)
    if verdict.advice:
        yield Paragraph((Span("First: ", Tone.STRONG), without_homes(verdict.advice[0])))
    elif verdict.command is not None:
        yield Paragraph("First: collect the missing metrics with the command below.")


def _facts(
    kernel: KernelDiagnosis,
    launch: LaunchFigures,
    timing: TimingFacts | None,
    flop_count: FlopCount | None,
    *,
    predicted: bool,
) -> Iterable[Fact]:
    undecided = kernel.verdict.status is Status.INCONCLUSIVE
    what = "answer" if undecided else "limit"
    yield Fact(f"confidence in the {what}", (Span(kernel.verdict.confidence.value, Tone.STRONG),))
    yield from _time(kernel, timing, predicted=predicted)
    if flop_count is not None and flop_count.rate > 0:
        yield _speed(flop_count)
    if busiest := launch.busiest():
        yield _busiest(*busiest, launch.share("l2_throughput"))
    if kernel.launches > 1:
        yield Fact("shown launch", (Span(f"ID {printable(launch.id)}"),), _SHOWN)


def _time(
    kernel: KernelDiagnosis, timing: TimingFacts | None, *, predicted: bool
) -> Iterable[Fact]:
    """How long it takes: outside the profiler where that was measured, and else under it."""
    duration = kernel.duration_ns
    if timing is not None:
        basis = f", the median of {count(timing.launches, 'launch')}" if timing.launches > 1 else ""
        basis += f"; {quantity(duration.median, 'ns')} with the profiler" if duration else ""
        low, high = quantity(timing.low_ns, "ns"), quantity(timing.high_ns, "ns")
        measured = (Span(quantity(timing.median_ns, "ns"), Tone.STRONG), basis)
        yield Fact("time", (measured,), _TIMED.format(low=low, high=high))
    elif duration is not None:
        text = time_text(duration.median, duration.low, duration.high, kernel.launches)
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


def _speed(flop_count: FlopCount) -> Fact:
    rate = f"{roofline.rate(flop_count.rate)}FLOP/s"
    peak = flop_count.ceiling
    if peak is None:
        return Fact("arithmetic", ((Span(rate, Tone.STRONG), f" {flop_count.precision}"),))
    most = f"{roofline.rate(peak.value)}FLOP/s {flop_count.precision}"
    return Fact(
        "share of peak",
        ((Span(share(flop_count.rate / peak.value), Tone.STRONG), f": {rate} of {most}"),),
        f"Floating-point operations per second, from the counters. {peak.label}: {peak.origin}.",
    )
