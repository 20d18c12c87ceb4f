"""One kernel's card: its verdict in plain words, and a section for each way to look at it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kernelprof.analysis.rules import registry
from kernelprof.model.diagnosis import Status
from kernelprof.model.names import printable
from kernelprof.model.numbers import count, factor, number, quantity, share
from kernelprof.report.documents.diagnosis import gain_cell, launch_parts, less_work
from kernelprof.report.html.build.evidence import evidence
from kernelprof.report.html.build.flops import count as count_operations
from kernelprof.report.html.build.headlines import headline
from kernelprof.report.html.build.lines import hot_of
from kernelprof.report.html.build.measured import UNITS, clip, finite
from kernelprof.report.html.build.memory import memory
from kernelprof.report.html.build.occupancy import occupancy
from kernelprof.report.html.build.pipes import instructions, pipes
from kernelprof.report.html.build.private import file_name, shown, without_homes
from kernelprof.report.html.build.roofline import roofline
from kernelprof.report.html.build.source import source
from kernelprof.report.html.build.warps import warp_states
from kernelprof.report.html.view import Fact, KernelView, MissingRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kernelprof.model.diagnosis import Candidate, KernelDiagnosis, Spread, Verdict
    from kernelprof.model.manifest import Manifest, TimingFacts
    from kernelprof.report.html.build.flops import Counted
    from kernelprof.report.html.build.measured import Measured
    from kernelprof.report.html.build.metrics import MetricTable
    from kernelprof.report.html.view import SourceText

NO_GAIN_BELOW = 1.005
NO_BOUND_FROM = 100.0
"""A gain from here on says no more than "far from any limit"."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What a page is made from beside the diagnosis."""

    measured: Measured
    table: MetricTable
    manifest: Manifest | None
    text: str | None
    hot: Mapping[str, Mapping[int, float]] | None
    kernels: int


def card(
    kernel: KernelDiagnosis, label: tuple[str, str], position: int, sources: Sources
) -> KernelView:
    """The card of one kernel; ``position`` counts from 1."""
    measured, verdict = sources.measured, kernel.verdict
    row = measured.representative(kernel)
    own = sources.manifest
    if own is not None and not own.is_of(kernel.name, sources.kernels):
        own = None
    timing = None if own is None else own.timing
    # The GPU of a manifest is that of every kernel in the capture.
    counted = count_operations(measured, row, sources.manifest)
    spread, share_of_time = kernel.duration_ns, finite(kernel.share)
    return KernelView(
        anchor=f"kernel-{position}",
        name=shown(" ".join(part for part in label if part)),
        full_name=shown(kernel.name),
        launch=", ".join(launch_parts(kernel)),
        time_ns=None if spread is None else finite(spread.median),
        time="" if spread is None else quantity(spread.median, "ns"),
        time_share=None if share_of_time is None else clip(share_of_time),
        status=verdict.status.value,
        bottleneck=verdict.bottleneck,
        confidence=verdict.confidence.value,
        headline=headline(verdict),
        gain=_gain(verdict),
        why=verdict.why,
        launches=kernel.launches,
        gain_factor=finite(verdict.gain),
        gain_cell=gain_cell(verdict),
        advice=verdict.advice,
        notes=tuple(shown(note) for note in verdict.notes),
        others=tuple(_other(candidate) for candidate in verdict.also),
        facts=tuple(_facts(kernel, measured, row, counted, timing)),
        evidence=evidence(verdict),
        missing=tuple(MissingRow(each.ncu_name, each.why) for each in verdict.missing),
        command=None if verdict.command is None else without_homes(verdict.command),
        roofline=roofline(measured, row, counted, timing, sources.manifest),
        memory=memory(measured, row, timing, own),
        warp_states=warp_states(measured, row),
        occupancy=occupancy(measured, row),
        pipes=pipes(measured, row),
        instructions=instructions(measured, row),
        metrics=sources.table.of(row),
        source=_source(kernel, own, sources),
    )


