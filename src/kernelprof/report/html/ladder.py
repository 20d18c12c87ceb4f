"""The ladder's page: what it shows, and how that follows from the results of a climb."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import kernelprof
from kernelprof.ladder.figures import gflops, next_gains, peak_gflops, ratio, speedup
from kernelprof.ladder.markdown import spread_cell, time_cell
from kernelprof.model.records import to_json
from kernelprof.report.html.build.climb import climb_roofline
from kernelprof.report.html.build.private import shown, without_homes
from kernelprof.report.html.view import Fact
from kernelprof.report.numbers import count, factor, number, quantity, share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kernelprof.ladder.registry import Rung
    from kernelprof.ladder.results import Climb, Climbed, Said
    from kernelprof.report.html.view import KernelView, Roofline

FAILED: Final = "failed"
UNKNOWN: Final = "unknown"
_SENTENCE: Final = re.compile(r"(?<=[a-z0-9)])\. (?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Limit:
    """A rate that no rung exceeds."""

    label: str
    gflops: float


@dataclass(frozen=True, slots=True)
class Gained:
    """What a rung that changes another one gained; ``on_way`` if it leads up to the fastest."""

    number: int
    factor: str
    on_way: bool


@dataclass(frozen=True, slots=True)
class RungView:
    """One rung: a row of the table, a bar of the chart, and a card where its capture is known."""

    number: int
    anchor: str
    title: str
    file: str
    status: str
    """That of its verdict, ``failed``, or ``unknown`` where it was not profiled."""
    verdict: str
    confidence: str
    time_ns: float | None
    time: str
    interval: str
    gflops: float | None
    of_ceiling: float | None
    of_peak: float | None
    gain: str
    gain_factor: float | None
    gained: tuple[Gained, ...]
    best_gained: float | None
    after: int | None
    step: str | None
    """How many times as fast as the rung that it changes."""
    on_way: bool
    """Whether it is one of the rungs that lead up to the fastest one."""
    change: str
    """What it changes, in one sentence; ``changes`` says all of it."""
    changes: str
    led_here: str
    facts: tuple[Fact, ...]
    error: str | None = None
    hint: str | None = None
    card: KernelView | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class LadderPage:
    """The report of a climb."""

    title: str
    headline: str
    detail: str
    facts: tuple[Fact, ...]
    rungs: tuple[RungView, ...]
    limits: tuple[Limit, ...]
    roofline: Roofline | None
    provenance: tuple[Fact, ...]
    commands: tuple[str, ...]
    warnings: tuple[str, ...]
    made: str
    json: str


def build_ladder(
    climb: Climb,
    registry: Sequence[Rung],
    cards: Mapping[str, KernelView],
    notes: Mapping[str, str],
) -> LadderPage:
    """Everything that the page shows.

    ``registry`` says what a rung changes; ``cards`` are those of the captures that are known, and
    ``notes`` say why one is not shown, both by the rung's file.
    """
    way = _way(climb)
    known = {rung.file: rung for rung in registry}
    rungs = []
    for each in climb.rungs:
        view = _rung(climb, each, known.get(each.file), way)
        card = cards.get(each.file)
        card = None if card is None else replace(card, anchor=view.anchor)
        rungs.append(replace(view, card=card, note=notes.get(each.file, "")))
    gpu = shown(climb.surroundings.gpu or "an unknown GPU")
    return LadderPage(
        title=f"The GEMM ladder on {gpu}",
        headline=_headline(climb),
        detail=_detail(climb, way),
        facts=tuple(_facts(climb)),
        rungs=tuple(rungs),
        limits=_limits(climb),
        roofline=climb_roofline(climb, list(cards.values()), way),
        provenance=tuple(_provenance(climb)),
        commands=(shown(climb.command),) if climb.command else (),
        warnings=_warnings(climb),
        made=f"Made by kernelprof {kernelprof.__version__}",
        json=without_homes(to_json(climb)),
    )


def _way(climb: Climb) -> frozenset[str]:
    """The files of the rungs that lead up to the fastest one, each changing the one before."""
    fastest = _fastest(climb)
    found: list[str] = []
    while fastest is not None and fastest.file not in found:
        found.append(fastest.file)
        fastest = None if fastest.after is None else climb.rung(fastest.after)
    return frozenset(found)


def _timed(climb: Climb) -> list[Climbed]:
    return [rung for rung in climb.rungs if rung.timing is not None]


def _fastest(climb: Climb) -> Climbed | None:
    timed = [(rung.timing.median_ns, rung.file) for rung in climb.rungs if rung.timing is not None]
    return climb.rung(min(timed)[1]) if timed else None


def _rung(climb: Climb, rung: Climbed, about: Rung | None, way: frozenset[str]) -> RungView:
    said = None if rung.full is None else rung.full.said
    rate = gflops(rung.timing)
    ceiling = None if climb.ceiling is None else gflops(climb.ceiling.timing)
    gains = next_gains(climb, rung)
    before = None if rung.after is None else climb.rung(rung.after)
    step = None if before is None else speedup(before.timing, rung.timing)
    changes = "" if about is None else about.changes
    status = UNKNOWN if said is None else said.status
    return RungView(
        number=rung.number,
        anchor=f"rung-{rung.number}",
        title=shown(rung.title),
        file=shown(rung.file),
        status=status if rung.error is None else FAILED,
        verdict="not profiled" if said is None else said.bottleneck or said.status,
        confidence="-" if said is None else said.confidence,
        time_ns=None if rung.timing is None else rung.timing.median_ns,
        time=time_cell(rung.timing),
        interval=spread_cell(rung.timing),
        gflops=rate,
        of_ceiling=ratio(rate, ceiling),
        of_peak=ratio(rate, peak_gflops(climb.surroundings)),
        gain=_gain(said),
        gain_factor=None if said is None else said.gain,
        gained=tuple(Gained(each.number, factor(gain), each.file in way) for each, gain in gains),
        best_gained=max((gain for _, gain in gains), default=None),
        after=None if rung.after is None else int(rung.after[:2]),
        step=None if step is None else factor(step),
        on_way=rung.file in way,
        change=_SENTENCE.split(changes)[0].rstrip(".") + "." if changes else "",
        changes=changes,
        led_here="" if about is None or about.before is None else about.before,
        facts=tuple(_rung_facts(rung)),
        error=None if rung.error is None else shown(rung.error.what),
        hint=None if rung.error is None or rung.error.hint is None else shown(rung.error.hint),
    )


def _gain(said: Said | None) -> str:
    if said is not None and said.gain is not None:
        return factor(said.gain)
    return "at limit" if said is not None and said.status == "at-limit" else "-"


def _rung_facts(rung: Climbed) -> Iterable[Fact]:
    """What the results say about a rung beyond the table."""
    if rung.timing is not None:
        launches = count(rung.timing.launches, "launch")
        yield Fact("95 % confidence of the median", f"{spread_cell(rung.timing)}, {launches}")
    if rung.correctness is not None and rung.correctness.largest_error is not None:
        passed = "passed" if rung.correctness.passed else "failed"
        yield Fact("result check", f"{passed}, largest error {rung.correctness.largest_error:.1e}")
    if rung.defines:
        text = ", ".join(f"{name} = {value}" for name, value in rung.defines.items())
        yield Fact("defines", shown(text))
    for name, way in (("drill-down", rung.drilldown), ("ncu --set full", rung.full_set)):
        if way is not None:
            passes = "" if way.passes is None else f", {way.passes:,} passes"
            yield Fact(name, f"{way.said.bottleneck or way.said.status}{passes}")


def _headline(climb: Climb) -> str:
    """The climb in one sentence."""
    timed, fastest = _timed(climb), _fastest(climb)
    if fastest is None or not timed:
        return "No rung was timed."
    first = timed[0]
    if len(timed) == 1:
        text = f"{shown(first.title)} takes {time_cell(first.timing)}"
    else:
        rungs = count(len(climb.rungs), "rung")
        text = f"From {time_cell(first.timing)} to {time_cell(fastest.timing)} over {rungs}"
    rate = gflops(fastest.timing)
    ceiling = None if climb.ceiling is None else ratio(rate, gflops(climb.ceiling.timing))
    peak = ratio(rate, peak_gflops(climb.surroundings))
    if ceiling is not None:
        return f"{text}: {share(ceiling)} of cuBLAS."
    return f"{text}: {share(peak)} of the FP32 peak." if peak is not None else f"{text}."


def _detail(climb: Climb, way: frozenset[str]) -> str:
    """How the rungs belong together, and what failed."""
    timed, fastest = _timed(climb), _fastest(climb)
    sentences = []
    if fastest is not None and len(timed) > 1:
        gain = speedup(timed[0].timing, fastest.timing)
        if gain is not None:
            sentences.append(f"That is {factor(gain)} as fast.")
        beside = len(timed) - sum(rung.file in way for rung in timed)
        if beside:
            others = "is a variant" if beside == 1 else f"{beside} are variants"
            sentences.append(
                f"{len(timed) - beside} of the rungs lead up, each changing one thing in the one "
                f"before; the other {others} to compare with."
            )
    failed = sum(rung.error is not None for rung in climb.rungs)
    if failed:
        sentences.append(f"{count(failed, 'rung')} failed.")
    return " ".join(sentences)


def _limits(climb: Climb) -> tuple[Limit, ...]:
    ceiling = None if climb.ceiling is None else gflops(climb.ceiling.timing)
    peak = peak_gflops(climb.surroundings)
    found = (("cuBLAS", ceiling), ("FP32 peak", peak))
    return tuple(Limit(label, value) for label, value in found if value is not None)


def _facts(climb: Climb) -> Iterable[Fact]:
    """The figures that the sentence at the top rests on."""
    sizes = list(climb.sizes.items())
    if len({size for _, size in sizes}) == 1:
        text = f"{' = '.join(name for name, _ in sizes)} = {sizes[0][1]:,}"
    else:
        text = ", ".join(f"{name} = {size:,}" for name, size in sizes)
    yield Fact("problem", f"FP32, {text}")
    fastest = _fastest(climb)
    peak = peak_gflops(climb.surroundings)
    if fastest is not None:
        yield Fact("fastest rung", f"{fastest.number} {shown(fastest.title)}")
        rate = gflops(fastest.timing)
        if rate is not None:
            of_peak = "" if peak is None else f", {share(rate / peak)} of the FP32 peak"
            yield Fact("its rate", f"{number(round(rate))} GFLOP/s{of_peak}")
        if fastest.full is not None:
            said = fastest.full.said
            limit = ", at its limit" if said.status == "at-limit" else ""
            yield Fact("its verdict", f"{said.bottleneck or said.status}{limit}")
    if climb.ceiling is not None:
        timing = climb.ceiling.timing
        rate = gflops(timing)
        shown_rate = "" if rate is None else f", {number(round(rate))} GFLOP/s"
        yield Fact("cuBLAS", f"{time_cell(timing)}{shown_rate}", "SGEMM without tensor cores.")


def _warnings(climb: Climb) -> tuple[str, ...]:
    if climb.ceiling is None and climb.ceiling_error is not None:
        return (f"cuBLAS was not measured: {shown(climb.ceiling_error.what)}.",)
    return ()


def _provenance(climb: Climb) -> Iterable[Fact]:
    """What was climbed on and with what; facts that are not known are left out."""
    chip, ceiling = climb.surroundings, climb.ceiling
    timing = next((rung.timing for rung in climb.rungs if rung.timing is not None), None)
    least = None if timing is None else timing.min_bytes
    found = (
        ("measured at", climb.created, "UTC"),
        ("measured by", f"kernelprof {climb.kernelprof}", ""),
        ("GPU", chip.gpu, ""),
        ("compute capability", chip.compute_capability, ""),
        ("SMs", _text(chip.multiprocessors), ""),
        ("highest SM clock", _text(chip.max_sm_mhz, " MHz"), ""),
        ("driver", chip.driver, ""),
        ("CUDA", chip.cuda, ""),
        ("compiler", chip.compiler, ""),
        ("Nsight Compute", chip.ncu, ""),
        ("clock control", chip.clock_control, "Whether ncu set the clocks (base) or not (none)."),
        ("cuBLAS", None if ceiling is None else ceiling.cublas, ""),
        ("CuPy", None if ceiling is None else ceiling.cupy, ""),
        ("fewest bytes", None if not least else quantity(least, "byte"), "A, B and C once each."),
        ("times", _timing_rule(climb), "By CUDA events, outside the profiler."),
    )
    for label, text, tip in found:
        if text:
            yield Fact(label, shown(text), tip)


def _timing_rule(climb: Climb) -> str | None:
    timing = next((rung.timing for rung in climb.rungs if rung.timing is not None), None)
    if timing is None:
        return None
    return f"median of {count(timing.launches, 'launch')} after {timing.warm_up} of warm-up"


def _text(value: float | None, unit: str = "") -> str | None:
    return None if value is None else f"{value:,.0f}{unit}"
