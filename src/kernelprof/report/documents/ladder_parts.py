"""Parts of a ladder's document: its charts, its cells, and how it was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.architectures import FLOPS_OF_FMA
from kernelprof.ladder.results import (
    Climb,
    Climbed,
    ShortVerdict,
    ceiling_rate,
    gflops,
    peak_gflops,
    peak_lanes,
    ratio,
)
from kernelprof.model.numbers import count, factor, number, quantity, share
from kernelprof.report.charts import roofline
from kernelprof.report.charts.bars import ClimbBar, ClimbLimit
from kernelprof.report.charts.drawing import tidy, time_unit
from kernelprof.report.charts.roofline import DATASHEET, MEASURED
from kernelprof.report.document import (
    Block,
    Bullets,
    Chart,
    CodeBlock,
    Paragraph,
    Section,
    Span,
    Text,
    Tone,
)
from kernelprof.report.documents import TONES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kernelprof.ladder.registry import Rung
    from kernelprof.model.capture import Capture
    from kernelprof.model.diagnosis import Diagnosis
    from kernelprof.model.manifest import TimingFacts
    from kernelprof.report.documents.capture_page import CaptureAttachments

MOST_GFLOPS: Final = 100_000.0
"""The largest rate that is given in GFLOP/s; beyond it a number would have six digits."""


@dataclass(frozen=True, slots=True)
class RateUnit:
    """A unit with its size in GFLOP/s; a ``whole`` one is given without fractions."""

    name: str
    gflops: float
    whole: bool

    def convert(self, rate: float) -> float:
        """A rate in GFLOP/s in this unit."""
        return rate / self.gflops

    def number(self, rate: float) -> str:
        """A rate in GFLOP/s as a number without its unit: ``50,152``, ``812.3``."""
        return number(round(self.convert(rate)) if self.whole else self.convert(rate))

    def text(self, rate: float) -> str:
        """The same with the unit."""
        return f"{self.number(rate)} {self.name}"

    def cell(self, timing: TimingFacts | None) -> str:
        """What was timed, without the unit; a dash where nothing was."""
        rate = gflops(timing)
        return "-" if rate is None else self.number(rate)


GIGA: Final = RateUnit("GFLOP/s", 1.0, whole=True)
TERA: Final = RateUnit("TFLOP/s", 1e3, whole=False)


def rate_unit(climb: Climb) -> RateUnit:
    """The unit that fits the largest rate which the report gives, a peak among them.

    Beside cuBLAS at several sizes it is TFLOP/s in any case: there rungs are for tensor cores.
    """
    rates = [gflops(rung.timing) for rung in climb.rungs]
    rates += [ceiling_rate(climb), peak_gflops(climb.surroundings, climb.product)]
    largest = max((rate for rate in rates if rate is not None), default=0.0)
    return TERA if climb.measured_sizes or largest > MOST_GFLOPS else GIGA


DASH: Final = "-"


@dataclass(frozen=True, slots=True)
class Card:
    """What the capture of a rung adds: its own blocks, and the limit of device memory."""

    blocks: tuple[Block, ...] = ()
    bandwidth: roofline.Ceiling | None = None
    note: str = ""
    """Why there is no capture to show."""


def rung_card(
    capture: Capture, diagnosis: Diagnosis, attachments: CaptureAttachments, rung: Climbed
) -> Card:
    """What the capture of a rung shows of the kernel that takes the time; there is just one."""
    from kernelprof.report.documents.capture_page import kernel_cards
    from kernelprof.report.figures.measured import LaunchFigures, Measured
    from kernelprof.report.figures.roofline import peak_bandwidths

    kernel = diagnosis.kernels[0]
    section = next(
        iter(kernel_cards(capture, diagnosis, attachments, anchor=f"{rung_anchor(rung)}-kernel"))
    )
    limits = peak_bandwidths(LaunchFigures(Measured(capture), kernel.rows[0]))
    return Card((section,), next((each for each in limits if each.label == "DRAM"), None))


def rung_anchor(rung: Climbed) -> str:
    """What the section of a rung is called in links."""
    return f"rung-{rung.number}"


def rung_name(rung: Climbed | Rung) -> str:
    """``1 Naive``."""
    return f"{rung.number} {rung.title}"


def time_cell(timing: TimingFacts | None) -> str:
    """The median."""
    return DASH if timing is None else quantity(timing.median_ns, "ns")


def spread_cell(timing: TimingFacts | None) -> str:
    """The 95 % confidence interval of the median; shortest and longest where there is none."""
    if timing is None:
        return DASH
    low, high, note = timing.confidence_low_ns, timing.confidence_high_ns, ""
    if low is None or high is None:
        low, high, note = timing.low_ns, timing.high_ns, " (shortest to longest)"
    # Five digits, as launches of the same code differ in the fourth.
    size, unit = time_unit(high)
    return f"{low / size:.5g} to {high / size:.5g} {unit}{note}"


def factor_cell(value: float | None) -> str:
    """A factor of run time."""
    return DASH if value is None else factor(value)


def verdict_text(verdict: ShortVerdict | None) -> Text:
    """What a verdict names, in the tone of its status."""
    if verdict is None:
        return DASH
    return Span(verdict_name(verdict), TONES.get(verdict.status, Tone.PLAIN), code=True)


def gain_cell(verdict: ShortVerdict | None) -> str:
    """What the way out is expected to bring."""
    if verdict is not None and verdict.gain is None and verdict.status == "at-limit":
        return "at limit"
    return factor_cell(None if verdict is None else verdict.gain)


def verdict_name(verdict: ShortVerdict) -> str:
    """The bottleneck, or the status where none is named."""
    return verdict.bottleneck or verdict.status


def peak_rate(climb: Climb) -> float | None:
    """The peak of the units that the product of this climb can use, in GFLOP/s."""
    return peak_gflops(climb.surroundings, climb.product)


def way_up(climb: Climb) -> frozenset[str]:
    """The files of the rungs that lead up to the fastest one, each changing the one before."""
    fastest = fastest_rung(climb)
    files: list[str] = []
    while fastest is not None and fastest.file not in files:
        files.append(fastest.file)
        fastest = None if fastest.after is None else climb.rung(fastest.after)
    return frozenset(files)


def timed_rungs(climb: Climb) -> list[tuple[float, str]]:
    """Medians of the rungs that were timed, in nanoseconds, with their files."""
    return [(rung.timing.median_ns, rung.file) for rung in climb.rungs if rung.timing is not None]


def fastest_rung(climb: Climb) -> Climbed | None:
    """The rung with the shortest median."""
    timed = timed_rungs(climb)
    return climb.rung(min(timed)[1]) if timed else None


def any_timing(climb: Climb) -> TimingFacts | None:
    """The first times that are known: the problem is the same for all rungs."""
    return next((rung.timing for rung in climb.rungs if rung.timing is not None), None)


def bar_section(climb: Climb, way: frozenset[str]) -> Section | None:
    """A bar a rung, below cuBLAS and the peak."""
    if not climb.rungs:
        return None
    unit = rate_unit(climb)
    rates = (("cuBLAS", ceiling_rate(climb)), (climb.product.about.peak, peak_rate(climb)))
    limits = [(label, rate) for label, rate in rates if rate is not None]
    rows = [
        *(_bar(rung, way, unit) for rung in climb.rungs),
        *(ClimbLimit(f"{label} {unit.number(r)}", tidy(unit.convert(r))) for label, r in limits),
    ]
    label = (
        f"{unit.name} of each rung in order, with its verdict; the table below has the same data"
    )
    text = (
        "Each bar is a rung, labelled with its verdict. Rungs with dark bars lead to the fastest "
        "rung; light bars are variants for comparison."
    )
    kind = "climb" if unit is GIGA else "climb:tflops"
    return Section("The climb", (Chart(kind, tuple(rows), label, text),))


def _bar(rung: Climbed, way: frozenset[str], unit: RateUnit) -> ClimbBar:
    rate, verdict = gflops(rung.timing), verdict_or_reason(rung)
    return ClimbBar(
        rung_name(rung),
        None if rate is None else tidy(unit.convert(rate)),
        rung.file in way,
        verdict if rate is None else f"{unit.number(rate)}: {verdict}",
        time_cell(rung.timing),
    )


def verdict_or_reason(rung: Climbed) -> str:
    """What a rung got: its verdict, or why there is none."""
    if rung.error is not None:
        return f"failed: {rung.error.what}"
    if rung.full is None:
        return "not profiled"
    limit = ", at its limit" if rung.full.said.status == "at-limit" else ""
    return verdict_name(rung.full.said) + limit


def roofline_section(
    climb: Climb, cards: Mapping[str, Card], way: frozenset[str]
) -> Section | None:
    """The way over the rungs at device memory, towards what the problem itself needs."""
    points = []
    for rung in climb.rungs:
        rate, timing = gflops(rung.timing), rung.timing
        moved = None if rung.traffic is None else rung.traffic.dram
        if rate is None or not moved or timing is None or not timing.flops:
            continue
        level, path = ("DRAM", "way") if rung.file in way else ("branch", "")
        intensity, short = timing.flops / moved, str(rung.number)
        points.append(roofline.Point(rung_name(rung), level, intensity, rate * 1e9, short, path))
    if not points:
        return None
    ceilings = tuple(_ceilings(climb, cards))
    rows = roofline.rows((*points, *_ideal(climb, ceilings)), ceilings)
    label = "Operations per second of each rung against its operations per byte of DRAM traffic"
    text = (
        "Each number marks a rung. Vertical: useful operations per second, timed outside the "
        "profiler. Horizontal: operations per byte of DRAM traffic. The line joins the rungs "
        "that lead to the fastest."
    )
    if ceilings:
        text += f" Limits: {', '.join(each.title for each in ceilings)}."
    return Section("Rungs on the roofline", (Chart("roofline", rows, label, text),))


def _ceilings(climb: Climb, cards: Mapping[str, Card]) -> Iterator[roofline.Ceiling]:
    for label, rate, origin in (
        (climb.product.about.peak, peak_rate(climb), DATASHEET),
        ("cuBLAS", ceiling_rate(climb), MEASURED),
    ):
        if rate is not None:
            yield roofline.Ceiling(label, "compute", rate * 1e9, origin)
    bandwidths = [card.bandwidth for card in cards.values() if card.bandwidth is not None]
    yield from sorted(bandwidths, key=lambda each: each.origin != MEASURED)[:1]


def _ideal(climb: Climb, ceilings: Sequence[roofline.Ceiling]) -> Iterator[roofline.Point]:
    timing = any_timing(climb)
    if timing is None or not timing.flops or not timing.min_bytes:
        return
    intensity = timing.flops / timing.min_bytes
    heights = [
        each.value * (1.0 if each.kind == "compute" else intensity)
        for each in ceilings
        if each.label != "cuBLAS"
    ]
    if heights:
        label = "ideal (minimum operations and bytes)"
        yield roofline.Point(label, "ideal", intensity, min(heights))


def measured_on(climb: Climb) -> str:
    """What was climbed on what, when and with what."""
    chip = climb.surroundings
    rows = (
        (chip.compute_capability, "compute capability {}"),
        (chip.multiprocessors, "{} SMs"),
        (chip.max_sm_mhz, "at most {:,.0f} MHz"),
    )
    facts = [form.format(value) for value, form in rows if value is not None]
    gpu = (chip.gpu or "unknown") + (f" ({', '.join(facts)})" if facts else "")
    clocks = f" (--clock-control {chip.clock_control})" if chip.clock_control else ""
    tools = (
        ("driver", chip.driver),
        ("CUDA", chip.cuda),
        ("", chip.compiler),
        ("Nsight Compute", None if chip.ncu is None else chip.ncu + clocks),
        ("kernelprof", climb.kernelprof),
    )
    versions = [f"{name} {version}".strip() for name, version in tools if version]
    return (
        f"{climb.product.words}, {describe_sizes(climb)}. GPU: {gpu}. "
        f"Measured on {climb.created.partition('T')[0]} with {', '.join(versions)}."
    )


def describe_sizes(climb: Climb) -> str:
    """``M = N = K = 4096``, and ``8192`` where that was measured, too."""
    if len(climb.measured_sizes) > 1:
        text = " and ".join(map(str, climb.measured_sizes))
        return f"{' = '.join(climb.sizes)} = {text}"
    dimensions = list(climb.sizes.items())
    if len(set(climb.sizes.values())) == 1:
        return f"{' = '.join(climb.sizes)} = {dimensions[0][1]}"
    return ", ".join(f"{name} = {size}" for name, size in dimensions)


def method_section(climb: Climb) -> Section:
    """On what, by which rules and with which command."""
    text = Paragraph(Span(measured_on(climb)))
    peak = _peak_rule(climb)
    rules = Bullets((_timing_rule(climb), Span(_ceiling_rule(climb)), peak))
    code = CodeBlock(climb.command, "sh", copy=True)
    return Section("How it was measured", (text, rules, code))


def _timing_rule(climb: Climb) -> str:
    timing = any_timing(climb)
    if timing is None:
        return "No rung was timed."
    text = _interleaving_rule(climb) or (
        f"Times are medians of {count(timing.launches, 'launch')} after {timing.warm_up} warm-up "
        "launches, timed by CUDA events outside the profiler, with the 95 % confidence interval "
        "of the median."
    )
    errors = [rung.correctness.largest_error or 0.0 for rung in climb.rungs if rung.correctness]
    if errors:
        text += (
            " Before timing, each result was checked against float64: the largest relative error "
            f"is {max(errors):.1e}."
        )
    return text


def _interleaving_rule(climb: Climb) -> str:
    """How rungs and cuBLAS were timed in turns; empty where they were not."""
    timings = [each for rung in climb.rungs for each in rung.beside]
    if not timings:
        return ""
    rounds = max(len(each.rounds) for each in timings)
    launches = max(each.timing.launches for each in timings)
    return (
        "Times are medians of launches, timed by CUDA events outside the profiler. Each rung "
        f"alternates with cuBLAS for at most {count(rounds, 'round')} and "
        f"{count(launches, 'launch')}, fewer for a long kernel. cuBLAS goes first in every other "
        "round. An untimed launch precedes each measurement. The cuBLAS time shown with a rung "
        "comes from that rung's rounds. "
        f"Profiles, and numbers without a size, are for size {climb.measured_sizes[-1]}."
    )


def _ceiling_rule(climb: Climb) -> str:
    ceiling = climb.ceiling
    if ceiling is None:
        why = climb.ceiling_error
        return f"Ceiling: {why.what}." if why else "Ceiling: cuBLAS was not measured."
    part = ratio(gflops(ceiling.timing), peak_rate(climb))
    of_peak = "" if part is None else f", {share(part)} of the peak"
    version = f" {ceiling.cublas}" if ceiling.cublas else ""
    cupy = f" {ceiling.cupy}" if ceiling.cupy else ""
    about, unit = climb.product.about, rate_unit(climb)
    how = "TF32 off" if climb.product.precision == "float32" else "FP32 accumulation"
    sizes = climb.measured_sizes
    alone = f", timed separately at size {max(sizes)}" if sizes else ""
    return (
        f"Ceiling: {about.routine} of cuBLAS{version} through CuPy{cupy}, {how} (relative error "
        f"{ceiling.relative_error:.1e} against float64){alone}: {time_cell(ceiling.timing)} "
        f"({spread_cell(ceiling.timing)}), {unit.cell(ceiling.timing)} {unit.name}{of_peak}."
    )


def _peak_rule(climb: Climb) -> str:
    peak, chip, name = peak_rate(climb), climb.surroundings, climb.product.about.peak
    if peak is None:
        return f"The {name} of this GPU is unknown, so no share of peak is given."
    lanes = peak_lanes(chip, climb.product)
    units = "lanes" if climb.product.precision == "float32" else "multiply-adds of tensor cores"
    return (
        f"{name}: {chip.multiprocessors} SMs x {lanes} {units} x {FLOPS_OF_FMA} x "
        f"{chip.max_sm_mhz:,.0f} MHz = {rate_unit(climb).text(peak)}."
    )