def device(kernel: KernelDiagnosis) -> str:
    """``NVIDIA H200 (compute capability 9.0)``; empty where the capture does not say."""
    capability = kernel.compute_capability
    version = f"compute capability {capability[0]}.{capability[1]}" if capability else ""
    if kernel.device is None or kernel.device.isdigit():
        return version
    name = printable(kernel.device)
    return f"{name} ({version})" if version else name


def _source(kernel: KernelDiagnosis, own: Manifest | None, sources: Sources) -> SourceText | None:
    """The source, with the kernel that it is of; a text without a manifest is of a lone kernel."""
    if own is None and (sources.manifest is not None or sources.kernels > 1):
        return None
    found = source(own, sources.text, hot_of(kernel.name, sources.hot))
    if found is None:
        return None
    facts = tuple(replace(fact, text=shown(fact.text)) for fact in found.facts)
    return replace(found, path=shown(file_name(found.path)), facts=facts)


def _gain(verdict: Verdict) -> str:
    """What removing the bottleneck can bring, as a sentence."""
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


def _other(candidate: Candidate) -> Fact:
    low, high = candidate.gain_at_least, candidate.gain_at_most
    text = ""
    if NO_GAIN_BELOW <= high < NO_BOUND_FROM:
        close = factor(low) == factor(high) or low < NO_GAIN_BELOW
        text = f"up to {factor(high)}" if close else f"{factor(low)} to {factor(high)}"
    rule = registry().get(candidate.bottleneck)
    return Fact(candidate.bottleneck, text, rule.docs.detects if rule else "")


def _facts(
    kernel: KernelDiagnosis,
    measured: Measured,
    row: int,
    counted: Counted | None,
    timing: TimingFacts | None,
) -> Iterable[Fact]:
    gpu = device(kernel)
    if gpu:
        yield Fact("GPU", gpu)
    if kernel.duration_ns is not None:
        yield Fact("time", _time(kernel.duration_ns, kernel.launches), "Under the profiler.")
    if timing is not None:
        yield Fact("time outside the profiler", _timing(timing), _TIMED)
    if kernel.launches > 1:
        yield Fact(
            "shown launch",
            f"ID {printable(measured.capture.launches[row].id)}",
            "All numbers below are of this launch, the one with the median time.",
        )
    if counted is not None and counted.rate > 0:
        yield _speed(counted)
    busiest = measured.busiest(row)
    if busiest is not None:
        name, part = busiest
        yield Fact("busiest unit", f"{UNITS[name]}, {share(part)} of peak", _BUSIEST)


_TIMED = "CUDA events; the median, and the shortest and longest launch."
_BUSIEST = "The part of the GPU that is nearest to the most that its counter can show."


def _speed(counted: Counted) -> Fact:
    """Operations a second against the peak of their precision."""
    rate = flops(counted.rate)
    if counted.ceiling is None:
        return Fact("arithmetic", f"{rate} {counted.precision}")
    part = counted.rate / counted.ceiling.value
    return Fact(
        "share of peak",
        f"{share(part)}: {rate} of {flops(counted.ceiling.value)} {counted.precision}",
        f"Floating-point operations a second, by the counters. {counted.ceiling.label}: "
        f"{counted.ceiling.origin}.",
    )


def flops(rate: float) -> str:
    """``7.79 TFLOP/s``."""
    for size, unit in ((1e15, "PFLOP/s"), (1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s")):
        if rate >= size:
            return f"{number(rate / size)} {unit}"
    return f"{number(rate)} FLOP/s"


def _time(spread: Spread, launches: int) -> str:
    text = quantity(spread.median, "ns")
    if launches == 1:
        return text
    low, high = quantity(spread.low, "ns"), quantity(spread.high, "ns")
    return f"{text}, median of {count(launches, 'launch')} ({low} to {high})"


def _timing(timing: TimingFacts) -> str:
    low, high = quantity(timing.low_ns, "ns"), quantity(timing.high_ns, "ns")
    text = quantity(timing.median_ns, "ns")
    return f"{text}, median of {count(timing.launches, 'launch')} ({low} to {high})"
