"""What documents of comparisons, of the gate and of histories share: tones, cells, tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kernelprof.analysis.metrics.catalogue import load_metrics
from kernelprof.comparison import words
from kernelprof.model.comparison import (
    ComparedCounter,
    InputChange,
    KernelComparison,
    MetricChange,
    TimeOutcome,
)
from kernelprof.model.diagnosis import Status, Verdict
from kernelprof.model.gate import KernelResult, Outcome
from kernelprof.model.names import cut_end, fit, printable
from kernelprof.model.numbers import dimensions, number, quantity
from kernelprof.report.document import Bar, Bullets, Cell, Column, Span, Table, Text, Tone
from kernelprof.report.documents import TONES
from kernelprof.report.figures.measured import clip as share_of
from kernelprof.report.figures.measured import finite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernelprof.model.snapshot import KernelSnapshot

MOST_ENTRIES: Final = 20
_TEXT_WIDTH: Final = 500
_LABEL_WIDTH: Final = 64
TIME_TONES: Final = {TimeOutcome.SLOWER: Tone.BAD, TimeOutcome.FASTER: Tone.GOOD}
OUTCOME_TONES: Final = {
    Outcome.PASS: Tone.GOOD,
    Outcome.INCONCLUSIVE: Tone.OPEN,
    Outcome.REGRESSION: Tone.BAD,
}
WORSE: Final = {
    True: Span("worse", Tone.BAD),
    False: Span("better", Tone.GOOD),
    None: Span(""),
}
_COUNTERS: Final = (
    Column("counter"),
    Column("before", number=True),
    Column("after", number=True),
    Column("change", number=True, optional=True),
    Column(""),
)
_METRICS: Final = (
    Column("metric"),
    Column("before", number=True),
    Column("after", number=True),
    Column("change", number=True, optional=True),
)
_INPUTS: Final = (Column("changed"), Column("before"), Column("after"))


@dataclass(frozen=True, slots=True)
class Judged:
    """A kernel under its name, and what the gate says of it where it was asked."""

    kernel: KernelComparison
    label: tuple[str, str]
    result: KernelResult | None = None

    @property
    def name(self) -> str:
        """The short name with what tells it from others."""
        return fit(self.label, _LABEL_WIDTH)

    @property
    def code(self) -> Span:
        """The name as code."""
        return Span(self.name, code=True)

    @property
    def gist(self) -> str:
        """What happened to it, or why its outcome is what it is."""
        return words.headline(self.kernel) if self.result is None else words.why(self.result)

    @property
    def tone(self) -> Tone:
        """How good or bad that is."""
        if self.result is not None and self.result.outcome is not Outcome.PASS:
            return OUTCOME_TONES[self.result.outcome]
        return TIME_TONES.get(self.kernel.time.outcome, Tone.PLAIN)


def judged_kernels(
    kernels: Sequence[KernelComparison], results: Sequence[KernelResult] = ()
) -> list[Judged]:
    """Kernels under their names, with the gate's results where there are any."""
    given: Sequence[KernelResult | None] = results or [None] * len(kernels)
    labelled = zip(kernels, words.labels(kernels), given, strict=True)
    return [Judged(kernel, label, result) for kernel, label, result in labelled]


def clip_text(text: str, width: int = _TEXT_WIDTH) -> str:
    """Not longer than that: a text of strangers must not fill the comment."""
    return cut_end(printable(text), width)


def time_cell(compared: float | None, side: KernelSnapshot | None) -> Cell:
    """The time that was compared; where none was, the one that the side has."""
    median = compared if compared is not None or side is None else side.median_ns
    return Cell("-" if median is None else quantity(median, "ns"), sort=finite(median) or -1.0)


def time_span(kernel: KernelComparison) -> Span:
    """The time's change in a cell."""
    if kernel.before is None or kernel.after is None:
        return Span(kernel.match.value)
    text = clip_text(words.outcome_text(kernel.time), 64)
    return Span(text, TIME_TONES.get(kernel.time.outcome, Tone.PLAIN))


def verdict_span(verdict: Verdict) -> Span:
    """The bottleneck with its tone, or that there is no verdict."""
    if verdict.status is Status.INCONCLUSIVE or verdict.bottleneck is None:
        return Span("inconclusive", Tone.OPEN, code=True)
    limit = " (at limit)" if verdict.status is Status.AT_LIMIT else ""
    return Span(f"{clip_text(verdict.bottleneck, 64)}{limit}", TONES[verdict.status], code=True)


def verdict_of(side: KernelSnapshot) -> Span:
    """The verdict of a side, or that there is none since it was not run."""
    return Span(text) if (text := not_run(side)) else verdict_span(side.verdict)


def not_run(side: KernelSnapshot) -> str:
    """That a predicted kernel was not run, or not to its end; empty where it was."""
    facts = side.predicted
    if facts is None or facts.blocks_run:
        return ""
    return "not run" if facts.mistake is None else "not run to completion"


def verdict_change(kernel: KernelComparison) -> Text:
    """The verdict, or both where it changed."""
    sides = [side for side in (kernel.before, kernel.after) if side is not None]
    shown = list(dict.fromkeys(map(verdict_of, sides)))
    return shown[0] if len(shown) == 1 else (shown[0], " → ", shown[1])


def outcome_span(result: KernelResult) -> Span:
    """The gate's outcome of a kernel."""
    if result.ignored:
        return Span("ignored", Tone.MUTED)
    return Span(result.outcome.value, OUTCOME_TONES[result.outcome])


def launch_text(kernel: KernelComparison) -> str:
    """How often and how the kernel was launched, on both sides where that differs."""
    sides = [side for side in (kernel.before, kernel.after) if side is not None]
    parts = []
    for label, sizes in (("grid", [s.grid for s in sides]), ("block", [s.block for s in sides])):
        shown = list(dict.fromkeys(dimensions(size) for size in sizes if size))
        if shown:
            parts.append(f"{label} {' → '.join(shown)}")
    launches = dict.fromkeys(f"{side.launches:,}" for side in sides)
    noun = "launch" if [side.launches for side in sides] == [1] * len(sides) else "launches"
    return ", ".join([*parts, f"{' → '.join(launches)} {noun}"])


def list_findings(result: KernelResult, most: int | None) -> Bullets:
    """What the gate found, what decides first."""
    lines = []
    for each in result.findings[:most]:
        tone = Tone.PLAIN if each.outcome is Outcome.PASS else OUTCOME_TONES[each.outcome]
        code = Span(each.code.value, code=True)
        lines.append((Span(each.outcome.value, tone), " ", code, ": ", Span(clip_text(each.text))))
    return Bullets(tuple(lines))


def counters_table(changes: Sequence[ComparedCounter]) -> Table:
    """Exact counters that changed, by request where they are read that way."""
    return Table(_COUNTERS, tuple(map(_counter, changes)), label="Exact counters")


def _counter(change: ComparedCounter) -> tuple[Cell, ...]:
    old, new, unit = change.before, change.after, change.unit
    tip = ""
    if change.before_each is not None and change.after_each is not None:
        each = change.before_each, change.after_each
        if number(each[0]) != number(each[1]):
            tip = f"In total, {number(old)} before and {number(new)} after"
            (old, new), unit = each, f"{unit}/{change.each}"
    return (
        Cell(Span(clip_text(change.label)), tip=tip),
        Cell(Span(clip_text(quantity(old, unit)))),
        Cell(Span(clip_text(quantity(new, unit)))),
        Cell(words.change_text(old, new)),
        Cell(WORSE[change.worse]),
    )


def inputs_table(changes: Sequence[InputChange]) -> Table:
    """What differs in what the kernels were built, launched and measured with."""
    rows = []
    for each in changes:
        sides = (
            Span(clip_text(text), code=True) if text else "" for text in (each.before, each.after)
        )
        rows.append((Cell(Span(clip_text(each.what))), *map(Cell, sides)))
    return Table(_INPUTS, tuple(rows), label="Changed inputs")


def metrics_table(
    changes: Sequence[MetricChange], label: str = "Metrics", *, long: bool = False
) -> Table:
    """Other metrics that changed, those that explain most of the time's change first.

    How much each explains is not said: units are busy at the same time, so it does not add up.
    """
    return Table(_METRICS, tuple(map(_metric, changes)), label=label, long=long)


def _metric(change: MetricChange) -> tuple[Cell, ...]:
    metric = load_metrics().get(change.metric)
    unit = change.unit if metric is None else metric.unit
    old, new = finite(change.before) or 0.0, finite(change.after) or 0.0
    whole = (100.0 if unit == "%" else max(abs(old), abs(new))) or 1.0
    sides = (
        Cell(Span(clip_text(quantity(value, unit))), bar=Bar(share_of(abs(size) / whole)))
        for value, size in ((change.before, old), (change.after, new))
    )
    by = f"{words.signed(new - old)} points" if unit == "%" else words.change_text(old, new)
    why = "" if metric is None else metric.why
    return (Cell(Span(clip_text(change.metric), code=True), tip=why), *sides, Cell(by))
